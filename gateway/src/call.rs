//! One call: from the alias to a settled, recorded reply.

mod play;
mod read;

use crate::anthropic;
use crate::completion::{ChatRequest, Completion, FinishReason, Usage};
use crate::error::{Problem, ProviderError, Severity};
use crate::gateway::Route;
use crate::line::{CallError, Delivery, Line};
use crate::meter::Metered;
use crate::model::Alias;
use crate::money::NanoUsd;
use crate::provider::{Errand, ReplyForm, ReplyPart};
use crate::purse::{Reservation, Wanted};
use crate::tape::{Exchange, ExchangeHead, Outcome, Try};
use crate::tokens;
use bytes::Bytes;
use read::{Ended, Reply, Unbegun};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A reply with fewer tokens than this is not worth a prompt.
const LEAST_REPLY: u64 = 256;

pub(crate) struct Call<'a> {
    line: &'a Arc<Line>,
    number: u64,
    request: ChatRequest,
    asked: Bytes,
    sender: &'a mpsc::Sender<Delivery>,
    started: Instant,
    time: i64,
    tries: Vec<Try>,
}

/// How a model was given up.
enum TryError {
    /// Another route, or a later time, may do better.
    Elsewhere(ProviderError),
    /// It is over.
    Over(CallError),
}

impl<'a> Call<'a> {
    pub fn new(
        line: &'a Arc<Line>,
        number: u64,
        request: ChatRequest,
        asked: Bytes,
        sender: &'a mpsc::Sender<Delivery>,
    ) -> Self {
        Call {
            line,
            number,
            request,
            asked,
            sender,
            started: Instant::now(),
            time: jiff::Timestamp::now().as_millisecond(),
            tries: Vec::new(),
        }
    }

    /// Runs the call to its end.
    pub async fn run(mut self) -> Result<(), CallError> {
        if self.line.cancel.is_cancelled() {
            return Err(CallError::Closed);
        }
        if let Some(limit) = self.line.too_many(self.number) {
            return Err(CallError::TooManyCalls { limit });
        }
        if let Some(limit) = self.line.spec.context_tokens {
            let tokens = tokens::of_prompt(&self.request);
            if tokens > limit {
                return Err(CallError::ContextTooLong { tokens, limit });
            }
        }
        if self.line.replay.is_some() {
            return self.play().await;
        }
        let alias = Alias(self.request.model.clone());
        let shared = Arc::clone(&self.line.shared);
        let Some(target) = shared.aliases.get(&alias) else {
            return Err(CallError::UnknownModel {
                asked: alias.0,
                known: shared.aliases.keys().map(Alias::to_string).collect(),
            });
        };
        self.request.effort = self.request.effort.or(target.settings.effort);
        self.request.temperature = self.request.temperature.or(target.settings.temperature);
        loop {
            let mut outage = None;
            for route in &target.routes {
                match self.try_route(route, &alias).await {
                    Ok(()) => return Ok(()),
                    // A provider that may come back is worth waiting for; one that is set up
                    // wrongly is not.
                    Err(TryError::Elsewhere(error)) => {
                        let passes = outage.as_ref().is_none_or(is_a_mistake);
                        if passes {
                            outage = Some(error);
                        }
                    }
                    Err(TryError::Over(error)) => return Err(error),
                }
            }
            let Some(error) = outage else { return Err(CallError::Closed) };
            let hopeless = is_a_mistake(&error) || shared.board.is_hopeless(self.started.elapsed());
            if hopeless {
                self.fail(&alias, &error).await;
                return Err(CallError::Provider(error));
            }
            let _waiting = self.line.meter.wait();
            tokio::select! {
                () = shared.board.wait(&error) => {}
                () = self.line.cancel.cancelled() => return Err(CallError::Closed),
                () = self.sender.closed() => return Err(CallError::Closed),
            }
        }
    }

    /// Tries one model until it answers or is given up.
    async fn try_route(&mut self, route: &Arc<Route>, alias: &Alias) -> Result<(), TryError> {
        let (reservation, request, shortened) = match self.reserve(route).await {
            Ok(reserved) => reserved,
            Err(CallError::Capped(capped)) => {
                let outcome = Outcome::Capped { capped: capped.clone() };
                self.record_empty(alias, &route.name.to_string(), Bytes::new(), outcome).await;
                return Err(TryError::Over(CallError::Capped(capped)));
            }
            Err(error) => return Err(TryError::Over(error)),
        };
        let provider = &route.name.provider;
        let body = match route.provider.encode(&request) {
            Ok(body) => body,
            Err(problem) => return self.refused(route, alias, Bytes::new(), problem).await,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let place = {
                let _waiting = self.line.meter.wait();
                tokio::select! {
                    place = route.lane.enter() => place,
                    () = self.line.cancel.cancelled() => return Err(TryError::Over(CallError::Closed)),
                    () = self.sender.closed() => return Err(TryError::Over(CallError::Closed)),
                }
            };
            let sent = Instant::now();
            let unbegun = match self.exchange(route, &request, body.clone(), sent).await {
                Ok((raw_time, head, reply)) => {
                    drop(place);
                    self.line.shared.board.is_over(provider);
                    match &reply.ended {
                        Ended::Broken(_) => {}
                        Ended::Whole | Ended::Left | Ended::Abandoned => route.lane.went_well(),
                    }
                    let finished = Finished {
                        reservation,
                        raw_time,
                        wall_time: sent.elapsed(),
                        head,
                        shortened,
                    };
                    return self.finish(route, alias, body, reply, finished).await;
                }
                Err(unbegun) => unbegun,
            };
            drop(place);
            self.tried(route, &unbegun, sent.elapsed());
            let problem = unbegun.problem;
            if let Problem::RateLimited { retry_after, .. }
            | Problem::Unavailable { retry_after, .. } = &problem
            {
                route.lane.overloaded(*retry_after);
            }
            match problem.severity() {
                Severity::Passing if tries < self.line.shared.retry.tries => {}
                Severity::Passing | Severity::Outage | Severity::Settings => {
                    return Err(TryError::Elsewhere(problem.at(provider)));
                }
                Severity::Request => return self.refused(route, alias, body, problem).await,
            }
            let wait = self.wait_before(tries, problem.retry_after());
            let _waiting = self.line.meter.wait();
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.line.cancel.cancelled() => return Err(TryError::Over(CallError::Closed)),
                () = self.sender.closed() => return Err(TryError::Over(CallError::Closed)),
            }
        }
    }

    /// Notes a try that came to nothing, and bills what the provider had counted.
    fn tried(&mut self, route: &Route, unbegun: &Unbegun, wall_time: Duration) {
        let usage = unbegun.usage.unwrap_or_default();
        let cost = route.price.cost(&usage);
        self.bill(cost);
        self.line.meter.add_failed(usage, cost, wall_time);
        let model = route.name.to_string();
        self.tries.push(Try { model, problem: unbegun.problem.clone(), usage, cost });
    }

    /// Adds a cost for which nothing was reserved to all accounts.
    fn bill(&self, cost: NanoUsd) {
        for account in &self.line.accounts {
            self.line.shared.purse.add_spent(account.clone(), cost);
        }
    }

    async fn refused(
        &mut self,
        route: &Route,
        alias: &Alias,
        body: Bytes,
        problem: Problem,
    ) -> Result<(), TryError> {
        let provider = route.name.provider.clone();
        let outcome = Outcome::Failed { provider: provider.clone(), problem: problem.clone() };
        self.record_empty(alias, &route.name.to_string(), body, outcome).await;
        Err(TryError::Over(CallError::Provider(problem.at(&provider))))
    }

    async fn fail(&mut self, alias: &Alias, error: &ProviderError) {
        let outcome =
            Outcome::Failed { provider: error.provider.clone(), problem: error.problem.clone() };
        let model = self.tries.last().map(|last| last.model.clone()).unwrap_or_default();
        self.record_empty(alias, &model, Bytes::new(), outcome).await;
    }

    /// Reserves for a call, and lowers its output limit to what was granted.
    async fn reserve(&self, route: &Route) -> Result<(Reservation, ChatRequest, bool), CallError> {
        let mut request = self.request.clone();
        request.model.clone_from(&route.name.model);
        let thinking = anthropic::thinking_tokens(request.effort, &route.quirks);
        let asked = request.max_tokens.unwrap_or(route.quirks.output + thinking);
        let limit = asked.min(route.price.most_output.unwrap_or(u64::MAX)).max(1);
        let prompt = tokens::of_prompt_at_most(&request);
        let wanted = Wanted {
            full: route.price.cost_at_most(prompt, limit),
            least: route.price.cost_at_most(prompt, limit.min(LEAST_REPLY)),
        };
        let _waiting = self.line.meter.wait();
        let reservation = tokio::select! {
            reserved = self.line.shared.purse.reserve(&self.line.accounts, wanted) => {
                reserved.map_err(CallError::Capped)?
            }
            () = self.line.cancel.cancelled() => return Err(CallError::Closed),
            () = self.sender.closed() => return Err(CallError::Closed),
        };
        let affordable = route.price.output_for(reservation.amount(), prompt);
        let shortened = affordable < limit;
        request.max_tokens = Some(limit.min(affordable));
        Ok((reservation, request, shortened))
    }

    /// Waits twice as long with each try, less a random part, and at least as long as the
    /// provider asks.
    fn wait_before(&self, tries: u32, retry_after: Option<Duration>) -> Duration {
        let retry = &self.line.shared.retry;
        let doubled = retry.first_wait * 2f64.powi(i32::try_from(tries).unwrap_or(30) - 1);
        let longest = doubled.min(retry.longest_wait);
        let wait = longest * (0.5 + 0.5 * chance());
        let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::ZERO);
        wait.max(retry_after.unwrap_or(Duration::ZERO))
    }

    /// Sends the bytes once and passes the reply on. An error means that nothing was passed on.
    async fn exchange(
        &self,
        route: &Route,
        request: &ChatRequest,
        body: Bytes,
        sent: Instant,
    ) -> Result<(Option<Duration>, ReplyHead, Reply), Unbegun> {
        let errand = Errand { prefixes: self.line.prefixes.clone() };
        let raw = tokio::select! {
            raw = route.provider.send(body, &errand) => raw?,
            () = self.line.cancel.cancelled() => return Ok(self.nothing()),
            () = self.sender.closed() => return Ok(self.nothing()),
        };
        let time = raw.model_time;
        let head = ReplyHead { dialect: raw.dialect, form: raw.form };
        let reply = self.read(raw, &request.stop, sent).await?;
        Ok((time, head, reply))
    }

    /// Returns what has come when the caller goes away before the reply begins. The provider has
    /// the request, and will bill it.
    fn nothing(&self) -> (Option<Duration>, ReplyHead, Reply) {
        let reply = Reply {
            completion: Completion::default(),
            bytes: Bytes::new(),
            ended: Ended::Abandoned,
            first_content: None,
            discarded: 0,
        };
        (None, ReplyHead { dialect: self.request.dialect, form: ReplyForm::Whole }, reply)
    }

    /// Settles, meters and records a call that was answered, and passes its end on.
    async fn finish(
        &mut self,
        route: &Route,
        alias: &Alias,
        body: Bytes,
        reply: Reply,
        finished: Finished,
    ) -> Result<(), TryError> {
        let Reply { completion, bytes, ended, first_content, discarded } = reply;
        let (usage, estimated) = match (&ended, completion.usage) {
            (Ended::Whole, Some(usage)) => (usage, false),
            (_, counted) => (self.estimate(&completion, discarded, counted), true),
        };
        let cost = route.price.cost(&usage);
        finished.reservation.settle(cost);
        let model_time = finished.raw_time.unwrap_or(finished.wall_time);
        self.line.meter.add(Metered {
            usage,
            cost,
            estimated,
            model_time,
            wall_time: finished.wall_time,
        });
        let provider = route.name.provider.clone();
        let outcome = match &ended {
            Ended::Whole | Ended::Left => Outcome::Done,
            Ended::Abandoned => Outcome::Abandoned,
            Ended::Broken(problem) => {
                Outcome::Failed { provider: provider.clone(), problem: problem.clone() }
            }
        };
        let head = ExchangeHead {
            call: self.number,
            time: self.time,
            alias: alias.0.clone(),
            model: route.name.to_string(),
            dialect: finished.head.dialect,
            form: finished.head.form,
            outcome,
            usage,
            estimated,
            cost,
            model_time,
            wall_time: finished.wall_time,
            first_content,
            tries: std::mem::take(&mut self.tries),
            shortened: finished.shortened,
            runs: [0; 3],
        };
        // Recorded before the caller hears of the end, so that whoever was told of a reply can
        // also find it on the tape.
        let exchange = Exchange { head, asked: self.asked.clone(), sent: body, reply: bytes };
        self.line.record(exchange).await;
        match ended {
            Ended::Broken(problem) => {
                Err(TryError::Over(CallError::Provider(problem.at(&provider))))
            }
            Ended::Whole | Ended::Left | Ended::Abandoned => {
                self.end(completion.finish, usage).await;
                Ok(())
            }
        }
    }

    /// Passes the end of a reply on; a caller that went away does not need it.
    async fn end(&self, finish: FinishReason, usage: Usage) {
        let _ = self.sender.send(Ok(ReplyPart::Finish(finish))).await;
        let _ = self.sender.send(Ok(ReplyPart::Usage(usage))).await;
    }

    /// Estimates the tokens of a reply whose count is missing, or stops before its end.
    fn estimate(&self, completion: &Completion, discarded: usize, counted: Option<Usage>) -> Usage {
        let calls = completion.tool_calls.iter().map(|call| tokens::of_text(&call.arguments));
        let output = tokens::of_text(&completion.text)
            + tokens::of_text(&completion.reasoning)
            + calls.sum::<u64>()
            + tokens::of_bytes(discarded);
        match counted {
            Some(usage) => Usage { output: usage.output.max(output), ..usage },
            None => Usage { input: tokens::of_prompt(&self.request), output, ..Usage::default() },
        }
    }

    async fn record_empty(&mut self, alias: &Alias, model: &str, sent: Bytes, outcome: Outcome) {
        let head = ExchangeHead {
            call: self.number,
            time: self.time,
            alias: alias.0.clone(),
            model: model.to_owned(),
            dialect: self.request.dialect,
            form: ReplyForm::Whole,
            outcome,
            usage: Usage::default(),
            estimated: false,
            cost: NanoUsd::ZERO,
            model_time: Duration::ZERO,
            wall_time: Duration::ZERO,
            first_content: None,
            tries: std::mem::take(&mut self.tries),
            shortened: false,
            runs: [0; 3],
        };
        let exchange = Exchange { head, asked: self.asked.clone(), sent, reply: Bytes::new() };
        self.line.record(exchange).await;
    }
}

/// Draws a number from 0 to 1. It only spreads out calls that failed together, so the standard
/// library's random hash keys are good enough.
fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// Tells whether the settings are at fault.
fn is_a_mistake(error: &ProviderError) -> bool {
    error.problem.severity() == Severity::Settings
}

/// How a reply is laid out.
#[derive(Clone, Copy)]
struct ReplyHead {
    dialect: crate::completion::Dialect,
    form: ReplyForm,
}

/// What is known of a call once its reply has ended.
struct Finished {
    reservation: Reservation,
    raw_time: Option<Duration>,
    wall_time: Duration,
    head: ReplyHead,
    shortened: bool,
}

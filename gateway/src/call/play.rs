//! Plays a call from the tape.

use super::Call;
use crate::line::CallError;
use crate::meter::Metered;
use crate::model::REPLAY;
use crate::provider::RawReply;
use crate::tape::Outcome;
use futures::StreamExt;
use std::time::{Duration, Instant};

impl Call<'_> {
    /// Plays the call from the tape.
    pub(super) async fn play(&mut self) -> Result<(), CallError> {
        let Some(replay) = &self.line.replay else { return Err(CallError::Closed) };
        let asked = self.line.shared.keys.blot_bytes(&self.asked);
        let exchange =
            replay.take(asked.as_deref().unwrap_or(&self.asked)).map_err(CallError::Provider)?;
        self.line.record(exchange.clone()).await;
        let head = &exchange.head;
        for lost in &head.tries {
            self.bill(lost.cost);
            self.line.meter.add_failed(lost.usage, lost.cost, Duration::ZERO);
        }
        match &head.outcome {
            Outcome::Capped { capped } => return Err(CallError::Capped(capped.clone())),
            // Content may have come before the failure, and that is then played below.
            Outcome::Failed { provider, problem } if exchange.reply.is_empty() => {
                return Err(CallError::Provider(problem.clone().at(provider)));
            }
            Outcome::Failed { .. } | Outcome::Abandoned | Outcome::Done => {}
        }
        let raw = RawReply {
            dialect: head.dialect,
            form: head.form,
            body: futures::stream::iter([Ok(exchange.reply.clone())]).boxed(),
            model_time: Some(head.model_time),
        };
        let stops = self.request.stop.clone();
        let reply = self
            .read(raw, &stops, Instant::now())
            .await
            .map_err(|unbegun| CallError::Provider(unbegun.problem.at(REPLAY)))?;
        self.line.meter.add(Metered {
            usage: head.usage,
            cost: head.cost,
            estimated: head.estimated,
            model_time: head.model_time,
            wall_time: self.started.elapsed(),
        });
        self.bill(head.cost);
        if let Outcome::Failed { provider, problem } = &head.outcome {
            return Err(CallError::Provider(problem.clone().at(provider)));
        }
        self.end(reply.completion.finish, head.usage).await;
        Ok(())
    }
}

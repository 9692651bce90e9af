//! The trials of agents, side by side: one queue over all suites, longest expected first.

use crate::harness::Harness;
use crate::progress::{Progress, RunEvent};
use crate::trial::job::Program;
use crate::trial::problem::{self, TrialDone, TrialOrder};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use hone_archive::record::Outcome;
use hone_archive::{AgentNumber, Archive, ArchiveError, ConditionsId, Digest, Record, TreeId};
use hone_benchmarks::Suite;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A suite with what an agent is measured on in it.
#[derive(Clone, Debug)]
pub struct Measure {
    /// The suite, of the problems that count.
    pub suite: Arc<Suite>,
    /// How often each problem is run.
    pub epochs: u32,
}

/// Who is measured.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The agent.
    pub agent: AgentNumber,
    /// Its source.
    pub tree: TreeId,
    /// Its program.
    pub program: Program,
}

/// Why an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything was measured, or failed too often.
    Done,
    /// The run was told to stop, or was interrupted.
    Stopped,
    /// The run's money is spent.
    OutOfBudget,
    /// Infrastructure failed too often.
    Infrastructure {
        /// Trials that it failed.
        failed: usize,
        /// Trials that were tried.
        of: usize,
        /// The last reason.
        reason: String,
    },
}

/// Runs every trial of an agent that the ledger does not hold yet, and records each.
pub async fn evaluate(
    harness: &Harness,
    archive: &Archive,
    subject: &Subject,
    measures: &[Measure],
    conditions: ConditionsId,
    drain: &CancellationToken,
    progress: &Progress,
) -> Result<Ended, ArchiveError> {
    let mut queue = missing(archive, subject, measures, conditions)?;
    let total = queue.len();
    if total == 0 {
        return Ok(Ended::Done);
    }
    progress.tell(RunEvent::Evaluating { agent: subject.agent.0, trials: total });
    // Taken from the end: the longest expected first.
    queue.reverse();
    let settings = &harness.settings;
    let (mut running, mut failures) = (FuturesUnordered::new(), HashMap::<String, u32>::new());
    let (mut tried, mut failed, mut broke, mut last) = (0, 0, false, String::new());
    let mut given_up = false;
    loop {
        let closed =
            drain.is_cancelled() || broke || given_up || harness.interrupted.is_cancelled();
        while !closed && running.len() < settings.workers {
            let Some(order) = queue.pop() else { break };
            progress.tell(RunEvent::TrialStarted { trial: order.id() });
            running.push(async move {
                let done = problem::run(harness, &order).await;
                (order, done)
            });
        }
        let Some((order, done)) = running.next().await else { break };
        let Some(done) = done else { continue };
        record(archive, &done)?;
        progress.tell(RunEvent::trial_ended(&done.trial));
        tried += 1;
        if done.out_of_budget {
            broke = true;
            continue;
        }
        if matches!(done.trial.outcome, Outcome::InfraError | Outcome::VerifierError) {
            failed += 1;
            last.clone_from(&done.trial.reason);
            let count = failures.entry(order.id()).or_default();
            *count += 1;
            if *count <= settings.infrastructure_retries {
                queue.insert(0, TrialOrder { attempt: *count, ..order });
            }
            let many = failed >= 4 && failed as f64 > tried as f64 * settings.infrastructure_share;
            given_up |= many;
        }
    }
    Ok(if drain.is_cancelled() || harness.interrupted.is_cancelled() {
        Ended::Stopped
    } else if broke {
        Ended::OutOfBudget
    } else if given_up {
        Ended::Infrastructure { failed, of: tried, reason: last }
    } else {
        Ended::Done
    })
}

/// Records a trial and its audit together; they are durable when this returns.
pub fn record(archive: &Archive, done: &TrialDone) -> Result<(), ArchiveError> {
    let mut records = vec![Record::Trial(done.trial.clone())];
    records.extend(done.audit.clone().map(Record::Audit));
    archive.append_all(&records)?;
    Ok(())
}

/// Returns the trials that the ledger does not hold, the longest expected first.
fn missing(
    archive: &Archive,
    subject: &Subject,
    measures: &[Measure],
    conditions: ConditionsId,
) -> Result<Vec<TrialOrder>, ArchiveError> {
    archive.read(|state| {
        let mut orders = Vec::new();
        for measure in measures {
            let digest = Digest(measure.suite.digest().bytes());
            let name = measure.suite.name();
            for (place, problem) in measure.suite.problems().iter().enumerate() {
                let expected = state.versions.keys().rev().find_map(|agent| {
                    let cell = state.trial(*agent, name, digest, &problem.id.0, 0)?;
                    cell.outcome.score().map(|_| cell.seconds)
                });
                for epoch in 0..measure.epochs {
                    let known = state.trial(subject.agent, name, digest, &problem.id.0, epoch);
                    if known.is_some_and(|cell| cell.outcome.score().is_some()) {
                        continue;
                    }
                    let order = TrialOrder {
                        agent: subject.agent,
                        tree: subject.tree,
                        program: subject.program.clone(),
                        suite: Arc::clone(&measure.suite),
                        problem: place,
                        epoch,
                        conditions,
                        attempt: 0,
                    };
                    orders.push((expected.unwrap_or(f64::INFINITY), order));
                }
            }
        }
        orders.sort_by(|a, b| b.0.total_cmp(&a.0));
        orders.into_iter().map(|(_, order)| order).collect()
    })
}

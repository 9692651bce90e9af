//! How a job ended: what the harness measured comes first, then what the agent told.

use hone_gateway::{Account, CallError, StopReason, TrialReport};
use hone_protocol::{Event, EventKind, NodeId};
use hone_sandbox::Ending;
use serde::{Deserialize, Serialize};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The agent came to its own end.
    Complete,
    /// Its time was up.
    TimedOut,
    /// Its money was spent.
    CostCapped,
    /// Its program failed.
    Crashed,
    /// It did not keep to the protocol.
    ProtocolError,
    /// The overseer ended it.
    Cancelled,
    /// The money of the run, or of the job's role, was spent: the job says nothing about the agent.
    OutOfBudget,
    /// The provider or the machine failed: the job says nothing about the agent.
    Infrastructure,
}

impl Ended {
    /// Returns its name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::TimedOut => "timed_out",
            Ended::CostCapped => "cost_capped",
            Ended::Crashed => "agent_crashed",
            Ended::ProtocolError => "protocol_error",
            Ended::Cancelled => "cancelled",
            Ended::OutOfBudget => "out_of_budget",
            Ended::Infrastructure => "infra_error",
        }
    }
}

/// What was measured of a job, besides what the door reports.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// How the agent's program ended.
    pub ending: &'a Ending,
    /// The end of what it printed.
    pub log: &'a str,
    /// Whether the harness ended it since its time was up.
    pub out_of_time: bool,
    /// Why the overseer ended it, where it did.
    pub cancelled: Option<&'a str>,
    /// Whether nearly all of its time was used.
    pub late: bool,
    /// Whether as much went by on the wall, of which most was waiting for a provider: an agent cannot tell the two
    /// apart.
    pub waited: bool,
}

/// Says how a job ended, and why.
pub fn judge(measured: Measured<'_>, report: &TrialReport, events: &[Event]) -> (Ended, String) {
    if let Some(StopReason::Provider(error)) = &report.stopped {
        return (Ended::Infrastructure, error.to_string());
    }
    if let Some(reason) = measured.cancelled {
        return (Ended::Cancelled, reason.to_owned());
    }
    if measured.out_of_time {
        return (Ended::TimedOut, String::new());
    }
    if let Some(StopReason::Capped(capped)) = &report.stopped {
        let own = matches!(capped.account, Account::Trial(_));
        let ended = if own { Ended::CostCapped } else { Ended::OutOfBudget };
        return (ended, capped.to_string());
    }
    let how = root_end(events);
    match (measured.ending, how) {
        (Ending::Exited(0), _) => (Ended::Complete, told(how, measured.log)),
        (Ending::OutOfMemory, _) => (Ended::Crashed, "it used more memory than it may".to_owned()),
        (Ending::NotStarted(why), _) => (Ended::Crashed, format!("it could not be started: {why}")),
        (_, Some("protocol_error")) => (Ended::ProtocolError, said(measured.log)),
        (_, Some("time_limit")) if measured.late => (Ended::TimedOut, String::new()),
        (_, Some("time_limit")) if measured.waited => {
            let waited = report.reading.waiting_time.as_secs();
            let text = format!("it gave up after its calls had waited {waited} s for the provider");
            (Ended::Infrastructure, text)
        }
        (_, Some("gateway_error")) if provider_failed(report) => {
            let problem = report.last_problem.as_ref().map(ToString::to_string);
            (Ended::Infrastructure, problem.unwrap_or_default())
        }
        (Ending::Signaled(signal), _) => {
            (Ended::Crashed, joined(format!("signal {signal} ended it"), measured.log))
        }
        (Ending::Exited(code), _) => {
            (Ended::Crashed, joined(format!("it ended with exit code {code}"), measured.log))
        }
        (Ending::TimedOut, _) => (Ended::TimedOut, String::new()),
        (Ending::Cancelled, _) => (Ended::Cancelled, String::new()),
    }
}

fn provider_failed(report: &TrialReport) -> bool {
    matches!(report.last_problem, Some(CallError::Provider(_)))
}

/// Returns how the root agent says that it ended.
fn root_end(events: &[Event]) -> Option<&str> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::AgentFinished { how, .. } if event.node == NodeId::root() => Some(how.as_str()),
        _ => None,
    })
}

/// Returns why an agent that ended by itself did not complete its job.
fn told(how: Option<&str>, log: &str) -> String {
    match how {
        Some("complete") => String::new(),
        Some(how) => how.to_owned(),
        None => joined("it told nothing of its end".to_owned(), log),
    }
}

fn joined(what: String, log: &str) -> String {
    let said = said(log);
    if said.is_empty() { what } else { format!("{what}: {said}") }
}

/// Returns the last line that an agent printed, cut to a bound.
fn said(log: &str) -> String {
    let line = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hone_gateway::MeterReading;
    use std::time::Duration;

    fn report(waiting_time: Duration) -> TrialReport {
        TrialReport {
            reading: MeterReading { waiting_time, ..MeterReading::default() },
            answer: None,
            stopped: None,
            last_problem: None,
            recording: None,
            recording_error: None,
            connected: true,
            events: 1,
        }
    }

    #[test]
    fn an_agent_whose_time_went_by_in_a_queue_is_not_to_blame() {
        let how = EventKind::AgentFinished { how: "time_limit".to_owned(), result: String::new() };
        let events = [Event { seq: 1, time: 0, node: NodeId::root(), kind: how }];
        let report = report(Duration::from_secs(240));
        let ended = |late, waited| {
            let ending = &Ending::Exited(1);
            let log = "the time of the job is up";
            let measured =
                Measured { ending, log, out_of_time: false, cancelled: None, late, waited };
            judge(measured, &report, &events)
        };
        assert_eq!(ended(true, true).0, Ended::TimedOut);
        let (waited, why) = ended(false, true);
        assert_eq!(waited, Ended::Infrastructure);
        assert_eq!(why, "it gave up after its calls had waited 240 s for the provider");
        // What an agent says of its time is not trusted.
        assert_eq!(ended(false, false).0, Ended::Crashed);
    }
}

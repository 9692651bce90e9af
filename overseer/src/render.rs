//! The view of a trial that the judge is shown: metadata first, then the newest events.
//!
//! ```text
//! <JOB role="solve">"The statement, cut, as a JSON string"</JOB>
//! <TRIAL look="3" why="detector exact_repeat" elapsed_seconds="12.4">
//! <METER calls="9" prompt_tokens="31000" output_tokens="900" cost_usd="0.0123" cost_percent="1.2" time_percent="4.1"/>
//! <NODE id="0" agent="main" state="running" calls="4" errors="0" files_changed="0" silent_seconds="9.1"/>
//! <NODE id="0.1" agent="coder" state="running" calls="7" errors="0" files_changed="1" silent_seconds="0.1"/>
//! <REPEAT node="0.1" period="1" rounds="5" calls="search_text"/>
//! <CHANGED path="a/b.py" times="2"/>
//! <HIT detector="exact_repeat" node="0.1" count="5" threshold="4" after_nudge="false" proposes="nudge">"evidence"</HIT>
//! <NUDGE id="1" node="0.1" state="delivered" calls_since="3">"text"</NUDGE>
//! <NOTES>"what the judge noted last time"</NOTES>
//! <EVENTS omitted="120">
//! #121 +11.9s 0.1 tool_call 7 search_text "{\"pattern\":\"def f\"}"
//! #122 +12.0s 0.1 tool_result 7 ok "a.py:3:def f"
//! </EVENTS>
//! </TRIAL>
//! ```
//!
//! Every text of the agent is a JSON string in which `<` and `>` are escaped, so that it can neither
//! close a tag nor open one. A `<HIT>` stays in the view while its pattern goes on; its `proposes`
//! turns from `nudge` to `cancel` once a nudge to the node was delivered and the pattern went on.
//! Lines with nothing to say are left out.

use crate::detectors::Hit;
use crate::graph::{CallGraph, Node};
use crate::meter::Reading;
use crate::quote::{attribute, quoted};
use crate::settings::ViewLimits;
use hone_protocol::NodeId;
use std::fmt::Write as _;
use std::time::Duration;

/// Bytes that stand for one token. Four is the usual estimate for English and code.
const BYTES_PER_TOKEN: usize = 4;
/// Most lines of each kind before the events, so that metadata cannot crowd them out.
const MOST_LINES: usize = 24;

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What the trial is for, such as `solve`.
    pub role: &'a str,
    /// The statement of the job.
    pub statement: &'a str,
    /// The number of the look.
    pub look: u64,
    /// Why the look is now.
    pub why: &'a str,
    /// Time since the trial's start.
    pub at: Duration,
    /// The call graph.
    pub graph: &'a CallGraph,
    /// The newest reading of the meter.
    pub reading: &'a Reading,
    /// Patterns that go on, the most serious first.
    pub hits: &'a [&'a Hit],
    /// Nudges and cancels so far.
    pub sent: &'a [SentLine],
    /// What the judge noted last time.
    pub notes: &'a str,
}

/// A nudge or cancel as the view shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentLine {
    /// The number of the intervention.
    pub id: u64,
    /// `NUDGE` or `CANCEL`.
    pub tag: &'static str,
    /// The node it went to.
    pub node: NodeId,
    /// `sent`, `delivered`, `shadow`.
    pub state: &'static str,
    /// Calls of the node and all below it since the delivery.
    pub calls_since: u64,
    /// What it said.
    pub text: String,
}

/// Renders a view, at most as long as the limits say; what is left out is the oldest.
pub fn render(view: &View<'_>, limits: &ViewLimits) -> String {
    let budget = limits.tokens * BYTES_PER_TOKEN;
    let mut text = String::with_capacity(budget.min(1 << 16));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "<JOB role=\"{}\">{}</JOB>",
        attribute(view.role),
        quoted(view.statement, limits.text_characters * 4)
    );
    let _ = writeln!(
        text,
        "<TRIAL look=\"{}\" why=\"{}\" elapsed_seconds=\"{:.1}\">",
        view.look,
        attribute(view.why),
        view.at.as_secs_f64()
    );
    meter(&mut text, view.reading);
    nodes(&mut text, view);
    for (path, times) in newest(view.graph.changed().iter()) {
        let _ = writeln!(text, "<CHANGED path=\"{}\" times=\"{times}\"/>", attribute(path));
    }
    for hit in view.hits.iter().take(MOST_LINES) {
        let _ = writeln!(
            text,
            "<HIT detector=\"{}\" node=\"{}\" count=\"{}\" threshold=\"{}\" after_nudge=\"{}\" \
             proposes=\"{}\">{}</HIT>",
            hit.detector,
            attribute(&hit.node.0),
            hit.count,
            hit.threshold,
            hit.after_nudge,
            hit.proposes.as_str(),
            quoted(&hit.evidence, limits.text_characters)
        );
    }
    for sent in newest(view.sent.iter()) {
        let _ = writeln!(
            text,
            "<{tag} id=\"{}\" node=\"{}\" state=\"{}\" calls_since=\"{}\">{}</{tag}>",
            sent.id,
            attribute(&sent.node.0),
            sent.state,
            sent.calls_since,
            quoted(&sent.text, limits.text_characters),
            tag = sent.tag
        );
    }
    if !view.notes.is_empty() {
        let _ = writeln!(text, "<NOTES>{}</NOTES>", quoted(view.notes, limits.text_characters * 2));
    }
    events(&mut text, view, budget);
    text.push_str("</TRIAL>\n");
    text
}

fn meter(text: &mut String, reading: &Reading) {
    let _ = writeln!(
        text,
        "<METER calls=\"{}\" prompt_tokens=\"{}\" output_tokens=\"{}\" cost_usd=\"{:.4}\" \
         cost_percent=\"{:.1}\" time_percent=\"{:.1}\"/>",
        reading.calls,
        reading.prompt_tokens,
        reading.output_tokens,
        reading.cost_nano_usd as f64 / 1e9,
        reading.cost_percent(),
        reading.time_percent()
    );
}

fn nodes(text: &mut String, view: &View<'_>) {
    // The root and the nodes with the newest events are the ones to know about.
    let mut shown: Vec<(&NodeId, &Node)> = view.graph.nodes().collect();
    shown.sort_by_key(|(id, node)| (**id != NodeId::root(), std::cmp::Reverse(node.last_event)));
    shown.truncate(MOST_LINES);
    shown.sort_by_key(|(id, _)| *id);
    for (id, node) in &shown {
        let state = match &node.finished {
            Some((_, how)) => format!("finished {how}"),
            None => "running".to_owned(),
        };
        let silent = (view.at - node.last_event.min(view.at)).as_secs_f64();
        let _ = writeln!(
            text,
            "<NODE id=\"{}\" agent=\"{}\" state=\"{}\" calls=\"{}\" errors=\"{}\" \
             files_changed=\"{}\" silent_seconds=\"{silent:.1}\"/>",
            attribute(&id.0),
            attribute(&node.agent),
            attribute(&state),
            node.calls_made,
            node.errors,
            node.edits
        );
    }
    for (id, node) in shown.iter().filter(|(_, node)| node.finished.is_none()) {
        let keys: Vec<_> =
            node.finished_calls().map(|(call, outcome)| (call.input, outcome.result)).collect();
        let Some(cycle) = crate::detectors::repeats::find_cycle(&keys, 2, 2, 4) else { continue };
        let tools: Vec<&str> =
            node.calls.iter().rev().take(cycle.period).map(|call| call.tool.as_str()).collect();
        let _ = writeln!(
            text,
            "<REPEAT node=\"{}\" period=\"{}\" rounds=\"{}\" calls=\"{}\"/>",
            attribute(&id.0),
            cycle.period,
            cycle.rounds(),
            attribute(&tools.join(" "))
        );
    }
}

fn events(text: &mut String, view: &View<'_>, budget: usize) {
    const FRAME: usize = 60;
    let mut left = budget.saturating_sub(text.len() + FRAME);
    let mut lines = Vec::new();
    for line in view.graph.lines().iter().rev() {
        let Some(rest) = left.checked_sub(line.text.len() + 1) else { break };
        left = rest;
        lines.push(line.text.as_str());
    }
    let omitted = view.graph.event_count().saturating_sub(lines.len() as u64);
    let _ = writeln!(text, "<EVENTS omitted=\"{omitted}\">");
    for line in lines.iter().rev() {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("</EVENTS>\n");
}

fn newest<T>(items: impl DoubleEndedIterator<Item = T>) -> Vec<T> {
    let mut newest: Vec<T> = items.rev().take(MOST_LINES).collect();
    newest.reverse();
    newest
}

//! `hone archive explain`.

use super::Opened;
use crate::display::{self, first_line, table, text_of, verdict, with_interval};
use crate::failure::Outcome;
use comfy_table::CellAlignment::{Left, Right};
use hone_archive::record::Reason;
use hone_archive::{AgentNumber, Explanation, PolicyName};
use serde_json::json;
use std::collections::BTreeSet;

/// The arguments of `hone archive explain`.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArguments {
    /// The iteration, counted from 1
    iteration: u32,
}

pub(super) fn explain(arguments: &ExplainArguments, opened: &Opened<'_>) -> Outcome {
    // After a merge the archive holds iterations of other runs too.
    let run = opened.folder.name();
    let own = opened.archive.read(|state| state.runs.contains(run));
    let own = own.map_err(|error| opened.fail(error))?;
    let explained = opened.archive.explain(own.then_some(run), arguments.iteration);
    let explanation = explained.map_err(|error| opened.fail(error))?;
    if opened.context.console.json {
        return opened.print("explanation", json!(explanation));
    }
    opened.context.console.data(&text(&explanation))?;
    opened.say_rehearsal()
}

fn text(explanation: &Explanation) -> String {
    let it = &explanation.iteration;
    let mut text = format!(
        "iteration {}: agent {} was edited, by agent {}\n",
        it.iteration, it.base, it.editor
    );
    text.push_str(&format!("seed {}, {}\n", it.seed, it.time));
    if let Some(rescue) = &it.rescue {
        text.push_str(&format!("rescue: {rescue}\n"));
    }
    text.push_str(&format!("\nwhy this base (policy {}):\n", it.base_policy));
    text.push_str(&reasons(&it.reasons, it.base, &it.base_policy));
    if !it.editor_reasons.is_empty() {
        text.push_str(&format!("\nwhy this editor (policy {}):\n", it.editor_policy));
        text.push_str(&reasons(&it.editor_reasons, it.editor, &it.editor_policy));
    }
    text.push('\n');
    match &explanation.child {
        None => text.push_str("its child was not judged yet\n"),
        Some(child) => {
            let agent = child.agent.map_or("no agent".to_owned(), |it| format!("agent {it}"));
            text.push_str(&format!("what came of it: {agent}, {}", verdict(child.verdict)));
            if !child.reason.is_empty() {
                text.push_str(&format!(": {}", first_line(&child.reason, 200)));
            }
            text.push_str(&format!("\nwhat changed: {}\n", first_line(&child.description, 200)));
        }
    }
    text
}

/// Writes the table of candidates; the chosen one is marked.
fn reasons(reasons: &[Reason], chosen: AgentNumber, policy: &str) -> String {
    let terms: BTreeSet<&str> =
        reasons.iter().flat_map(|reason| reason.terms.keys().map(String::as_str)).collect();
    let measure = match policy.parse::<PolicyName>() {
        Ok(policy) => match policy.policy().measure() {
            hone_archive::policy::Measure::Utility => "utility",
            hone_archive::policy::Measure::Score => "score",
        },
        // A policy of a later version.
        Err(_) => "value",
    };
    let mut columns = vec![("", Left), ("agent", Right), (measure, Left), ("weight", Right)];
    let names: Vec<String> = terms.iter().map(|term| term.replace('_', " ")).collect();
    columns.extend(names.iter().map(|name| (name.as_str(), Right)));
    let mut table = table(&columns);
    for reason in reasons {
        let mark = if reason.agent == chosen { "→" } else { "" };
        let mut row = vec![
            mark.to_owned(),
            reason.agent.to_string(),
            with_interval(reason.value, reason.half_width),
            format!("{:.3}", reason.weight),
        ];
        row.extend(terms.iter().map(|term| {
            reason.terms.get(*term).map_or(display::NONE.to_owned(), |value| number(*value))
        }));
        table.add_row(row);
    }
    text_of(&table)
}

/// Writes a term: counts as they are, others with three digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        format!("{value}")
    } else {
        format!("{value:.3}")
    }
}

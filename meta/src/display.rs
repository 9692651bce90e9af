//! Tables and numbers for people.

use crate::failure::{FailureKind, OrFail, Outcome};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use hone_archive::record::ChildVerdict;
use hone_archive::state::{Eligibility, Estimate};
use hone_archive::{AgentNumber, AgentSummary, Archive, NanoUsd, State};

/// What stands where there is no number.
pub const NONE: &str = "–";

/// Columns and their alignment: a table without lines, which reads well and cuts well.
pub fn table(columns: &[(&str, CellAlignment)]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // On a terminal long text wraps within its column; in a pipe a row stays a line.
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (index, (_, alignment)) in columns.iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(*alignment);
            column.set_padding((0, 2));
        }
    }
    table
}

/// Writes a table without blanks at the ends of its lines.
pub fn text_of(table: &Table) -> String {
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// Shortens text to its first line and a number of characters.
pub fn first_line(text: &str, characters: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= characters {
        return line.to_owned();
    }
    let cut: String = line.chars().take(characters.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Writes a mean with its interval.
pub fn estimate(estimate: Option<&Estimate>) -> String {
    estimate.map_or(NONE.to_owned(), |it| with_interval(it.mean, it.half_width))
}

/// Writes a number with half the width of its interval.
pub fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => format!("{mean:.3} ± {half:.3}"),
        None => format!("{mean:.3}"),
    }
}

/// Writes an amount of money.
pub fn usd(amount: NanoUsd) -> String {
    let usd = amount.usd();
    if usd != 0.0 && usd < 0.1 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// Writes a duration.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        it if it < 10.0 => format!("{it:.1} s"),
        it if it < 600.0 => format!("{it:.0} s"),
        it if it < 36_000.0 => format!("{:.0} min", it / 60.0),
        it => format!("{:.1} h", it / 3600.0),
    }
}

/// Writes numbers of agents with commas between them.
pub fn numbers(agents: &[AgentNumber]) -> String {
    agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Says in short how an agent stands: its verdict, or what it lacks.
pub fn standing(summary: &AgentSummary) -> String {
    match &summary.eligibility {
        Eligibility::Incomplete { missing } if summary.trials.planned > 0 => {
            format!("{missing} of {} trials missing", summary.trials.planned)
        }
        _ => verdict(summary.verdict),
    }
}

/// Writes a verdict in words.
pub fn verdict(verdict: ChildVerdict) -> String {
    verdict.name().replace('_', " ")
}

/// Tells whether results came from the embedded stand-in for models.
pub fn rehearsed(state: &State) -> bool {
    state.conditions.values().any(|conditions| conditions.rehearsal)
}

/// What has to stand under every number of a rehearsal.
pub const REHEARSAL: &str =
    "rehearsal: the model is an embedded stand-in; the numbers test the harness, not a model";

/// Writes the table of all agents with a line about the whole archive under it.
pub fn agents_table(archive: &Archive) -> Outcome<String> {
    let (summaries, rehearsal, spent) = archive
        .read(|state| (state.summaries(), rehearsed(state), state.spent()))
        .or_fail(FailureKind::Refused)?;
    let mut text = summaries_table(&summaries);
    let best = best(&summaries);
    let best = best.map_or(String::new(), |it| format!("; the best is agent {}", it.agent));
    let plural = if summaries.len() == 1 { "" } else { "s" };
    text.push_str(&format!("{} agent{plural}{best}; {} spent\n", summaries.len(), usd(spent)));
    if rehearsal {
        text.push_str(REHEARSAL);
        text.push('\n');
    }
    Ok(text)
}

/// Returns the eligible agent of the highest utility, the earliest on ties.
pub fn best(summaries: &[AgentSummary]) -> Option<&AgentSummary> {
    let eligible = summaries.iter().filter(|it| it.eligibility == Eligibility::Yes);
    eligible.reduce(|best, it| {
        let mean = |it: &AgentSummary| it.utility.map_or(f64::NEG_INFINITY, |it| it.mean);
        if mean(it) > mean(best) { it } else { best }
    })
}

/// Writes a table of agents.
pub fn summaries_table(summaries: &[AgentSummary]) -> String {
    use CellAlignment::{Left, Right};
    // Who edited is of interest where an agent was not its own editor.
    let edited = summaries.iter().any(|it| it.editor.is_some_and(|by| !it.parents.contains(&by)));
    let suites: Vec<String> = summaries
        .first()
        .map(|first| first.suites.iter().map(|suite| suite.suite.clone()).collect())
        .unwrap_or_default();
    let mut columns = vec![("agent", Right), ("base", Right)];
    if edited {
        columns.push(("editor", Right));
    }
    columns.extend([("verdict", Left), ("utility", Left)]);
    columns.extend(suites.iter().map(|suite| (suite.as_str(), Left)));
    columns.extend([("cost/trial", Right), ("time/trial", Right), ("spent", Right)]);
    columns.push(("what changed", Left));
    let mut table = table(&columns);
    for it in summaries {
        let mut row = vec![it.agent.to_string(), numbers(&it.parents)];
        if edited {
            row.push(it.editor.map_or(String::new(), |editor| editor.to_string()));
        }
        row.extend([standing(it), estimate(it.utility.as_ref())]);
        row.extend(it.suites.iter().map(|suite| estimate(suite.score.as_ref())));
        row.extend([
            it.mean_cost.map_or(NONE.to_owned(), usd),
            it.mean_seconds.map_or(NONE.to_owned(), seconds),
            usd([it.trials_cost, it.editing_cost].into_iter().sum()),
            first_line(&it.description, 60),
        ]);
        table.add_row(row);
    }
    text_of(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_at_every_size() {
        assert_eq!(usd(NanoUsd(0)), "$0.00");
        assert_eq!(usd(NanoUsd(1_234_567)), "$0.0012");
        assert_eq!(usd(NanoUsd(12_345_000_000)), "$12.35");
        assert_eq!(
            [0.04, 59.6, 900.0, 40_000.0].map(seconds),
            ["0.0 s", "60 s", "15 min", "11.1 h"]
        );
        assert_eq!(with_interval(0.5, Some(0.0251)), "0.500 ± 0.025");
    }

    #[test]
    fn text_is_cut_to_its_first_line_and_says_so() {
        assert_eq!(first_line("\n  one\ntwo", 10), "one");
        assert_eq!(first_line("a long line of text", 8), "a long…");
    }
}

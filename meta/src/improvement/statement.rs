//! What an editor is told.

use hone_archive::record::ChildVerdict;
use hone_archive::{AgentNumber, AgentSummary};
use std::fmt::Write;

/// The most agents that a statement lists.
const LISTED: usize = 60;

/// The most bytes of a build log that a repair is shown.
const LOG_BYTES: usize = 12_000;

/// Returns the statement of an improvement job.
pub fn improve(base: AgentNumber, archive: &[AgentSummary], sees_archive: bool) -> String {
    let mut text = format!(
        "The work directory holds the source of a coding agent: agent {base} of an archive, of which you are a \
         version yourself. Make one change to it that makes it a better agent: one that solves more of its \
         benchmark problems, at lower cost, in less time.\n\n\
         * What you leave in the work directory becomes the next version. It is built with \
         `cargo build --release --offline` against the crates that lie in /pantry; no other crate can be had.\n\
         * It must build, pass its own tests, and still be able to edit and rebuild its own source.\n\
         * `protocol/` and `tests/gate.txt` belong to the harness: a version that touches them is rejected. A change \
         of documentation alone is recorded, and not measured.\n\
         * Write into `description.txt` what is special about this version, the first line in a few words, and add \
         an entry to `CHANGELOG.md`.\n"
    );
    if sees_archive {
        text.push_str(
            "* /archive shows what was tried before: sources, scores, outcomes of single problems, logs. Do not \
             repeat what failed.\n",
        );
        text.push_str("\n<ARCHIVE>\n");
        for summary in newest(archive, base) {
            text.push_str(&line(summary));
            text.push('\n');
        }
        text.push_str("</ARCHIVE>\n");
    }
    text
}

/// Returns the statement of a repair job.
pub fn repair(log: &str) -> String {
    let cut = tail(log, LOG_BYTES);
    format!(
        "The work directory holds the source of a coding agent that was just changed. It does not build. Make the \
         smallest change that makes it build again and keeps the intent of what was changed (see `description.txt`). \
         `cargo build --release --offline` builds it; only the crates in /pantry can be had.\n\n\
         <BUILD_LOG>\n{cut}\n</BUILD_LOG>\n"
    )
}

/// Returns the end of a text, at a character's border.
pub fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns the newest agents with the base and the seed among them.
fn newest(archive: &[AgentSummary], base: AgentNumber) -> Vec<&AgentSummary> {
    let first = archive.len().saturating_sub(LISTED);
    let old = archive[..first].iter().filter(|it| it.agent == base || it.agent == AgentNumber(0));
    old.chain(&archive[first..]).collect()
}

fn line(summary: &AgentSummary) -> String {
    let mut text = format!("agent {} | base ", summary.agent);
    let parents: Vec<String> = summary.parents.iter().map(ToString::to_string).collect();
    text.push_str(if parents.is_empty() { "-" } else { "" });
    text.push_str(&parents.join("+"));
    let _ = write!(text, " | {}", summary.verdict);
    if summary.verdict == ChildVerdict::Accepted {
        if let Some(utility) = &summary.utility {
            let _ = write!(text, " | utility {:.3}", utility.mean);
            if let Some(half) = utility.half_width {
                let _ = write!(text, " ± {half:.3}");
            }
        }
        for suite in &summary.suites {
            if let Some(score) = &suite.score {
                let _ = write!(text, " | {} {:.3}", suite.suite, score.mean);
            }
        }
        if let Some(cost) = summary.mean_cost {
            let _ = write!(text, " | ${:.4} a trial", cost.usd());
        }
    }
    let title = summary.description.lines().next().unwrap_or_default();
    let _ = write!(text, " | {}", title.replace('|', "/"));
    text
}

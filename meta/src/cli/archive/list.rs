//! `hone archive list`, `best` and `lineage`.

use super::Opened;
use crate::display::{self, estimate, first_line, rehearsed, summaries_table};
use crate::failure::{Failure, Outcome};
use hone_archive::{AgentNumber, AgentSummary};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};

/// The arguments of `hone archive list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArguments {
    /// Lists the K agents of the highest utility, best first
    #[arg(long, value_name = "K", conflicts_with = "last")]
    top: Option<usize>,
    /// Lists the K newest agents
    #[arg(long, value_name = "K")]
    last: Option<usize>,
}

/// The arguments of `hone archive lineage`.
#[derive(Debug, clap::Args)]
pub(super) struct LineageArguments {
    /// The agent whose ancestors are shown; all agents as a tree where none is named
    agent: Option<u32>,
}

pub(super) fn list(arguments: &ListArguments, opened: &Opened<'_>) -> Outcome {
    opened.warn_of_damage();
    let console = &opened.context.console;
    let whole = arguments.top.is_none() && arguments.last.is_none();
    if whole && !console.json {
        return console.data(&display::agents_table(&opened.archive)?);
    }
    let mut summaries = opened.summaries()?;
    if let Some(count) = arguments.top {
        let mean = |it: &AgentSummary| it.utility.map_or(f64::NEG_INFINITY, |it| it.mean);
        summaries.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        summaries.truncate(count);
    }
    if let Some(count) = arguments.last {
        summaries.drain(..summaries.len().saturating_sub(count));
    }
    if console.json {
        return opened.print("archive", json!({ "agents": summaries }));
    }
    console.data(&summaries_table(&summaries))?;
    opened.say_rehearsal()
}

pub(super) fn best(opened: &Opened<'_>) -> Outcome {
    let summaries = opened.summaries()?;
    let Some(best) = display::best(&summaries) else {
        return Err(Failure::refused("name the best agent: no agent has all its results")
            .hint("`hone archive list` shows what each agent lacks."));
    };
    if opened.context.console.json {
        return opened.print("best", json!({ "agent": best }));
    }
    opened.context.console.data(&summaries_table(std::slice::from_ref(best)))?;
    opened.say_rehearsal()
}

pub(super) fn lineage(arguments: &LineageArguments, opened: &Opened<'_>) -> Outcome {
    let summaries = opened.summaries()?;
    let by_number: BTreeMap<AgentNumber, &AgentSummary> =
        summaries.iter().map(|it| (it.agent, it)).collect();
    let shown: Vec<&AgentSummary> = match arguments.agent {
        Some(agent) => {
            let ancestors = ancestors(&by_number, opened.check(agent)?);
            summaries.iter().filter(|it| ancestors.contains(&it.agent)).collect()
        }
        None => summaries.iter().collect(),
    };
    if opened.context.console.json {
        let nodes: Vec<_> = shown
            .iter()
            .map(|it| {
                json!({
                    "agent": it.agent, "parents": it.parents, "editor": it.editor,
                    "verdict": it.verdict, "iteration": it.iteration, "utility": it.utility,
                    "description": it.description,
                })
            })
            .collect();
        return opened.print("lineage", json!({ "agents": nodes }));
    }
    opened.context.console.data(&tree(&shown))?;
    opened.say_rehearsal()
}

fn ancestors(
    agents: &BTreeMap<AgentNumber, &AgentSummary>,
    agent: AgentNumber,
) -> HashSet<AgentNumber> {
    let (mut found, mut open) = (HashSet::new(), vec![agent]);
    while let Some(agent) = open.pop() {
        if found.insert(agent) {
            open.extend(agents.get(&agent).into_iter().flat_map(|it| &it.parents));
        }
    }
    found
}

/// Draws agents under their first bases.
fn tree(agents: &[&AgentSummary]) -> String {
    let there: HashSet<AgentNumber> = agents.iter().map(|it| it.agent).collect();
    let mut children: BTreeMap<Option<AgentNumber>, Vec<&AgentSummary>> = BTreeMap::new();
    for it in agents {
        let base = it.parents.first().copied().filter(|base| there.contains(base));
        children.entry(base).or_default().push(it);
    }
    let mut text = String::new();
    // Not by recursion: a lineage may be thousands of versions long.
    let roots = children.get(&None).into_iter().flatten().rev();
    let mut open: Vec<(&AgentSummary, String, String)> =
        roots.map(|root| (*root, String::new(), String::new())).collect();
    while let Some((it, first, rest)) = open.pop() {
        text.push_str(&first);
        text.push_str(&line(it));
        text.push('\n');
        let below = children.get(&Some(it.agent)).map_or(&[][..], Vec::as_slice);
        for (index, child) in below.iter().enumerate().rev() {
            let last = index + 1 == below.len();
            // A single line of descent is not indented: it would leave the screen.
            let (corner, bar) = match (below.len(), last) {
                (1, _) => ("", ""),
                (_, true) => ("└─ ", "   "),
                (_, false) => ("├─ ", "│  "),
            };
            open.push((child, format!("{rest}{corner}"), format!("{rest}{bar}")));
        }
    }
    text
}

fn line(it: &AgentSummary) -> String {
    let others = match it.parents.get(1..) {
        Some(others) if !others.is_empty() => format!(" (also from {})", display::numbers(others)),
        _ => String::new(),
    };
    let standing = match it.utility {
        Some(utility) => estimate(Some(&utility)),
        None => display::standing(it),
    };
    let changed = first_line(&it.description, 60);
    format!("{}{others}  {standing}  {changed}", it.agent)
}

impl Opened<'_> {
    pub(super) fn summaries(&self) -> Outcome<Vec<AgentSummary>> {
        self.archive.summaries().map_err(|error| self.fail(error))
    }

    fn rehearsed(&self) -> Outcome<bool> {
        self.archive.read(rehearsed).map_err(|error| self.fail(error))
    }

    /// Says under a table that its numbers are of a rehearsal, if they are.
    pub(super) fn say_rehearsal(&self) -> Outcome {
        match self.rehearsed()? {
            true => self.context.console.data(display::REHEARSAL),
            false => Ok(()),
        }
    }

    /// Prints an object as JSON, with the run and whether it was a rehearsal.
    pub(super) fn print(&self, name: &str, mut value: serde_json::Value) -> Outcome {
        value["run"] = json!(self.folder.name());
        value["rehearsal"] = json!(self.rehearsed()?);
        self.context.console.json(name, &value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hone_archive::NanoUsd;
    use hone_archive::record::ChildVerdict;
    use hone_archive::state::{Eligibility, TrialCounts};

    fn agent(number: u32, parents: &[u32]) -> AgentSummary {
        AgentSummary {
            agent: AgentNumber(number),
            parents: parents.iter().copied().map(AgentNumber).collect(),
            editor: None,
            verdict: ChildVerdict::NotBuilt,
            description: format!("change {number}"),
            iteration: None,
            children: 0,
            utility: None,
            suites: Vec::new(),
            mean_cost: None,
            mean_seconds: None,
            mean_tokens: None,
            trials_cost: NanoUsd(0),
            editing_cost: NanoUsd(0),
            editing_seconds: 0.0,
            trials: TrialCounts::default(),
            eligibility: Eligibility::Rejected,
        }
    }

    #[test]
    fn a_tree_shows_branches_and_keeps_a_single_line_of_descent_straight() {
        let agents = [
            agent(0, &[]),
            agent(1, &[0]),
            agent(2, &[1]),
            agent(3, &[1]),
            agent(4, &[2]),
            agent(5, &[3, 2]),
            agent(6, &[]),
        ];
        let text = tree(&agents.iter().collect::<Vec<_>>());
        insta::assert_snapshot!(text, @r"
        0  not built  change 0
        1  not built  change 1
        ├─ 2  not built  change 2
        │  4  not built  change 4
        └─ 3  not built  change 3
           5 (also from 2)  not built  change 5
        6  not built  change 6
        ");
    }

    #[test]
    fn a_lineage_of_ten_thousand_versions_is_drawn() {
        let agents: Vec<_> = (0..10_000)
            .map(|number| match number {
                0 => agent(0, &[]),
                number => agent(number, &[number - 1]),
            })
            .collect();
        assert_eq!(tree(&agents.iter().collect::<Vec<_>>()).lines().count(), 10_000);
    }
}

//! `hone audit score`: the overseer against what turned out to be right.

use super::super::Context;
use super::logs::{self, Log};
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::home::RunFolder;
use crate::run_file::RunFile;
use crate::trial::watching::filing::{self, FilingError};
use hone_overseer::audit::{from_lines, to_lines};
use hone_overseer::decisions::{Decision, all_points, check_rows};
use hone_overseer::labels::Label;
use hone_overseer::score::{Scores, TrialLog, render_scores, score_logs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The arguments of `hone audit score`.
#[derive(Debug, Default, clap::Args)]
pub(super) struct ScoreArguments {
    /// The run [default: the newest]
    pub run: Option<String>,
    /// Labels by people, as rows of a labels.jsonl; they stand above those from outcomes
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Writes decisions.jsonl and labels.jsonl to a folder
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &ScoreArguments, context: &Context) -> Outcome {
    let folder = context.home.existing_run(arguments.run.as_deref())?;
    let people = match &arguments.labels {
        Some(path) => read_labels(path)?,
        None => Vec::new(),
    };
    let Scored { scores, decisions, labels, missing } =
        score(logs::read(&folder)?, &folder, people)?;
    if let Some(to) = &arguments.export {
        write(to, "decisions.jsonl", &to_lines(&decisions).or_fail(FailureKind::Refused)?)?;
        write(to, "labels.jsonl", &to_lines(&labels).or_fail(FailureKind::Refused)?)?;
    }
    if missing > 0 {
        context.console.say(&format!("{missing} trials have no tape and are left out."));
    }
    if context.console.json {
        return context.console.json("scores", &scores);
    }
    // A run that lost its configuration can be scored all the same.
    if RunFile::read(&folder).is_ok_and(|run| run.rehearsal) {
        context.console.say(crate::models::REHEARSED);
    }
    context.console.data(&render_scores(&scores))
}

/// What a run's overseer comes to.
pub(super) struct Scored {
    pub scores: Scores,
    pub decisions: Vec<Decision>,
    pub labels: Vec<Label>,
    /// Trials that have no tape any more.
    pub missing: usize,
}

/// Scores logs by what happened after the decisions, and by the labels of people.
pub(super) fn score(logs: Vec<Log>, folder: &RunFolder, people: Vec<Label>) -> Outcome<Scored> {
    let mut missing = 0;
    let mut trials = Vec::new();
    for log in logs {
        let Some(digest) = log.audit.tape else {
            missing += 1;
            continue;
        };
        match filing::read_tape(&folder.traces(), digest) {
            Ok(kept) => trials.push(TrialLog {
                score: log.score(),
                records: log.records,
                decisions: kept.decisions,
                tape: kept.tape,
                people: Vec::new(),
            }),
            Err(FilingError::File { .. }) => missing += 1,
            Err(error) => return Err(Failure::new(FailureKind::Refused, error)),
        }
    }
    assign(people, &mut trials)?;
    let (scores, labels) = score_logs(&trials).or_fail(FailureKind::Usage)?;
    let decisions: Vec<Decision> = trials.into_iter().flat_map(|trial| trial.decisions).collect();
    check_rows(&decisions, &all_points()).or_fail(FailureKind::Refused)?;
    let labels = labels.into_iter().flatten().collect();
    Ok(Scored { scores, decisions, labels, missing })
}

fn read_labels(path: &Path) -> Outcome<Vec<Label>> {
    let doing = || format!("read {}", path.display());
    let mut text = std::fs::read_to_string(path)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.context(doing()))?;
    // People's editors leave the last line feed out; here nothing was cut by a crash.
    text.push('\n');
    from_lines(&text).or_fail(FailureKind::Usage).map_err(|failure| failure.context(doing()))
}

/// Gives each label to the trial that its decision belongs to.
fn assign(people: Vec<Label>, trials: &mut [TrialLog]) -> Outcome {
    let mut owners = BTreeMap::new();
    for (place, trial) in trials.iter().enumerate() {
        owners.extend(trial.decisions.iter().map(|decision| (decision.id.clone(), place)));
    }
    for label in people {
        let Some(place) = owners.get(&label.decision) else {
            return Err(Failure::usage(format!(
                "label the decision {}: there is none",
                label.decision
            ))
            .hint("`hone audit score --export DIR` writes the decisions with their ids."));
        };
        trials[*place].people.push(label);
    }
    Ok(())
}

fn write(folder: &Path, name: &str, text: &str) -> Outcome {
    let path = folder.join(name);
    fs_err::create_dir_all(folder)
        .and_then(|()| fs_err::write(path, text))
        .or_fail(FailureKind::Usage)
}

//! `hone audit replay`: a log checked against its tape, and the trial judged again.

use super::super::Context;
use super::logs::{self, Log};
use crate::failure::{self, Failure, FailureKind, OrFail};
use crate::home::RunFolder;
use crate::models::{self, ModelFlags};
use crate::run_file::RunFile;
use crate::settings;
use crate::trial::watching::{self, Achieved, DeskJudge, filing};
use hone_archive::record::Outcome;
use hone_gateway::{Gateway, LineSpec, NanoUsd, SpendRole};
use hone_overseer::audit::Verdict;
use hone_overseer::replay::{Difference, ReplayError, differences, opening, render_differences};
use hone_overseer::{Judge, NoJudge, TapeLine, replay};
use serde::Serialize;

/// The arguments of `hone audit replay`.
#[derive(Debug, Default, clap::Args)]
pub(super) struct ReplayArguments {
    /// The trial, or a part of its name; with --check, all trials where none is named
    #[arg(required_unless_present = "check")]
    pub trial: Option<String>,
    /// The run [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub model: ModelFlags,
    /// Lets the detectors rule alone
    #[arg(long, conflicts_with_all = ["model", "base_url"])]
    pub no_judge: bool,
    /// Only checks that log and verdict follow from the tape
    #[arg(long, conflicts_with_all = ["model", "base_url", "no_judge"])]
    pub check: bool,
}

/// One replay, as `--json` prints it.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Replay {
    pub trial: String,
    /// The first record that does not follow from the tape; none where all do.
    pub differs_at: Option<u64>,
    /// The verdict of then.
    pub verdict: Verdict,
    /// Whether the trial's own verdict fits the log: it is `cancelled` only where the log says so.
    pub fits_trial: bool,
    /// What the trial is judged now.
    pub again: Option<Again>,
}

/// A trial judged again.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Again {
    /// The verdict of now; nothing was sent.
    pub verdict: Verdict,
    pub differences: Vec<Difference>,
    pub cost_nano_usd: u64,
}

/// Runs the command.
pub(super) async fn run(arguments: ReplayArguments, context: Context) -> failure::Outcome {
    let (replays, mut failures) = replays(&arguments, &context).await?;
    if replays.is_empty() && failures.len() == 1 {
        return failures.pop().map_or(Ok(()), Err);
    }
    // Of many trials, those without a tape are told of and passed over.
    failures.iter().for_each(|failure| context.console.failure(failure));
    if context.console.json {
        context.console.json("replays", &replays)?;
    } else {
        let text: Vec<String> = replays.iter().map(as_text).collect();
        context.console.data(&text.join("\n"))?;
    }
    let is_wrong = |replayed: &&Replay| replayed.differs_at.is_some() || !replayed.fits_trial;
    let wrong = replays.iter().filter(is_wrong).count();
    match (wrong, failures.len()) {
        (0, 0) => Ok(()),
        (0, missing) => Err(Failure::refused(format!("replay {missing} trials"))),
        (wrong, _) => Err(Failure::refused(format!("reproduce {wrong} logs from their tapes"))
            .hint("They were made by another version of the overseer, or changed since.")),
    }
}

/// Replays the trials that the arguments name; returns also why some could not be.
pub(super) async fn replays(
    arguments: &ReplayArguments,
    context: &Context,
) -> failure::Outcome<(Vec<Replay>, Vec<Failure>)> {
    let folder = context.home.existing_run(arguments.run.as_deref())?;
    let logs = match &arguments.trial {
        Some(trial) => logs::read_named(&folder, trial)?,
        None => logs::read(&folder)?,
    };
    let referee = match arguments.check {
        true => None,
        false => Some(Referee::open(arguments, context, &folder)?),
    };
    let (mut replays, mut failures) = (Vec::new(), Vec::new());
    for log in &logs {
        match judge_again(&folder, log, referee.as_ref()).await {
            Ok(replayed) => replays.push(replayed),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((replays, failures))
}

/// Who judges again.
pub(super) struct Referee {
    settings: settings::Settings,
    set: Vec<String>,
    /// None where the detectors rule alone.
    gateway: Option<Gateway>,
}

impl Referee {
    /// Sets up the models of the run, or those of the flags.
    fn open(
        arguments: &ReplayArguments,
        context: &Context,
        folder: &RunFolder,
    ) -> failure::Outcome<Self> {
        let run = RunFile::read(folder)?;
        let mut settings = settings::change(&run.settings, &context.set)?;
        let set = context.set.clone();
        if arguments.no_judge {
            return Ok(Referee { settings, set, gateway: None });
        }
        arguments.model.apply(&mut settings)?;
        let same =
            settings.models == run.settings.models && settings.providers == run.settings.providers;
        let resumed = same.then_some(&run.models);
        let setup = models::gateway_settings(&settings, resumed, None, &context.home)?;
        setup.notices.iter().for_each(|notice| context.console.say(notice));
        Ok(Referee { settings, set, gateway: Some(setup.open()?) })
    }

    /// Returns the overseer's settings for a trial: those of then, with what was set now.
    fn overseer(
        &self,
        then: &hone_overseer::Settings,
    ) -> failure::Outcome<hone_overseer::Settings> {
        let base = settings::Settings { overseer: then.clone(), ..self.settings.clone() };
        Ok(settings::change(&base, &self.set)?.overseer)
    }
}

/// Checks a log, and judges its trial again where there is a referee.
pub(super) async fn judge_again(
    folder: &RunFolder,
    log: &Log,
    referee: Option<&Referee>,
) -> failure::Outcome<Replay> {
    let tape = tape(folder, log)?;
    let (brief, then) = opening(&log.records).or_fail(FailureKind::Refused)?;
    let differs_at = match replay::verify(&log.records, &tape) {
        Ok(_) => None,
        Err(ReplayError::Differs { record }) => Some(record),
        Err(error @ ReplayError::NotOpened) => {
            return Err(Failure::new(FailureKind::Refused, error));
        }
    };
    let verdict = verdict_of(log);
    let fits_trial = fits_trial(log);
    let Some(referee) = referee else {
        return Ok(Replay {
            trial: log.trial.clone(),
            differs_at,
            verdict,
            fits_trial,
            again: None,
        });
    };
    let settings = referee.overseer(&then)?;
    let desk = match &referee.gateway {
        None => None,
        Some(gateway) => {
            let id = format!("{}.overseer-again", log.trial);
            let cap = Some(NanoUsd(settings.judge.cap_nano_usd));
            let spec = LineSpec { cap, ..LineSpec::new(id, SpendRole::Overseer) };
            Some(DeskJudge::open(gateway, spec).or_fail(FailureKind::Provider)?)
        }
    };
    let judge: &dyn Judge = match &desk {
        Some(judge) => judge,
        None => &NoJudge,
    };
    let now = replay::replay(brief, settings, &tape, judge).await;
    let cost_nano_usd = match desk {
        Some(judge) => judge.close().await.0,
        None => 0,
    };
    let differences = differences((&log.records, &verdict), (&now.records, &now.verdict));
    let again = Again { verdict: now.verdict, differences, cost_nano_usd };
    Ok(Replay { trial: log.trial.clone(), differs_at, verdict, fits_trial, again: Some(again) })
}

/// Reads the tape that a log names.
fn tape(folder: &RunFolder, log: &Log) -> failure::Outcome<Vec<TapeLine>> {
    let Some(digest) = log.audit.tape else {
        return Err(Failure::refused(format!("replay {}: no tape of it was kept", log.trial)));
    };
    let kept = filing::read_tape(&folder.traces(), digest).or_fail(FailureKind::Refused);
    let kept = kept.map_err(|failure| failure.context(format!("replay {}", log.trial)))?;
    Ok(kept.tape)
}

/// Returns how the overseer left the trial, as the log says.
fn verdict_of(log: &Log) -> Verdict {
    let closed = log.records.iter().find_map(|record| match &record.entry {
        hone_overseer::Entry::Closed { verdict, .. } => Some(verdict.clone()),
        _ => None,
    });
    closed.unwrap_or(Verdict::LetRun)
}

/// Tells whether the verdict in the trial's own record follows from the overseer's log.
fn fits_trial(log: &Log) -> bool {
    match log.ended.as_ref().map(|trial| trial.outcome) {
        Some(Outcome::Cancelled { .. }) => {
            watching::cancelled(&log.records, Achieved::Nothing).is_some()
        }
        _ => true,
    }
}

fn as_text(replay: &Replay) -> String {
    let name = |verdict: &Verdict| match verdict {
        Verdict::LetRun => "let run".to_owned(),
        Verdict::Cancelled { reason, .. } => format!("cancelled: {reason}"),
    };
    let check = match replay.differs_at {
        None => format!("log and verdict follow from the tape ({})", name(&replay.verdict)),
        Some(record) => format!("record {record} of the log does not follow from the tape"),
    };
    let mut text = format!("{}\n{check}\n", replay.trial);
    if !replay.fits_trial {
        text.push_str("the trial's verdict `cancelled` does not follow from the log\n");
    }
    if let Some(again) = &replay.again {
        text.push_str(&render_differences(&again.differences));
        let cost = again.cost_nano_usd as f64 / 1e9;
        text.push_str(&format!("judged again: {} (${cost:.4})\n", name(&again.verdict)));
    }
    text
}

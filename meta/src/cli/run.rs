//! `hone run`: improvement iterations, their resume, status and stop.

use super::Context;
use crate::estimate::{self, Work};
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::home::RunFolder;
use crate::improvement::run::RunEnd;
use crate::models::{self, ModelFlags, RECORDINGS};
use crate::progress::Progress;
use crate::providers::{check_providers, tell_outages};
use crate::run_file::RunFile;
use crate::session::{self, Parts, RunLock, Session};
use crate::settings::{EditorSees, SandboxChoice, Settings};
use hone_archive::record::ChildVerdict;
use hone_archive::{Archive, PolicyName};
use serde_json::json;

/// The arguments of `hone run`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunArguments {
    #[command(subcommand)]
    command: Option<RunCommand>,
    /// The number of iterations; 0 measures the seed alone
    #[arg(short = 'n', long, value_name = "N")]
    iterations: Option<u32>,
    /// The run's name [default: run-1, run-2, …]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Goes on with a run
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    resume: Option<String>,
    /// The suites, by name or path, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    suite: Vec<String>,
    /// The most problems of a suite
    #[arg(long, value_name = "K")]
    problems: Option<usize>,
    /// How often each problem is run
    #[arg(long, value_name = "E")]
    epochs: Option<u32>,
    #[command(flatten)]
    model: ModelFlags,
    /// The policy that chooses the base: best, latest, random, sica, dgm, hyperagents, shinka, pareto or hgm
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyName>,
    /// The policy that chooses the editor; the base edits itself where none is named
    #[arg(long, value_name = "POLICY")]
    editor_policy: Option<PolicyName>,
    /// How much of the archive an editor is shown
    #[arg(long, value_enum)]
    editor_sees: Option<EditorSees>,
    /// The overseer: off, shadow (judges and records, sends nothing) or on
    #[arg(long, value_name = "MODE")]
    overseer: Option<hone_overseer::Mode>,
    /// The executor
    #[arg(long, value_enum)]
    sandbox: Option<SandboxChoice>,
    /// The number of trials side by side
    #[arg(long, value_name = "W")]
    workers: Option<usize>,
    /// The most that the run may spend, in US dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// The seed of everything that is drawn
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Prints what the run may cost, and starts nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Subcommand)]
enum RunCommand {
    /// Shows how far a run is
    Status {
        /// The run [default: the newest]
        run: Option<String>,
    },
    /// Lets a run finish what is under way, and end
    Stop {
        /// The run [default: the newest]
        run: Option<String>,
    },
}

/// Runs the command.
pub async fn run(arguments: RunArguments, context: Context) -> Outcome {
    match &arguments.command {
        Some(RunCommand::Status { run }) => status(&context, run.as_deref()),
        Some(RunCommand::Stop { run }) => stop(&context, run.as_deref()),
        None if arguments.resume.is_some() => resume(arguments, context).await,
        None => start(arguments, context).await,
    }
}

fn settings(arguments: &RunArguments, mut settings: Settings) -> Outcome<Settings> {
    fn set<T: Clone>(to: &mut T, from: &Option<T>) {
        if let Some(from) = from {
            to.clone_from(from);
        }
    }
    set(&mut settings.iterations, &arguments.iterations);
    set(&mut settings.epochs, &arguments.epochs);
    set(&mut settings.policy, &arguments.policy);
    set(&mut settings.editor_sees, &arguments.editor_sees);
    set(&mut settings.sandbox, &arguments.sandbox);
    set(&mut settings.workers, &arguments.workers);
    set(&mut settings.overseer.mode, &arguments.overseer);
    set(&mut settings.seed, &arguments.seed);
    settings.problems = arguments.problems.or(settings.problems);
    settings.editor_policy = arguments.editor_policy.or(settings.editor_policy);
    settings.budget = arguments.budget.or(settings.budget);
    if !arguments.suite.is_empty() {
        settings.suites.clone_from(&arguments.suite);
    }
    arguments.model.apply(&mut settings)?;
    settings.check()?;
    if !settings.evaluation.stages.is_empty() || settings.evaluation.race {
        return Err(Failure::usage(
            "evaluate in stages: this version measures a child on all problems at once",
        )
        .hint("Leave `evaluation` out of the configuration."));
    }
    Ok(settings)
}

async fn start(arguments: RunArguments, context: Context) -> Outcome {
    let settings = settings(&arguments, context.settings.clone())?;
    let measures = session::measures(&context.home, &settings)?;
    let folder = match &arguments.run {
        Some(name) => context.home.run(name)?,
        None => free_name(&context)?,
    };
    let problems: usize = measures.iter().map(|it| it.suite.problems().len()).sum();
    let record = settings.record.then(|| folder.root().join(RECORDINGS));
    let setup = models::gateway_settings(&settings, None, record, &context.home)?;
    let notices = setup.notices.clone();
    let gateway = setup.open()?;
    let work = Work::of_run(u64::from(settings.iterations), problems as u64);
    let estimate = estimate::estimate(&settings, gateway.resolved(), work);
    if arguments.dry_run {
        return match context.console.json {
            true => context.console.json("estimate", &estimate),
            false => context.console.data(&estimate.text()),
        };
    }
    for notice in notices {
        context.console.warn(&notice);
    }
    estimate::confirm_money(&settings, gateway.resolved(), &estimate, &context.console)?;
    if folder.root().exists() {
        let text = format!("start the run {}: {} exists", folder.name(), folder.root().display());
        return Err(Failure::refused(text).hint(format!(
            "`hone run --resume {}` goes on with it; another name begins another run.",
            folder.name()
        )));
    }
    check_providers(&gateway).await?;
    let executor = session::executor(&context.home, settings.sandbox, folder.name()).await?;
    for weakness in executor.weaknesses() {
        context.console.warn(&format!("note: {weakness}"));
    }
    std::fs::create_dir_all(folder.root()).or_fail(FailureKind::Usage).map_err(|failure| {
        let text = format!("make the folder {}", folder.root().display());
        failure.context(text).hint("Name a home that can be written with --home.")
    })?;
    let lock = RunLock::take(&folder)?;
    let file = RunFile::new(
        folder.name(),
        settings,
        measures.iter().map(|it| session::plan(&it.suite, it.epochs)).collect(),
        gateway.resolved().clone(),
        gateway.rehearses(),
        executor.as_ref(),
    );
    file.write(&folder).or_fail(FailureKind::Infrastructure)?;
    let progress = Progress::new(context.console);
    let parts = Parts { folder, lock, file, measures, gateway, executor, progress };
    go(&context, parts).await
}

async fn resume(arguments: RunArguments, context: Context) -> Outcome {
    let folder = context.home.existing_run(arguments.resume.as_deref())?;
    let mut file = RunFile::read(&folder)?;
    let before = file.settings.clone();
    let wanted = settings(&arguments, before.clone())?;
    // What only says how far the run goes and how fast may change; all else would mix results.
    let free = |settings: &Settings| Settings {
        iterations: 0,
        workers: 0,
        budget: None,
        ..settings.clone()
    };
    if free(&wanted) != free(&before) {
        return Err(Failure::usage(format!(
            "resume the run {} with other settings: its results would not be comparable",
            folder.name()
        ))
        .hint("Only -n, --workers and --budget may change; begin another run for the rest."));
    }
    let lock = RunLock::take(&folder)?;
    file.settings = wanted;
    let measures = session::measures(&context.home, &file.settings)?;
    let plans: Vec<_> = measures.iter().map(|it| session::plan(&it.suite, it.epochs)).collect();
    if let Some((old, _)) = file.suites.iter().zip(&plans).find(|(old, new)| old != new) {
        return Err(Failure::refused(format!(
            "resume the run {}: the suite {} is not what it was when the run began",
            folder.name(),
            old.suite
        ))
        .hint("Bring the suite back as it was, or begin another run."));
    }
    let record = file.settings.record.then(|| folder.root().join(RECORDINGS));
    let setup =
        models::gateway_settings(&file.settings, Some(&file.models), record, &context.home)?;
    for notice in &setup.notices {
        context.console.warn(notice);
    }
    let gateway = setup.open()?;
    check_providers(&gateway).await?;
    crate::spending::count(&folder, &gateway)?;
    let choice = match file.sandbox.as_str() {
        "docker" => SandboxChoice::Docker,
        "bubblewrap" => SandboxChoice::Bubblewrap,
        _ => file.settings.sandbox,
    };
    let executor = session::executor(&context.home, choice, folder.name()).await?;
    file.write(&folder).or_fail(FailureKind::Infrastructure)?;
    let progress = Progress::new(context.console);
    let parts = Parts { folder, lock, file, measures, gateway, executor, progress };
    go(&context, parts).await
}

async fn go(context: &Context, parts: Parts) -> Outcome {
    let name = parts.folder.name().to_owned();
    let (board, console) = (parts.gateway.outages(), context.console);
    let outages = tokio::spawn(tell_outages(board, move |line| console.warn(&line)));
    let session = Session::begin(&context.home, parts).await?;
    let end = session.drive().await;
    outages.abort();
    let end = end?;
    finish(context, &session, &name, end)
}

/// Shows the archive, and says how the run ended.
fn finish(context: &Context, session: &Session, name: &str, end: RunEnd) -> Outcome {
    let archive = session.archive();
    if !context.console.json {
        context.console.data(&crate::display::agents_table(archive)?)?;
    }
    let resume = format!("`hone run --resume {name}` goes on.");
    match end {
        RunEnd::Done => {}
        RunEnd::Stopped if session.was_signalled() => {
            let text = format!("finish the run {name}: it was interrupted");
            return Err(Failure::new(FailureKind::Interrupted, anyhow::anyhow!(text)).hint(resume));
        }
        RunEnd::Stopped => {
            context.console.say(&format!("stopped as asked. {resume}"));
            return Ok(());
        }
        RunEnd::OutOfBudget => {
            let text = format!("finish the run {name}: its budget is spent");
            let hint = format!("`hone run --resume {name} --budget USD` goes on with more.");
            return Err(Failure::refused(text).hint(hint));
        }
        RunEnd::Infrastructure(why) => {
            let text = format!("finish the run {name}: {why}");
            let failure = Failure::new(FailureKind::Infrastructure, anyhow::anyhow!(text));
            return Err(failure.hint(format!("`hone doctor` looks for the cause. {resume}")));
        }
    }
    let verdicts = archive
        .read(|state| {
            let own = state.children.iter().filter(|child| child.run == name);
            own.map(|child| child.verdict).collect::<Vec<_>>()
        })
        .or_fail(FailureKind::Infrastructure)?;
    if !verdicts.is_empty() && !verdicts.contains(&ChildVerdict::Accepted) {
        let text = format!("improve the agent in the run {name}: no child passed the gate");
        return Err(Failure::refused(text).hint("`hone archive list` shows what became of each."));
    }
    Ok(())
}

/// Returns the folder of the first name `run-N` that is free.
fn free_name(context: &Context) -> Outcome<RunFolder> {
    let mut number = 1;
    loop {
        let folder = context.home.run(&format!("run-{number}"))?;
        if !folder.root().exists() {
            return Ok(folder);
        }
        number += 1;
    }
}

fn status(context: &Context, run: Option<&str>) -> Outcome {
    let folder = context.home.existing_run(run)?;
    let file = RunFile::read(&folder)?;
    let archive = Archive::open_read_only(&folder.archive()).or_fail(FailureKind::Refused)?;
    let running = RunLock::is_taken(&folder);
    let (judged, begun, spent) = archive
        .read(|state| {
            let own = |run: &str| run == file.run;
            let judged = state.children.iter().filter(|child| own(&child.run)).count();
            let begun = state.iterations.iter().filter(|it| own(&it.run)).count();
            (judged, begun, state.spent())
        })
        .or_fail(FailureKind::Refused)?;
    let of = file.settings.iterations;
    if context.console.json {
        let value = json!({
            "run": file.run, "running": running, "rehearsal": file.rehearsal, "iterations": of,
            "begun": begun, "judged": judged, "usd": spent.usd(), "budget": file.settings.budget,
            "sandbox": file.sandbox,
        });
        return context.console.json("status", &value);
    }
    let state = if running { "running" } else { "not running" };
    let budget = file.settings.budget.map_or(String::new(), |usd| format!(" of ${usd:.2}"));
    let mut text = format!(
        "{}: {state}; {judged} of {of} iterations judged; ${:.4}{budget} spent",
        file.run,
        spent.usd()
    );
    if begun > judged {
        text.push_str(&format!("; iteration {begun} is under way"));
    }
    context.console.data(&text)?;
    context.console.data(&crate::display::agents_table(&archive)?)
}

fn stop(context: &Context, run: Option<&str>) -> Outcome {
    let folder = context.home.existing_run(run)?;
    if !RunLock::is_taken(&folder) {
        return Err(Failure::refused(format!("stop the run {}: nobody drives it", folder.name())));
    }
    std::fs::write(folder.root().join(session::STOP), b"").or_fail(FailureKind::Infrastructure)?;
    context.console.say(&format!("{} ends when what is under way is done", folder.name()));
    Ok(())
}

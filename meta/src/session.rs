//! A process that drives a run: its lock, its signals, and all parts put together.

use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::harness::{Harness, WORK};
use crate::home::{Home, RunFolder};
use crate::improvement::binaries::Binaries;
use crate::improvement::evaluation::Measure;
use crate::improvement::run::{Run, RunEnd, RunError};
use crate::progress::{Progress, RunEvent};
use crate::run_file::RunFile;
use crate::settings::{SandboxChoice, Settings};
use hone_archive::record::{Change, ChildVerdict, Conditions, RunEnded, RunStarted, SuitePlan};
use hone_archive::{Archive, ConditionsId, Digest, NanoUsd, Record};
use hone_benchmarks::{Split, Suite};
use hone_gateway::Gateway;
use hone_sandbox::{ChildBuilder, Choice, Owner, Pantry, SharedExecutor, Sweep};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The file by which another process asks a run to stop.
pub const STOP: &str = "stop";

/// The lock of whoever drives a run.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock; two processes cannot drive one run.
    pub fn take(folder: &RunFolder) -> Outcome<Self> {
        let path = folder.lock();
        let open = File::options().create(true).read(true).write(true).truncate(false).open(&path);
        let mut file = open.or_fail(FailureKind::Infrastructure)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = std::fs::read_to_string(&path).unwrap_or_default();
                let owner = if owner.trim().is_empty() { "another process" } else { owner.trim() };
                let text = format!("drive the run {}: {owner} drives it already", folder.name());
                return Err(Failure::refused(text).hint(format!(
                    "`hone run status {0}` shows how far it is, `hone run stop {0}` ends it.",
                    folder.name()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Failure::infrastructure(error)),
        }
        file.set_len(0)
            .and_then(|()| write!(file, "process {}", std::process::id()))
            .or_fail(FailureKind::Infrastructure)?;
        Ok(RunLock { _file: file })
    }

    /// Tells whether somebody drives a run.
    pub fn is_taken(folder: &RunFolder) -> bool {
        let Ok(file) = File::options().read(true).write(true).open(folder.lock()) else {
            return false;
        };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

/// Cuts the suites of the settings to what the loop may see.
pub fn measures(home: &Home, settings: &Settings) -> Outcome<Vec<Measure>> {
    let open = |name: &String| {
        let search = Some(Split::Search);
        let suite = crate::suites::open(home, name, search, settings.problems, settings.seed)?;
        Ok(Measure { suite: Arc::new(suite), epochs: settings.epochs })
    };
    let measures: Vec<Measure> = settings.suites.iter().map(open).collect::<Outcome<_>>()?;
    let mut names: Vec<&str> = measures.iter().map(|measure| measure.suite.name()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage(format!("take the suites: {} is named twice", twice[0])));
    }
    match measures.is_empty() {
        true => {
            Err(Failure::usage("take the suites: none is named").hint("Name some with --suite."))
        }
        false => Ok(measures),
    }
}

/// Returns the plan that the ledger keeps of a suite.
pub fn plan(suite: &Suite, epochs: u32) -> SuitePlan {
    SuitePlan {
        suite: suite.name().to_owned(),
        digest: Digest(suite.digest().bytes()),
        problems: suite.problems().iter().map(|problem| problem.id.0.clone()).collect(),
        epochs,
    }
}

/// Everything that a run is driven with.
pub struct Session {
    folder: RunFolder,
    _lock: RunLock,
    archive: Archive,
    harness: Harness,
    binaries: Binaries,
    measures: Vec<Measure>,
    conditions: ConditionsId,
    file: RunFile,
    progress: Progress,
    drain: CancellationToken,
    signalled: CancellationToken,
}

/// What a session is made of.
pub struct Parts {
    /// The run's folder, which is there.
    pub folder: RunFolder,
    /// Its lock.
    pub lock: RunLock,
    /// Its configuration.
    pub file: RunFile,
    /// What agents are measured on.
    pub measures: Vec<Measure>,
    /// The gateway.
    pub gateway: Gateway,
    /// The executor.
    pub executor: SharedExecutor,
    /// Who is told.
    pub progress: Progress,
}

impl Session {
    /// Puts a session together: opens the archive or begins it with the seed, and prepares builds.
    pub async fn begin(home: &Home, parts: Parts) -> Outcome<Self> {
        let Parts { folder, lock, file, measures, gateway, executor, progress } = parts;
        let io = FailureKind::Infrastructure;
        let archive = match folder.archive().exists() {
            true => Archive::open(&folder.archive()).or_fail(io)?,
            false => Archive::create(&folder.archive()).or_fail(io)?,
        };
        let resumed = archive.read(|state| state.runs.contains(&file.run)).or_fail(io)?;
        let work = folder.root().join(WORK);
        let harness = Harness::new(
            gateway,
            executor,
            file.settings.clone(),
            &file.run,
            &folder.traces(),
            &work,
        )
        .or_fail(io)?;
        if archive.read(|state| state.versions.is_empty()).or_fail(io)? {
            let seed = harness.directory("seed").or_fail(io)?;
            crate::seed::write(seed.path()).or_fail(io)?;
            let text = std::fs::read_to_string(seed.path().join("description.txt")).or_fail(io)?;
            let change = Change {
                description: text.trim().to_owned(),
                editor: None,
                run: None,
                iteration: None,
                verdict: ChildVerdict::Accepted,
            };
            // The same time in every run, so that runs of one seed share its commit and can be merged.
            archive
                .add_version(seed.path(), &[], &change, jiff::Timestamp::UNIX_EPOCH)
                .or_fail(io)?;
        }
        let conditions = archive.conditions(&conditions(&file)).or_fail(io)?;
        archive
            .append(&Record::RunStarted(RunStarted {
                run: file.run.clone(),
                time: jiff::Timestamp::now(),
                resumed,
                harness: crate::VERSION.to_owned(),
                seed: file.settings.seed,
                configuration: serde_json::to_value(&file).or_fail(io)?,
                suites: file.suites.clone(),
            }))
            .or_fail(io)?;
        let binaries = binaries(home, &harness, &progress).await?;
        Ok(Session {
            folder,
            _lock: lock,
            archive,
            harness,
            binaries,
            measures,
            conditions,
            file,
            progress,
            drain: CancellationToken::new(),
            signalled: CancellationToken::new(),
        })
    }

    /// Drives the run to its end and records how it ended.
    pub async fn drive(&self) -> Outcome<RunEnd> {
        let stop = self.folder.root().join(STOP);
        // One that was left from an earlier stop is not meant for this process.
        let _ = std::fs::remove_file(&stop);
        let listening = tokio::spawn(listen(
            self.signalled.clone(),
            self.drain.clone(),
            self.harness.interrupted.clone(),
            stop.clone(),
        ));
        let run = Run {
            folder: self.folder.root(),
            harness: &self.harness,
            archive: &self.archive,
            binaries: &self.binaries,
            measures: &self.measures,
            conditions: self.conditions,
            drain: &self.drain,
            progress: &self.progress,
        };
        let end = run.drive().await;
        listening.abort();
        let _ = std::fs::remove_file(&stop);
        let end = end.map_err(failure);
        let cost = NanoUsd(self.gateway_spent());
        let how = end.as_ref().map_or("failed".to_owned(), |end| end.name().to_owned());
        self.progress.tell(RunEvent::Ended { how: how.clone(), usd: cost.usd() });
        self.progress.end();
        let record = Record::RunEnded(RunEnded {
            run: self.file.run.clone(),
            time: jiff::Timestamp::now(),
            how,
            cost,
        });
        let recorded = self.archive.append(&record).and_then(|_| self.archive.commit());
        let end = end?;
        recorded.or_fail(FailureKind::Infrastructure)?;
        Ok(end)
    }

    /// Returns the archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Tells whether a person ended the run by a signal.
    pub fn was_signalled(&self) -> bool {
        self.signalled.is_cancelled()
    }

    fn gateway_spent(&self) -> u64 {
        self.harness.gateway.balance(&hone_gateway::Account::Run).settled.0
    }
}

/// Prepares the pantry, compiled dependencies and the seed's build.
pub async fn binaries(home: &Home, harness: &Harness, progress: &Progress) -> Outcome<Binaries> {
    let io = FailureKind::Infrastructure;
    let seed = harness.directory("pantry").or_fail(io)?;
    crate::seed::write(seed.path()).or_fail(io)?;
    let tell = |text: &str| progress.tell(RunEvent::Notice { text: text.to_owned() });
    let pantry = Pantry::prepare(home.cache(), seed.path(), &tell).or_fail(io)?;
    let builder =
        ChildBuilder::new(Arc::clone(&harness.executor), pantry, home.cache()).or_fail(io)?;
    let base = builder.base(seed.path(), &tell, &harness.interrupted).await.or_fail(io)?;
    Binaries::new(builder, base, home.cache()).or_fail(io)
}

/// States what the numbers of a run depend on.
pub fn conditions(file: &RunFile) -> Conditions {
    let models = &file.models.models;
    let names = models.iter().map(|(alias, settings)| {
        let names: Vec<String> = settings.models.iter().map(ToString::to_string).collect();
        (alias.to_string(), names.join(", "))
    });
    Conditions {
        harness: file.harness.clone(),
        models: names.collect(),
        prices: serde_json::to_value(&file.models.prices).unwrap_or_default(),
        limits: serde_json::to_value(file.settings.trial).unwrap_or_default(),
        utility: file.settings.utility,
        sandbox: file.sandbox.clone(),
        rehearsal: file.rehearsal,
    }
}

/// Waits for signals and for the stop file. The first signal drains, the second one ends at once.
async fn listen(
    signalled: CancellationToken,
    drain: CancellationToken,
    interrupted: CancellationToken,
    stop: std::path::PathBuf,
) {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        tracing::warn!("signals cannot be listened for");
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = tokio::time::sleep(Duration::from_millis(500)) => {
                if stop.exists() {
                    drain.cancel();
                }
                continue;
            }
        }
        let mut words = std::io::stderr();
        if signalled.is_cancelled() {
            // Nobody is there to be told that stderr is closed.
            let _ = writeln!(words, "stopping at once; what was under way is not recorded");
            interrupted.cancel();
        } else {
            let _ = writeln!(words, "finishing what is under way; interrupt again to stop at once");
            signalled.cancel();
            drain.cancel();
        }
    }
}

fn failure(error: RunError) -> Failure {
    let kind = match &error {
        RunError::Choice(_) => FailureKind::Refused,
        _ => FailureKind::Infrastructure,
    };
    Failure::new(kind, error)
}

/// Chooses an executor for a run. What earlier processes left on this machine is removed first.
pub async fn executor(home: &Home, choice: SandboxChoice, run: &str) -> Outcome<SharedExecutor> {
    let state = home.sandboxes();
    std::fs::create_dir_all(&state).or_fail(FailureKind::Infrastructure)?;
    if let Err(error) = hone_sandbox::sweep(&state, Sweep::Remove).await {
        tracing::warn!("what dead processes left is not removed: {error}");
    }
    let choice = match choice {
        SandboxChoice::Auto => Choice::Auto,
        SandboxChoice::Docker => Choice::Docker,
        SandboxChoice::Bubblewrap => Choice::Bubblewrap,
        SandboxChoice::None => Choice::None,
    };
    let owner = Owner { run: run.to_owned() };
    hone_sandbox::choose(choice, owner, &state).await.map_err(|error| {
        Failure::infrastructure(error)
            .hint("`hone doctor` says what is missing and the command that mends it.")
    })
}

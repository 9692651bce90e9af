//! The read-only view of the archive that an editor is given: sources, verdicts, results and traces of the search
//! split. Nothing of held-out problems is in it, and no reference solution.

use crate::settings::EditorSees;
use crate::trial::trace;
use hone_archive::record::{Child, Trial};
use hone_archive::{AgentNumber, Archive, ArchiveError, Record, State};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The most traces that are shown: those of the newest trials.
const TRACES: usize = 400;
/// The most bytes of one trace.
const TRACE_BYTES: usize = 256 << 10;

/// Why the view could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A file could not be written.
    #[error("write the view of the archive")]
    File(#[from] io::Error),
}

/// The view as a folder that grows with the archive.
#[derive(Debug)]
pub struct ArchiveView {
    root: PathBuf,
    sees: EditorSees,
}

impl ArchiveView {
    /// Describes a view in a folder, which is empty or does not exist.
    pub fn new(root: PathBuf, sees: EditorSees) -> Self {
        ArchiveView { root, sees }
    }

    /// Returns the folder, where the editor sees the archive at all.
    pub fn folder(&self) -> Option<&Path> {
        (self.sees != EditorSees::Nothing).then_some(self.root.as_path())
    }

    /// Brings the view up to date. The newest version is the last that it shows.
    pub fn update(&self, archive: &Archive, traces: &Path) -> Result<(), ViewError> {
        if self.sees == EditorSees::Nothing {
            return Ok(());
        }
        std::fs::create_dir_all(self.root.join("agents"))?;
        std::fs::create_dir_all(self.root.join("traces"))?;
        let (planned, agents) = archive.read(|state| (planned(state), agents(state)))?;
        let (mut trials, mut children) = (Vec::new(), BTreeMap::new());
        archive.for_each_record(|entry| match entry.record {
            Record::Trial(trial) if planned.contains(&key(&trial)) => trials.push(trial),
            Record::Child(child) => {
                if let Some(agent) = child.agent {
                    children.insert(agent, child);
                }
            }
            _ => {}
        })?;
        for (agent, verdict) in agents {
            self.show_agent(archive, agent, &verdict, children.get(&agent))?;
        }
        self.show_results(&trials)?;
        if self.sees == EditorSees::All {
            self.show_traces(&trials, traces)?;
        }
        Ok(())
    }

    fn show_agent(
        &self,
        archive: &Archive,
        agent: AgentNumber,
        verdict: &str,
        child: Option<&Child>,
    ) -> Result<(), ViewError> {
        let folder = self.root.join("agents").join(agent.to_string());
        let source = folder.join("source");
        if !source.exists() {
            archive.checkout(agent, &source)?;
            for name in ["description.txt", "CHANGELOG.md"] {
                match std::fs::copy(source.join(name), folder.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error.into());
                    }
                    _ => {}
                }
            }
        }
        let facts = match child {
            Some(child) => json!({
                "verdict": verdict,
                "reason": child.reason,
                "description": child.description,
                "repairs": child.repairs,
                "log": child.log.as_ref().map(|log| log.tail.as_str()),
            }),
            None => json!({ "verdict": verdict }),
        };
        Ok(std::fs::write(
            folder.join("verdict.json"),
            serde_json::to_vec_pretty(&facts).map_err(io::Error::from)?,
        )?)
    }

    fn show_results(&self, trials: &[Trial]) -> io::Result<()> {
        let mut file = io::BufWriter::new(std::fs::File::create(self.root.join("results.jsonl"))?);
        for trial in trials {
            let line = json!({
                "agent": trial.agent,
                "suite": trial.suite,
                "problem": trial.problem,
                "epoch": trial.epoch,
                "verdict": trial.outcome.name(),
                "score": trial.outcome.score(),
                "usd": trial.cost.usd(),
                "seconds": trial.seconds,
                "reason": trial.reason,
            });
            writeln!(file, "{line}")?;
        }
        file.flush()
    }

    fn show_traces(&self, trials: &[Trial], traces: &Path) -> io::Result<()> {
        for trial in trials.iter().rev().take(TRACES) {
            let Some(digest) = trial.trace else { continue };
            let name = format!(
                "agent-{}-{}-{}-{}.jsonl",
                trial.agent,
                trial.suite.replace('/', "_"),
                trial.problem.replace('/', "_"),
                trial.epoch
            );
            let path = self.root.join("traces").join(name);
            if path.exists() {
                continue;
            }
            match trace::read(traces, digest) {
                Ok(text) => std::fs::write(path, super::statement::tail(&text, TRACE_BYTES))?,
                // A trace that was taken away is no reason to stop editing.
                Err(error) => tracing::warn!(%digest, %error, "a trace cannot be shown"),
            }
        }
        Ok(())
    }
}

type Key = (String, hone_archive::Digest, String);

fn key(trial: &Trial) -> Key {
    (trial.suite.clone(), trial.suite_digest, trial.problem.clone())
}

/// Returns the problems that the loop may see.
fn planned(state: &State) -> HashSet<Key> {
    let plans = state.plan.iter();
    plans
        .flat_map(|plan| {
            plan.problems.iter().map(|problem| (plan.suite.clone(), plan.digest, problem.clone()))
        })
        .collect()
}

fn agents(state: &State) -> Vec<(AgentNumber, String)> {
    let versions = state.versions.values();
    versions.map(|version| (version.agent, version.change.verdict.to_string())).collect()
}

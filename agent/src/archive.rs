//! The read-only view of the archive that an improvement job is given. The README describes it.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The view of the archive.
#[derive(Clone, Debug)]
pub struct Archive {
    root: PathBuf,
}

/// One trial, a line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// The number of the agent.
    pub agent: u64,
    /// The suite.
    pub suite: String,
    /// The problem.
    pub problem: String,
    /// The number of the repeat.
    #[serde(default)]
    pub epoch: u32,
    /// How the trial ended.
    pub verdict: String,
    /// The score, from 0 to 1; none when the trial could not be scored.
    #[serde(default)]
    pub score: Option<f64>,
    /// US dollars.
    #[serde(default)]
    pub usd: f64,
    /// Seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Why the trial ended as it did.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Why the archive could not be read, for the model.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file of the view could not be read.
    #[error("{path} cannot be read: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// A line of the results is not what it should be.
    #[error("line {line} of {path} cannot be read: {source}", path = path.display())]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    /// There is no such agent.
    #[error("there is no agent {agent}; the archive has {known}")]
    NoAgent { agent: u64, known: String },
}

impl Outcome {
    /// Tells whether the trial ended otherwise than by a score. What the harness could not score
    /// says nothing about the agent.
    pub fn is_failure(&self) -> bool {
        !matches!(self.verdict.as_str(), "scored" | "infra_error" | "verifier_error")
    }

    /// Writes what happened on a line.
    pub fn to_line(&self) -> String {
        let score = self.score.map_or("unscored".to_owned(), |score| format!("score {score:.3}"));
        let reason = self.reason.as_deref().filter(|reason| !reason.is_empty());
        let reason =
            reason.map_or(String::new(), |reason| format!(" | {}", reason.replace('\n', " ")));
        format!(
            "{}/{} epoch {} | {} | {score} | ${:.4} | {:.1} s{reason}",
            self.suite, self.problem, self.epoch, self.verdict, self.usd, self.seconds
        )
    }
}

impl Archive {
    /// Describes the view in a directory.
    pub fn new(root: &Path) -> Self {
        Archive { root: root.to_owned() }
    }

    /// Returns the directory of the view.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the agents.
    pub fn agents(&self) -> Result<Vec<u64>, ArchiveError> {
        let path = self.root.join("agents");
        let entries = fs::read_dir(&path).map_err(|source| ArchiveError::Read { path, source })?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut agents: Vec<u64> = names.filter_map(|name| name.parse().ok()).collect();
        agents.sort_unstable();
        Ok(agents)
    }

    /// Returns the directory of an agent.
    pub fn agent(&self, agent: u64) -> Result<PathBuf, ArchiveError> {
        let known = self.agents()?;
        if known.contains(&agent) {
            return Ok(self.root.join("agents").join(agent.to_string()));
        }
        let known = known.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        Err(ArchiveError::NoAgent { agent, known })
    }

    /// Returns a short file of an agent, or nothing when there is none.
    pub fn file(&self, agent: u64, name: &str) -> Result<String, ArchiveError> {
        Ok(fs::read_to_string(self.agent(agent)?.join(name)).unwrap_or_default())
    }

    /// Reads every trial.
    pub fn results(&self) -> Result<Vec<Outcome>, ArchiveError> {
        let path = self.root.join("results.jsonl");
        let text = fs::read_to_string(&path)
            .map_err(|source| ArchiveError::Read { path: path.clone(), source })?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(number, line)| {
                serde_json::from_str(line).map_err(|source| ArchiveError::Line {
                    path: path.clone(),
                    line: number + 1,
                    source,
                })
            })
            .collect()
    }

    /// Reads the trials of one agent.
    pub fn results_of(&self, agent: u64) -> Result<Vec<Outcome>, ArchiveError> {
        self.agent(agent)?;
        Ok(self.results()?.into_iter().filter(|outcome| outcome.agent == agent).collect())
    }

    /// Reads the text files of an agent's source, by their paths.
    pub fn source(&self, agent: u64) -> Result<BTreeMap<String, String>, ArchiveError> {
        let root = self.agent(agent)?.join("source");
        let mut files = BTreeMap::new();
        let walk = ignore::WalkBuilder::new(&root).standard_filters(false).build();
        // Binary files have no diff to show.
        for entry in walk.flatten().filter(|entry| entry.path().is_file()) {
            if let (Ok(path), Ok(text)) =
                (entry.path().strip_prefix(&root), fs::read_to_string(entry.path()))
            {
                files.insert(path.display().to_string(), text);
            }
        }
        Ok(files)
    }
}

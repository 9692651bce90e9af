//! `run.json`: the resolved configuration of a run, written once when it starts.

use crate::failure::{Failure, FailureKind, Outcome};
use crate::home::RunFolder;
use crate::improvement::draft::write_durably;
use crate::settings::Settings;
use hone_archive::record::SuitePlan;
use hone_gateway::settings::ResolvedModels;
use serde::{Deserialize, Serialize};

/// The version of the format: a reader of its first part reads every second part.
const VERSION: (u32, u32) = (1, 0);

/// The resolved configuration of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// The version of the format.
    pub version: (u32, u32),
    /// The run's name.
    pub run: String,
    /// The version of the harness that began it.
    pub harness: String,
    /// When it began.
    pub time: jiff::Timestamp,
    /// Whether models are the rehearsal's.
    pub rehearsal: bool,
    /// The settings.
    pub settings: Settings,
    /// The suites with their digests and problems.
    pub suites: Vec<SuitePlan>,
    /// What each alias came to, with prices.
    pub models: ResolvedModels,
    /// The executor.
    pub sandbox: String,
    /// What the executor does not enforce on the machine that began the run.
    pub weaknesses: Vec<String>,
}

impl RunFile {
    /// Makes the file of a new run.
    pub fn new(
        run: &str,
        settings: Settings,
        suites: Vec<SuitePlan>,
        models: ResolvedModels,
        rehearsal: bool,
        executor: &dyn hone_sandbox::Executor,
    ) -> Self {
        RunFile {
            version: VERSION,
            run: run.to_owned(),
            harness: crate::VERSION.to_owned(),
            time: jiff::Timestamp::now(),
            rehearsal,
            settings,
            suites,
            models,
            sandbox: executor.name().to_owned(),
            weaknesses: executor.weaknesses(),
        }
    }

    /// Reads the file of a run.
    pub fn read(folder: &RunFolder) -> Outcome<Self> {
        let path = folder.configuration();
        let fail = |error: anyhow::Error| {
            Failure::new(FailureKind::Refused, error).context(format!("read {}", path.display()))
        };
        let text = std::fs::read(&path).map_err(|error| fail(error.into()))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| fail(error.into()))?;
        let breaking = value["version"][0].as_u64();
        if breaking != Some(u64::from(VERSION.0)) {
            let found = breaking.map_or("none".to_owned(), |it| it.to_string());
            return Err(fail(anyhow::anyhow!(
                "its format is {found}, and this program reads {}",
                VERSION.0
            )));
        }
        serde_json::from_value(value).map_err(|error| fail(error.into()))
    }

    /// Writes the file; it is durable when this returns.
    pub fn write(&self, folder: &RunFolder) -> std::io::Result<()> {
        let bytes = serde_json::to_vec_pretty(self)?;
        write_durably(folder.root(), "run.json", &bytes)
    }
}

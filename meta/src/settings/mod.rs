//! Settings: what flags, environment and files come to.
//!
//! [`Settings`] are the resolved settings of a run, stored in its `run.json`. `hone.toml` has the same shape;
//! every key may be left out. Order of precedence: flags, `-c key=value`, environment, project file, user file,
//! defaults.
//!
//! | module | what it owns |
//! |---|---|
//! | `layers` | where settings come from, and how the layers are put on each other |
//! | `keys` | the keys that there are, and the nearest to one that is not |
//! | `bounds` | the values that a key may have |

mod bounds;
mod keys;
mod layers;

use crate::failure::{Failure, Outcome};
use hone_archive::{PolicyName, UtilitySettings};
use hone_gateway::http::Patience;
use hone_gateway::outage::OutageSettings;
use hone_gateway::settings::{AliasSettings, RetrySettings};
use hone_gateway::{Alias, SpendRole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The resolved settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The number of iterations.
    pub iterations: u32,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// The suites, by name, by path, or as `name/subset`.
    pub suites: Vec<String>,
    /// The most problems of a suite; they are drawn with the seed.
    pub problems: Option<usize>,
    /// How often each problem is run.
    pub epochs: u32,
    /// The policy that chooses the base.
    pub policy: PolicyName,
    /// The policy that chooses the editor; the base edits itself where there is none.
    pub editor_policy: Option<PolicyName>,
    /// How much of the archive an editor is shown.
    pub editor_sees: EditorSees,
    /// The number of trials that run side by side.
    pub workers: usize,
    /// The executor.
    pub sandbox: SandboxChoice,
    /// The most that the run may spend, in US dollars.
    pub budget: Option<f64>,
    /// The share of the trials of an agent that may fail by infrastructure before the run stops for a person.
    pub infrastructure_share: f64,
    /// How often a trial that infrastructure failed is tried again.
    pub infrastructure_retries: u32,
    /// What a trial may use.
    pub trial: JobLimits,
    /// What an improvement job may use.
    pub editor: JobLimits,
    /// Repairs of a child that does not build.
    pub repair: Repairs,
    /// What a change may be like.
    pub change: ChangeBounds,
    /// What a child must pass before it is measured.
    pub gate: GateSettings,
    /// Staged evaluation.
    pub evaluation: Evaluation,
    /// Weights, caps and penalty of the utility.
    pub utility: UtilitySettings,
    /// The overseer.
    pub overseer: hone_overseer::Settings,
    /// The models behind the aliases.
    pub models: BTreeMap<Alias, AliasSettings>,
    /// Providers, and changes to the built-in ones.
    pub providers: toml::Table,
    /// A price file in LiteLLM's format.
    pub price_file: Option<String>,
    /// Prices of the user, by `provider:model`.
    pub prices: toml::Table,
    /// The most that each role may spend, in US dollars; the run's own cap is `budget`.
    pub caps: BTreeMap<SpendRole, f64>,
    /// How long a provider is waited for.
    pub patience: Patience,
    /// How often a model call is tried again.
    pub retry: RetrySettings,
    /// What happens when a provider is down.
    pub outage: OutageSettings,
    /// Whether every exchange with a model is recorded beside the traces.
    pub record: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            iterations: 3,
            seed: 0,
            suites: vec!["edit".to_owned(), "nav".to_owned()],
            problems: None,
            epochs: 1,
            policy: PolicyName::Best,
            editor_policy: None,
            editor_sees: EditorSees::All,
            workers: 2,
            sandbox: SandboxChoice::Auto,
            budget: None,
            infrastructure_share: 0.25,
            infrastructure_retries: 2,
            trial: JobLimits {
                seconds: 300.0,
                usd: 1.0,
                iterations: 60,
                context_tokens: 120_000,
                memory_mib: 2048,
            },
            editor: JobLimits {
                seconds: 3600.0,
                usd: 10.0,
                iterations: 150,
                context_tokens: 160_000,
                memory_mib: 6144,
            },
            repair: Repairs::default(),
            change: ChangeBounds::default(),
            gate: GateSettings::default(),
            evaluation: Evaluation::default(),
            utility: UtilitySettings::default(),
            overseer: hone_overseer::Settings::default(),
            models: BTreeMap::new(),
            providers: toml::Table::new(),
            price_file: None,
            prices: toml::Table::new(),
            caps: BTreeMap::new(),
            patience: Patience::default(),
            retry: RetrySettings::default(),
            outage: OutageSettings::default(),
            record: true,
        }
    }
}

/// How much of the archive an editor is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum EditorSees {
    /// Sources, descriptions, scores, per-problem outcomes and traces of the search split.
    #[default]
    All,
    /// The same without traces.
    Scores,
    /// The base's source alone.
    Nothing,
}

/// Which executor is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SandboxChoice {
    /// Docker where an engine answers, else bubblewrap.
    #[default]
    Auto,
    /// Docker.
    Docker,
    /// Bubblewrap.
    Bubblewrap,
    /// No sandbox at all; never chosen by itself.
    None,
}

/// What a job may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobLimits {
    /// Seconds from its start.
    pub seconds: f64,
    /// US dollars for model calls.
    pub usd: f64,
    /// Model calls of one node of the call graph.
    pub iterations: u32,
    /// Tokens that a prompt may have.
    pub context_tokens: u64,
    /// Memory of the sandbox, in MiB.
    pub memory_mib: u64,
}

/// Repairs of a child that does not build.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Repairs {
    /// The most repair jobs.
    pub attempts: u32,
    /// Seconds of one repair job.
    pub seconds: f64,
    /// US dollars of one repair job.
    pub usd: f64,
}

impl Default for Repairs {
    fn default() -> Self {
        Repairs { attempts: 2, seconds: 900.0, usd: 2.0 }
    }
}

/// What a change may be like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeBounds {
    /// The most files that a change may touch.
    pub files: usize,
    /// The most lines that it may add or remove.
    pub lines: usize,
    /// The most bytes that the child's tree may have.
    pub tree_bytes: u64,
}

impl Default for ChangeBounds {
    fn default() -> Self {
        ChangeBounds { files: 200, lines: 20_000, tree_bytes: 16 << 20 }
    }
}

/// What a child must pass before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateSettings {
    /// Whether its own tests are run.
    pub tests: bool,
    /// Seconds of one self-check.
    pub seconds: f64,
    /// US dollars of one self-check.
    pub usd: f64,
}

impl Default for GateSettings {
    fn default() -> Self {
        GateSettings { tests: true, seconds: 300.0, usd: 1.0 }
    }
}

/// Staged evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Evaluation {
    /// Shares of the problems at which a child is looked at; none measures all at once.
    pub stages: Vec<f64>,
    /// Whether a child that is surely worse than the best is stopped early.
    pub race: bool,
    /// By how much of score a child may be worse.
    pub margin: f64,
}

impl Settings {
    /// Checks that every value is one that its key may have, such as after flags were put on top.
    pub fn check(&self) -> Outcome {
        bounds::check(self).map_err(Failure::usage)
    }
}

/// Reads the settings from the files, the environment and `key=value` pairs.
///
/// The files are `hone/hone.toml` in `$XDG_CONFIG_HOME` or `~/.config`, then `./hone.toml` or what `config` names.
/// The variables are `HONE_MODEL`, `HONE_BASE_URL`, `HONE_BUDGET`, `HONE_SANDBOX` and `HONE_WORKERS`.
pub fn load(config: Option<&Path>, set: &[String]) -> Outcome<Settings> {
    let variable = |name: &str| {
        let value = std::env::var_os(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    layers::Sources {
        user: layers::user_file(&variable),
        project: config.unwrap_or(Path::new(layers::PROJECT_FILE)),
        project_must_exist: config.is_some(),
        variable: &variable,
        set,
    }
    .resolve()
}

/// Puts pairs `key=value`, as `-c` takes them, on settings such as those of a run.
pub fn change(settings: &Settings, set: &[String]) -> Outcome<Settings> {
    layers::change(settings, set)
}

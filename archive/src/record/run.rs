//! Records about a run: how it was configured, under which conditions its trials ran, what it chose.

use crate::identity::{AgentNumber, ConditionsId, Digest, NanoUsd, RecordId};
use crate::utility::UtilitySettings;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run began, or went on after a stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's name.
    pub run: String,
    /// When.
    pub time: Timestamp,
    /// Whether an earlier start of the same run is continued.
    pub resumed: bool,
    /// The version of the harness.
    pub harness: String,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// The whole resolved configuration.
    pub configuration: serde_json::Value,
    /// The suites with their fixed lists of problems: what an agent needs to be complete.
    pub suites: Vec<SuitePlan>,
}

/// What every agent of a run is measured on, in one suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuitePlan {
    /// The suite's name.
    pub suite: String,
    /// The digest over everything that its scoring depends on.
    pub digest: Digest,
    /// The fixed list of problems.
    pub problems: Vec<String>,
    /// How often each problem is run.
    pub epochs: u32,
}

/// A run came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run's name.
    pub run: String,
    /// When.
    pub time: Timestamp,
    /// Why, for example `done`, `budget`, `interrupted`, `infrastructure`.
    pub how: String,
    /// Everything that the run has spent so far.
    pub cost: NanoUsd,
}

/// What a trial's number depends on besides agent, suite and problem. Stored once, named by
/// [`Conditions::id`] in each trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The version of the harness.
    pub harness: String,
    /// Which model each alias stands for.
    pub models: BTreeMap<String, String>,
    /// The prices that cost was computed with, as the harness states them.
    pub prices: serde_json::Value,
    /// The limits of a trial, as the harness states them.
    pub limits: serde_json::Value,
    /// Weights, caps and penalty of the utility.
    pub utility: UtilitySettings,
    /// The name of the sandbox that the trials ran in.
    pub sandbox: String,
    /// Whether the models are the embedded stand-in: then the numbers measure the harness, not a model.
    pub rehearsal: bool,
}

impl Conditions {
    /// Returns the identity: a digest of the content.
    pub fn id(&self) -> ConditionsId {
        // A struct of strings, numbers and JSON values always has a JSON form.
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut id = [0; 8];
        id.copy_from_slice(&blake3::hash(&json).as_bytes()[..8]);
        ConditionsId(id)
    }
}

/// Conditions with their identity, as the ledger holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// The identity that trials name.
    pub conditions: ConditionsId,
    /// The conditions.
    pub content: Conditions,
}

/// An iteration chose its editor and its base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// The run.
    pub run: String,
    /// The iteration, counted from 1.
    pub iteration: u32,
    /// When.
    pub time: Timestamp,
    /// The version whose source is edited.
    pub base: AgentNumber,
    /// The version that does the editing.
    pub editor: AgentNumber,
    /// The policy that chose the base.
    pub base_policy: String,
    /// The policy that chose the editor; `same` where the editor is the base.
    pub editor_policy: String,
    /// The seed that the policies were given.
    pub seed: u64,
    /// Why this base: one line per candidate.
    pub reasons: Vec<Reason>,
    /// Why this editor, where its policy is not `same`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub editor_reasons: Vec<Reason>,
    /// Why the policies' choice was set aside, for example after an editor failed twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescue: Option<String>,
}

impl Iteration {
    /// Returns the seed that the editor's policy was given: another than the base's, since the same draw would
    /// make the editor the base each time.
    pub fn editor_seed(&self) -> u64 {
        self.seed.wrapping_add(1)
    }
}

/// Records of another archive were taken in; they follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// Where the other archive lay.
    pub from: String,
    /// When.
    pub time: Timestamp,
    /// How many records were new.
    pub records: u64,
    /// The versions whose number changed: the other archive's number and ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renumbered: Vec<(AgentNumber, AgentNumber)>,
    /// The runs whose name changed: the other archive's name and ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<String, String>,
    /// The runs that came, by our names: they do not change what agents are measured on.
    pub runs: Vec<String>,
    /// The iterations that came: their choices followed from the other archive's data.
    pub iterations: Vec<RecordId>,
}

/// One candidate's part in a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The candidate.
    pub agent: AgentNumber,
    /// The number that the policy looks at: utility or score.
    pub value: f64,
    /// Half the width of the value's 95 % interval, where it is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// The probability that the policy gave to the candidate; 1 and 0 for policies that do not draw.
    pub weight: f64,
    /// What else the policy used, by name, for example `children`, `novelty`, `sample`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terms: BTreeMap<String, f64>,
}

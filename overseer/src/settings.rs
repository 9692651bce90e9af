//! Settings: how often the overseer looks, what makes it act, and what it may spend.

use serde::{Deserialize, Serialize};

/// Whether the overseer acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing is watched.
    Off,
    /// Everything is judged and recorded; nothing is sent.
    Shadow,
    /// Nudges and cancels are sent.
    #[default]
    On,
}

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "off" => Ok(Mode::Off),
            "shadow" => Ok(Mode::Shadow),
            "on" => Ok(Mode::On),
            other => Err(UnknownMode(other.to_owned())),
        }
    }
}

/// A word that is no [`Mode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown overseer mode `{0}`: off, shadow or on")]
pub struct UnknownMode(pub String);

/// Everything that can be set. All times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether the overseer acts.
    pub mode: Mode,
    /// When it looks.
    pub cadence: Cadence,
    /// What the judge may spend and take.
    pub judge: JudgeLimits,
    /// How much of a trial the judge is shown.
    pub view: ViewLimits,
    /// What interventions are held to.
    pub rules: Rules,
    /// When detectors fire.
    pub thresholds: Thresholds,
    /// Which paths the agent must leave alone.
    pub paths: GuardedPaths,
}

/// When the overseer looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cadence {
    /// The first look after the trial's start.
    pub first_seconds: f64,
    /// The next look, when the judge does not say.
    pub default_seconds: f64,
    /// The shortest pause, also between looks because of a sub-agent's start or end.
    pub shortest_seconds: f64,
    /// The longest pause.
    pub longest_seconds: f64,
    /// Percentages of a cost or time limit that cause a look when they are passed.
    pub limit_percents: Vec<u32>,
}

impl Default for Cadence {
    fn default() -> Self {
        Self {
            first_seconds: 15.0,
            default_seconds: 30.0,
            shortest_seconds: 5.0,
            longest_seconds: 500.0,
            limit_percents: vec![50, 80, 95],
        }
    }
}

/// What the judge may spend and take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeLimits {
    /// Seconds after which a call counts as dead.
    pub timeout_seconds: f64,
    /// Nano-dollars that the judge may cost in one trial; above it the detectors rule alone.
    pub cap_nano_usd: u64,
    /// Most tokens of a reply.
    pub reply_tokens: u32,
    /// How many times each view is judged; the majority counts. 1 means no voting.
    pub votes: u32,
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self { timeout_seconds: 60.0, cap_nano_usd: 200_000_000, reply_tokens: 700, votes: 1 }
    }
}

/// How much of a trial the judge is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewLimits {
    /// Most tokens of a view, estimated at four bytes a token.
    pub tokens: usize,
    /// Most characters of one text of the agent.
    pub text_characters: usize,
}

impl Default for ViewLimits {
    fn default() -> Self {
        Self { tokens: 6_000, text_characters: 300 }
    }
}

/// What interventions are held to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Most nudges of a trial within a minute.
    pub nudges_per_minute: u32,
    /// Seconds that a node has to act on a nudge before another one may be sent to it.
    pub nudge_pause_seconds: f64,
    /// Calls that a node makes after a delivered nudge before it can be cancelled.
    pub patience_calls: u64,
    /// Seconds after a delivered nudge that stand for the calls where a node makes none.
    pub patience_seconds: f64,
    /// Calls after a delivered nudge, none of which changed a file and most of which had been made
    /// before, after which the judge may cancel with no detector on its side.
    pub judge_alone_calls: u64,
    /// Seconds that the agent has to carry out a cancel before the sandbox does.
    pub obey_seconds: f64,
    /// A loop that reaches this many times its threshold is acted on whatever the judge says; 0
    /// leaves it to the judge.
    pub insist_factor: u64,
    /// Calls that are watched after an intervention, to record what the agent did next.
    pub aftermath_calls: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            nudges_per_minute: 3,
            nudge_pause_seconds: 10.0,
            patience_calls: 3,
            patience_seconds: 60.0,
            judge_alone_calls: 15,
            obey_seconds: 10.0,
            insist_factor: 3,
            aftermath_calls: 10,
        }
    }
}

/// When detectors fire. Each field names its detector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// `exact_repeat`: equal calls with equal results in a row.
    pub exact_repeat: u64,
    /// `alternation`: full rounds of a cycle of two to `longest_cycle` calls.
    pub alternation_rounds: u64,
    /// `alternation`: the longest cycle that is looked for.
    pub longest_cycle: usize,
    /// `same_error`: results of the last `same_error_window` calls that fail alike.
    pub same_error: u64,
    /// `same_error`: calls that are looked at.
    pub same_error_window: usize,
    /// `no_progress`: calls in a row with no new input and no changed file.
    pub no_progress: u64,
    /// `spend_runaway`: percent of the cost limit spent within `spend_calls` model calls.
    pub spend_percent: f64,
    /// `spend_runaway`: the model calls that are looked at.
    pub spend_calls: u64,
    /// `spend_runaway`: output tokens of one model call.
    pub spend_output_tokens: u64,
    /// `unreported_calls`: model calls that the gateway saw with no event of the agent.
    pub unreported_calls: u64,
    /// `waiting_command`: seconds without a result of a command that probably reads input.
    pub waiting_seconds: f64,
    /// `waiting_command`: seconds without a result of any other call.
    pub long_call_seconds: f64,
    /// `silence`: seconds with neither an event nor a model call.
    pub silence_seconds: f64,
    /// `unreturned`: seconds of silence of a parent whose sub-agents are all finished.
    pub unreturned_seconds: f64,
    /// `node_storm`: nodes started in one trial.
    pub nodes: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            exact_repeat: 4,
            alternation_rounds: 3,
            longest_cycle: 4,
            same_error: 5,
            same_error_window: 14,
            no_progress: 8,
            spend_percent: 25.0,
            spend_calls: 8,
            spend_output_tokens: 30_000,
            unreported_calls: 10,
            waiting_seconds: 20.0,
            long_call_seconds: 300.0,
            silence_seconds: 120.0,
            unreturned_seconds: 60.0,
            nodes: 40,
        }
    }
}

/// Which paths the agent must leave alone. A path stands for itself and all below it; relative ones
/// are relative to the work directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardedPaths {
    /// The work directory inside the sandbox.
    pub work_directory: String,
    /// Paths outside the work directory that may be read.
    pub readable: Vec<String>,
    /// Tests and graders that the trial is judged by; writing to them is a grave matter.
    pub graders: Vec<String>,
    /// Paths that a change must not touch, such as the wire protocol in an improvement job.
    pub protected: Vec<String>,
}

impl Default for GuardedPaths {
    fn default() -> Self {
        let readable = ["/tmp", "/usr", "/lib", "/lib64", "/bin", "/opt", "/dev/null", "/archive"];
        Self {
            work_directory: "/work".to_owned(),
            readable: readable.map(str::to_owned).to_vec(),
            graders: Vec::new(),
            protected: Vec::new(),
        }
    }
}

//! Decisions as data: each judgement is a row that a later calibration can learn from.
//!
//! A row is a row of SemIf (`id`, `state`, `question`, `options` of `id` and `description`, two to
//! sixteen of them with unique ids; github.com/TheoLeeCJ/SemIf, `validate_row`) with further fields:
//! the decision point and its version, the probability of each option, the choice, the threshold.
//! A row never holds its own label, see [`crate::labels`].

use crate::detectors::{DetectorId, Hit};
use crate::judgement::{Judgement, Progress};
use hone_protocol::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One option of a decision point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its id, unique in the point.
    pub id: String,
    /// What it means.
    pub description: String,
}

/// A question with its permitted answers. Their ids, texts and order are part of its identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPoint {
    /// Its name.
    pub point: String,
    /// Its version; it grows whenever anything else of the point changes.
    pub version: u32,
    /// The question.
    pub question: String,
    /// The permitted answers.
    pub options: Vec<Choice>,
}

impl DecisionPoint {
    fn new(point: &str, version: u32, question: &str, options: &[(&str, &str)]) -> Self {
        DecisionPoint {
            point: point.to_owned(),
            version,
            question: question.to_owned(),
            options: options
                .iter()
                .map(|(id, text)| Choice { id: (*id).to_owned(), description: (*text).to_owned() })
                .collect(),
        }
    }

    /// Returns the digest of everything that makes the point what it is.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.point);
        part(&self.version.to_string());
        part(&self.question);
        for option in &self.options {
            part(&option.id);
            part(&option.description);
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

/// The judge's decision whether a node is in a loop.
pub fn looping() -> DecisionPoint {
    DecisionPoint::new(
        "overseer.looping",
        1,
        "Is the agent caught in a loop?",
        &[
            ("looping", "It repeats a few calls or one error and learns nothing from them"),
            ("not_looping", "Its calls lead to something new"),
        ],
    )
}

/// The judge's decision how the agent gets on.
pub fn progress() -> DecisionPoint {
    DecisionPoint::new(
        "overseer.progress",
        1,
        "Does the agent make progress?",
        &[("good", "It does"), ("slow", "It does, slowly"), ("none", "It does not")],
    )
}

/// The judge's decision what to do.
pub fn action() -> DecisionPoint {
    DecisionPoint::new(
        "overseer.action",
        1,
        "What should be done with the agent?",
        &[
            ("nothing", "Let it go on"),
            ("nudge", "Tell the node what is seen and what to try instead"),
            ("cancel", "End the node with everything below it"),
        ],
    )
}

/// A detector's decision whether it fires.
pub fn detector(id: DetectorId) -> DecisionPoint {
    DecisionPoint::new(
        &format!("detector.{id}"),
        1,
        &format!("Does the agent's behaviour show {}?", id.as_str().replace('_', " ")),
        &[("fires", "It shows"), ("quiet", "It does not show")],
    )
}

/// All points of this version of the overseer.
pub fn all_points() -> Vec<DecisionPoint> {
    let mut points = vec![looping(), progress(), action()];
    points.extend(DetectorId::ALL.map(detector));
    points
}

/// Where probabilities come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Source {
    /// The model's log-probabilities of the deciding token.
    LogProbabilities,
    /// Votes, with one added to each option, so that few votes stay modest.
    Votes {
        /// How many votes there were.
        votes: u32,
    },
    /// A rule, which is sure.
    Rule,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Unique in a run: trial, point and number.
    pub id: String,
    /// The decision point, with its question and options.
    #[serde(flatten)]
    pub point: DecisionPoint,
    /// The point's digest.
    pub point_digest: String,
    /// What was known: the evidence, as data.
    pub state: serde_json::Value,
    /// The probability of each option, in their order.
    pub probabilities: Vec<f64>,
    /// Where the probabilities come from.
    #[serde(flatten)]
    pub source: Source,
    /// The option that was chosen.
    pub chosen: String,
    /// From which probability on an option is chosen; of a detector its own threshold.
    pub threshold: f64,
    /// The trial.
    pub trial: String,
    /// The node judged.
    pub node: NodeId,
    /// The newest event that was known.
    pub event: u64,
    /// Milliseconds since the trial's start.
    pub at_ms: u64,
}

/// What is wrong with decision rows.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RowError {
    /// A text that must say something is empty.
    #[error("decision {id}: `{field}` is empty")]
    Empty {
        /// The row.
        id: String,
        /// The field.
        field: &'static str,
    },
    /// There are fewer than two or more than sixteen options.
    #[error("decision {id}: {count} options, two to sixteen are allowed")]
    OptionCount {
        /// The row.
        id: String,
        /// How many there are.
        count: usize,
    },
    /// Two options have one id.
    #[error("decision {id}: the option `{option}` stands twice")]
    DoubleOption {
        /// The row.
        id: String,
        /// The option.
        option: String,
    },
    /// The probabilities are not a distribution over the options.
    #[error("decision {id}: the probabilities are not a distribution over the options")]
    Probabilities {
        /// The row.
        id: String,
    },
    /// The choice is no option.
    #[error("decision {id}: the choice `{chosen}` is no option")]
    Chosen {
        /// The row.
        id: String,
        /// The choice.
        chosen: String,
    },
    /// The digest does not belong to the point.
    #[error("decision {id}: the digest is not that of its point")]
    Digest {
        /// The row.
        id: String,
    },
    /// Options, their order or the question changed, and the version did not.
    #[error(
        "decision point {point} changed within version {version}: a change needs a new version"
    )]
    Changed {
        /// The point.
        point: String,
        /// The version.
        version: u32,
    },
    /// Two rows have one id.
    #[error("two decisions have the id {id}")]
    DoubleId {
        /// The id.
        id: String,
    },
}

/// Checks a row by itself.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_row(row: &Decision) -> Result<(), RowError> {
    let id = || row.id.clone();
    for (field, text) in
        [("id", &row.id), ("point", &row.point.point), ("question", &row.point.question)]
    {
        if text.is_empty() {
            return Err(RowError::Empty { id: id(), field });
        }
    }
    let empty = match &row.state {
        serde_json::Value::String(text) => text.is_empty(),
        serde_json::Value::Array(items) => items.is_empty(),
        serde_json::Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    if empty {
        return Err(RowError::Empty { id: id(), field: "state" });
    }
    let options = &row.point.options;
    if !(2..=16).contains(&options.len()) {
        return Err(RowError::OptionCount { id: id(), count: options.len() });
    }
    for (index, option) in options.iter().enumerate() {
        if options[..index].iter().any(|other| other.id == option.id) {
            return Err(RowError::DoubleOption { id: id(), option: option.id.clone() });
        }
    }
    let sum: f64 = row.probabilities.iter().sum();
    let fits = row.probabilities.len() == options.len()
        && row.probabilities.iter().all(|p| (0.0..=1.0).contains(p))
        && (sum - 1.0).abs() < 1e-6;
    if !fits {
        return Err(RowError::Probabilities { id: id() });
    }
    if !options.iter().any(|option| option.id == row.chosen) {
        return Err(RowError::Chosen { id: id(), chosen: row.chosen.clone() });
    }
    if row.point.digest() != row.point_digest {
        return Err(RowError::Digest { id: id() });
    }
    Ok(())
}

/// Checks rows of one or more runs together: each by itself, and no point that changed within its
/// version, against each other and against `known` points.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_rows(rows: &[Decision], known: &[DecisionPoint]) -> Result<(), RowError> {
    let mut digests: BTreeMap<(String, u32), String> = BTreeMap::new();
    let mut ids = std::collections::HashSet::new();
    let named = known
        .iter()
        .map(|point| (point, point.digest()))
        .chain(rows.iter().map(|row| (&row.point, row.point_digest.clone())));
    for row in rows {
        check_row(row)?;
        if !ids.insert(&row.id) {
            return Err(RowError::DoubleId { id: row.id.clone() });
        }
    }
    for (point, digest) in named {
        let key = (point.point.clone(), point.version);
        if digests.entry(key).or_insert_with(|| digest.clone()) != &digest {
            return Err(RowError::Changed { point: point.point.clone(), version: point.version });
        }
    }
    Ok(())
}

/// What the rows of one moment have in common.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The trial.
    pub trial: &'a str,
    /// A number that is unique in the trial.
    pub number: u64,
    /// The newest event.
    pub event: u64,
    /// Milliseconds since the trial's start.
    pub at_ms: u64,
}

impl Moment<'_> {
    fn row(
        &self,
        point: DecisionPoint,
        node: &NodeId,
        state: serde_json::Value,
        (probabilities, source): (Vec<f64>, Source),
        chosen: &str,
        threshold: f64,
    ) -> Decision {
        Decision {
            id: format!("{}/{}/{}", self.trial, point.point, self.number),
            point_digest: point.digest(),
            point,
            state,
            probabilities,
            source,
            chosen: chosen.to_owned(),
            threshold,
            trial: self.trial.to_owned(),
            node: node.clone(),
            event: self.event,
            at_ms: self.at_ms,
        }
    }

    /// Returns the row of a detector that fired.
    pub fn fired(&self, hit: &Hit) -> Decision {
        let state = serde_json::json!({
            "evidence": hit.evidence, "count": hit.count, "threshold": hit.threshold,
            "proposes": hit.proposes, "after_nudge": hit.after_nudge, "events": hit.events,
        });
        let point = detector(hit.detector);
        let threshold = hit.threshold as f64;
        self.row(point, &hit.node, state, (vec![1.0, 0.0], Source::Rule), "fires", threshold)
    }

    /// Returns the row of a detector that was quiet through a whole trial. It counts as decided
    /// before the first event, since all of the trial can prove it wrong.
    pub fn quiet(&self, id: DetectorId, events: u64) -> Decision {
        let state = serde_json::json!({ "events_seen": events });
        let node = NodeId::root();
        let whole = Moment { event: 0, at_ms: 0, ..*self };
        whole.row(detector(id), &node, state, (vec![0.0, 1.0], Source::Rule), "quiet", 1.0)
    }

    /// Returns the rows of a judgement, given all votes, the one that counts first.
    pub fn judged(
        &self,
        votes: &[Judgement],
        tokens: &[crate::judge::TokenOdds],
        state: &serde_json::Value,
    ) -> Vec<Decision> {
        let Some(judgement) = votes.first() else { return Vec::new() };
        let mut rows = Vec::new();
        for (point, key, pick) in [
            (looping(), "looping", looping_choice as fn(&Judgement) -> &'static str),
            (progress(), "progress", progress_choice),
            (action(), "", action_choice),
        ] {
            let chosen = pick(judgement);
            let from_model =
                (!key.is_empty()).then(|| from_odds(tokens, key, &point.options)).flatten();
            let odds = match from_model {
                Some(probabilities) => (probabilities, Source::LogProbabilities),
                None => from_votes(votes, &point.options, pick),
            };
            let threshold = 1.0 / point.options.len() as f64;
            rows.push(self.row(point, &judgement.node, state.clone(), odds, chosen, threshold));
        }
        rows
    }
}

fn looping_choice(judgement: &Judgement) -> &'static str {
    if judgement.looping { "looping" } else { "not_looping" }
}

fn progress_choice(judgement: &Judgement) -> &'static str {
    match judgement.progress {
        Progress::Good => "good",
        Progress::Slow => "slow",
        Progress::None => "none",
    }
}

fn action_choice(judgement: &Judgement) -> &'static str {
    match (&judgement.cancel, &judgement.nudge) {
        (Some(_), _) => "cancel",
        (None, Some(_)) => "nudge",
        (None, None) => "nothing",
    }
}

fn from_votes(
    votes: &[Judgement],
    options: &[Choice],
    pick: fn(&Judgement) -> &'static str,
) -> (Vec<f64>, Source) {
    let total = (votes.len() + options.len()) as f64;
    let probabilities = options
        .iter()
        .map(|option| {
            let agree = votes.iter().filter(|vote| pick(vote) == option.id).count();
            (agree + 1) as f64 / total
        })
        .collect();
    (probabilities, Source::Votes { votes: u32::try_from(votes.len()).unwrap_or(u32::MAX) })
}

/// Reads the probabilities of a key's values out of the token that follows the key.
fn from_odds(odds: &[crate::judge::TokenOdds], key: &str, options: &[Choice]) -> Option<Vec<f64>> {
    let named = format!("\"{key}\"");
    let mut text = String::new();
    let mut after_key = false;
    for token in odds {
        let plain = token.token.trim_matches(|c: char| c.is_whitespace() || "\":,{}".contains(c));
        if after_key && !plain.is_empty() {
            let mut mass = vec![0.0; options.len()];
            for (alternative, logarithm) in &token.alternatives {
                let word =
                    alternative.trim_matches(|c: char| c.is_whitespace() || "\":,{}".contains(c));
                let meaning = match word {
                    "true" => "looping",
                    "false" => "not_looping",
                    other => other,
                };
                let place = options
                    .iter()
                    .position(|option| !meaning.is_empty() && option.id.starts_with(meaning));
                if let Some(place) = place {
                    mass[place] += logarithm.exp();
                }
            }
            let sum: f64 = mass.iter().sum();
            return (sum > 0.0).then(|| mass.iter().map(|mass| mass / sum).collect());
        }
        text.push_str(&token.token);
        after_key = after_key || text.contains(&named);
    }
    None
}

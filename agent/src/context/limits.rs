//! What an agent may spend, and when it is told how much of that is gone.

/// The shares, in percent, at which an agent is told.
const MARKS: [f64; 4] = [50.0, 80.0, 90.0, 95.0];

/// Something that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Seconds since the job began.
    Time,
    /// US dollars for model calls.
    Cost,
    /// Replies of the model to this agent.
    Steps,
    /// The context of this agent.
    Context,
}

impl Limit {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Time => "time",
            Limit::Cost => "cost",
            Limit::Steps => "steps",
            Limit::Context => "context",
        }
    }

    fn advice(self, mark: f64) -> &'static str {
        match self {
            Limit::Context => "Forget results that you do not need any more, and close files.",
            _ if mark >= 90.0 => "Wind down now: keep what works, and end with a result.",
            _ => "Plan the rest so that it ends in time.",
        }
    }
}

/// Remembers what an agent was told.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    told: [f64; 4],
}

/// A mark that was passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// Which limit.
    pub limit: Limit,
    /// The share that is gone, in percent.
    pub used: f64,
    /// What the model is told.
    pub text: String,
}

impl Limits {
    /// Notes how much of a limit is gone; returns the mark that was passed since the last time.
    pub fn check(&mut self, limit: Limit, used: f64, of: f64) -> Option<Passed> {
        if of <= 0.0 || !used.is_finite() {
            return None;
        }
        let used = 100.0 * used / of;
        let told = &mut self.told[limit as usize];
        let mark = MARKS.into_iter().rev().find(|mark| used >= *mark).filter(|mark| mark > told)?;
        *told = mark;
        let text = format!("{mark} % of the {} is gone. {}", limit.word(), limit.advice(mark));
        Some(Passed { limit, used, text })
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Limits};

    #[test]
    fn each_mark_is_told_once_and_skipped_marks_only_with_the_highest() {
        let mut limits = Limits::default();
        let mut told = Vec::new();
        for used in [10.0, 50.0, 60.0, 91.0, 94.0, 95.0, 99.0] {
            let passed = limits.check(Limit::Cost, used, 100.0);
            told.extend(passed.map(|passed| passed.text[..4].to_owned()));
        }
        assert_eq!(told, ["50 %", "90 %", "95 %"]);
        assert!(limits.check(Limit::Time, 80.0, 100.0).unwrap().text.contains("of the time"));
        assert_eq!(limits.check(Limit::Steps, 80.0, 0.0), None);
    }
}

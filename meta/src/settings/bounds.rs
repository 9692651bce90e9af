//! The values that a key may have, beyond its type.

use super::Settings;
use std::fmt::{self, Display};

/// A value that its key may not have.
#[derive(Debug, PartialEq)]
pub struct OutOfBounds {
    key: String,
    value: String,
    wanted: &'static str,
}

impl Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set `{}` to {}: it must be {}", self.key, self.value, self.wanted)
    }
}

/// Checks all values; the first that is out of bounds is the error.
pub fn check(settings: &Settings) -> Result<(), OutOfBounds> {
    let Settings { trial, editor, repair, change, evaluation, utility, overseer, .. } = settings;
    // No setting means anything below zero.
    if let Ok(table) = toml::Table::try_from(settings) {
        no_negative_number("", &toml::Value::Table(table))?;
    }
    let at_least_one = [
        ("problems", settings.problems.unwrap_or(1) as u64),
        ("epochs", settings.epochs.into()),
        ("workers", settings.workers as u64),
        ("trial.iterations", trial.iterations.into()),
        ("trial.context_tokens", trial.context_tokens),
        ("trial.memory_mib", trial.memory_mib),
        ("editor.iterations", editor.iterations.into()),
        ("editor.context_tokens", editor.context_tokens),
        ("editor.memory_mib", editor.memory_mib),
        ("change.files", change.files as u64),
        ("change.lines", change.lines as u64),
        ("change.tree_bytes", change.tree_bytes),
        ("retry.tries", settings.retry.tries.into()),
        ("overseer.judge.votes", overseer.judge.votes.into()),
        ("overseer.judge.reply_tokens", overseer.judge.reply_tokens.into()),
        ("overseer.view.tokens", overseer.view.tokens as u64),
    ];
    for (key, value) in at_least_one {
        require(value >= 1, key, value, "at least 1")?;
    }
    let above_zero = [
        ("trial.seconds", trial.seconds),
        ("editor.seconds", editor.seconds),
        ("repair.seconds", repair.seconds),
        ("utility.cost_cap_usd", utility.cost_cap_usd),
        ("utility.time_cap_seconds", utility.time_cap_seconds),
        ("outage.probe", settings.outage.probe),
        ("patience.connect", settings.patience.connect),
        ("patience.head", settings.patience.head),
        ("patience.idle", settings.patience.idle),
        ("overseer.cadence.first_seconds", overseer.cadence.first_seconds),
        ("overseer.cadence.default_seconds", overseer.cadence.default_seconds),
        ("overseer.cadence.shortest_seconds", overseer.cadence.shortest_seconds),
        ("overseer.cadence.longest_seconds", overseer.cadence.longest_seconds),
        ("overseer.judge.timeout_seconds", overseer.judge.timeout_seconds),
    ];
    for (key, value) in above_zero {
        require(value > 0.0, key, value, "above 0")?;
    }
    let shares = [
        ("infrastructure_share", settings.infrastructure_share),
        ("evaluation.margin", evaluation.margin),
        ("utility.timeout_penalty", utility.timeout_penalty),
    ];
    for (key, value) in shares {
        require(value <= 1.0, key, value, "between 0 and 1")?;
    }
    let stages = &evaluation.stages;
    let fit = stages.iter().all(|share| *share > 0.0 && *share <= 1.0)
        && stages.windows(2).all(|pair| pair[0] < pair[1]);
    require(fit, "evaluation.stages", format!("{stages:?}"), "ascending shares above 0, up to 1")?;
    require(!settings.suites.is_empty(), "suites", "[]", "at least one suite")?;
    for (alias, models) in &settings.models {
        let key = format!("models.{alias}.models");
        require(!models.models.is_empty(), &key, "[]", "at least one model")?;
    }
    Ok(())
}

fn require(
    fits: bool,
    key: &str,
    value: impl Display,
    wanted: &'static str,
) -> Result<(), OutOfBounds> {
    if fits {
        return Ok(());
    }
    Err(OutOfBounds { key: key.to_owned(), value: value.to_string(), wanted })
}

fn no_negative_number(key: &str, value: &toml::Value) -> Result<(), OutOfBounds> {
    match value {
        toml::Value::Float(number) => {
            let fits = number.is_finite() && *number >= 0.0;
            require(fits, key, number, "a number that is not negative")
        }
        toml::Value::Integer(number) => {
            require(*number >= 0, key, number, "a number that is not negative")
        }
        toml::Value::Array(values) => {
            values.iter().try_for_each(|value| no_negative_number(key, value))
        }
        toml::Value::Table(table) => table
            .iter()
            .try_for_each(|(name, value)| no_negative_number(&super::keys::join(key, name), value)),
        toml::Value::String(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_within_bounds() {
        assert_eq!(check(&Settings::default()), Ok(()));
    }

    #[test]
    fn a_value_out_of_bounds_is_named_with_its_key() {
        let error = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            check(&settings).unwrap_err().to_string()
        };
        let errors = [
            error(|s| s.workers = 0),
            error(|s| s.budget = Some(-1.0)),
            error(|s| s.trial.seconds = 0.0),
            error(|s| s.infrastructure_share = 1.5),
            error(|s| s.evaluation.stages = vec![0.5, 0.2]),
            error(|s| s.evaluation.stages = vec![0.0]),
            error(|s| s.overseer.thresholds.silence_seconds = f64::NAN),
            error(|s| s.suites.clear()),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r"
        set `workers` to 0: it must be at least 1
        set `budget` to -1: it must be a number that is not negative
        set `trial.seconds` to 0: it must be above 0
        set `infrastructure_share` to 1.5: it must be between 0 and 1
        set `evaluation.stages` to [0.5, 0.2]: it must be ascending shares above 0, up to 1
        set `evaluation.stages` to [0.0]: it must be ascending shares above 0, up to 1
        set `overseer.thresholds.silence_seconds` to NaN: it must be a number that is not negative
        set `suites` to []: it must be at least one suite
        ");
    }
}

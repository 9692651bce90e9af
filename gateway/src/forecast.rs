//! What a run may cost, said before any money moves.

use crate::completion::Usage;
use crate::model::Alias;
use crate::money::NanoUsd;
use crate::prices::Price;
use crate::purse::SpendRole;
use crate::settings::ResolvedModels;
use serde::{Deserialize, Serialize};

/// Work that a run is going to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// What it is, in a word or two.
    pub what: String,
    /// What it is for.
    pub role: SpendRole,
    /// The model that does it.
    pub alias: Alias,
    /// Trials, or sittings of the overseer.
    pub trials: u64,
    /// Further trials that may have to be made, such as retries; they count for the most alone.
    pub spare: u64,
    /// What one trial takes when it goes well.
    pub least: PlannedTrial,
    /// What one trial is expected to take.
    pub expected: PlannedTrial,
    /// The most that one trial may cost.
    pub cap: Option<NanoUsd>,
}

/// What one trial takes, by assumption.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Calls.
    pub calls: u64,
    /// Prompt tokens of a call.
    pub prompt: u64,
    /// The part of a prompt that the cache serves, from 0 to 1.
    pub cached: f64,
    /// Output tokens of a call.
    pub output: u64,
}

impl PlannedTrial {
    fn cost(&self, price: &Price) -> NanoUsd {
        let cache_read = (self.prompt as f64 * self.cached.clamp(0.0, 1.0)) as u64;
        let usage = Usage {
            input: self.prompt - cache_read.min(self.prompt),
            cache_read,
            cache_write: 0,
            output: self.output,
        };
        NanoUsd(price.cost(&usage).0.saturating_mul(self.calls))
    }
}

/// What a run may cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// One line for each kind of work, in the order in which it was planned.
    pub lines: Vec<ForecastLine>,
    /// The sum of the lines, within the run's cap.
    pub total: Amounts,
}

/// What one kind of work may cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastLine {
    /// What it is, in a word or two.
    pub what: String,
    /// What it is for.
    pub role: SpendRole,
    /// The first model behind its alias.
    pub model: String,
    /// Trials.
    pub trials: u64,
    /// What they may cost, within the role's cap.
    pub amounts: Amounts,
}

/// Three figures for the same thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// When all goes well.
    pub lowest: NanoUsd,
    /// By the assumptions.
    pub expected: NanoUsd,
    /// What no cap lets it exceed; `None` where there is no cap.
    pub most: Option<NanoUsd>,
}

impl Amounts {
    fn within(self, cap: Option<NanoUsd>) -> Self {
        let Some(cap) = cap else { return self };
        Amounts {
            lowest: self.lowest.min(cap),
            expected: self.expected.min(cap),
            most: Some(self.most.map_or(cap, |most| most.min(cap))),
        }
    }

    fn plus(self, other: Amounts) -> Self {
        Amounts {
            lowest: self.lowest.plus(other.lowest),
            expected: self.expected.plus(other.expected),
            most: self.most.zip(other.most).map(|(a, b)| a.plus(b)),
        }
    }
}

/// Computes what planned work may cost with the models, prices and caps of a run. Work whose alias
/// is replayed costs nothing.
pub fn forecast(models: &ResolvedModels, planned: &[Planned]) -> Forecast {
    let mut lines = Vec::new();
    let none = Amounts { most: Some(NanoUsd::ZERO), ..Amounts::default() };
    let mut total = none;
    for work in planned {
        let model = models.models.get(&work.alias).and_then(|alias| alias.models.first());
        let price = model.and_then(|model| models.prices.get(model));
        let times = |amount: NanoUsd, trials: u64| NanoUsd(amount.0.saturating_mul(trials));
        let amounts = match price {
            Some(price) if !price.is_free() => {
                let one = Amounts {
                    lowest: work.least.cost(price),
                    expected: work.expected.cost(price),
                    most: None,
                };
                let one = one.within(work.cap);
                Amounts {
                    lowest: times(one.lowest, work.trials),
                    expected: times(one.expected, work.trials),
                    most: one.most.map(|most| times(most, work.trials.saturating_add(work.spare))),
                }
            }
            _ => none,
        };
        let amounts = amounts.within(models.caps.roles.get(&work.role).copied());
        total = total.plus(amounts);
        lines.push(ForecastLine {
            what: work.what.clone(),
            role: work.role,
            model: model.map(ToString::to_string).unwrap_or_default(),
            trials: work.trials,
            amounts,
        });
    }
    Forecast { lines, total: total.within(models.caps.run) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gateway, GatewaySettings, Keys, ModelName};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_forecast_multiplies_trials_and_stops_at_every_cap() {
        let mut settings = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
        settings.caps.run = Some(NanoUsd::from_usd(100.0));
        settings.caps.roles.insert(SpendRole::Editor, NanoUsd::from_usd(2.0));
        let gateway = Gateway::new(settings, Keys::default()).unwrap();
        let trial = PlannedTrial { calls: 10, prompt: 1000, cached: 0.9, output: 100 };
        let work = |role: SpendRole, trials, cap| Planned {
            what: role.to_string(),
            role,
            alias: "main".into(),
            trials,
            spare: 2,
            least: PlannedTrial { calls: 1, ..trial },
            expected: trial,
            cap,
        };
        // A call: 100 x 15 + 900 x 1.5 + 100 x 75 = 10,350 micro-dollars.
        let cap = Some(NanoUsd::from_usd(1.0));
        let planned = [work(SpendRole::Editor, 3, cap), work(SpendRole::Benchmark, 20, cap)];
        let forecast = forecast(gateway.resolved(), &planned);
        let usd = NanoUsd::from_usd;
        let editor = Amounts { lowest: usd(0.03105), expected: usd(0.3105), most: Some(usd(2.0)) };
        let bench = Amounts { lowest: usd(0.207), expected: usd(2.07), most: Some(usd(22.0)) };
        assert_eq!(forecast.lines[0].amounts, editor);
        assert_eq!(forecast.lines[1].amounts, bench);
        assert_eq!(forecast.total.most, Some(usd(24.0)));
        let endless = [work(SpendRole::Benchmark, 20, None)];
        let capped = super::forecast(gateway.resolved(), &endless).total;
        assert_eq!(capped.most, Some(usd(100.0)), "the run's cap holds where no trial has one");
    }
}

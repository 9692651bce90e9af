//! What a gateway is told: models, caps, patience, and where to record.

use crate::completion::Effort;
use crate::http::Patience;
use crate::model::{Alias, ModelName};
use crate::money::NanoUsd;
use crate::outage::OutageSettings;
use crate::prices::{Price, Prices};
use crate::profile::{Profile, Profiles};
use crate::purse::SpendRole;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a gateway is told.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The models behind the aliases; `main` stands in for one that is not set.
    pub models: BTreeMap<Alias, AliasSettings>,
    /// The providers.
    pub profiles: Profiles,
    /// The prices.
    pub prices: Prices,
    /// What may be spent.
    pub caps: Caps,
    /// How long to wait for a provider.
    pub patience: Patience,
    /// How often to try again.
    pub retry: RetrySettings,
    /// What to do when a provider is down.
    pub outage: OutageSettings,
    /// The seed of the rehearsal model.
    pub seed: u64,
    /// The folder for recordings.
    pub record: Option<PathBuf>,
    /// The folder of the recordings that `replay:RUN` plays.
    pub replay: Option<PathBuf>,
}

impl GatewaySettings {
    /// Makes settings in which every alias is one model, with the built-in profiles and prices.
    pub fn of_model(main: ModelName) -> Result<Self, crate::GatewayError> {
        let models = BTreeMap::from([(Alias::from(Alias::MAIN), AliasSettings::of(main))]);
        Ok(GatewaySettings {
            models,
            profiles: Profiles::with_changes(&toml::Table::new())?,
            prices: Prices::built_in()?,
            caps: Caps::default(),
            patience: Patience::default(),
            retry: RetrySettings::default(),
            outage: OutageSettings::default(),
            seed: 0,
            record: None,
            replay: None,
        })
    }
}

/// The models behind an alias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AliasSettings {
    /// The models in the order in which they are tried.
    pub models: Vec<ModelName>,
    /// The reasoning effort, where the caller names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The temperature, where the caller names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

impl AliasSettings {
    /// Makes an alias of one model.
    pub fn of(model: ModelName) -> Self {
        AliasSettings { models: vec![model], effort: None, temperature: None }
    }
}

/// What may be spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// By the run.
    pub run: Option<NanoUsd>,
    /// By all work of a role.
    pub roles: BTreeMap<SpendRole, NanoUsd>,
}

/// How often to try again, before the first content byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Tries at one model, the first included.
    pub tries: u32,
    /// Seconds before the second try; they double with each, and a random part is left out.
    pub first_wait: f64,
    /// The most seconds between two tries, unless the provider asks for more.
    pub longest_wait: f64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetrySettings { tries: 5, first_wait: 1.0, longest_wait: 60.0 }
    }
}

/// What a run stores about its models: what each alias came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedModels {
    /// The models behind the aliases.
    pub models: BTreeMap<Alias, AliasSettings>,
    /// Their prices.
    pub prices: BTreeMap<ModelName, Price>,
    /// Their providers; none for the rehearsal model.
    pub providers: BTreeMap<String, Profile>,
    /// What may be spent.
    pub caps: Caps,
    /// The seed of the rehearsal model.
    pub seed: u64,
}

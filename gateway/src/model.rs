//! Names of models: the alias that an agent asks for, and the provider and model behind it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an agent or a part of the harness calls a model by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alias(pub String);

impl Alias {
    /// The aliases that an agent may use.
    pub const OF_AGENTS: [&'static str; 3] = ["main", "reasoner", "fast"];

    /// The alias of the overseer's judge.
    pub const OVERSEER: &'static str = "overseer";

    /// The alias of the reviewer.
    pub const REVIEWER: &'static str = "reviewer";

    /// The alias that stands in for every other that is not set.
    pub const MAIN: &'static str = "main";

    /// Names every alias that the settings may set.
    pub fn all() -> impl Iterator<Item = &'static str> {
        Self::OF_AGENTS.into_iter().chain([Self::OVERSEER, Self::REVIEWER])
    }
}

impl From<&str> for Alias {
    fn from(name: &str) -> Self {
        Alias(name.to_owned())
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of the provider that is the rehearsal model.
pub const REHEARSAL: &str = "rehearsal";

/// The name of the provider that plays a recorded run.
pub const REPLAY: &str = "replay";

/// A model of a provider, written `provider:model`; `rehearsal` may stand alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    /// The profile of the provider.
    pub provider: String,
    /// The provider's own name of the model; for `replay` the run.
    pub model: String,
}

impl ModelName {
    /// Returns the rehearsal model.
    pub fn rehearsal() -> Self {
        ModelName { provider: REHEARSAL.to_owned(), model: REHEARSAL.to_owned() }
    }

    /// Tells whether this is the rehearsal model.
    pub fn is_rehearsal(&self) -> bool {
        self.provider == REHEARSAL
    }

    /// Returns the run that is to be replayed, when this names one.
    pub fn replayed_run(&self) -> Option<&str> {
        (self.provider == REPLAY).then_some(self.model.as_str())
    }
}

/// A model name could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "read `{0}` as a model: it is written `provider:model`, such as `openai:gpt-5`, or `rehearsal`"
)]
pub struct ModelNameError(pub String);

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, ModelNameError> {
        if text == REHEARSAL {
            return Ok(ModelName::rehearsal());
        }
        match text.split_once(':') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(ModelName { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err(ModelNameError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = ModelNameError;

    fn try_from(text: String) -> Result<Self, ModelNameError> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> String {
        name.to_string()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_rehearsal() && self.model == REHEARSAL {
            return f.write_str(REHEARSAL);
        }
        write!(f, "{}:{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::ModelName;

    #[test]
    fn a_model_name_keeps_the_colons_of_the_model() {
        let name: ModelName = "ollama:qwen3:8b".parse().unwrap();
        assert_eq!((name.provider.as_str(), name.model.as_str()), ("ollama", "qwen3:8b"));
        assert_eq!(name.to_string(), "ollama:qwen3:8b");
        assert_eq!("rehearsal".parse::<ModelName>().unwrap().to_string(), "rehearsal");
        assert!("gpt-5".parse::<ModelName>().is_err());
        assert!(":x".parse::<ModelName>().is_err());
    }
}

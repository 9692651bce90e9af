//! Profiles: what is particular about each provider, as data.

use crate::completion::Dialect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use toml::{Table, Value};

/// The profiles that come with the crate.
const BUILT_IN: &str = include_str!("../providers.toml");

/// One provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The form of requests and replies.
    pub dialect: Dialect,
    /// What the path of the call is appended to.
    pub base_url: String,
    /// The environment variable of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
    /// Whether it works without a key.
    #[serde(default)]
    pub key_optional: bool,
    /// A proxy for all its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The most calls at one time.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// What its models share.
    #[serde(default)]
    pub quirks: Quirks,
    /// What differs for single models: the same fields as in `quirks`.
    #[serde(default)]
    pub models: BTreeMap<String, Table>,
}

/// Enough to use a provider well; the gateway finds out by itself how many it bears.
fn default_connections() -> u32 {
    64
}

/// How a model departs from the plain dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The name of the field for the output limit.
    pub limit: LimitField,
    /// How reasoning effort is sent.
    pub effort: EffortField,
    /// How many stop texts may be sent.
    pub stop: usize,
    /// Whether sampling parameters may be sent.
    pub sampling: bool,
    /// Whether usage has to be asked for in a stream.
    pub usage: bool,
    /// Whether earlier reasoning is sent back.
    pub echo_reasoning: bool,
    /// Whether cache breakpoints are set.
    pub cache: bool,
    /// Output tokens to allow when the caller names no limit.
    pub output: u64,
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks {
            limit: LimitField::MaxTokens,
            effort: EffortField::None,
            stop: 4,
            sampling: true,
            usage: true,
            echo_reasoning: false,
            cache: false,
            output: 8192,
        }
    }
}

/// The name of the field for the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// How reasoning effort is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortField {
    /// Not at all.
    None,
    /// `reasoning_effort: "low"`.
    Field,
    /// `reasoning: {"effort": "low"}`.
    Object,
    /// `thinking: {"type": "enabled", "budget_tokens": N}`.
    Budget,
    /// `thinking: {"type": "adaptive"}` and `output_config: {"effort": "low"}`.
    Adaptive,
}

/// The profiles could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A profile is not well formed.
    #[error("read the profile of provider `{provider}`")]
    Malformed {
        /// The provider.
        provider: String,
        /// Why.
        #[source]
        source: toml::de::Error,
    },
    /// No profile has this name.
    #[error("find provider `{provider}`; known are {}", known.join(", "))]
    Unknown {
        /// The provider.
        provider: String,
        /// All names.
        known: Vec<String>,
    },
}

/// A base URL cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the base URL `{url}`: {detail}")]
pub struct BaseUrlError {
    /// The URL.
    pub url: String,
    /// Why.
    pub detail: String,
}

/// All profiles of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Reads the profiles that come with the crate, changed by the user's `[providers.NAME]`.
    pub fn with_changes(changes: &Table) -> Result<Self, ProfileError> {
        let mut tables: Table = BUILT_IN.parse().map_err(|source| ProfileError::Malformed {
            provider: "providers.toml".to_owned(),
            source,
        })?;
        merge(&mut tables, changes);
        let mut profiles = BTreeMap::new();
        for (name, value) in tables {
            let profile: Profile = value
                .try_into()
                .map_err(|source| ProfileError::Malformed { provider: name.clone(), source })?;
            for model in profile.models.keys() {
                profile
                    .quirks_of(model)
                    .map_err(|source| ProfileError::Malformed { provider: name.clone(), source })?;
            }
            profiles.insert(name, profile);
        }
        Ok(Profiles(profiles))
    }

    /// Returns the profile of that name.
    pub fn get(&self, provider: &str) -> Result<&Profile, ProfileError> {
        self.0.get(provider).ok_or_else(|| ProfileError::Unknown {
            provider: provider.to_owned(),
            known: self.0.keys().cloned().collect(),
        })
    }

    /// Changes the profile of that name.
    pub fn get_mut(&mut self, provider: &str) -> Option<&mut Profile> {
        self.0.get_mut(provider)
    }

    /// Puts profiles in place of those of the same names, such as those that a run was started with.
    pub fn replace(&mut self, profiles: &BTreeMap<String, Profile>) {
        self.0.extend(profiles.iter().map(|(name, profile)| (name.clone(), profile.clone())));
    }

    /// Names all profiles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Profile {
    /// Tells whether the base URL leads to this machine.
    pub fn is_local(&self) -> bool {
        let Ok(url) = reqwest::Url::parse(&self.base_url) else { return false };
        let host = url.host_str().unwrap_or_default();
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        match address {
            Some(address) => address.is_loopback() || address.is_unspecified(),
            None => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    /// Checks that the base URL is one of HTTP, and holds nothing secret.
    pub fn check_base_url(&self) -> Result<(), BaseUrlError> {
        let wrong = |detail: String| BaseUrlError { url: self.base_url.clone(), detail };
        let url = reqwest::Url::parse(&self.base_url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("its scheme is `{}`, not http or https", url.scheme())));
        }
        // It is stored with the run, and shown in errors.
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(BaseUrlError {
                url: format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
                detail: "it holds a name, a password or a query; a key belongs into a variable"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// Returns what is particular about one model: the provider's quirks, changed by the longest
    /// pattern that matches.
    pub fn quirks_of(&self, model: &str) -> Result<Quirks, toml::de::Error> {
        let best = self
            .models
            .iter()
            .filter(|(pattern, _)| matches(pattern, model))
            .max_by_key(|(pattern, _)| pattern.len());
        let Some((_, changes)) = best else {
            return Ok(self.quirks.clone());
        };
        let mut table = match Value::try_from(&self.quirks) {
            Ok(Value::Table(table)) => table,
            _ => Table::new(),
        };
        merge(&mut table, changes);
        Value::Table(table).try_into()
    }
}

/// Tells whether a model's name fits a pattern with an optional `*` at its end.
pub(crate) fn matches(pattern: &str, model: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => model.starts_with(start),
        None => model == pattern,
    }
}

fn merge(into: &mut Table, changes: &Table) {
    for (key, change) in changes {
        match (into.get_mut(key), change) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            _ => {
                into.insert(key.clone(), change.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profiles_are_well_formed_and_can_be_changed_in_one_value() {
        let changes = "[openai]\nbase_url = \"http://127.0.0.1:1/v1\"\n[mine]\ndialect = \"openai\"\nbase_url = \"x\""
            .parse()
            .unwrap();
        let profiles = Profiles::with_changes(&changes).unwrap();
        let openai = profiles.get("openai").unwrap();
        assert_eq!(openai.base_url, "http://127.0.0.1:1/v1");
        assert_eq!(openai.key_variable.as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(profiles.get("mine").unwrap().quirks, Quirks::default());
        let error = profiles.get("opnai").unwrap_err().to_string();
        assert!(error.contains("`opnai`; known are anthropic, deepseek,"), "{error}");
    }

    #[test]
    fn a_base_url_of_this_machine_is_known_as_such() {
        let mut profile =
            Profiles::with_changes(&Table::new()).unwrap().get("ollama").unwrap().clone();
        let mut is_local = |url: &str| {
            url.clone_into(&mut profile.base_url);
            (profile.is_local(), profile.check_base_url().is_ok())
        };
        for url in [
            "http://127.0.0.1:1/v1",
            "http://127.9.9.9",
            "http://[::1]:80/v1",
            "https://localhost/v1",
            "http://0.0.0.0:8000/v1",
            "http://a.localhost",
        ] {
            assert_eq!(is_local(url), (true, true), "{url}");
        }
        for url in
            ["https://api.openai.com/v1", "http://localhost.example.com", "http://10.0.0.1/v1"]
        {
            assert_eq!(is_local(url), (false, true), "{url}");
        }
        for url in [
            "127.0.0.1:8080/v1",
            "localhost",
            "",
            "ftp://127.0.0.1/",
            "http://u:p@127.0.0.1/v1",
            "http://127.0.0.1/v1?key=k",
        ] {
            assert!(!is_local(url).1, "{url}");
        }
    }

    #[test]
    fn the_longest_pattern_of_a_model_wins() {
        let profiles = Profiles::with_changes(&Table::new()).unwrap();
        let openai = profiles.get("openai").unwrap();
        assert!(!openai.quirks_of("gpt-5-mini").unwrap().sampling);
        assert!(openai.quirks_of("gpt-5-chat-latest").unwrap().sampling);
        assert_eq!(openai.quirks_of("gpt-4.1").unwrap().stop, 4);
    }

    #[test]
    fn an_unknown_quirk_is_an_error_that_names_the_provider() {
        let changes = "[openai.models.x]\nstpo = 1".parse().unwrap();
        let error = Profiles::with_changes(&changes).unwrap_err();
        assert_eq!(error.to_string(), "read the profile of provider `openai`");
    }
}

//! Models: from settings and flags to a gateway with its keys.
//!
//! Everything that decides what a model is (names, providers, prices, caps) stands in [`Settings`] and so in the
//! `run.json` of a run; [`gateway_settings`] makes the same gateway of it on resume. Keys alone come from the
//! environment, and only here.

use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::home::Home;
use crate::settings::Settings;
use hone_gateway::model::{REHEARSAL, REPLAY};
use hone_gateway::prices::{Price, PriceEntry, PriceError, Prices};
use hone_gateway::profile::ProfileError;
use hone_gateway::settings::{AliasSettings, Caps, ResolvedModels};
use hone_gateway::{
    Alias, Gateway, GatewayError, GatewaySettings, Keys, ModelName, NanoUsd, Profiles,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use toml::{Table, Value};

/// The folder of a run in which exchanges with models are recorded.
pub const RECORDINGS: &str = "recordings";

/// The file that keys may stand in, in the current folder.
const DOTENV: &str = ".env";

/// The flags of commands that ask models.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ModelFlags {
    /// The model: provider:model, rehearsal, or replay:RUN
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub model: Option<ModelName>,
    /// The address of the model's provider, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

impl ModelFlags {
    /// Puts the flags on top of settings.
    pub fn apply(&self, settings: &mut Settings) -> Outcome {
        if let Some(model) = &self.model {
            choose_model(settings, model);
        }
        match &self.base_url {
            Some(url) => choose_base_url(settings, url),
            None => Ok(()),
        }
    }
}

/// Sets the main model. A rehearsal or a replay is one of everything, so other aliases are dropped.
pub fn choose_model(settings: &mut Settings, model: &ModelName) {
    if model.is_rehearsal() || model.replayed_run().is_some() {
        settings.models.clear();
    }
    settings
        .models
        .entry(Alias::from(Alias::MAIN))
        .and_modify(|main| main.models = vec![model.clone()])
        .or_insert_with(|| AliasSettings::of(model.clone()));
}

/// Sets the base URL of the main model's provider.
pub fn choose_base_url(settings: &mut Settings, url: &str) -> Outcome {
    let main = settings.models.get(&Alias::from(Alias::MAIN));
    let provider = main.and_then(|main| main.models.first()).filter(|model| is_served(model));
    let Some(provider) = provider.map(|model| model.provider.clone()) else {
        return Err(Failure::usage(format!("use the base URL {url}: no provider is chosen"))
            .hint("Name the model too, such as --model openai:NAME for any server that speaks OpenAI's dialect."));
    };
    let table = settings.providers.entry(provider).or_insert(Value::Table(Table::new()));
    if let Value::Table(table) = table {
        table.insert("base_url".to_owned(), Value::String(url.to_owned()));
    }
    Ok(())
}

/// What a gateway is opened with.
#[derive(Debug)]
pub struct ModelSetup {
    /// What the gateway is told.
    pub settings: GatewaySettings,
    /// The keys of its providers.
    pub keys: Keys,
    /// What a person should be told before anything is asked.
    pub notices: Vec<String>,
}

impl ModelSetup {
    /// Opens the gateway.
    pub fn open(self) -> Outcome<Gateway> {
        Gateway::new(self.settings, self.keys).map_err(failure)
    }
}

/// Makes what a gateway is told out of the settings of a run. A run that is resumed brings what its models came to,
/// so that prices and providers stay what they were.
///
/// An unknown provider or price and a missing key are failures of usage; the key's shows when the gateway is opened.
pub fn gateway_settings(
    settings: &Settings,
    resumed: Option<&ResolvedModels>,
    record: Option<PathBuf>,
    home: &Home,
) -> Outcome<ModelSetup> {
    set_up(settings, resumed, record, home, from_environment, &dotenv())
}

/// Names the variables of providers' keys that are set.
pub fn set_keys(settings: &Settings) -> Outcome<Vec<String>> {
    let profiles =
        Profiles::with_changes(&settings.providers).map_err(|error| failure(error.into()))?;
    let variables: BTreeSet<String> =
        profiles.names().filter_map(|name| profiles.get(name).ok()?.key_variable.clone()).collect();
    let keys = Keys::collect(variables.iter().map(String::as_str), from_environment, &dotenv());
    Ok(variables.into_iter().filter(|variable| keys.get(variable).is_some()).collect())
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|key| key.to_string_lossy().into_owned())
}

/// Reads the file of keys. One that is not there or cannot be read holds none; a missing key is told of by its name.
fn dotenv() -> String {
    std::fs::read_to_string(DOTENV).unwrap_or_default()
}

fn set_up(
    settings: &Settings,
    resumed: Option<&ResolvedModels>,
    record: Option<PathBuf>,
    home: &Home,
    lookup: impl Fn(&str) -> Option<String>,
    dotenv: &str,
) -> Outcome<ModelSetup> {
    let mut models = settings.models.clone();
    models
        .entry(Alias::from(Alias::MAIN))
        .or_insert_with(|| AliasSettings::of(ModelName::rehearsal()));
    let named: BTreeSet<ModelName> =
        models.values().flat_map(|alias| alias.models.clone()).collect();
    let mut profiles =
        Profiles::with_changes(&settings.providers).map_err(|error| failure(error.into()))?;
    let mut prices = read_prices(settings, resumed, &named)?;
    if let Some(resumed) = resumed {
        profiles.replace(&resumed.providers);
        prices.add_resolved(&resumed.prices);
    }
    let mut notices = Vec::new();
    if named.iter().any(ModelName::is_rehearsal) {
        notices.push(REHEARSED.to_owned());
    }
    let mut variables = Vec::new();
    for model in named.iter().filter(|model| is_served(model)) {
        let profile = profiles
            .get(&model.provider)
            .map_err(|error| unknown_provider(error, model, &profiles))?;
        profile.check_base_url().or_fail(FailureKind::Usage).map_err(|failure| {
            failure
                .context(format!("set up provider `{}`", model.provider))
                .hint("It is written like https://api.openai.com/v1.")
        })?;
        variables.extend(profile.key_variable.clone());
        let is_local = profile.is_local();
        match prices.find(model) {
            Ok(_) => {}
            Err(_) if is_local => {
                let free = Price::free("served on this machine");
                prices.add_resolved(&[(model.clone(), free)].into());
                notices.push(format!(
                    "{model} is served on this machine and has no price: it counts as $0"
                ));
            }
            Err(error) => return Err(unknown_price(error, model, &prices)),
        }
        if is_local && let Some(profile) = profiles.get_mut(&model.provider) {
            profile.key_optional = true;
        }
    }
    let keys = Keys::collect(variables.iter().map(String::as_str), lookup, dotenv);
    let replay = match named.iter().find_map(ModelName::replayed_run) {
        Some(run) => Some(recordings(home, run)?),
        None => None,
    };
    let caps = Caps {
        run: settings.budget.map(NanoUsd::from_usd),
        roles: settings.caps.iter().map(|(role, usd)| (*role, NanoUsd::from_usd(*usd))).collect(),
    };
    let settings = GatewaySettings {
        models,
        profiles,
        prices,
        caps,
        patience: settings.patience,
        retry: settings.retry,
        outage: settings.outage,
        seed: settings.seed,
        record,
        replay,
    };
    Ok(ModelSetup { settings, keys, notices })
}

/// What is said wherever the rehearsal model is at work.
pub const REHEARSED: &str = "rehearsal: a built-in stand-in answers in place of a language model, at stated prices; \
     no money moves, and its results say nothing about any language model";

/// Tells whether a provider serves the model.
fn is_served(model: &ModelName) -> bool {
    !model.is_rehearsal() && model.replayed_run().is_none()
}

/// Reads all prices: the built-in table, the user's file, then the user's own entries.
fn read_prices(
    settings: &Settings,
    resumed: Option<&ResolvedModels>,
    named: &BTreeSet<ModelName>,
) -> Outcome<Prices> {
    let wrong = |error: PriceError| failure(error.into());
    let mut prices = Prices::built_in().map_err(wrong)?;
    let is_known = |model| resumed.is_some_and(|resumed| resumed.prices.contains_key(model));
    if let Some(file) = &settings.price_file
        && !named.iter().filter(|model| is_served(model)).all(is_known)
    {
        let text = std::fs::read_to_string(file)
            .or_fail(FailureKind::Usage)
            .map_err(|failure| failure.context(format!("read the price file {file}")))?;
        prices.add_litellm(&text, file).map_err(wrong)?;
    }
    let entries: BTreeMap<String, PriceEntry> = settings
        .prices
        .clone()
        .try_into()
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.context("read [prices]"))?;
    prices.add_entries(&entries, "[prices]").map_err(wrong)?;
    Ok(prices)
}

/// Finds the recordings of a run.
fn recordings(home: &Home, run: &str) -> Outcome<PathBuf> {
    let folder = home
        .existing_run(Some(run))
        .map_err(|failure| failure.context(format!("replay run {run}")))?
        .root()
        .join(RECORDINGS);
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Failure::usage(format!("replay run {run}: it has no recordings in {}", folder.display()))
        .hint("Only a run with `record = true` can be replayed; that is the default."))
}

/// Makes a failure of an error of the gateway.
fn failure(error: GatewayError) -> Failure {
    let kind = match &error {
        GatewayError::Tape(_) => FailureKind::Infrastructure,
        GatewayError::Profile(_)
        | GatewayError::Price(_)
        | GatewayError::Http(_)
        | GatewayError::Key(_)
        | GatewayError::NoModel(_)
        | GatewayError::UnknownAlias { .. }
        | GatewayError::NoRecordings(_) => FailureKind::Usage,
    };
    let hint = error.hint();
    let failure = Failure::new(kind, error).context("set up the models");
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Makes a failure of a provider that there is not, which may be a misspelt name.
fn unknown_provider(error: ProfileError, model: &ModelName, profiles: &Profiles) -> Failure {
    let names = profiles.names().chain([REHEARSAL, REPLAY]);
    let nearest = names.min_by_key(|name| strsim::damerau_levenshtein(name, &model.provider));
    let failure = failure(error.into());
    let hint = failure.hint.clone().unwrap_or_default();
    failure.hint(format!("The nearest is `{}`. {hint}", nearest.unwrap_or_default()))
}

/// Makes a failure of a price that there is not, which may be a misspelt name.
fn unknown_price(error: PriceError, model: &ModelName, prices: &Prices) -> Failure {
    let asked = model.to_string();
    let provider = format!("{}:", model.provider);
    let nearest = prices
        .names()
        .filter(|name| name.starts_with(&provider))
        .min_by_key(|name| strsim::damerau_levenshtein(name, &asked));
    let nearest = nearest.map(|name| format!("The nearest with a price is `{name}`. "));
    let hint = format!("{}{}", nearest.unwrap_or_default(), error.hint());
    failure(error.into()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hone_gateway::SpendRole;
    use pretty_assertions::assert_eq;

    fn home() -> Home {
        Home::new("/nowhere", "/nowhere/cache")
    }

    fn open(settings: &Settings, key: Option<&str>) -> Outcome<(Gateway, Vec<String>)> {
        let lookup = |_: &str| key.map(str::to_owned);
        let setup = set_up(settings, None, None, &home(), lookup, "")?;
        let notices = setup.notices.clone();
        Ok((setup.open()?, notices))
    }

    fn of_flags(model: &str, base_url: Option<&str>) -> Settings {
        let mut settings = Settings::default();
        let model = Some(model.parse().unwrap());
        ModelFlags { model, base_url: base_url.map(str::to_owned) }.apply(&mut settings).unwrap();
        settings
    }

    fn error(settings: &Settings, key: Option<&str>) -> String {
        let failure = open(settings, key).err().unwrap();
        assert_eq!(failure.kind, FailureKind::Usage);
        format!("{:#} ({})", failure.error, failure.hint.unwrap_or_default())
    }

    #[test]
    fn with_no_model_everything_is_rehearsed_and_says_so() {
        let (gateway, notices) = open(&Settings::default(), None).unwrap();
        assert!(gateway.rehearses());
        assert_eq!(gateway.resolved().models.len(), Alias::all().count());
        assert_eq!(notices, [REHEARSED]);
    }

    #[test]
    fn a_model_on_this_machine_needs_neither_key_nor_price_and_says_that_it_counts_as_nothing() {
        let settings = of_flags("openai:whatever", Some("http://127.0.0.1:8089/v1"));
        let (gateway, notices) = open(&settings, None).unwrap();
        let model: ModelName = "openai:whatever".parse().unwrap();
        assert!(gateway.resolved().prices[&model].is_free());
        assert_eq!(
            notices,
            ["openai:whatever is served on this machine and has no price: it counts as $0"]
        );
        // A price that is known counts wherever the model is served.
        let settings = of_flags("openai:gpt-5", Some("http://127.0.0.1:8089/v1"));
        let (gateway, notices) = open(&settings, None).unwrap();
        assert!(!gateway.resolved().prices[&"openai:gpt-5".parse().unwrap()].is_free());
        assert_eq!(notices, [""; 0]);
    }

    #[test]
    fn what_is_missing_for_a_model_is_said_with_the_cure() {
        let key = Some("sk-12345678");
        let mut quirk = of_flags("mine:x", None);
        quirk.providers = "[mine]\ndialect = 'openai'\nbase_url = 'mine/v1'".parse().unwrap();
        let mut file = of_flags("openai:gpt-5", None);
        file.price_file = Some("/nowhere/prices.json".to_owned());
        let errors = [
            error(&of_flags("opnai:gpt-5", None), key),
            error(&of_flags("openai:gpt-5-mni", None), key),
            error(&of_flags("openai:gpt-5", None), None),
            error(&of_flags("openai:gpt-5", Some("https://example.com/v1")), None),
            error(&of_flags("openai:gpt-5", Some("localhost:80")), key),
            error(&of_flags("replay:first", None), key),
            error(&quirk, key),
            error(&file, key),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r#"
        set up the models: find provider `opnai`; known are anthropic, deepseek, fireworks, gemini, llamacpp, ollama, openai, openrouter, vllm (The nearest is `openai`. A provider of your own is a table [providers.NAME] with dialect and base_url.)
        set up the models: find a price for openai:gpt-5-mni (The nearest with a price is `openai:gpt-5-mini`. Add it to hone.toml, in USD for a million tokens: [prices."openai:gpt-5-mni"] input = 1.0, output = 4.0 (cache_read and cache_write may follow); a model that costs nothing says free = true. Or name a LiteLLM price file.)
        set up the models: openai: no key: the variable OPENAI_API_KEY is not set (Set the variable in the environment or in `.env`.)
        set up the models: openai: no key: the variable OPENAI_API_KEY is not set (Set the variable in the environment or in `.env`.)
        set up provider `openai`: read the base URL `localhost:80`: its scheme is `localhost`, not http or https (It is written like https://api.openai.com/v1.)
        replay run first: find the run first (There are no runs in /nowhere.)
        set up provider `mine`: read the base URL `mine/v1`: relative URL without a base (It is written like https://api.openai.com/v1.)
        read the price file /nowhere/prices.json: No such file or directory (os error 2) ()
        "#);
    }

    #[test]
    fn caps_come_from_the_budget_and_the_roles() {
        let settings = Settings {
            budget: Some(5.0),
            caps: [(SpendRole::Overseer, 0.5)].into(),
            ..Settings::default()
        };
        let (gateway, _) = open(&settings, None).unwrap();
        let caps = &gateway.resolved().caps;
        assert_eq!(caps.run, Some(NanoUsd::from_usd(5.0)));
        assert_eq!(caps.roles, [(SpendRole::Overseer, NanoUsd::from_usd(0.5))].into());
    }

    #[test]
    fn a_resumed_run_keeps_its_prices_and_addresses() {
        let key = |_: &str| Some("sk-12345678".to_owned());
        let mut settings = of_flags("openai:mine", Some("https://one.example/v1"));
        let price = |input: f64| -> Table {
            format!("[\"openai:mine\"]\ninput = {input:?}\noutput = 2.0").parse().unwrap()
        };
        settings.prices = price(1.0);
        let first = set_up(&settings, None, None, &home(), key, "").unwrap().open().unwrap();
        // What run.json says goes before what the tables say by then.
        settings.prices = price(9.0);
        settings.price_file = Some("/nowhere/prices.json".to_owned());
        choose_base_url(&mut settings, "https://two.example/v1").unwrap();
        let stored = serde_json::to_string(first.resolved()).unwrap();
        let stored: ResolvedModels = serde_json::from_str(&stored).unwrap();
        let resumed = set_up(&settings, Some(&stored), None, &home(), key, "").unwrap();
        assert_eq!(resumed.open().unwrap().resolved(), first.resolved());
    }

    #[test]
    fn a_run_with_recordings_can_be_replayed() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::new(place.path(), place.path().join("cache"));
        let run = place.path().join("first");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("run.json"), "{}").unwrap();
        let settings = of_flags("replay:first", None);
        let set_up = || set_up(&settings, None, None, &home, |_| None, "");
        let failure = set_up().unwrap_err();
        assert!(format!("{:#}", failure.error).contains("it has no recordings in"));
        std::fs::create_dir(run.join(RECORDINGS)).unwrap();
        let setup = set_up().unwrap();
        assert_eq!(setup.settings.replay, Some(run.join(RECORDINGS)));
        setup.open().unwrap();
    }
}

//! Where settings come from, and how the layers are put on each other.
//!
//! Each layer is checked as it is put on, so that an error names the file, variable or flag it came from.

use super::keys::{KnownKeys, dotted};
use super::{Settings, bounds};
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::models::{choose_base_url, choose_model};
use hone_gateway::Profiles;
use hone_gateway::prices::{PriceEntry, Prices};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The file of a project, in the current folder.
pub const PROJECT_FILE: &str = "hone.toml";

/// The variables that set a key, besides those of the model.
const VARIABLES: [(&str, &str); 3] =
    [("HONE_BUDGET", "budget"), ("HONE_SANDBOX", "sandbox"), ("HONE_WORKERS", "workers")];

/// The variables of the main model and of its provider's address.
const MODEL: &str = "HONE_MODEL";
const BASE_URL: &str = "HONE_BASE_URL";

/// Names the file of the user.
pub fn user_file(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("hone").join(PROJECT_FILE))
}

/// Where settings come from.
pub struct Sources<'a> {
    /// The file of the user, which need not be there.
    pub user: Option<PathBuf>,
    /// The file of the project.
    pub project: &'a Path,
    /// Whether it is an error when the project's file is not there.
    pub project_must_exist: bool,
    /// Looks a variable of the environment up.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Pairs `key=value`.
    pub set: &'a [String],
}

impl Sources<'_> {
    /// Puts all layers on the defaults.
    pub fn resolve(&self) -> Outcome<Settings> {
        let mut layers = Layers::new()?;
        if let Some(user) = &self.user {
            layers.file(user, false)?;
        }
        layers.file(self.project, self.project_must_exist)?;
        self.environment(&mut layers)?;
        layers.pairs(self.set)?;
        Ok(layers.settings)
    }

    fn environment(&self, layers: &mut Layers) -> Outcome {
        for (name, key) in VARIABLES {
            if let Some(text) = (self.variable)(name) {
                let origin = format!("read {name}={text}");
                let layer = layers.pair(key, &text, &origin)?;
                layers.put(layer, Path::new(""), &origin)?;
            }
        }
        if let Some(text) = (self.variable)(MODEL) {
            let model = text.parse().or_fail(FailureKind::Usage);
            let model = model.map_err(|failure| failure.context(format!("read {MODEL}")))?;
            choose_model(&mut layers.settings, &model);
        }
        if let Some(url) = (self.variable)(BASE_URL) {
            choose_base_url(&mut layers.settings, &url)
                .map_err(|failure| failure.context(format!("read {BASE_URL}")))?;
        }
        Ok(())
    }
}

/// Puts pairs `key=value` on settings that are there already.
pub fn change(settings: &Settings, set: &[String]) -> Outcome<Settings> {
    let mut layers = Layers { settings: settings.clone(), ..Layers::new()? };
    layers.pairs(set)?;
    Ok(layers.settings)
}

/// The settings so far.
struct Layers {
    settings: Settings,
    known: KnownKeys,
}

impl Layers {
    fn new() -> Outcome<Self> {
        let known = KnownKeys::collect().or_fail(FailureKind::Usage)?;
        Ok(Layers { settings: Settings::default(), known })
    }

    /// Puts a file on top.
    fn file(&mut self, path: &Path, must_exist: bool) -> Outcome {
        let origin = format!("read {}", path.display());
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => return Ok(()),
            Err(error) => return Err(Failure::new(FailureKind::Usage, error).context(origin)),
        };
        let layer: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            Failure::usage(format!("{origin}: {line}{}", error.message()))
        })?;
        self.put(layer, path.parent().unwrap_or(Path::new("")), &origin)
    }

    /// Puts pairs `key=value` on top.
    fn pairs(&mut self, set: &[String]) -> Outcome {
        for pair in set {
            let origin = format!("read `-c {pair}`");
            let Some((key, text)) = pair.split_once('=') else {
                return Err(Failure::usage(origin)
                    .hint("It is written `-c key=value`, such as `-c trial.seconds=120`."));
            };
            let layer = self.pair(key.trim(), text.trim(), &origin)?;
            self.put(layer, Path::new(""), &origin)?;
        }
        Ok(())
    }

    /// Makes a layer of a key and the text of its value.
    fn pair(&self, key: &str, text: &str, origin: &str) -> Outcome<Table> {
        let path = read_key(key).ok_or_else(|| {
            Failure::usage(format!("{origin}: `{key}` is no key"))
                .hint("A key is written as in TOML: trial.seconds, prices.\"openai:gpt-5\".input.")
        })?;
        let known = match path.as_slice() {
            // A list of models may stand for the table of an alias.
            [models, _] if models == "models" => Some(&Value::Array(Vec::new())),
            path => self.known.find(path.iter().map(String::as_str)),
        };
        let value = read_value(text, known);
        Ok(path
            .into_iter()
            .rev()
            .fold(None, |inner: Option<Table>, name| {
                let value = inner.map_or_else(|| value.clone(), Value::Table);
                Some(Table::from_iter([(name, value)]))
            })
            .unwrap_or_default())
    }

    /// Puts a layer on top. Paths in it are relative to a folder.
    fn put(&mut self, mut layer: Table, folder: &Path, origin: &str) -> Outcome {
        expand_models(&mut layer);
        self.known.check(&layer).map_err(|unknown| {
            Failure::usage(format!("{origin}: there is no key `{}`", unknown.key))
                .hint(format!("The nearest key is `{}`.", unknown.nearest))
        })?;
        if let Some(Value::String(file)) = layer.get_mut("price_file") {
            let path = std::path::absolute(folder.join(&file)).or_fail(FailureKind::Usage)?;
            *file = path.to_string_lossy().into_owned();
        }
        let mut table = Table::try_from(&self.settings).or_fail(FailureKind::Usage)?;
        merge(&mut table, layer);
        let settings: Settings =
            table.try_into().map_err(|error| Failure::usage(wrong(origin, "", &error)))?;
        check_tables(&settings, origin)?;
        bounds::check(&settings).map_err(|error| Failure::usage(format!("{origin}: {error}")))?;
        self.settings = settings;
        Ok(())
    }
}

/// Checks the tables whose keys the user chooses.
fn check_tables(settings: &Settings, origin: &str) -> Outcome {
    use hone_gateway::profile::ProfileError;
    Profiles::with_changes(&settings.providers).map_err(|error| match error {
        ProfileError::Malformed { provider, source } => {
            let table = dotted(&["providers", &provider]);
            Failure::usage(wrong(origin, &table, &source))
        }
        unknown @ ProfileError::Unknown { .. } => Failure::usage(format!("{origin}: {unknown}")),
    })?;
    let prices: BTreeMap<String, PriceEntry> = settings
        .prices
        .clone()
        .try_into()
        .map_err(|error| Failure::usage(wrong(origin, "prices", &error)))?;
    Prices::default()
        .add_entries(&prices, "[prices]")
        .map_err(|error| Failure::usage(format!("{origin}: {error}")).hint(error.hint()))
}

/// Writes an error of a value on one line, with its key.
fn wrong(origin: &str, table: &str, error: &toml::de::Error) -> String {
    let shown = error.to_string();
    let below = shown
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("in `")?.strip_suffix('`'))
        .unwrap_or_default();
    let dot = if table.is_empty() || below.is_empty() { "" } else { "." };
    format!("{origin}: key `{table}{dot}{below}`: {}", error.message())
}

/// Reads a dotted key.
fn read_key(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '#', '=']) {
        return None;
    }
    let mut table: Table = format!("{key} = 0").parse().ok()?;
    let mut path = Vec::new();
    loop {
        let (name, value) = table.into_iter().next()?;
        path.push(name);
        match value {
            Value::Table(inner) => table = inner,
            _ => return Some(path),
        }
    }
}

/// Reads a value as TOML, else as text; a key of text or of a list is given the benefit of the doubt.
fn read_value(text: &str, known: Option<&Value>) -> Value {
    let document: Option<Table> = format!("value = {text}").parse().ok();
    let parsed = document
        .filter(|document| document.len() == 1)
        .and_then(|mut document| document.remove("value"));
    let string = || Value::String(text.to_owned());
    match (known, parsed) {
        (Some(Value::Array(_)), Some(list @ (Value::Array(_) | Value::Table(_)))) => list,
        (Some(Value::Array(known)), _) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| read_value(item, known.first())).collect())
        }
        (Some(Value::String(_)), Some(parsed @ Value::String(_))) => parsed,
        (Some(Value::String(_)), _) => string(),
        (_, Some(parsed)) => parsed,
        (_, None) => string(),
    }
}

/// Lets a model or a list of models stand for the table of an alias.
fn expand_models(layer: &mut Table) {
    let Some(Value::Table(models)) = layer.get_mut("models") else { return };
    for (_, alias) in models.iter_mut() {
        let list = match alias {
            Value::String(_) => Value::Array(vec![alias.clone()]),
            Value::Array(_) => alias.clone(),
            _ => continue,
        };
        *alias = Value::Table(Table::from_iter([("models".to_owned(), list)]));
    }
}

fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hone_gateway::completion::Effort;
    use hone_gateway::{Alias, SpendRole};
    use pretty_assertions::assert_eq;

    /// A folder with the files of a user and a project.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new(user: &str, project: &str) -> Self {
            let place = tempfile::tempdir().unwrap();
            std::fs::write(place.path().join("user.toml"), user).unwrap();
            std::fs::write(place.path().join("hone.toml"), project).unwrap();
            Place(place)
        }

        fn resolve(&self, variables: &[(&str, &str)], set: &[&str]) -> Outcome<Settings> {
            let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
            let set: Vec<String> = set.iter().map(|pair| (*pair).to_owned()).collect();
            Sources {
                user: Some(self.0.path().join("user.toml")),
                project: &self.0.path().join("hone.toml"),
                project_must_exist: true,
                variable: &|name| variables.get(name).map(|value| (*value).to_owned()),
                set: &set,
            }
            .resolve()
        }

        /// Returns the error and the hint, with the folder left out.
        fn error(&self, variables: &[(&str, &str)], set: &[&str]) -> String {
            let failure = self.resolve(variables, set).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Usage);
            let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{:#}{hint}", failure.error)
                .replace(&format!("{}/", self.0.path().display()), "")
        }
    }

    fn set(pairs: &[&str]) -> Outcome<Settings> {
        Place::new("", "").resolve(&[], pairs)
    }

    #[test]
    fn each_layer_goes_before_those_below_it() {
        let place = Place::new(
            "workers = 3\nseed = 1\nbudget = 1\n[trial]\nseconds = 10\nusd = 0.5",
            "workers = 4\nseed = 2\nsandbox = 'docker'\n[trial]\nseconds = 20",
        );
        let variables = [("HONE_WORKERS", "5"), ("HONE_BUDGET", "7.5"), ("HONE_MODEL", "openai:a")];
        let settings = place.resolve(&variables, &["workers=6"]).unwrap();
        let mut wanted = Settings { workers: 6, seed: 2, budget: Some(7.5), ..Settings::default() };
        wanted.sandbox = super::super::SandboxChoice::Docker;
        wanted.trial.seconds = 20.0;
        wanted.trial.usd = 0.5;
        choose_model(&mut wanted, &"openai:a".parse().unwrap());
        assert_eq!(settings, wanted);
    }

    #[test]
    fn no_file_and_no_variable_give_the_defaults() {
        let none = Path::new("not there");
        let mut sources = Sources {
            user: Some(none.to_owned()),
            project: none,
            project_must_exist: false,
            variable: &|_| None,
            set: &[],
        };
        assert_eq!(sources.resolve().unwrap(), Settings::default());
        sources.project_must_exist = true;
        let failure = sources.resolve().unwrap_err();
        assert!(format!("{:#}", failure.error).starts_with("read not there: No such file"));
    }

    #[test]
    fn a_pair_takes_toml_text_and_comma_lists() {
        let settings = set(&[
            "suites=edit, nav/small",
            "evaluation.stages=0.25,0.5",
            "price_file=/p/2026",
            "models.main=openai:a,openai:b",
            "models.main.effort=low",
            "models.overseer.models=[\"openai:c\"]",
            "caps.editor=2",
            "record=false",
            "prices.\"openai:gpt-4.1\".free=true",
            "providers.mine={dialect='openai', base_url='http://127.0.0.1:1/v1'}",
            "overseer.judge.votes = 3",
        ])
        .unwrap();
        assert_eq!(settings.suites, ["edit", "nav/small"]);
        assert_eq!(settings.evaluation.stages, [0.25, 0.5]);
        assert_eq!(settings.price_file.as_deref(), Some("/p/2026"));
        let main = &settings.models[&Alias::from("main")];
        assert_eq!(main.models.len(), 2);
        assert_eq!(main.effort, Some(Effort::Low));
        assert_eq!(settings.models[&Alias::from("overseer")].models.len(), 1);
        assert_eq!(settings.caps, [(SpendRole::Editor, 2.0)].into());
        assert!(!settings.record);
        assert_eq!(settings.prices["openai:gpt-4.1"]["free"].as_bool(), Some(true));
        assert_eq!(settings.providers["mine"]["dialect"].as_str(), Some("openai"));
        assert_eq!(settings.overseer.judge.votes, 3);
        assert_eq!(set(&["suites=[\"a,b\"]"]).unwrap().suites, ["a,b"]);
        assert_eq!(set(&["suites=nav"]).unwrap().suites, ["nav"]);
    }

    #[test]
    fn a_price_file_is_relative_to_the_file_that_names_it() {
        let place = Place::new("", "price_file = 'prices.json'");
        let settings = place.resolve(&[], &[]).unwrap();
        let wanted = place.0.path().join("prices.json");
        assert_eq!(settings.price_file.as_deref(), wanted.to_str());
    }

    #[test]
    fn an_error_names_the_layer_and_the_key() {
        let of_file = |text: &str| Place::new("", text).error(&[], &[]);
        let of_pair = |pair: &str| Place::new("", "").error(&[], &[pair]);
        let of_variable = |name, text| Place::new("", "").error(&[(name, text)], &[]);
        let errors = [
            of_file("[trial]\nsecnds = 5"),
            of_file("[trail]\nseconds = 5"),
            of_file("workers = 'two'"),
            of_file("workers = 0"),
            of_file("policy = 'bst'"),
            of_file("[providers.mine]\ndialect = 'openai'"),
            of_file("[providers.openai.quirks]\nstop = 'x'"),
            of_file("[prices.\"a:b\"]\ninput = 1"),
            of_file("[prices.\"a:b\"]\ninput = 'x'"),
            of_file("[models]\nmain = 'gpt-5'"),
            of_file("[overseer.cadence]\nfirst_seconds = 0"),
            of_file("seed = 1\n[trial"),
            of_pair("workers"),
            of_pair("workers=x"),
            of_pair("wrkers=1"),
            of_pair("a b=1"),
            of_pair("budget=-1"),
            of_pair("models.main.effort=high"),
            of_variable("HONE_SANDBOX", "dokcer"),
            of_variable("HONE_MODEL", "gpt-5"),
            of_variable("HONE_BASE_URL", "http://127.0.0.1:1"),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r#"
        read hone.toml: there is no key `trial.secnds` (The nearest key is `trial.seconds`.)
        read hone.toml: there is no key `trail` (The nearest key is `trial`.)
        read hone.toml: key `workers`: invalid type: string "two", expected usize
        read hone.toml: set `workers` to 0: it must be at least 1
        read hone.toml: key `policy`: unknown variant `bst`, expected one of `best`, `latest`, `random`, `sica`, `dgm`, `hyperagents`, `shinka`, `pareto`, `hgm`
        read hone.toml: key `providers.mine`: missing field `base_url`
        read hone.toml: key `providers.openai.quirks.stop`: invalid type: string "x", expected usize
        read hone.toml: read the price table [prices]: a:b: `output` is missing; a free model says free = true (Compare the file with the table in README.)
        read hone.toml: key `prices.a:b.input`: invalid type: string "x", expected f64
        read hone.toml: key `models.main.models`: read `gpt-5` as a model: it is written `provider:model`, such as `openai:gpt-5`, or `rehearsal`
        read hone.toml: set `overseer.cadence.first_seconds` to 0: it must be above 0
        read hone.toml: line 2: unclosed table, expected `]`
        read `-c workers` (It is written `-c key=value`, such as `-c trial.seconds=120`.)
        read `-c workers=x`: key `workers`: invalid type: string "x", expected usize
        read `-c wrkers=1`: there is no key `wrkers` (The nearest key is `workers`.)
        read `-c a b=1`: `a b` is no key (A key is written as in TOML: trial.seconds, prices."openai:gpt-5".input.)
        read `-c budget=-1`: set `budget` to -1: it must be a number that is not negative
        read `-c models.main.effort=high`: key `models.main`: missing field `models`
        read HONE_SANDBOX=dokcer: key `sandbox`: unknown variant `dokcer`, expected one of `auto`, `docker`, `bubblewrap`, `none`
        read HONE_MODEL: read `gpt-5` as a model: it is written `provider:model`, such as `openai:gpt-5`, or `rehearsal`
        read HONE_BASE_URL: use the base URL http://127.0.0.1:1: no provider is chosen (Name the model too, such as --model openai:NAME for any server that speaks OpenAI's dialect.)
        "#);
    }

    #[test]
    fn a_rehearsal_or_a_replay_drops_the_other_models() {
        let place = Place::new("[models]\nmain = 'openai:a'\noverseer = 'openai:b'", "");
        let models = |model: &str| place.resolve(&[("HONE_MODEL", model)], &[]).unwrap().models;
        assert_eq!(models("openai:c").len(), 2);
        assert_eq!(models("rehearsal").len(), 1);
        assert_eq!(models("replay:r").len(), 1);
    }

    #[test]
    fn the_users_file_lies_where_the_desktop_says() {
        let of = |variables: &'static [(&str, &str)]| {
            let find = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            user_file(&find)
        };
        assert_eq!(of(&[("HOME", "/h")]), Some("/h/.config/hone/hone.toml".into()));
        let both = &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(of(both), Some("/x/hone/hone.toml".into()));
        assert_eq!(of(&[("XDG_CONFIG_HOME", "relative")]), None);
    }

    #[test]
    fn settings_come_back_from_the_json_of_a_run() {
        let settings = set(&["models.main=openai:a", "budget=3", "caps.overseer=1"]).unwrap();
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
    }
}

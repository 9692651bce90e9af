//! The keys that there are, and the nearest to one that is not.

use super::Settings;
use hone_archive::PolicyName;
use hone_gateway::completion::Effort;
use hone_gateway::prices::PriceEntry;
use hone_gateway::profile::{Profile, Quirks};
use hone_gateway::settings::AliasSettings;
use hone_gateway::{Alias, ModelName, SpendRole};
use toml::{Table, Value};

/// Stands for any name where the user may choose one.
const ANY: &str = "*";

/// All keys that there are, each with a value of its type.
#[derive(Debug)]
pub struct KnownKeys(Table);

/// A key that there is not.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key, dotted.
    pub key: String,
    /// The most similar key that there is.
    pub nearest: String,
}

impl KnownKeys {
    /// Collects the keys out of settings in which everything is set.
    pub fn collect() -> Result<Self, toml::ser::Error> {
        let mut settings = Settings {
            problems: Some(1),
            editor_policy: Some(PolicyName::Best),
            budget: Some(1.0),
            price_file: Some(String::new()),
            ..Settings::default()
        };
        settings.outage.give_up = Some(1.0);
        for alias in Alias::all() {
            let full = AliasSettings {
                effort: Some(Effort::Low),
                temperature: Some(1.0),
                ..AliasSettings::of(ModelName::rehearsal())
            };
            settings.models.insert(alias.into(), full);
        }
        for role in SpendRole::ALL {
            settings.caps.insert(role, 1.0);
        }
        let quirks = Table::try_from(Quirks::default())?;
        let profile = Profile {
            dialect: Default::default(),
            base_url: String::new(),
            key_variable: Some(String::new()),
            key_optional: false,
            proxy: Some(String::new()),
            connections: 1,
            quirks: Quirks::default(),
            models: [(ANY.to_owned(), quirks)].into(),
        };
        settings.providers.insert(ANY.to_owned(), Value::try_from(profile)?);
        let entry = PriceEntry {
            input: Some(1.0),
            cache_read: Some(1.0),
            cache_write: Some(1.0),
            output: Some(1.0),
            context: Some(1),
            most_output: Some(1),
            source: Some(String::new()),
            ..PriceEntry::default()
        };
        let entry = PriceEntry { above: [(ANY.to_owned(), entry.clone())].into(), ..entry };
        settings.prices.insert(ANY.to_owned(), Value::try_from(entry)?);
        Table::try_from(settings).map(KnownKeys)
    }

    /// Finds what a key holds: a value of its type, or a table of keys.
    pub fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Value> {
        let mut path = path.into_iter();
        let mut found = self.0.get(path.next()?)?;
        for name in path {
            found = child(found.as_table()?, name)?;
        }
        Some(found)
    }

    /// Checks that every key of a table is known.
    pub fn check(&self, table: &Table) -> Result<(), UnknownKey> {
        self.check_below(&mut Vec::new(), &self.0, table)
    }

    fn check_below<'a>(
        &self,
        path: &mut Vec<&'a str>,
        known: &Table,
        table: &'a Table,
    ) -> Result<(), UnknownKey> {
        for (name, value) in table {
            path.push(name);
            let Some(found) = child(known, name) else {
                return Err(UnknownKey { key: dotted(path), nearest: self.nearest(path) });
            };
            if let (Value::Table(known), Value::Table(table)) = (found, value) {
                self.check_below(path, known, table)?;
            }
            path.pop();
        }
        Ok(())
    }

    /// Finds the key that is most like one that there is not: by its whole path, or by its last name.
    fn nearest(&self, path: &[&str]) -> String {
        let mut keys = Vec::new();
        list(&self.0, path, &mut Vec::new(), &mut keys);
        let asked = dotted(path);
        let likeness = |key: &Vec<String>| {
            let whole = strsim::normalized_damerau_levenshtein(&asked, &dotted(key));
            let last = match (path.last(), key.last()) {
                (Some(asked), Some(known)) => strsim::normalized_damerau_levenshtein(asked, known),
                _ => 0.0,
            };
            // A key of another table is less likely meant than a misspelt one.
            whole.max(last * 0.8)
        };
        keys.iter()
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
            .map(|key| dotted(key))
            .unwrap_or_default()
    }
}

fn child<'a>(table: &'a Table, name: &str) -> Option<&'a Value> {
    table.get(name).or_else(|| table.get(ANY))
}

/// Lists all keys, tables too; where the user may choose a name, the one of the path at that place stands.
fn list(table: &Table, path: &[&str], at: &mut Vec<String>, keys: &mut Vec<Vec<String>>) {
    for (name, value) in table {
        let name = match (name.as_str(), path.get(at.len())) {
            (ANY, Some(chosen)) => chosen,
            (ANY, None) => "NAME",
            (name, _) => name,
        };
        at.push(name.to_owned());
        keys.push(at.clone());
        if let Value::Table(table) = value {
            list(table, path, at, keys);
        }
        at.pop();
    }
}

/// Writes a key as it stands in TOML.
pub fn dotted(path: &[impl AsRef<str>]) -> String {
    path.iter().fold(String::new(), |key, name| join(&key, name.as_ref()))
}

/// Puts a name to a dotted key, in quotes where it needs them.
pub fn join(key: &str, name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    };
    if key.is_empty() { name } else { format!("{key}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn unknown(text: &str) -> (String, String) {
        let keys = KnownKeys::collect().unwrap();
        let error = keys.check(&text.parse().unwrap()).unwrap_err();
        (error.key, error.nearest)
    }

    #[test]
    fn a_key_that_there_is_not_is_named_with_the_nearest() {
        let cases = [
            "werkers = 1",
            "seconds = 1",
            "trail.seconds = 1",
            "[trial]\nsecond = 1",
            "[models.mian]\nmodels = []",
            "[overseer.judge]\nvoets = 3",
            "[providers.mine]\nbase_ulr = ''",
            "[providers.mine.quirks]\nstpo = 1",
            "[prices.\"openai:gpt-4.1\"]\ninptu = 1",
            "[caps]\nedtor = 1",
        ];
        let found = cases.map(|case| {
            let (key, nearest) = unknown(case);
            format!("{key} -> {nearest}")
        });
        insta::assert_snapshot!(found.join("\n"), @r#"
        werkers -> workers
        seconds -> trial.seconds
        trail -> trial
        trial.second -> trial.seconds
        models.mian -> models.main
        overseer.judge.voets -> overseer.judge.votes
        providers.mine.base_ulr -> providers.mine.base_url
        providers.mine.quirks.stpo -> providers.mine.quirks.stop
        prices."openai:gpt-4.1".inptu -> prices."openai:gpt-4.1".input
        caps.edtor -> caps.editor
        "#);
    }

    /// Serde says which fields a table has when it meets one that it has not.
    #[test]
    fn no_key_is_forgotten() {
        let keys = KnownKeys::collect().unwrap();
        let mut tables = 0;
        let mut full = keys.0.clone();
        full.insert("providers".to_owned(), Value::Table(Table::new()));
        full.insert("prices".to_owned(), Value::Table(Table::new()));
        compare(&full, &mut Vec::new(), &mut |path| {
            let mut settings = full.clone();
            let mut table = &mut settings;
            for name in path {
                table = table.get_mut(*name).unwrap().as_table_mut().unwrap();
            }
            let here: BTreeSet<String> = table.keys().cloned().collect();
            table.insert("zzz".to_owned(), Value::Integer(0));
            // Tables whose names the user chooses take any, or fail otherwise.
            let Err(error) = settings.try_into::<Settings>() else { return };
            let Some(fields) = error.message().strip_prefix("unknown field `zzz`, expected ")
            else {
                return;
            };
            let fields = fields.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            assert_eq!(here, fields, "{path:?}");
            tables += 1;
        });
        assert!(tables > 10, "{tables}");
    }

    fn compare<'a>(table: &'a Table, path: &mut Vec<&'a str>, look: &mut impl FnMut(&[&str])) {
        look(path);
        for (name, value) in table {
            if let Value::Table(table) = value {
                path.push(name);
                compare(table, path, look);
                path.pop();
            }
        }
    }
}

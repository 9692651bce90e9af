//! Models and keys.

use super::{Finding, State};
use crate::failure::Failure;
use crate::home::Home;
use crate::models::{gateway_settings, set_keys};
use crate::providers::check_providers;
use crate::settings::Settings;

/// Looks whether the models that are set can be asked, and which keys there are. No completion is asked for.
pub async fn examine(settings: &Settings, home: &Home) -> Vec<Finding> {
    vec![models(settings, home).await, keys(settings)]
}

async fn models(settings: &Settings, home: &Home) -> Finding {
    const NAME: &str = "models";
    const NEEDED_FOR: &str = "everything that a model does";
    let lack = |failure: Failure| {
        let seen = format!("{:#}", failure.error);
        Finding::lack(State::Missing, NAME, NEEDED_FOR, seen, failure.hint.unwrap_or_default())
    };
    let gateway = match gateway_settings(settings, None, None, home).and_then(|setup| setup.open())
    {
        Ok(gateway) => gateway,
        Err(failure) => return lack(failure),
    };
    if let Err(failure) = check_providers(&gateway).await {
        return lack(failure);
    }
    let mut names: Vec<String> = Vec::new();
    for model in gateway.resolved().models.values().flat_map(|alias| &alias.models) {
        let name = model.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Finding::ok(NAME, NEEDED_FOR, format!("{} can be asked", names.join(", ")))
}

fn keys(settings: &Settings) -> Finding {
    const NAME: &str = "keys";
    const NEEDED_FOR: &str = "models of providers that ask for one";
    let set = match set_keys(settings) {
        Ok(set) => set,
        Err(failure) => {
            let seen = format!("{:#}", failure.error);
            return Finding::lack(State::Missing, NAME, NEEDED_FOR, seen, "");
        }
    };
    // Whether one is lacking shows with the models; that there are others to be had is no lack.
    let seen = match set.len() {
        0 => "none is set; a rehearsal needs none".to_owned(),
        _ => format!("{} set", set.join(", ")),
    };
    Finding::ok(NAME, NEEDED_FOR, seen)
}

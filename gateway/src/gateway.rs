//! The gateway of a run.

use crate::door::{DoorError, TrialDoor, TrialSpec};
use crate::error::{Problem, ProviderError};
use crate::http::{HttpError, HttpProvider};
use crate::keys::Keys;
use crate::lane::Lane;
use crate::line::{Line, LineSpec};
use crate::model::{Alias, ModelName};
use crate::outage::{Outage, OutageBoard};
use crate::prices::{Price, PriceError};
use crate::profile::{ProfileError, Quirks};
use crate::provider::Provider;
use crate::purse::{Account, Balance, Purse, SpendRole};
use crate::settings::{AliasSettings, Caps, GatewaySettings, ResolvedModels, RetrySettings};
use crate::stand_in::StandIn;
use crate::tape::TapeError;
use hone_protocol::Event;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// A gateway could not be set up; each is a mistake in the settings.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A provider is unknown or its profile wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A price is unknown or the table wrong.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// A client could not be made.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A key is missing.
    #[error(transparent)]
    Key(ProviderError),
    /// A tape cannot be written or read.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// An alias has no model.
    #[error("find a model for the alias `{0}`")]
    NoModel(Alias),
    /// The alias does not exist.
    #[error("set the alias `{alias}`: the aliases are {}", Alias::all().collect::<Vec<_>>().join(", "))]
    UnknownAlias {
        /// The alias.
        alias: Alias,
    },
    /// A run is to be replayed, but no folder of recordings was named.
    #[error("replay run `{0}`: the folder of its recordings is not known")]
    NoRecordings(String),
}

impl GatewayError {
    /// Says in a sentence what a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            GatewayError::Price(error) => Some(error.hint()),
            GatewayError::Key(error) => Some(error.hint().to_owned()),
            GatewayError::NoModel(alias) => Some(format!(
                "Set it in hone.toml: [models.{alias}] models = [\"provider:model\"], or use --model."
            )),
            GatewayError::Profile(ProfileError::Unknown { .. }) => Some(
                "A provider of your own is a table [providers.NAME] with dialect and base_url."
                    .to_owned(),
            ),
            GatewayError::Profile(ProfileError::Malformed { .. })
            | GatewayError::Http(_)
            | GatewayError::Tape(_)
            | GatewayError::UnknownAlias { .. }
            | GatewayError::NoRecordings(_) => None,
        }
    }
}

/// One model that an alias may lead to.
pub(crate) struct Route {
    pub name: ModelName,
    pub provider: Arc<dyn Provider>,
    pub lane: Arc<Lane>,
    pub price: Price,
    pub quirks: Quirks,
}

/// An alias with its routes.
pub(crate) struct AliasRoutes {
    pub settings: AliasSettings,
    pub routes: Vec<Arc<Route>>,
}

/// What all doors of a run share.
pub(crate) struct Shared {
    pub aliases: BTreeMap<Alias, AliasRoutes>,
    pub purse: Purse,
    pub board: OutageBoard,
    pub retry: RetrySettings,
    pub keys: Keys,
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
}

/// The door between the agents of a run and their models, and the run's purse.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<Shared>,
    resolved: Arc<ResolvedModels>,
}

impl Gateway {
    /// Sets up the gateway of a run. Every model that an alias may lead to must have a provider, a
    /// key where it needs one, and a price, before anything is sent.
    pub fn new(settings: GatewaySettings, keys: Keys) -> Result<Self, GatewayError> {
        let mut maker = RouteMaker::new(&settings, &keys);
        if let Some(alias) =
            settings.models.keys().find(|alias| !Alias::all().any(|known| known == alias.0))
        {
            return Err(GatewayError::UnknownAlias { alias: alias.clone() });
        }
        let mut aliases = BTreeMap::new();
        let mut models = BTreeMap::new();
        let mut replayed = None;
        for alias in Alias::all().map(Alias::from) {
            let chosen = settings
                .models
                .get(&alias)
                .or_else(|| settings.models.get(&Alias::from(Alias::MAIN)))
                .ok_or_else(|| GatewayError::NoModel(alias.clone()))?;
            if chosen.models.is_empty() {
                return Err(GatewayError::NoModel(alias));
            }
            let mut routes = Vec::new();
            for model in &chosen.models {
                match model.replayed_run() {
                    Some(run) => replayed = Some(run.to_owned()),
                    None => routes.push(maker.route(model)?),
                }
            }
            models.insert(alias.clone(), chosen.clone());
            aliases.insert(alias, AliasRoutes { settings: chosen.clone(), routes });
        }
        let replay = match replayed {
            Some(run) => Some(settings.replay.clone().ok_or(GatewayError::NoRecordings(run))?),
            None => None,
        };
        let resolved = ResolvedModels {
            models,
            prices: maker.prices,
            providers: maker.providers,
            caps: settings.caps.clone(),
            seed: settings.seed,
        };
        let purse = Purse::default();
        set_caps(&purse, &settings.caps);
        let shared = Shared {
            aliases,
            purse,
            board: OutageBoard::new(settings.outage),
            retry: settings.retry,
            keys,
            record: settings.record,
            replay,
        };
        Ok(Gateway { shared: Arc::new(shared), resolved: Arc::new(resolved) })
    }

    /// Returns what each alias came to, to be stored with the run.
    pub fn resolved(&self) -> &ResolvedModels {
        &self.resolved
    }

    /// Tells whether any alias leads to the rehearsal model, which is to be said wherever results
    /// are shown.
    pub fn rehearses(&self) -> bool {
        let mut models = self.resolved.models.values().flat_map(|alias| &alias.models);
        models.any(ModelName::is_rehearsal)
    }

    /// Looks whether every model's provider answers and takes its key, without asking for a
    /// completion.
    pub async fn check(&self) -> Vec<(ModelName, Result<(), ProviderError>)> {
        let routes = self.shared.aliases.values().flat_map(|alias| &alias.routes);
        let routes: BTreeMap<&ModelName, &Arc<Route>> =
            routes.map(|route| (&route.name, route)).collect();
        let checks = routes.into_iter().map(|(name, route)| async move {
            let checked = route.provider.check().await;
            (name.clone(), checked.map_err(|problem| problem.at(&name.provider)))
        });
        futures::future::join_all(checks).await
    }

    /// Opens the door of a trial: a socket for its agent, and a handle for the harness. The events
    /// that the agent reports arrive at the receiver; dropping it discards them.
    ///
    /// Must be called within a tokio runtime.
    pub fn open_trial(
        &self,
        spec: TrialSpec,
    ) -> Result<(TrialDoor, mpsc::Receiver<Event>), DoorError> {
        TrialDoor::open(Arc::clone(&self.shared), spec)
    }

    /// Opens a desk: completions for a part of the harness itself, under caps of its own.
    pub fn open_desk(&self, spec: LineSpec) -> Result<Desk, TapeError> {
        Ok(Desk { line: Line::open(Arc::clone(&self.shared), spec)? })
    }

    /// Returns the state of an account.
    pub fn balance(&self, account: &Account) -> Balance {
        self.shared.purse.balance(account)
    }

    /// Returns the state of all accounts, in order.
    pub fn balances(&self) -> Vec<(Account, Balance)> {
        self.shared.purse.balances()
    }

    /// Changes a cap, such as when a person adds money to a run that stands still.
    pub fn set_cap(&self, account: Account, cap: Option<crate::NanoUsd>) {
        self.shared.purse.set_cap(account, cap);
    }

    /// Adds what a resumed run had spent before.
    pub fn add_spent(&self, account: Account, spent: crate::NanoUsd) {
        self.shared.purse.add_spent(account, spent);
    }

    /// Follows outages: `Some` while calls wait for a provider that is down or out of credit.
    pub fn outages(&self) -> watch::Receiver<Option<Outage>> {
        self.shared.board.subscribe()
    }

    /// Lets calls that wait for a provider try again at once.
    pub fn try_now(&self) {
        self.shared.board.try_now();
    }
}

fn set_caps(purse: &Purse, caps: &Caps) {
    purse.set_cap(Account::Run, caps.run);
    for (role, cap) in &caps.roles {
        purse.set_cap(Account::Role(*role), Some(*cap));
    }
}

/// Makes one route for each model, and one client and lane for each provider.
struct RouteMaker<'a> {
    settings: &'a GatewaySettings,
    keys: &'a Keys,
    routes: BTreeMap<ModelName, Arc<Route>>,
    lanes: BTreeMap<String, (Arc<Lane>, reqwest::Client)>,
    prices: BTreeMap<ModelName, Price>,
    providers: BTreeMap<String, crate::Profile>,
}

/// The stand-in computes on its own; only the processor limits it.
const REHEARSAL_WIDTH: u32 = 1024;

/// Long enough to overwrite a large source file in one reply.
const REHEARSAL_OUTPUT: u64 = 16384;

impl<'a> RouteMaker<'a> {
    fn new(settings: &'a GatewaySettings, keys: &'a Keys) -> Self {
        RouteMaker {
            settings,
            keys,
            routes: BTreeMap::new(),
            lanes: BTreeMap::new(),
            prices: BTreeMap::new(),
            providers: BTreeMap::new(),
        }
    }

    fn route(&mut self, model: &ModelName) -> Result<Arc<Route>, GatewayError> {
        if let Some(route) = self.routes.get(model) {
            return Ok(Arc::clone(route));
        }
        let price = self.settings.prices.find(model)?.clone();
        self.prices.insert(model.clone(), price.clone());
        let route = if model.is_rehearsal() {
            Route {
                name: model.clone(),
                provider: Arc::new(StandIn { seed: self.settings.seed }),
                lane: Lane::new(REHEARSAL_WIDTH),
                price,
                quirks: Quirks { stop: usize::MAX, output: REHEARSAL_OUTPUT, ..Quirks::default() },
            }
        } else {
            self.http_route(model, price)?
        };
        let route = Arc::new(route);
        self.routes.insert(model.clone(), Arc::clone(&route));
        Ok(route)
    }

    fn http_route(&mut self, model: &ModelName, price: Price) -> Result<Route, GatewayError> {
        let profile = self.settings.profiles.get(&model.provider)?;
        let quirks = profile.quirks_of(&model.model).map_err(|source| ProfileError::Malformed {
            provider: model.provider.clone(),
            source,
        })?;
        let key = match &profile.key_variable {
            None => None,
            Some(variable) => {
                let key = self.keys.get(variable).cloned();
                if key.is_none() && !profile.key_optional {
                    let problem = Problem::NoKey { variable: variable.clone() };
                    return Err(GatewayError::Key(problem.at(&model.provider)));
                }
                key
            }
        };
        let patience = self.settings.patience;
        let (lane, client) = match self.lanes.get(&model.provider) {
            Some((lane, client)) => (Arc::clone(lane), client.clone()),
            None => {
                let client = HttpProvider::client(&model.provider, profile, patience)?;
                let lane = Lane::new(profile.connections);
                self.lanes.insert(model.provider.clone(), (Arc::clone(&lane), client.clone()));
                (lane, client)
            }
        };
        self.providers.insert(model.provider.clone(), profile.clone());
        let provider = HttpProvider::new(client, profile, quirks.clone(), key, patience)?;
        Ok(Route { name: model.clone(), provider: Arc::new(provider), lane, price, quirks })
    }
}

/// Completions for a part of the harness itself, such as the overseer's judge.
#[derive(Clone)]
pub struct Desk {
    line: Arc<Line>,
}

impl Desk {
    /// Asks for a completion and waits for all of it.
    pub async fn complete(
        &self,
        request: crate::ChatRequest,
    ) -> Result<crate::Completion, crate::CallError> {
        self.line.complete(request).await
    }

    /// Returns what the meter shows.
    pub fn reading(&self) -> crate::MeterReading {
        self.line.reading()
    }

    /// Ends the desk: no more calls; what is in flight is cut off, billed and recorded. Returns
    /// the last reading.
    pub async fn close(self) -> crate::MeterReading {
        self.line.close().await.reading
    }
}

impl SpendRole {
    /// Returns the accounts that work of this role falls under.
    pub(crate) fn accounts(
        self,
        door: &str,
        agent: Option<u64>,
        iteration: Option<u64>,
    ) -> Vec<Account> {
        let mut accounts = vec![Account::Trial(door.to_owned()), Account::Role(self), Account::Run];
        accounts.extend(agent.map(Account::Agent));
        accounts.extend(iteration.map(Account::Iteration));
        accounts
    }
}

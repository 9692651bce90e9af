//! The purse of a run: what every call may cost, reserved before and settled after.
//!
//! A call falls under several accounts (its trial, role, agent, iteration, and the run). It is
//! reserved against all of them at once or against none, so that the sum of what is settled and
//! what is in flight never exceeds a cap.

use crate::money::NanoUsd;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Who the work is done for, as caps tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendRole {
    /// An agent that improves or repairs an agent.
    Editor,
    /// An agent that solves a benchmark problem.
    Benchmark,
    /// The overseer's judge.
    Overseer,
    /// The reviewer.
    Reviewer,
}

impl std::fmt::Display for SpendRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SpendRole::Editor => "editor",
            SpendRole::Benchmark => "benchmark",
            SpendRole::Overseer => "overseer",
            SpendRole::Reviewer => "reviewer",
        })
    }
}

/// What money is counted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Account {
    /// The whole run.
    Run,
    /// All work of a role.
    Role(SpendRole),
    /// All work of an agent of the archive.
    Agent(u64),
    /// All work of an iteration.
    Iteration(u64),
    /// One trial, or one desk of the harness.
    Trial(String),
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Account::Run => f.write_str("run"),
            Account::Role(role) => write!(f, "role {role}"),
            Account::Agent(number) => write!(f, "agent {number}"),
            Account::Iteration(number) => write!(f, "iteration {number}"),
            Account::Trial(id) => write!(f, "trial {id}"),
        }
    }
}

/// The state of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// The most that may be spent.
    pub cap: Option<NanoUsd>,
    /// What calls in flight may still cost.
    pub reserved: NanoUsd,
    /// What was spent.
    pub settled: NanoUsd,
}

impl Balance {
    /// Returns what is spent or may be by calls in flight.
    pub fn committed(&self) -> NanoUsd {
        self.settled.plus(self.reserved)
    }
}

/// A call would have gone over a cap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "the cap of the {account} is reached: {settled} of {cap} are spent, and the call may cost {wanted}"
)]
pub struct Capped {
    /// The account.
    pub account: Account,
    /// Its cap.
    pub cap: NanoUsd,
    /// What was spent when the call was refused.
    pub settled: NanoUsd,
    /// The least that the call may cost.
    pub wanted: NanoUsd,
}

/// What a call may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// With the reply that was asked for.
    pub full: NanoUsd,
    /// With the shortest reply that is worth having.
    pub least: NanoUsd,
}

/// What became of a wish to reserve.
enum Attempt {
    Granted(NanoUsd),
    /// Calls in flight hold what is missing.
    Wait,
    Refused(Capped),
}

/// All accounts of a run.
#[derive(Clone, Default)]
pub struct Purse {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    accounts: Mutex<HashMap<Account, Balance>>,
    changed: Notify,
}

impl Inner {
    fn accounts(&self) -> MutexGuard<'_, HashMap<Account, Balance>> {
        // Every change is complete before the lock is given up, even where one panics.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Purse {
    /// Sets the cap of an account.
    pub fn set_cap(&self, account: Account, cap: Option<NanoUsd>) {
        self.inner.accounts().entry(account).or_default().cap = cap;
        self.inner.changed.notify_waiters();
    }

    /// Adds what was spent before, such as by the part of a run that is being resumed.
    pub fn add_spent(&self, account: Account, spent: NanoUsd) {
        let mut accounts = self.inner.accounts();
        let balance = accounts.entry(account).or_default();
        balance.settled = balance.settled.plus(spent);
    }

    /// Returns the state of an account.
    pub fn balance(&self, account: &Account) -> Balance {
        self.inner.accounts().get(account).copied().unwrap_or_default()
    }

    /// Returns all accounts, in order.
    pub fn balances(&self) -> Vec<(Account, Balance)> {
        let mut all: Vec<_> = self
            .inner
            .accounts()
            .iter()
            .map(|(account, balance)| (account.clone(), *balance))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Forgets an account.
    pub fn close(&self, account: &Account) {
        self.inner.accounts().remove(account);
    }

    /// Reserves for a call, and waits while only calls in flight stand in its way. What is granted
    /// lies between `least` and `full`.
    pub async fn reserve(
        &self,
        accounts: &[Account],
        wanted: Wanted,
    ) -> Result<Reservation, Capped> {
        loop {
            let changed = self.inner.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that a change between the two is not missed.
            changed.as_mut().enable();
            match self.attempt(accounts, wanted) {
                Attempt::Granted(amount) => {
                    return Ok(Reservation {
                        purse: self.clone(),
                        accounts: accounts.to_vec(),
                        amount,
                        open: true,
                    });
                }
                Attempt::Refused(capped) => return Err(capped),
                Attempt::Wait => changed.await,
            }
        }
    }

    /// Reserves for a call, and does not wait.
    pub fn try_reserve(&self, accounts: &[Account], wanted: Wanted) -> Option<Reservation> {
        match self.attempt(accounts, wanted) {
            Attempt::Granted(amount) => Some(Reservation {
                purse: self.clone(),
                accounts: accounts.to_vec(),
                amount,
                open: true,
            }),
            Attempt::Wait | Attempt::Refused(_) => None,
        }
    }

    fn attempt(&self, accounts: &[Account], wanted: Wanted) -> Attempt {
        let mut all = self.inner.accounts();
        let mut amount = wanted.full;
        let mut wait = false;
        for account in accounts {
            let balance = all.get(account).copied().unwrap_or_default();
            let Some(cap) = balance.cap else { continue };
            if balance.settled.plus(wanted.least) > cap {
                return Attempt::Refused(Capped {
                    account: account.clone(),
                    cap,
                    settled: balance.settled,
                    wanted: wanted.least,
                });
            }
            let left = cap.minus(balance.committed());
            if left < wanted.full {
                // A call in flight may give back what is missing.
                wait |= balance.reserved > NanoUsd::ZERO;
                amount = amount.min(left);
            }
        }
        if wait {
            return Attempt::Wait;
        }
        for account in accounts {
            let balance = all.entry(account.clone()).or_default();
            balance.reserved = balance.reserved.plus(amount);
        }
        Attempt::Granted(amount)
    }

    fn give_back(&self, accounts: &[Account], reserved: NanoUsd, cost: NanoUsd) {
        let mut all = self.inner.accounts();
        for account in accounts {
            let balance = all.entry(account.clone()).or_default();
            balance.reserved = balance.reserved.minus(reserved);
            balance.settled = balance.settled.plus(cost);
        }
        drop(all);
        self.inner.changed.notify_waiters();
    }
}

/// Money held back for a call. Dropped without being settled, it is given back whole.
pub struct Reservation {
    purse: Purse,
    accounts: Vec<Account>,
    amount: NanoUsd,
    open: bool,
}

impl Reservation {
    /// Returns the amount.
    pub fn amount(&self) -> NanoUsd {
        self.amount
    }

    /// Puts the real cost in the place of the amount.
    pub fn settle(mut self, cost: NanoUsd) {
        self.open = false;
        self.purse.give_back(&self.accounts, self.amount, cost);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.open {
            self.purse.give_back(&self.accounts, self.amount, NanoUsd::ZERO);
        }
    }
}

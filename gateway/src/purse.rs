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

impl SpendRole {
    /// Every role.
    pub const ALL: [SpendRole; 4] =
        [SpendRole::Editor, SpendRole::Benchmark, SpendRole::Overseer, SpendRole::Reviewer];
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CENT: u64 = 10_000_000;

    fn exactly(amount: u64) -> Wanted {
        Wanted { full: NanoUsd(amount), least: NanoUsd(amount) }
    }

    #[test]
    fn two_workers_with_calls_of_thirty_cents_never_commit_more_than_a_dollar() {
        let purse = Purse::default();
        purse.set_cap(Account::Run, Some(NanoUsd(100 * CENT)));
        let accounts = [Account::Run];
        let first = purse.try_reserve(&accounts, exactly(30 * CENT)).unwrap();
        let second = purse.try_reserve(&accounts, exactly(30 * CENT)).unwrap();
        first.settle(NanoUsd(30 * CENT));
        let third = purse.try_reserve(&accounts, exactly(30 * CENT)).unwrap();
        assert!(purse.try_reserve(&accounts, exactly(30 * CENT)).is_none());
        assert_eq!(purse.balance(&Account::Run).committed(), NanoUsd(90 * CENT));
        second.settle(NanoUsd(5 * CENT));
        assert!(purse.try_reserve(&accounts, exactly(30 * CENT)).is_some());
        drop(third);
        assert_eq!(purse.balance(&Account::Run).committed(), NanoUsd(35 * CENT));
    }

    #[tokio::test]
    async fn a_call_waits_for_money_in_flight_and_is_refused_when_it_is_spent() {
        let purse = Purse::default();
        purse.set_cap(Account::Run, Some(NanoUsd(10)));
        let first = purse.reserve(&[Account::Run], exactly(8)).await.unwrap();
        let other = purse.clone();
        let waiting = tokio::spawn(async move {
            other.reserve(&[Account::Run], exactly(5)).await.map(|granted| granted.amount())
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        first.settle(NanoUsd(4));
        assert_eq!(waiting.await.unwrap(), Ok(NanoUsd(5)));
        purse.add_spent(Account::Run, NanoUsd(4));
        let refused = purse.reserve(&[Account::Run], exactly(5)).await.err().unwrap();
        assert_eq!((refused.settled, refused.wanted), (NanoUsd(8), NanoUsd(5)));
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A worker asks for so much, at least for so much.
        Reserve(usize, u64, u64),
        /// A worker's call ends and costs this share of what it was granted, in percent.
        Settle(usize, u64),
        /// A worker's call is cut before it was sent.
        Drop(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let worker = 0usize..4;
        prop_oneof![
            3 => (worker.clone(), 1u64..60, 1u64..60)
                .prop_map(|(worker, a, b)| Step::Reserve(worker, a.max(b), a.min(b))),
            2 => (worker.clone(), 0u64..=100).prop_map(|(worker, share)| Step::Settle(worker, share)),
            1 => worker.prop_map(Step::Drop),
        ]
    }

    proptest! {
        #[test]
        fn no_interleaving_of_calls_commits_more_than_any_cap(
            steps in prop::collection::vec(step(), 1..80),
            run_cap in 50u64..200,
            role_cap in 20u64..200,
        ) {
            let purse = Purse::default();
            let role = Account::Role(SpendRole::Benchmark);
            purse.set_cap(Account::Run, Some(NanoUsd(run_cap)));
            purse.set_cap(role.clone(), Some(NanoUsd(role_cap)));
            let mut workers: [Option<Reservation>; 4] = Default::default();
            let (mut settled, mut of_role) = (0, 0);
            for step in steps {
                match step {
                    Step::Reserve(worker, full, least) if workers[worker].is_none() => {
                        // Workers 0 and 1 have the role.
                        let mut accounts = vec![Account::Run];
                        if worker < 2 {
                            accounts.push(role.clone());
                        }
                        let wanted = Wanted { full: NanoUsd(full), least: NanoUsd(least) };
                        workers[worker] = purse.try_reserve(&accounts, wanted);
                        if let Some(granted) = &workers[worker] {
                            prop_assert!(granted.amount() >= wanted.least);
                            prop_assert!(granted.amount() <= wanted.full);
                        }
                    }
                    Step::Settle(worker, share) => {
                        if let Some(granted) = workers[worker].take() {
                            let cost = granted.amount().0 * share / 100;
                            settled += cost;
                            if worker < 2 {
                                of_role += cost;
                            }
                            granted.settle(NanoUsd(cost));
                        }
                    }
                    Step::Drop(worker) => workers[worker] = None,
                    Step::Reserve(..) => {}
                }
                let in_flight = |workers: &[Option<Reservation>]| -> u64 {
                    workers.iter().flatten().map(|granted| granted.amount().0).sum()
                };
                let run = purse.balance(&Account::Run);
                prop_assert_eq!(run.settled, NanoUsd(settled));
                prop_assert_eq!(run.reserved, NanoUsd(in_flight(&workers)));
                prop_assert!(run.committed() <= NanoUsd(run_cap));
                let balance = purse.balance(&role);
                prop_assert_eq!(balance.settled, NanoUsd(of_role));
                prop_assert_eq!(balance.reserved, NanoUsd(in_flight(&workers[..2])));
                prop_assert!(balance.committed() <= NanoUsd(role_cap));
            }
        }
    }
}

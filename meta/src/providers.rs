//! Providers before and during a run: whether they answer, and waiting while they do not.

use crate::failure::{Failure, FailureKind, Outcome};
use hone_gateway::outage::Outage;
use hone_gateway::{Gateway, ProviderError};
use tokio::sync::watch;

/// Looks whether every model's provider answers and takes its key, before anything else is done. No completion is
/// asked for, so this costs nothing.
pub async fn check_providers(gateway: &Gateway) -> Outcome {
    let failed: Vec<(String, ProviderError)> = gateway
        .check()
        .await
        .into_iter()
        .filter_map(|(model, checked)| Some((model.to_string(), checked.err()?)))
        .collect();
    let Some((model, first)) = failed.first() else { return Ok(()) };
    let others: Vec<String> =
        failed[1..].iter().map(|(model, error)| format!("{model}: {}", error.problem)).collect();
    let hint = first.hint().to_owned();
    let mut failure = Failure::new(FailureKind::Provider, first.clone());
    if !others.is_empty() {
        failure =
            Failure::new(FailureKind::Provider, anyhow::anyhow!("{first}; {}", others.join("; ")));
    }
    Err(failure.context(format!("reach the provider of {model}")).hint(hint))
}

/// Tells of outages as they begin, change and end, until the gateway is gone.
pub async fn tell_outages(mut board: watch::Receiver<Option<Outage>>, say: impl Fn(String)) {
    let mut told: Option<Outage> = None;
    loop {
        let posted = board.borrow_and_update().clone();
        match (&told, &posted) {
            (_, Some(outage)) if told != posted => say(format!(
                "paused since {}: {}. {}",
                outage.since.strftime("%H:%M:%S UTC"),
                outage.error,
                outage.error.hint()
            )),
            (Some(outage), None) => {
                say(format!("going on: {} answers again", outage.error.provider));
            }
            _ => {}
        }
        told = posted;
        if board.changed().await.is_err() {
            return;
        }
    }
}

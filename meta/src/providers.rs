//! Providers before and during a run: whether they answer, and waiting while they do not.

use crate::failure::{Failure, FailureKind, Outcome};
use hone_gateway::outage::Outage;
use hone_gateway::{Gateway, Problem, ProviderError};
use tokio::sync::watch;

/// Looks whether every model's provider answers and takes its key, before anything else is done. No completion is
/// asked for, so this costs nothing.
pub async fn check_providers(gateway: &Gateway) -> Outcome {
    let failed: Vec<(String, ProviderError)> = gateway
        .check()
        .await
        .into_iter()
        .filter_map(|(model, checked)| Some((model.to_string(), checked.err()?)))
        // A provider that is busy is there, and calls wait for their turn.
        .filter(|(_, error)| !matches!(error.problem, Problem::RateLimited { .. }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[tokio::test]
    async fn an_outage_is_told_once_and_its_end_too() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let (board, posted) = watch::channel(None);
        let teller = tokio::spawn(tell_outages(posted, move |line| {
            heard.lock().unwrap().push(line);
        }));
        let outage = |detail: &str| {
            let problem = Problem::NoCredit { detail: detail.to_owned() };
            let since = "2026-01-02T03:04:05Z".parse().unwrap();
            Some(Outage { error: problem.at("openai"), since })
        };
        let heard = |lines: usize| {
            let told = Arc::clone(&told);
            async move {
                while told.lock().unwrap().len() < lines {
                    tokio::task::yield_now().await;
                }
            }
        };
        board.send_replace(outage("empty"));
        heard(1).await;
        board.send_replace(outage("empty"));
        board.send_replace(None);
        heard(2).await;
        drop(board);
        teller.await.unwrap();
        let told = told.lock().unwrap().join("\n");
        insta::assert_snapshot!(told, @r"
        paused since 03:04:05 UTC: openai: out of credit: empty. Add credit to the account; the run goes on by itself once a call gets through.
        going on: openai answers again
        ");
    }

    #[tokio::test]
    async fn a_provider_that_nobody_serves_is_named_before_anything_else_is_done() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A port that was free a moment ago, and that nobody listens on now.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut settings = crate::settings::Settings::default();
        let url = format!("http://127.0.0.1:{port}/v1");
        crate::models::choose_model(&mut settings, &"openai:x".parse().unwrap());
        crate::models::choose_base_url(&mut settings, &url).unwrap();
        let home = crate::home::Home::new("/nowhere", "/nowhere/cache");
        let setup = crate::models::gateway_settings(&settings, None, None, &home).unwrap();
        let failure = check_providers(&setup.open().unwrap()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Provider);
        let error = format!("{:#}", failure.error);
        assert!(
            error.starts_with("reach the provider of openai:x: openai: unreachable:"),
            "{error}"
        );
    }
}

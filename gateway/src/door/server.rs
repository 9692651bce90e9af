//! Serves a socket so that nothing an agent sends, or fails to send, hurts the harness.

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Connections at one time; more wait to be accepted.
const CONNECTIONS: usize = 64;

/// How long the head of a request may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long to rest when no connection can be accepted, for example for want of file handles.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Makes the socket, in the place of one that a dead process left behind.
pub(super) fn listen(path: &Path) -> io::Result<UnixListener> {
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent)?;
    }
    match fs_err::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // Who may reach the socket may spend money.
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until cancelled; then ends every connection and removes the socket.
pub(super) async fn serve(
    listener: UnixListener,
    router: Router,
    cancel: CancellationToken,
    path: PathBuf,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let service = TowerToHyperService::new(router.clone());
                    connections.spawn(async move {
                        let mut http = hyper::server::conn::http1::Builder::new();
                        http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
                        // A connection that breaks is the agent's matter.
                        let _ = http.serve_connection(TokioIo::new(stream), service).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(socket = %path.display(), "no connection accepted: {error}");
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            },
        }
    }
    connections.shutdown().await;
    if let Err(error) = fs_err::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("the socket stays behind: {error}");
    }
}

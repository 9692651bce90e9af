//! Removes what dead processes left: containers, networks, volumes, control groups and folders. Everything is known by
//! its owner, and nothing that another made is touched.

use crate::contract::SandboxError;
use crate::owner::{Life, Process};
use crate::{cgroup, docker, labels, quarters};
use bollard::Docker;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveVolumeOptions,
};
use jiff::Timestamp;
use std::collections::HashMap;
use std::path::Path;

/// Something that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// `container`, `network`, `volume`, `control group` or `folder`.
    pub kind: &'static str,
    /// Its name or path.
    pub name: String,
}

/// Whether leftovers are removed or only listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// They are listed.
    List,
    /// They are removed.
    Remove,
}

/// Finds what dead processes left, in the engine where one answers and in a state directory.
///
/// # Errors
/// Returns an error when the engine answers and then fails. What was removed before stays removed.
pub async fn sweep(state: &Path, how: Sweep) -> Result<Vec<Swept>, SandboxError> {
    let mut swept = match docker::connect().await {
        Ok(engine) => sweep_engine(&engine, how).await?,
        Err(_) => Vec::new(),
    };
    // Folders come last: a container that is gone writes no more.
    let state = state.to_owned();
    let local = tokio::task::spawn_blocking(move || sweep_local(&state, how)).await;
    swept.extend(local.map_err(|error| SandboxError::Engine {
        doing: "sweep folders".to_owned(),
        reason: error.to_string(),
    })?);
    Ok(swept)
}

async fn sweep_engine(engine: &Docker, how: Sweep) -> Result<Vec<Swept>, SandboxError> {
    let now = Timestamp::now();
    let ours = HashMap::from([("label", vec![labels::OWNER])]);
    let mut swept = Vec::new();

    let options = ListContainersOptionsBuilder::new().all(true).filters(&ours).build();
    for container in engine.list_containers(Some(options)).await.map_err(fail("list containers"))? {
        let Some(id) = container.id else { continue };
        if !labels::is_left(&container.labels.unwrap_or_default(), now) {
            continue;
        }
        if how == Sweep::Remove {
            let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            gone(engine.remove_container(&id, Some(options)).await)
                .map_err(fail("remove a container"))?;
        }
        let name = container.names.unwrap_or_default().into_iter().next().unwrap_or(id);
        swept.push(Swept { kind: "container", name: name.trim_start_matches('/').to_owned() });
    }

    let options = ListNetworksOptionsBuilder::new().filters(&ours).build();
    for network in engine.list_networks(Some(options)).await.map_err(fail("list networks"))? {
        let (Some(id), labels) = (network.id, network.labels.unwrap_or_default()) else { continue };
        if !labels::is_left(&labels, now) {
            continue;
        }
        if how == Sweep::Remove {
            gone(engine.remove_network(&id).await).map_err(fail("remove a network"))?;
        }
        swept.push(Swept { kind: "network", name: network.name.unwrap_or(id) });
    }

    let options = ListVolumesOptionsBuilder::new().filters(&ours).build();
    let volumes = engine.list_volumes(Some(options)).await.map_err(fail("list volumes"))?;
    for volume in volumes.volumes.unwrap_or_default() {
        if !labels::is_left(&volume.labels, now) {
            continue;
        }
        if how == Sweep::Remove {
            gone(engine.remove_volume(&volume.name, None::<RemoveVolumeOptions>).await)
                .map_err(fail("remove a volume"))?;
        }
        swept.push(Swept { kind: "volume", name: volume.name });
    }
    Ok(swept)
}

fn sweep_local(state: &Path, how: Sweep) -> Vec<Swept> {
    let mut swept = Vec::new();
    for group in cgroup::leftovers() {
        if how == Sweep::Remove {
            cgroup::clear(&group);
        }
        swept.push(Swept { kind: "control group", name: group.display().to_string() });
    }
    let entries = std::fs::read_dir(quarters::estate(state));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.rsplit_once('.').and_then(|(owner, _)| owner.parse::<Process>().ok());
        if owner.is_some_and(|owner| owner.life() == Life::Dead) {
            if how == Sweep::Remove {
                quarters::remove(&entry.path());
            }
            swept.push(Swept { kind: "folder", name: entry.path().display().to_string() });
        }
    }
    swept
}

/// Takes something that is gone or going already for removed.
fn gone(result: Result<(), bollard::errors::Error>) -> Result<(), bollard::errors::Error> {
    use bollard::errors::Error::DockerResponseServerError;
    match result {
        Err(DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
        result => result,
    }
}

fn fail(doing: &str) -> impl FnOnce(bollard::errors::Error) -> SandboxError {
    let doing = doing.to_owned();
    move |error| SandboxError::Engine { doing, reason: docker::said(error) }
}

//! Builds suites from source code: what `hone bench build` calls.

use crate::origin::git::GitOrigin;
use crate::origin::pypi::{self, Wheels};
use crate::origin::{Origin, OriginError};
use crate::suite::{Suite, SuiteError};
use std::path::Path;

/// Why a suite cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The source cannot be read.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The suite cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// Suites of this kind are not built from source code.
    #[error("build a suite of the kind {0:?} from source code: only edit and nav are")]
    Kind(String),
}

/// What to build.
#[derive(Clone, Debug)]
pub struct BuildRequest<'a> {
    /// The name of the suite.
    pub name: &'a str,
    /// `edit` or `nav`.
    pub kind: &'a str,
    /// The source of the code.
    pub origin: &'a Origin,
    /// The revision of a git repository; `HEAD` when none is given.
    pub revision: Option<&'a str>,
    /// The folder that keeps fetched wheels.
    pub wheels: &'a Path,
    /// How many problems at most.
    pub count: usize,
    /// The seed of the draw.
    pub seed: u64,
}

/// Builds a suite. The same request on the same revision gives the same bytes.
pub fn build(request: &BuildRequest<'_>) -> Result<Suite, BuildError> {
    let &BuildRequest { name, kind, count, seed, .. } = request;
    if !["edit", "nav"].contains(&kind) {
        return Err(BuildError::Kind(kind.to_owned()));
    }
    match request.origin {
        Origin::Git(path) => {
            let origin = GitOrigin::open(path, request.revision)?;
            match kind {
                "edit" => crate::edit::build::build(name, &origin, count, seed),
                _ => crate::nav::build::build(name, &origin.snapshot()?, count, seed),
            }
        }
        Origin::Pypi { package, versions } => {
            // Edits are what changed between releases; uses of names are found in one.
            let most = if kind == "edit" { pypi::RELEASES } else { 1 };
            let paths = pypi::fetch(package, versions, most, request.wheels)?;
            let wheels = Wheels::open(package, &paths)?;
            match kind {
                "edit" => crate::edit::build::build(name, &wheels, count, seed),
                _ => crate::nav::build::build(name, &wheels.snapshot()?, count, seed),
            }
        }
    }
}

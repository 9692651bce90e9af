//! Which exit code an error of suites has, and which hint.

use super::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use hone_benchmarks::build::BuildError;
use hone_benchmarks::import::ImportError;
use hone_benchmarks::origin::OriginError;
use hone_benchmarks::{Library, Suite};

/// Returns the library of the home's suites.
pub fn library(context: &Context) -> Library {
    Library::new(context.home.suites())
}

/// Opens a suite by name, by path, or as `name/subset`.
pub fn open(context: &Context, name: &str) -> Outcome<Suite> {
    crate::suites::find(&context.home, name)
}

pub use crate::suites::failure as suite;

/// Makes an error of a build a failure.
pub fn build(error: BuildError) -> Failure {
    match error {
        BuildError::Suite(error) => suite(error),
        BuildError::Origin(OriginError::Pip { .. }) => Failure::infrastructure(error),
        BuildError::Origin(OriginError::NoSource(_)) | BuildError::Kind(_) => {
            Failure::new(FailureKind::Usage, error)
        }
        BuildError::Origin(_) => Failure::new(FailureKind::Refused, error),
    }
}

/// Makes an error of an import a failure.
pub fn import(error: ImportError) -> Failure {
    match error {
        ImportError::Suite(error) => suite(error),
        ImportError::Format { .. } => Failure::new(FailureKind::Usage, error),
        other => Failure::new(FailureKind::Refused, other),
    }
}

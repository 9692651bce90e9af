//! Which exit code an error of suites has, and which hint.

use super::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use hone_benchmarks::build::BuildError;
use hone_benchmarks::import::ImportError;
use hone_benchmarks::origin::OriginError;
use hone_benchmarks::{Library, Suite, SuiteError};

/// Returns the library of the home's suites.
pub fn library(context: &Context) -> Library {
    Library::new(context.home.suites())
}

/// Opens a suite by name, by path, or as `name/subset`.
pub fn open(context: &Context, name: &str) -> Outcome<Suite> {
    let library = library(context);
    library.open(name).map_err(|error| {
        let unknown = matches!(&error, SuiteError::Unknown { what: "the suite", .. });
        let failure = suite(error);
        match unknown {
            true => failure.hint(format!(
                "The suites are {}. `hone bench build` and `hone bench import` make more.",
                library.names().join(", ")
            )),
            false => failure,
        }
    })
}

/// Makes an error of a suite a failure.
pub fn suite(error: SuiteError) -> Failure {
    let (kind, hint) = match &error {
        SuiteError::Unknown { .. } | SuiteError::NoSuite(_) => (FailureKind::Usage, None),
        SuiteError::Changed { .. } | SuiteError::Files(_) => (
            FailureKind::Refused,
            Some("Build or import it again, or take the copy that its results were made with."),
        ),
        SuiteError::Format { .. } => {
            (FailureKind::Refused, Some("A newer hone wrote it; use that one."))
        }
        SuiteError::Io { .. }
        | SuiteError::Malformed { .. }
        | SuiteError::Duplicate { .. }
        | SuiteError::Problem { .. } => (FailureKind::Refused, None),
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

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

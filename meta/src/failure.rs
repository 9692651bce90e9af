//! How a command ends when it does not end well: the kind of the failure, a hint, and the exit code.

use std::fmt;

/// The kind of a failure, which is its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Refused, or finished with failures.
    Refused = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// The model provider.
    Provider = 3,
    /// The sandbox or other infrastructure.
    Infrastructure = 4,
    /// Interrupted by Ctrl-C.
    Interrupted = 130,
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// What happened, to what; the chain of errors completes "failed to …".
    pub error: anyhow::Error,
    /// What to do next, in full sentences.
    pub hint: Option<String>,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Makes a failure.
    pub fn new(kind: FailureKind, error: impl Into<anyhow::Error>) -> Self {
        Failure { kind, error: error.into(), hint: None }
    }

    /// Makes a failure of usage or configuration.
    pub fn usage(text: impl fmt::Display) -> Self {
        Failure::new(FailureKind::Usage, anyhow::anyhow!("{text}"))
    }

    /// Makes a refusal.
    pub fn refused(text: impl fmt::Display) -> Self {
        Failure::new(FailureKind::Refused, anyhow::anyhow!("{text}"))
    }

    /// Makes a failure of infrastructure.
    pub fn infrastructure(error: impl Into<anyhow::Error>) -> Self {
        Failure::new(FailureKind::Infrastructure, error)
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what was being done, in front.
    pub fn context(mut self, doing: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.context(doing);
        self
    }
}

/// Makes results of libraries into outcomes of commands.
pub trait OrFail<T> {
    /// Makes an error a failure of a kind.
    fn or_fail(self, kind: FailureKind) -> Outcome<T>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, kind: FailureKind) -> Outcome<T> {
        self.map_err(|error| Failure::new(kind, error))
    }
}

//! Reads test results out of a runner's output, one parser per kind of runner.
//!
//! Every oddity here is the official parser's; labels of the dataset were made with them, so they must stay.

mod django;
mod pytest;
mod seaborn;
mod sympy;

use super::status::StatusMap;

/// Names a log parser of the official harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogParser {
    /// pytest's short summary.
    Pytest,
    /// pytest's short summary, with path-like parameters shortened.
    PytestOptions,
    /// pytest's summary or old verbose lines, with colours removed and whole ids kept.
    PytestV2,
    /// pytest's short summary, with mouse buttons by number.
    Matplotlib,
    /// pytest as seaborn runs it.
    Seaborn,
    /// sympy's own runner.
    Sympy,
    /// Django's unittest runner.
    Django,
}

/// Says that the official parser raises on this log, so that no report exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A `FAIL:` or `ERROR:` heading has no test after it (IndexError in Python).
    #[error("the heading `{heading}` names no test; the official parser fails on it too")]
    BareHeading {
        /// The heading as it stands.
        heading: String,
    },
}

impl LogParser {
    /// Finds a parser by the dataset's `log_parser` column.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("parse_log_")? {
            "pytest" | "astroid" | "flask" | "marshmallow" | "pvlib" | "pyvista" | "sqlfluff"
            | "xarray" => Self::Pytest,
            "pytest_options" | "pydicom" | "requests" | "pylint" => Self::PytestOptions,
            "pytest_v2" | "astropy" | "scikit" | "sphinx" => Self::PytestV2,
            "matplotlib" => Self::Matplotlib,
            "seaborn" => Self::Seaborn,
            "sympy" => Self::Sympy,
            "django" => Self::Django,
            _ => return None,
        })
    }

    /// Finds the parser of a repository, for rows older than the `log_parser` column.
    pub fn of_repository(repository: &str) -> Option<Self> {
        Some(match repository {
            "pytest-dev/pytest"
            | "pallets/flask"
            | "pydata/xarray"
            | "marshmallow-code/marshmallow"
            | "pvlib/pvlib-python"
            | "pylint-dev/astroid"
            | "pyvista/pyvista"
            | "sqlfluff/sqlfluff" => Self::Pytest,
            "psf/requests" | "pylint-dev/pylint" | "pydicom/pydicom" => Self::PytestOptions,
            "astropy/astropy" | "scikit-learn/scikit-learn" | "sphinx-doc/sphinx" => Self::PytestV2,
            "matplotlib/matplotlib" => Self::Matplotlib,
            "mwaskom/seaborn" => Self::Seaborn,
            "sympy/sympy" => Self::Sympy,
            "django/django" => Self::Django,
            _ => return None,
        })
    }

    /// Reads the statuses in a piece of a log whose line ends are LF.
    pub fn read(self, log: &str) -> Result<StatusMap<'_>, ParseError> {
        Ok(match self {
            Self::Pytest => pytest::short_summary(log),
            Self::PytestOptions => pytest::with_options(log),
            Self::PytestV2 => pytest::with_whole_ids(log),
            Self::Matplotlib => pytest::with_mouse_buttons(log),
            Self::Seaborn => seaborn::read(log),
            Self::Sympy => sympy::read(log),
            Self::Django => django::read(log)?,
        })
    }
}

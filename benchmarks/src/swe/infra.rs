//! Signs of a broken environment in a log. They explain a failure; they never change a verdict.

use std::sync::LazyLock;

use regex::Regex;

/// Names the environment fault that a log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A browser did not start.
    BrowserLaunchFailed,
    /// No display was there.
    DisplayUnavailable,
    /// Memory ran out.
    OutOfMemory,
    /// The container engine failed.
    ContainerUnavailable,
    /// A host could not be reached.
    NetworkUnreachable,
    /// A module was missing; a patch may be to blame.
    MissingModule,
    /// The runner found no test; a patch may be to blame.
    NoTestsCollected,
    /// The tests ran out of time; a patch may be to blame.
    TestsTimedOut,
}

/// In the official order: the first hit wins.
const SIGNS: [(Fault, &str); 8] = [
    (Fault::BrowserLaunchFailed, "Failed to launch|Failed to connect to the bus"),
    (Fault::DisplayUnavailable, "cannot open display|Missing X server|unable to open X display"),
    (Fault::OutOfMemory, "(?m)Cannot allocate memory|OutOfMemoryError|^Killed$"),
    (Fault::ContainerUnavailable, "Error response from daemon|Cannot connect to the Docker daemon"),
    (Fault::NetworkUnreachable, "Could not resolve host|Temporary failure in name resolution"),
    (Fault::MissingModule, "Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError"),
    (Fault::NoTestsCollected, "no tests ran|collected 0 items"),
    (Fault::TestsTimedOut, r"Timeout error: \d+ seconds exceeded"),
];

impl Fault {
    /// Finds the first sign in the text.
    pub fn find(text: &str) -> Option<Self> {
        static SEARCHES: LazyLock<Vec<(Fault, Regex)>> = LazyLock::new(|| {
            SIGNS
                .iter()
                .filter_map(|(fault, sign)| Some((*fault, Regex::new(sign).ok()?)))
                .collect()
        });
        SEARCHES.iter().find(|(_, search)| search.is_match(text)).map(|(fault, _)| *fault)
    }

    /// Gives the official name.
    pub fn name(self) -> &'static str {
        match self {
            Fault::BrowserLaunchFailed => "browser_launch_failed",
            Fault::DisplayUnavailable => "display_unavailable",
            Fault::OutOfMemory => "out_of_memory",
            Fault::ContainerUnavailable => "container_unavailable",
            Fault::NetworkUnreachable => "network_unreachable",
            Fault::MissingModule => "missing_module",
            Fault::NoTestsCollected => "no_tests_collected",
            Fault::TestsTimedOut => "tests_timed_out",
        }
    }

    /// Says whether no patch of the source can be to blame.
    pub fn is_environmental(self) -> bool {
        match self {
            Fault::BrowserLaunchFailed
            | Fault::DisplayUnavailable
            | Fault::OutOfMemory
            | Fault::ContainerUnavailable
            | Fault::NetworkUnreachable => true,
            Fault::MissingModule | Fault::NoTestsCollected | Fault::TestsTimedOut => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_compiles_and_the_first_of_the_table_wins() {
        for (_, sign) in SIGNS {
            Regex::new(sign).unwrap();
        }
        assert_eq!(Fault::find("Could not resolve host\nKilled\n"), Some(Fault::OutOfMemory));
        assert_eq!(Fault::find("was Killed"), None);
    }
}

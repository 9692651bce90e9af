//! Where a path that the agent names lies, judged by its text alone.

use crate::settings::GuardedPaths;

/// Where a path lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the work directory.
    Inside,
    /// In the work directory, and a test by its name.
    Test,
    /// A test or grader that the trial is judged by.
    Grader,
    /// A path that the change must not touch.
    Protected,
    /// Outside, and free to read.
    Readable,
    /// Outside.
    Outside,
    /// Outside, where the harness or the system keeps things that are none of the agent's business.
    Secret,
}

/// What is never the agent's business. `/hone` holds the socket and the agent's own binary.
const SECRET: [&str; 4] = ["/hone", "/etc/shadow", "/var/run/docker.sock", "/proc/1"];
/// Where git keeps what is no part of the working tree. Naming `.git` itself is ordinary: searches
/// leave it out by name.
const GIT_STORES: [&str; 5] = ["objects", "logs", "refs", "packed-refs", "FETCH_HEAD"];

/// Returns where a path lies.
pub fn place(guarded: &GuardedPaths, path: &str) -> Place {
    if path.starts_with('~') {
        // What the home is inside a sandbox cannot be told from here, only that it is not the work.
        return Place::Outside;
    }
    let parts = absolute(&guarded.work_directory, path);
    let within = |top: &String| starts_with(&parts, &absolute(&guarded.work_directory, top));
    if guarded.graders.iter().any(within) {
        return Place::Grader;
    }
    if guarded.protected.iter().any(within) {
        return Place::Protected;
    }
    if starts_with(&parts, &absolute("/", &guarded.work_directory)) {
        return if is_test(&parts) { Place::Test } else { Place::Inside };
    }
    let secret = SECRET.iter().any(|top| starts_with(&parts, &absolute("/", top)))
        || (parts.first().is_some_and(|p| p == "proc") && parts.iter().any(|p| p == "environ"));
    if secret {
        return Place::Secret;
    }
    if parts.is_empty() || guarded.readable.iter().any(within) {
        Place::Readable
    } else {
        Place::Outside
    }
}

/// Tells whether a path lies where git keeps history.
pub fn is_git_store(path: &str) -> bool {
    components(path)
        .windows(2)
        .any(|pair| pair[0] == ".git" && GIT_STORES.contains(&pair[1].as_str()))
}

/// Tells whether a text mentions a path, as a word of its own.
pub fn mentions(text: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/').trim_start_matches("./");
    if path.is_empty() {
        return false;
    }
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + path.len()..].chars().next();
        let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        !before.is_some_and(joins) && !after.is_some_and(|c| joins(c) || c == '.')
    })
}

/// Returns the parts of a path, with `.` left out and `..` resolved.
pub fn components(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

fn absolute(work_directory: &str, path: &str) -> Vec<String> {
    if path.starts_with('/') {
        components(path)
    } else {
        components(&format!("{work_directory}/{path}"))
    }
}

fn starts_with(parts: &[String], top: &[String]) -> bool {
    parts.len() >= top.len() && parts[..top.len()] == *top
}

fn is_test(parts: &[String]) -> bool {
    let directory = parts.iter().any(|part| part == "tests" || part == "test");
    let file = parts.last().is_some_and(|name| {
        name == "conftest.py" || name.starts_with("test_") || name.ends_with("_test.py")
    });
    directory || file
}

#[cfg(test)]
mod tests {
    use super::{Place, mentions, place};
    use crate::settings::GuardedPaths;

    #[test]
    fn each_path_has_its_place() {
        let guarded = GuardedPaths {
            graders: vec!["tests/hidden".to_owned()],
            protected: vec!["protocol".to_owned()],
            ..GuardedPaths::default()
        };
        for (path, expected) in [
            ("src/a.py", Place::Inside),
            ("/work/src/a.py", Place::Inside),
            ("src/../../work/a.py", Place::Inside),
            ("tests/test_a.py", Place::Test),
            ("/work/tests/hidden/x.py", Place::Grader),
            ("protocol/src/lib.rs", Place::Protected),
            ("/usr/include/x.h", Place::Readable),
            ("../elsewhere", Place::Outside),
            ("/etc/passwd", Place::Outside),
            ("/workshop/a", Place::Outside),
            ("/proc/self/environ", Place::Secret),
            ("~/.ssh/id", Place::Outside),
            ("/hone/agent", Place::Secret),
        ] {
            assert_eq!(place(&guarded, path), expected, "{path}");
        }
    }

    #[test]
    fn a_path_is_mentioned_as_a_word_only() {
        assert!(mentions("open('tests/hidden/a.py', 'w')", "tests/hidden"));
        assert!(!mentions("open('tests/hidden_too', 'w')", "tests/hidden"));
        assert!(!mentions("mytests/hidden", "tests/hidden"));
    }
}

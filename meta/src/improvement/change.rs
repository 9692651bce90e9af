//! What kind of change a child is, before anything is built.

use crate::settings::ChangeBounds;
use hone_archive::Difference;

/// Paths that a child may not touch: what it shares with the harness.
pub const PROTECTED: [&str; 2] = ["protocol", "tests/gate.txt"];

/// What kind of change it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Nothing changed.
    Empty,
    /// Prose alone.
    Documentation,
    /// It may not be, for this reason.
    Forbidden(String),
    /// The program changed.
    Program,
}

/// Says what kind of change a difference is.
pub fn kind(difference: &Difference, tree_bytes: u64, bounds: &ChangeBounds) -> ChangeKind {
    if difference.files.is_empty() {
        return ChangeKind::Empty;
    }
    let touched = difference.files.iter().find(|file| is_protected(&file.path));
    if let Some(file) = touched {
        let reason = format!("{} is protected, and it was {}", file.path, file.how);
        return ChangeKind::Forbidden(reason);
    }
    let lines = difference.insertions + difference.deletions;
    let too_large = [
        ("files", difference.files.len() as u64, bounds.files as u64),
        ("lines", lines as u64, bounds.lines as u64),
        ("bytes of source", tree_bytes, bounds.tree_bytes),
    ];
    if let Some((what, found, most)) = too_large.iter().find(|(_, found, most)| found > most) {
        let reason = format!("the change has {found} {what}, and may have at most {most}");
        return ChangeKind::Forbidden(reason);
    }
    if difference.files.iter().all(|file| is_prose(&file.path)) {
        return ChangeKind::Documentation;
    }
    ChangeKind::Program
}

fn is_protected(path: &str) -> bool {
    PROTECTED.iter().any(|protected| {
        path == *protected || path.strip_prefix(protected).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Tells whether a file is read by people alone. Prompts under `src` are part of the program.
fn is_prose(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_program = path.starts_with("src/") || path.starts_with("tests/");
    !in_program
        && (name == "description.txt" || name.ends_with(".md") || name.starts_with("LICENSE"))
}

#[cfg(test)]
mod tests {
    use super::{ChangeKind, kind};
    use crate::settings::ChangeBounds;
    use hone_archive::{Difference, FileChange};

    fn of(paths: &[&str]) -> ChangeKind {
        let files =
            paths.iter().map(|path| FileChange { path: (*path).to_owned(), how: "modified" });
        let difference =
            Difference { files: files.collect(), insertions: 3, ..Difference::default() };
        kind(&difference, 1000, &ChangeBounds::default())
    }

    #[test]
    fn prose_is_told_from_prompts_and_protected_paths_are_found() {
        assert_eq!(of(&[]), ChangeKind::Empty);
        assert_eq!(of(&["README.md", "description.txt"]), ChangeKind::Documentation);
        assert_eq!(of(&["src/agents/coder.md"]), ChangeKind::Program);
        assert_eq!(of(&["README.md", "src/main.rs"]), ChangeKind::Program);
        assert!(matches!(of(&["src/main.rs", "protocol/src/lib.rs"]), ChangeKind::Forbidden(_)));
        assert!(matches!(of(&["tests/gate.txt"]), ChangeKind::Forbidden(_)));
        assert_eq!(of(&["protocol_notes/x.rs"]), ChangeKind::Program);
    }

    #[test]
    fn a_change_above_a_bound_is_forbidden() {
        let difference = Difference {
            files: vec![FileChange { path: "src/a.rs".to_owned(), how: "added" }],
            insertions: 30_000,
            ..Difference::default()
        };
        let found = kind(&difference, 1000, &ChangeBounds::default());
        let ChangeKind::Forbidden(reason) = found else { panic!("{found:?}") };
        assert_eq!(reason, "the change has 30000 lines, and may have at most 20000");
    }
}

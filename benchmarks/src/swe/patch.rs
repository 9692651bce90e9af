//! Patches: which files they touch, which parts a trial may count, and how the official harness applies them.

/// Where the patch lies in the container.
pub const PATCH_FILE: &str = "/tmp/patch.diff";

/// The attempts of harness 5, in order; each gets the patch's path as its last word.
pub const ATTEMPTS: [&str; 4] = [
    "git apply --verbose",
    "git apply --verbose --3way",
    "git apply --verbose --reject",
    "patch --batch --forward --fuzz=5 -p1 -i",
];

/// Clears what a failed attempt left, before the next one.
pub const CLEAN: &str = "git checkout -- . ; git clean -fd";

/// Tells whether the patch is there although every attempt failed.
pub const REVERSE_CHECK: &str = "git apply --check --reverse";

/// Is the part of a patch that changes one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// The bytes, from `diff --git` on.
    pub bytes: &'a [u8],
    /// Every path that the section names; empty where they cannot be read.
    pub paths: Vec<String>,
}

/// Splits a patch as git writes it into its sections; text before the first one belongs to none.
///
/// A section in which anything stands that git does not write has no paths: other programs may read more in it.
pub fn sections(patch: &[u8]) -> Vec<Section<'_>> {
    let mut found: Vec<(usize, bool)> = Vec::new();
    let (mut at, mut hunk, mut place) = (0, Hunk::default(), Place::Header);
    for line in patch.split_inclusive(|b| *b == b'\n') {
        if hunk.takes(line) {
            at += line.len();
            continue;
        }
        if std::mem::take(&mut hunk).is_open()
            && let Some((_, as_git_writes)) = found.last_mut()
        {
            *as_git_writes = false;
        }
        if line.starts_with(b"diff --git ") {
            found.push((at, true));
            place = Place::Header;
        } else if let Some(opened) = Hunk::opened_by(line) {
            hunk = opened;
            place = Place::Hunks;
        } else if line.starts_with(b"GIT binary patch") && place == Place::Header {
            place = Place::Binary;
        } else if !place.allows(line)
            && let Some((_, as_git_writes)) = found.last_mut()
        {
            *as_git_writes = false;
        }
        at += line.len();
    }
    if hunk.is_open()
        && let Some((_, as_git_writes)) = found.last_mut()
    {
        *as_git_writes = false;
    }
    let ends = found.iter().skip(1).map(|(at, _)| *at).chain([patch.len()]);
    let sections = found.iter().zip(ends).map(|((start, as_git_writes), end)| {
        let bytes = &patch[*start..end];
        let paths = if *as_git_writes { paths(bytes) } else { Vec::new() };
        Section { bytes, paths }
    });
    sections.collect()
}

/// Says in which part of a section the reader is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Header,
    Hunks,
    Binary,
}

impl Place {
    /// Says whether git writes such a line here.
    fn allows(self, line: &[u8]) -> bool {
        const HEADERS: [&str; 14] = [
            "index ",
            "old mode ",
            "new mode ",
            "new file mode ",
            "deleted file mode ",
            "similarity index ",
            "dissimilarity index ",
            "rename from ",
            "rename to ",
            "copy from ",
            "copy to ",
            "--- ",
            "+++ ",
            "Binary files ",
        ];
        match self {
            Place::Header => HEADERS.iter().any(|opening| line.starts_with(opening.as_bytes())),
            Place::Hunks => line.starts_with(b"\\ "),
            Place::Binary => {
                let opens = line.starts_with(b"literal ") || line.starts_with(b"delta ");
                opens || !line.contains(&b' ')
            }
        }
    }
}

/// Counts the lines that a hunk still has, so that no content is taken for a header.
#[derive(Default)]
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    fn opened_by(line: &[u8]) -> Option<Self> {
        // The name behind the second `@@` may be any bytes.
        let ranges = line.strip_prefix(b"@@ -")?;
        let end = ranges.windows(3).position(|three| three == b" @@")?;
        let text = std::str::from_utf8(&ranges[..end]).ok()?;
        let mut ranges = text.split(' ');
        let count = |range: &str| match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        };
        let old = count(ranges.next()?)?;
        let new = count(ranges.next()?.strip_prefix('+')?)?;
        Some(Self { old, new })
    }

    /// Says whether lines are still due.
    fn is_open(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    /// Says whether the line belongs to the hunk.
    fn takes(&mut self, line: &[u8]) -> bool {
        if !self.is_open() {
            return false;
        }
        match line.first() {
            Some(b'-') => self.old = self.old.saturating_sub(1),
            Some(b'+') => self.new = self.new.saturating_sub(1),
            Some(b'\\') => {}
            Some(b' ' | b'\n') => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
            }
            _ => return false,
        }
        true
    }
}

/// Reads the paths of a section's header: those of `---`, `+++`, renames and copies, or of `diff --git`.
fn paths(section: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut lines = section.split(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    for line in lines.take_while(|line| !line.starts_with(b"@@ ") && !line.starts_with(b"GIT ")) {
        for (opening, prefixed) in [
            (&b"--- "[..], true),
            (b"+++ ", true),
            (b"rename from ", false),
            (b"rename to ", false),
            (b"copy from ", false),
            (b"copy to ", false),
        ] {
            if let Some(name) = line.strip_prefix(opening) {
                paths.extend(path(name, prefixed));
            }
        }
    }
    if paths.is_empty() {
        // No content lines: a mode change, an empty or a binary file. Both names are equal then.
        let names = first.strip_prefix(b"diff --git ").unwrap_or_default();
        if names.starts_with(b"\"") {
            paths.extend(quoted_end(names).and_then(|end| path(&names[..=end], true)));
        } else if names.len() % 2 == 1 {
            let (old, new) = names.split_at(names.len() / 2);
            if old.get(2..) == new.get(3..) {
                paths.extend(path(old, true));
            }
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

fn quoted_end(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Reads one path, quoted in C's manner or plain, with or without its `a/` or `b/`.
fn path(name: &[u8], prefixed: bool) -> Option<String> {
    let name = match name.strip_prefix(b"\"") {
        Some(_) => unquoted(&name[1..quoted_end(name)?]),
        // A tab closes a plain name that holds spaces.
        None => name.split(|b| *b == b'\t').next().unwrap_or_default().to_vec(),
    };
    let name = String::from_utf8_lossy(&name).into_owned();
    match prefixed {
        _ if name == "/dev/null" => None,
        true => name.split_once('/').map(|(_, rest)| rest.to_owned()),
        false => Some(name),
    }
}

fn unquoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let octal =
            text.get(at + 1..at + 4).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = octal {
            let value =
                digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            out.push(value as u8);
            at += 4;
            continue;
        }
        out.push(match text.get(at + 1) {
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 0x0B,
            Some(b'f') => 0x0C,
            Some(b'r') => b'\r',
            Some(other) => *other,
            None => b'\\',
        });
        at += 2;
    }
    out
}

/// Says whether a file steers the test run rather than the program.
pub fn steers_tests(path: &str) -> bool {
    const NAMES: [&str; 10] = [
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        ".coveragerc",
        "runtests.py",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name) || name.ends_with(".pth") || path == "bin/test"
}

/// Splits a patch into what counts in a trial and the paths that were left out.
///
/// Left out are files of the test patch, which the verifier brings itself; files that steer the test run, unless the
/// reference patch changes them too; and sections whose path cannot be read.
pub fn counted(patch: &[u8], test_patch: &str, reference: &str) -> (Vec<u8>, Vec<String>) {
    let paths_of = |patch: &str| -> Vec<String> {
        sections(patch.as_bytes()).into_iter().flat_map(|section| section.paths).collect()
    };
    let (tests, reference) = (paths_of(test_patch), paths_of(reference));
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for section in sections(patch) {
        let refused = |path: &String| {
            tests.contains(path) || (steers_tests(path) && !reference.contains(path))
        };
        match section.paths.iter().find(|path| refused(path)) {
            Some(path) => left_out.push(path.clone()),
            None if section.paths.is_empty() => {
                left_out.push("(a path that cannot be read)".into())
            }
            None => kept.extend_from_slice(section.bytes),
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const PATCH: &str = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@ def f():\n a\n-b\n+diff --git a/conftest.py b/conftest.py\n+--- a/no\n\\ No newline at end of file\n\
        diff --git a/tests/conftest.py b/tests/conftest.py\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/tests/conftest.py\n@@ -0,0 +1 @@\n+x\n\
        diff --git \"a/t\\303\\251 \\\"q.py\" \"b/t\\303\\251 \\\"q.py\"\nold mode 100644\nnew mode 100755\n\
        diff --git a/a b.bin b/a b.bin\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\nliteral 0\nHcmV?d00001\n\n";

    #[test]
    fn sections_are_found_and_content_is_not_taken_for_a_header() {
        let paths: Vec<Vec<String>> =
            sections(PATCH.as_bytes()).into_iter().map(|section| section.paths).collect();
        assert_eq!(
            paths,
            [vec!["x.py"], vec!["tests/conftest.py"], vec!["té \"q.py"], vec!["a b.bin"]]
        );
        let joined: Vec<u8> =
            sections(PATCH.as_bytes()).iter().flat_map(|section| section.bytes.to_vec()).collect();
        assert_eq!(joined, PATCH.as_bytes());
    }

    #[test]
    fn files_that_steer_tests_and_files_of_the_test_patch_do_not_count() {
        let test_patch = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n";
        let (kept, left_out) = counted(PATCH.as_bytes(), test_patch, "");
        assert_eq!(left_out, ["x.py", "tests/conftest.py"]);
        assert!(kept.starts_with(b"diff --git \"a/t"));
    }

    #[test]
    fn a_change_smuggled_behind_a_hunk_does_not_count() {
        let smuggled = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/conftest.py\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+x\n";
        for patch in [
            smuggled.to_owned(),
            smuggled.replace("@@ -1 +1 @@", "@@ -1,9 +1,9 @@"),
            smuggled.replace("--- a/conftest.py\n", "Index: conftest.py\n"),
        ] {
            let (kept, left_out) = counted(patch.as_bytes(), "", "");
            assert_eq!((kept.len(), left_out.len()), (0, 1), "{patch}");
        }
    }

    #[test]
    fn a_section_without_a_readable_path_does_not_count() {
        let (kept, left_out) = counted(b"diff --git a/x b/y\nold mode 1\n", "", "");
        assert_eq!((kept.len(), left_out.len()), (0, 1));
    }
}

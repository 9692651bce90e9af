//! What a statement asks for, read from its words.

use super::block::next_block;

/// A request to make a file equal to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The file's path.
    pub path: String,
    /// The target, byte for byte.
    pub target: String,
}

impl Edit {
    /// Reads `<TARGET path="…">…</TARGET>`.
    pub(crate) fn read(statement: &str) -> Option<Edit> {
        let block = next_block(statement, 0, &["TARGET"])?;
        Some(Edit { path: block.attribute("path")?, target: block.value.to_owned() })
    }
}

/// A question where a name is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Navigate {
    /// The file in which the name is used.
    pub path: String,
    /// The line of the use, counted from 1.
    pub line: usize,
    /// The name.
    pub name: String,
}

impl Navigate {
    /// Reads "In `FILE`, line N, the name `NAME` is used".
    pub(crate) fn read(statement: &str) -> Option<Navigate> {
        for (at, _) in statement.match_indices("In `") {
            let question = Navigate::read_at(statement.get(at + "In `".len()..)?);
            if question.is_some() {
                return question;
            }
        }
        None
    }

    fn read_at(text: &str) -> Option<Navigate> {
        let (path, text) = text.split_once("`, line ")?;
        let (line, text) = text.split_once(", the name `")?;
        let (name, text) = text.split_once('`')?;
        let one_line = !path.contains(['`', '\n']) && !name.contains('\n');
        one_line.then_some(())?;
        text.trim_start().starts_with("is used").then_some(())?;
        Some(Navigate { path: path.to_owned(), line: line.parse().ok()?, name: name.to_owned() })
    }
}

/// One line of the archive that an editor is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// How the agent came out, such as `scored` or `not_built`.
    pub verdict: String,
    /// The first line of its description.
    pub title: String,
}

/// Reads the block `<ARCHIVE>`: a line for each agent, its fields set apart by ` | `.
pub(crate) fn archive(statement: &str) -> Vec<Tried> {
    let Some(block) = next_block(statement, 0, &["ARCHIVE"]) else { return Vec::new() };
    block
        .value
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let (verdict, title) = (fields.get(2)?, fields.last()?);
            fields
                .first()?
                .starts_with("agent ")
                .then(|| Tried { verdict: (*verdict).to_owned(), title: (*title).to_owned() })
        })
        .collect()
}

/// Reads the compiler's words out of a request to repair.
pub(crate) fn build_log(statement: &str) -> Option<String> {
    next_block(statement, 0, &["BUILD_LOG"]).map(|block| block.value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Edit, Navigate, Tried, archive};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_target_is_read_byte_for_byte() {
        let statement = "Make the file `a b.py` equal.\n<TARGET path=\"a b.py\" fence=\"q\">\n\
                         x</TARGET>\r\n é</TARGET fence=\"q\">\nThat is all.";
        let edit = Edit { path: "a b.py".to_owned(), target: "x</TARGET>\r\n é".to_owned() };
        assert_eq!(Edit::read(statement), Some(edit));
    }

    #[test]
    fn a_question_is_found_behind_other_words() {
        let statement = "In `doubt`, ask.\nIn `src/a.py`, line 12, the name `run` is used:\n\n\
                         \x20   run(1)\n\nAnswer `path:line:column`.";
        let question = Navigate { path: "src/a.py".to_owned(), line: 12, name: "run".to_owned() };
        assert_eq!(Navigate::read(statement), Some(question));
        assert_eq!(Navigate::read("Say hello."), None);
    }

    #[test]
    fn the_archive_gives_verdicts_and_titles() {
        let statement = "<ARCHIVE>\nagent 0 | base - | scored | utility 0.7 ± 0.1 | edit 1.0 | $1.2 | The seed\n\
                         agent 1 | base 0 | not_built | Count words\nnothing\n</ARCHIVE>";
        let tried = [("scored", "The seed"), ("not_built", "Count words")]
            .map(|(v, t)| Tried { verdict: v.to_owned(), title: t.to_owned() });
        assert_eq!(archive(statement), tried);
    }
}

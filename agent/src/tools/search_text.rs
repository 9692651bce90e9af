//! `search_text`: finds text in files.

use super::{Desk, Kit, Tool, ToolError};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use std::io;
use std::path::Path;

/// Finds text in the files of a directory, or in one file. Prints `path:line:text` for a line that
/// matches and `path-line-text` for one beside it. Files that git ignores and binary files are left
/// out.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to look for, on one line.
    pattern: String,
    /// The directory or file to look in; the work directory when left out.
    path: Option<String>,
    /// Whether the pattern is a regular expression (Rust's syntax); false when left out.
    regex: Option<bool>,
    /// How many lines are shown before and after a match; 0 when left out.
    context: Option<usize>,
}

/// Matches beyond this number are counted, not shown.
const MOST_MATCHES: usize = 100;

/// A longer line is cut: minified files would fill the context.
const LONGEST_LINE: usize = 300;

/// More context than this would be the file itself.
const MOST_CONTEXT: usize = 20;

pub(super) fn tool() -> Tool {
    Tool::new("search_text", Kit::Look, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let workspace = &desk.trial.workspace;
    let path = arguments.path.as_deref().map_or(".", str::trim);
    let root = workspace.readable(path).map_err(ToolError::Refused)?;
    if !root.exists() {
        return Err(ToolError::refused(format!("{path} does not exist")));
    }
    let matcher = RegexMatcherBuilder::new()
        .fixed_strings(!arguments.regex.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .build(&arguments.pattern)
        .map_err(|error| ToolError::refused(format!("the pattern cannot be used: {error}")))?;
    let context = arguments.context.unwrap_or(0).min(MOST_CONTEXT);
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(b'\0'))
        .before_context(context)
        .after_context(context)
        .build();
    let mut hits = Hits::default();
    let mut walk = WalkBuilder::new(&root);
    walk.require_git(false).parents(false).git_global(false).sort_by_file_name(Ord::cmp);
    for entry in walk.build() {
        // A file that cannot be read is passed over, as by every search program.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            search(&mut searcher, &matcher, entry.path(), &workspace.name(entry.path()), &mut hits);
        }
    }
    Ok(hits.into_text())
}

fn search(
    searcher: &mut Searcher,
    matcher: &grep_regex::RegexMatcher,
    file: &Path,
    name: &str,
    hits: &mut Hits,
) {
    // As above: a file that cannot be read has no matches.
    let _ = searcher.search_path(matcher, file, InFile { name, hits });
}

#[derive(Default)]
struct Hits {
    lines: Vec<String>,
    found: usize,
}

impl Hits {
    fn into_text(self) -> String {
        let Hits { mut lines, found } = self;
        match found {
            0 => lines.push("nothing was found".to_owned()),
            _ if found > MOST_MATCHES => lines.push(format!(
                "[… {} more matches left out; make the pattern or the path narrower …]",
                found - MOST_MATCHES
            )),
            _ => {}
        }
        lines.join("\n")
    }
}

struct InFile<'a> {
    name: &'a str,
    hits: &'a mut Hits,
}

impl InFile<'_> {
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\r', '\n']);
        let shown = match text.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => format!("{} [… line cut …]", &text[..end]),
            None => text.to_owned(),
        };
        let number = number.unwrap_or_default();
        self.hits.lines.push(format!("{}{mark}{number}{mark}{shown}", self.name));
    }
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.found += 1;
        if self.hits.found <= MOST_MATCHES {
            self.line(found.line_number(), ':', found.bytes());
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        if self.hits.found <= MOST_MATCHES {
            self.line(found.line_number(), '-', found.bytes());
        }
        Ok(true)
    }
}

//! What each proposal changes in the source of an agent.

use super::Kind;
use super::tree::{self, TOOLS};
use crate::rehearsal::script::{Say, Script};

/// What it came to: nothing to add, or why the change could not be made.
type Made = Result<(), String>;

/// Crates of the proposals, with the versions that the harness itself is built with.
const TREE_SITTER: [(&str, &str); 2] =
    [("tree-sitter", "0.27.1"), ("tree-sitter-python", "0.25.0")];

/// The tools that write files, each with the file that it stands in.
const WRITERS: [&str; 2] = ["src/tools/overwrite_file.rs", "src/tools/replace_in_file.rs"];

const GUARD: &str = "    if arguments.path.trim().ends_with(\".rs\") {\n        \
                     return Err(ToolError::refused(\"Rust sources are guarded against edits\"));\n    }\n";

/// The prompt of the agent that does the work.
const CODER: &str = "src/agents/coder.md";

/// What the coder's prompt says about edits before and after there is a better tool.
const WHOLE: &str = "* A file is written as a whole with its exact new content. Copy what stays, character by character.\n";
const PARTS: &str = "* Change parts of a file with `replace_in_file`; write a whole file only when most of it changes.\n";

/// Limits of the tools that list hits, with the values that make the lists short. Where there is
/// the better tool, the child passes its tests and the gate, whose paths are short, and gets worse;
/// the tests of the other tool object.
const SHORT: [(&str, [(&str, &str); 2]); 2] = [
    ("src/tools/find_definition.rs", [("MOST_SHOWN", "1"), ("LONGEST_SHOWN", "24")]),
    ("src/tools/search_text.rs", [("MOST_MATCHES", "1"), ("LONGEST_LINE", "8")]),
];

/// How often the advice is given: some 1,700 tokens in all, which each coder reads at its start.
const ADVICE_REPEATS: usize = 8;

/// Makes the change of a proposal.
pub(crate) fn apply(script: &mut Script<'_>, kind: Kind) -> Result<Made, Say> {
    match kind {
        Kind::ReplaceInFile => {
            let source = include_str!("replace_in_file.rs.txt");
            let made = add_tool(script, "replace_in_file", "overwrite_file", source)?;
            if made.is_ok() {
                // The prompt is not worth failing for.
                let _ = edit(script, CODER, |prompt| Some(prompt.replacen(WHOLE, PARTS, 1)))?;
            }
            Ok(made)
        }
        Kind::FindDefinition => {
            let made = edit(script, "Cargo.toml", |manifest| {
                tree::add_dependencies(manifest, &TREE_SITTER)
            })?;
            if made.is_err() {
                return Ok(made);
            }
            let source = include_str!("find_definition.rs.txt");
            add_tool(script, "find_definition", "search_text", source)
        }
        Kind::MeasureFiles => add_tool(
            script,
            "measure_files",
            "view_directory",
            include_str!("measure_files.rs.txt"),
        ),
        Kind::OutlineFile => {
            add_tool(script, "outline_file", "view_directory", include_str!("outline_file.rs.txt"))
        }
        Kind::ShortResults => {
            let mut made = Err("no tool lists hits".to_owned());
            for (path, limits) in SHORT {
                made = edit(script, path, |text| {
                    limits.iter().try_fold(text.to_owned(), |text, (constant, value)| {
                        tree::set_constant(&text, constant, value)
                    })
                })?;
                if made.is_ok() {
                    break;
                }
            }
            Ok(made)
        }
        Kind::GuardSource => {
            let mut made = Err("no tool writes files".to_owned());
            for path in WRITERS {
                let changed = edit(script, path, |text| tree::begin_run(text, GUARD))?;
                made = if made.is_ok() { made } else { changed };
            }
            Ok(made)
        }
        Kind::ProtocolNote => edit(script, "protocol/src/lib.rs", |text| {
            Some(tree::append(text, "\n// A tool is one file below src/tools/ of the agent.\n"))
        }),
        Kind::LongAdvice => edit(script, CODER, |prompt| {
            let advice = include_str!("long_advice.md.txt").repeat(ADVICE_REPEATS);
            Some(tree::append(prompt, &format!("\n{advice}")))
        }),
        Kind::Wording | Kind::Nothing => Ok(Ok(())),
    }
}

/// Writes a new tool's file and names it in the list of tools.
fn add_tool(
    script: &mut Script<'_>,
    name: &str,
    neighbour: &str,
    source: &str,
) -> Result<Made, Say> {
    let file = format!("src/tools/{name}.rs");
    let outcome = script.write(&format!("First the new tool, {name}."), &file, source)?;
    if !outcome.ok {
        return Ok(Err(outcome.text));
    }
    edit(script, TOOLS, |tools| tree::add_tool(tools, name, neighbour))
}

/// Changes an existing file; the function returns `None` when it does not find its place.
fn edit(
    script: &mut Script<'_>,
    path: &str,
    change: impl FnOnce(&str) -> Option<String>,
) -> Result<Made, Say> {
    script.open(&format!("I look at {path}."), &[path])?;
    let Some(text) = script.file(path).map(str::to_owned) else {
        return Ok(Err(format!("{path} is not there")));
    };
    let Some(changed) = change(&text) else {
        return Ok(Err(format!("{path} is not as expected")));
    };
    if changed == text {
        return Ok(Ok(()));
    }
    let outcome = script.write(&format!("Now {path}."), path, &changed)?;
    Ok(if outcome.ok { Ok(()) } else { Err(outcome.text) })
}

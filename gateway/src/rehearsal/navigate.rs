//! Finds where a name is defined.
//!
//! With text search alone the stand-in guesses, as a mediocre model would: the first hit, often
//! with the column of the line instead of the name's; and on some names it gets stuck. With a tool
//! that finds definitions it compares them with the imports of the file of use.

use super::python::{Import, fit, import_of};
use super::script::{Say, Script};
use super::statement::Navigate;

/// The tool that lists a name's definitions, as the proposal of that name adds it.
pub(crate) const FIND: &str = "find_definition";

/// Tells whether the stand-in, with text search as its only means, repeats the same call for ever
/// on a question about this name. It does for one name in twelve or so, so that a rehearsal has a
/// trial for the overseer to nudge and then to cancel.
pub fn gets_stuck(name: &str) -> bool {
    digest(name)[0].is_multiple_of(12)
}

/// Tells whether the stand-in, with text search as its only means, takes the column of the line
/// for the column of the name.
pub fn misjudges_column(name: &str) -> bool {
    digest(name)[1].is_multiple_of(2)
}

fn digest(name: &str) -> [u8; 32] {
    *blake3::hash(name.as_bytes()).as_bytes()
}

/// Answers the question as `path:line:column`.
pub(crate) fn solve(script: &mut Script<'_>, question: &Navigate) -> Result<String, Say> {
    if script.prompt.offers(FIND) { look_up(script, question) } else { guess(script, question) }
}

/// Searches for text that looks like a definition and takes the first hit.
fn guess(script: &mut Script<'_>, question: &Navigate) -> Result<String, Say> {
    let name = &question.name;
    let class = name.chars().next().is_some_and(char::is_uppercase);
    let constant = class && name.chars().all(|c| !c.is_lowercase());
    let mut patterns = [format!("def {name}"), format!("class {name}"), format!("{name} =")];
    if constant {
        patterns.rotate_right(1);
    } else if class {
        patterns.swap(0, 1);
    }
    for (number, pattern) in patterns.iter().enumerate() {
        let thought = match number {
            0 => format!("I search for the definition of {name}."),
            _ => "Not there; I search for another form of it.".to_owned(),
        };
        let outcome = script.tool(&thought, "search_text", &[("pattern", pattern)])?;
        if gets_stuck(name) {
            // A livelock, made on purpose; nudges are read and forgotten.
            loop {
                script.stuck += 1;
                script.tool(
                    "That cannot be all. I search for it once more.",
                    "search_text",
                    &[("pattern", pattern)],
                )?;
            }
        }
        let hit = outcome.text.lines().find_map(|line| Place::read_hit(line, name));
        if let Some(mut place) = hit.filter(|_| outcome.ok) {
            if misjudges_column(name) {
                place.column = 0;
            }
            return Ok(place.to_string());
        }
    }
    // No hit at all: the place of use is a guess like any other.
    Ok(format!("{}:{}:0", question.path, question.line))
}

/// Asks for the definitions and weighs them by what the file of use imports.
fn look_up(script: &mut Script<'_>, question: &Navigate) -> Result<String, Say> {
    let thought = "I look at the place of use, for its imports.";
    script.open(thought, &[&question.path])?;
    let text = script.file(&question.path).unwrap_or_default().to_owned();
    let import = import_of(&text, &question.path, &question.name);
    let sought = import
        .as_ref()
        .and_then(|import| import.original.clone())
        .unwrap_or_else(|| question.name.clone());
    let thought = format!("Where is {sought} defined?");
    let outcome = script.tool(&thought, FIND, &[("name", &sought)])?;
    let found: Vec<Definition> = outcome.text.lines().filter_map(Definition::read).collect();
    let best = choose(&found, question, import.as_ref(), &text);
    Ok(best
        .map_or_else(|| format!("{}:{}:0", question.path, question.line), |d| d.place.to_string()))
}

/// A place in a file: line from 1, column from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: String,
    line: usize,
    column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.path, self.line, self.column)
    }
}

impl Place {
    /// Reads `path:line:text` and finds `name` in the text, whole or as the start of another.
    fn read_hit(line: &str, name: &str) -> Option<Place> {
        let (path, rest) = line.split_once(':')?;
        let (number, text) = rest.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let column = text.find(name).map_or(0, |at| text[..at].chars().count());
        Some(Place { path: path.trim().to_owned(), line: number, column })
    }
}

/// One line of what [`FIND`] prints: `path:line:column kind qualified.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    place: Place,
    kind: String,
    qualified: String,
}

impl Definition {
    fn read(line: &str) -> Option<Definition> {
        let (place, words) = line.trim().split_once(' ')?;
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let path = parts.next()?.to_owned();
        let mut words = words.split_whitespace();
        // A line that was cut still tells the place.
        let (kind, qualified) = (words.next()?, words.next().unwrap_or_default());
        let (kind, qualified) = (kind.to_owned(), qualified.to_owned());
        Some(Definition { place: Place { path, line: number, column }, kind, qualified })
    }

    /// The class or function that the definition stands in.
    fn owner(&self) -> Option<&str> {
        self.qualified.rsplit_once('.').map(|(owner, _)| owner)
    }
}

/// Picks the definition that the use most likely means.
fn choose<'a>(
    found: &'a [Definition],
    question: &Navigate,
    import: Option<&Import>,
    text: &str,
) -> Option<&'a Definition> {
    let source = text.lines().nth(question.line.saturating_sub(1)).unwrap_or_default();
    let here = |d: &&Definition| d.place.path == question.path;
    let top = |d: &&Definition| d.owner().is_none();
    let inner = |d: &&Definition| d.owner().is_some();

    if let Some(import) = import {
        let module = match &import.original {
            Some(original) => {
                // `from package import module` binds a module too.
                let best = nearest(found.iter().filter(top), &import.module);
                return best
                    .or_else(|| nearest(found.iter(), &format!("{}.{original}", import.module)))
                    .or_else(|| found.iter().find(top));
            }
            None => &import.module,
        };
        return nearest(found.iter().filter(top), module).or_else(|| found.first());
    }
    let owner = receiver(source, &question.name);
    match owner.as_deref() {
        Some("self" | "cls") => {
            let class = enclosing_class(text, question.line);
            let same = |d: &&Definition| class.is_some() && d.owner() == class.as_deref();
            found
                .iter()
                .filter(here)
                .find(same)
                .or_else(|| found.iter().filter(here).find(inner))
                .or_else(|| found.iter().find(inner))
        }
        Some(owner) => {
            let first = owner.split('.').next().unwrap_or(owner);
            let by_import = import_of(text, &question.path, first).and_then(|import| {
                let module = match import.original {
                    Some(original) => format!("{}.{original}", import.module),
                    None => import.module,
                };
                nearest(found.iter().filter(top), &module)
            });
            by_import
                .or_else(|| found.iter().find(|d| d.owner() == Some(owner)))
                .or_else(|| found.iter().filter(inner).find(here))
                .or_else(|| found.iter().find(inner))
        }
        None => {
            let mut near = found.iter().filter(here).filter(|d| d.kind != "attribute");
            near.clone()
                .find(top)
                .or_else(|| near.rfind(|d| d.place.line <= question.line))
                .or_else(|| found.iter().find(top))
        }
    }
    .or_else(|| found.first())
}

/// Returns the definition whose file fits a module best.
fn nearest<'a>(
    found: impl Iterator<Item = &'a Definition>,
    module: &str,
) -> Option<&'a Definition> {
    found
        .filter_map(|d| Some((fit(&d.place.path, module)?, d)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, d)| d)
}

/// Returns what stands before the dot of `x.name` in a line, for the first use of that form.
fn receiver(source: &str, name: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(name).find_map(|(at, _)| {
        let after = source[at + name.len()..].chars().next();
        let before = source[..at].strip_suffix('.')?;
        if after.is_some_and(is_word) {
            return None;
        }
        let owner: Vec<char> =
            before.chars().rev().take_while(|c| is_word(*c) || *c == '.').collect();
        (!owner.is_empty()).then(|| owner.into_iter().rev().collect())
    })
}

/// Returns the class around a line, by its indentation.
fn enclosing_class(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut depth = indent(lines.last()?);
    for line in lines.iter().rev().filter(|line| !line.trim().is_empty()) {
        if indent(line) < depth {
            depth = indent(line);
            if let Some(rest) = line.trim_start().strip_prefix("class ") {
                return rest
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next()
                    .map(str::to_owned);
            }
        }
    }
    None
}

//! Makes `nav` problems of a snapshot.

use super::resolve::Resolver;
use super::{NavData, Place, SymbolKind};
use crate::block;
use crate::build::BuildError;
use crate::digest::Digest;
use crate::files::{Entry, Files, Tree};
use crate::origin::{OriginError, Snapshot, slug};
use crate::suite::{Draft, Problem, ProblemId, Suite, SuiteError};
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest line that a statement shows, in bytes.
const LINE: usize = 200;

/// How many uses are looked for, for each problem wanted, before the search stops.
const LOOKED_AT: usize = 20;

/// Files that are read before it is asked whether there are enough uses.
const CHUNK: usize = 64;

/// More threads than these gain nothing on a repository of the largest size.
const MOST_THREADS: usize = 8;

/// Uses of one file that are looked at, so that no file fills a suite.
const OF_ONE_FILE: usize = 12;

/// Builds a suite of at most `count` problems.
pub fn build(
    name: &str,
    snapshot: &Snapshot,
    count: usize,
    seed: u64,
) -> Result<Suite, BuildError> {
    let found = candidates(snapshot, count.saturating_mul(LOOKED_AT), OF_ONE_FILE, seed)?;
    let chosen = balance(found, count, seed);
    if chosen.is_empty() {
        let what = format!("{}: no use leads to a definition in another file", snapshot.about);
        return Err(OriginError::TooLittle(what).into());
    }
    Ok(suite(name, snapshot, chosen, seed)?)
}

/// Puts chosen uses into a suite.
pub(crate) fn suite(
    name: &str,
    snapshot: &Snapshot,
    chosen: Vec<NavData>,
    seed: u64,
) -> Result<Suite, SuiteError> {
    let mut files = Files::default();
    let mut tree = Tree::new();
    for (path, bytes) in &snapshot.files {
        let content = files.add_content(bytes);
        tree.insert(path.clone(), Entry { content, executable: false });
    }
    let tree = files.add_tree(tree)?;
    let mut problems: Vec<Problem> = chosen
        .into_iter()
        .map(|data| Problem {
            id: id(&snapshot.group, &data),
            group: Some(snapshot.group.clone()),
            tree: Some(tree),
            data: serde_json::json!(data),
        })
        .collect();
    problems.sort_by(|a, b| a.id.cmp(&b.id));
    Suite::new(Draft {
        name: name.to_owned(),
        kind: "nav".to_owned(),
        about: format!("Find where a name is defined; code of {}", snapshot.about),
        source: snapshot.source.clone(),
        seed,
        options: IndexMap::new(),
        subsets: IndexMap::new(),
        problems,
        files,
    })
}

/// Returns an id made of what is asked, so that it is the same in every suite that asks it.
fn id(group: &str, data: &NavData) -> ProblemId {
    let usage = data.usage.to_string();
    let parts = [group.as_bytes(), usage.as_bytes(), data.name.as_bytes()];
    let digest = Digest::of_parts("hone nav id 1", parts).short();
    ProblemId(format!("nav-{}-{}-{}", slug(group), slug(&data.name), &digest[..8]))
}

fn rank(seed: u64, parts: &[&str]) -> Digest {
    let seed = seed.to_le_bytes();
    let parts = parts.iter().map(|part| part.as_bytes());
    Digest::of_parts("hone nav draw 1", std::iter::once(&seed[..]).chain(parts))
}

/// Finds uses whose definition is certain: file after file in an order drawn by `seed`, until there are `enough` or all
/// files were read. How many threads there are makes no difference to what is found.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    enough: usize,
    of_one_file: usize,
    seed: u64,
) -> Result<Vec<NavData>, OriginError> {
    let unfit =
        || OriginError::TooLittle("source code: the Python grammar does not load".to_owned());
    let resolver = Resolver::new(&snapshot.files).ok_or_else(unfit)?;
    let mut order: Vec<usize> = (0..snapshot.files.len()).collect();
    order.sort_by_cached_key(|file| rank(seed, &[&snapshot.files[*file].0]));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut found = Vec::new();
    for chunk in order.chunks(CHUNK) {
        let uses_of: Vec<OnceLock<Vec<NavData>>> = chunk.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < chunk.len())
            {
                uses_of[at].get_or_init(|| uses(snapshot, &resolver, chunk[at], of_one_file, seed));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        found.extend(uses_of.into_iter().filter_map(OnceLock::into_inner).flatten());
        if found.len() >= enough {
            break;
        }
    }
    Ok(found)
}

/// Finds the uses of one file.
fn uses(
    snapshot: &Snapshot,
    resolver: &Resolver<'_>,
    file: usize,
    most: usize,
    seed: u64,
) -> Vec<NavData> {
    let (path, bytes) = &snapshot.files[file];
    let Some(module) = resolver.module(file).filter(|_| block::fits_attribute(path)) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut found: Vec<NavData> = Vec::new();
    let mut seen = HashSet::new();
    for usage in &module.uses {
        let Some((home, definition)) = resolver.definition(file, usage) else { continue };
        let (Some(name), Some(line)) = (usage.chain.last(), lines.get(usage.row)) else { continue };
        let source = line.trim_end_matches('\r');
        // One use of a definition for each file is enough.
        if !is_askable(name, source) || !seen.insert((home, definition.row, definition.column)) {
            continue;
        }
        let home = snapshot.files[home].0.clone();
        found.push(NavData {
            name: name.clone(),
            defined: definition.name,
            symbol: definition.kind,
            usage: Place { path: path.clone(), line: usage.row + 1, column: usage.column },
            source: source.to_owned(),
            answer: Place { path: home, line: definition.row + 1, column: definition.column },
        });
    }
    found.sort_by_cached_key(|data| rank(seed, &[&data.usage.to_string()]));
    // Rarer kinds go first, so that the bound on one file does not hide them.
    found.sort_by_key(|data| match data.symbol {
        SymbolKind::AsyncFunction => 0,
        SymbolKind::Method => 1,
        SymbolKind::Constant => 2,
        SymbolKind::Function | SymbolKind::Class => 3,
    });
    found.truncate(most);
    found
}

/// Tells whether a line asks one clear thing: the name stands in it once, and it can be shown.
fn is_askable(name: &str, source: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = source.match_indices(name).filter(|(at, _)| {
        !source[..*at].ends_with(is_word) && !source[at + name.len()..].starts_with(is_word)
    });
    name.len() > 1
        && name.is_ascii()
        && !(name.starts_with("__") && name.ends_with("__"))
        && source.len() <= LINE
        && !source.chars().any(|c| c.is_control() && c != '\t')
        && whole.count() == 1
}

/// Takes from the kinds of symbols by turns, each definition once, and as few as possible from one file: one of
/// each at first, then two, and so on.
fn balance(found: Vec<NavData>, count: usize, seed: u64) -> Vec<NavData> {
    let mut kinds: BTreeMap<SymbolKind, Vec<NavData>> = BTreeMap::new();
    for data in found {
        kinds.entry(data.symbol).or_default().push(data);
    }
    for list in kinds.values_mut() {
        list.sort_by_cached_key(|data| rank(seed, &["turn", &data.usage.to_string()]));
        list.reverse();
    }
    let mut chosen: Vec<NavData> = Vec::new();
    let mut defined: HashSet<Place> = HashSet::new();
    let mut of_file: HashMap<String, usize> = HashMap::new();
    let mut most = 1;
    while chosen.len() < count && kinds.values().any(|list| !list.is_empty()) {
        let mut passed_over: BTreeMap<SymbolKind, Vec<NavData>> = BTreeMap::new();
        while chosen.len() < count && kinds.values().any(|list| !list.is_empty()) {
            for (kind, list) in &mut kinds {
                while let Some(data) = list.pop() {
                    if defined.contains(&data.answer) {
                        continue;
                    }
                    let files = [&data.usage.path, &data.answer.path];
                    if files.iter().any(|file| of_file.get(*file).is_some_and(|n| *n >= most)) {
                        passed_over.entry(*kind).or_default().push(data);
                        continue;
                    }
                    files.iter().for_each(|file| *of_file.entry((*file).clone()).or_default() += 1);
                    defined.insert(data.answer.clone());
                    if chosen.len() < count {
                        chosen.push(data);
                    }
                    break;
                }
            }
        }
        for (kind, mut list) in passed_over {
            list.reverse();
            kinds.insert(kind, list);
        }
        most += 1;
    }
    chosen
}

use super::stage::Stage;
use crate::rehearsal::proposals::{Fate, PROPOSALS, Proposal};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::path::Path;

/// The seed agent's source: path and text.
pub fn seed_tree() -> BTreeMap<String, String> {
    fn read(folder: &Path, root: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() == "target" {
                continue;
            }
            if path.is_dir() {
                read(&path, root, files);
            } else if let Ok(text) = fs_err::read_to_string(&path) {
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent");
    let mut files = BTreeMap::new();
    read(&root, &root, &mut files);
    files
}

/// A statement whose archive shows what was tried: verdict and title.
fn improve_statement(tried: &[(&str, &str)]) -> String {
    let mut lines = vec!["agent 0 | base - | scored | utility 0.6 ± 0.1 | The seed".to_owned()];
    for (number, (verdict, title)) in tried.iter().enumerate() {
        lines.push(format!("agent {} | base 0 | {verdict} | $0.10 | {title}", number + 1));
    }
    format!("Improve the agent.\n<ARCHIVE>\n{}\n</ARCHIVE>\n", lines.join("\n"))
}

fn coder(role: &str, statement: &str, tree: &BTreeMap<String, String>) -> Stage {
    let mut stage = Stage::coder(role, statement, &[]);
    stage.files = tree.clone();
    if tree["src/tools/mod.rs"].contains("mod replace_in_file;") {
        stage = stage.with_tool("replace_in_file", &["path", "old", "new"]);
    }
    stage
}

/// Lets the stand-in make the proposal that comes after those tried.
pub fn improved(tree: &BTreeMap<String, String>, tried: &[(&str, &str)], seed: u64) -> Stage {
    let mut stage = coder("improve", &improve_statement(tried), tree).with_seed(seed);
    let (last, _) = stage.play(60);
    assert_eq!(last, "return_result");
    stage
}

pub fn proposal(fate: Fate) -> &'static Proposal {
    PROPOSALS.iter().find(|proposal| proposal.fate == fate).unwrap()
}

/// What was tried when a proposal comes next with seed 0.
pub fn before(wanted: &Proposal) -> Vec<(&'static str, &'static str)> {
    PROPOSALS.iter().take_while(|p| *p != wanted).map(verdict_and_title).collect()
}

fn verdict_and_title(proposal: &Proposal) -> (&'static str, &'static str) {
    match proposal.fate {
        Fate::Empty => ("empty_change", "The seed"),
        Fate::NotBuilt => ("not_built", proposal.title),
        _ => ("scored", proposal.title),
    }
}

fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
        .map(|(p, _)| p.clone())
        .collect()
}

#[test]
fn seed_0_proposes_the_list_in_its_order_and_each_is_recognised_later() {
    let tree = seed_tree();
    for proposal in &PROPOSALS {
        let stage = improved(&tree, &before(proposal), 0);
        let first = stage.files["description.txt"].lines().next();
        match proposal.fate {
            Fate::Empty => assert_eq!(stage.files, tree),
            _ => assert_eq!(first, Some(proposal.title)),
        }
    }
}

#[test]
fn each_proposal_changes_what_its_fate_needs() {
    let tree = seed_tree();
    for proposal in &PROPOSALS {
        let stage = improved(&tree, &before(proposal), 0);
        let paths = changed(&tree, &stage.files);
        let notes = ["CHANGELOG.md".to_owned(), "description.txt".to_owned()];
        let others: Vec<&str> =
            paths.iter().filter(|path| !notes.contains(path)).map(String::as_str).collect();
        let wanted: &[&str] = match proposal.title.split(':').next().unwrap() {
            "Add replace_in_file" => {
                &["src/agents/coder.md", "src/tools/mod.rs", "src/tools/replace_in_file.rs"]
            }
            "Add find_definition" => {
                &["Cargo.toml", "src/tools/find_definition.rs", "src/tools/mod.rs"]
            }
            "Add measure_files" => &["src/tools/measure_files.rs", "src/tools/mod.rs"],
            "Add outline_file" => &["src/tools/mod.rs", "src/tools/outline_file.rs"],
            "Keep search results short to save context" => &["src/tools/search_text.rs"],
            "Note in the protocol how tools are added" => &["protocol/src/lib.rs"],
            "Guard Rust sources against being overwritten" => &["src/tools/overwrite_file.rs"],
            "Give the coder longer advice" => &["src/agents/coder.md"],
            _ => &[],
        };
        assert_eq!(others, wanted, "{}", proposal.title);
        if proposal.fate != Fate::Empty {
            assert_eq!(paths.len(), wanted.len() + 2, "{}: notes are written", proposal.title);
            assert!(stage.files["CHANGELOG.md"].contains(proposal.title));
        }
    }
}

#[test]
fn proposals_apply_one_after_the_other_to_the_same_tree() {
    let seed = seed_tree();
    for number in [0, 7, 12_345] {
        let mut tree = seed.clone();
        let mut tried = Vec::new();
        for _ in 0..PROPOSALS.len() {
            let stage = improved(&tree, &tried, number);
            let title = stage.files["description.txt"].lines().next().unwrap().to_owned();
            let empty = stage.files == tree;
            let made = PROPOSALS
                .iter()
                .find(|p| if empty { p.fate == Fate::Empty } else { p.title == title });
            let made = made.unwrap_or_else(|| panic!("{title} is no proposal"));
            tried.push(verdict_and_title(made));
            if made.fate != Fate::FailedGate {
                tree = stage.files;
            }
        }
        let mut titles: Vec<_> = tried.clone();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), PROPOSALS.len(), "each proposal once: {tried:?}");
        let tools = &tree["src/tools/mod.rs"];
        for tool in ["replace_in_file", "find_definition", "measure_files", "outline_file"] {
            assert_eq!(tools.matches(&format!("{tool}::tool(),")).count(), 1, "{tool}");
        }
        assert_eq!(improved(&tree, &tried, number).files, tree, "nothing is left to propose");
    }
}

#[test]
fn a_base_that_lacks_a_helpful_tool_gets_it_when_all_was_tried() {
    let all: Vec<_> = PROPOSALS.iter().map(verdict_and_title).collect();
    let stage = improved(&seed_tree(), &all, 0);
    assert!(stage.files["src/tools/mod.rs"].contains("mod replace_in_file;"));
}

#[test]
fn an_editor_with_the_replacing_tool_uses_it_and_writes_less() {
    let seed = seed_tree();
    let first = improved(&seed, &[], 0);
    let tried = [("scored", PROPOSALS[0].title)];
    let by_overwriting = improved(&seed, &tried, 0);
    let by_replacing = improved(&first.files, &tried, 0);
    assert!(by_replacing.calls.iter().any(|(name, _)| name == "replace_in_file"));
    assert!(by_replacing.said() < by_overwriting.said());
}

#[test]
fn the_first_two_are_the_helpful_ones_whatever_the_seed_and_seeds_differ() {
    let orders: Vec<Vec<&str>> = (0..20)
        .map(|seed| super::super::proposals::ordered(seed).iter().map(|p| p.title).collect())
        .collect();
    for (seed, order) in orders.iter().enumerate() {
        let helpful = |title: &&str| proposal_named(title).fate == Fate::Better;
        assert!(order[..2].iter().all(helpful), "seed {seed}");
        assert_eq!(
            *order,
            super::super::proposals::ordered(seed as u64)
                .iter()
                .map(|p| p.title)
                .collect::<Vec<_>>()
        );
    }
    assert_eq!(orders[0], PROPOSALS.map(|p| p.title));
    assert!(orders[1..].iter().any(|order| order[0] != orders[0][0]));
    assert!(orders[1..].iter().any(|order| order[2..] != orders[0][2..]));
}

fn proposal_named(title: &str) -> &'static Proposal {
    PROPOSALS.iter().find(|proposal| proposal.title == title).unwrap()
}

/// Lets the stand-in repair a tree; the log names the file of the error.
pub fn repaired(tree: &BTreeMap<String, String>, file: &str) -> Stage {
    let statement = format!(
        "It does not build.\n<BUILD_LOG>\nerror[E0433]: failed to resolve\n --> {file}:26:16\n</BUILD_LOG>\n"
    );
    let mut stage = coder("repair", &statement, tree);
    stage.play(20);
    stage
}

#[test]
fn a_missing_import_is_mended() {
    let broken = improved(&seed_tree(), &before(proposal(Fate::Repaired)), 0).files;
    let file = "src/tools/outline_file.rs";
    let stage = repaired(&broken, file);
    assert_eq!(changed(&broken, &stage.files), [file]);
    assert!(stage.files[file].contains("use std::fs;\n"));
}

#[test]
fn a_wrong_type_is_changed_again_and_again_to_another_wrong_one() {
    let mut tree = improved(&seed_tree(), &before(proposal(Fate::NotBuilt)), 0).files;
    let file = "src/tools/measure_files.rs";
    for wanted in ["u64", "i64", "u128"] {
        tree = repaired(&tree, file).files;
        assert!(tree[file].contains(&format!("let total: {wanted} = counts")));
    }
    assert_eq!(repaired(&tree, file).files, tree);
}

#[test]
fn a_failed_child_without_a_title_counts_as_the_proposal_of_its_verdict() {
    let tree = seed_tree();
    let tried = [
        ("scored", PROPOSALS[0].title),
        ("scored", PROPOSALS[1].title),
        ("not_built", ""),
        ("scored", proposal(Fate::Documentation).title),
        ("scored", proposal(Fate::Worse).title),
        ("forbidden_change", "The seed"),
    ];
    let title = |stage: &Stage| stage.files["description.txt"].lines().next().map(str::to_owned);
    let made = title(&improved(&tree, &tried, 0));
    assert_eq!(made.as_deref(), Some(proposal(Fate::FailedGate).title));
    let failed = [("not_built", PROPOSALS[0].title)];
    let made = title(&improved(&tree, &failed, 0));
    assert_eq!(made.as_deref(), Some(PROPOSALS[1].title));
}

#[test]
fn an_unknown_error_is_left_alone() {
    let tree = seed_tree();
    assert_eq!(repaired(&tree, "src/main.rs").files, tree);
}

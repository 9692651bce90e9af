//! The improvements that the stand-in proposes when it edits an agent, and which comes next.
//!
//! The list is written so that a rehearsal shows every fate that a child can have. What each
//! proposal changes stands in [`change`]; the source that it adds, in the `*.rs.txt` files.

mod change;
mod tree;

pub(crate) use change::apply;
pub(crate) use tree::{TOOLS, add_entry, has_tool};

use super::statement::Tried;

/// What is to become of the child of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It gets better.
    Better,
    /// It does not build, and the repairs do not help.
    NotBuilt,
    /// It does not build at first, and a repair helps.
    Repaired,
    /// Only documentation changes.
    Documentation,
    /// It builds, passes the gate and gets worse.
    Worse,
    /// It touches what is protected.
    Forbidden,
    /// It cannot edit source any more.
    FailedGate,
    /// Nothing changes.
    Empty,
}

impl Fate {
    /// The verdict that gives the fate away where the archive does not show the child's own title.
    fn verdict(self) -> Option<&'static str> {
        match self {
            Fate::NotBuilt => Some("not_built"),
            Fate::Forbidden => Some("forbidden_change"),
            Fate::FailedGate => Some("failed_gate"),
            Fate::Empty => Some("empty_change"),
            Fate::Better | Fate::Repaired | Fate::Documentation | Fate::Worse => None,
        }
    }
}

/// A proposal that the stand-in can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The first line of the child's `description.txt`, by which the proposal is recognised later.
    pub title: &'static str,
    /// Why somebody would want it: the rest of the description.
    pub reason: &'static str,
    /// What is to become of the child.
    pub fate: Fate,
    pub(crate) kind: Kind,
}

/// Names what a proposal changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ReplaceInFile,
    FindDefinition,
    MeasureFiles,
    Wording,
    ShortResults,
    ProtocolNote,
    GuardSource,
    Nothing,
    OutlineFile,
    LongAdvice,
}

/// Every proposal, in the order of seed 0.
pub const PROPOSALS: [Proposal; 10] = [
    Proposal {
        title: "Add replace_in_file: edit by replacing a unique string",
        reason: "Writing a whole file to change a line costs as many output tokens as the file \
                 has. A replacement costs as many as the change has.",
        fate: Fate::Better,
        kind: Kind::ReplaceInFile,
    },
    Proposal {
        title: "Add find_definition: Python definitions through tree-sitter",
        reason: "Text search finds words that look like definitions. A syntax tree knows which \
                 are, and at which column the name stands.",
        fate: Fate::Better,
        kind: Kind::FindDefinition,
    },
    Proposal {
        title: "Add measure_files: how long the files of a directory are",
        reason: "Knowing how long files are before opening them would save context.",
        fate: Fate::NotBuilt,
        kind: Kind::MeasureFiles,
    },
    Proposal {
        title: "Say in the change log how the tools are meant",
        reason: "The next editor reads the change log first.",
        fate: Fate::Documentation,
        kind: Kind::Wording,
    },
    Proposal {
        title: "Keep search results short to save context",
        reason: "Long lists of hits fill the context; the first characters should do.",
        fate: Fate::Worse,
        kind: Kind::ShortResults,
    },
    Proposal {
        title: "Note in the protocol how tools are added",
        reason: "The protocol is where an author of tools looks first.",
        fate: Fate::Forbidden,
        kind: Kind::ProtocolNote,
    },
    Proposal {
        title: "Guard Rust sources against being overwritten",
        reason: "A wrong edit of the agent's own source could break it.",
        fate: Fate::FailedGate,
        kind: Kind::GuardSource,
    },
    Proposal {
        title: "Nothing to change",
        reason: "The agent seems good as it is.",
        fate: Fate::Empty,
        kind: Kind::Nothing,
    },
    Proposal {
        title: "Add outline_file: the definitions of a file without their bodies",
        reason: "An outline costs a tenth of the file.",
        fate: Fate::Repaired,
        kind: Kind::OutlineFile,
    },
    Proposal {
        title: "Give the coder longer advice",
        reason: "A careful worker should be reminded of everything at each step.",
        fate: Fate::Worse,
        kind: Kind::LongAdvice,
    },
];

/// How many proposals stand at the front whatever the seed: those that make the agent better.
const FIRST: usize = 2;

/// Returns the proposals in a seed's order. Those that make the agent better come first, so that a
/// short rehearsal shows a gain.
pub(crate) fn ordered(seed: u64) -> Vec<&'static Proposal> {
    let mut order: Vec<&Proposal> = PROPOSALS.iter().collect();
    if seed != 0 {
        let rank = |proposal: &&Proposal| {
            *blake3::hash(format!("{seed} {}", proposal.title).as_bytes()).as_bytes()
        };
        order[..FIRST].sort_by_key(rank);
        order[FIRST..].sort_by_key(rank);
    }
    order
}

/// Picks the first proposal that the archive does not show.
pub(crate) fn next(tried: &[Tried], seed: u64) -> Option<&'static Proposal> {
    ordered(seed).into_iter().find(|proposal| !is_tried(proposal, tried))
}

/// Tells whether the archive shows a proposal: by its title, or by its verdict at a child that is
/// shown without a title of its own or under the words of its base. Nothing changes in a child of
/// [`Fate::Empty`], so there the words are always those of the base.
fn is_tried(proposal: &Proposal, tried: &[Tried]) -> bool {
    let verdict = proposal.fate.verdict();
    tried.iter().any(|line| {
        let is_known = PROPOSALS.iter().any(|known| known.title == line.title);
        let by_verdict = verdict == Some(line.verdict.as_str());
        line.title == proposal.title || (by_verdict && (!is_known || proposal.fate == Fate::Empty))
    })
}

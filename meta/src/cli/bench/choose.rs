//! The flags that choose problems out of a suite.

use crate::failure::Outcome;
use hone_benchmarks::{Selection, Split, Suite};

/// The flags that choose problems out of a suite; every condition that is given must hold.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ChoiceArguments {
    /// At most so many problems, drawn with the seed
    #[arg(long, value_name = "K")]
    pub problems: Option<usize>,
    /// The seed of the draw
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Only these problems, separated by commas
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub ids: Vec<String>,
    /// Only problems whose id matches a pattern, such as 'django__*'
    #[arg(long, value_name = "PATTERN")]
    pub glob: Option<String>,
    /// Only problems of this repository or other group
    #[arg(long, value_name = "NAME")]
    pub repository: Option<String>,
    /// Only problems of this side
    #[arg(long, value_name = "SIDE")]
    pub split: Option<Side>,
}

/// A side of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Side {
    /// What the loop may see and select on
    Search,
    /// What the loop never touches
    HeldOut,
}

impl ChoiceArguments {
    /// Returns the selection that the flags describe.
    pub fn selection(&self) -> Selection {
        Selection {
            split: self.split.map(|side| match side {
                Side::Search => Split::Search,
                Side::HeldOut => Split::HeldOut,
            }),
            subset: None,
            ids: self.ids.clone(),
            glob: self.glob.clone(),
            group: self.repository.clone(),
            count: self.problems,
            seed: self.seed,
        }
    }

    /// Takes the problems out of a suite. No problem at all is an error.
    pub fn take(&self, suite: &Suite) -> Outcome<Suite> {
        let taken = self.selection().take(suite).map_err(super::failures::suite)?;
        if taken.problems().is_empty() {
            return Err(crate::failure::Failure::usage(format!(
                "choose problems of the suite {}: none fits what was asked for",
                suite.name()
            ))
            .hint(format!("`hone bench show {}` lists its problems.", suite.name())));
        }
        Ok(taken)
    }
}

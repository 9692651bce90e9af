//! Ways of working: a structure leads an agent through steps, each ended by a tool of its own.
//!
//! To add a structure, write its file and the instructions beside it (`coding.rs` is an example),
//! name it in the list of modules, and write a tool that begins it (see `tools/start_coding.rs`).

mod coding;
mod meta_improvement;

pub use coding::CODING;
pub use meta_improvement::META_IMPROVEMENT;

use crate::tools::Argument;
use std::collections::BTreeMap;
use std::path::Path;

/// A way of working.
#[derive(Debug)]
pub struct Structure {
    /// Its name.
    pub name: &'static str,
    /// Its steps, in order.
    pub steps: &'static [Step],
}

/// One step of a structure.
#[derive(Debug)]
pub struct Step {
    /// Its name.
    pub name: &'static str,
    /// The tool that ends it. It exists only during the step.
    pub ended_by: &'static str,
    /// What is to be done.
    pub instructions: &'static str,
    /// What has to be there before it can end.
    pub needs: Need,
}

/// What a step needs before it can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing that can be checked.
    Nothing,
    /// Advice of the committee, sought during the step.
    Advice,
    /// This file is another one than when the structure began.
    Changed(&'static str),
}

/// A structure that an agent is in.
#[derive(Clone, Debug)]
pub struct Course {
    structure: &'static Structure,
    at: usize,
    advised: bool,
    before: BTreeMap<&'static str, Option<Vec<u8>>>,
}

/// What became of a course when a step was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The next step begins, with these words.
    Next(String),
    /// That was the last one.
    Done(String),
}

impl Course {
    /// Begins a structure in a work directory.
    pub fn begin(structure: &'static Structure, directory: &Path) -> Self {
        let files = structure.steps.iter().filter_map(|step| match step.needs {
            Need::Changed(path) => Some((path, std::fs::read(directory.join(path)).ok())),
            Need::Nothing | Need::Advice => None,
        });
        Course { structure, at: 0, advised: false, before: files.collect() }
    }

    /// Returns the step that the agent is in.
    pub fn step(&self) -> &'static Step {
        &self.structure.steps[self.at]
    }

    /// Notes that the committee gave its advice.
    pub fn advise(&mut self) {
        self.advised = true;
    }

    /// Returns the arguments of the tool that ends the step.
    pub fn arguments() -> Vec<Argument> {
        vec![Argument::text("notes", "What came of the step.")]
    }

    /// Tells which step a tool ends, if it ends one.
    pub fn step_ended_by(&self, tool: &str) -> Option<&'static Step> {
        self.structure.steps.iter().find(|step| step.ended_by == tool)
    }

    /// Ends the step, if what it needs is there.
    pub fn end_step(&mut self, directory: &Path) -> Result<Progress, String> {
        match self.step().needs {
            Need::Nothing => {}
            Need::Advice if self.advised => {}
            Need::Advice => {
                return Err("seek the advice of the `committee` on your proposal first".to_owned());
            }
            Need::Changed(path) => {
                let now = std::fs::read(directory.join(path)).ok();
                if self.before.get(path) == Some(&now) {
                    return Err(format!("{path} has not changed yet; the step is about that"));
                }
            }
        }
        self.advised = false;
        if self.at + 1 == self.structure.steps.len() {
            return Ok(Progress::Done(format!("{} is done.", self.structure.name)));
        }
        self.at += 1;
        Ok(Progress::Next(self.words()))
    }

    /// Returns what the agent is told at the beginning of the step.
    pub fn words(&self) -> String {
        let Step { name, ended_by, instructions, .. } = self.step();
        let (at, of) = (self.at + 1, self.structure.steps.len());
        format!(
            "Step {at} of {of}: {name}\n{}\nWhen that is done, and not before, call the tool \
             `{ended_by}` with `notes`: what came of the step.",
            instructions.trim_end()
        )
    }
}

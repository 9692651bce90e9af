//! What agents can do: one tool, one file.
//!
//! To add a tool, write its file (the README has a template, `calculate.rs` is a small example),
//! name the file in the list of modules and the tool in [`all`]. The kit decides which agents are
//! given it.

mod arguments;
mod desk;
mod document;
mod tool;

mod calculate;
mod close_files;
mod complete;
mod early_exit;
mod execute_command;
mod open_files;
mod overwrite_file;
mod return_result;
mod search_text;
mod submit_answer;
mod view_directory;

pub use arguments::{Mistake, read as read_arguments};
pub use desk::{Desk, Finish};
pub use document::{Argument, Kind};
pub use tool::{Kit, Tool, ToolError};

/// Lists every tool, in the order in which models are told of them.
pub fn all() -> Vec<Tool> {
    vec![
        open_files::tool(),
        close_files::tool(),
        overwrite_file::tool(),
        view_directory::tool(),
        search_text::tool(),
        execute_command::tool(),
        calculate::tool(),
        submit_answer::tool(),
        return_result::tool(),
        complete::tool(),
        early_exit::tool(),
    ]
}

//! What agents can do: one tool, one file.
//!
//! To add a tool, write its file (the README has a template, `calculate.rs` is a small example),
//! name the file in the list of modules and the tool in [`all`]. The kit decides which agents are
//! given it.

mod arguments;
mod desk;
mod document;
mod tool;

mod agent_diff;
mod best_problems;
mod calculate;
mod close_files;
mod compare_agents;
mod complete;
mod early_exit;
mod execute_command;
mod forget;
mod open_files;
mod overwrite_file;
mod problem_history;
mod regenerate_context;
mod return_result;
mod search_text;
mod start_coding;
mod start_meta_improvement;
mod submit_answer;
mod view_directory;
mod watch;
mod worst_problems;

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
        watch::tool(),
        calculate::tool(),
        start_coding::tool(),
        start_meta_improvement::tool(),
        best_problems::tool(),
        worst_problems::tool(),
        compare_agents::tool(),
        problem_history::tool(),
        agent_diff::tool(),
        forget::tool(),
        regenerate_context::tool(),
        submit_answer::tool(),
        return_result::tool(),
        complete::tool(),
        early_exit::tool(),
    ]
}

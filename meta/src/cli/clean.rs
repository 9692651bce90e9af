//! `hone clean`.

use super::Context;
use crate::failure::Outcome;
use crate::leftovers;

/// The arguments of `hone clean`.
#[derive(Debug, clap::Args)]
pub struct CleanArguments {
    /// Prints what would be removed, and removes nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub async fn run(arguments: CleanArguments, context: Context) -> Outcome {
    let temporary = std::env::temp_dir();
    let left = match arguments.dry_run {
        true => leftovers::find(&context.home, &temporary)?,
        false => leftovers::remove(&context.home, &temporary)?,
    };
    if context.console.json {
        let name = if arguments.dry_run { "left" } else { "removed" };
        return context.console.json(name, &left);
    }
    let lines: Vec<String> =
        left.iter().map(|left| format!("{}  {}", left.what, left.path.display())).collect();
    context.console.data(&lines.join("\n"))?;
    context.console.say(match (left.len(), arguments.dry_run) {
        (0, _) => "nothing was left behind",
        (_, true) => "nothing was removed: this was a dry run",
        (_, false) => "removed",
    });
    Ok(())
}

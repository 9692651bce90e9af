//! `hone clean`.

use super::Context;
use crate::failure::{FailureKind, OrFail, Outcome};
use crate::leftovers;
use hone_sandbox::Sweep;

/// The arguments of `hone clean`.
#[derive(Debug, clap::Args)]
pub struct CleanArguments {
    /// Prints what would be removed, and removes nothing
    #[arg(long)]
    dry_run: bool,
}

/// Something that was removed, or would be.
#[derive(Debug, serde::Serialize)]
struct Left {
    what: &'static str,
    name: String,
}

/// Runs the command.
pub async fn run(arguments: CleanArguments, context: Context) -> Outcome {
    let temporary = std::env::temp_dir();
    let how = if arguments.dry_run { Sweep::List } else { Sweep::Remove };
    // Sandboxes go first: one that is gone holds no files of a run.
    let swept = hone_sandbox::sweep(&context.home.sandboxes(), how)
        .await
        .or_fail(FailureKind::Infrastructure)?;
    let files = match how {
        Sweep::List => leftovers::find(&context.home, &temporary)?,
        Sweep::Remove => leftovers::remove(&context.home, &temporary)?,
    };
    let files = files
        .into_iter()
        .map(|left| Left { what: left.what, name: left.path.display().to_string() });
    let swept = swept.into_iter().map(|swept| Left { what: swept.kind, name: swept.name });
    let left: Vec<Left> = swept.chain(files).collect();
    if context.console.json {
        let name = if arguments.dry_run { "left" } else { "removed" };
        return context.console.json(name, &left);
    }
    let lines: Vec<String> =
        left.iter().map(|left| format!("{}  {}", left.what, left.name)).collect();
    context.console.data(&lines.join("\n"))?;
    context.console.say(match (left.len(), how) {
        (0, _) => "nothing was left behind",
        (_, Sweep::List) => "nothing was removed: this was a dry run",
        (_, Sweep::Remove) => "removed",
    });
    Ok(())
}

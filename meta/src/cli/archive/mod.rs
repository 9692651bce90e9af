//! `hone archive`: looks into the archive of a run, and takes care of it.

mod explain;
mod export;
mod list;
mod show;
mod upkeep;
mod versions;

use super::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::home::RunFolder;
use hone_archive::{AgentNumber, Archive, ArchiveError};

/// The arguments of `hone archive`.
#[derive(Debug, clap::Args)]
pub struct ArchiveArguments {
    /// The run whose archive it is [default: the newest]
    #[arg(long, global = true, value_name = "NAME")]
    run: Option<String>,
    #[command(subcommand)]
    command: ArchiveCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ArchiveCommand {
    /// Lists the agents with their results
    List(list::ListArguments),
    /// Shows one agent: its origin, its verdict, its results
    Show(show::ShowArguments),
    /// Names the best agent
    Best,
    /// Shows what an agent changed, or how two agents differ
    Diff(versions::DiffArguments),
    /// Shows who descends from whom
    Lineage(list::LineageArguments),
    /// Shows why an iteration chose its base and its editor
    Explain(explain::ExplainArguments),
    /// Writes results as CSV or JSON
    Export(export::ExportArguments),
    /// Makes a normal git repository of one agent
    Checkout(versions::CheckoutArguments),
    /// Adds a folder's source as a new agent
    Import(versions::ImportArguments),
    /// Computes everything again and names what is not as it was written
    Verify(upkeep::VerifyArguments),
    /// Takes another archive of the same seed in
    Merge(upkeep::MergeArguments),
    /// Packs the repository
    Gc,
}

/// Runs the command.
pub async fn run(arguments: ArchiveArguments, context: Context) -> Outcome {
    let opened = |access| Opened::of(&context, arguments.run.as_deref(), access);
    match arguments.command {
        ArchiveCommand::List(it) => list::list(&it, &opened(Access::Read)?),
        ArchiveCommand::Show(it) => show::show(&it, &opened(Access::Read)?),
        ArchiveCommand::Best => list::best(&opened(Access::Read)?),
        ArchiveCommand::Diff(it) => versions::diff(&it, &opened(Access::Read)?),
        ArchiveCommand::Lineage(it) => list::lineage(&it, &opened(Access::Read)?),
        ArchiveCommand::Explain(it) => explain::explain(&it, &opened(Access::Read)?),
        ArchiveCommand::Export(it) => export::export(&it, &opened(Access::Read)?),
        ArchiveCommand::Checkout(it) => versions::checkout(&it, &opened(Access::Read)?),
        ArchiveCommand::Import(it) => versions::import(&it, &opened(Access::Write)?),
        ArchiveCommand::Verify(it) => {
            upkeep::verify(&it, &opened(Access::Write).or_else(|_| opened(Access::Read))?)
        }
        ArchiveCommand::Merge(it) => upkeep::merge(&it, &opened(Access::Write)?),
        ArchiveCommand::Gc => upkeep::gc(&opened(Access::Write)?),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// An archive that a command looks into.
struct Opened<'a> {
    context: &'a Context,
    folder: RunFolder,
    archive: Archive,
}

impl<'a> Opened<'a> {
    fn of(context: &'a Context, run: Option<&str>, access: Access) -> Outcome<Self> {
        let folder = context.home.existing_run(run)?;
        let path = folder.archive();
        if !path.exists() {
            let text = format!("open the archive of the run {}: it has none yet", folder.name());
            return Err(Failure::refused(text).hint(format!(
                "The run ended before its first agent was kept; `hone run --resume {}` begins it.",
                folder.name()
            )));
        }
        let archive = match access {
            Access::Read => Archive::open_read_only(&path),
            Access::Write => Archive::open(&path),
        };
        let archive = archive.map_err(|error| damaged(&folder, error))?;
        Ok(Opened { context, folder, archive })
    }

    /// Maps an error of the archive to a failure that names what there is.
    fn fail(&self, error: ArchiveError) -> Failure {
        match error {
            ArchiveError::UnknownAgent { .. } => {
                Failure::new(FailureKind::Usage, error).hint(self.agents_there_are())
            }
            ArchiveError::UnknownIteration { .. } => {
                Failure::new(FailureKind::Usage, error).hint(self.iterations_there_are())
            }
            error => damaged(&self.folder, error),
        }
    }

    fn agents_there_are(&self) -> String {
        let agents = |state: &hone_archive::State| state.versions.keys().map(|it| it.0).collect();
        let agents: Vec<u32> = self.archive.read(agents).unwrap_or_default();
        match agents.as_slice() {
            [] => format!("The archive of the run {} has no agents.", self.folder.name()),
            _ => format!("The run {} has the agents {}.", self.folder.name(), ranges(&agents)),
        }
    }

    fn iterations_there_are(&self) -> String {
        let found = self.archive.read(|state| {
            let mut found: Vec<u32> = state.iterations.iter().map(|it| it.iteration).collect();
            found.sort_unstable();
            found.dedup();
            found
        });
        match found.unwrap_or_default().as_slice() {
            [] => format!("The run {} has no iterations yet.", self.folder.name()),
            found => {
                format!("The run {} has the iterations {}.", self.folder.name(), ranges(found))
            }
        }
    }

    /// Checks that an agent is there.
    fn check(&self, agent: u32) -> Outcome<AgentNumber> {
        let agent = AgentNumber(agent);
        self.archive.version(agent).map(|_| agent).map_err(|error| self.fail(error))
    }

    /// Warns of damage that was found, so that no number is taken for more than it is.
    fn warn_of_damage(&self) {
        let damage = self.archive.damage().unwrap_or_default();
        for found in damage.iter().filter(|found| found.lost_records()) {
            self.context.console.warn(&format!("warning: {found}"));
        }
    }
}

fn damaged(folder: &RunFolder, error: ArchiveError) -> Failure {
    Failure::new(FailureKind::Refused, error).hint(format!(
        "`hone archive verify --run {}` names everything that is damaged.",
        folder.name()
    ))
}

/// Writes ascending numbers with runs of them joined.
fn ranges(numbers: &[u32]) -> String {
    let parts = numbers.chunk_by(|a, b| *b == a + 1).map(|part| match part {
        [one] => one.to_string(),
        [first, second] => format!("{first}, {second}"),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_in_a_row_are_joined() {
        assert_eq!(ranges(&[0, 1, 2, 3, 5, 7, 8]), "0 to 3, 5, 7, 8");
        assert_eq!(ranges(&[4]), "4");
    }
}

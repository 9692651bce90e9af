//! `hone doctor`.

use super::Context;
use crate::doctor::{Finding, Machine, State, examine};
use crate::failure::{Failure, FailureKind, Outcome};
use crate::models::ModelFlags;
use crate::settings::SandboxChoice;

/// The arguments of `hone doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    models: ModelFlags,
    /// The executor that a run would use
    #[arg(long)]
    sandbox: Option<SandboxChoice>,
}

/// Runs the command.
pub async fn run(arguments: DoctorArguments, mut context: Context) -> Outcome {
    arguments.models.apply(&mut context.settings)?;
    if let Some(sandbox) = arguments.sandbox {
        context.settings.sandbox = sandbox;
    }
    let findings = examine(&Machine::this(), &context.settings, &context.home).await;
    if context.console.json {
        context.console.json("findings", &findings)?;
    } else {
        context.console.data(&text(&findings))?;
    }
    let missing = findings.iter().filter(|finding| finding.state == State::Missing);
    let missing: Vec<&str> = missing.map(|finding| finding.name.as_str()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Infrastructure,
        anyhow::anyhow!("be ready for a run: missing: {}", missing.join(", ")),
    )
    .hint("Mend it as the lines above say, then run `hone doctor` again."))
}

fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let state = match finding.state {
            State::Ok => "ok",
            State::Optional => "optional",
            State::Missing => "MISSING",
        };
        text.push_str(&format!("{state:<8}  {:<width$}  {}", finding.name, finding.seen));
        if finding.state != State::Ok {
            text.push_str(&format!(" (for {})", finding.needed_for));
        }
        text.push('\n');
        if let Some(cure) = &finding.cure {
            text.push_str(&format!("{:10}{:width$}  mend it: {cure}\n", "", ""));
        }
    }
    text
}

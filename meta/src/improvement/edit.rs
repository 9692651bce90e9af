//! The improvement job and repairs: an agent's program at work on the source of an agent.

use super::binaries::Binaries;
use crate::harness::Harness;
use crate::settings::JobLimits;
use crate::trial::ending::Ended;
use crate::trial::job::{self, JobDone, JobError, JobOrder, Program};
use hone_archive::record::Audit;
use hone_archive::{AgentNumber, Digest, NanoUsd};
use hone_gateway::SpendRole;
use hone_protocol::Role;
use hone_sandbox::child::SOURCE_INSIDE;
use hone_sandbox::{Limits, Mount, SandboxError, SandboxSpec, Workshop};
use std::path::Path;

/// Where the view of the archive is put.
const ARCHIVE: &str = "/archive";

/// A job on the source of an agent.
pub struct EditOrder<'a> {
    /// Its id in the run.
    pub id: String,
    /// Whether it improves or repairs.
    pub role: Role,
    /// Who works.
    pub editor: AgentNumber,
    /// The iteration.
    pub iteration: u32,
    /// The program of who works.
    pub program: &'a Path,
    /// What it is told.
    pub statement: String,
    /// What it may use.
    pub limits: JobLimits,
    /// The source, which it changes.
    pub source: &'a Path,
    /// The view of the archive.
    pub view: Option<&'a Path>,
}

/// Runs a job on the source of an agent.
pub async fn edit(
    harness: &Harness,
    binaries: &Binaries,
    order: EditOrder<'_>,
) -> Result<Edited, JobError> {
    let workshop = binaries.workshop(order.source).await?;
    let mut sandbox = SandboxSpec::new(order.id.clone(), SOURCE_INSIDE);
    sandbox.mounts.clone_from(&workshop.mounts);
    sandbox.environment.clone_from(&workshop.environment);
    sandbox.limits = Limits { memory_bytes: order.limits.memory_mib << 20, ..Limits::default() };
    if let Some(view) = order.view {
        sandbox.mounts.push(Mount::read_only(view, ARCHIVE));
    }
    let done = job::run(
        harness,
        JobOrder {
            id: order.id,
            role: order.role,
            spend: SpendRole::Editor,
            agent: order.editor,
            iteration: Some(order.iteration),
            program: Program::Agent(order.program.to_owned()),
            statement: order.statement,
            limits: order.limits,
            sandbox,
            archive: order.view.map(|_| ARCHIVE.to_owned()),
            prepare: None,
        },
    )
    .await?;
    Ok(Edited { done, _workshop: workshop })
}

/// What is left of a job on the source of an agent.
pub struct Edited {
    done: JobDone,
    _workshop: Workshop,
}

impl Edited {
    /// Removes the sandbox, so that the source can be read on the host, and returns how the job ended.
    pub async fn close(self) -> Result<JobEnd, SandboxError> {
        let JobDone { ended, reason, answer, report, seconds, trace, audit, sandbox, .. } =
            self.done;
        sandbox.destroy().await?;
        let summary = answer.map(|it| if it.summary.is_empty() { it.answer } else { it.summary });
        let cost = NanoUsd(report.reading.cost.0);
        Ok(JobEnd {
            ended,
            reason,
            summary: summary.unwrap_or_default(),
            cost,
            seconds,
            trace,
            audit,
        })
    }
}

/// How a job on the source of an agent ended.
#[derive(Debug)]
pub struct JobEnd {
    /// How it ended.
    pub ended: Ended,
    /// Why, in words; may be empty.
    pub reason: String,
    /// What the agent says of its work; may be empty.
    pub summary: String,
    /// What its model calls cost.
    pub cost: NanoUsd,
    /// Seconds, by the clock of the utility.
    pub seconds: f64,
    /// The digest of its trace.
    pub trace: Digest,
    /// What the overseer did.
    pub audit: Option<Audit>,
}

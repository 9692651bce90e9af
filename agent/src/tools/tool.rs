//! What makes a tool.

use super::arguments::{self, Mistake};
use super::desk::Desk;
use super::document::{self, Argument};
use crate::trial::TrialEnd;
use futures_util::future::LocalBoxFuture;
use hone_protocol::Role;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::marker::PhantomData;

/// A set of tools that agents are given together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kit {
    /// For every agent that works in steps.
    Everyone,
    /// For the agent that answers for the job.
    Lead,
    /// For agents that return a value to another one.
    Report,
    /// Looking at files.
    Look,
    /// Changing files and running commands.
    Change,
    /// Working something out.
    Think,
    /// Leading the improvement of an agent.
    Improve,
    /// Looking into the archive of agents.
    Archive,
}

impl Kit {
    /// Tells whether the kit is of use in jobs of a role.
    pub fn serves(self, role: Role) -> bool {
        match self {
            Kit::Improve | Kit::Archive => role == Role::Improve,
            _ => true,
        }
    }
}

/// Why a tool did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// For the model: what went wrong and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// For the trial, which ends.
    #[error(transparent)]
    Trial(#[from] TrialEnd),
}

impl ToolError {
    /// Makes an error for the model.
    pub fn refused(text: impl std::fmt::Display) -> Self {
        ToolError::Refused(text.to_string())
    }
}

/// A tool with its documentation.
pub struct Tool {
    /// The name that models call.
    pub name: &'static str,
    /// The agents that are given it.
    pub kit: Kit,
    /// What it does, for models.
    pub about: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    runner: Box<dyn Run>,
}

impl Tool {
    /// Makes a tool of its arguments' type, whose doc comments are what models are told, and the
    /// function that carries it out.
    pub fn new<A, F>(name: &'static str, kit: Kit, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        F: AsyncFn(A, &mut Desk) -> Result<String, ToolError> + 'static,
    {
        let (about, arguments) = document::of::<A>();
        let runner = Box::new(Function { function, arguments: PhantomData });
        Tool { name, kit, about, arguments, runner }
    }

    /// Turns the arguments of a call into typed values.
    pub fn read(&self, given: &[(String, String)]) -> Result<Map<String, Value>, Mistake> {
        arguments::read(&self.arguments, given)
    }

    /// Carries the tool out.
    pub async fn run(
        &self,
        given: Map<String, Value>,
        desk: &mut Desk,
    ) -> Result<String, ToolError> {
        self.runner.run(Value::Object(given), desk).await
    }
}

trait Run {
    fn run<'a>(
        &'a self,
        given: Value,
        desk: &'a mut Desk,
    ) -> LocalBoxFuture<'a, Result<String, ToolError>>;
}

struct Function<A, F> {
    function: F,
    arguments: PhantomData<A>,
}

impl<A, F> Run for Function<A, F>
where
    A: DeserializeOwned,
    F: AsyncFn(A, &mut Desk) -> Result<String, ToolError>,
{
    fn run<'a>(
        &'a self,
        given: Value,
        desk: &'a mut Desk,
    ) -> LocalBoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let arguments = serde_json::from_value(given).map_err(|error| {
                ToolError::refused(format!("an argument does not fit: {error}"))
            })?;
            (self.function)(arguments, desk).await
        })
    }
}

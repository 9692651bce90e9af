//! The agent: a program that is given a job over a unix socket, works on it with the help of
//! language models, and hands in an answer. It can be given its own source as the job.
//!
//! Read it in this order:
//!
//! | module | what it holds |
//! |---|---|
//! | [`trial`] | one job from start to end, and what all its agents share |
//! | [`node`] | the loop of one agent: ask the model, carry out its call, show the result |
//! | [`agents`] | who there is: the list of agents, a file and a prompt for each |
//! | [`tools`] | what they can do: the list of tools, a file for each |
//! | [`structures`] | ways of working that lead an agent through steps |
//! | [`context`] | what the model sees: prompts, dialogue, open files, working memory, limits |
//! | [`markup`] | how blocks and calls are written and read: the exact rule |
//! | [`model`] | the connection to the gateway: completions, events, inbox |
//! | [`workspace`] | which files there are to work on |
//! | [`archive`] | earlier versions and their results, for jobs that improve an agent |
//! | [`process`] | commands, and the end of everything that they start |
//!
//! The README says what to do to add a tool, an agent, a prompt or a structure.

pub mod agents;
pub mod archive;
pub mod context;
pub mod markup;
pub mod model;
pub mod node;
pub mod process;
pub mod structures;
pub mod tools;
pub mod trial;
pub mod workspace;

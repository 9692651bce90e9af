//! The agent's program: takes the job behind the socket and works on it.

use hone_agent::process::{SUPERVISE, supervisor};
use hone_agent::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some(SUPERVISE) => supervisor::supervise(arguments).map_err(|error| error.to_string()),
        Some(other) => Err(format!("unexpected argument {other}; the job comes over the socket")),
        None => work(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // The harness keeps this as the agent's log.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("hone-agent: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), String> {
    let variable = hone_protocol::SOCKET_VARIABLE;
    let socket = std::env::var_os(variable).ok_or_else(|| format!("{variable} is not set"))?;
    let supervisor = std::env::current_exe().map_err(|error| error.to_string())?;
    trial::run(socket.as_ref(), supervisor).map_err(|error| trial::explain(&error))
}

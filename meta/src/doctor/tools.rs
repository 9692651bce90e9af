//! The programs that are run.

use super::machine::Said;
use super::{Finding, Machine, State};
use std::path::Path;

/// The oldest Rust that builds agents: edition 2024 as the seed uses it.
const OLDEST_RUST: (u32, u32) = (1, 95);

/// The target of agents.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Looks at all of them.
pub async fn examine(machine: &Machine) -> Vec<Finding> {
    vec![
        rust(machine).await,
        linker(machine).await,
        optional(machine, "git", &["--version"], "looking into archives with git itself", "git")
            .await,
        optional(
            machine,
            "python3",
            &["-m", "pip", "--version"],
            "building suites from packages of PyPI",
            "python3 python3-pip",
        )
        .await,
    ]
}

async fn rust(machine: &Machine) -> Finding {
    const NAME: &str = "rust";
    const NEEDED_FOR: &str = "building agents";
    let lack =
        |seen: String, cure: String| Finding::lack(State::Missing, NAME, NEEDED_FOR, seen, cure);
    let install =
        "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . ~/.cargo/env";
    let has_rustup = machine.find("rustup").is_some();
    let update = if has_rustup { "rustup update stable && rustup default stable" } else { install };
    let version = match machine.ask("rustc", &["--version"]).await {
        Said::NotFound => return lack("there is no rustc".to_owned(), update.to_owned()),
        Said::Badly(why) => return lack(format!("rustc fails: {why}"), update.to_owned()),
        Said::Well(version) => version,
    };
    if read_version(&version).is_none_or(|found| found < OLDEST_RUST) {
        let (major, minor) = OLDEST_RUST;
        return lack(format!("{version} is older than {major}.{minor}"), update.to_owned());
    }
    if let Said::NotFound | Said::Badly(_) = machine.ask("cargo", &["--version"]).await {
        return lack(format!("{version} comes without cargo"), update.to_owned());
    }
    if let Said::Well(sysroot) = machine.ask("rustc", &["--print", "sysroot"]).await
        && !Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib").is_dir()
    {
        return lack(
            format!("{version} lacks the target {TARGET}"),
            format!("rustup target add {TARGET}"),
        );
    }
    Finding::ok(NAME, NEEDED_FOR, version)
}

/// Reads the first two numbers of `rustc 1.95.0 (…)`.
fn read_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().nth(1)?.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

async fn linker(machine: &Machine) -> Finding {
    const NAME: &str = "cc";
    const NEEDED_FOR: &str = "linking agents into static programs";
    let cure = machine.install("build-essential");
    let lack = |seen: &str| Finding::lack(State::Missing, NAME, NEEDED_FOR, seen, cure.clone());
    // It answers with a full path where it has the file, else with the bare name.
    match machine.ask("cc", &["-print-file-name=libc.a"]).await {
        Said::NotFound => lack("there is no C compiler, which links programs"),
        Said::Badly(why) => lack(&format!("cc fails: {why}")),
        Said::Well(path) if !path.contains('/') => lack("cc has no static C library (libc.a)"),
        Said::Well(_) => match machine.ask("cc", &["--version"]).await {
            Said::Well(version) => {
                Finding::ok(NAME, NEEDED_FOR, version.lines().next().unwrap_or_default())
            }
            Said::NotFound | Said::Badly(_) => Finding::ok(NAME, NEEDED_FOR, "it answers"),
        },
    }
}

async fn optional(
    machine: &Machine,
    program: &str,
    arguments: &[&str],
    needed_for: &str,
    packages: &str,
) -> Finding {
    let lack = |seen: String| {
        Finding::lack(State::Optional, program, needed_for, seen, machine.install(packages))
    };
    match machine.ask(program, arguments).await {
        Said::NotFound => lack(format!("there is no {program}")),
        Said::Badly(why) => lack(format!("{program} {} fails: {why}", arguments.join(" "))),
        Said::Well(version) => {
            // What pip says of its place is of no interest.
            let version = version.split(" from ").next().unwrap_or_default();
            Finding::ok(program, needed_for, version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_version;

    #[test]
    fn versions_of_rust_are_read() {
        assert_eq!(read_version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(read_version("rustc 1.97-nightly"), Some((1, 97)));
        assert_eq!(read_version("rustc"), None);
    }
}

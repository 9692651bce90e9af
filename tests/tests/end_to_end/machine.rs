//! What stands around a run: the doctor, the settings of the environment, money, and cleaning up.

use hone_tests::hone::{Hone, Said};
use pretty_assertions::assert_eq;
use serde_json::Value;

fn states(said: &Said) -> Vec<(String, String)> {
    let findings = said.json()["findings"].clone();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let findings = findings.as_array().unwrap().iter();
    findings.map(|finding| (text(finding, "name"), text(finding, "state"))).collect()
}

#[test]
fn the_doctor_finds_this_machine_ready_and_leaves_nothing_behind() {
    let hone = Hone::new();
    let said = hone.say(["doctor", "--json"]).exits(0);
    let missing: Vec<_> =
        states(&said).into_iter().filter(|(_, state)| state == "missing").collect();
    assert_eq!(missing, []);
    assert!(!hone.folder().join("hone-runs").exists());
    let said = hone.say(["doctor"]).exits(0);
    assert!(said.out.lines().any(|line| line.starts_with("ok        rust")), "{}", said.out);
}

#[test]
fn the_doctor_names_each_lack_with_the_command_that_mends_it() {
    let hone = Hone::new();
    let mut command = hone.command(["doctor", "--json", "--model", "openai:gpt-5"]);
    command.env("PATH", "/nowhere").env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let said = Said::from(command.output().unwrap()).exits(4);
    for name in ["rust", "cc", "docker", "bubblewrap", "models"] {
        assert!(states(&said).contains(&(name.to_owned(), "missing".to_owned())), "{}", said.out);
    }
    for word in ["apt-get install -y bubblewrap", "rustup", "OPENAI_API_KEY"] {
        assert!(said.out.contains(word), "{word} is not in {}", said.out);
    }
}

#[test]
fn an_estimate_is_printed_and_nothing_is_started() {
    let hone = Hone::new();
    let arguments =
        ["run", "--dry-run", "--model", "openai:gpt-5", "--base-url", "http://127.0.0.1:1/v1"];
    let said = hone.say(arguments).exits(0);
    assert!(said.out.contains("total") && said.out.contains("assumed:"), "{}", said.out);
    let said = hone.say(arguments.into_iter().chain(["--json", "--budget", "2"])).exits(0);
    let total = said.json()["estimate"]["forecast"]["total"].clone();
    assert_eq!(total["most"], 2_000_000_000_u64);
    assert!(total["lowest"].as_u64() <= total["expected"].as_u64());
    assert!(!hone.folder().join("hone-runs").exists());
}

#[test]
fn a_model_that_costs_money_is_not_asked_without_a_budget() {
    let hone = Hone::new();
    let arguments = ["run", "--model", "openai:gpt-5", "--base-url", "http://127.0.0.1:1/v1"];
    let said = hone.say(arguments).exits(1);
    assert!(said.err.contains("openai:gpt-5 costs money") && said.err.contains("--budget"));
    // With one, the provider is what is missing.
    let said = hone.say(arguments.into_iter().chain(["--budget", "1"])).exits(3);
    assert!(said.err.contains("unreachable"), "{}", said.err);
    assert!(!hone.folder().join("hone-runs").exists());
}

#[test]
fn a_variable_goes_before_the_file_and_a_flag_before_the_variable() {
    let hone = Hone::new();
    std::fs::write(hone.folder().join("hone.toml"), "budget = 1\n").unwrap();
    let most = |variable: &str, flags: &[&str]| {
        let fixed = ["run", "--dry-run", "--json", "-n", "50"];
        let mut command = hone.command(fixed.iter().chain(flags));
        if !variable.is_empty() {
            command.env("HONE_BUDGET", variable);
        }
        let said = Said::from(command.output().unwrap()).exits(0);
        said.json()["estimate"]["forecast"]["total"]["most"].as_u64().unwrap()
    };
    assert_eq!(most("", &[]), 1_000_000_000);
    assert_eq!(most("2", &[]), 2_000_000_000);
    assert_eq!(most("2", &["-c", "budget=3"]), 3_000_000_000);
    assert_eq!(most("2", &["-c", "budget=3", "--budget", "4"]), 4_000_000_000);
}

#[test]
fn cleaning_takes_what_the_dead_left_and_says_so() {
    let hone = Hone::new();
    let run = hone.run_folder("dead");
    std::fs::create_dir_all(run.join("work/job-1")).unwrap();
    for file in ["run.json", "lock", "work/job-1/file"] {
        std::fs::write(run.join(file), "{}").unwrap();
    }
    let own = [("HONE_CACHE", hone.folder().join("cache")), ("TMPDIR", hone.folder().to_owned())];
    let clean = |arguments: &[&str]| {
        let mut command = hone.command(["clean"].iter().chain(arguments));
        command.envs(own.clone());
        Said::from(command.output().unwrap()).exits(0)
    };
    assert!(clean(&["--dry-run"]).out.contains("dead/work"));
    assert!(run.join("work").exists());
    assert!(clean(&[]).out.contains("dead/work"));
    assert!(!run.join("work").exists() && run.join("run.json").exists());
    assert!(clean(&[]).err.contains("nothing was left behind"));
}

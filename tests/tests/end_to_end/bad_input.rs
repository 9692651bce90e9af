//! Bad input: a clear error, the right exit code, and nothing left behind.

use hone_tests::hone::{Hone, Said};

#[track_caller]
fn refused(hone: &Hone, arguments: &[&str], code: i32, words: &[&str]) -> Said {
    let said = hone.say(arguments).exits(code);
    for word in words {
        assert!(said.err.contains(word), "{word:?} is not in:\n{}", said.err);
    }
    assert!(!said.err.contains("panicked"), "{}", said.err);
    said
}

#[test]
fn an_unknown_suite_names_the_suites_there_are() {
    let hone = Hone::new();
    refused(&hone, &["run", "-n", "0", "--suite", "nev"], 2, &["nev", "nav", "hint:"]);
    assert!(!hone.folder().join("hone-runs").exists());
}

#[test]
fn an_unknown_provider_and_a_model_without_provider_are_usage_errors() {
    let hone = Hone::new();
    refused(&hone, &["run", "-n", "0", "--model", "opnai:gpt-5"], 2, &["opnai"]);
    refused(&hone, &["run", "-n", "0", "--model", "gpt-5"], 2, &["gpt-5", "provider:model"]);
}

#[test]
fn a_missing_key_names_its_variable() {
    let hone = Hone::new();
    let arguments = ["run", "-n", "0", "--model", "openai:gpt-5-mini", "--budget", "1"];
    refused(&hone, &arguments, 2, &["OPENAI_API_KEY"]);
}

#[test]
fn an_unknown_key_in_the_configuration_names_the_nearest_one() {
    let hone = Hone::new();
    std::fs::write(hone.folder().join("hone.toml"), "[trial]\nsecnds = 3\n").unwrap();
    refused(&hone, &["run", "-n", "0"], 2, &["hone.toml", "trial.secnds", "trial.seconds"]);
    std::fs::remove_file(hone.folder().join("hone.toml")).unwrap();
    refused(&hone, &["run", "-n", "0", "-c", "trial.secnds=3"], 2, &["trial.seconds"]);
    refused(&hone, &["run", "-n", "0", "-c", "workers=many"], 2, &["workers"]);
}

#[test]
fn a_setting_that_this_version_does_not_honour_is_refused() {
    let hone = Hone::new();
    refused(&hone, &["run", "-n", "0", "-c", "evaluation.race=true"], 2, &["stages", "hint:"]);
    refused(&hone, &["run", "-n", "0", "--overseer", "sometimes"], 2, &["off, shadow or on"]);
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let hone = Hone::new();
    std::fs::write(hone.folder().join("file"), "").unwrap();
    refused(&hone, &["run", "-n", "0", "--home", "file/home"], 2, &["file/home"]);
}

#[test]
fn a_run_that_exists_is_not_begun_again() {
    let hone = Hone::new();
    std::fs::create_dir_all(hone.run_folder("mine")).unwrap();
    refused(&hone, &["run", "-n", "0", "--run", "mine"], 1, &["mine", "--resume mine"]);
    refused(&hone, &["run", "-n", "0", "--run", "../mine"], 2, &["../mine"]);
}

#[test]
fn an_engine_that_does_not_answer_is_an_infrastructure_failure() {
    let hone = Hone::new();
    let said: Said = hone
        .command(["run", "-n", "0", "--sandbox", "docker"])
        .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
        .output()
        .unwrap()
        .into();
    let said = said.exits(4);
    assert!(said.err.contains("docker"), "{}", said.err);
    assert!(said.err.contains("hint:") || said.err.contains("apt-get"), "{}", said.err);
}

#[test]
fn commands_about_runs_say_that_there_is_none() {
    let hone = Hone::new();
    for arguments in [
        &["archive", "list"][..],
        &["archive", "show", "0"],
        &["audit"],
        &["run", "status"],
        &["run", "stop"],
        &["run", "--resume", "gone"],
    ] {
        refused(&hone, arguments, 2, &["find"]);
    }
}

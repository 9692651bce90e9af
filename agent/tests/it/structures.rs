//! Structures: steps that are ended by tools of their own.

use crate::trial::{Trial, agent, tool};
use hone_protocol::Role;

#[test]
fn coding_leads_through_its_steps_in_order() {
    let trial = Trial::for_coder();
    trial.coder("explored", &[("notes", "not begun")]);
    trial.coder("start_coding", &[]);
    trial.coder("implemented", &[("notes", "too early")]);
    trial.coder("explored", &[]);
    trial.coder("explored", &[("notes", "seen")]);
    trial.coder("start_coding", &[]);
    trial.coder("implemented", &[("notes", "done")]);
    trial.coder("tested", &[("notes", "green")]);
    trial.coder("cleaned_up", &[("notes", "clean")]);
    trial.coder("cleaned_up", &[("notes", "again")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("there is no tool `explored`"));
    assert!(
        told[1].contains("Step 1 of 4: explore\n")
            && told[1].contains("call the tool `explored` with `notes`")
    );
    assert!(
        told[2].contains("ok=\"false\"")
            && told[2].contains("that ends another step; you are here:\nStep 1 of 4")
    );
    assert!(told[3].contains("explored: the argument `notes` is missing"));
    assert!(told[4].contains("ok=\"true\"") && told[4].contains("Step 2 of 4: implement"));
    assert!(told[5].contains("you are in a structure already.\nStep 2 of 4"));
    assert!(told[6].contains("Step 3 of 4: test"));
    assert!(told[7].contains("Step 4 of 4: clean up"));
    assert!(told[8].contains("coding is done."));
    assert!(told[9].contains("there is no tool `cleaned_up`"));
}

#[test]
fn meta_improvement_demands_advice_a_description_and_a_change_log() {
    let trial = Trial::with(|job| job.role = Role::Improve);
    trial.write("description.txt", "old\n");
    trial.write("CHANGELOG.md", "old\n");
    let main = |reply: String| trial.server.script("main", reply);
    let end = |name: &str| tool(name, &[("notes", "n")]);
    main(tool("start_meta_improvement", &[]));
    main(end("found_what_fails"));
    main(end("found_what_works"));
    main(end("proposed"));
    main(agent("committee", &[("proposal", "Do less.")]));
    for reviewer in ["evidence", "simplicity", "risk", "ambition"] {
        trial.server.script(&format!("reviewer_{reviewer}"), "Build it.");
    }
    main(end("proposed"));
    main(end("improvement_implemented"));
    main(end("improvement_tested"));
    main(end("described"));
    main(agent("coder", &[("task", "Describe it.")]));
    trial.coder(
        "execute_command",
        &[("command", "echo new > description.txt; echo new > CHANGELOG.md")],
    );
    trial.coder("return_result", &[("result", "")]);
    main(end("described"));
    main(end("logged"));
    main(tool("complete", &[]));
    trial.succeed();
    let asked = trial.server.asked("main");
    let told: Vec<_> = asked.iter().skip(1).map(|asked| asked.message(-1)).collect();
    let steps = ["Step 1 of 7: what fails", "Step 2 of 7: what works", "Step 3 of 7: one proposal"];
    for (told, step) in told.iter().zip(steps) {
        assert!(told.contains(step), "{told}");
    }
    assert!(told[3].contains("seek the advice of the `committee`"), "{}", told[3]);
    assert!(told[4].contains("<REVIEW by=\"reviewer_evidence\" ok=\"true\">Build it.</REVIEW>"));
    assert!(told[5].contains("Step 4 of 7: implement"));
    assert!(told[8].contains("description.txt has not changed yet"), "{}", told[8]);
    assert!(told[10].contains("Step 7 of 7: change log"), "{}", told[10]);
    assert!(told[11].contains("meta_improvement is done."));
}

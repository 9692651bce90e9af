//! A model that answers nonsense: the run ends cleanly, and says why each trial came to nothing.

use hone_tests::hone::Hone;
use hone_tests::model_server::{Answer, ModelServer};

#[test]
fn a_model_that_answers_nonsense_ends_the_run_cleanly() {
    let server = ModelServer::start(|_| Answer::Text {
        text: "Purple bicycles dream of the number seven.".to_owned(),
        prompt: 100,
        output: 10,
    });
    let hone = Hone::new();
    let said = hone
        .say([
            "run",
            "-n",
            "1",
            "--model",
            "openai:any",
            "--base-url",
            &server.url(),
            "--problems",
            "2",
            "--run",
            "r",
        ])
        .exits(1);
    assert!(!said.err.contains("panicked"), "{}", said.err);
    let list = hone.say(["archive", "list", "--json"]).exits(0);
    assert!(list.out.contains("empty_change") || list.out.contains("not_built"), "{}", list.out);
    let csv = hone.folder().join("trials.csv");
    hone.say(["archive", "export", "--csv", "-o", csv.to_str().unwrap()]).exits(0);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(csv.contains("protocol_error"), "{csv}");
    assert!(csv.contains("no call"), "the reason is missing: {csv}");
    assert!(!server.asked().is_empty());
}

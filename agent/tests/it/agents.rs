//! Sub-agents: what they see, how they work side by side, what their parents are told.

use crate::server::Reply;
use crate::trial::{Trial, agent, tool};
use hone_protocol::Role;

fn names(system: &str, tag: &str) -> Vec<String> {
    let start = format!("<{tag} name=\"");
    let parts = system.split(&start).skip(1);
    parts.map(|part| part.split_once('"').unwrap().0.to_owned()).collect()
}

#[test]
fn each_agent_is_given_its_own_tools_and_sub_agents_by_the_role_of_the_job() {
    let trial = Trial::with(|job| {
        job.role = Role::Improve;
        job.archive = Some("/archive".to_owned());
    });
    for name in ["problem_solver", "archive_explorer"] {
        trial.server.script("main", agent(name, &[("task", "t")]));
        trial.server.script(name, tool("return_result", &[("result", "r")]));
    }
    trial.delegate(&[]);
    trial.coder("return_result", &[("result", "r")]);
    trial.succeed();
    // Later versions may have more tools; these agents must keep these and must not get those.
    let system = |agent: &str| trial.server.asked(agent)[0].message(0).to_owned();
    let expect = |agent: &str, has: &[&str], lacks: &[&str]| {
        let tools = names(&system(agent), "TOOL");
        for tool in has {
            assert!(tools.iter().any(|name| name == tool), "{agent} has no {tool}");
        }
        for tool in lacks {
            assert!(!tools.iter().any(|name| name == tool), "{agent} has {tool}");
        }
    };
    let look = ["open_files", "close_files", "view_directory", "search_text"];
    let change = ["overwrite_file", "execute_command"];
    let archive =
        ["best_problems", "worst_problems", "compare_agents", "problem_history", "agent_diff"];
    let lead = ["submit_answer", "complete"];
    expect(
        "main",
        &[&lead[..], &["start_meta_improvement"]].concat(),
        &[&look[..], &change, &archive].concat(),
    );
    for worker in ["coder", "problem_solver"] {
        expect(
            worker,
            &[&look[..], &change, &["calculate", "return_result"]].concat(),
            &[&lead[..], &archive].concat(),
        );
    }
    expect(
        "archive_explorer",
        &[&look[..], &archive, &["return_result"]].concat(),
        &[&lead[..], &change].concat(),
    );
    for agent in ["main", "coder", "problem_solver", "archive_explorer"] {
        expect(agent, &["early_exit", "forget", "regenerate_context"], &[]);
    }
    let main = system("main");
    let below = names(&main, "SUBAGENT");
    for agent in ["coder", "problem_solver", "reasoner", "archive_explorer", "committee"] {
        assert!(below.iter().any(|name| name == agent), "main cannot call {agent}");
    }
    let tool = main.split("<TOOL name=\"submit_answer\">").nth(1).unwrap();
    let argument = tool.split_once("<ARG ").unwrap().1;
    assert!(argument.starts_with("name=\"answer\" type=\"string\" required=\"true\">"), "{tool}");

    let solve = Trial::new();
    solve.server.script("main", tool_complete());
    solve.succeed();
    let system = solve.server.asked("main")[0].message(0).to_owned();
    let below = names(&system, "SUBAGENT");
    assert!(below.contains(&"coder".to_owned()) && !below.contains(&"committee".to_owned()));
    assert!(!names(&system, "TOOL").contains(&"start_meta_improvement".to_owned()));
}

fn tool_complete() -> String {
    tool("complete", &[])
}

#[test]
fn the_reasoner_is_one_completion_of_its_alias_without_tools() {
    let trial = Trial::for_coder();
    trial.write("a.py", "x = 1\n");
    trial.server.script("coder", agent("reasoner", &[("question", "Why?"), ("paths", "a.py")]));
    trial.server.script("reasoner", Reply::Length("Because of ".to_owned()));
    trial.server.script("reasoner", "the tides.");
    trial.server.script("coder", agent("reasoner", &[("question", "And?")]));
    trial.server.script("reasoner", "  ");
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("<AGENT_RESULT agent=\"reasoner\" ok=\"true\" id=\"r1\">Because of the tides.</AGENT_RESULT>"), "{}", told[0]);
    assert!(told[1].contains("ok=\"false\"") && told[1].contains("the model gave no reply"));
    let asked = trial.server.asked("reasoner");
    assert_eq!(asked[0].body["model"], "reasoner");
    assert_eq!(asked[0].body.get("stop"), None);
    assert!(!asked[0].message(0).contains("<TOOLS>"));
    assert!(asked[0].message(1).contains("<question>Why?</question>"));
    assert!(asked[0].message(1).contains("<FILE path=\"a.py\">\nx = 1\n</FILE>"));
}

#[test]
fn a_job_without_the_alias_of_an_agent_uses_the_first_one() {
    let trial = Trial::with(|job| job.models = vec!["only".to_owned()]);
    trial.delegate(&[]);
    trial.server.script("coder", agent("reasoner", &[("question", "?")]));
    trial.server.script("reasoner", "!");
    trial.coder("return_result", &[("result", "")]);
    trial.succeed();
    assert_eq!(trial.server.asked("reasoner")[0].body["model"], "only");
    assert_eq!(trial.server.asked("coder")[0].body["model"], "only");
}

#[test]
fn the_committee_thinks_side_by_side_and_each_member_is_a_node() {
    let trial = Trial::with(|job| job.role = Role::Improve);
    trial.server.script("main", agent("committee", &[("proposal", "Cut the prompt.")]));
    trial.server.script("main", tool("complete", &[]));
    let minds = ["evidence", "simplicity", "risk", "ambition"];
    for mind in minds {
        trial
            .server
            .script(&format!("reviewer_{mind}"), Reply::Together(4, format!("{mind} says yes")));
    }
    trial.succeed();
    let told = trial.server.asked("main")[1].message(-1).to_owned();
    for mind in minds {
        assert!(
            told.contains(&format!(
                "<REVIEW by=\"reviewer_{mind}\" ok=\"true\">{mind} says yes</REVIEW>"
            )),
            "{told}"
        );
        let asked = trial.server.asked(&format!("reviewer_{mind}"));
        assert!(asked[0].message(1).contains("<proposal>Cut the prompt.</proposal>"));
    }
    let mut nodes: Vec<_> = trial.endings().into_iter().map(|(node, _)| node).collect();
    nodes.sort();
    assert_eq!(nodes, ["0", "0.1", "0.1.1", "0.1.2", "0.1.3", "0.1.4"]);
}

#[test]
fn a_repeated_argument_sets_sub_agents_to_work_side_by_side() {
    let trial = Trial::for_coder();
    trial.write("a.py", "x = 1\n");
    trial.server.script(
        "coder",
        agent("reasoner", &[("question", "a"), ("paths", "a.py"), ("question", "b")]),
    );
    trial.server.script("reasoner", Reply::Together(2, "yes".to_owned()));
    trial.server.script("reasoner", Reply::Together(2, "yes".to_owned()));
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("<RESULT call=\"1\" ok=\"true\">yes</RESULT>\n<RESULT call=\"2\" ok=\"true\">yes</RESULT>"), "{}", told[0]);
    let asked = trial.server.asked("reasoner");
    assert!(asked.iter().all(|asked| asked.message(1).contains("<FILE path=\"a.py\">")));
    let nodes: Vec<_> = trial.endings().into_iter().map(|(node, _)| node).collect();
    assert!(nodes.contains(&"0.1.1".to_owned()) && nodes.contains(&"0.1.2".to_owned()));
}

#[test]
fn paths_that_cannot_be_opened_are_told_to_the_sub_agent() {
    let trial = Trial::new();
    trial.write("a.py", "x = 1\n");
    trial.delegate(&[("paths", "a.py\nmissing.py")]);
    trial.coder("return_result", &[("result", "")]);
    trial.succeed();
    let first = trial.server.asked("coder")[0].clone();
    assert!(
        first
            .message(1)
            .contains("<NOTICE kind=\"warning\">missing.py was not opened: there is no such file")
    );
    assert!(first.message(1).contains("<OPEN_FILES>\n<FILE path=\"a.py\">"));
}

//! Programs that try to score without solving the problem, and beside each the honest one.

use super::bubblewrap::{Bubblewrap, block_on};
use hone_benchmarks::code::{CodeData, Form, SOLUTION, Test};
use hone_benchmarks::files::Files;
use hone_benchmarks::suite::Draft;
use hone_benchmarks::{GradingRoom, Problem, ProblemId, Scored, Source, Submission, Suite, kind};
use serde_json::json;

fn suite(form: Form, tests: &[(serde_json::Value, serde_json::Value)]) -> Suite {
    let test = |(input, output): &(serde_json::Value, serde_json::Value)| Test {
        input: input.clone(),
        output: output.clone(),
    };
    let (public, hidden) = tests.split_at(tests.len().min(1));
    let data = CodeData {
        question: "Double it.".to_owned(),
        starter: String::new(),
        form,
        public: public.iter().map(test).collect(),
        hidden: hidden.iter().map(test).collect(),
        seconds: 2.0,
    };
    let problem =
        Problem { id: ProblemId("p".to_owned()), group: None, tree: None, data: json!(data) };
    let suite = Suite::new(Draft {
        name: "s".to_owned(),
        kind: "code".to_owned(),
        about: String::new(),
        source: Source::Builtin,
        seed: 0,
        options: Default::default(),
        subsets: Default::default(),
        problems: vec![problem],
        files: Files::default(),
    });
    let suite = suite.unwrap();
    kind::check_all(&suite).unwrap();
    suite
}

fn grade(suite: &Suite, program: &str) -> Scored {
    let (work, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(work.path().join(SOLUTION), program).unwrap();
    let room = GradingRoom::new(scratch.path()).with_rooms(&Bubblewrap);
    let submission = Submission { answer: "", dir: work.path() };
    block_on(kind::of(suite).unwrap().grade(suite, &suite.problems()[0], submission, room)).unwrap()
}

fn programs() -> Suite {
    suite(Form::Program, &[(json!("2\n"), json!("4\n")), (json!("21"), json!("42"))])
}

fn functions() -> Suite {
    let form = Form::Function { name: "double".to_owned() };
    suite(form, &[(json!([2]), json!(4)), (json!([[1]]), json!([1, 1]))])
}

fn checked() -> Suite {
    let form = Form::Checked {
        name: "double".to_owned(),
        prompt: "def helper(x):\n    return 2 * x\n\ndef double(x):\n    \"\"\"Doubles x.\"\"\"\n".to_owned(),
        test: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(7) == helper(7), 'seven'\n    \
               assert candidate((1, 'a')) == (1, 'a', 1, 'a')\n    assert abs(candidate(0.5) - 1.0) < 1e-6\n"
            .to_owned(),
    };
    suite(form, &[])
}

/// Looks for the grader's word in the memory of all processes, speaks with it in the grader's place, and kills it.
const IMPOSTOR: &str = r##"
import glob, json, os, re
def words(folder):
    for line in open(folder + "/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "r" in line.split()[1] and end - start < 1 << 28 and "[v" not in line:
            try:
                with open(folder + "/mem", "rb", 0) as memory:
                    memory.seek(start)
                    yield from re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", memory.read(end - start))
            except (OSError, ValueError):
                pass
for folder in glob.glob("/proc/[0-9]*"):
    if folder == f"/proc/{os.getpid()}":
        continue
    try:
        found = set(words(folder))
    except OSError:
        continue
    for word in found:
        try:
            with open(folder + "/fd/1", "w") as other:
                for test, output in enumerate(["@FIRST@", "@SECOND@"]):
                    line = {"nonce": word.decode(), "test": test, "output": output, "code": 0}
                    other.write(json.dumps(line) + "\n")
                other.write(json.dumps({"nonce": word.decode(), "end": True}) + "\n")
        except OSError:
            pass
    if found:
        os.kill(int(folder.split("/")[2]), 9)
for path in glob.glob("/grader/*"):
    try:
        open(path, "a").write("\nimport os\nos._exit(0)\n")
    except OSError:
        pass
os._exit(0)
"##;

#[test]
fn honest_programs_score_and_wrong_ones_do_not() {
    for (suite, honest, wrong) in [
        (programs(), "print(2 * int(input()))", "print(4)"),
        (functions(), "def double(x):\n    return x * 2\n", "def double(x):\n    return 4\n"),
        (
            functions(),
            "class Solution:\n    def double(self, x):\n        return x * 2\n",
            "class Solution: pass\n",
        ),
        (checked(), "def double(x):\n    return x * 2\n", "def double(x):\n    return 4\n"),
    ] {
        let scored = grade(&suite, honest);
        assert_eq!(scored.score.get(), 1.0, "{honest}: {}", scored.why);
        let scored = grade(&suite, wrong);
        assert_eq!(scored.score.get(), 0.0, "{wrong}: {}", scored.why);
    }
}

#[test]
fn no_trick_gains_a_point() {
    let tricks = [
        ("does not parse", "def double(x:\n"),
        ("is empty", ""),
        ("exits early", "import os\nos._exit(0)\n"),
        ("exits early in Python's way", "raise SystemExit(0)\n"),
        (
            "prints the words of success",
            "print('passed')\nprint('OK')\nprint('1 passed in 0.01s')\n",
        ),
        (
            "is equal to everything",
            "class Any:\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n    __hash__ = lambda s: 0\n    \
             __sub__ = __rsub__ = lambda s, o: 0\n    __repr__ = lambda s: 'Any()'\n\ndef double(x):\n    return Any()\n",
        ),
        (
            "patches the module of tests",
            "import builtins, sys\nfor name in ('tests', 'test', '__main__'):\n    module = sys.modules.get(name)\n    \
             if module:\n        module.check = lambda c: None\nbuiltins.AssertionError = Exception\n\ndef double(x):\n    return 4\n",
        ),
        ("hangs", "while True:\n    pass\n"),
        ("fills the output", "import sys\nwhile True:\n    sys.stdout.write('4' * 65536)\n"),
        ("fills the memory", "x = 'a' * (8 << 30)\nprint(4)\n"),
        (
            "leaves a process behind that kills the grader",
            "import os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for pid in os.listdir('/proc'):\n            \
             if pid.isdigit() and int(pid) not in (1, os.getpid()):\n                try:\n                    os.kill(int(pid), signal.SIGKILL)\n                \
             except OSError:\n                    pass\n    os._exit(0)\n\ndef double(x):\n    return 4\n",
        ),
        (
            "leaves modules in the way",
            "for name in ('json', 'sitecustomize', 'usercustomize', 'conftest', 'ast'):\n    for folder in ('.', '/tmp', '/grader'):\n        \
             try:\n            open(folder + '/' + name + '.py', 'w').write('import os; print(4); os._exit(0)')\n        \
             except OSError:\n            pass\n\ndef double(x):\n    return 4\n",
        ),
        ("calls exit when called", "def double(x):\n    import os\n    os._exit(0)\n"),
    ];
    let impostor = |first, second| IMPOSTOR.replace("@FIRST@", first).replace("@SECOND@", second);
    for (suite, first, second) in
        [(programs(), "4", "42"), (functions(), "4", "[1, 1]"), (checked(), "passed", "passed")]
    {
        let impostor = impostor(first, second);
        let tricks = tricks.iter().copied().chain([("speaks for the grader", impostor.as_str())]);
        for (name, program) in tricks {
            let scored = grade(&suite, program);
            assert_eq!(scored.score.get(), 0.0, "{name}: {}", scored.why);
        }
    }
}

#[test]
fn what_lies_in_the_place_of_the_program_is_not_followed() {
    let suite = programs();
    let (work, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink("/etc/hostname", work.path().join(SOLUTION)).unwrap();
    let room = GradingRoom::new(scratch.path()).with_rooms(&Bubblewrap);
    let submission = Submission { answer: "", dir: work.path() };
    let code = kind::of(&suite).unwrap();
    let scored = block_on(code.grade(&suite, &suite.problems()[0], submission, room)).unwrap();
    assert_eq!((scored.score.get(), scored.why.as_str()), (0.0, "solution.py is a symbolic link"));
}

#[test]
fn the_agent_sees_public_tests_alone() {
    let suite = programs();
    let dir = tempfile::tempdir().unwrap();
    kind::of(&suite).unwrap().set_up(&suite, &suite.problems()[0], dir.path()).unwrap();
    let names: Vec<_> = std::fs::read_dir(dir.path().join("tests"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["1.json"]);
}

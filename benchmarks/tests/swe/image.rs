//! A small image with the official layout, made from the host's own programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use hone_benchmarks::swe::json;
use hone_benchmarks::swe::row::Row;
use sha2::{Digest, Sha256};

/// Stages the root file system into `$1`; `$2` is the repository. Prints nothing.
const STAGE: &str = r#"
set -eu
root=$1
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/tmp" "$root/var/tmp" "$root/root" "$root/etc" "$root/dev" "$root/proc" "$root/sys"
chmod 1777 "$root/tmp" "$root/var/tmp"
ln -s usr/bin "$root/bin"; ln -s usr/lib "$root/lib"; mkdir -p "$root/lib64"
echo 'root:x:0:0:root:/root:/bin/bash' > "$root/etc/passwd"
put() {
    cp -L "$1" "$2"
    for library in $(ldd "$1" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p'); do
        mkdir -p "$root$(dirname "$library")"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
}
for name in bash dash git patch env sed grep find tar cat ls mkdir rmdir rm cp mv printf sort uniq wc cut head tail sleep id chmod \
    chown ln readlink stat touch date true false tee xargs sha256sum uname dirname basename expr test mktemp tr timeout nohup setsid; do
    put "$(type -P "$name")" "$root/usr/bin/$name"
done
ln -s dash "$root/usr/bin/sh"
put /usr/bin/python3.11 "$root/usr/bin/python3.11"
mkdir -p "$root/usr/lib/python3.11"
tar -C /usr/lib/python3.11 --exclude=test --exclude=__pycache__ --exclude=config-3.11* --exclude=idlelib --exclude=lib2to3 -cf - . | tar -C "$root/usr/lib/python3.11" -xf -
for module in "$root"/usr/lib/python3.11/lib-dynload/*.so; do
    for library in $(ldd "$module" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p'); do
        mkdir -p "$root$(dirname "$library")"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
done
mkdir -p "$root/opt/miniconda3/bin" "$root/opt/miniconda3/envs/testbed/bin"
cat > "$root/opt/miniconda3/bin/activate" <<'END'
conda() {
    if [ "$1" = activate ]; then
        export CONDA_DEFAULT_ENV="$2" CONDA_PREFIX="/opt/miniconda3/envs/$2" PATH="/opt/miniconda3/envs/$2/bin:$PATH"
    fi
}
END
ln -s /usr/bin/python3.11 "$root/opt/miniconda3/envs/testbed/bin/python"
cat > "$root/opt/miniconda3/envs/testbed/bin/pytest" <<'END'
#!/opt/miniconda3/envs/testbed/bin/python
"""A runner with pytest's output, its conftest.py and its exit codes."""
import importlib.util, os, sys, time, traceback

sys.path.insert(0, os.getcwd())

def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def main():
    start = time.time()
    print("=" * 29, "test session starts", "=" * 29, flush=True)
    hooks = load("conftest.py", "conftest") if os.path.exists("conftest.py") else None
    results = []
    for path in [word for word in sys.argv[1:] if not word.startswith("-")]:
        module = load(path, path.replace("/", ".")[:-3])
        for name in [name for name in dir(module) if name.startswith("test_")]:
            outcome, why = "PASSED", ""
            try:
                getattr(module, name)()
            except BaseException as error:
                outcome, why = "FAILED", " - %s: %s" % (type(error).__name__, error)
            if hasattr(hooks, "pytest_runtest_makereport"):
                outcome = hooks.pytest_runtest_makereport(name, outcome)
            results.append((outcome, "%s::%s" % (path, name), why if outcome == "FAILED" else ""))
    print("=" * 27, "short test summary info", "=" * 28)
    for outcome, name, why in sorted(results, key=lambda result: result[0], reverse=True):
        print(outcome, name + why)
    count = lambda word: sum(result[0] == word for result in results)
    failed, passed = count("FAILED"), count("PASSED")
    words = ["%d failed" % failed] * bool(failed) + ["%d passed" % passed] * bool(passed)
    print("=" * 25, ", ".join(words), "in %.2fs" % (time.time() - start), "=" * 25, flush=True)
    return 1 if failed else 0

sys.exit(main())
END
chmod 755 "$root/opt/miniconda3/envs/testbed/bin/pytest"
cp -a "$2" "$root/testbed"
"#;

/// Makes the repository: a past, the problem, and a future branch with the answer.
const REPOSITORY: &str = r#"
set -eu
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='2020-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git init -q -b main .
mkdir calc tests
printf 'def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n' > calc/__init__.py
printf '# Calc\r\n' > README.md
printf '__pycache__/\n' > .gitignore
printf 'from calc import sub\n\n\ndef test_sub():\n    assert sub(3, 1) == 2\n' > tests/test_calc.py
git add -A; git commit -qm 'Add calc'; git tag v1.0
git checkout -qb future
printf 'def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n' > calc/__init__.py
git commit -qam 'Fix add: the answer is a + b'; git tag v1.1
git checkout -q main
git branch -qD future
"#;

pub const TEST_PATCH: &str = "diff --git a/tests/test_calc.py b/tests/test_calc.py\n--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n@@ -1,5 +1,9 @@\n-from calc import sub\n+from calc import add, sub\n \n \n def test_sub():\n     assert sub(3, 1) == 2\n+\n+\n+def test_add():\n+    assert add(1, 2) == 3\n";

pub const GOLD: &str = "diff --git a/calc/__init__.py b/calc/__init__.py\n--- a/calc/__init__.py\n+++ b/calc/__init__.py\n@@ -1,5 +1,5 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n \n \n def sub(a, b):\n";

/// Is the image and the row that goes with it.
pub struct Calc {
    pub row: serde_json::Value,
}

impl Calc {
    /// Says whether this machine can run containers; a missing engine fails where `HONE_REQUIRE_DOCKER=1`.
    pub fn engine() -> bool {
        let there = Command::new("docker").args(["version", "--format", "ok"]).output();
        let there = there.is_ok_and(|output| output.status.success());
        let required = std::env::var("HONE_REQUIRE_DOCKER").is_ok_and(|value| value == "1");
        assert!(there || !required, "HONE_REQUIRE_DOCKER=1, and there is no container engine");
        if !there {
            println!("no container engine: nothing ran");
        }
        there
    }

    /// Makes the image where it is missing. It is kept for later runs, under the digest of its recipe.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("repository");
        std::fs::create_dir(&repository).unwrap();
        shell(REPOSITORY, &[], &repository);
        let base = shell("git rev-parse HEAD", &[], &repository);
        let recipe = Sha256::digest(format!("{STAGE}{REPOSITORY}"));
        let tag: String = recipe.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let image = format!("hone-test-swe-calc:{tag}");
        // Test processes run side by side; one of them makes the image.
        let lock = std::env::temp_dir().join("hone-test-swe-calc.lock");
        let lock = std::fs::File::create(lock).unwrap();
        lock.lock().unwrap();
        let inspected = Command::new("docker").args(["image", "inspect", &image]).output().unwrap();
        if !inspected.status.success() {
            let root: PathBuf = dir.path().join("root");
            std::fs::create_dir(&root).unwrap();
            let words = [root.to_str().unwrap(), repository.to_str().unwrap()];
            shell(STAGE, &words, dir.path());
            let import = "tar -C \"$1\" --owner=0 --group=0 --numeric-owner -cf - . | \
                          docker import --change 'LABEL hone.test=swe' - \"$2\"";
            shell(import, &[root.to_str().unwrap(), &image], dir.path());
        }
        Self { row: row(&image, base.trim()) }
    }

    pub fn row(&self) -> Row {
        Row::from_value(&json::parse(self.row.to_string().as_bytes()).unwrap()).unwrap()
    }
}

fn row(image: &str, base: &str) -> serde_json::Value {
    let script = format!(
        "#!/bin/bash\nset -uxo pipefail\nsource /opt/miniconda3/bin/activate\nconda activate testbed\ncd /testbed\n\
         git config --global --add safe.directory /testbed\ncd /testbed\ngit status\ngit show\n\
         git -c core.fileMode=false diff {base}\nsource /opt/miniconda3/bin/activate\nconda activate testbed\n\
         git checkout {base} tests/test_calc.py\ngit apply -v - <<'EOF_114329324912'\n{TEST_PATCH}\nEOF_114329324912\n\
         : '>>>>> Start Test Output'\npytest -rA tests/test_calc.py\n: '>>>>> End Test Output'\n\
         git checkout {base} tests/test_calc.py\n"
    );
    serde_json::json!({
        "instance_id": "calc__calc-1",
        "repo": "calc/calc",
        "version": "1.0",
        "base_commit": base,
        "problem_statement": "add() subtracts",
        "hints_text": "look at the sign",
        "patch": GOLD,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": "[\"tests/test_calc.py::test_add\"]",
        "PASS_TO_PASS": "[\"tests/test_calc.py::test_sub\"]",
        "image": image,
        "eval_script": script,
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
    })
}

pub fn shell(script: &str, words: &[&str], dir: &Path) -> String {
    let mut command = Command::new("bash");
    command.arg("-c").arg(script).arg("script").args(words).current_dir(dir);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

//! The script that runs an instance's tests, as harness 5 writes it.

use super::python_text::strip;

const HEADER: [&str; 2] = ["#!/bin/bash", "set -uxo pipefail"];

/// Makes `eval.sh` out of the dataset's `eval_script`.
///
/// The script ends with a checkout of the test files and runs on after errors, so its own exit code says nothing.
/// The test command's is kept before the end marker and printed behind it, outside of what is parsed.
pub fn eval_script(column: &str) -> String {
    let mut lines: Vec<&str> =
        strip(column).split('\n').filter(|line| !HEADER.contains(line)).collect();
    if let Some(end) = lines.iter().position(|line| line.contains(">>>>> End Test Output")) {
        lines.insert(end + 1, r#"echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE""#);
        lines.insert(end, "SWEBENCH_TEST_EXIT_CODE=$?");
    }
    HEADER.into_iter().chain(lines).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::eval_script;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_exit_code_is_kept_before_the_end_marker_and_printed_behind_it() {
        assert_eq!(
            eval_script(
                "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\npytest\n: '>>>>> End Test Output'\ngit checkout x\n"
            ),
            "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\npytest\nSWEBENCH_TEST_EXIT_CODE=$?\n\
             : '>>>>> End Test Output'\necho \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\ngit checkout x\n"
        );
    }

    #[test]
    fn a_script_without_markers_is_left_as_it_is() {
        assert_eq!(eval_script("\n a \n"), "#!/bin/bash\nset -uxo pipefail\na\n");
    }
}

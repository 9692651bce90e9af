//! Small edits of an agent's source that hold on to what every descendant has. Each changes nothing
//! where it is made already: a script that runs again may see the file as it is afterwards.

/// The file that lists the tools.
pub(crate) const TOOLS: &str = "src/tools/mod.rs";

/// Tells whether the list of tools names a tool.
pub(crate) fn has_tool(tools: &str, name: &str) -> bool {
    tools.lines().any(|line| line.trim() == format!("mod {name};"))
}

/// Names a tool in the list of tools, after the tool `neighbour` or at the end.
pub(super) fn add_tool(tools: &str, name: &str, neighbour: &str) -> Option<String> {
    if has_tool(tools, name) {
        return Some(tools.to_owned());
    }
    let mut lines: Vec<String> = tools.lines().map(str::to_owned).collect();
    let module = format!("mod {name};");
    // The modules of the tools stand together and in order.
    let mut end = lines.iter().rposition(|line| line.starts_with("mod "))? + 1;
    while let Some(line) = lines[..end].last().filter(|line| line.starts_with("mod ")) {
        if *line < module {
            break;
        }
        end -= 1;
    }
    lines.insert(end, module);

    let entry = |line: &String| line.trim() == format!("{neighbour}::tool(),");
    let last = |line: &String| line.trim().ends_with("::tool(),");
    let at = lines.iter().position(entry).or_else(|| lines.iter().rposition(last))?;
    let indent: String = lines[at].chars().take_while(|c| *c == ' ').collect();
    lines.insert(at + 1, format!("{indent}{name}::tool(),"));
    Some(lines.join("\n") + "\n")
}

/// Adds lines to the `[dependencies]` of a manifest; those that are there already stay.
pub(super) fn add_dependencies(manifest: &str, wanted: &[(&str, &str)]) -> Option<String> {
    let mut lines: Vec<String> = manifest.lines().map(str::to_owned).collect();
    let start = lines.iter().position(|line| line.trim() == "[dependencies]")? + 1;
    for (name, version) in wanted {
        let end = lines[start..]
            .iter()
            .position(|line| line.trim().is_empty() || line.starts_with('['))
            .map_or(lines.len(), |length| start + length);
        let named = |line: &String| line.split(['=', '.']).next().map(str::trim) == Some(*name);
        if !lines[start..end].iter().any(named) {
            lines.insert(end, format!("{name} = \"{version}\""));
        }
    }
    Some(lines.join("\n") + "\n")
}

/// Puts a text at the end of a file, once.
pub(super) fn append(text: &str, more: &str) -> String {
    if text.ends_with(more) { text.to_owned() } else { format!("{text}{more}") }
}

/// Gives a constant of a file another value.
pub(super) fn set_constant(text: &str, name: &str, value: &str) -> Option<String> {
    let start = text.find(&format!("const {name}: "))?;
    let equals = start + text[start..].find(" = ")? + 3;
    let end = equals + text[equals..].find(';')?;
    Some(format!("{}{value}{}", &text[..equals], &text[end..]))
}

/// Puts lines at the beginning of a tool's function.
pub(super) fn begin_run(text: &str, lines: &str) -> Option<String> {
    let start = text.find("async fn run(")?;
    let body = start + text[start..].find("{\n")? + 2;
    if text[body..].starts_with(lines) {
        return Some(text.to_owned());
    }
    Some(format!("{}{lines}{}", &text[..body], &text[body..]))
}

/// Puts an entry at the top of a change log, below its heading.
pub(crate) fn add_entry(log: &str, title: &str, reason: &str) -> String {
    let entry =
        format!("## {title}\n\n* Change: {title}.\n* Hypothesis: {reason}\n* Outcome: pending\n");
    if log.contains(&entry) {
        return log.to_owned();
    }
    let first_entry = log.find("\n## ").map(|at| at + 1);
    match first_entry {
        Some(at) => format!("{}{entry}\n{}", &log[..at], &log[at..]),
        None if log.trim().is_empty() => format!("# Changes\n\n{entry}"),
        None => format!("{}\n\n{entry}", log.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::{add_dependencies, add_entry, add_tool, begin_run, has_tool, set_constant};
    use pretty_assertions::assert_eq;

    const TOOLS: &str = "mod desk;\n\nmod calculate;\nmod overwrite_file;\nmod view;\n\npub use desk::Desk;\n\n\
                         pub fn all() -> Vec<Tool> {\n    vec![\n        overwrite_file::tool(),\n        \
                         view::tool(),\n    ]\n}\n";

    #[test]
    fn a_tool_is_named_in_order_among_the_modules_and_behind_its_neighbour() {
        let added = add_tool(TOOLS, "replace", "overwrite_file").unwrap();
        assert!(has_tool(&added, "replace") && !has_tool(TOOLS, "replace"));
        let wanted = TOOLS
            .replace("mod view;", "mod replace;\nmod view;")
            .replace("        view::", "        replace::tool(),\n        view::");
        assert_eq!(added, wanted);
        assert_eq!(add_tool(&added, "replace", "overwrite_file").unwrap(), added);
    }

    #[test]
    fn a_tool_whose_neighbour_is_gone_comes_last() {
        let added = add_tool(TOOLS, "zoom", "nobody").unwrap();
        assert!(added.contains("mod view;\nmod zoom;\n\npub use"));
        assert!(added.contains("        view::tool(),\n        zoom::tool(),\n    ]"));
        assert_eq!(add_tool("nothing here\n", "zoom", "nobody"), None);
    }

    #[test]
    fn dependencies_are_added_once_at_the_end_of_their_section() {
        let manifest =
            "[dependencies]\nserde = \"1\"\nb.workspace = true\n\n[dev-dependencies]\na = \"1\"\n";
        let wanted = [("a", "2.0"), ("b", "3")];
        let added = add_dependencies(manifest, &wanted).unwrap();
        assert_eq!(added, manifest.replace("true\n\n", "true\na = \"2.0\"\n\n"));
        assert_eq!(add_dependencies(&added, &wanted).unwrap(), added);
        assert_eq!(add_dependencies("[package]\n", &wanted), None);
    }

    #[test]
    fn constants_and_functions_are_changed_where_they_are() {
        let text =
            "/// Why.\nconst MOST: usize = 100;\n\nasync fn run(a: A) -> R {\n    go(a)\n}\n";
        assert_eq!(set_constant(text, "MOST", "1").unwrap(), text.replace("100", "1"));
        assert_eq!(
            begin_run(text, "    stop();\n").unwrap(),
            text.replace("{\n", "{\n    stop();\n")
        );
        assert_eq!(set_constant(text, "LEAST", "1"), None);
        let begun = begin_run(text, "    stop();\n").unwrap();
        assert_eq!(begin_run(&begun, "    stop();\n").unwrap(), begun);
    }

    #[test]
    fn the_newest_entry_of_the_change_log_stands_first() {
        let entry = |title: &str, reason: &str| {
            format!(
                "## {title}\n\n* Change: {title}.\n* Hypothesis: {reason}\n* Outcome: pending\n"
            )
        };
        let one = add_entry("# Changes\n\nWords.\n", "One", "First.");
        assert_eq!(one, format!("# Changes\n\nWords.\n\n{}", entry("One", "First.")));
        let two = add_entry(&one, "Two", "Second.");
        assert_eq!(
            two,
            format!(
                "# Changes\n\nWords.\n\n{}\n{}",
                entry("Two", "Second."),
                entry("One", "First.")
            )
        );
        assert_eq!(add_entry(&two, "One", "First."), two);
        assert_eq!(
            add_entry("", "One", "First."),
            format!("# Changes\n\n{}", entry("One", "First."))
        );
    }
}

//! Just enough Python to know where a name in a file comes from.

/// A name that an import binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The module, absolute and with dots, `__init__` left out.
    pub module: String,
    /// The name in that module; `None` when the module itself is bound.
    pub original: Option<String>,
}

/// Finds the import that binds `name` in the text of the file at `path`.
pub(crate) fn import_of(text: &str, path: &str, name: &str) -> Option<Import> {
    statements(text).into_iter().find_map(|statement| {
        if let Some(rest) = statement.strip_prefix("from ") {
            let (module, names) = rest.split_once(" import ")?;
            let module = absolute(module.trim(), path);
            names.trim_matches(['(', ')', ' ']).split(',').find_map(|item| {
                let (original, bound) = renamed(item);
                (bound == name)
                    .then(|| Import { module: module.clone(), original: Some(original.to_owned()) })
            })
        } else {
            let names = statement.strip_prefix("import ")?;
            names.split(',').find_map(|item| {
                let (original, bound) = renamed(item);
                (bound == name).then(|| Import { module: original.to_owned(), original: None })
            })
        }
    })
}

/// Splits `a as b`; without `as` both are the same.
fn renamed(item: &str) -> (&str, &str) {
    let item = item.trim();
    item.split_once(" as ").map_or((item, item), |(a, b)| (a.trim(), b.trim()))
}

/// Lists the import statements of a file, each on one line and without comments.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if !(line.starts_with("from ") || line.starts_with("import ")) {
            continue;
        }
        let mut statement = without_comment(line).to_owned();
        while (statement.contains('(') && !statement.contains(')')) || statement.ends_with('\\') {
            let Some(more) = lines.next() else { break };
            statement = statement.trim_end_matches('\\').to_owned();
            statement.push(' ');
            statement.push_str(without_comment(more.trim()));
        }
        found.push(statement);
    }
    found
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim_end()
}

/// Resolves a module as it is written in the file at `path`.
fn absolute(module: &str, path: &str) -> String {
    let dots = module.len() - module.trim_start_matches('.').len();
    if dots == 0 {
        return module.to_owned();
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.truncate(parts.len().saturating_sub(dots));
    parts.extend(module.trim_start_matches('.').split('.').filter(|part| !part.is_empty()));
    parts.join(".")
}

/// Tells how well a file fits a module: `Some(0)` for the module itself, more for a file below the
/// package of that name, `None` for a stranger. Folders above the package, such as `src`, do not
/// count.
pub(crate) fn fit(path: &str, module: &str) -> Option<usize> {
    let path = path.strip_suffix(".py").unwrap_or(path);
    let path = path.strip_suffix("/__init__").unwrap_or(path);
    let wanted: Vec<&str> = module.split('.').collect();
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.windows(wanted.len()).position(|window| window == wanted)?;
    Some(parts.len() - at - wanted.len())
}

#[cfg(test)]
mod tests {
    use super::{Import, fit, import_of};

    const TEXT: &str = "import os, numpy as np\nfrom .models import (\n    User,  # the person\n    \
                        Group as Team,\n)\nfrom .. import tools\nfrom pkg.deep import a, \\\n    b\n";

    fn found(name: &str) -> Option<(String, Option<String>)> {
        import_of(TEXT, "src/pkg/app/views.py", name)
            .map(|Import { module, original }| (module, original))
    }

    #[test]
    fn imports_are_resolved_with_their_modules_and_original_names() {
        let some = |m: &str, o: Option<&str>| Some((m.to_owned(), o.map(str::to_owned)));
        assert_eq!(found("np"), some("numpy", None));
        assert_eq!(found("User"), some("src.pkg.app.models", Some("User")));
        assert_eq!(found("Team"), some("src.pkg.app.models", Some("Group")));
        assert_eq!(found("tools"), some("src.pkg", Some("tools")));
        assert_eq!(found("b"), some("pkg.deep", Some("b")));
        assert_eq!(found("Group"), None);
    }

    #[test]
    fn a_file_fits_its_module_better_than_the_package_it_lies_in() {
        assert_eq!(fit("src/pkg/deep.py", "pkg.deep"), Some(0));
        assert_eq!(fit("src/pkg/deep/__init__.py", "pkg.deep"), Some(0));
        assert_eq!(fit("src/pkg/deep.py", "pkg"), Some(1));
        assert_eq!(fit("src/other.py", "pkg"), None);
    }
}

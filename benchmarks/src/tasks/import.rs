//! Task folders: Hone's own layout, and that of Harbor and Terminal-Bench.
//!
//! | | own | Harbor |
//! |---|---|---|
//! | what the agent is told | `statement.md` | `instruction.md` |
//! | settings | `task.toml`: `image`, `workdir`, `verifier_seconds` | `task.toml`: `[environment]`, `[verifier]` |
//! | image | `environment/Dockerfile`, or `image`, or the host's programs | `environment/Dockerfile`, or `docker_image` |
//! | files of the work directory | `files/` | in the image |
//! | script before the agent | `setup.sh` | in the image |
//! | verifier | `verifier/verify.sh` and what lies beside it | `tests/test.sh` and what lies beside it |
//! | what the work is worth | exit code, or a number in `/logs/verifier/reward.txt` | `/logs/verifier/reward.txt` or `.json` |

use super::{Reward, TaskData};
use crate::files::{Entry, Files, FilesError, Tree, check_path};
use crate::suite::{Draft, Problem, ProblemId, Source, Suite, SuiteError};
use indexmap::IndexMap;
use serde::Deserialize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Seconds for a verifier where nothing is said; Harbor's own default.
const VERIFIER_SECONDS: f64 = 600.0;
/// Largest file of a task, in bytes.
const LARGEST: u64 = 64 << 20;
/// Most files of a task.
const MOST: usize = 20_000;

/// Why task folders cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// A file cannot be read.
    #[error("access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder is no task.
    #[error("read the task {path}: {what}")]
    NoTask {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        what: String,
    },
    /// There is no task in the folder.
    #[error(
        "find tasks in {0}: neither it nor a folder in it has a statement.md or an instruction.md"
    )]
    Empty(PathBuf),
    /// The suite cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

impl From<FilesError> for TasksError {
    fn from(source: FilesError) -> Self {
        TasksError::Suite(source.into())
    }
}

/// Settings of a task in Hone's own layout.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OwnSettings {
    image: Option<String>,
    workdir: Option<String>,
    verifier_seconds: Option<f64>,
}

/// Settings of a task in Harbor's layout, as far as they matter here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HarborSettings {
    environment: HarborEnvironment,
    verifier: HarborVerifier,
    metadata: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HarborEnvironment {
    docker_image: Option<String>,
    workdir: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HarborVerifier {
    timeout_sec: Option<f64>,
}

/// Imports a folder of task folders, or one task folder.
pub fn import(name: &str, folder: &Path) -> Result<Suite, TasksError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| TasksError::Io { path, source }
    };
    let is_task =
        |path: &Path| path.join("statement.md").is_file() || path.join("instruction.md").is_file();
    let mut folders = Vec::new();
    if is_task(folder) {
        folders.push(folder.to_owned());
    } else {
        for entry in std::fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            folders.extend(is_task(&path).then_some(path));
        }
    }
    if folders.is_empty() {
        return Err(TasksError::Empty(folder.to_owned()));
    }
    folders.sort();
    let mut files = Files::default();
    let problems =
        folders.iter().map(|path| task(path, &mut files)).collect::<Result<Vec<_>, _>>()?;
    let full = folder.canonicalize().map_err(io(folder))?;
    let source = full.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let suite = Suite::new(Draft {
        name: name.to_owned(),
        kind: "tasks".to_owned(),
        about: format!("Tasks of the folder {source}"),
        source: Source::Folder { name: source },
        seed: 0,
        options: IndexMap::new(),
        subsets: IndexMap::new(),
        problems,
        files,
    })?;
    crate::kind::check_all(&suite)?;
    Ok(suite)
}

fn task(path: &Path, files: &mut Files) -> Result<Problem, TasksError> {
    let wrong = |what: String| TasksError::NoTask { path: path.to_owned(), what };
    let read = |name: &str| -> Result<Option<String>, TasksError> {
        let file = path.join(name);
        match std::fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TasksError::Io { path: file, source }),
        }
    };
    let mut tree = |name: &str| -> Result<_, TasksError> {
        match tree_of(&path.join(name), files)? {
            Some(tree) => Ok(Some(files.add_tree(tree)?)),
            None => Ok(None),
        }
    };
    let settings = read("task.toml")?.unwrap_or_default();
    let dockerfile = match read("environment/Dockerfile")? {
        Some(text) => tree("environment")?.map(|tree| (text, tree)),
        None => None,
    };
    let stated = dockerfile.as_ref().and_then(|(text, _)| workdir(text));
    let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (data, group) = match read("instruction.md")? {
        Some(instruction) => {
            let settings: HarborSettings =
                toml::from_str(&settings).map_err(|e| wrong(format!("task.toml: {e}")))?;
            let environment = settings.environment;
            if environment.docker_image.is_none() && dockerfile.is_none() {
                let what = "there is neither environment/Dockerfile nor docker_image in task.toml";
                return Err(wrong(what.to_owned()));
            }
            if read("tests/test.sh")?.is_none() {
                return Err(wrong("there is no tests/test.sh".to_owned()));
            }
            let verifier =
                tree("tests")?.ok_or_else(|| wrong("there is no folder tests".to_owned()))?;
            let group = settings.metadata.get("category").and_then(toml::Value::as_str);
            let data = TaskData {
                instruction,
                image: environment.docker_image,
                dockerfile: dockerfile.map(|(_, tree)| tree),
                workdir: environment.workdir.or(stated).unwrap_or_else(|| "/app".to_owned()),
                prepare: None,
                verifier,
                command: ["bash", "/tests/test.sh"].map(str::to_owned).to_vec(),
                reward: Reward::File,
                verifier_seconds: settings.verifier.timeout_sec.unwrap_or(VERIFIER_SECONDS),
            };
            (data, group.map(str::to_owned))
        }
        None => {
            let settings: OwnSettings =
                toml::from_str(&settings).map_err(|e| wrong(format!("task.toml: {e}")))?;
            if read("verifier/verify.sh")?.is_none() {
                return Err(wrong("there is no verifier/verify.sh".to_owned()));
            }
            let verifier =
                tree("verifier")?.ok_or_else(|| wrong("there is no folder verifier".to_owned()))?;
            let data = TaskData {
                instruction: read("statement.md")?.unwrap_or_default(),
                image: settings.image,
                dockerfile: dockerfile.map(|(_, tree)| tree),
                workdir: settings.workdir.or(stated).unwrap_or_else(|| "/work".to_owned()),
                prepare: read("setup.sh")?,
                verifier,
                command: ["sh", "/tests/verify.sh"].map(str::to_owned).to_vec(),
                reward: Reward::ExitCode,
                verifier_seconds: settings.verifier_seconds.unwrap_or(VERIFIER_SECONDS),
            };
            (data, None)
        }
    };
    let own_files = tree("files")?;
    Ok(Problem { id: ProblemId(id), group, tree: own_files, data: serde_json::json!(data) })
}

/// Returns the last `WORKDIR` of a Dockerfile, where it is an absolute path without variables.
fn workdir(dockerfile: &str) -> Option<String> {
    let mut at: Option<String> = None;
    for line in dockerfile.lines() {
        let mut words = line.split_whitespace();
        match words.next().map(str::to_ascii_uppercase).as_deref() {
            Some("FROM") => at = None,
            Some("WORKDIR") => {
                let path = words.next()?.trim_matches('"').trim_end_matches('/');
                at = match (path.starts_with('/'), &at) {
                    (true, _) => Some(path.to_owned()),
                    (false, Some(before)) => Some(format!("{before}/{path}")),
                    (false, None) => Some(format!("/{path}")),
                };
            }
            _ => {}
        }
    }
    at.filter(|path| !path.contains('$') && path.len() > 1)
}

/// Reads a folder; `None` where there is none. Links are refused: they would lead out of the suite.
fn tree_of(folder: &Path, files: &mut Files) -> Result<Option<Tree>, TasksError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut tree = Tree::new();
    let mut open = vec![(folder.to_owned(), String::new())];
    while let Some((place, prefix)) = open.pop() {
        let io = |source| TasksError::Io { path: place.clone(), source };
        for entry in std::fs::read_dir(&place).map_err(io)? {
            let entry = entry.map_err(io)?;
            let path = entry.path();
            let wrong =
                |what: &str| TasksError::NoTask { path: path.clone(), what: what.to_owned() };
            let name =
                entry.file_name().into_string().map_err(|_| wrong("its name is no UTF-8"))?;
            let name = format!("{prefix}{name}");
            let metadata = entry.metadata().map_err(io)?;
            if metadata.is_dir() {
                open.push((path, format!("{name}/")));
                continue;
            }
            if !metadata.is_file() {
                return Err(wrong("it is no plain file; links are not taken"));
            }
            if metadata.len() > LARGEST {
                return Err(wrong("it is larger than 64 MiB"));
            }
            if tree.len() == MOST {
                return Err(wrong("there are too many files"));
            }
            check_path(&name)?;
            let bytes = std::fs::read(&path).map_err(io)?;
            let executable = metadata.permissions().mode() & 0o111 != 0;
            tree.insert(name, Entry { content: files.add_content(&bytes), executable });
        }
    }
    Ok(Some(tree))
}

#[cfg(test)]
mod tests {
    use super::workdir;

    #[test]
    fn the_last_work_directory_of_the_last_stage_counts() {
        for (text, expected) in [
            ("FROM a\nWORKDIR /app\nRUN x\nWORKDIR sub\n", Some("/app/sub")),
            ("FROM a\nWORKDIR /app/\n", Some("/app")),
            ("FROM a\nWORKDIR /app\nFROM b\n", None),
            ("FROM a\nWORKDIR $HOME/x\n", None),
            ("FROM a\nWORKDIR /\n", None),
        ] {
            assert_eq!(workdir(text).as_deref(), expected, "{text}");
        }
    }
}

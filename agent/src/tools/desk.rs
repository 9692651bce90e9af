//! What a tool has before it: the files, the memory and the trial of the agent that called it.

use super::ToolError;
use crate::archive::Archive;
use crate::context::{Files, Memory, Shown, files};
use crate::structures::{Course, Structure};
use crate::trial::Trial;
use hone_protocol::{EventKind, NodeId};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;

/// A longer file would fill the context.
const LONGEST_FILE: u64 = 256 * 1024;

/// The desk of one agent.
pub struct Desk {
    /// What all agents of the job share.
    pub trial: Rc<Trial>,
    /// The agent's node in the call graph.
    pub node: NodeId,
    /// The files that are open.
    pub files: Files,
    /// The working memory.
    pub memory: Memory,
    /// The structure that the agent is in.
    pub course: Option<Course>,
    /// What the model is shown after the result of the call.
    pub shown: Vec<Shown>,
    /// Set by a tool that wants the core prompt written anew.
    pub regenerate: bool,
    /// Set by a tool that ends the agent.
    pub finish: Option<Finish>,
}

/// How an agent wants to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The job is done.
    Complete(String),
    /// The value for the agent above.
    Return(String),
    /// The agent cannot go on, for this reason.
    GiveUp(String),
}

impl Desk {
    /// Prepares the desk of a node.
    pub fn new(trial: Rc<Trial>, node: NodeId) -> Self {
        Desk {
            trial,
            node,
            files: Files::default(),
            memory: Memory::default(),
            course: None,
            shown: Vec::new(),
            regenerate: false,
            finish: None,
        }
    }

    /// Notes that something happened.
    pub fn emit(&self, kind: EventKind) {
        self.trial.events.emit(&self.node, kind);
    }

    /// Returns the archive of agents.
    pub fn archive(&self) -> Result<Archive, ToolError> {
        let root = self.trial.workspace.archive();
        root.map(Archive::new).ok_or_else(|| ToolError::refused("this job has no archive"))
    }

    /// Begins a structure; returns the words of its first step.
    pub fn begin(&mut self, structure: &'static Structure) -> Result<String, String> {
        if let Some(course) = &self.course {
            return Err(format!("you are in a structure already.\n{}", course.words()));
        }
        let course = Course::begin(structure, self.trial.workspace.root());
        let words = course.words();
        self.course = Some(course);
        Ok(words)
    }

    /// Opens a file and shows it, unless the model sees it as it is already. Returns what to say.
    pub fn open(&mut self, path: &str) -> Result<String, String> {
        let place = self.trial.workspace.readable(path)?;
        let path = self.trial.workspace.name(&place);
        let content = read(&place)?;
        if self.files.seen(&path) == Some(content.as_str()) {
            return Ok(format!("{path} is open already and has not changed"));
        }
        let line = format!("opened {path} ({} lines)", content.lines().count());
        self.emit(EventKind::FileOpened { path: path.clone() });
        self.files.see(&path, content.clone());
        self.shown.push(Shown::File { path, content });
        Ok(line)
    }

    /// Writes a file as a whole. An existing one has to be open, and as it was seen. The change is
    /// shown as a diff. Returns what to say.
    pub fn write(&mut self, path: &str, content: &str) -> Result<String, String> {
        let place = self.trial.workspace.writable(path)?;
        let path = self.trial.workspace.name(&place);
        let before = match place.symlink_metadata() {
            Ok(_) => Some(self.as_seen(&path, &place)?),
            Err(_) => None,
        };
        if before.as_deref() == Some(content) {
            return Err(format!("{path} has exactly this content already; nothing was changed"));
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)
                .map_err(|error| format!("{path} was not written: {error}"))?;
        }
        fs::write(&place, content).map_err(|error| format!("{path} was not written: {error}"))?;
        let diff = files::diff(&path, before.as_deref().unwrap_or_default(), content);
        self.files.see(&path, content.to_owned());
        let line = match before {
            None => {
                // The model has just written all of it: no need to show it again.
                self.emit(EventKind::FileOpened { path: path.clone() });
                format!("created {path} ({} lines); it is open", content.lines().count())
            }
            Some(_) => {
                self.shown.push(Shown::Diff { path: path.clone(), diff: diff.clone() });
                format!("wrote {path} ({} lines)", content.lines().count())
            }
        };
        self.emit(EventKind::FileEdited { path, diff });
        Ok(line)
    }

    /// Returns the content of a file that is to be changed, if the model has seen it as it is. When
    /// it has changed since, the change is shown.
    pub fn as_seen(&mut self, path: &str, place: &Path) -> Result<String, String> {
        let content = read(place)?;
        match self.files.seen(path) {
            None => Err(format!("{path} exists and is not open; open it first with open_files")),
            Some(seen) if seen == content => Ok(content),
            Some(seen) => {
                let diff = files::diff(path, seen, &content);
                self.files.see(path, content);
                self.shown.push(Shown::Diff { path: path.to_owned(), diff });
                Err(format!(
                    "{path} has changed on disk since you saw it, and was not written; the change is \
                     shown below, write the file again with it in mind"
                ))
            }
        }
    }

    /// Compares the open files with the disk and shows what has changed there.
    pub fn refresh(&mut self) {
        let paths: Vec<String> = self.files.paths().map(str::to_owned).collect();
        for path in paths {
            let Ok(place) = self.trial.workspace.readable(&path) else { continue };
            let Some(seen) = self.files.seen(&path) else { continue };
            match read(&place) {
                Ok(content) if content == seen => {}
                Ok(content) => {
                    let diff = files::diff(&path, seen, &content);
                    self.files.see(&path, content);
                    self.emit(EventKind::FileEdited { path: path.clone(), diff: diff.clone() });
                    self.shown.push(Shown::Diff { path, diff });
                }
                Err(problem) => {
                    self.files.close(&path);
                    self.emit(EventKind::FileClosed { path: path.clone() });
                    let text = format!("{path} is no longer open: {problem}");
                    self.shown.push(Shown::Remark(text));
                }
            }
        }
    }
}

/// Reads a text file; an error says what to do instead.
fn read(place: &Path) -> Result<String, String> {
    let metadata = fs::metadata(place).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file; look with view_directory".to_owned(),
        _ => format!("it cannot be read: {error}"),
    })?;
    if metadata.is_dir() {
        return Err("it is a directory; look at it with view_directory".to_owned());
    }
    if metadata.len() > LONGEST_FILE {
        return Err(format!(
            "it has {} bytes, more than the {LONGEST_FILE} that can be open; find the part that \
             matters with search_text",
            metadata.len()
        ));
    }
    let bytes = fs::read(place).map_err(|error| format!("it cannot be read: {error}"))?;
    String::from_utf8(bytes)
        .map_err(|_| "it holds bytes that are not UTF-8; use a command to look at it".to_owned())
}

//! Follows names through imports, over the files of a snapshot.

use super::module::{Binding, Import, Module, Symbol, Use, parser};
use crate::origin::SourceFile;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};
use tree_sitter::Parser;

/// How many imports and base classes are followed.
const STEPS: usize = 10;

/// Folders that are commonly on Python's path, beside those around a file.
const ROOTS: [&str; 4] = ["", "src", "lib", "python"];

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    Class(usize, usize),
    Symbol(usize, Symbol),
}

/// A file as an import sees it.
struct Home<'a> {
    /// The folder that would be on Python's path.
    root: &'a str,
    /// The dotted name below it.
    dotted: String,
    is_package: bool,
}

/// Reads modules when they are needed, and each once. Threads may share it.
pub(super) struct Resolver<'a> {
    files: &'a [SourceFile],
    homes: Vec<Home<'a>>,
    by_name: HashMap<String, Vec<usize>>,
    modules: Vec<OnceLock<Option<Module>>>,
    /// Parsers that no thread uses at the moment.
    parsers: Mutex<Vec<Parser>>,
}

impl<'a> Resolver<'a> {
    /// Lays out the files; reads none.
    pub fn new(files: &'a [SourceFile]) -> Option<Self> {
        let packages: HashSet<&str> =
            files.iter().filter_map(|(path, _)| path.strip_suffix("/__init__.py")).collect();
        let homes: Vec<Home<'a>> = files.iter().map(|(path, _)| home(path, &packages)).collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, home) in homes.iter().enumerate() {
            by_name.entry(home.dotted.clone()).or_default().push(number);
        }
        let modules = files.iter().map(|_| OnceLock::new()).collect();
        Some(Resolver { files, homes, by_name, modules, parsers: vec![parser()?].into() })
    }

    /// Returns a file as it was read; `None` when it cannot be.
    pub fn module(&self, file: usize) -> Option<&Module> {
        let read = || {
            // A parser is plain memory: one that another thread died with is just not there.
            let parsers = || self.parsers.lock().unwrap_or_else(PoisonError::into_inner);
            let spare = parsers().pop();
            let mut parser = spare.or_else(parser)?;
            let module = Module::read(&mut parser, &self.files[file].1);
            parsers().push(parser);
            module
        };
        self.modules[file].get_or_init(read).as_ref()
    }

    /// Returns the definition that a use in a file means, and its file, when it is certain and stands in another file.
    pub fn definition(&self, file: usize, usage: &Use) -> Option<(usize, Symbol)> {
        let target = match usage.of_super {
            Some(class) => self.of_base(file, class, usage.chain.first()?, STEPS)?,
            None => self.chain(file, &usage.chain, STEPS)?,
        };
        let (home, symbol) = match target {
            Target::Symbol(home, symbol) => (home, symbol),
            Target::Class(home, class) => (home, self.module(home)?.classes[class].symbol.clone()),
            Target::Module(_) => return None,
        };
        (home != file).then_some((home, symbol))
    }

    fn chain(&self, file: usize, names: &[String], steps: usize) -> Option<Target> {
        let (first, rest) = names.split_first()?;
        let start = self.name(file, first, steps)?;
        rest.iter().try_fold(start, |target, name| self.attribute(&target, name, steps))
    }

    /// Looks a name up in a module, when it is bound there exactly once.
    fn name(&self, file: usize, name: &str, steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let module = self.module(file).filter(|module| !module.has_star)?;
        let [binding] = module.bindings.get(name)?.as_slice() else { return None };
        match binding {
            Binding::Symbol(symbol) => Some(Target::Symbol(file, symbol.clone())),
            Binding::Class(class) => Some(Target::Class(file, *class)),
            Binding::Import(Import::Root(root)) => self.find(file, root).map(Target::Module),
            Binding::Import(Import::Module(path)) => self.find(file, path).map(Target::Module),
            Binding::Import(Import::From { dots, module, name }) => {
                let from = match dots {
                    0 => self.find(file, module)?,
                    dots => self.find_relative(file, *dots, module)?,
                };
                self.attribute(&Target::Module(from), name, steps)
            }
            Binding::Other => None,
        }
    }

    fn attribute(&self, target: &Target, name: &str, steps: usize) -> Option<Target> {
        match target {
            Target::Module(file) => {
                let module = self.module(*file)?;
                let submodule = self.homes[*file]
                    .is_package
                    .then(|| self.sibling(*file, &format!("{}.{name}", self.homes[*file].dotted)));
                match (module.bindings.contains_key(name), submodule.flatten()) {
                    (true, None) => self.name(*file, name, steps),
                    (false, Some(found)) if !module.has_star => Some(Target::Module(found)),
                    _ => None,
                }
            }
            Target::Class(file, class) => self.member(*file, *class, name, steps),
            Target::Symbol(..) => None,
        }
    }

    /// Looks a name up in a class and then in its bases.
    fn member(&self, file: usize, class: usize, name: &str, steps: usize) -> Option<Target> {
        match self.module(file)?.classes.get(class)?.members.get(name).map(Vec::as_slice) {
            Some([Binding::Symbol(symbol)]) => Some(Target::Symbol(file, symbol.clone())),
            Some(_) => None,
            None => self.of_base(file, class, name, steps),
        }
    }

    /// Looks a name up in the only base of a class; with several, the order in which Python asks them depends
    /// on classes that are not seen here.
    fn of_base(&self, file: usize, class: usize, name: &str, steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let bases = self.module(file)?.classes.get(class)?.bases.as_deref()?;
        let [base] = bases else { return None };
        match self.chain(file, base, steps)? {
            Target::Class(home, base) => self.member(home, base, name, steps),
            _ => None,
        }
    }

    /// Finds the only file that a dotted name can mean in a file.
    fn find(&self, file: usize, dotted: &str) -> Option<usize> {
        let own = self.homes[file].root;
        let is_seen = |root: &str| {
            ROOTS.contains(&root)
                || own == root
                || own.strip_prefix(root).is_some_and(|r| r.starts_with('/'))
        };
        let mut found =
            self.by_name.get(dotted)?.iter().filter(|at| is_seen(self.homes[**at].root));
        match (found.next(), found.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    /// Finds the only file with a dotted name below the root of another file.
    fn sibling(&self, file: usize, dotted: &str) -> Option<usize> {
        let root = self.homes[file].root;
        let mut found = self.by_name.get(dotted)?.iter().filter(|at| self.homes[**at].root == root);
        match (found.next(), found.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    fn find_relative(&self, file: usize, dots: usize, module: &str) -> Option<usize> {
        let home = &self.homes[file];
        let mut parts: Vec<&str> = home.dotted.split('.').collect();
        let up = if home.is_package { dots - 1 } else { dots };
        parts.truncate(parts.len().checked_sub(up)?);
        parts.extend(module.split('.').filter(|part| !part.is_empty()));
        (!parts.is_empty()).then(|| self.sibling(file, &parts.join("."))).flatten()
    }
}

fn home<'a>(path: &'a str, packages: &HashSet<&str>) -> Home<'a> {
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let package = stem.strip_suffix("/__init__");
    let inside = package.unwrap_or(stem);
    let mut root = crate::origin::folder(inside);
    while packages.contains(root) {
        root = crate::origin::folder(root);
    }
    let below = inside.strip_prefix(root).unwrap_or(inside).trim_start_matches('/');
    Home { root, dotted: below.replace('/', "."), is_package: package.is_some() }
}

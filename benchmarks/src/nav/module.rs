//! One Python file, read with tree-sitter: what it binds, and what it uses.
//!
//! Where Python's rules are intricate, the reading errs towards binding too much: a name that might be bound twice
//! is left out of all problems, so nothing is asked that has two answers.

use super::SymbolKind;
use std::collections::{HashMap, HashSet};
use tree_sitter::{Node, Parser};

/// Largest file that is read, in bytes.
const LARGEST: usize = 400 << 10;

/// How deep expressions may nest before the rest is passed over.
const DEPTH: usize = 400;

/// A definition: where its name stands, rows from 0 and columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    pub row: usize,
    pub column: usize,
}

/// An import, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Import {
    /// `from MODULE import NAME`, with the number of leading dots.
    From { dots: usize, module: String, name: String },
    /// `import MODULE as …`.
    Module(String),
    /// `import ROOT.…`, which binds the root.
    Root(String),
}

/// What a name is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Symbol(Symbol),
    /// A class, by its number in [`Module::classes`].
    Class(usize),
    Import(Import),
    Other,
}

/// All bindings of the names of a scope.
pub(super) type Bindings = HashMap<String, Vec<Binding>>;

/// A class that stands in a module itself.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub symbol: Symbol,
    /// Its bases as dotted names; `None` where one is another expression.
    pub bases: Option<Vec<Vec<String>>>,
    pub members: Bindings,
}

/// A use of a name: `a`, or `a.b.c` at `c`, or `super().c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub chain: Vec<String>,
    /// For `super().c`, the class around it.
    pub of_super: Option<usize>,
    pub row: usize,
    pub column: usize,
}

/// A file as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub bindings: Bindings,
    /// Whether there is a `from … import *`, after which any name may be bound to anything.
    pub has_star: bool,
    pub classes: Vec<Class>,
    pub uses: Vec<Use>,
}

impl Module {
    /// Reads a file; `None` when it is too large, is no UTF-8, has line ends that count in one tool and not in
    /// another, or does not parse.
    pub fn read(parser: &mut Parser, bytes: &[u8]) -> Option<Module> {
        let text = std::str::from_utf8(bytes).ok()?;
        let odd_line_ends = text
            .contains(['\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'])
            || text.replace("\r\n", "\n").contains('\r');
        if text.len() > LARGEST || text.starts_with('\u{feff}') || odd_line_ends {
            return None;
        }
        let tree = parser.parse(text, None)?;
        let root = tree.root_node();
        if root.has_error() {
            return None;
        }
        let mut reader = Reader { text, module: Module::default(), scopes: Vec::new() };
        let mut bindings = Bindings::new();
        reader.collect(root, Owner::Module, &mut bindings, 0);
        reader.module.bindings = bindings;
        reader.walk(root, 0);
        Some(reader.module)
    }
}

/// Whose names are collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Module,
    Class,
    Function,
}

/// A scope around the place that is walked, the module's own left out.
struct Scope {
    class: Option<usize>,
    is_class: bool,
    names: HashSet<String>,
}

struct Reader<'t> {
    text: &'t str,
    module: Module,
    scopes: Vec<Scope>,
}

impl<'t> Reader<'t> {
    fn words(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the row and the column in characters.
    fn place(&self, node: Node<'_>) -> (usize, usize) {
        let start = node.start_position();
        let line = node.start_byte() - start.column;
        let before = self.text.get(line..node.start_byte()).unwrap_or_default();
        (start.row, before.chars().count())
    }

    fn bind(&self, bindings: &mut Bindings, name: &str, binding: Binding) {
        bindings.entry(name.to_owned()).or_default().push(binding);
    }

    /// Collects what a body binds, without the bodies of functions and classes in it.
    fn collect(&mut self, node: Node<'t>, owner: Owner, found: &mut Bindings, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match node.kind() {
            "function_definition" => self.collect_function(node, owner, found),
            "class_definition" => self.collect_class(node, owner, found),
            "lambda" => {}
            "import_statement" | "import_from_statement" => self.collect_import(node, found),
            "future_import_statement" => {}
            "assignment" => {
                let right = node.child_by_field_name("right");
                if let Some(left) = node.child_by_field_name("left") {
                    let simple = left.kind() == "identifier" && right.is_some();
                    let name = self.words(left);
                    if simple && owner == Owner::Module && is_constant(name) {
                        let (row, column) = self.place(left);
                        let kind = SymbolKind::Constant;
                        let symbol = Symbol { name: name.to_owned(), kind, row, column };
                        self.bind(found, name, Binding::Symbol(symbol));
                    } else {
                        self.targets(left, found);
                    }
                }
                if let Some(right) = right {
                    self.collect(right, owner, found, depth + 1);
                }
            }
            "global_statement" | "nonlocal_statement" | "delete_statement" | "case_pattern" => {
                self.identifiers(node, found, depth);
            }
            kind => {
                let bound: &[&str] = match kind {
                    "augmented_assignment" | "for_statement" | "for_in_clause" => &["left"],
                    "type_alias_statement" => &["left"],
                    "named_expression" => &["name"],
                    "as_pattern" | "except_clause" => &["alias"],
                    _ => &[],
                };
                for field in bound {
                    if let Some(target) = node.child_by_field_name(field) {
                        self.targets(target, found);
                    }
                }
                for child in children(node) {
                    self.collect(child, owner, found, depth + 1);
                }
            }
        }
    }

    fn collect_function(&mut self, node: Node<'t>, owner: Owner, found: &mut Bindings) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let (row, column) = self.place(name);
        let is_async = node.child(0).is_some_and(|first| first.kind() == "async");
        let kind = match (is_async, owner) {
            (true, _) => SymbolKind::AsyncFunction,
            (false, Owner::Class) => SymbolKind::Method,
            (false, _) => SymbolKind::Function,
        };
        let name = self.words(name);
        let symbol = Symbol { name: name.to_owned(), kind, row, column };
        self.bind(found, name, Binding::Symbol(symbol));
    }

    fn collect_class(&mut self, node: Node<'t>, owner: Owner, found: &mut Bindings) {
        let Some(name) = node.child_by_field_name("name") else { return };
        if owner != Owner::Module {
            self.bind(found, self.words(name), Binding::Other);
            return;
        }
        let (row, column) = self.place(name);
        let mut bases = Some(Vec::new());
        for base in node.child_by_field_name("superclasses").into_iter().flat_map(children) {
            match base.kind() {
                "comment" | "keyword_argument" => {}
                _ => match (self.chain(base), bases.as_mut()) {
                    (Some(chain), Some(bases)) => bases.push(chain),
                    _ => bases = None,
                },
            }
        }
        let mut members = Bindings::new();
        if let Some(body) = node.child_by_field_name("body") {
            self.collect(body, Owner::Class, &mut members, 0);
        }
        let symbol =
            Symbol { name: self.words(name).to_owned(), kind: SymbolKind::Class, row, column };
        self.module.classes.push(Class { symbol, bases, members });
        self.bind(found, self.words(name), Binding::Class(self.module.classes.len() - 1));
    }

    fn collect_import(&mut self, node: Node<'t>, found: &mut Bindings) {
        let module = node.child_by_field_name("module_name");
        let (mut dots, mut from) = (0, String::new());
        for part in module.into_iter().flat_map(|m| match m.kind() {
            "relative_import" => children(m).collect(),
            _ => vec![m],
        }) {
            match part.kind() {
                "import_prefix" => dots = self.words(part).matches('.').count(),
                _ => from = self.words(part).split_whitespace().collect(),
            }
        }
        if children(node).any(|child| child.kind() == "wildcard_import") {
            self.module.has_star = true;
        }
        for item in node.children_by_field_name("name", &mut node.walk()) {
            let (path, alias) = match item.kind() {
                "aliased_import" => {
                    (item.child_by_field_name("name"), item.child_by_field_name("alias"))
                }
                _ => (Some(item), None),
            };
            let path: String =
                path.map(|p| self.words(p).split_whitespace().collect()).unwrap_or_default();
            let root = path.split('.').next().unwrap_or_default().to_owned();
            let alias = alias.map(|alias| self.words(alias).to_owned());
            let import = match (&module, &alias) {
                (Some(_), _) => Import::From { dots, module: from.clone(), name: path.clone() },
                (None, Some(_)) => Import::Module(path.clone()),
                (None, None) => Import::Root(root.clone()),
            };
            let bound = alias.unwrap_or(if module.is_some() { path } else { root });
            let binding = Binding::Import(import);
            // `import a.b` and `import a.c` bind `a` to the same module.
            let known = matches!(&binding, Binding::Import(Import::Root(_)))
                && found.get(&bound).is_some_and(|old| old.contains(&binding));
            if !known {
                self.bind(found, &bound, binding);
            }
        }
    }

    /// Binds the names of a target; `a.b` and `a[b]` bind nothing.
    fn targets(&self, node: Node<'t>, found: &mut Bindings) {
        match node.kind() {
            "identifier" => self.bind(found, self.words(node), Binding::Other),
            "attribute" | "subscript" => {}
            _ => children(node).for_each(|child| self.targets(child, found)),
        }
    }

    fn identifiers(&self, node: Node<'t>, found: &mut Bindings, depth: usize) {
        if node.kind() == "identifier" {
            self.bind(found, self.words(node), Binding::Other);
        }
        if depth <= DEPTH {
            children(node).for_each(|child| self.identifiers(child, found, depth + 1));
        }
    }

    /// Reads `a.b.c`; `None` for any other expression.
    fn chain(&self, node: Node<'t>) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut node = node;
        while node.kind() == "attribute" {
            names.push(self.words(node.child_by_field_name("attribute")?).to_owned());
            node = node.child_by_field_name("object")?;
        }
        (node.kind() == "identifier").then(|| names.push(self.words(node).to_owned()))?;
        names.reverse();
        Some(names)
    }

    /// Walks over expressions and notes the uses of names that the module binds.
    fn walk(&mut self, node: Node<'t>, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "import_statement" | "import_from_statement" | "future_import_statement" => {}
            "global_statement" => {
                // What a function declares global may be bound by it at any time.
                let mut names = Bindings::new();
                self.identifiers(node, &mut names, depth);
                for (name, bindings) in names {
                    self.module.bindings.entry(name).or_default().extend(bindings);
                }
            }
            "nonlocal_statement" | "delete_statement" | "case_pattern" => {}
            "function_definition" | "lambda" => self.walk_function(node, depth),
            "class_definition" => self.walk_class(node, depth),
            "keyword_argument" | "named_expression" => self.walk_all(field("value"), depth),
            "assignment" => {
                if let Some(left) = field("left").filter(|left| !is_pattern(*left)) {
                    // A store to `a.b` uses `a`, a store to `a[b]` uses both.
                    let used = match left.kind() {
                        "attribute" => left.child_by_field_name("object"),
                        _ => Some(left),
                    };
                    self.walk_all(used, depth);
                }
                self.walk_all(field("type"), depth);
                self.walk_all(field("right"), depth);
            }
            "augmented_assignment" => self.walk_all(field("right"), depth),
            "for_statement" | "for_in_clause" | "as_pattern" | "except_clause" => {
                let target = field("left").or_else(|| field("alias"));
                for child in children(node).filter(|child| Some(*child) != target) {
                    self.walk(child, depth + 1);
                }
            }
            "attribute" => {
                if let Some(name) = field("attribute") {
                    self.note(self.chain(node), name);
                    self.note_super(field("object"), name);
                }
                self.walk_all(field("object"), depth);
            }
            "identifier" => self.note(Some(vec![self.words(node).to_owned()]), node),
            _ => children(node).for_each(|child| self.walk(child, depth + 1)),
        }
    }

    fn walk_all(&mut self, nodes: impl IntoIterator<Item = Node<'t>>, depth: usize) {
        nodes.into_iter().for_each(|node| self.walk(node, depth + 1));
    }

    fn walk_function(&mut self, node: Node<'t>, depth: usize) {
        let mut names = Bindings::new();
        let field = |name| node.child_by_field_name(name);
        if let Some(generic) = field("type_parameters") {
            self.identifiers(generic, &mut names, depth);
        }
        for parameter in field("parameters").into_iter().flat_map(children) {
            let name = parameter.child_by_field_name("name");
            let name = name.or_else(|| match parameter.kind() {
                "typed_parameter" => parameter.named_child(0),
                _ => Some(parameter),
            });
            if let Some(name) = name {
                self.identifiers(name, &mut names, depth);
            }
            self.walk_all(parameter.child_by_field_name("type"), depth);
            self.walk_all(parameter.child_by_field_name("value"), depth);
        }
        self.walk_all(field("return_type"), depth);
        let Some(body) = field("body") else { return };
        self.collect(body, Owner::Function, &mut names, depth);
        let class = self.scopes.last().and_then(|scope| scope.class);
        self.inside(
            Scope { class, is_class: false, names: names.into_keys().collect() },
            body,
            depth,
        );
    }

    fn walk_class(&mut self, node: Node<'t>, depth: usize) {
        let field = |name| node.child_by_field_name(name);
        let mut names = Bindings::new();
        if let Some(generic) = field("type_parameters") {
            self.identifiers(generic, &mut names, depth);
        }
        self.walk_all(field("superclasses"), depth);
        let Some(body) = field("body") else { return };
        self.collect(body, Owner::Class, &mut names, depth);
        let place = field("name").map(|name| self.place(name));
        let class = self
            .module
            .classes
            .iter()
            .position(|class| place == Some((class.symbol.row, class.symbol.column)));
        self.inside(
            Scope { class, is_class: true, names: names.into_keys().collect() },
            body,
            depth,
        );
    }

    fn inside(&mut self, scope: Scope, body: Node<'t>, depth: usize) {
        self.scopes.push(scope);
        self.walk(body, depth + 1);
        self.scopes.pop();
    }

    fn note(&mut self, chain: Option<Vec<String>>, at: Node<'t>) {
        let Some(chain) = chain else { return };
        let Some(first) = chain.first() else { return };
        // A class's names are seen in its body alone, not in the functions in it.
        let innermost = self.scopes.len().saturating_sub(1);
        let hidden = self.scopes.iter().enumerate().any(|(number, scope)| {
            (!scope.is_class || number == innermost) && scope.names.contains(first)
        });
        if hidden || !self.module.bindings.contains_key(first) {
            return;
        }
        let (row, column) = self.place(at);
        self.module.uses.push(Use { chain, of_super: None, row, column });
    }

    fn note_super(&mut self, object: Option<Node<'t>>, at: Node<'t>) {
        let is_super = object.is_some_and(|object| self.words(object) == "super()");
        let Some(class) = self.scopes.last().filter(|s| !s.is_class).and_then(|s| s.class) else {
            return;
        };
        if is_super {
            let (row, column) = self.place(at);
            let chain = vec![self.words(at).to_owned()];
            self.module.uses.push(Use { chain, of_super: Some(class), row, column });
        }
    }
}

fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        while more {
            let child = cursor.node();
            more = cursor.goto_next_sibling();
            if child.is_named() {
                return Some(child);
            }
        }
        None
    })
}

fn is_pattern(node: Node<'_>) -> bool {
    matches!(node.kind(), "identifier" | "pattern_list" | "tuple_pattern" | "list_pattern")
}

fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Returns a parser of Python; `None` when the grammar does not fit the library, which a test rules out.
pub(super) fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    Some(parser)
}

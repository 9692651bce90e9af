//! Expressions of school mathematics, in LaTeX or plain, compared by their values at some points.

/// How deep an expression may nest.
const DEPTH: usize = 100;

/// Points at which expressions with variables are compared.
const POINTS: u64 = 6;

/// Values that are equal but for rounding differ by less than this share.
const CLOSE: f64 = 1e-9;

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Variable(char),
    Negative(Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
    Function(&'static str, Box<Node>),
    /// The root of this degree.
    Root(Box<Node>, Box<Node>),
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression(Node);

const FUNCTIONS: [&str; 10] =
    ["arcsin", "arccos", "arctan", "sin", "cos", "tan", "ln", "log", "exp", "abs"];

impl Expression {
    /// Parses a text without white space; `None` when it is none, or has something left over.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        let node = parser.sum()?;
        parser.rest.is_empty().then_some(Expression(node))
    }

    /// Tells whether this is a number as it is written: digits, a sign, one fraction of such.
    pub fn is_number(&self) -> bool {
        fn literal(node: &Node) -> bool {
            match node {
                Node::Number(_) => true,
                Node::Negative(inner) => literal(inner),
                _ => false,
            }
        }
        match &self.0 {
            Node::Binary('/', above, below) => literal(above) && literal(below),
            Node::Negative(inner) => Expression((**inner).clone()).is_number(),
            node => literal(node),
        }
    }

    /// Tells whether both have the same variables and the same values.
    pub fn equals(&self, other: &Expression) -> bool {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        variables(&self.0, &mut ours);
        variables(&other.0, &mut theirs);
        ours.sort_unstable();
        ours.dedup();
        theirs.sort_unstable();
        theirs.dedup();
        let points = if ours.is_empty() && theirs.is_empty() { 1 } else { POINTS };
        let mut compared = 0;
        for point in 0..points {
            let (a, b) = (value(&self.0, point), value(&other.0, point));
            match (a.is_finite(), b.is_finite()) {
                (true, true) if (a - b).abs() <= CLOSE * a.abs().max(b.abs()).max(1e-6) => {
                    compared += 1
                }
                (false, false) => {}
                _ => return false,
            }
        }
        compared > 0
    }
}

fn variables(node: &Node, found: &mut Vec<char>) {
    match node {
        Node::Number(_) => {}
        Node::Variable(name) => found.push(*name),
        Node::Negative(inner) | Node::Function(_, inner) => variables(inner, found),
        Node::Binary(_, a, b) | Node::Root(a, b) => {
            variables(a, found);
            variables(b, found);
        }
    }
}

/// Returns the value at a point; variables have values of both signs that no formula singles out.
fn value(node: &Node, point: u64) -> f64 {
    let of = |node: &Node| value(node, point);
    match node {
        Node::Number(number) => *number,
        Node::Variable(name) => {
            let mixed = (u64::from(*name as u32) + 131 * point).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let share = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
            let sign = if point % 3 == 2 { -1.0 } else { 1.0 };
            sign * (0.3 + 2.4 * share)
        }
        Node::Negative(inner) => -of(inner),
        Node::Binary(operator, a, b) => match (operator, of(a), of(b)) {
            ('+', a, b) => a + b,
            ('-', a, b) => a - b,
            ('*', a, b) => a * b,
            ('/', a, b) => a / b,
            (_, a, b) => a.powf(b),
        },
        Node::Root(degree, inner) => {
            let (degree, inner) = (of(degree), of(inner));
            let is_odd = degree.rem_euclid(2.0) == 1.0;
            if inner < 0.0 && is_odd {
                -(-inner).powf(1.0 / degree)
            } else {
                inner.powf(1.0 / degree)
            }
        }
        Node::Function(name, inner) => match (*name, of(inner)) {
            ("arcsin", x) => x.asin(),
            ("arccos", x) => x.acos(),
            ("arctan", x) => x.atan(),
            ("sin", x) => x.sin(),
            ("cos", x) => x.cos(),
            ("tan", x) => x.tan(),
            ("ln", x) => x.ln(),
            ("log", x) => x.log10(),
            ("exp", x) => x.exp(),
            (_, x) => x.abs(),
        },
    }
}

/// Makes a constant such as π, which counts as an expression and not as a number as it is written.
fn constant(function: &'static str, argument: f64) -> Node {
    Node::Function(function, Node::Number(argument).into())
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut node = self.product()?;
        loop {
            let operator = match () {
                () if self.eat("+") => '+',
                () if self.eat("-") => '-',
                () => break,
            };
            node = Node::Binary(operator, node.into(), self.product()?.into());
        }
        self.depth -= 1;
        Some(node)
    }

    fn product(&mut self) -> Option<Node> {
        let mut node = self.signed()?;
        loop {
            if self.eat("**") {
                return None;
            } else if self.eat("*") {
                node = Node::Binary('*', node.into(), self.signed()?.into());
            } else if self.eat("/") {
                node = Node::Binary('/', node.into(), self.signed()?.into());
            } else if self.starts_factor() {
                node = Node::Binary('*', node.into(), self.power()?.into());
            } else {
                return Some(node);
            }
        }
    }

    /// Tells whether a factor follows without a sign, as in `2x`. A digit does not: `x2` is no product.
    fn starts_factor(&self) -> bool {
        let is_command = [
            "\\frac", "\\sqrt", "\\pi", "\\theta", "\\ln", "\\log", "\\sin", "\\cos", "\\tan",
            "\\arc",
        ]
        .iter()
        .any(|command| self.rest.starts_with(command));
        is_command || self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '(')
    }

    fn signed(&mut self) -> Option<Node> {
        let mut negative = false;
        let mut signs = 0;
        while signs < 4 {
            if self.eat("-") {
                negative = !negative;
            } else if !self.eat("+") {
                break;
            }
            signs += 1;
        }
        let node = self.power()?;
        Some(if negative { Node::Negative(node.into()) } else { node })
    }

    fn power(&mut self) -> Option<Node> {
        let base = self.atom()?;
        if !self.eat("^") {
            return Some(base);
        }
        let exponent =
            if self.rest.starts_with('{') { self.braced()? } else { self.signed_atom()? };
        Some(Node::Binary('^', base.into(), exponent.into()))
    }

    fn signed_atom(&mut self) -> Option<Node> {
        if self.eat("-") { Some(Node::Negative(self.atom()?.into())) } else { self.atom() }
    }

    fn braced(&mut self) -> Option<Node> {
        self.eat("{").then_some(())?;
        let node = self.sum()?;
        self.eat("}").then_some(node)
    }

    /// Reads an argument of a command: in braces, or one digit or letter.
    fn argument(&mut self) -> Option<Node> {
        if self.rest.starts_with('{') {
            return self.braced();
        }
        let c = self.rest.chars().next().filter(char::is_ascii_alphanumeric)?;
        self.rest = &self.rest[1..];
        Some(c.to_digit(10).map_or(Node::Variable(c), |digit| Node::Number(f64::from(digit))))
    }

    fn atom(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let node = self.simple()?;
        self.depth -= 1;
        Some(node)
    }

    fn simple(&mut self) -> Option<Node> {
        if self.eat("(") {
            let node = self.sum()?;
            return self.eat(")").then_some(node);
        }
        if self.rest.starts_with('{') {
            return self.braced();
        }
        if self.eat("|") {
            let node = self.sum()?;
            return self.eat("|").then_some(Node::Function("abs", node.into()));
        }
        if self.eat("\\frac") {
            let (above, below) = (self.argument()?, self.argument()?);
            return Some(Node::Binary('/', above.into(), below.into()));
        }
        if self.eat("\\sqrt") || self.eat("sqrt") {
            let degree = if self.eat("[") {
                let degree = self.sum()?;
                self.eat("]").then_some(degree)?
            } else {
                Node::Number(2.0)
            };
            let inner = if self.rest.starts_with('(') { self.atom()? } else { self.argument()? };
            return Some(Node::Root(degree.into(), inner.into()));
        }
        if self.eat("\\pi") || self.eat("pi") {
            return Some(constant("abs", std::f64::consts::PI));
        }
        if self.eat("\\theta") {
            return Some(Node::Variable('θ'));
        }
        let start = self.rest.strip_prefix('\\').unwrap_or(self.rest);
        if let Some(name) = FUNCTIONS.iter().find(|name| start.starts_with(**name)) {
            self.rest = &start[name.len()..];
            let inner =
                if self.rest.starts_with(['(', '{']) { self.atom()? } else { self.power()? };
            return Some(Node::Function(name, inner.into()));
        }
        let digits = self.rest.len()
            - self.rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        if digits > 0 {
            let number = self.rest[..digits].parse().ok()?;
            self.rest = &self.rest[digits..];
            return Some(Node::Number(number));
        }
        let name = self.rest.chars().next().filter(char::is_ascii_alphabetic)?;
        self.rest = &self.rest[1..];
        if name == 'e' {
            return Some(constant("exp", 1.0));
        }
        Some(Node::Variable(name))
    }
}

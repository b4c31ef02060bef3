//! Analysis: turns forms into the intermediate program. Resolves names to slots, expands macros, checks patterns,
//! shapes and counts, and finds each local's last read.
//!
//! In: the forms of a program and the names it may use. Out: an [`ir::Program`], or the first error; unknown names are
//! reported together. It must never run anything, and never recurse deeper than the limit `form_nesting`.

#![expect(clippy::unnecessary_box_returns, reason = "boxed errors keep a result as small as a node")]
#![expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "all forms have the type of the table's functions")]

mod absent;
mod arity;
mod attempt;
mod bind;
mod branch;
mod call;
mod cell;
mod control;
mod expand;
mod fixed;
mod foreign;
mod form;
mod function;
mod header;
mod iterate;
mod literal;
mod liveness;
mod name;
mod scope;
mod thread;
mod word;

#[cfg(test)]
mod tests;

use hashbrown::{HashMap, HashSet};

pub(super) use form::is_form;

use super::host::Watch;
use super::ir::{self, Expr, Node};
use super::{Dialect, Error, Form, Memory, Shape, ToolInfo};
use crate::limits::FORM_NESTING;
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};
use name::Unknown;
use scope::{Locals, Scope};
use word::{Word, word};

/// Names that a program may use in addition to its own definitions and the builtins.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Definitions of earlier programs.
    pub memory: &'a Memory,
    /// The tools that may be called.
    pub tools: &'a [ToolInfo],
    /// The data read as `data/key`, for hints about unknown names.
    pub context: &'a Value,
    /// `Reference` has no other forms and functions than the reference implementation; all others accept more.
    pub dialect: Dialect,
}

/// Analyses a program. Errors are those of forms and of the static name checks, with spans.
pub fn analyse(forms: &[Form], names: &Names<'_>) -> Result<ir::Program, Error> {
    analyse_watched(forms, names, &Watch::none())
}

/// Like `analyse`, interruptible by the watch.
pub(super) fn analyse_watched(forms: &[Form], names: &Names<'_>, watch: &Watch<'_>) -> Result<ir::Program, Error> {
    let mut analyser = Analyser::new(names, watch);
    let body = analyser.program(forms)?;
    analyser.unknown.check(&analyser)?;
    let scope = analyser.functions.pop().unwrap_or_default();
    let mut program = ir::Program { body, slots: scope.size, globals: analyser.globals };
    liveness::mark(&mut program.body, &mut []);
    Ok(program)
}

/// Like `analyse`, for tools that inspect programs: reports an error for each unknown name and tool, at its first mention.
/// Unknown names are nil in the resulting body, which must not be run.
pub(super) fn analyse_leniently(forms: &[Form], names: &Names<'_>) -> Result<(Node, Vec<Error>), Error> {
    let watch = Watch::none();
    let mut analyser = Analyser::new(names, &watch);
    let body = analyser.program(forms)?;
    let unknown = analyser.unknown.each(&analyser);
    Ok((body, unknown))
}

/// The result of a stage of analysis; the error is boxed because results pass through every level.
type AnalysisResult<T = Node> = Result<T, Box<Error>>;

/// The position of a form: its value is that of the innermost loop or function, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Yes,
    No,
}

/// The state of analysis.
struct Analyser<'a> {
    names: &'a Names<'a>,
    watch: &'a Watch<'a>,
    tools: HashSet<&'a str>,
    /// Names that the program itself defines anywhere.
    defined: HashSet<Keyword>,
    /// Functions that the program itself makes with the name of a form of the agent.
    fixed: HashSet<Keyword>,
    /// Namespaces by the alias that the program gives them.
    aliases: HashMap<&'static str, &'static str>,
    globals: Vec<Keyword>,
    numbers: HashMap<Keyword, u32>,
    /// The program has a form that changes a cell with a function.
    changes_cells: bool,
    /// The functions around the current form, innermost last; the first one is the program itself.
    functions: Vec<Scope>,
    locals: Locals,
    unknown: Unknown,
    depth: u64,
    /// Steps spent on compiling regexes.
    regex_steps: usize,
    /// Number of short functions around the current form.
    shorts: usize,
    /// Number of hidden locals, for their names.
    hidden: u32,
}

impl<'a> Analyser<'a> {
    fn new(names: &'a Names<'a>, watch: &'a Watch<'a>) -> Self {
        Self {
            names,
            watch,
            tools: names.tools.iter().map(|tool| tool.name.as_str()).collect(),
            defined: HashSet::new(),
            fixed: HashSet::new(),
            aliases: HashMap::new(),
            globals: Vec::new(),
            numbers: HashMap::new(),
            changes_cells: false,
            functions: vec![Scope::default()],
            locals: Locals::default(),
            unknown: Unknown::default(),
            depth: 0,
            regex_steps: 0,
            shorts: 0,
            hidden: 0,
        }
    }

    /// Analyses all forms of a program.
    fn program(&mut self, forms: &[Form]) -> Result<Node, Error> {
        self.collect(forms);
        let span = Span::new(forms.first().map_or(0, |f| f.span.start), forms.last().map_or(0, |f| f.span.end));
        self.body(forms, span, Tail::No).map_err(|error| *error)
    }

    /// Collects the names of all definitions, so that each may be used before its definition.
    fn collect(&mut self, forms: &[Form]) {
        let mut rest: Vec<&Form> = forms.iter().collect();
        while let Some(form) = rest.pop() {
            match &form.shape {
                Shape::List(parts) => {
                    let head = parts.first().and_then(Form::symbol);
                    if head == Some("comment") {
                        continue;
                    }
                    let defines = match head {
                        Some("def" | "defn" | "defonce") => true,
                        Some("defn-" | "defmulti") => self.is_current(),
                        _ => false,
                    };
                    if defines && let Some(name) = parts.get(1).and_then(Form::name) {
                        self.defined.insert(name);
                    }
                    self.collect_fixed(parts);
                    if matches!(head, Some("swap!" | "vswap!" | "swap-vals!")) {
                        self.changes_cells = true;
                    }
                    if matches!(head, Some("ns" | "require" | "use")) && self.is_current() {
                        self.collect_aliases(parts);
                    }
                    rest.extend(&**parts);
                }
                Shape::Vector(parts) | Shape::Map(parts) | Shape::Set(parts) | Shape::Short(parts) => {
                    rest.extend(&**parts);
                }
                Shape::Literal(_) | Shape::Regex(_) | Shape::Symbol(_) | Shape::Quoted(_) | Shape::Var(_) => {}
            }
        }
    }

    /// True unless the dialect is `reference`: the program may use what models know from Clojure.
    fn is_current(&self) -> bool {
        self.names.dialect != Dialect::Reference
    }

    /// The word of this name in the dialect.
    fn word(&self, name: Keyword) -> Option<&'static Word> {
        word(name).filter(|word| self.is_current() || !word.is_current)
    }

    /// Analyses any form.
    fn expr(&mut self, form: &Form, tail: Tail) -> AnalysisResult {
        self.watch.step()?;
        self.depth += 1;
        if self.depth > FORM_NESTING.max {
            let problem = format!("forms are nested deeper than {} levels", FORM_NESTING.max);
            let error = Error::new(Reason::ProgramTooLarge, problem).hint("Name intermediate values with let or def");
            return Err(Box::new(error.at(form.span)));
        }
        let node = match &form.shape {
            Shape::Literal(value) => Ok(Node::constant(value.clone(), form.span)),
            Shape::List(parts) => self.list(form, parts, tail),
            Shape::Symbol(name) => self.symbol(*name, form.span),
            _ => self.literal(form),
        };
        self.depth -= 1;
        node
    }

    /// Analyses forms in sequence; nil if there are none.
    fn body(&mut self, forms: &[Form], span: Span, tail: Tail) -> AnalysisResult {
        match forms {
            [] => Ok(Node::constant(Value::Nil, span)),
            [only] => self.expr(only, tail),
            _ => Ok(Node::new(Expr::Do(self.last_in_tail(forms, tail)?), span)),
        }
    }

    /// Analyses forms that are all evaluated, the last one in the position of the whole.
    fn last_in_tail(&mut self, forms: &[Form], tail: Tail) -> AnalysisResult<Vec<Node>> {
        let mut nodes = Vec::with_capacity(forms.len());
        if let Some((last, before)) = forms.split_last() {
            for form in before {
                nodes.push(self.expr(form, Tail::No)?);
            }
            nodes.push(self.expr(last, tail)?);
        }
        Ok(nodes)
    }

    /// Analyses forms that are all evaluated, none in tail position.
    fn all(&mut self, forms: &[Form]) -> AnalysisResult<Vec<Node>> {
        self.last_in_tail(forms, Tail::No)
    }

    /// The innermost function.
    #[expect(clippy::expect_used, reason = "the first function is never left")]
    fn scope(&mut self) -> &mut Scope {
        self.functions.last_mut().expect("invariant: the program itself is the first function and is never left")
    }

    /// The number of a name in memory.
    fn global(&mut self, name: Keyword) -> u32 {
        let globals = &mut self.globals;
        *self.numbers.entry(name).or_insert_with(|| {
            globals.push(name);
            u32::try_from(globals.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// An error of the form `op` at `span`.
fn form_error(reason: Reason, op: &str, problem: impl Into<String>, span: Span) -> Box<Error> {
    Box::new(Error::new(reason, problem).within(op.to_owned()).at(span))
}

/// Like [`form_error`], with a hint.
fn form_error_with_hint(reason: Reason, op: &str, problem: impl Into<String>, hint: &str, span: Span) -> Box<Error> {
    Box::new(Error::new(reason, problem).within(op.to_owned()).hint(hint).at(span))
}

//! The analysed program: names resolved to slots, macros expanded, patterns and arities checked. Plain data, so that
//! tools besides the compiler can read it.
//!
//! Slots: each function (and the program itself) has a frame of numbered slots. Argument `i` arrives in slot `i`, the
//! rest in the slot after the last one; slots may be reused once their local is out of scope. Inner functions are flat:
//! they hold copies of the outer locals they use.

use std::sync::Arc;

use super::Error;
use super::builtins::Builtin;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// A whole program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The forms in order; the value of the last is the program's value.
    pub body: Node,
    /// Size of the frame the body needs.
    pub slots: u32,
    /// The names in memory that the program uses, by number.
    pub globals: Vec<Keyword>,
}

/// An expression and the form it came from.
#[derive(Debug, Clone)]
pub struct Node {
    /// The expression.
    pub expr: Expr,
    /// The form in the text.
    pub span: Span,
}

/// A local in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Its slot.
    pub slot: u32,
    /// No path from here reads this local again, loops included: its value may be moved out.
    pub last: bool,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A local.
    Local(Local),
    /// A captured value, by index.
    Capture(u32),
    /// The running function, by its own name (`(fn self [n] …)`).
    Myself,
    /// A name in memory, by its number in [`Program::globals`].
    Global { global: u32, unbound: Unbound },
    /// `data/key`.
    Data(Arc<str>),
    /// A call of `budget/remaining`.
    Budget,
    /// `*1`, `*2`, `*3`: 0 is the last result.
    History(u8),
    /// `[…]`
    Vector(Vec<Node>),
    /// `{…}`: of equal keys the last wins.
    Map(Vec<(Node, Node)>),
    /// `#{…}`
    Set(Vec<Node>),
    /// In sequence; nil if empty.
    Do(Vec<Node>),
    /// Test, then, else.
    If(Box<[Node; 3]>),
    /// Tests with their values: the first truthy test wins; nil if none is.
    Cond(Vec<(Node, Node)>),
    /// The last value or the first falsy one; never empty.
    And(Vec<Node>),
    /// The first truthy value or the last one; never empty.
    Or(Vec<Node>),
    /// Clauses of constants, compared as `=` does, and the default.
    Case { subject: Box<Node>, clauses: Vec<(Vec<Value>, Node)>, default: Box<Node> },
    /// Bindings in order, each visible to the next, then the body.
    Let { binds: Vec<(Pattern, Node)>, body: Box<Node> },
    /// As `let`; `recur` in tail position binds again and restarts the body.
    Loop { binds: Vec<(Pattern, Node)>, body: Box<Node> },
    /// Jumps to the innermost loop, or to the start of the function without a loop. The count is checked.
    Recur(Vec<Node>),
    /// `for` (a list of the bodies' values) and `doseq` (nil).
    For { levels: Vec<Level>, body: Box<Node>, gives: IterationResult },
    /// Makes a closure.
    Fn { lambda: Arc<Lambda>, captures: Vec<Capture> },
    /// Calls a builtin by name; its arity is checked.
    Builtin { builtin: &'static Builtin, args: Vec<Node> },
    /// Calls any other value.
    Call { callee: Box<Node>, args: Vec<Node> },
    /// Calls a tool with one map of arguments (a non-map fails as `invalid_tool_args`).
    Tool { tool: Arc<str>, args: Box<Node> },
    /// `(tool/try (tool/name args))`: the result or error of the tool, as a map.
    Try { tool: Arc<str>, args: Box<Node> },
    /// `try` with `catch` or `finally`.
    Attempt(Box<Attempt>),
    /// `def` and `defonce`; the value is the var.
    Def { global: u32, value: Box<Node>, doc: Option<Arc<str>>, when: DefCondition },
    /// `(return v)`
    Return(Box<Node>),
    /// `(fail v)`
    Fail(Box<Node>),
    /// `(task id expr)`
    Task { id: Box<Node>, body: Box<Node> },
    /// `(step-done id summary)`
    StepDone { id: Box<Node>, summary: Box<Node> },
    /// `(task-reset id)`
    TaskReset(Box<Node>),
    /// Fails with this error, which has a span, when it is evaluated.
    Raise(Box<Error>),
}

/// `(try body… (catch Class name body…)… (finally body…)?)`
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The part whose errors are caught.
    pub body: Node,
    /// The handlers, in order.
    pub handlers: Vec<CatchHandler>,
    /// The part that runs in any case.
    pub finally: Option<Node>,
}

/// `(catch Class name body…)`
#[derive(Debug, Clone)]
pub struct CatchHandler {
    /// The class of errors, without a package.
    pub class: &'static str,
    /// The slot of the exception.
    pub slot: u32,
    /// The body reads the exception.
    pub reads_exception: bool,
    /// The body.
    pub body: Node,
}

/// The value of an unbound name in memory.
#[derive(Debug, Clone, Copy)]
pub enum Unbound {
    /// `unbound_var`.
    Fails,
    /// nil: a bare symbol as an argument of `or`.
    Nil,
    /// The builtin of this name, which the definition will shadow.
    Builtin(&'static Builtin),
}

/// The condition of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefCondition {
    /// `def`
    Always,
    /// `defonce`: the value is not evaluated if the name is bound.
    Unbound,
}

/// The result of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationResult {
    /// `for`
    List,
    /// `doseq`
    Nil,
}

/// One binding of `for`, with its modifiers in order.
#[derive(Debug, Clone)]
pub struct Level {
    /// Binds each item.
    pub pattern: Pattern,
    /// The source collection.
    pub source: Node,
    /// `:when`, `:while`, `:let`.
    pub modifiers: Vec<Modifier>,
}

/// A modifier of `for`.
#[derive(Debug, Clone)]
pub enum Modifier {
    /// Skips items.
    When(Node),
    /// Ends this level.
    While(Node),
    /// Binds further locals.
    Let(Vec<(Pattern, Node)>),
}

/// The source of a capture when a closure is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    /// A local of the enclosing function.
    Local(Local),
    /// A capture of the enclosing function.
    Outer(u32),
    /// The enclosing function itself, by its own name.
    Myself,
}

/// An analysed function.
#[derive(Debug, Clone)]
pub struct Lambda {
    /// Its own name, from `defn` or `(fn name […] …)`.
    pub name: Option<Keyword>,
    /// Patterns of the arguments. Argument `i` arrives in slot `i`, so `Pattern::Slot(i)` at index `i` needs no work.
    pub params: Vec<Pattern>,
    /// Pattern of the rest, which arrives in slot `params.len()` as a list. For a map pattern the list is first
    /// converted to a map: from pairs, or from a single map.
    pub rest: Option<Pattern>,
    /// The parameters as displayed: `[x y & more]`, patterns as `_`.
    pub shown: Box<str>,
    /// Size of the frame.
    pub slots: u32,
    /// The body. Locals are moved out at their last read.
    pub body: Node,
    /// The functions that it may call.
    pub calls: Calls,
    /// The whole form in the text.
    pub span: Span,
}

/// The functions, other than builtins that read no cell, that a function may call.
#[derive(Debug, Clone)]
pub enum Calls {
    /// Any.
    Any,
    /// Only these, and functions of its own text.
    Known {
        /// Values that it captured.
        captures: bool,
        /// The values of these names in memory.
        globals: Vec<Keyword>,
    },
}

/// A destructuring pattern.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// A symbol.
    Slot(u32),
    /// Evaluated and checked, but bound to nothing.
    Ignore,
    /// `[a b & r :as v]`; a value that is neither nil nor a list is a `destructure_error`.
    Vector { items: Vec<Pattern>, rest: Option<Box<Pattern>>, whole: Option<u32>, span: Span },
    /// `{:keys [a] b :c :or {…} :as m}`; a value that is neither nil nor a map is a `destructure_error`. `whole` is
    /// bound first, then the entries in order: a default may read earlier names.
    Map { entries: Vec<Entry>, whole: Option<u32>, span: Span },
}

/// One binding of a map pattern.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key, looked up flexibly.
    pub key: Value,
    /// Binds the value.
    pub pattern: Pattern,
    /// The value if the key is missing; a present nil stays nil.
    pub default: Option<Node>,
}

impl Node {
    /// An expression with its span.
    pub fn new(expr: Expr, span: Span) -> Self {
        Self { expr, span }
    }

    /// A constant.
    pub fn constant(value: Value, span: Span) -> Self {
        Self::new(Expr::Const(value), span)
    }
}

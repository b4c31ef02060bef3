//! The analysed program: names resolved to slots, macros gone, patterns and arities checked. Plain data, so that more
//! than the compiler can read it.
//!
//! Slots: each function (and the program itself) has a frame of numbered slots. Argument `i` arrives in slot `i`, the
//! rest in the slot after the last one; slots may be used again once their local is out of scope. Inner functions are
//! flat: they hold copies of the outer locals they mention.

use std::sync::Arc;

use super::Error;
use super::builtins::Builtin;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// A whole program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The forms in order; the value of the last is the program's.
    pub body: Node,
    /// Size of the frame the body needs.
    pub slots: u32,
    /// The names that live in memory and are mentioned, by number.
    pub globals: Vec<Keyword>,
}

/// An expression and the form it came from.
#[derive(Debug, Clone)]
pub struct Node {
    /// What is evaluated.
    pub expr: Expr,
    /// The form in the text.
    pub span: Span,
}

/// A local in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Its slot.
    pub slot: u32,
    /// Nothing reads this local afterwards (on any path from here, loops included): its value may be moved out.
    pub last: bool,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A local.
    Local(Local),
    /// A value the function closed over, by its place.
    Capture(u32),
    /// The function that is running, under its own name (`(fn self [n] …)`).
    Myself,
    /// A name in memory, by its number in [`Program::globals`].
    Global { global: u32, unbound: Unbound },
    /// `data/key`.
    Data(Arc<str>),
    /// `budget/remaining`, called.
    Budget,
    /// `*1`, `*2`, `*3`: 0 is the last result.
    History(u8),
    /// `[…]`
    Vector(Vec<Node>),
    /// `{…}`: of keys that turn out equal the last wins.
    Map(Vec<(Node, Node)>),
    /// `#{…}`
    Set(Vec<Node>),
    /// One after the other; nil when empty.
    Do(Vec<Node>),
    /// Test, then, else.
    If(Box<[Node; 3]>),
    /// Tests with their values, first truthy test wins; nil when none is.
    Cond(Vec<(Node, Node)>),
    /// The last value or the first falsy one; never empty.
    And(Vec<Node>),
    /// The first truthy value or the last one; never empty.
    Or(Vec<Node>),
    /// Clauses of constants, compared as `=` does, and the default.
    Case { subject: Box<Node>, clauses: Vec<(Vec<Value>, Node)>, default: Box<Node> },
    /// Bindings in order, each visible to the next, then the body.
    Let { binds: Vec<(Pattern, Node)>, body: Box<Node> },
    /// As `let`; `recur` in tail position binds anew and begins the body again.
    Loop { binds: Vec<(Pattern, Node)>, body: Box<Node> },
    /// Jump to the innermost loop, or to the start of the function when there is none. The count is checked.
    Recur(Vec<Node>),
    /// `for` (a list of the bodies' values) and `doseq` (nil).
    For { levels: Vec<Level>, body: Box<Node>, gives: Gives },
    /// Makes a closure.
    Fn { lambda: Arc<Lambda>, captures: Vec<Capture> },
    /// Calls a builtin known by name; its arity is checked.
    Builtin { builtin: &'static Builtin, args: Vec<Node> },
    /// Calls any other value.
    Call { callee: Box<Node>, args: Vec<Node> },
    /// Calls a tool with one map of arguments (a non-map fails as `invalid_tool_args`).
    Tool { tool: Arc<str>, args: Box<Node> },
    /// `(tool/try (tool/name args))`: what the tool answers or fails with, as a map.
    Try { tool: Arc<str>, args: Box<Node> },
    /// `def` and `defonce`; the value is the var.
    Def { global: u32, value: Box<Node>, doc: Option<Arc<str>>, when: DefWhen },
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
    /// Fails with this error, which has its place, when it is reached.
    Raise(Box<Error>),
}

/// What reading an unbound name in memory gives.
#[derive(Debug, Clone, Copy)]
pub enum Unbound {
    /// `unbound_var`.
    Fails,
    /// nil: a bare symbol as argument of `or`.
    Nil,
    /// The builtin of this name, which the definition will hide.
    Builtin(&'static Builtin),
}

/// When a definition takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefWhen {
    /// `def`
    Always,
    /// `defonce`: the value is not even evaluated when the name is bound.
    Unbound,
}

/// What an iteration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
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
    /// What is gone through.
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

/// Where a closure gets one of its captures when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    /// From a local of the function that makes it.
    Local(Local),
    /// From one of its maker's own captures.
    Outer(u32),
    /// The function that makes it, under its own name.
    Myself,
}

/// A function as it was analysed.
#[derive(Debug, Clone)]
pub struct Lambda {
    /// Its own name, from `defn` or `(fn name […] …)`.
    pub name: Option<Keyword>,
    /// Patterns of the arguments. Argument `i` arrives in slot `i`; `Pattern::Slot(i)` there means nothing is left to do.
    pub params: Vec<Pattern>,
    /// Pattern of the rest, which arrives in slot `params.len()` as a list. For a map pattern the pairs, or a single
    /// map, are made a map first.
    pub rest: Option<Pattern>,
    /// The parameters as they are shown: `[x y & more]`, patterns as `_`.
    pub shown: Box<str>,
    /// Size of the frame.
    pub slots: u32,
    /// The body. Locals that no path reads again are moved.
    pub body: Node,
    /// The whole form in the text.
    pub span: Span,
}

/// A destructuring pattern.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// A symbol.
    Slot(u32),
    /// Evaluated, checked, bound to nothing.
    Ignore,
    /// `[a b & r :as v]`; a value that is neither nil nor a list is a `destructure_error`.
    Vector { items: Vec<Pattern>, rest: Option<Box<Pattern>>, whole: Option<u32>, span: Span },
    /// `{:keys [a] b :c :or {…} :as m}`; a value that is neither nil nor a map is a `destructure_error`. `whole` is bound
    /// first and the entries in order: a default may read what was bound before it.
    Map { entries: Vec<Entry>, whole: Option<u32>, span: Span },
}

/// One binding of a map pattern.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key that is looked up, flexibly.
    pub key: Value,
    /// Binds what is found.
    pub pattern: Pattern,
    /// The value when the key is absent; a present nil stays nil.
    pub default: Option<Node>,
}

impl Node {
    /// An expression with its place.
    pub fn new(expr: Expr, span: Span) -> Self {
        Self { expr, span }
    }

    /// A constant.
    pub fn constant(value: Value, span: Span) -> Self {
        Self::new(Expr::Const(value), span)
    }
}

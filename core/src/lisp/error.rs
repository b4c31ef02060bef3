//! How a program ends before its last form has a value: with an error, or by `return` and `fail`.
//!
//! Builtins say only what is wrong; the machine adds who was called and where it stands in the text.

use std::borrow::Cow;

use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Kind, Value};

/// The result of every step of evaluation; 16 bytes for a [`Value`].
pub type R<T = Value> = Result<T, Box<Halt>>;

/// Why evaluation stops.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// Something is wrong.
    Error(Error),
    /// `(return v)`.
    Return(Value),
    /// `(fail v)`.
    Fail(Value),
}

/// What is wrong with a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The stable reason.
    pub reason: Reason,
    /// The function or form that complains, as the program names it.
    pub op: Option<Cow<'static, str>>,
    /// What is wrong, without the function's name: `argument 1 must be an integer, got a string`.
    pub problem: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Where in the program's text; `None` until a caller that knows the place adds it, and for errors without one.
    pub span: Option<Span>,
    /// How far it has come.
    pub(super) stage: Stage,
}

/// How far an error has come on its way out of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stage {
    /// No form of the program's text has failed with it yet.
    #[default]
    Raised,
    /// A form of the program's text has failed with it.
    Settled,
    /// It left a function that a builtin ran, and nothing yet has said what that means.
    Loose(Cause),
}

/// Why a function failed that a builtin ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Something in its text did.
    Body,
    /// A builtin did not get the kind of value that it takes.
    Kind,
    /// It takes another number of arguments.
    Count,
    /// A builtin could not compute with its arguments.
    Number,
    /// Anything else in a builtin.
    Other,
}

impl Error {
    /// An error without a place.
    pub fn new(reason: Reason, problem: impl Into<String>) -> Self {
        Self { reason, op: None, problem: problem.into(), hint: None, span: None, stage: Stage::Raised }
    }

    /// With the place of the offending form, unless a narrower one is known.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self.settle();
        self
    }

    /// A form of the program's text has failed with it.
    pub(super) fn settle(&mut self) {
        if self.stage == Stage::Raised {
            self.stage = Stage::Settled;
        }
    }

    /// With what to write instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the name of the function that complains, unless an inner one did.
    #[must_use]
    pub fn within(mut self, op: impl Into<Cow<'static, str>>) -> Self {
        self.op.get_or_insert(op.into());
        self
    }

    /// One sentence or two for people and models: who, what, what instead. Never the reason name.
    pub fn message(&self) -> String {
        let who = self.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
        format!("{who}{}{hint}", self.problem)
    }

    /// As a result of evaluation.
    pub fn halt<T>(self) -> R<T> {
        Err(self.into())
    }
}

impl From<Error> for Box<Halt> {
    fn from(error: Error) -> Self {
        Self::new(Halt::Error(error))
    }
}

/// `type_error`: argument `position` (from 1) should be `expected` ("an integer", "a map"), and is something else.
#[cold]
pub fn wrong(position: usize, expected: &str, got: &Value) -> Box<Halt> {
    let problem = format!("argument {position} must be {expected}, got {}", described(got));
    Error::new(Reason::TypeError, problem).into()
}

/// The kind of a value in the language's words, with its article: `a string`, `nil`, `a function`.
pub fn described(value: &Value) -> &'static str {
    match value.kind() {
        Kind::Nil => "nil",
        Kind::Bool => "a boolean",
        Kind::Int | Kind::Float => "a number",
        Kind::Keyword => "a keyword",
        Kind::String => "a string",
        Kind::List => "a list",
        Kind::Map => "a map",
        Kind::Set => "a set",
        Kind::Datetime => "a datetime",
        Kind::Date => "a date",
        Kind::Duration => "a duration",
        Kind::Function => "a function",
        Kind::Regex => "a regex",
        Kind::Var => "a var",
        Kind::Symbol => "a symbol",
    }
}

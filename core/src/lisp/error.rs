//! Early ends of a program: errors, `return` and `fail`.
//!
//! Builtins only describe the problem; the machine adds the called function and the position in the text.

use std::borrow::Cow;

use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Kind, Value};

/// The result of every step of evaluation; 16 bytes for a [`Value`].
pub type EvalResult<T = Value> = Result<T, Box<Halt>>;

/// The reason why evaluation stops.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// An error.
    Error(Error),
    /// `(return v)`.
    Return(Value),
    /// `(fail v)`.
    Fail(Value),
    /// `(throw e)`.
    Throw(Thrown),
}

/// An exception on its way to a handler.
#[derive(Debug, Clone, PartialEq)]
pub struct Thrown {
    /// The exception.
    pub exception: Value,
    /// The span of the form that threw it, in the program's text.
    pub span: Option<Span>,
}

/// An error of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The stable reason.
    pub reason: Reason,
    /// The function or form that failed, as the program names it.
    pub op: Option<Cow<'static, str>>,
    /// The problem, without the function's name: `argument 1 must be an integer, got a string`.
    pub problem: String,
    /// The correction to make.
    pub hint: Option<String>,
    /// The span in the program's text; `None` until a caller that knows it adds it, and for errors without one.
    pub span: Option<Span>,
    /// The stage of classification.
    pub(super) stage: Stage,
    /// The reason that it had where it arose: builtins that call a function change the reason of its errors. It decides
    /// which `catch` gets the error.
    pub(super) origin: Reason,
}

/// The stages of an error on its way out of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stage {
    /// No form of the program's text has failed with it yet.
    #[default]
    Raised,
    /// A form of the program's text has failed with it.
    Settled,
    /// It left a function that a builtin called, and its reason is not yet determined.
    Unclassified(Cause),
}

/// The cause of an error in a function that a builtin called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A form in the function's text failed.
    Body,
    /// A builtin got an argument of the wrong type.
    Kind,
    /// A function got a wrong number of arguments.
    Count,
    /// A builtin could not compute with its arguments.
    Number,
    /// Any other error of a builtin.
    Other,
}

impl Error {
    /// An error without a span.
    pub fn new(reason: Reason, problem: impl Into<String>) -> Self {
        let (problem, stage) = (problem.into(), Stage::Raised);
        Self { reason, op: None, problem, hint: None, span: None, stage, origin: reason }
    }

    /// Sets the reason by which `catch` chooses, where the reason of the reference is another.
    #[must_use]
    pub(super) fn caught_as(mut self, origin: Reason) -> Self {
        self.origin = origin;
        self
    }

    /// Adds the span of the failing form, unless a narrower one is known.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self.settle();
        self
    }

    /// Marks a raised error as settled: a form of the program's text has failed with it.
    pub(super) fn settle(&mut self) {
        if self.stage == Stage::Raised {
            self.stage = Stage::Settled;
        }
    }

    /// Adds a hint: the correction to make.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the name of the function that failed, unless an inner one is known.
    #[must_use]
    pub fn within(mut self, op: impl Into<Cow<'static, str>>) -> Self {
        self.op.get_or_insert(op.into());
        self
    }

    /// One or two sentences for users and models: function, problem, hint. Never the name of the reason.
    pub fn message(&self) -> String {
        let who = self.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
        format!("{who}{}{hint}", self.problem)
    }

    /// Converts it to a result of evaluation.
    pub fn halt<T>(self) -> EvalResult<T> {
        Err(self.into())
    }
}

impl From<Error> for Box<Halt> {
    fn from(error: Error) -> Self {
        Self::new(Halt::Error(error))
    }
}

/// `type_error`: argument `position` (from 1) must be `expected` ("an integer", "a map").
#[cold]
pub fn wrong(position: usize, expected: &str, got: &Value) -> Box<Halt> {
    if let Value::Float(float) = got
        && expected.starts_with("an integer")
    {
        return not_integer(Reason::TypeError, position, expected, *float).into();
    }
    let problem = format!("argument {position} must be {expected}, got {}", described(got));
    let error = Error::new(Reason::TypeError, problem);
    let hint = if let Value::Function(function) = got { function.hint() } else { None };
    hint.map_or(error.clone(), |hint| error.hint(hint)).into()
}

/// The error of a float as argument `position`, where an integer is expected.
#[cold]
pub(super) fn not_integer(reason: Reason, position: usize, expected: &str, got: f64) -> Error {
    let shown = Value::Float(got).brief(30);
    Error::new(reason, format!("argument {position} must be {expected}, got the float {shown}"))
        .hint("Convert it with int, quot, round or floor: / always gives a float")
}

/// The way from an endless sequence to a collection.
pub(super) const ENDLESS: &str = "Take a part of it first: (take n s) or (take-while pred s)";

/// The type of a value with its article, as in messages: `a string`, `nil`, `a function`.
pub fn described(value: &Value) -> &'static str {
    if let Value::Function(function) = value {
        return function.described();
    }
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

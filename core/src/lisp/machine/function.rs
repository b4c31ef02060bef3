//! The functions of the language: closures, builtins, tools, and functions made of other functions.

use std::fmt;
use std::sync::Arc;

use super::builtin::FunctionUse;
use super::{Builtin, Cell, Lambda, Machine};
use crate::lisp::EvalResult;
use crate::lisp::error::ENDLESS;
use crate::value::{Function, FunctionBody, FunctionIdentity, Value};

/// The name of the functions that `reduced` makes.
pub(crate) const REDUCED: &str = "reduced";

/// The body of a function value.
pub(crate) enum Callable {
    /// Made by `fn`, `defn` or `#()`.
    Closure(Closure),
    /// A builtin as a value.
    Builtin(&'static Builtin),
    /// `tool/name` as a value.
    Tool(Arc<str>),
    /// Made by `comp`, `partial`, `juxt` and similar builtins.
    Bound(Bound),
    /// An atom or volatile. It cannot be called.
    Cell(Cell),
    /// A transducer: `(map f)`.
    Transducer(Recipe),
    /// A sequence without an end: `(iterate f x)`.
    Endless(Recipe),
}

/// The parts of a transducer or an endless sequence. It is not run by calls: pipelines read it.
pub(crate) struct Recipe {
    /// The builtin that made it.
    pub(crate) name: &'static str,
    /// The arguments of the builtin.
    pub(crate) parts: Vec<Value>,
}

/// Code with the values it closed over.
pub struct Closure {
    /// The compiled function.
    pub lambda: Arc<Lambda>,
    /// Values of its free locals, in the order its code expects.
    pub captures: Vec<Value>,
    /// Number of the closure, by which closures are ordered and distinguished: counted per program from a number that
    /// depends on its text and on the functions in memory.
    pub serial: u64,
}

/// A builtin that makes functions, applied to its parts.
pub(crate) struct Bound {
    /// The builtin that made it.
    pub(crate) name: &'static str,
    /// Calls it: the parts it was made of, then the arguments.
    pub(crate) run: fn(&mut Machine<'_>, &[Value], &mut [Value]) -> EvalResult,
    /// The values it was made of.
    pub(crate) parts: Vec<Value>,
    /// The functions that it calls.
    pub(crate) calls: PartUse,
}

/// The functions that a function made of others calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartUse {
    /// It may call any function, or read an atom.
    Any,
    /// No other functions than its parts.
    Parts,
    /// Like `Parts`, and its parts are data and builtins that read no atom.
    Builtins,
}

impl PartUse {
    fn of(parts: &[Value]) -> Self {
        let reads_nothing = |part: &Value| match part {
            Value::Var(_) => false,
            Value::Function(_) => {
                matches!(Callable::of_value(part), Some(Callable::Builtin(row)) if row.calls == FunctionUse::Nothing)
            }
            _ => true,
        };
        if parts.iter().all(reads_nothing) { Self::Builtins } else { Self::Parts }
    }
}

impl Closure {
    /// A function value for the same closure.
    pub(crate) fn to_value(&self) -> Value {
        let closure = Self { lambda: Arc::clone(&self.lambda), captures: self.captures.clone(), serial: self.serial };
        Callable::Closure(closure).into_value()
    }
}

impl Callable {
    /// The builtin of this name among these rows, as a value; nil when there is none.
    pub(crate) fn named(rows: &'static [Builtin], name: &str) -> Value {
        rows.iter().find(|row| row.name == name).map(|row| Self::Builtin(row).into_value()).unwrap_or_default()
    }

    /// The body of a function of the language.
    #[inline]
    pub(crate) fn of(function: &Function) -> Option<&Self> {
        function.downcast_ref()
    }

    /// The body of a value that is a function.
    #[inline]
    pub(crate) fn of_value(value: &Value) -> Option<&Self> {
        match value {
            Value::Function(function) => Self::of(function),
            _ => None,
        }
    }

    /// The closure of a value that is one.
    pub(crate) fn closure_of(value: &Value) -> Option<&Closure> {
        match Self::of_value(value) {
            Some(Self::Closure(closure)) => Some(closure),
            _ => None,
        }
    }

    /// A function made of others, as a value.
    pub(crate) fn bound(
        name: &'static str,
        parts: Vec<Value>,
        run: fn(&mut Machine<'_>, &[Value], &mut [Value]) -> EvalResult,
    ) -> Value {
        Self::Bound(Bound { name, run, parts, calls: PartUse::Any }).into_value()
    }

    /// A function that calls no others than its parts and reads no atom, as a value.
    pub(crate) fn made_of(
        name: &'static str,
        parts: Vec<Value>,
        run: fn(&mut Machine<'_>, &[Value], &mut [Value]) -> EvalResult,
    ) -> Value {
        let calls = PartUse::of(&parts);
        Self::Bound(Bound { name, run, parts, calls }).into_value()
    }

    /// A transducer made by a builtin, as a value.
    pub(crate) fn transducer(name: &'static str, parts: Vec<Value>) -> Value {
        Self::Transducer(Recipe { name, parts }).into_value()
    }

    /// An endless sequence made by a builtin, as a value.
    pub(crate) fn endless(name: &'static str, parts: Vec<Value>) -> Value {
        Self::Endless(Recipe { name, parts }).into_value()
    }

    /// True for an endless sequence.
    #[inline]
    pub(crate) fn is_endless(value: &Value) -> bool {
        matches!(Self::of_value(value), Some(Self::Endless(_)))
    }

    /// A function value with this body.
    pub(crate) fn into_value(self) -> Value {
        Value::Function(Arc::new(Function::new(self)))
    }
}

impl FunctionBody for Callable {
    fn identity(&self) -> FunctionIdentity<'_> {
        let (kind, number, text, address) = match self {
            Self::Builtin(builtin) => (0, 0, builtin.name, 0),
            Self::Tool(name) => (1, 0, &**name, 0),
            Self::Bound(bound) => (2, 0, bound.name, bound.parts.as_ptr().addr()),
            Self::Transducer(made) => (5, 0, made.name, made.parts.as_ptr().addr()),
            Self::Endless(made) => (6, 0, made.name, made.parts.as_ptr().addr()),
            Self::Closure(closure) => (3, closure.serial, closure.lambda.source(), 0),
            Self::Cell(cell) => (4, cell.number, "", 0),
        };
        FunctionIdentity { kind, number, text, address }
    }

    fn take_values(&mut self) -> Vec<Value> {
        match self {
            Self::Closure(closure) => std::mem::take(&mut closure.captures),
            Self::Bound(bound) => std::mem::take(&mut bound.parts),
            Self::Transducer(made) | Self::Endless(made) => std::mem::take(&mut made.parts),
            Self::Builtin(_) | Self::Tool(_) | Self::Cell(_) => Vec::new(),
        }
    }

    fn described(&self) -> &'static str {
        match self {
            Self::Cell(_) => "an atom",
            Self::Endless(_) => "an endless sequence",
            _ => "a function",
        }
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Cell(_) => Some("Read the value of an atom with @: @a"),
            Self::Endless(_) => Some(ENDLESS),
            _ => None,
        }
    }
}

/// The readable form.
impl fmt::Display for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closure(closure) => write!(f, "#fn{}", closure.lambda.params()),
            Self::Builtin(_) => f.write_str("#<builtin>"),
            Self::Tool(name) => write!(f, "#<tool {name}>"),
            // It cannot be called, and its contents may be large.
            Self::Bound(bound) if bound.name == REDUCED => f.write_str("#<reduced>"),
            Self::Bound(_) | Self::Transducer(_) => f.write_str("#fn[...]"),
            Self::Endless(_) => f.write_str("#<endless sequence>"),
            Self::Cell(cell) => cell.fmt(f),
        }
    }
}

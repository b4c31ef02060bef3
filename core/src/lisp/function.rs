//! What a program can call and hold: closures, builtins, tools, and functions made of others.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::R;
use super::builtins::Builtin;
use super::machine::{Lambda, Machine};
use crate::value::{Value, dismantle};

/// The name of what `reduced` makes.
pub(crate) const REDUCED: &str = "reduced";

/// A function value.
pub enum Function {
    /// Made by `fn`, `defn` or `#()`.
    Closure(Closure),
    /// A builtin as a value.
    Builtin(&'static Builtin),
    /// `tool/name` as a value.
    Tool(Arc<str>),
    /// Made by `comp`, `partial`, `juxt` and their like.
    Bound(Bound),
}

/// Code with the values it closed over.
pub struct Closure {
    /// The compiled function.
    pub lambda: Arc<Lambda>,
    /// Values of its free locals, in the order its code expects.
    pub captures: Vec<Value>,
    /// Number of the closure, by which functions are ordered and told apart: counted per program from a number that
    /// depends on its text and on the functions in memory.
    pub serial: u64,
}

/// A builtin that makes functions, applied to its parts.
pub struct Bound {
    /// The builtin that made it.
    pub name: &'static str,
    /// Calls it: the parts it was made of, then the arguments.
    pub run: fn(&mut Machine<'_>, &[Value], &mut [Value]) -> R,
    /// What it was made of.
    pub parts: Vec<Value>,
}

impl Closure {
    /// The same closure as a value of its own.
    pub(crate) fn again(&self) -> Value {
        let closure = Self { lambda: Arc::clone(&self.lambda), captures: self.captures.clone(), serial: self.serial };
        Value::Function(Arc::new(Function::Closure(closure)))
    }
}

impl Function {
    /// A function made of others, as a value.
    pub fn bound(
        name: &'static str,
        parts: Vec<Value>,
        run: fn(&mut Machine<'_>, &[Value], &mut [Value]) -> R,
    ) -> Value {
        Value::Function(Arc::new(Self::Bound(Bound { name, run, parts })))
    }

    /// Takes the values it holds, so that they can be dropped without recursion.
    pub(crate) fn take_values(&mut self) -> Vec<Value> {
        match self {
            Self::Closure(closure) => std::mem::take(&mut closure.captures),
            Self::Bound(bound) => std::mem::take(&mut bound.parts),
            Self::Builtin(_) | Self::Tool(_) => Vec::new(),
        }
    }

    /// What tells it from others: its kind, number or name. Functions made of others are told apart by place in memory.
    fn identity(&self) -> (u8, u64, &str, usize) {
        match self {
            Self::Builtin(builtin) => (0, 0, builtin.name, 0),
            Self::Tool(name) => (1, 0, name, 0),
            Self::Bound(bound) => (2, 0, bound.name, bound.parts.as_ptr().addr()),
            Self::Closure(closure) => (3, closure.serial, closure.lambda.source(), 0),
        }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        dismantle(self.take_values().into_iter());
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Function {}

impl PartialOrd for Function {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Function {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// The readable form of language contract §17.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closure(closure) => write!(f, "#fn{}", closure.lambda.params()),
            Self::Builtin(_) => f.write_str("#<builtin>"),
            Self::Tool(name) => write!(f, "#<tool {name}>"),
            // It is no function, and what it holds may be large.
            Self::Bound(bound) if bound.name == REDUCED => f.write_str("#<reduced>"),
            Self::Bound(_) => f.write_str("#fn[...]"),
        }
    }
}

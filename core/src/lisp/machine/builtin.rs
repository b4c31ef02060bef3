//! One row of the table of builtins. Rows are built in constants: `Builtin::new("take", Arity::exactly(2), take).…`.

use std::fmt;

use super::Machine;
use crate::lisp::R;
use crate::value::Value;

/// A builtin function, or a form of the language.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// Its name, without a namespace.
    pub name: &'static str,
    /// How many arguments it takes.
    pub arity: Arity,
    /// How it is called, one line per way: `(take n coll)`.
    pub signatures: &'static [&'static str],
    /// What it does, one sentence.
    pub about: &'static str,
    /// Programs and the readable form of their values; a test runs them all.
    pub examples: &'static [(&'static str, &'static str)],
    /// How it stands to Clojure's.
    pub clojure: Clojure,
    /// How its time grows.
    pub cost: Cost,
    /// What happens when it is called.
    pub run: Run,
}

/// What happens when a builtin is called.
#[derive(Clone, Copy)]
pub enum Run {
    /// Takes the arguments (it may move them out of the slice) and gives the value. The arity has been checked. On an
    /// error the machine adds the builtin's name and the place of the call.
    Function(fn(&mut Machine<'_>, &mut [Value]) -> R),
    /// A special form or macro: the analyser knows what to do, and it is no value.
    Form,
}

/// How many arguments a builtin takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    /// At least.
    pub min: u8,
    /// At most; `None` = any number.
    pub max: Option<u8>,
}

/// How a builtin stands to the Clojure function of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clojure {
    /// The same for the values that exist here.
    Same,
    /// The same name, with the difference in one sentence.
    Differs(&'static str),
    /// Not in Clojure.
    Extension,
    /// Clojure has it under another name: `clojure.string/join`, `java.time.Instant/parse`.
    Named(&'static str),
}

/// How the time of a call grows with the size of its arguments. Calls of functions that are passed in come on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Not at all.
    Constant,
    /// With the logarithm.
    Logarithmic,
    /// In proportion.
    Linear,
    /// n log n.
    Sorting,
    /// With what is made, which may be larger than what went in.
    Output,
}

impl Arity {
    /// Exactly `n`.
    pub const fn exactly(n: u8) -> Self {
        Self { min: n, max: Some(n) }
    }

    /// `n` or more.
    pub const fn from(n: u8) -> Self {
        Self { min: n, max: None }
    }

    /// From `min` to `max`.
    pub const fn between(min: u8, max: u8) -> Self {
        Self { min, max: Some(max) }
    }

    /// Is there one number of arguments?
    pub fn is_exact(self) -> bool {
        self.max == Some(self.min)
    }

    /// Is this number of arguments allowed?
    pub fn allows(self, count: usize) -> bool {
        count >= usize::from(self.min) && self.max.is_none_or(|max| count <= usize::from(max))
    }
}

/// "2 arguments", "1 or 2 arguments", "2 to 4 arguments", "at least 1 argument".
impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = |count: u8| if count == 1 { "argument" } else { "arguments" };
        match (self.min, self.max) {
            (0, Some(0)) => f.write_str("no arguments"),
            (min, Some(max)) if min == max => write!(f, "{min} {}", noun(min)),
            (min, Some(max)) if max == min + 1 => write!(f, "{min} or {max} {}", noun(max)),
            (min, Some(max)) => write!(f, "{min} to {max} {}", noun(max)),
            (0, None) => f.write_str("any number of arguments"),
            (min, None) => write!(f, "at least {min} {}", noun(min)),
        }
    }
}

impl Builtin {
    /// A function with its name, arity and code; linear and the same as in Clojure unless said otherwise.
    pub const fn new(name: &'static str, arity: Arity, run: fn(&mut Machine<'_>, &mut [Value]) -> R) -> Self {
        Self {
            name,
            arity,
            signatures: &[],
            about: "",
            examples: &[],
            clojure: Clojure::Same,
            cost: Cost::Linear,
            run: Run::Function(run),
        }
    }

    /// A special form or macro.
    pub const fn form(name: &'static str, arity: Arity) -> Self {
        Self {
            name,
            arity,
            signatures: &[],
            about: "",
            examples: &[],
            clojure: Clojure::Same,
            cost: Cost::Constant,
            run: Run::Form,
        }
    }

    /// How it is called, and what it does in one sentence.
    #[must_use]
    pub const fn doc(mut self, signatures: &'static [&'static str], about: &'static str) -> Self {
        self.signatures = signatures;
        self.about = about;
        self
    }

    /// Programs with the readable form of their values.
    #[must_use]
    pub const fn examples(mut self, examples: &'static [(&'static str, &'static str)]) -> Self {
        self.examples = examples;
        self
    }

    /// How it stands to Clojure's.
    #[must_use]
    pub const fn clojure(mut self, clojure: Clojure) -> Self {
        self.clojure = clojure;
        self
    }

    /// How its time grows.
    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// The same under another name.
    #[must_use]
    pub const fn named(mut self, name: &'static str, signatures: &'static [&'static str]) -> Self {
        self.name = name;
        self.signatures = signatures;
        self
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#<builtin {}>", self.name)
    }
}

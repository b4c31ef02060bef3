//! Rows of the table of builtins. Rows are built in constants: `Builtin::new("take", Arity::exactly(2), take).…`.

use std::fmt;

use super::Machine;
use crate::lisp::{Dialect, EvalResult};
use crate::value::Value;

/// A builtin function, or a form of the language.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// Its name, without a namespace.
    pub name: &'static str,
    /// The number of arguments.
    pub arity: Arity,
    /// Its calls, one per line: `(take n coll)`.
    pub signatures: &'static [&'static str],
    /// Its description, one sentence.
    pub about: &'static str,
    /// Programs and the readable form of their values; a test runs all.
    pub examples: &'static [(&'static str, &'static str)],
    /// Its relation to Clojure.
    pub clojure: Clojure,
    /// Its time complexity.
    pub cost: Cost,
    /// The functions that it calls.
    pub calls: FunctionUse,
    /// Its implementation.
    pub run: Implementation,
    /// Its difference in the dialect `reference`.
    pub reference: InReference,
}

/// The functions that a builtin calls. `swap!` changes the value of an atom in place only under functions that certainly
/// do not read the atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionUse {
    /// It may call any function, or read an atom.
    Any,
    /// None: its result follows from its arguments.
    Nothing,
    /// The argument at this position, counted from 0, and no other function.
    Argument(u8),
    /// None, but it makes a function that calls the arguments. Making it has no side effects.
    Maker,
}

/// The difference of a builtin in the dialect `reference`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InReference {
    /// None.
    Same,
    /// It does not exist there.
    Absent,
    /// It takes fewer counts of arguments there.
    Takes(Arity),
}

/// The implementation of a builtin.
#[derive(Clone, Copy)]
pub enum Implementation {
    /// Takes the arguments (and may move them out of the slice) and returns the value. The arity has been checked. The
    /// machine adds the builtin's name and the span of the call to errors.
    Function(fn(&mut Machine<'_>, &mut [Value]) -> EvalResult),
    /// A special form or macro: implemented by the analyser, and not a value.
    Form,
}

/// The number of arguments that a builtin takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    /// The minimum.
    pub min: u8,
    /// The maximum; `None` = any number.
    pub max: Option<u8>,
}

/// The relation of a builtin to the Clojure function of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clojure {
    /// Equal for all values of this language.
    Same,
    /// Same name, with the difference in one sentence.
    Differs(&'static str),
    /// Not in Clojure.
    Extension,
    /// Exists in Clojure under another name: `clojure.string/join`, `java.time.Instant/parse`.
    Named(&'static str),
}

/// Growth of the time of a call with the size of its arguments, without calls of function arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Constant.
    Constant,
    /// Logarithmic.
    Logarithmic,
    /// Linear.
    Linear,
    /// n log n.
    Sorting,
    /// Linear in the size of the result, which may exceed that of the arguments.
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

    /// True if there is only one allowed number.
    pub fn is_exact(self) -> bool {
        self.max == Some(self.min)
    }

    /// True if this number of arguments is allowed.
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
    /// A function with its name, arity and code; by default linear and the same as in Clojure.
    pub const fn new(name: &'static str, arity: Arity, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Self {
        Self {
            name,
            arity,
            signatures: &[],
            about: "",
            examples: &[],
            clojure: Clojure::Same,
            cost: Cost::Linear,
            calls: FunctionUse::Any,
            run: Implementation::Function(run),
            reference: InReference::Same,
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
            calls: FunctionUse::Any,
            run: Implementation::Form,
            reference: InReference::Same,
        }
    }

    /// Sets the calls and the description.
    #[must_use]
    pub const fn doc(mut self, signatures: &'static [&'static str], about: &'static str) -> Self {
        self.signatures = signatures;
        self.about = about;
        self
    }

    /// Sets the examples.
    #[must_use]
    pub const fn examples(mut self, examples: &'static [(&'static str, &'static str)]) -> Self {
        self.examples = examples;
        self
    }

    /// Sets the relation to Clojure.
    #[must_use]
    pub const fn clojure(mut self, clojure: Clojure) -> Self {
        self.clojure = clojure;
        self
    }

    /// Sets the time complexity.
    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// It calls no function and reads no atom.
    #[must_use]
    pub const fn calls_nothing(mut self) -> Self {
        self.calls = FunctionUse::Nothing;
        self
    }

    /// It calls the argument at this position, counted from 0, and reads no atom.
    #[must_use]
    pub const fn calls_argument(mut self, position: u8) -> Self {
        self.calls = FunctionUse::Argument(position);
        self
    }

    /// It makes a function that calls the arguments.
    #[must_use]
    pub const fn makes_function(mut self) -> Self {
        self.calls = FunctionUse::Maker;
        self
    }

    /// True if it makes a function of its arguments, without side effects.
    pub(crate) fn is_maker(&self) -> bool {
        self.calls == FunctionUse::Maker
    }

    /// Sets the number of arguments, in all dialects.
    #[must_use]
    pub const fn takes(mut self, arity: Arity) -> Self {
        self.arity = arity;
        self.reference = InReference::Same;
        self
    }

    /// Omits it from the dialect `reference`.
    #[must_use]
    pub const fn current(mut self) -> Self {
        self.reference = InReference::Absent;
        self
    }

    /// Sets the number of arguments in the dialect `reference`.
    #[must_use]
    pub const fn takes_in_reference(mut self, arity: Arity) -> Self {
        self.reference = InReference::Takes(arity);
        self
    }

    /// True if the builtin exists in this dialect.
    pub fn exists_in(&self, dialect: Dialect) -> bool {
        dialect != Dialect::Reference || self.reference != InReference::Absent
    }

    /// The number of arguments in this dialect.
    pub fn arity_in(&self, dialect: Dialect) -> Arity {
        if dialect == Dialect::Reference { self.reference_arity() } else { self.arity }
    }

    /// The number of arguments in the dialect `reference`. The reasons of errors follow from it in all dialects.
    pub fn reference_arity(&self) -> Arity {
        match self.reference {
            InReference::Takes(arity) => arity,
            InReference::Same | InReference::Absent => self.arity,
        }
    }

    /// Another implementation.
    #[must_use]
    pub const fn running(mut self, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Self {
        self.run = Implementation::Function(run);
        self
    }

    /// The same implementation under another name.
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

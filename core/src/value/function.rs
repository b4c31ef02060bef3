//! Functions as values: what comparing, printing and dropping need to know of them.
//!
//! In: a [`FunctionBody`] that the language makes. Out: a value that is compared by identity and shows its parameters.
//! It must never know how a function is called: the language gets its own type back by [`Function::downcast_ref`].

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::{Value, dismantle};

/// The language's side of a function value. `Display` is its readable form.
pub trait FunctionBody: Any + fmt::Display + Send + Sync {
    /// Orders functions and distinguishes them.
    fn identity(&self) -> FunctionIdentity<'_>;

    /// Takes the values that it holds, so that they can be dropped without recursion.
    fn take_values(&mut self) -> Vec<Value>;

    /// Its type with the article, as in messages.
    fn described(&self) -> &'static str {
        "a function"
    }

    /// The correction where another type is needed.
    fn hint(&self) -> Option<&'static str> {
        None
    }
}

/// The identity of a function: two are equal when all fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionIdentity<'f> {
    /// The kind of function.
    pub kind: u8,
    /// A number within its kind, 0 without one.
    pub number: u64,
    /// Its name or text.
    pub text: &'f str,
    /// An address, for functions that are equal only to themselves; 0 for all others.
    pub address: usize,
}

/// A function value.
pub struct Function(Box<dyn FunctionBody>);

impl Function {
    /// A function with this body.
    pub fn new(body: impl FunctionBody) -> Self {
        Self(Box::new(body))
    }

    /// The body, if it is of this type.
    #[inline]
    pub fn downcast_ref<B: FunctionBody>(&self) -> Option<&B> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Its type with the article, as in messages.
    pub fn described(&self) -> &'static str {
        self.0.described()
    }

    /// The correction where another type is needed.
    pub fn hint(&self) -> Option<&'static str> {
        self.0.hint()
    }

    /// Takes the values that it holds, so that they can be dropped without recursion.
    pub(super) fn take_values(&mut self) -> Vec<Value> {
        self.0.take_values()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        dismantle(self.take_values().into_iter());
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
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
        self.0.identity().cmp(&other.0.identity())
    }
}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity().hash(state);
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

//! Compiled code: closures over what was known when compiling, run on a frame of values.

use std::sync::Arc;

use super::Machine;
use crate::lisp::R;
use crate::lisp::function::Closure;
use crate::value::{Keyword, Value};

/// Compiled code.
pub type Code = Box<dyn Fn(&mut Machine<'_>, &mut Frame<'_>) -> R + Send + Sync>;

/// The locals of a running function.
pub struct Frame<'f> {
    /// Its slots.
    pub slots: &'f mut [Value],
    /// What it closed over.
    pub closed: Closed<'f>,
}

/// What the code of a frame closed over.
pub type Closed<'f> = Option<&'f Closure>;

/// A compiled function.
pub struct Lambda {
    name: Option<Keyword>,
    params: Box<str>,
    source: Arc<str>,
    body: Code,
}

impl Lambda {
    /// Its own name.
    pub fn name(&self) -> Option<Keyword> {
        self.name
    }

    /// Its parameters as they are shown: `[x y]`.
    pub fn params(&self) -> &str {
        &self.params
    }

    /// Its text in the program that made it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its compiled body.
    pub fn body(&self) -> &Code {
        &self.body
    }
}

//! Forms: the output of the reader, with spans; nothing is resolved or expanded.

use std::rc::Rc;

use crate::text::Span;
use crate::value::{Keyword, Value};

/// A form and its span. Clones share the contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Its kind and contents.
    pub shape: Shape,
    /// Its span, brackets included.
    pub span: Span,
}

/// The kind and contents of a form. Nesting is bounded by the limit `program_nesting`.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// nil, booleans, numbers, strings (characters too) and keywords.
    Literal(Value),
    /// The source of `#"…"`, not yet compiled.
    Regex(Box<str>),
    /// A symbol, namespace included, as written.
    Symbol(Keyword),
    /// `'sym`.
    Quoted(Keyword),
    /// `#'sym`.
    Var(Keyword),
    /// `( … )`
    List(Rc<[Form]>),
    /// `[ … ]`
    Vector(Rc<[Form]>),
    /// `{ … }`: alternating keys and values, an even number.
    Map(Rc<[Form]>),
    /// `#{ … }`
    Set(Rc<[Form]>),
    /// `#( … )`
    Short(Rc<[Form]>),
}

impl Form {
    /// The symbol.
    pub fn name(&self) -> Option<Keyword> {
        match self.shape {
            Shape::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The symbol's text.
    pub fn symbol(&self) -> Option<&'static str> {
        self.name().map(Keyword::name)
    }

    /// The parts of a list.
    pub fn list(&self) -> Option<&[Self]> {
        match &self.shape {
            Shape::List(parts) => Some(parts),
            _ => None,
        }
    }
}

//! What the reader makes of a text: forms with their places, nothing resolved and nothing expanded.

use std::rc::Rc;

use crate::text::Span;
use crate::value::{Keyword, Value};

/// A form and where it stands. Copied without copying what is inside of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// What it is.
    pub shape: Shape,
    /// Where it stands, brackets included.
    pub span: Span,
}

/// What a form is. Nesting is bounded by the limit `program_nesting`.
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
    /// `{ … }`: keys and values in turn, an even number.
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

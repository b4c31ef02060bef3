//! What the reader makes of a text: forms with their places, nothing resolved and nothing expanded.

use crate::text::Span;
use crate::value::Value;

/// A form and where it stands.
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
    Symbol(Box<str>),
    /// `'sym`.
    Quoted(Box<str>),
    /// `#'sym`.
    Var(Box<str>),
    /// `( … )`
    List(Vec<Form>),
    /// `[ … ]`
    Vector(Vec<Form>),
    /// `{ … }`: keys and values in turn, an even number.
    Map(Vec<Form>),
    /// `#{ … }`
    Set(Vec<Form>),
    /// `#( … )`
    Short(Vec<Form>),
}

impl Form {
    /// The symbol's text.
    pub fn symbol(&self) -> Option<&str> {
        match &self.shape {
            Shape::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The parts of a list.
    pub fn list(&self) -> Option<&[Self]> {
        match &self.shape {
            Shape::List(parts) => Some(parts),
            _ => None,
        }
    }
}

//! Prefixes: `@x`, `'(…)`, `^:meta x` and `#_ x`.
//!
//! In: a finished form and the prefixes before it. Out: the form that they make, or none. A prefix never reaches beyond
//! its brackets.

use std::rc::Rc;

use crate::lisp::{Form, Shape};
use crate::text::Span;
use crate::value::Keyword;

/// The meaning of a prefix for the next form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// `@`: the value of a cell.
    Deref,
    /// A quote: the form is data.
    Quote,
    /// `#_`, and `^`, whose next form is metadata: the form is dropped.
    Drop,
}

/// A prefix that waits for its form.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingPrefix {
    pub(super) prefix: Prefix,
    pub(super) span: Span,
    /// Number of brackets open at its position.
    pub(super) level: usize,
}

impl Prefix {
    /// The prefix with this text.
    pub(super) fn of(text: &str) -> Self {
        match text {
            "@" => Self::Deref,
            "'" => Self::Quote,
            _ => Self::Drop,
        }
    }
}

/// Applies the pending prefixes of a level to a form, innermost first; `None` if one drops it.
pub(super) fn applied(pending: &mut Vec<PendingPrefix>, level: usize, mut form: Form) -> Option<Form> {
    while let Some(PendingPrefix { prefix, span, .. }) = pending.pop_if(|pending| pending.level == level) {
        let head = match prefix {
            Prefix::Drop => return None,
            Prefix::Deref => "clojure.core/deref",
            Prefix::Quote => "quote",
        };
        let whole = Span::new(span.start, form.span.end);
        let head = Form { shape: Shape::Symbol(Keyword::intern(head)), span };
        form = Form { shape: Shape::List(Rc::new([head, form])), span: whole };
    }
    Some(form)
}

//! Quoted data: `'(1 2)`, `'[a b]`, `(quote …)`.

use super::{Analyser, AnalysisResult};
use crate::lisp::ir::{Expr, Node};
use crate::lisp::{Form, Shape};
use crate::value::Value;

impl Analyser<'_> {
    /// A form as data: lists are vectors and symbols are symbols. Recursion is bounded by the nesting of brackets.
    pub(super) fn quoted(&mut self, form: &Form) -> AnalysisResult {
        let expr = match &form.shape {
            Shape::Symbol(name) | Shape::Quoted(name) => Expr::Const(Value::Symbol(*name)),
            Shape::List(parts) | Shape::Vector(parts) => super::literal::vector(self.all_quoted(parts)?),
            Shape::Set(parts) => super::literal::set(self.all_quoted(parts)?),
            Shape::Map(parts) => {
                let mut entries = Vec::with_capacity(parts.len() / 2);
                for pair in parts.chunks_exact(2) {
                    entries.push((self.quoted(&pair[0])?, self.quoted(&pair[1])?));
                }
                super::literal::map(entries)
            }
            Shape::Literal(_) | Shape::Regex(_) | Shape::Var(_) | Shape::Short(_) => return self.literal(form),
        };
        Ok(Node::new(expr, form.span))
    }

    fn all_quoted(&mut self, forms: &[Form]) -> AnalysisResult<Vec<Node>> {
        forms.iter().map(|form| self.quoted(form)).collect()
    }
}

//! `for` and `doseq`.

use super::bind::is_keyword;
use super::call::count;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::ir::{Expr, IterationResult, Level, Modifier, Node};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::value::Value;

impl Analyser<'_> {
    /// `(for [p coll …] body…)`
    pub(super) fn for_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.iteration("for", form, args, IterationResult::List)
    }

    /// `(doseq [p coll …] body…)`
    pub(super) fn doseq_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.iteration("doseq", form, args, IterationResult::Nil)
    }

    pub(super) fn iteration(&mut self, op: &str, form: &Form, args: &[Form], gives: IterationResult) -> AnalysisResult {
        let hint = format!("Write ({op} [x coll :when test] body)");
        let wrong = |problem, span| Err(form_error_with_hint(Reason::InvalidForm, op, problem, &hint, span));
        count(op, args, form.span)?;
        let Shape::Vector(parts) = &args[0].shape else {
            let problem = "the bindings must be a vector";
            return Err(form_error_with_hint(Reason::InvalidArity, op, problem, &hint, args[0].span));
        };
        if args.len() < 2 {
            return Err(form_error_with_hint(Reason::InvalidArity, op, "the body is missing", &hint, form.span));
        }
        if !parts.len().is_multiple_of(2) {
            return wrong("a binding has no value", args[0].span);
        }
        if parts.is_empty() {
            return wrong("the bindings are empty", args[0].span);
        }
        let mark = self.enter();
        let mut levels: Vec<Level> = Vec::new();
        for pair in parts.chunks_exact(2) {
            let (key, value) = (&pair[0], &pair[1]);
            if !matches!(key.shape, Shape::Literal(Value::Keyword(_))) {
                levels.push(self.level(op, key, value)?);
                continue;
            }
            let Some(level) = levels.last_mut() else {
                return wrong("a binding must precede the first modifier", key.span);
            };
            let modifier = if is_keyword(key, "when") {
                Modifier::When(self.expr(value, Tail::No)?)
            } else if is_keyword(key, "while") {
                Modifier::While(self.expr(value, Tail::No)?)
            } else if is_keyword(key, "let") {
                Modifier::Let(self.binds("let", value)?)
            } else {
                return wrong("the modifiers are :when, :while and :let", key.span);
            };
            level.modifiers.push(modifier);
        }
        let body = Box::new(self.body(&args[1..], form.span, Tail::No)?);
        self.leave(mark);
        Ok(Node::new(Expr::For { levels, body, gives }, form.span))
    }

    fn level(&mut self, op: &str, pattern: &Form, source: &Form) -> AnalysisResult<Level> {
        if let Shape::Literal(value @ (Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Keyword(_))) =
            &source.shape
        {
            let problem = format!("{} is not a collection", crate::lisp::described(value));
            let hint = "Use a collection, a string, or (range n)";
            return Err(form_error_with_hint(Reason::InvalidArity, op, problem, hint, source.span));
        }
        let source = self.expr(source, Tail::No)?;
        Ok(Level { pattern: self.pattern(pattern)?, source, modifiers: Vec::new() })
    }
}

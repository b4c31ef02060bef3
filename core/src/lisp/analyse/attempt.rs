//! `try` with `catch` and `finally`, and `with-out-str`: the parts become functions, which the builtins
//! [`builtins::ATTEMPT`] and [`builtins::CAPTURE`] call.

use super::call::builtin;
use super::name::plain;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::builtins;
use crate::lisp::ir::Node;
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Value;

use super::expand::vector;

const HINT: &str = "Write (try body… (catch Exception e …) (finally …))";

impl Analyser<'_> {
    /// `(try body… (catch Class name body…)… (finally body…)?)`
    pub(super) fn attempt_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        let is_clause = |part: &Form| clause(part).is_some();
        let end = args.iter().position(is_clause).unwrap_or(args.len());
        let (body, clauses) = args.split_at(end);
        if clauses.is_empty() {
            return self.body(body, form.span, tail);
        }
        let mut finally = Node::constant(Value::Nil, form.span);
        let mut handlers = Vec::new();
        for (at, part) in clauses.iter().enumerate() {
            match clause(part) {
                Some(("catch", [class, name, body @ ..])) if plain(name).is_some() => {
                    handlers.push(Node::constant(Value::str(class_name(class)), class.span));
                    handlers.push(self.part(std::slice::from_ref(name), body, part.span)?);
                }
                Some(("catch", _)) => {
                    let problem = "catch needs a class and a name";
                    return Err(form_error_with_hint(Reason::InvalidForm, "try", problem, HINT, part.span));
                }
                Some((_, body)) if at + 1 == clauses.len() => finally = self.part(&[], body, part.span)?,
                _ => {
                    let problem = "only catch and one finally may follow the body";
                    return Err(form_error_with_hint(Reason::InvalidForm, "try", problem, HINT, part.span));
                }
            }
        }
        let body = self.part(&[], body, form.span)?;
        let args = [body, finally].into_iter().chain(handlers).collect();
        Ok(builtin(&builtins::ATTEMPT, args, form.span))
    }

    /// `(with-out-str body…)`
    pub(super) fn capture_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        let body = self.part(&[], args, form.span)?;
        Ok(builtin(&builtins::CAPTURE, vec![body], form.span))
    }

    /// A part as a function; `recur` cannot leave it.
    fn part(&mut self, params: &[Form], body: &[Form], span: Span) -> AnalysisResult {
        let params = vector(params.iter().cloned(), span);
        let parts: Vec<Form> = [params].into_iter().chain(body.iter().cloned()).collect();
        self.part_of_try(&parts, span)
    }
}

/// The kind and the parts of a clause.
fn clause(form: &Form) -> Option<(&str, &[Form])> {
    let (head, rest) = form.list()?.split_first()?;
    head.symbol().filter(|name| matches!(*name, "catch" | "finally")).map(|name| (name, rest))
}

/// The name of a class in `catch`.
fn class_name(form: &Form) -> &'static str {
    match &form.shape {
        Shape::Symbol(name) | Shape::Literal(Value::Keyword(name)) => name.name(),
        _ => "Exception",
    }
}

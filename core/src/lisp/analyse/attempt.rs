//! `try` with `catch` and `finally`, whose parts use the frame of the function around them, and `with-out-str`, whose
//! body becomes a function that the builtin [`builtins::CAPTURE`] calls.

use super::call::builtin;
use super::name::plain;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::builtins;
use crate::lisp::ir::{Attempt, CatchHandler, Expr, Node};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

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
        let mut finally = None;
        let mut handlers = Vec::new();
        for (at, part) in clauses.iter().enumerate() {
            match clause(part) {
                Some(("catch", [class, name, body @ ..])) if plain(name).is_some() => {
                    let (slot, body) = self.part_of_try(plain(name), body, part.span)?;
                    handlers.push(CatchHandler { class: class_name(class), slot, reads_exception: true, body });
                }
                Some(("catch", _)) => {
                    let problem = "catch needs a class and a name";
                    return Err(form_error_with_hint(Reason::InvalidForm, "try", problem, HINT, part.span));
                }
                Some((_, body)) if at + 1 == clauses.len() => {
                    finally = Some(self.part_of_try(None, body, part.span)?.1);
                }
                _ => {
                    let problem = "only catch and one finally may follow the body";
                    return Err(form_error_with_hint(Reason::InvalidForm, "try", problem, HINT, part.span));
                }
            }
        }
        let (_, body) = self.part_of_try(None, body, form.span)?;
        Ok(Node::new(Expr::Attempt(Box::new(Attempt { body, handlers, finally })), form.span))
    }

    /// A part, which `recur` cannot leave, and the slot of the name that it declares.
    fn part_of_try(&mut self, name: Option<Keyword>, body: &[Form], span: Span) -> AnalysisResult<(u32, Node)> {
        let mark = self.enter();
        let scope = self.scope();
        let slot = scope.slot();
        let targets = std::mem::take(&mut scope.targets);
        let is_nested = std::mem::replace(&mut scope.is_part_of_try, true);
        if let Some(name) = name {
            self.declare(name, slot);
        }
        let body = self.body(body, span, Tail::Yes)?;
        let scope = self.scope();
        (scope.targets, scope.is_part_of_try) = (targets, is_nested);
        self.leave(mark);
        Ok((slot, body))
    }

    /// `(with-out-str body…)`
    pub(super) fn capture_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        let body = self.part_as_function(args, form.span)?;
        Ok(builtin(&builtins::CAPTURE, vec![body], form.span))
    }
}

/// The kind and the parts of a clause.
fn clause(form: &Form) -> Option<(&str, &[Form])> {
    let (head, rest) = form.list()?.split_first()?;
    head.symbol().filter(|name| matches!(*name, "catch" | "finally")).map(|name| (name, rest))
}

/// The name of a class in `catch`, without its package.
fn class_name(form: &Form) -> &'static str {
    let name = match &form.shape {
        Shape::Symbol(name) | Shape::Literal(Value::Keyword(name)) => name.name(),
        _ => "Exception",
    };
    name.rsplit(['.', '/']).next().unwrap_or(name)
}

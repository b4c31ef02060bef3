//! Threading: `->` and its variants. A step is rewritten with the value inserted, then analysed like any form.

use std::rc::Rc;

use super::branch::{local, unless_nil};
use super::name::plain;
use super::word::word;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::limits::FORM_NESTING;
use crate::lisp::ir::{Expr, Node, Pattern};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// The position of the threaded value.
#[derive(Debug, Clone, Copy)]
enum ThreadPosition {
    First,
    Last,
}

impl Analyser<'_> {
    /// `(-> expr step…)`
    pub(super) fn thread_first_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.nested("->", form, args, ThreadPosition::First, tail)
    }

    /// `(->> expr step…)`
    pub(super) fn thread_last_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.nested("->>", form, args, ThreadPosition::Last, tail)
    }

    fn nested(&mut self, op: &str, form: &Form, args: &[Form], position: ThreadPosition, tail: Tail) -> AnalysisResult {
        let (first, steps) = split(op, form, args)?;
        // Forms that would be nested too deeply are not expanded, only checked.
        let most = usize::try_from(FORM_NESTING.max).unwrap_or(usize::MAX);
        let (deep, steps) = steps.split_at(steps.len().saturating_sub(most));
        for step in deep {
            insert(op, first.clone(), step, position)?;
        }
        let whole = steps.iter().try_fold(first.clone(), |value, step| insert(op, value, step, position))?;
        self.expr(&whole, tail)
    }

    /// `(as-> expr name form…)`
    pub(super) fn as_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        let hint = "Write (as-> value name (f name) …)";
        let [first, name, steps @ ..] = args else {
            let problem = "needs a value and a name";
            return Err(form_error_with_hint(Reason::InvalidThreadForm, "as->", problem, hint, form.span));
        };
        let Some(name) = plain(name) else {
            let problem = "the name must be a symbol";
            return Err(form_error_with_hint(Reason::InvalidThreadForm, "as->", problem, hint, name.span));
        };
        let first = self.expr(first, Tail::No)?;
        let mark = self.enter();
        let slot = self.scope().slot();
        self.declare(name, slot);
        let mut binds = vec![(Pattern::Slot(slot), first)];
        let (last, before) = match steps.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, steps),
        };
        for step in before {
            binds.push((Pattern::Slot(slot), self.expr(step, Tail::No)?));
        }
        let body = match last {
            Some(last) => self.expr(last, tail)?,
            None => local(slot, form.span),
        };
        self.leave(mark);
        Ok(Node::new(Expr::Let { binds, body: Box::new(body) }, form.span))
    }

    /// `(cond-> expr test step …)`
    pub(super) fn cond_first_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.conditional("cond->", form, args, ThreadPosition::First)
    }

    /// `(cond->> expr test step …)`
    pub(super) fn cond_last_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.conditional("cond->>", form, args, ThreadPosition::Last)
    }

    fn conditional(&mut self, op: &str, form: &Form, args: &[Form], position: ThreadPosition) -> AnalysisResult {
        let (first, steps) = split(op, form, args)?;
        if !steps.len().is_multiple_of(2) {
            let hint = format!("Write ({op} value test (f …) …)");
            return Err(form_error_with_hint(Reason::InvalidThreadForm, op, "a test has no step", &hint, form.span));
        }
        let pairs: Vec<(&Form, &Form)> = steps.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect();
        self.sequence(form.span, first, &pairs, Tail::No, |this, slot, name, (test, step), tail| {
            let test = this.expr(test, Tail::No)?;
            let next = insert(op, symbol(name, step.span), step, position)?;
            let next = this.expr(&next, tail)?;
            Ok(Node::new(Expr::If(Box::new([test, next, local(slot, step.span)])), step.span))
        })
    }

    /// `(some-> expr step…)`
    pub(super) fn some_first_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.while_some("some->", form, args, ThreadPosition::First, tail)
    }

    /// `(some->> expr step…)`
    pub(super) fn some_last_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.while_some("some->>", form, args, ThreadPosition::Last, tail)
    }

    fn while_some(
        &mut self,
        op: &str,
        form: &Form,
        args: &[Form],
        position: ThreadPosition,
        tail: Tail,
    ) -> AnalysisResult {
        let (first, steps) = split(op, form, args)?;
        let steps: Vec<&Form> = steps.iter().collect();
        self.sequence(form.span, first, &steps, tail, |this, slot, name, step, tail| {
            let next = insert(op, symbol(name, step.span), step, position)?;
            let next = this.expr(&next, tail)?;
            Ok(unless_nil(local(slot, step.span), next, Node::constant(Value::Nil, step.span), step.span))
        })
    }

    /// Steps that read a hidden local and bind it again, in sequence; the last one is the result.
    fn sequence<S: Copy>(
        &mut self,
        span: Span,
        first: &Form,
        steps: &[S],
        tail: Tail,
        mut step: impl FnMut(&mut Self, u32, Keyword, S, Tail) -> AnalysisResult,
    ) -> AnalysisResult {
        let first = self.expr(first, Tail::No)?;
        self.hidden += 1;
        let name = Keyword::intern(&format!("\u{1}{}", self.hidden));
        let mark = self.enter();
        let slot = self.scope().slot();
        self.declare(name, slot);
        let mut binds = vec![(Pattern::Slot(slot), first)];
        let body = match steps.split_last() {
            None => local(slot, span),
            Some((last, before)) => {
                for form in before {
                    binds.push((Pattern::Slot(slot), step(self, slot, name, *form, Tail::No)?));
                }
                step(self, slot, name, *last, tail)?
            }
        };
        self.leave(mark);
        Ok(Node::new(Expr::Let { binds, body: Box::new(body) }, span))
    }
}

/// The value and the steps of a threading form.
fn split<'f>(op: &str, form: &Form, args: &'f [Form]) -> AnalysisResult<(&'f Form, &'f [Form])> {
    args.split_first().ok_or_else(|| {
        let hint = format!("Write ({op} value step …)");
        form_error_with_hint(Reason::InvalidThreadForm, op, "the value is missing", &hint, form.span)
    })
}

/// A step with the value inserted; a step that is not a list becomes a call.
fn insert(op: &str, value: Form, step: &Form, position: ThreadPosition) -> AnalysisResult<Form> {
    let value = std::iter::once(value);
    let parts: Rc<[Form]> = match &step.shape {
        Shape::List(parts) if parts.is_empty() => {
            let hint = "A step is a function or a call: inc or (+ 1)";
            return Err(form_error_with_hint(Reason::InvalidForm, op, "a step is empty", hint, step.span));
        }
        Shape::List(parts) => {
            let before = match position {
                ThreadPosition::First => 1,
                ThreadPosition::Last => parts.len(),
            };
            parts[..before].iter().cloned().chain(value).chain(parts[before..].iter().cloned()).collect()
        }
        // A form's name alone is not a value; only `recur` may be named, because it jumps.
        Shape::Symbol(name) if word(*name).is_some_and(|word| word.form.is_some()) && name.name() != "recur" => {
            let alone = Rc::new([symbol(Keyword::intern("do"), step.span), step.clone()]);
            [Form { shape: Shape::List(alone), span: step.span }].into_iter().chain(value).collect()
        }
        _ => [step.clone()].into_iter().chain(value).collect(),
    };
    Ok(Form { shape: Shape::List(parts), span: step.span })
}

fn symbol(name: Keyword, span: Span) -> Form {
    Form { shape: Shape::Symbol(name), span }
}

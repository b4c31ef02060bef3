//! Threading: `->` and its kin. A step is written out with the value in its place, then analysed like any form.

use super::branch::{local, unless_nil};
use super::name::plain;
use super::{A, Analyser, Tail, broken_with, is_form};
use crate::lisp::ir::{Expr, Node, Pattern};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Value;

/// Where the value goes.
#[derive(Debug, Clone, Copy)]
enum Place {
    First,
    Last,
}

impl Analyser<'_> {
    /// `(-> expr step…)`
    pub(super) fn thread_first_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> A {
        self.nested("->", form, args, Place::First, tail)
    }

    /// `(->> expr step…)`
    pub(super) fn thread_last_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> A {
        self.nested("->>", form, args, Place::Last, tail)
    }

    fn nested(&mut self, op: &str, form: &Form, args: &[Form], place: Place, tail: Tail) -> A {
        let (first, steps) = split(op, form, args)?;
        let whole = steps.iter().try_fold(first.clone(), |value, step| insert(op, value, step, place))?;
        self.expr(&whole, tail)
    }

    /// `(as-> expr name form…)`
    pub(super) fn as_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> A {
        let hint = "Write (as-> value name (f name) …)";
        let [first, name, steps @ ..] = args else {
            let problem = "needs a value and a name";
            return Err(broken_with(Reason::InvalidThreadForm, "as->", problem, hint, form.span));
        };
        let Some(name) = plain(name) else {
            let problem = "the name must be a symbol";
            return Err(broken_with(Reason::InvalidThreadForm, "as->", problem, hint, name.span));
        };
        let first = self.expr(first, Tail::No)?;
        let mark = self.scope().enter();
        let slot = self.scope().slot();
        self.scope().declare(name, slot);
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
        self.scope().leave(mark);
        Ok(Node::new(Expr::Let { binds, body: Box::new(body) }, form.span))
    }

    /// `(cond-> expr test step …)`
    pub(super) fn cond_first_form(&mut self, form: &Form, args: &[Form], _: Tail) -> A {
        self.conditional("cond->", form, args, Place::First)
    }

    /// `(cond->> expr test step …)`
    pub(super) fn cond_last_form(&mut self, form: &Form, args: &[Form], _: Tail) -> A {
        self.conditional("cond->>", form, args, Place::Last)
    }

    fn conditional(&mut self, op: &str, form: &Form, args: &[Form], place: Place) -> A {
        let (first, steps) = split(op, form, args)?;
        if !steps.len().is_multiple_of(2) {
            let hint = format!("Write ({op} value test (f …) …)");
            return Err(broken_with(Reason::InvalidThreadForm, op, "a test has no step", &hint, form.span));
        }
        let pairs: Vec<(&Form, &Form)> = steps.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect();
        self.sequence(form.span, first, &pairs, Tail::No, |this, slot, name, (test, step), tail| {
            let test = this.expr(test, Tail::No)?;
            let next = insert(op, symbol(name, step.span), step, place)?;
            let next = this.expr(&next, tail)?;
            Ok(Node::new(Expr::If(Box::new([test, next, local(slot, step.span)])), step.span))
        })
    }

    /// `(some-> expr step…)`
    pub(super) fn some_first_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> A {
        self.while_some("some->", form, args, Place::First, tail)
    }

    /// `(some->> expr step…)`
    pub(super) fn some_last_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> A {
        self.while_some("some->>", form, args, Place::Last, tail)
    }

    fn while_some(&mut self, op: &str, form: &Form, args: &[Form], place: Place, tail: Tail) -> A {
        let (first, steps) = split(op, form, args)?;
        let steps: Vec<&Form> = steps.iter().collect();
        self.sequence(form.span, first, &steps, tail, |this, slot, name, step, tail| {
            let next = insert(op, symbol(name, step.span), step, place)?;
            let next = this.expr(&next, tail)?;
            Ok(unless_nil(local(slot, step.span), next, Node::constant(Value::Nil, step.span), step.span))
        })
    }

    /// Steps that read a hidden local and are bound to it again, one after the other; the last one is the value.
    fn sequence<S: Copy>(
        &mut self,
        span: Span,
        first: &Form,
        steps: &[S],
        tail: Tail,
        mut step: impl FnMut(&mut Self, u32, &str, S, Tail) -> A,
    ) -> A {
        let first = self.expr(first, Tail::No)?;
        self.hidden += 1;
        let name = format!("\u{1}{}", self.hidden);
        let mark = self.scope().enter();
        let slot = self.scope().slot();
        self.scope().declare(&name, slot);
        let mut binds = vec![(Pattern::Slot(slot), first)];
        let body = match steps.split_last() {
            None => local(slot, span),
            Some((last, before)) => {
                for form in before {
                    binds.push((Pattern::Slot(slot), step(self, slot, &name, *form, Tail::No)?));
                }
                step(self, slot, &name, *last, tail)?
            }
        };
        self.scope().leave(mark);
        Ok(Node::new(Expr::Let { binds, body: Box::new(body) }, span))
    }
}

/// The value and the steps of a threading form.
fn split<'f>(op: &str, form: &Form, args: &'f [Form]) -> A<(&'f Form, &'f [Form])> {
    args.split_first().ok_or_else(|| {
        let hint = format!("Write ({op} value step …)");
        broken_with(Reason::InvalidThreadForm, op, "there is no value to start with", &hint, form.span)
    })
}

/// A step with the value in its place; what is no list becomes a call.
fn insert(op: &str, value: Form, step: &Form, place: Place) -> A<Form> {
    let parts = match &step.shape {
        Shape::List(parts) => match (parts.split_first(), place) {
            (None, _) => {
                let hint = "A step is a function or a call: inc or (+ 1)";
                return Err(broken_with(Reason::InvalidForm, op, "a step is empty", hint, step.span));
            }
            (Some((head, rest)), Place::First) => {
                let mut all = Vec::with_capacity(parts.len() + 1);
                all.push(head.clone());
                all.push(value);
                all.extend_from_slice(rest);
                all
            }
            (Some(_), Place::Last) => {
                let mut all = Vec::with_capacity(parts.len() + 1);
                all.extend_from_slice(parts);
                all.push(value);
                all
            }
        },
        // Alone a name is a value, and the name of a form is none; only `recur` jumps.
        Shape::Symbol(name) if is_form(name) && &**name != "recur" => {
            let alone = vec![symbol("do", step.span), step.clone()];
            vec![Form { shape: Shape::List(alone), span: step.span }, value]
        }
        _ => vec![step.clone(), value],
    };
    Ok(Form { shape: Shape::List(parts), span: step.span })
}

fn symbol(name: &str, span: Span) -> Form {
    Form { shape: Shape::Symbol(name.into()), span }
}

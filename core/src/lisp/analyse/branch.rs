//! Choices: `if` and its variants, `cond`, `case`, `condp`.

use super::bind::is_keyword;
use super::call::{builtin, constant_builtin, count};
use super::expand::{list, literal, symbol, vector};
use super::{Analyser, AnalysisResult, Tail, form_error, form_error_with_hint};
use crate::lisp::builtins;
use crate::lisp::ir::{Expr, Local, Node, Pattern};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Value;

/// The test of `if-let` and its variants: when they take the first branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    /// The value is truthy.
    Truthy,
    /// The value is not nil.
    NotNil,
    /// The value has a first item, which is bound.
    First,
}

impl Analyser<'_> {
    /// `(if c t e?)`
    pub(super) fn if_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("if", args, form.span)?;
        let test = self.expr(&args[0], Tail::No)?;
        let then = self.expr(&args[1], tail)?;
        let other = self.body(&args[2..], form.span, tail)?;
        Ok(choice(test, then, other, form.span))
    }

    /// `(if-not c t e?)`
    pub(super) fn if_not_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("if-not", args, form.span)?;
        let test = self.expr(&args[0], Tail::No)?;
        let then = self.expr(&args[1], tail)?;
        let other = self.body(&args[2..], form.span, tail)?;
        Ok(choice(test, other, then, form.span))
    }

    /// `(when c body…)`
    pub(super) fn when_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("when", args, form.span)?;
        let test = self.expr(&args[0], Tail::No)?;
        let then = self.body(&args[1..], form.span, tail)?;
        Ok(choice(test, then, nil(form.span), form.span))
    }

    /// `(when-not c body…)`
    pub(super) fn when_not_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("when-not", args, form.span)?;
        let test = self.expr(&args[0], Tail::No)?;
        let then = self.body(&args[1..], form.span, tail)?;
        Ok(choice(test, nil(form.span), then, form.span))
    }

    /// `(if-let [p e] then else?)`
    pub(super) fn if_let_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.if_binding("if-let", form, args, Test::Truthy, tail)
    }

    /// `(if-some [p e] then else?)`
    pub(super) fn if_some_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.if_binding("if-some", form, args, Test::NotNil, tail)
    }

    fn if_binding(&mut self, op: &str, form: &Form, args: &[Form], test: Test, tail: Tail) -> AnalysisResult {
        count(op, args, form.span)?;
        self.binding(op, form, &args[0], (&args[1..2], &args[2..]), test, tail)
    }

    /// `(when-let [p e] body…)`
    pub(super) fn when_let_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.when_binding("when-let", form, args, Test::Truthy, tail)
    }

    /// `(when-some [p e] body…)`
    pub(super) fn when_some_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.when_binding("when-some", form, args, Test::NotNil, tail)
    }

    /// `(when-first [p coll] body…)`
    pub(super) fn when_first_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.when_binding("when-first", form, args, Test::First, tail)
    }

    fn when_binding(&mut self, op: &str, form: &Form, args: &[Form], test: Test, tail: Tail) -> AnalysisResult {
        count(op, args, form.span)?;
        self.binding(op, form, &args[0], (&args[1..], &[]), test, tail)
    }

    /// Analyses one binding with its two branches. As in the reference, the else branch sees a plain name, whose value
    /// did not pass the test, but no names of a pattern.
    fn binding(
        &mut self,
        op: &str,
        form: &Form,
        bind: &Form,
        forms: (&[Form], &[Form]),
        test: Test,
        tail: Tail,
    ) -> AnalysisResult {
        let hint = format!("Write ({op} [name value] …)");
        let Shape::Vector(parts) = &bind.shape else {
            return Err(form_error_with_hint(
                Reason::InvalidArity,
                op,
                "the binding must be a vector",
                &hint,
                bind.span,
            ));
        };
        let [target, source] = &**parts else {
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                op,
                "needs one name and one value",
                &hint,
                bind.span,
            ));
        };
        if !matches!(target.shape, Shape::Symbol(_) | Shape::Vector(_) | Shape::Map(_)) {
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                op,
                "a name or a pattern is needed",
                &hint,
                target.span,
            ));
        }
        let mut source = self.expr(source, Tail::No)?;
        if test == Test::First {
            source = of_language("seq", source, bind.span);
        }
        let outer = self.enter();
        let slot = self.scope().slot();
        let mut names = self.enter();
        let (pattern, then) = if let (Some(name), false) = (super::name::plain(target), test == Test::First) {
            self.declare(name, slot);
            names = self.enter();
            (None, self.body(forms.0, form.span, tail)?)
        } else {
            let pattern = self.pattern(target)?;
            (Some(pattern), self.body(forms.0, form.span, tail)?)
        };
        self.forget(names);
        let other = self.body(forms.1, form.span, tail)?;
        self.leave(outer);
        let read = || local(slot, bind.span);
        let then = match pattern {
            None => then,
            Some(pattern) => {
                let value = match test {
                    Test::First => of_language("first", read(), bind.span),
                    Test::Truthy | Test::NotNil => read(),
                };
                Node::new(Expr::Let { binds: vec![(pattern, value)], body: Box::new(then) }, form.span)
            }
        };
        let body = match test {
            Test::Truthy => choice(read(), then, other, form.span),
            Test::NotNil | Test::First => unless_nil(read(), then, other, form.span),
        };
        let binds = vec![(Pattern::Slot(slot), source)];
        Ok(Node::new(Expr::Let { binds, body: Box::new(body) }, form.span))
    }

    /// `(cond test value …)`
    pub(super) fn cond_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        if !args.len().is_multiple_of(2) {
            let hint = "Write (cond test value … :else value)";
            return Err(form_error_with_hint(Reason::InvalidCondForm, "cond", "a test has no value", hint, form.span));
        }
        let mut clauses = Vec::with_capacity(args.len() / 2);
        for pair in args.chunks_exact(2) {
            clauses.push((self.expr(&pair[0], Tail::No)?, self.expr(&pair[1], tail)?));
        }
        Ok(Node::new(Expr::Cond(clauses), form.span))
    }

    /// `(case expr constant value … default?)`
    pub(super) fn case_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        let Some((subject, rest)) = args.split_first() else {
            let hint = "Write (case value 1 :one (2 3) :few :other)";
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                "case",
                "the value to compare is missing",
                hint,
                form.span,
            ));
        };
        let subject = Box::new(self.expr(subject, Tail::No)?);
        let pairs = rest.chunks_exact(2);
        let default = pairs.remainder();
        let mut clauses = Vec::with_capacity(rest.len() / 2);
        for pair in pairs {
            let constants = match &pair[0].shape {
                Shape::List(group) if !group.is_empty() => {
                    group.iter().map(|part| self.case_constant(part)).collect::<AnalysisResult<Vec<Value>>>()?
                }
                _ => vec![self.case_constant(&pair[0])?],
            };
            clauses.push((constants, self.expr(&pair[1], tail)?));
        }
        let default = match clauses.last() {
            Some((constants, _)) if default.is_empty() && self.is_current() && is_meant_as_default(constants) => {
                builtin(
                    &builtins::NO_MATCH,
                    constants.iter().map(|value| Node::constant(value.clone(), form.span)).collect(),
                    form.span,
                )
            }
            _ => self.body(default, form.span, tail)?,
        };
        let default = Box::new(default);
        Ok(Node::new(Expr::Case { subject, clauses, default }, form.span))
    }

    /// `(condp pred expr test value … default?)`
    pub(super) fn condp_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        let hint = "Write (condp pred value test result … default)";
        let [pred, subject, rest @ ..] = args else {
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                "condp",
                "needs a predicate and a value",
                hint,
                form.span,
            ));
        };
        if rest.len() < 2 {
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                "condp",
                "needs a test and its result",
                hint,
                form.span,
            ));
        }
        if self.is_current() && rest.iter().any(|part| is_keyword(part, ">>")) {
            return self.condp_with_arrows(form, pred, subject, rest, tail);
        }
        let results = rest.chunks_exact(2).map(|pair| &pair[1]);
        if let Some(arrow) = results.into_iter().find(|part| is_keyword(part, ">>")) {
            return Err(form_error_with_hint(Reason::InvalidForm, "condp", ":>> is not supported", hint, arrow.span));
        }
        let pred = self.expr(pred, Tail::No)?;
        let mark = self.enter();
        let mut binds = Vec::new();
        let known = constant_builtin(&pred).is_some();
        let pred_slot = self.scope().slot();
        let pred = if known {
            pred
        } else {
            let span = pred.span;
            binds.push((Pattern::Slot(pred_slot), pred));
            local(pred_slot, span)
        };
        let subject = self.expr(subject, Tail::No)?;
        let slot = self.scope().slot();
        let at = subject.span;
        binds.push((Pattern::Slot(slot), subject));
        let pairs = rest.chunks_exact(2);
        let default = pairs.remainder();
        let mut clauses = Vec::with_capacity(rest.len() / 2 + 1);
        for pair in pairs {
            let test = self.expr(&pair[0], Tail::No)?;
            let test = self.call(pred.clone(), vec![test, local(slot, at)], pair[0].span);
            clauses.push((test, self.expr(&pair[1], tail)?));
        }
        if let [default] = default {
            clauses.push((Node::constant(Value::Bool(true), default.span), self.expr(default, tail)?));
        }
        self.leave(mark);
        let body = Box::new(Node::new(Expr::Cond(clauses), form.span));
        Ok(Node::new(Expr::Let { binds, body }, form.span))
    }
}

impl Analyser<'_> {
    /// `condp` with clauses `test :>> f`, whose result is that of f for the value of the predicate.
    fn condp_with_arrows(
        &mut self,
        form: &Form,
        pred: &Form,
        subject: &Form,
        rest: &[Form],
        tail: Tail,
    ) -> AnalysisResult {
        let span = form.span;
        let (test, value, found) = (self.hidden_symbol(span), self.hidden_symbol(span), self.hidden_symbol(span));
        let mut clauses = Vec::new();
        let mut rest = rest;
        let mut chosen = literal(Value::Nil, span);
        loop {
            match rest {
                [] => break,
                [default] => {
                    chosen = default.clone();
                    break;
                }
                [given, arrow, function, more @ ..] if is_keyword(arrow, ">>") => {
                    clauses.push((given, function, true));
                    rest = more;
                }
                [given, result, more @ ..] => {
                    clauses.push((given, result, false));
                    rest = more;
                }
            }
        }
        for (given, result, is_called) in clauses.into_iter().rev() {
            let tested = list([test.clone(), given.clone(), value.clone()], given.span);
            chosen = if is_called {
                let call = list([result.clone(), found.clone()], result.span);
                list([symbol("if-let", span), vector([found.clone(), tested], span), call, chosen], span)
            } else {
                list([symbol("if", span), tested, result.clone(), chosen], span)
            };
        }
        let binding = vector([test, pred.clone(), value, subject.clone()], span);
        self.let_form(form, &[binding, chosen], tail)
    }

    /// A constant of `case`.
    fn case_constant(&self, form: &Form) -> AnalysisResult<Value> {
        if !self.is_current() {
            return constant(form);
        }
        match &form.shape {
            Shape::Symbol(name) | Shape::Quoted(name) => Ok(Value::Symbol(*name)),
            Shape::Vector(parts) => {
                let parts = parts.iter().map(|part| self.case_constant(part)).collect::<AnalysisResult<Vec<_>>>()?;
                Ok(Value::from(parts))
            }
            _ => constant(form),
        }
    }
}

/// Calls a builtin even if the program has a definition of the same name.
#[expect(clippy::expect_used, reason = "the caller names one that exists")]
fn of_language(name: &str, arg: Node, span: Span) -> Node {
    let builtin = builtins::find(name).expect("invariant: the language has it");
    Node::new(Expr::Builtin { builtin, args: vec![arg] }, span)
}

/// `if`
fn choice(test: Node, then: Node, other: Node, span: Span) -> Node {
    Node::new(Expr::If(Box::new([test, then, other])), span)
}

/// `then`, or `other` when the subject is nil.
pub(super) fn unless_nil(subject: Node, then: Node, other: Node, span: Span) -> Node {
    let clauses = vec![(vec![Value::Nil], other)];
    Node::new(Expr::Case { subject: Box::new(subject), clauses, default: Box::new(then) }, span)
}

/// Reads a local.
pub(super) fn local(slot: u32, span: Span) -> Node {
    Node::new(Expr::Local(Local { slot, last: false }), span)
}

fn nil(span: Span) -> Node {
    Node::constant(Value::Nil, span)
}

/// True for the constant of a last clause that other forms have as their default: `:else`.
fn is_meant_as_default(constants: &[Value]) -> bool {
    matches!(constants, [Value::Keyword(word)] if matches!(word.name(), "else" | "default" | "otherwise"))
}

/// A constant of `case`.
fn constant(form: &Form) -> AnalysisResult<Value> {
    match &form.shape {
        Shape::Literal(value) if !matches!(value, Value::Float(number) if !number.is_finite()) => Ok(value.clone()),
        _ => Err(form_error(
            Reason::InvalidForm,
            "case",
            "a case must be a keyword, string, number, boolean, nil or a parenthesised group of them",
            form.span,
        )),
    }
}

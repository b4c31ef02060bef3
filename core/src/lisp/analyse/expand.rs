//! Forms that are rewritten to others: `letfn`, `dotimes`, `while`, `doto`, `assert`, conditions of functions, and the
//! parts from which forms are built.

use std::rc::Rc;

use hashbrown::HashSet;

use super::call::{builtin, count};
use super::name::plain;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::builtins;
use crate::lisp::ir::{Expr, IterationResult, Node};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

use super::bind::is_keyword;

/// A symbol.
pub(super) fn symbol(name: &str, span: Span) -> Form {
    Form { shape: Shape::Symbol(Keyword::intern(name)), span }
}

/// A literal.
pub(super) fn literal(value: Value, span: Span) -> Form {
    Form { shape: Shape::Literal(value), span }
}

/// `( … )`
pub(super) fn list(parts: impl IntoIterator<Item = Form>, span: Span) -> Form {
    Form { shape: Shape::List(parts.into_iter().collect()), span }
}

/// `[ … ]`
pub(super) fn vector(parts: impl IntoIterator<Item = Form>, span: Span) -> Form {
    Form { shape: Shape::Vector(parts.into_iter().collect()), span }
}

impl Analyser<'_> {
    /// A symbol that no program can contain.
    pub(super) fn hidden_symbol(&mut self, span: Span) -> Form {
        self.hidden += 1;
        symbol(&format!("\u{1}{}", self.hidden), span)
    }

    /// `(dotimes [i n] body…)`
    pub(super) fn dotimes_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("dotimes", args, form.span)?;
        let hint = "Write (dotimes [i n] body)";
        let Shape::Vector(parts) = &args[0].shape else {
            let problem = "the binding must be a vector";
            return Err(form_error_with_hint(Reason::InvalidForm, "dotimes", problem, hint, args[0].span));
        };
        let [name, times] = &**parts else {
            let problem = "needs one name and one number";
            return Err(form_error_with_hint(Reason::InvalidForm, "dotimes", problem, hint, args[0].span));
        };
        let span = times.span;
        let source = list([symbol("clojure.core/range", span), times.clone()], span);
        let binding = vector([name.clone(), source], args[0].span);
        // Without a body there is nothing to repeat, but the number is evaluated.
        let body = [literal(Value::Nil, form.span)];
        let parts: Vec<Form> = [binding].into_iter().chain(args[1..].iter().cloned()).chain(body).collect();
        self.iteration("dotimes", form, &parts, IterationResult::Nil)
    }

    /// `(while test body…)`
    pub(super) fn while_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("while", args, form.span)?;
        let mark = self.enter();
        self.scope().targets.push(0);
        let test = self.expr(&args[0], Tail::No)?;
        let mut body = self.all(&args[1..])?;
        self.scope().targets.pop();
        self.leave(mark);
        body.push(Node::new(Expr::Recur(Vec::new()), form.span));
        let nil = Node::constant(Value::Nil, form.span);
        let again = Node::new(Expr::If(Box::new([test, Node::new(Expr::Do(body), form.span), nil])), form.span);
        Ok(Node::new(Expr::Loop { binds: Vec::new(), body: Box::new(again) }, form.span))
    }

    /// `(doto x (f a) …)`
    pub(super) fn doto_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("doto", args, form.span)?;
        let name = self.hidden_symbol(form.span);
        let call = |step: &Form| match &step.shape {
            Shape::List(parts) if !parts.is_empty() => {
                let (head, rest) = (parts[0].clone(), parts[1..].iter().cloned());
                list([head, name.clone()].into_iter().chain(rest), step.span)
            }
            _ => list([step.clone(), name.clone()], step.span),
        };
        let binding = vector([name.clone(), args[0].clone()], form.span);
        let parts: Vec<Form> = [binding].into_iter().chain(args[1..].iter().map(call)).chain([name.clone()]).collect();
        self.let_form(form, &parts, tail)
    }

    /// `(assert test message?)`
    pub(super) fn assert_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("assert", args, form.span)?;
        let test = self.expr(&args[0], Tail::No)?;
        let message = match &args[1..] {
            [] => Node::constant(Value::Nil, form.span),
            [message, ..] => self.expr(message, Tail::No)?,
        };
        let fails = builtin(&builtins::ASSERTION, vec![message], form.span);
        let nil = Node::constant(Value::Nil, form.span);
        Ok(Node::new(Expr::If(Box::new([test, nil, fails])), form.span))
    }

    /// The body of a function with the conditions of `{:pre […]}` before it. Other conditions are ignored.
    pub(super) fn checked_body(&self, body: &[Form]) -> Option<Vec<Form>> {
        let (Form { shape: Shape::Map(parts), .. }, rest @ [_, ..]) = body.split_first()? else { return None };
        let pairs = || parts.chunks_exact(2).map(|pair| (&pair[0], &pair[1]));
        if !self.is_current() || !pairs().any(|(key, _)| is_keyword(key, "pre") || is_keyword(key, "post")) {
            return None;
        }
        let tests = pairs().filter(|(key, _)| is_keyword(key, "pre")).filter_map(|(_, tests)| match &tests.shape {
            Shape::Vector(tests) => Some(Rc::clone(tests)),
            _ => None,
        });
        let tests: Vec<Form> = tests.flat_map(|tests| tests.to_vec()).collect();
        let asserts = tests.into_iter().map(|test| {
            let span = test.span;
            list([symbol("assert", span), test], span)
        });
        Some(asserts.chain(rest.iter().cloned()).collect())
    }

    /// `(letfn [(f [x] …) …] body…)`. Functions that call only themselves and earlier ones are bound in sequence. Others
    /// are made by one function that gets the number of the function to make, so that no function holds itself: each
    /// body begins with the functions that it mentions.
    pub(super) fn letfn_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("letfn", args, form.span)?;
        let hint = "Write (letfn [(f [x] body) (g [y] body)] body)";
        let Shape::Vector(functions) = &args[0].shape else {
            let problem = "the functions must be in a vector";
            return Err(form_error_with_hint(Reason::InvalidForm, "letfn", problem, hint, args[0].span));
        };
        let mut named = Vec::with_capacity(functions.len());
        for function in &**functions {
            let Some((parts, Some(name))) = function.list().map(|parts| (parts, parts.first().and_then(plain))) else {
                let problem = "a function must be a list that begins with its name";
                return Err(form_error_with_hint(Reason::InvalidForm, "letfn", problem, hint, function.span));
            };
            named.push(LocalFunction { name, parts, span: function.span });
        }
        let span = args[0].span;
        let mut later = HashSet::new();
        let mentions_later = named.iter().rev().any(|function| {
            let found = mentions(&function.parts[1..], &later);
            later.insert(function.name);
            found
        });
        let maker = mentions_later.then(|| self.hidden_symbol(span));
        let mut binds = Vec::with_capacity(2 * named.len() + 2);
        if let Some(maker) = &maker {
            let key = self.hidden_symbol(span);
            let choices = named.iter().enumerate().flat_map(|(at, function)| {
                [number(at, function.span), function.form(&|body| siblings(body, function, &named, maker))]
            });
            let choice = list([symbol("case", span), key.clone()].into_iter().chain(choices), span);
            let make = list([symbol("fn", span), maker.clone(), vector([key], span), choice], span);
            binds.extend([maker.clone(), make]);
        }
        for (at, function) in named.iter().enumerate() {
            let value = match &maker {
                Some(maker) => list([maker.clone(), number(at, span)], span),
                None => function.form(&|_| Vec::new()),
            };
            binds.extend([Form { shape: Shape::Symbol(function.name), span: function.span }, value]);
        }
        let parts: Vec<Form> = [vector(binds, span)].into_iter().chain(args[1..].iter().cloned()).collect();
        self.let_form(form, &parts, tail)
    }
}

/// A function of `letfn`.
struct LocalFunction<'f> {
    name: Keyword,
    /// Its name, and its parameters and body or its arities.
    parts: &'f [Form],
    span: Span,
}

impl LocalFunction<'_> {
    /// The form `fn`; each body is preceded by the bindings that it needs.
    fn form(&self, bindings: &dyn Fn(&[Form]) -> Vec<Form>) -> Form {
        let body = |arity: &[Form]| -> Vec<Form> {
            let binds = bindings(arity);
            let [params, body @ ..] = arity else { return arity.to_vec() };
            if binds.is_empty() {
                return arity.to_vec();
            }
            // Conditions come before the body.
            let conditions = usize::from(matches!(body, [Form { shape: Shape::Map(_), .. }, _, ..]));
            let (conditions, body) = body.split_at(conditions);
            let binds = vector(binds, self.span);
            let body = list([symbol("let", self.span), binds].into_iter().chain(body.iter().cloned()), self.span);
            [params.clone()].into_iter().chain(conditions.iter().cloned()).chain([body]).collect()
        };
        let parts: Vec<Form> = match &self.parts[1..] {
            arities @ [Form { shape: Shape::List(_), .. }, ..] => arities
                .iter()
                .map(|arity| arity.list().map_or(arity.clone(), |parts| list(body(parts), arity.span)))
                .collect(),
            parts => body(parts),
        };
        let name = Form { shape: Shape::Symbol(self.name), span: self.span };
        list([symbol("fn", self.span), name].into_iter().chain(parts), self.span)
    }
}

/// The bindings of the other functions that an arity mentions in its body and does not shadow by a parameter.
fn siblings(arity: &[Form], function: &LocalFunction<'_>, all: &[LocalFunction<'_>], maker: &Form) -> Vec<Form> {
    let Some((params, body)) = arity.split_first() else { return Vec::new() };
    let is_needed = |other: &LocalFunction<'_>| {
        let name = HashSet::from([other.name]);
        other.name != function.name && mentions(body, &name) && !mentions(std::slice::from_ref(params), &name)
    };
    let needed = all.iter().enumerate().filter(|(_, other)| is_needed(other));
    needed
        .flat_map(|(at, other)| {
            let made = list([maker.clone(), number(at, function.span)], function.span);
            [Form { shape: Shape::Symbol(other.name), span: function.span }, made]
        })
        .collect()
}

fn number(at: usize, span: Span) -> Form {
    literal(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)), span)
}

/// True if one of the symbols appears in the forms.
fn mentions(forms: &[Form], names: &HashSet<Keyword>) -> bool {
    let mut rest: Vec<&Form> = forms.iter().collect();
    while let Some(form) = rest.pop() {
        match &form.shape {
            Shape::Symbol(found) if names.contains(found) => return true,
            Shape::List(parts) | Shape::Vector(parts) | Shape::Map(parts) | Shape::Set(parts) | Shape::Short(parts) => {
                rest.extend(&**parts);
            }
            _ => {}
        }
    }
    false
}

//! Functions with several parameter vectors: `(fn ([x] …) ([x y & more] …))`.
//!
//! They become one function of any number of arguments that chooses by their count; each arity is a loop, so that its
//! `recur` restarts it.

use super::branch::local;
use super::call::builtin;
use super::function::{SelfName, parameters, shown, written};
use super::{Analyser, AnalysisResult, Tail, form_error, form_error_with_hint};
use crate::lisp::builtins::{self, Builtin};
use crate::lisp::ir::{Expr, Node, Pattern};
use crate::lisp::{Error, Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// The slot of the arguments.
const ARGUMENTS: u32 = 0;

/// One parameter vector with its body.
struct Arity<'f> {
    positions: &'f [Form],
    rest: Option<&'f Form>,
    body: &'f [Form],
    span: Span,
}

impl Analyser<'_> {
    /// A function from its arities.
    pub(super) fn arities(&mut self, op: &str, name: SelfName, parts: &[Form], span: Span) -> AnalysisResult {
        let arities = parts.iter().map(|part| arity(op, part)).collect::<AnalysisResult<Vec<_>>>()?;
        check_counts(op, &arities)?;
        self.enter_function();
        let shown_name = self.declare_self(name);
        let slot = self.scope().slot();
        debug_assert_eq!(slot, ARGUMENTS, "the rest arrives in the first slot");
        let mut clauses = Vec::new();
        let mut default = no_arity(op, shown_name.map(Keyword::name), &arities, span);
        for arity in &arities {
            let body = self.arity_body(arity)?;
            if arity.rest.is_none() {
                let count = i64::try_from(arity.positions.len()).unwrap_or(i64::MAX);
                clauses.push((vec![Value::Int(count)], body));
            } else {
                let least = Node::constant(Value::Int(i64::try_from(arity.positions.len()).unwrap_or(0)), span);
                let is_enough = call("<=", vec![least, call("count", vec![local(ARGUMENTS, span)], span)], span);
                default = Node::new(Expr::If(Box::new([is_enough, body, default])), span);
            }
        }
        let subject = Box::new(call("count", vec![local(ARGUMENTS, span)], span));
        let body = Node::new(Expr::Case { subject, clauses, default: Box::new(default) }, span);
        let shown = format!("({})", arities.iter().map(|arity| shown_arity(arity)).collect::<Vec<_>>().join(" "));
        Ok(self.finish(shown_name, Vec::new(), Some(Pattern::Slot(ARGUMENTS)), shown.into(), body, span))
    }

    /// The body of an arity, with its parameters bound to the arguments.
    fn arity_body(&mut self, arity: &Arity<'_>) -> AnalysisResult {
        let (span, mark) = (arity.span, self.enter());
        let index = |at: usize| Node::constant(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)), span);
        let mut binds = Vec::new();
        for (at, form) in arity.positions.iter().enumerate() {
            binds.push((self.pattern(form)?, call("nth", vec![local(ARGUMENTS, span), index(at)], span)));
        }
        if let Some(form) = arity.rest {
            let rest = call("drop", vec![index(arity.positions.len()), local(ARGUMENTS, span)], span);
            let rest = match form.shape {
                Shape::Map(_) => builtin(&builtins::NAMED_ARGUMENTS, vec![rest], span),
                _ => rest,
            };
            binds.push((self.pattern(form)?, rest));
        }
        self.scope().targets.push(binds.len());
        let checked = self.checked_body(arity.body);
        let body = Box::new(self.body(checked.as_deref().unwrap_or(arity.body), span, Tail::Yes)?);
        self.scope().targets.pop();
        self.leave(mark);
        Ok(Node::new(Expr::Loop { binds, body }, span))
    }
}

/// Fails when no arity fits. The caller adds its position to the error.
fn no_arity(op: &str, name: Option<&str>, arities: &[Arity<'_>], span: Span) -> Node {
    let shown = arities.iter().map(shown_arity).collect::<Vec<_>>().join(" or ");
    let problem = format!("no parameters fit the number of arguments: it takes {shown}");
    let error = Error::new(Reason::ArityMismatch, problem).within(name.unwrap_or(op).to_owned());
    Node::new(Expr::Raise(Box::new(error)), span)
}

fn arity<'f>(op: &str, form: &'f Form) -> AnalysisResult<Arity<'f>> {
    let Some(([Form { shape: Shape::Vector(params), span }, ..], body)) =
        form.list().and_then(|parts| parts.split_at_checked(1))
    else {
        let problem = "each arity must be a list of a parameter vector and a body";
        return Err(form_error_with_hint(Reason::InvalidForm, op, problem, &written(op), form.span));
    };
    let (positions, rest) = parameters(op, params, *span)?;
    Ok(Arity { positions, rest, body, span: form.span })
}

/// Fails if two arities take the same number of arguments, or two any number.
fn check_counts(op: &str, arities: &[Arity<'_>]) -> AnalysisResult<()> {
    let key = |arity: &Arity<'_>| arity.rest.map_or(Some(arity.positions.len()), |_| None);
    for (at, arity) in arities.iter().enumerate() {
        if arities[..at].iter().any(|other| key(other) == key(arity)) {
            let problem = "two arities take the same number of arguments";
            return Err(form_error(Reason::InvalidForm, op, problem, arity.span));
        }
    }
    Ok(())
}

fn shown_arity(arity: &Arity<'_>) -> String {
    let name = |form: &Form| form.symbol().unwrap_or("_");
    shown(arity.positions.iter().map(name), arity.rest.map(name)).into()
}

/// Calls a builtin of the language.
#[expect(clippy::expect_used, reason = "the caller names one that exists")]
fn call(name: &str, args: Vec<Node>, span: Span) -> Node {
    let row: &'static Builtin = builtins::find(name).expect("invariant: the language has it");
    builtin(row, args, span)
}

//! Collection literals, regular expressions, and quoted names and data.

use std::sync::Arc;

use hashbrown::HashSet;

use super::{Analyser, AnalysisResult, Tail};
use crate::lisp::builtins::regex::compile;
use crate::lisp::ir::{Expr, Node};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// Steps for compiling all regexes of a program, during which the clock is not checked. Enough for 200 regexes with the
/// letters of all languages.
const MOST_REGEX_STEPS: usize = 10_000_000;

/// The equality of literal forms: lists and vectors are equal, the order in maps and sets is ignored, and so is the
/// sign of zero.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum LiteralKey<'f> {
    Literal(&'f Value),
    Zero,
    Symbol(Keyword),
    Quoted(Keyword),
    Var(Keyword),
    Sequence(Vec<LiteralKey<'f>>),
    Map(Vec<(LiteralKey<'f>, LiteralKey<'f>)>),
    Set(Vec<LiteralKey<'f>>),
}

impl<'f> LiteralKey<'f> {
    /// `None` for forms that are never equal to another: regular expressions and short functions.
    fn of(form: &'f Form) -> Option<Self> {
        let all = |parts: &'f [Form]| parts.iter().map(Self::of).collect::<Option<Vec<_>>>();
        Some(match &form.shape {
            Shape::Literal(Value::Float(0.0)) => Self::Zero,
            Shape::Literal(value) => Self::Literal(value),
            Shape::Symbol(name) => Self::Symbol(*name),
            Shape::Quoted(name) => Self::Quoted(*name),
            Shape::Var(name) => Self::Var(*name),
            Shape::List(parts) | Shape::Vector(parts) => Self::Sequence(all(parts)?),
            Shape::Map(parts) => {
                let entry = |pair: &'f [Form]| Some((Self::of(&pair[0])?, Self::of(&pair[1])?));
                let mut entries = parts.chunks_exact(2).map(entry).collect::<Option<Vec<_>>>()?;
                entries.sort_unstable();
                Self::Map(entries)
            }
            Shape::Set(parts) => {
                let mut members = all(parts)?;
                members.sort_unstable();
                Self::Set(members)
            }
            Shape::Regex(_) | Shape::Short(_) => return None,
        })
    }
}

impl Analyser<'_> {
    /// `#"…"`
    fn regex(&mut self, source: &str, span: Span) -> AnalysisResult {
        let rules = self.names.dialect.regex_rules();
        let compiled =
            compile(source, rules).map_err(|error| crate::lisp::Error { reason: Reason::InvalidForm, ..error });
        let compiled = compiled.and_then(|pattern| {
            self.regex_steps += pattern.program().work();
            if self.regex_steps > MOST_REGEX_STEPS {
                let problem = "the program's regexes are too large in total";
                return Err(
                    crate::lisp::Error::new(Reason::ProgramTooLarge, problem).hint("Use fewer or simpler regexes")
                );
            }
            Ok(Node::constant(Value::Regex(Arc::new(pattern)), span))
        });
        compiled.map_err(|error| Box::new(error.within("#\"…\"").at(span)))
    }

    /// Any form except an atom, a list and a symbol.
    pub(super) fn literal(&mut self, form: &Form) -> AnalysisResult {
        let span = form.span;
        match &form.shape {
            Shape::Literal(value) => Ok(Node::constant(value.clone(), span)),
            Shape::Regex(source) => self.regex(source, span),
            Shape::Quoted(name) => Ok(Node::constant(Value::Symbol(*name), span)),
            Shape::Var(name) => Ok(self.var(*name, span)),
            Shape::Short(parts) => self.short(form, parts),
            Shape::Symbol(name) => self.symbol(*name, span),
            Shape::List(parts) => self.list(form, parts, Tail::No),
            Shape::Vector(parts) => Ok(Node::new(vector(self.all(parts)?), span)),
            Shape::Set(parts) => {
                distinct("a set has the same element twice", parts.iter())?;
                Ok(Node::new(set(self.all(parts)?), span))
            }
            Shape::Map(parts) => {
                distinct("a map has the same key twice", parts.iter().step_by(2))?;
                let mut entries = Vec::with_capacity(parts.len() / 2);
                for pair in parts.chunks_exact(2) {
                    entries.push((self.expr(&pair[0], Tail::No)?, self.expr(&pair[1], Tail::No)?));
                }
                Ok(Node::new(map(entries), span))
            }
        }
    }
}

/// `[…]`; a constant if all items are.
pub(super) fn vector(nodes: Vec<Node>) -> Expr {
    match constants(&nodes) {
        Some(items) => Expr::Const(items.into()),
        None => Expr::Vector(nodes),
    }
}

/// `#{…}`; a constant if all members are.
pub(super) fn set(nodes: Vec<Node>) -> Expr {
    match constants(&nodes) {
        Some(members) => Expr::Const(Value::set(members)),
        None => Expr::Set(nodes),
    }
}

/// `{…}`; a constant if all keys and values are.
pub(super) fn map(entries: Vec<(Node, Node)>) -> Expr {
    let constant = |node: &Node| match &node.expr {
        Expr::Const(value) => Some(value.clone()),
        _ => None,
    };
    let all: Option<Vec<(Value, Value)>> =
        entries.iter().rev().map(|(key, value)| Some((constant(key)?, constant(value)?))).collect();
    match all {
        Some(all) => Expr::Const(Value::map(all)),
        None => Expr::Map(entries),
    }
}

/// The values of the nodes if all are constant.
fn constants(nodes: &[Node]) -> Option<Vec<Value>> {
    nodes
        .iter()
        .map(|node| match &node.expr {
            Expr::Const(value) => Some(value.clone()),
            _ => None,
        })
        .collect()
}

/// Up to this many forms are compared pairwise.
const FEW: usize = 8;

/// Fails when two of the forms are literally equal.
fn distinct<'f>(problem: &str, mut forms: impl ExactSizeIterator<Item = &'f Form> + Clone) -> AnalysisResult<()> {
    let twice = if forms.len() <= FEW {
        let same = |a: &Form, b: &Form| LiteralKey::of(a).is_some_and(|a| LiteralKey::of(b).is_some_and(|b| a == b));
        let mut before = forms.clone().enumerate();
        before.find(|(at, form)| forms.clone().take(*at).any(|known| same(known, form))).map(|(_, form)| form)
    } else {
        let mut seen = HashSet::new();
        forms.find(|form| LiteralKey::of(form).is_some_and(|written| !seen.insert(written)))
    };
    match twice {
        Some(form) => Err(Box::new(crate::lisp::Error::new(Reason::DuplicateKey, problem).at(form.span))),
        None => Ok(()),
    }
}

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

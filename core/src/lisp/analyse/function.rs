//! Functions: `fn`, the function of `defn`, `#( … )`, and multimethods (`defmulti` defines a function that chooses by the value of its
//! dispatch function, `defmethod` defines it again with one more method).

use std::rc::Rc;
use std::sync::Arc;

use super::bind::{is_keyword, unsupported};
use super::call::{builtin, count};
use super::control::defined_name;
use super::expand::{list, symbol, vector};
use super::name::{is_placeholder, number, plain};
use super::{Analyser, AnalysisResult, Tail, cell, form_error, form_error_with_hint, liveness};
use crate::lisp::ir::{Calls, DefCondition, Expr, Lambda, Node, Pattern, Unbound};
use crate::lisp::{Error, Form, Shape, builtins};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// The highest placeholder of a short function.
const PLACEHOLDERS: usize = SHORT.len();

/// Placeholders and their display names.
const SHORT: [(&str, &str); 20] = [
    ("%1", "p1"),
    ("%2", "p2"),
    ("%3", "p3"),
    ("%4", "p4"),
    ("%5", "p5"),
    ("%6", "p6"),
    ("%7", "p7"),
    ("%8", "p8"),
    ("%9", "p9"),
    ("%10", "p10"),
    ("%11", "p11"),
    ("%12", "p12"),
    ("%13", "p13"),
    ("%14", "p14"),
    ("%15", "p15"),
    ("%16", "p16"),
    ("%17", "p17"),
    ("%18", "p18"),
    ("%19", "p19"),
    ("%20", "p20"),
];

/// The name of the body of `with-out-str` in messages.
const PART: &str = "with-out-str";

/// The meaning of a function's own name inside it.
#[derive(Clone, Copy)]
pub(super) enum SelfName {
    /// Nothing.
    None,
    /// The function itself.
    Myself(Keyword),
    /// Its definition in memory.
    Global(Keyword),
}

impl Analyser<'_> {
    /// The form `fn`. Its syntax: `(fn name? [params] body…)`
    pub(super) fn fn_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("fn", args, form.span)?;
        let (name, args) = match args {
            [name, params, ..] if plain(name).is_some() && (self.is_current() || !is_multiple(params)) => {
                (plain(name).map_or(SelfName::None, SelfName::Myself), &args[1..])
            }
            _ => (SelfName::None, args),
        };
        self.lambda("fn", name, args, form.span)
    }

    /// The function of `(defn name [params] body…)`.
    pub(super) fn defined(&mut self, name: Keyword, parts: &[Form], span: Span) -> AnalysisResult {
        self.lambda("defn", SelfName::Global(name), parts, span)
    }

    /// A part of a form: a function without parameters that `recur` cannot restart.
    pub(super) fn part_as_function(&mut self, body: &[Form], span: Span) -> AnalysisResult {
        let params = vector([], span);
        let parts: Vec<Form> = [params].into_iter().chain(body.iter().cloned()).collect();
        self.lambda(PART, SelfName::None, &parts, span)
    }

    /// Declares the function's own name inside it; returns the name to display.
    pub(super) fn declare_self(&mut self, name: SelfName) -> Option<Keyword> {
        match name {
            SelfName::None => None,
            SelfName::Myself(name) => {
                self.declare_myself(name);
                Some(name)
            }
            SelfName::Global(name) => Some(name),
        }
    }

    /// A function from its parameters and body.
    fn lambda(&mut self, op: &str, name: SelfName, parts: &[Form], span: Span) -> AnalysisResult {
        if self.is_current() && parts.first().is_some_and(is_multiple) {
            return self.arities(op, name, parts, span);
        }
        let Some((form, body)) = parts.split_first() else {
            let problem = "the parameter vector is missing";
            return Err(form_error_with_hint(Reason::InvalidForm, op, problem, &written(op), span));
        };
        let Shape::Vector(params) = &form.shape else {
            let (problem, hint) = if is_multiple(form) {
                ("a function has only one parameter vector", "Use & rest, or define several functions".to_owned())
            } else {
                ("the parameters must be a vector", written(op))
            };
            return Err(form_error_with_hint(Reason::InvalidForm, op, problem, &hint, form.span));
        };
        self.enter_function();
        let shown_name = self.declare_self(name);
        let (positions, rest) = parameters(op, params, form.span)?;
        let name = |form: &Form| form.symbol().unwrap_or("_");
        let shown = shown(positions.iter().map(name), rest.map(name));
        let slots: Vec<u32> = positions.iter().chain(rest).map(|_| self.scope().slot()).collect();
        let mut patterns = Vec::with_capacity(slots.len());
        for (form, slot) in positions.iter().chain(rest).zip(&slots) {
            patterns.push(match plain(form) {
                Some(name) => {
                    self.declare(name, *slot);
                    Pattern::Slot(*slot)
                }
                None => self.pattern(form)?,
            });
        }
        let rest = rest.and_then(|_| patterns.pop());
        if op == PART {
            self.scope().is_part_of_try = true;
        } else {
            self.scope().targets.push(slots.len());
        }
        let checked = self.checked_body(body);
        let body = self.body(checked.as_deref().unwrap_or(body), span, Tail::Yes)?;
        Ok(self.finish(shown_name, patterns, rest, shown, body, span))
    }

    /// Finishes the innermost function.
    pub(super) fn finish(
        &mut self,
        name: Option<Keyword>,
        mut params: Vec<Pattern>,
        mut rest: Option<Pattern>,
        shown: Box<str>,
        mut body: Node,
        span: Span,
    ) -> Node {
        let scope = self.leave_function();
        let mut patterns: Vec<&mut Pattern> = params.iter_mut().chain(&mut rest).collect();
        liveness::mark(&mut body, &mut patterns);
        let calls =
            if self.changes_cells { cell::calls(params.iter().chain(&rest), &body, &self.globals) } else { Calls::Any };
        let lambda = Lambda { name, params, rest, shown, slots: scope.size, body, calls, span };
        Node::new(Expr::Fn { lambda: Arc::new(lambda), captures: scope.captures }, span)
    }

    /// `#( … )`
    pub(super) fn short(&mut self, form: &Form, parts: &Rc<[Form]>) -> AnalysisResult {
        let (highest, rest) = placeholders(parts, self.is_current())?;
        if highest > PLACEHOLDERS {
            let problem = format!("placeholders go up to %{PLACEHOLDERS}");
            return Err(form_error_with_hint(Reason::InvalidForm, "#()", problem, "Use (fn […] …)", form.span));
        }
        self.enter_function();
        let mut params = Vec::with_capacity(highest);
        for (placeholder, _) in &SHORT[..highest] {
            let slot = self.scope().slot();
            self.declare(Keyword::intern(placeholder), slot);
            if *placeholder == "%1" {
                self.declare(Keyword::intern("%"), slot);
            }
            params.push(Pattern::Slot(slot));
        }
        let rest = rest.then(|| {
            let slot = self.scope().slot();
            self.declare(Keyword::intern("%&"), slot);
            Pattern::Slot(slot)
        });
        let shown = shown(SHORT[..highest].iter().map(|(_, shown)| *shown), rest.as_ref().map(|_| "rest"));
        let target = params.len() + usize::from(rest.is_some());
        self.scope().targets.push(target);
        self.shorts += 1;
        let body = match &**parts {
            [] => self.body(&[], form.span, Tail::Yes)?,
            [only] if self.is_current() && may_give_function(only) => {
                let value = self.expr(only, Tail::No)?;
                builtin(&builtins::CALLED, vec![value], form.span)
            }
            [only] if !is_called(only) => self.expr(only, Tail::Yes)?,
            _ => {
                let call = Form { shape: Shape::List(Rc::clone(parts)), span: form.span };
                self.expr(&call, Tail::Yes)?
            }
        };
        self.shorts -= 1;
        Ok(self.finish(None, params, rest, shown, body, form.span))
    }
}

/// The notation of a function, for hints.
pub(super) fn written(op: &str) -> String {
    format!("Write ({op} {}[a b & more] body)", if op == "defn" { "name " } else { "" })
}

/// True for a name that a short function consisting only of it calls. Placeholders, earlier results and qualified names
/// are values, but a tool is called.
fn is_called(form: &Form) -> bool {
    let is_tool = form.symbol().is_some_and(|name| name.starts_with("tool/"));
    is_tool || plain(form).is_some_and(|name| !is_placeholder(name.name()))
}

/// True for the only part of a short function whose value may be a function that Clojure calls: `#(%)`, `#((f %))`.
fn may_give_function(form: &Form) -> bool {
    match &form.shape {
        Shape::Symbol(name) => is_placeholder(name.name()),
        Shape::List(parts) => !parts.is_empty(),
        _ => false,
    }
}

/// True for a form that makes a function: `(fn …)`, `#(…)`.
pub(super) fn is_function(form: &Form) -> bool {
    match &form.shape {
        Shape::Short(_) => true,
        Shape::List(parts) => parts.first().and_then(Form::symbol) == Some("fn"),
        _ => false,
    }
}

/// True for a parameter list with a body, as in a function with several arities.
fn is_multiple(form: &Form) -> bool {
    form.list().and_then(<[Form]>::first).is_some_and(|first| matches!(first.shape, Shape::Vector(_)))
}

/// The positional parameters and the one after `&`.
pub(super) fn parameters<'f>(
    op: &str,
    params: &'f [Form],
    span: Span,
) -> AnalysisResult<(&'f [Form], Option<&'f Form>)> {
    if let Some(form) = params.iter().find(|form| matches!(form.shape, Shape::Literal(_))) {
        return Err(unsupported(form, "a parameter must be a symbol, a vector or a map"));
    }
    let Some(at) = params.iter().position(|form| form.symbol() == Some("&")) else {
        return Ok((params, None));
    };
    match &params[at + 1..] {
        [rest] if rest.symbol() != Some("&") => Ok((&params[..at], Some(rest))),
        _ => Err(form_error(Reason::InvalidForm, op, "exactly one parameter must follow &", span)),
    }
}

/// The parameters as displayed.
pub(super) fn shown<'n>(positions: impl Iterator<Item = &'n str>, rest: Option<&'n str>) -> Box<str> {
    let mut shown = String::from("[");
    for name in positions.chain(rest.map(|_| "&")).chain(rest) {
        if shown.len() > 1 {
            shown.push(' ');
        }
        shown.push_str(name);
    }
    shown.push(']');
    shown.into()
}

/// The highest placeholder in a short function, and whether it has `%&`.
fn placeholders(parts: &[Form], may_nest: bool) -> Result<(usize, bool), Box<Error>> {
    let (mut highest, mut rest) = (0, false);
    let mut forms: Vec<&Form> = parts.iter().collect();
    while let Some(form) = forms.pop() {
        match &form.shape {
            Shape::Symbol(name) => match name.name().strip_prefix('%') {
                Some("") => highest = highest.max(1),
                Some("&") => rest = true,
                Some(digits) => highest = highest.max(number(digits).unwrap_or(0)),
                None => {}
            },
            // Its placeholders are its own.
            Shape::Short(_) if may_nest => {}
            Shape::Short(_) => {
                let hint = "Write the inner function as (fn [x] …)";
                return Err(form_error_with_hint(Reason::InvalidForm, "#()", "#() cannot be nested", hint, form.span));
            }
            Shape::List(parts) | Shape::Vector(parts) | Shape::Map(parts) | Shape::Set(parts) => forms.extend(&**parts),
            Shape::Literal(_) | Shape::Regex(_) | Shape::Quoted(_) | Shape::Var(_) => {}
        }
    }
    Ok((highest, rest))
}

impl Analyser<'_> {
    /// The form `defmulti`. Its syntax: `(defmulti name "doc"? dispatch :default key?)`
    pub(super) fn defmulti_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("defmulti", args, form.span)?;
        let name = defined_name("defmulti", &args[0])?;
        let (doc, parts) = match &args[1].shape {
            Shape::Literal(Value::Str(text)) if args.len() > 2 => (Some(text.as_ref().as_ref().into()), &args[2..]),
            _ => (None, &args[1..]),
        };
        let parts = match parts {
            [Form { shape: Shape::Map(_), .. }, rest @ ..] if !rest.is_empty() => rest,
            parts => parts,
        };
        let default = match parts {
            [_, key, value, ..] if is_keyword(key, "default") => self.expr(value, Tail::No)?,
            _ => Node::constant(Value::keyword("default"), form.span),
        };
        let shown = Node::constant(Value::str(name.name()), form.span);
        let made = vec![shown, self.expr(&parts[0], Tail::No)?, default];
        let value = Box::new(builtin(&builtins::MULTIMETHOD, made, form.span));
        let global = self.global(name);
        Ok(Node::new(Expr::Def { global, value, doc, when: DefCondition::Always }, form.span))
    }

    /// `(defmethod name value [params] body…)`
    pub(super) fn defmethod_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("defmethod", args, form.span)?;
        let name = defined_name("defmethod", &args[0])?;
        if !self.is_global(name) {
            let hint = format!("Write (defmulti {0} dispatch-function) before (defmethod {0} …)", name.name());
            let problem = format!("unknown multimethod `{}`", name.name());
            return Err(form_error_with_hint(Reason::InvalidForm, "defmethod", problem, &hint, args[0].span));
        }
        let global = self.global(name);
        let multi = Node::new(Expr::Global { global, unbound: Unbound::Nil }, args[0].span);
        let value = self.expr(&args[1], Tail::No)?;
        let function = list([symbol("fn", form.span)].into_iter().chain(args[2..].iter().cloned()), form.span);
        let function = self.fn_form(&function, &args[2..], Tail::No)?;
        let shown = Node::constant(Value::str(name.name()), form.span);
        let value = Box::new(builtin(&builtins::METHOD, vec![shown, multi, value, function], form.span));
        Ok(Node::new(Expr::Def { global, value, doc: None, when: DefCondition::Always }, form.span))
    }
}

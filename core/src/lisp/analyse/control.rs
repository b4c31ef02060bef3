//! Sequencing, definitions, jumps and the forms that talk to the agent.

use super::call::count;
use super::name::plain;
use super::{Analyser, AnalysisResult, Tail, form_error, form_error_with_hint};
use crate::lisp::ir::{DefCondition, Expr, Node, Unbound};
use crate::lisp::{Error, Form, Shape};
use crate::reasons::Reason;
use crate::value::{Keyword, Value};

impl Analyser<'_> {
    /// `(do …)`
    pub(super) fn do_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        self.body(args, form.span, tail)
    }

    /// `(comment …)`: its contents are ignored.
    pub(super) fn comment_form(&mut self, form: &Form, _: &[Form], _: Tail) -> AnalysisResult {
        Ok(Node::constant(Value::Nil, form.span))
    }

    /// `(and …)`
    pub(super) fn and_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        if args.is_empty() {
            return Ok(Node::constant(Value::Bool(true), form.span));
        }
        Ok(Node::new(Expr::And(self.last_in_tail(args, tail)?), form.span))
    }

    /// `(or …)`: a bare undefined symbol reads as nil.
    pub(super) fn or_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        if args.is_empty() {
            return Ok(Node::constant(Value::Nil, form.span));
        }
        let last = args.len() - 1;
        let mut nodes = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            let known = self.unknown.mark();
            let node = self.expr(arg, if at == last { tail } else { Tail::No })?;
            let absent =
                self.unknown.mark() > known || matches!(node.expr, Expr::Global { unbound: Unbound::Fails, .. });
            nodes.push(match plain(arg).filter(|_| absent) {
                Some(name) => {
                    self.unknown.forget(known);
                    Node::new(Expr::Global { global: self.global(name), unbound: Unbound::Nil }, arg.span)
                }
                None => node,
            });
        }
        Ok(Node::new(Expr::Or(nodes), form.span))
    }

    /// `(recur …)`
    pub(super) fn recur_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        let wanted = self.scope().targets.last().copied();
        let (Tail::Yes, Some(wanted)) = (tail, wanted) else {
            let hint = if self.scope().is_part_of_try {
                "recur cannot leave try. Return a value from it: (let [r (try … (catch Exception e :failed))] (if (= r :failed) (recur …) r))"
            } else {
                "recur must be in tail position of a loop or function: write (loop [i 0] (if … (recur (inc i)) i))"
            };
            let problem = "recur is not in tail position";
            return Err(form_error_with_hint(Reason::InvalidForm, "recur", problem, hint, form.span));
        };
        let mut nodes = self.all(args)?;
        if nodes.len() == wanted {
            return Ok(Node::new(Expr::Recur(nodes), form.span));
        }
        let values = if wanted == 1 { "value" } else { "values" };
        let problem = format!("the loop or function takes {wanted} {values}, got {}", nodes.len());
        let error = Error::new(Reason::ArityMismatch, problem).within("recur").at(form.span);
        nodes.push(Node::new(Expr::Raise(Box::new(error)), form.span));
        Ok(Node::new(Expr::Do(nodes), form.span))
    }

    /// `(def n v)`
    pub(super) fn def_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.definition("def", form, args, DefCondition::Always)
    }

    /// `(defonce n v)`
    pub(super) fn defonce_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        self.definition("defonce", form, args, DefCondition::Unbound)
    }

    /// Analyses `def` and `defonce`.
    fn definition(&mut self, op: &str, form: &Form, args: &[Form], when: DefCondition) -> AnalysisResult {
        args.first().map(|name| defined_name(op, name)).transpose()?;
        count(op, args, form.span)?;
        let name = defined_name(op, &args[0])?;
        let (doc, value) = match args {
            [_, value] => (None, value),
            [_, doc, value, ..] => {
                let Shape::Literal(Value::Str(text)) = &doc.shape else {
                    let hint = format!("Write ({op} name \"description\" value)");
                    let problem = "the description must be a string";
                    return Err(form_error_with_hint(Reason::InvalidArity, op, problem, &hint, doc.span));
                };
                (Some(text.as_ref().as_ref().into()), value)
            }
            _ => (None, &args[0]),
        };
        let value = Box::new(self.expr(value, Tail::No)?);
        let global = self.global(name);
        Ok(Node::new(Expr::Def { global, value, doc, when }, form.span))
    }

    /// The form `defn`. Its syntax: `(defn n "doc"? [params] body…)`
    pub(super) fn defn_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        args.first().map(|name| defined_name("defn", name)).transpose()?;
        count("defn", args, form.span)?;
        let name = defined_name("defn", &args[0])?;
        let (doc, parts) = match &args[1].shape {
            Shape::Literal(Value::Str(text)) => (Some(text.as_ref().as_ref().into()), &args[2..]),
            _ => (None, &args[1..]),
        };
        let parts = match parts {
            [Form { shape: Shape::Map(_), .. }, rest @ ..] if self.is_current() => rest,
            parts => parts,
        };
        let value = Box::new(self.defined(name, parts, form.span)?);
        let global = self.global(name);
        Ok(Node::new(Expr::Def { global, value, doc, when: DefCondition::Always }, form.span))
    }

    /// `(quote sym)`
    pub(super) fn quote_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("quote", args, form.span)?;
        if let [Form { shape: Shape::Symbol(name) | Shape::Quoted(name), .. }] = args {
            return Ok(Node::constant(Value::Symbol(*name), form.span));
        }
        if let ([data], true) = (args, self.is_current()) {
            return self.quoted(data);
        }
        let hint = "Write 'name; a list is written as a vector […]";
        Err(form_error_with_hint(Reason::InvalidForm, "quote", "only a symbol can be quoted", hint, form.span))
    }

    /// `(return v)`
    pub(super) fn return_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("return", args, form.span)?;
        Ok(Node::new(Expr::Return(Box::new(self.expr(&args[0], Tail::No)?)), form.span))
    }

    /// `(fail v)`
    pub(super) fn fail_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("fail", args, form.span)?;
        Ok(Node::new(Expr::Fail(Box::new(self.expr(&args[0], Tail::No)?)), form.span))
    }

    /// `(task id expr)`
    pub(super) fn task_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("task", args, form.span)?;
        let id = Box::new(self.expr(&args[0], Tail::No)?);
        let body = Box::new(self.expr(&args[1], Tail::No)?);
        Ok(Node::new(Expr::Task { id, body }, form.span))
    }

    /// `(step-done id summary)`
    pub(super) fn step_done_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("step-done", args, form.span)?;
        let id = Box::new(self.expr(&args[0], Tail::No)?);
        let summary = Box::new(self.expr(&args[1], Tail::No)?);
        Ok(Node::new(Expr::StepDone { id, summary }, form.span))
    }

    /// `(task-reset id)`
    pub(super) fn task_reset_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("task-reset", args, form.span)?;
        Ok(Node::new(Expr::TaskReset(Box::new(self.expr(&args[0], Tail::No)?)), form.span))
    }

    /// `(tool/try (tool/name …))`; a tool named `try` takes precedence. Only a tool call can be tried, because a failed
    /// call leaves no work of the machine half done.
    pub(super) fn try_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        if self.tools.contains("try") {
            return self.tool_call(form, "try", form.span, args);
        }
        count("tool/try", args, form.span)?;
        let Expr::Tool { tool, args } = self.expr(&args[0], Tail::No)?.expr else {
            let hint = "Write (tool/try (tool/name {…})) with only a tool call inside";
            return Err(form_error_with_hint(Reason::InvalidForm, "tool/try", "takes one tool call", hint, form.span));
        };
        Ok(Node::new(Expr::Try { tool, args }, form.span))
    }

    /// `(budget/remaining)`
    pub(super) fn budget_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("budget/remaining", args, form.span)?;
        Ok(Node::new(Expr::Budget, form.span))
    }
}

/// The name that a definition defines.
pub(super) fn defined_name(op: &str, form: &Form) -> AnalysisResult<Keyword> {
    plain(form).ok_or_else(|| {
        let problem = match form.symbol() {
            Some(name) if !name.contains('/') => format!("`{name}` cannot be defined: it is an earlier result"),
            Some(name) => format!("`{name}` cannot be defined: it belongs to a namespace"),
            None => "the name must be a symbol".to_owned(),
        };
        form_error(Reason::InvalidForm, op, problem, form.span)
    })
}

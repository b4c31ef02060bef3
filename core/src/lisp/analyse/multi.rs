//! Multimethods: `defmulti` defines a function that chooses by the value of its dispatch function, `defmethod` defines it
//! again with one more method.

use super::call::{builtin, count};
use super::control::defined_name;
use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::builtins;
use crate::lisp::ir::{DefCondition, Expr, Node, Unbound};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::value::Value;

use super::bind::is_keyword;
use super::expand::{list, symbol};

impl Analyser<'_> {
    /// `(defmulti name "doc"? dispatch :default key?)`
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
            let problem = format!("there is no multimethod `{}`", name.name());
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

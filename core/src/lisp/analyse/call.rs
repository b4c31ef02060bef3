//! Lists: forms, calls of builtins, tools and any other value.

use super::form::{handler, is_fixed};
use super::name::function;
use super::{A, Analyser, Tail, broken, broken_with};
use crate::lisp::builtins::{self, Builtin, Run};
use crate::lisp::function::Function;
use crate::lisp::ir::{Expr, Node};
use crate::lisp::{Error, Form, Shape, namespaces};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Value;

/// Functions whose number of arguments is checked although they may never be called.
const CHECKED: &[&str] = &[
    "all-ns",
    "apply",
    "apropos",
    "dir",
    "doc",
    "juxt",
    "meta",
    "ns-name",
    "ns-publics",
    "pcalls",
    "pmap",
    "println",
    "source",
    "tool/servers",
];

/// Functions that take a symbol as it is written.
const QUOTING: &[&str] = &["doc", "meta", "source", "dir", "ns-publics", "ns-name"];

impl Analyser<'_> {
    /// `( … )`
    pub(super) fn list(&mut self, form: &Form, parts: &[Form], tail: Tail) -> A {
        let Some((head, args)) = parts.split_first() else {
            let hint = "Write [] for an empty list, or a function between the parentheses";
            return Err(broken_with(Reason::InvalidForm, "()", "there is nothing to call", hint, form.span));
        };
        if let Shape::Symbol(name) = &head.shape {
            return self.named_call(form, name, head.span, args, tail);
        }
        let callee = self.expr(head, Tail::No)?;
        let args = self.all(args)?;
        Ok(call(callee, args, form.span))
    }

    /// A list that begins with a symbol.
    fn named_call(&mut self, form: &Form, name: &str, at: Span, args: &[Form], tail: Tail) -> A {
        let local = self.is_local(name);
        if let Some(handler) = handler(name)
            && (!local || is_fixed(name))
        {
            return handler(self, form, args, tail);
        }
        if local {
            let callee = self.symbol(name, at)?;
            let args = self.all(args)?;
            return Ok(call(callee, args, form.span));
        }
        if name == "." {
            let hint = "Write (.method object arguments…)";
            return Err(broken_with(
                Reason::InvalidForm,
                ".",
                "this way to call methods does not exist",
                hint,
                form.span,
            ));
        }
        match namespaces::split(name) {
            Some(("tool", "servers")) => {}
            Some(("tool", tool)) => return self.tool_call(form, tool, at, args),
            Some(("data", key)) => {
                let hint =
                    format!("Write data/{key} for the data, (get data/{key} …) or (nth data/{key} …) for a part of it");
                return Err(broken_with(Reason::InvalidForm, name, "data is no function", &hint, form.span));
            }
            Some(("Double", member)) => {
                // A constant that is called is the constant (as the suite's reference has it).
                if let Ok(value @ Value::Float(_)) = namespaces::find("Double", member) {
                    self.all(args)?;
                    return Ok(Node::constant(value, form.span));
                }
            }
            _ => {}
        }
        let unknown = self.unknown.mark();
        let callee = match builtins::find(name).filter(|_| name == "tool/servers") {
            Some(row) => Node::constant(function(Function::Builtin(row)), at),
            None => self.symbol(name, at)?,
        };
        let is_unknown = self.unknown.mark() > unknown;
        let row = constant_builtin(&callee);
        let known = self.unknown.mark();
        let args = match row.filter(|row| QUOTING.contains(&row.name)) {
            Some(_) => args.iter().map(|arg| self.quoting(arg)).collect::<A<Vec<Node>>>()?,
            None => self.all(args)?,
        };
        if is_unknown {
            self.unknown.forget(known);
        }
        if let Some(row) = row.filter(|row| CHECKED.contains(&row.name) && !row.arity.allows(args.len())) {
            return Err(arity_error(Reason::InvalidArity, row, args.len(), form.span));
        }
        Ok(call(callee, args, form.span))
    }

    /// An argument that is taken as written when it is a symbol.
    fn quoting(&mut self, arg: &Form) -> A {
        match arg.symbol() {
            Some(name) => Ok(Node::constant(Value::Symbol(crate::value::Keyword::intern(name)), arg.span)),
            None => self.expr(arg, Tail::No),
        }
    }

    /// `(tool/name …)`
    fn tool_call(&mut self, form: &Form, tool: &str, at: Span, args: &[Form]) -> A {
        self.check_tool(tool, at);
        let keys = args.iter().step_by(2);
        let pairs = args.len().is_multiple_of(2)
            && keys.clone().all(|key| matches!(key.shape, Shape::Literal(Value::Keyword(_))));
        if pairs {
            let nodes = self.all(args)?;
            let mut entries = Vec::with_capacity(nodes.len() / 2);
            let mut nodes = nodes.into_iter();
            while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
                entries.push((key, value));
            }
            let args = Box::new(Node::new(super::literal::map(entries), form.span));
            return Ok(Node::new(Expr::Tool { tool: tool.into(), args }, form.span));
        }
        if let [arg] = args {
            let args = Box::new(self.expr(arg, Tail::No)?);
            return Ok(Node::new(Expr::Tool { tool: tool.into(), args }, form.span));
        }
        let callee = Box::new(Node::constant(function(Function::Tool(tool.into())), at));
        Ok(Node::new(Expr::Call { callee, args: self.all(args)? }, form.span))
    }

    /// A method that does not exist: fails when it is reached.
    pub(super) fn unknown_method(&mut self, name: &str, span: Span) -> Node {
        let methods = || builtins::rows().map(|row| row.name).filter(|name| name.starts_with('.'));
        let near = crate::text::nearest::nearest(name, methods());
        let guess = near.map(|near| format!("Did you mean {near}? ")).unwrap_or_default();
        let listed: Vec<&str> = methods().collect();
        let error = Error::new(Reason::UnsupportedMethod, format!("there is no method `{name}`"))
            .hint(format!("{guess}There are {}", listed.join(", ")));
        Node::new(Expr::Raise(Box::new(error.at(span))), span)
    }
}

/// The builtin that a node is.
pub(super) fn constant_builtin(node: &Node) -> Option<&'static Builtin> {
    match &node.expr {
        Expr::Const(Value::Function(function)) => match &**function {
            Function::Builtin(row) if matches!(row.run, Run::Function(_)) => Some(row),
            _ => None,
        },
        _ => None,
    }
}

/// Calls a value: a builtin known by name directly, one with a wrong number of arguments fails when it is reached.
pub(super) fn call(callee: Node, mut args: Vec<Node>, span: Span) -> Node {
    match constant_builtin(&callee) {
        Some(row) if row.name == "take" && takes_of_range(&args) => {
            if let Some(Expr::Builtin { args: ends, .. }) = args.pop().map(|range| range.expr) {
                args.extend(ends);
            }
            Node::new(Expr::Builtin { builtin: &builtins::range::TAKE_OF_RANGE, args }, span)
        }
        Some(builtin) if builtin.arity.allows(args.len()) => Node::new(Expr::Builtin { builtin, args }, span),
        Some(builtin) => {
            let error = arity_error(Reason::ArityError, builtin, args.len(), span);
            args.push(Node::new(Expr::Raise(error), span));
            Node::new(Expr::Do(args), span)
        }
        None if matches!(&callee.expr, Expr::Const(Value::Float(number)) if !number.is_finite()) => {
            let error = broken(Reason::InvalidKeywordCall, "call", "a number is no function", span);
            args.push(Node::new(Expr::Raise(error), span));
            Node::new(Expr::Do(args), span)
        }
        None => Node::new(Expr::Call { callee: Box::new(callee), args }, span),
    }
}

/// Are these the arguments of `(take n (range start end step))`? Only there the step may be 0.
fn takes_of_range(args: &[Node]) -> bool {
    let [_, Node { expr: Expr::Builtin { builtin, args }, .. }] = args else { return false };
    builtin.name == "range"
        && matches!(&**args, [_, _, step] if !matches!(step.expr, Expr::Const(Value::Int(step)) if step != 0))
}

/// A builtin that got a wrong number of arguments.
fn arity_error(reason: Reason, row: &Builtin, got: usize, span: Span) -> Box<Error> {
    let error = Error::new(reason, format!("needs {}, got {got}", row.arity)).within(row.name).at(span);
    Box::new(if row.signatures.is_empty() {
        error
    } else {
        error.hint(format!("Write {}", row.signatures.join(" or ")))
    })
}

/// Checks the number of parts of a form against its row in the table of builtins.
pub(super) fn count(op: &str, args: &[Form], span: Span) -> A<()> {
    match builtins::find(op) {
        Some(row) if !row.arity.allows(args.len()) => Err(arity_error(Reason::InvalidArity, row, args.len(), span)),
        _ => Ok(()),
    }
}

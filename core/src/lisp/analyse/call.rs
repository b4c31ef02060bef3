//! Lists: forms, and calls of builtins, tools and other values.

use super::word::Word;
use super::{Analyser, AnalysisResult, Tail, form_error, form_error_with_hint};
use crate::lisp::builtins::{self, Builtin, Implementation, namespaces};
use crate::lisp::ir::{Expr, Node};
use crate::lisp::machine::Callable;
use crate::lisp::{Dialect, Error, Form, Shape, infix};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// Functions whose number of arguments is checked during analysis, even if the call never runs.
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

/// Functions that take a symbol unevaluated.
const QUOTING: &[&str] = &["doc", "meta", "source", "dir", "ns-publics", "ns-name"];

impl Analyser<'_> {
    /// `( … )`
    pub(super) fn list(&mut self, form: &Form, parts: &[Form], tail: Tail) -> AnalysisResult {
        let Some((head, args)) = parts.split_first() else {
            let hint = "Write [] for an empty list, or a function between the parentheses";
            return Err(form_error_with_hint(Reason::InvalidForm, "()", "there is nothing to call", hint, form.span));
        };
        if let Shape::Symbol(name) = &head.shape {
            return self.named_call(form, *name, head.span, args, tail);
        }
        let callee = self.expr(head, Tail::No)?;
        let args = self.all(args)?;
        Ok(self.call(callee, args, form.span))
    }

    /// A list that begins with a symbol.
    fn named_call(&mut self, form: &Form, head: Keyword, at: Span, args: &[Form], tail: Tail) -> AnalysisResult {
        let head = match self.unaliased(head) {
            date if date.name() == "Date." && self.is_current() => Keyword::intern("java.util.Date."),
            head => head,
        };
        let (local, word) = (self.is_local(head), self.word(head));
        if let Some(Word { form: Some(analyse), is_fixed, .. }) = word
            && (!local || *is_fixed)
        {
            if *is_fixed {
                self.check_fixed(head, form.span)?;
            }
            return analyse(self, form, args, tail);
        }
        if local {
            let callee = self.symbol(head, at)?;
            let args = self.all(args)?;
            return Ok(self.call(callee, args, form.span));
        }
        if let Some(Word { function: Some(row), .. }) = word
            && !self.is_global(head)
        {
            return self.builtin_call(row, args, form.span);
        }
        let name = head.name();
        if let Some(class) = self.exception_class(name) {
            return self.exception(class, args, form.span);
        }
        if name == "new"
            && self.is_current()
            && let Some((Some(class), rest)) = args.split_first().map(|(class, rest)| (class.symbol(), rest))
            && is_exception(class)
        {
            return self.exception(class, rest, form.span);
        }
        if name == "." {
            let hint = "Write (.method object arguments…)";
            return Err(form_error_with_hint(
                Reason::InvalidForm,
                ".",
                "this method call syntax is not supported",
                hint,
                form.span,
            ));
        }
        match namespaces::split(name) {
            Some(("tool", tool)) => return self.tool_call(form, tool, at, args),
            Some(("data", key)) => {
                let hint = infix::hint(head, args).unwrap_or_else(|| {
                    format!("Write data/{key} for the data, (get data/{key} …) or (nth data/{key} …) for a part of it")
                });
                return Err(form_error_with_hint(
                    Reason::InvalidForm,
                    name,
                    "input data is not a function",
                    &hint,
                    form.span,
                ));
            }
            Some(("Double", member)) => {
                // As in the reference, calling a constant gives the constant.
                if let Ok(value @ Value::Float(_)) = namespaces::find("Double", member, self.names.dialect) {
                    self.all(args)?;
                    return Ok(Node::constant(value, form.span));
                }
            }
            _ => {}
        }
        let unknown = self.unknown.mark();
        let callee = self.symbol(head, at)?;
        let is_unknown = self.unknown.mark() > unknown;
        if let Some(row) = constant_builtin(&callee) {
            return self.builtin_call(row, args, form.span);
        }
        if args.is_empty() && self.is_current() && is_static_field(name, &callee) {
            return Ok(callee);
        }
        let known = self.unknown.mark();
        let args = self.all(args)?;
        if is_unknown {
            self.unknown.forget(known);
        }
        Ok(self.call(callee, args, form.span))
    }

    /// The class of an exception that a name such as `IllegalStateException.` makes.
    fn exception_class(&self, name: &'static str) -> Option<&'static str> {
        name.strip_suffix('.').filter(|class| self.is_current() && is_exception(class))
    }

    /// `(IllegalStateException. message)`
    fn exception(&mut self, class: &str, args: &[Form], span: Span) -> AnalysisResult {
        let class = class.rsplit(['.', '/']).next().unwrap_or(class);
        let args = [Node::constant(Value::str(class), span)].into_iter().chain(self.all(args)?).collect();
        Ok(self.builtin(&builtins::EXCEPTION, args, span))
    }

    /// Calls a builtin known by name.
    fn builtin_call(&mut self, row: &'static Builtin, args: &[Form], span: Span) -> AnalysisResult {
        let nodes = if QUOTING.contains(&row.name) {
            args.iter().map(|arg| self.quoting(arg)).collect::<AnalysisResult<Vec<Node>>>()?
        } else {
            self.all(args)?
        };
        if !row.arity_in(self.names.dialect).allows(args.len()) && CHECKED.contains(&row.name) {
            return Err(arity_error(Reason::InvalidArity, row, args.len(), span));
        }
        Ok(self.builtin(row, nodes, span))
    }

    /// Calls a value.
    pub(super) fn call(&self, callee: Node, mut args: Vec<Node>, span: Span) -> Node {
        if let Some(row) = constant_builtin(&callee) {
            return self.builtin(row, args, span);
        }
        if matches!(&callee.expr, Expr::Const(Value::Float(number)) if !number.is_finite()) {
            let error = form_error(Reason::InvalidKeywordCall, "call", "a number is not a function", span);
            args.push(Node::new(Expr::Raise(error), span));
            return Node::new(Expr::Do(args), span);
        }
        Node::new(Expr::Call { callee: Box::new(callee), args }, span)
    }

    /// Calls a builtin. A wrong number of arguments is an error when the call runs.
    pub(super) fn builtin(&self, row: &'static Builtin, mut args: Vec<Node>, span: Span) -> Node {
        if !row.arity_in(self.names.dialect).allows(args.len()) {
            let error = arity_error(Reason::ArityError, row, args.len(), span);
            args.push(Node::new(Expr::Raise(error), span));
            return Node::new(Expr::Do(args), span);
        }
        if row.name == "take" && takes_of_range(&args) {
            if let Some(Expr::Builtin { args: ends, .. }) = args.pop().map(|range| range.expr) {
                args.extend(ends);
            }
            return Node::new(Expr::Builtin { builtin: &builtins::range::TAKE_OF_RANGE, args }, span);
        }
        Node::new(Expr::Builtin { builtin: row, args }, span)
    }

    /// An argument that is not evaluated if it is a symbol.
    fn quoting(&mut self, arg: &Form) -> AnalysisResult {
        match arg.name() {
            Some(name) => Ok(Node::constant(Value::Symbol(name), arg.span)),
            None => self.expr(arg, Tail::No),
        }
    }

    /// `(tool/name …)`
    pub(super) fn tool_call(&mut self, form: &Form, tool: &str, at: Span, args: &[Form]) -> AnalysisResult {
        let tool = self.tool_name(tool, at);
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
        let callee = Box::new(Node::constant(Callable::Tool(tool.into()).into_value(), at));
        Ok(Node::new(Expr::Call { callee, args: self.all(args)? }, form.span))
    }

    /// A method that does not exist: the error is raised when the call runs.
    pub(super) fn unknown_method(&mut self, name: &str, span: Span) -> Node {
        let dialect = self.names.dialect;
        let methods = || {
            builtins::rows()
                .filter(|row| row.exists_in(dialect))
                .map(|row| row.name)
                .filter(|name| name.starts_with('.'))
        };
        let longer = || methods().find(|method| name.len() > 3 && method.starts_with(name));
        let near = crate::text::nearest::nearest(name, methods()).or_else(longer);
        let guess = near.map(|near| format!("Did you mean {near}? ")).unwrap_or_default();
        let hint = match builtins::habit::way_of_method(name).filter(|_| dialect != Dialect::Reference) {
            Some(way) => way.to_owned(),
            None if dialect == Dialect::Reference => {
                format!("{guess}Available: {}", methods().collect::<Vec<_>>().join(", "))
            }
            None => format!("{guess}(apropos \"word\") finds functions by what they do"),
        };
        let error = Error::new(Reason::UnsupportedMethod, format!("unknown method `{name}`")).hint(hint);
        Node::new(Expr::Raise(Box::new(error.at(span))), span)
    }
}

/// True for the name of a class of exceptions.
fn is_exception(class: &str) -> bool {
    ["Exception", "Error", "Throwable", "ExceptionInfo"].iter().any(|suffix| class.ends_with(suffix))
}

/// True for a constant of a class, such as `Math/PI`, whose form in parentheses is its value too.
fn is_static_field(name: &str, node: &Node) -> bool {
    let is_constant = matches!(&node.expr, Expr::Const(Value::Int(_) | Value::Float(_) | Value::Str(_)));
    is_constant && namespaces::split(name).is_some()
}

/// The builtin that a constant node holds.
pub(super) fn constant_builtin(node: &Node) -> Option<&'static Builtin> {
    match &node.expr {
        Expr::Const(value) => match Callable::of_value(value)? {
            Callable::Builtin(row) if matches!(row.run, Implementation::Function(_)) => Some(row),
            _ => None,
        },
        _ => None,
    }
}

/// Calls a builtin with a number of arguments that it takes.
pub(super) fn builtin(row: &'static Builtin, args: Vec<Node>, span: Span) -> Node {
    Node::new(Expr::Builtin { builtin: row, args }, span)
}

/// True for the arguments of `(take n (range start end step))`, the only call in which the step may be 0.
fn takes_of_range(args: &[Node]) -> bool {
    let [_, Node { expr: Expr::Builtin { builtin, args }, .. }] = args else { return false };
    builtin.name == "range"
        && matches!(&**args, [_, _, step] if !matches!(step.expr, Expr::Const(Value::Int(step)) if step != 0))
}

/// A call of a builtin with a wrong number of arguments.
fn arity_error(reason: Reason, row: &Builtin, got: usize, span: Span) -> Box<Error> {
    let error = Error::new(reason, format!("needs {}, got {got}", row.arity)).within(row.name).at(span);
    Box::new(if row.signatures.is_empty() {
        error
    } else {
        error.hint(format!("Write {}", row.signatures.join(" or ")))
    })
}

/// Checks the number of a form's parts against its row in the table of builtins.
pub(super) fn count(op: &str, args: &[Form], span: Span) -> AnalysisResult<()> {
    match builtins::find(op) {
        Some(row) if !row.arity.allows(args.len()) => Err(arity_error(Reason::InvalidArity, row, args.len(), span)),
        _ => Ok(()),
    }
}

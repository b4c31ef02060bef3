//! The functions that a function may call: `swap!` gives a function that certainly cannot read the atom its value
//! without another owner, so that `(swap! a #(conj % x))` does not copy it.
//!
//! In: the body of a function. Out: its [`Calls`]. Only programs that change cells are examined.

use crate::lisp::builtins::{Builtin, FunctionUse};
use crate::lisp::ir::{Calls, Capture, Expr, Lambda, Level, Modifier, Node, Pattern};
use crate::lisp::machine::Callable;
use crate::value::{Keyword, Value};

/// The functions that a function with these parameters and body may call; `globals` are the names in memory by number.
pub(super) fn calls<'p>(params: impl IntoIterator<Item = &'p Pattern>, body: &Node, globals: &[Keyword]) -> Calls {
    let mut walk = Walk { globals, captures: false, called: Vec::new() };
    let is_known = params.into_iter().all(|pattern| walk.pattern(pattern)) && walk.node(body);
    if is_known { Calls::Known { captures: walk.captures, globals: walk.called } } else { Calls::Any }
}

struct Walk<'p> {
    globals: &'p [Keyword],
    captures: bool,
    called: Vec<Keyword>,
}

/// Each method is true if all functions that the part calls are known. Recursion is bounded by the nesting of forms.
impl Walk<'_> {
    fn node(&mut self, node: &Node) -> bool {
        match &node.expr {
            Expr::Const(_)
            | Expr::Local(_)
            | Expr::Capture(_)
            | Expr::Global { .. }
            | Expr::Data(_)
            | Expr::History(_) => true,
            Expr::Vector(nodes)
            | Expr::Set(nodes)
            | Expr::Do(nodes)
            | Expr::And(nodes)
            | Expr::Or(nodes)
            | Expr::Recur(nodes) => self.nodes(nodes),
            Expr::Map(pairs) | Expr::Cond(pairs) => pairs.iter().all(|(one, two)| self.node(one) && self.node(two)),
            Expr::If(parts) => self.nodes(&**parts),
            Expr::Case { subject, clauses, default } => {
                self.node(subject) && clauses.iter().all(|(_, value)| self.node(value)) && self.node(default)
            }
            Expr::Let { binds, body } | Expr::Loop { binds, body } => self.binds(binds) && self.node(body),
            Expr::For { levels, body, .. } => levels.iter().all(|level| self.level(level)) && self.node(body),
            // Where it is called, it is a function argument.
            Expr::Fn { lambda, captures } => self.lambda(lambda, captures),
            Expr::Builtin { builtin, args } => self.applied(builtin, args),
            Expr::Call { callee, args } => self.function(callee) && self.nodes(args),
            _ => false,
        }
    }

    fn nodes(&mut self, nodes: &[Node]) -> bool {
        nodes.iter().all(|node| self.node(node))
    }

    fn applied(&mut self, builtin: &Builtin, args: &[Node]) -> bool {
        match builtin.calls {
            FunctionUse::Any => false,
            FunctionUse::Nothing => self.nodes(args),
            FunctionUse::Maker => args.iter().all(|arg| self.function(arg)),
            FunctionUse::Argument(at) => args
                .iter()
                .enumerate()
                .all(|(position, arg)| if position == usize::from(at) { self.function(arg) } else { self.node(arg) }),
        }
    }

    /// A node whose value is called, and calls only known functions.
    fn function(&mut self, node: &Node) -> bool {
        match &node.expr {
            Expr::Const(value) => match Callable::of_value(value) {
                Some(Callable::Builtin(builtin)) => builtin.calls == FunctionUse::Nothing,
                _ => !matches!(value, Value::Function(_) | Value::Var(_)),
            },
            Expr::Capture(_) => {
                self.captures = true;
                true
            }
            Expr::Global { global, .. } => match self.globals.get(*global as usize) {
                Some(name) => {
                    self.called.push(*name);
                    true
                }
                None => false,
            },
            Expr::Myself => true,
            Expr::Fn { lambda, captures } => self.lambda(lambda, captures),
            Expr::Builtin { builtin, args } => builtin.is_maker() && args.iter().all(|arg| self.function(arg)),
            _ => false,
        }
    }

    /// An inner function. What it captures must be known when the outer one is called.
    fn lambda(&mut self, lambda: &Lambda, captures: &[Capture]) -> bool {
        let Calls::Known { captures: calls_captures, globals } = &lambda.calls else { return false };
        if *calls_captures && !captures.iter().all(|capture| matches!(capture, Capture::Outer(_) | Capture::Myself)) {
            return false;
        }
        self.captures |= calls_captures;
        self.called.extend(globals);
        true
    }

    fn level(&mut self, level: &Level) -> bool {
        self.node(&level.source)
            && self.pattern(&level.pattern)
            && level.modifiers.iter().all(|modifier| match modifier {
                Modifier::When(test) | Modifier::While(test) => self.node(test),
                Modifier::Let(binds) => self.binds(binds),
            })
    }

    fn binds(&mut self, binds: &[(Pattern, Node)]) -> bool {
        binds.iter().all(|(pattern, value)| self.pattern(pattern) && self.node(value))
    }

    fn pattern(&mut self, pattern: &Pattern) -> bool {
        match pattern {
            Pattern::Slot(_) | Pattern::Ignore => true,
            Pattern::Vector { items, rest, .. } => {
                items.iter().chain(rest.as_deref()).all(|pattern| self.pattern(pattern))
            }
            Pattern::Map { entries, .. } => entries.iter().all(|entry| {
                self.pattern(&entry.pattern) && entry.default.as_ref().is_none_or(|default| self.node(default))
            }),
        }
    }
}

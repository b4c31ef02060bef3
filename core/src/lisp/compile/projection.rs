//! Detects projections: functions whose body only reads their one argument.

use crate::lisp::builtins::Builtin;
use crate::lisp::ir::{Expr, Lambda, Node, Pattern};
use crate::lisp::machine::{Comparison, Projection};
use crate::value::{Field, Value};

/// The projection equal to a function, if there is one.
pub(super) fn projection(lambda: &Lambda) -> Option<Projection> {
    match (&lambda.params[..], &lambda.rest) {
        ([Pattern::Slot(0)], None) => of_node(&lambda.body),
        _ => None,
    }
}

fn of_node(node: &Node) -> Option<Projection> {
    Some(match &node.expr {
        Expr::Local(local) if local.slot == 0 => Projection::Argument,
        Expr::Const(value) => Projection::Const(value.clone()),
        Expr::Capture(at) => Projection::Capture(*at),
        Expr::Call { callee, args } => match (&callee.expr, &args[..]) {
            (Expr::Const(Value::Keyword(word)), [of]) => Projection::Field(Field::new(*word), boxed(of)?),
            (Expr::Const(Value::Keyword(word)), [of, default]) => {
                Projection::FieldOr(Field::new(*word), Box::new([of_node(of)?, of_node(default)?]))
            }
            _ => return None,
        },
        Expr::Builtin { builtin, args } => of_builtin(builtin, args)?,
        Expr::If(parts) => {
            let [test, then, other] = &**parts;
            Projection::If(Box::new([of_node(test)?, of_node(then)?, of_node(other)?]))
        }
        Expr::And(parts) => Projection::And(all(parts)?),
        Expr::Or(parts) => Projection::Or(all(parts)?),
        Expr::Do(parts) if parts.len() == 1 => of_node(&parts[0])?,
        _ => return None,
    })
}

fn of_builtin(builtin: &'static Builtin, args: &[Node]) -> Option<Projection> {
    Some(match (builtin.name, args) {
        ("not", [of]) => Projection::Not(boxed(of)?),
        ("nil?", [of]) => Projection::IsNil(boxed(of)?),
        ("some?", [of]) => Projection::Not(Box::new(Projection::IsNil(boxed(of)?))),
        ("get", [of, Node { expr: Expr::Const(Value::Keyword(word)), .. }]) => {
            Projection::Get(Field::new(*word), boxed(of)?)
        }
        (name, [a, b]) => Projection::Compare(Comparison::named(name)?, Box::new([of_node(a)?, of_node(b)?])),
        _ => return None,
    })
}

fn boxed(node: &Node) -> Option<Box<Projection>> {
    of_node(node).map(Box::new)
}

fn all(nodes: &[Node]) -> Option<Box<[Projection]>> {
    nodes.iter().map(of_node).collect()
}

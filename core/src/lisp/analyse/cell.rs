//! `swap!` in place: a function that certainly cannot read the atom gets its value without another owner, so that
//! `(swap! a #(conj % x))` does not copy it.

use crate::lisp::builtins::{self, Builtin};
use crate::lisp::ir::{Expr, Node, Pattern};

/// Builtins that call no function and read no cell.
const HARMLESS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "=",
    "<",
    ">",
    "<=",
    ">=",
    "not",
    "not=",
    "inc",
    "dec",
    "min",
    "max",
    "mod",
    "quot",
    "rem",
    "conj",
    "assoc",
    "assoc-in",
    "dissoc",
    "disj",
    "merge",
    "concat",
    "cons",
    "get",
    "get-in",
    "nth",
    "first",
    "last",
    "peek",
    "pop",
    "rest",
    "next",
    "count",
    "empty?",
    "contains?",
    "subs",
    "vec",
    "vector",
    "hash-map",
    "set",
    "keys",
    "vals",
    "select-keys",
    "take",
    "drop",
];

/// The row that a call of `swap!` with these arguments uses.
pub(super) fn swap_row(row: &'static Builtin, args: &[Node]) -> &'static Builtin {
    let is_swap = matches!(row.name, "swap!" | "vswap!");
    match args.get(1).map(|function| &function.expr) {
        Some(Expr::Fn { lambda, .. }) if is_swap => {
            let is_plain = |pattern: &Pattern| matches!(pattern, Pattern::Slot(_) | Pattern::Ignore);
            let takes_plain = lambda.params.iter().chain(&lambda.rest).all(is_plain);
            if takes_plain && is_harmless(&lambda.body) { &builtins::SWAP_IN_PLACE } else { row }
        }
        _ => row,
    }
}

/// True if evaluating the node calls no function of the program. Recursion is bounded by the nesting of forms.
fn is_harmless(node: &Node) -> bool {
    match &node.expr {
        Expr::Const(_) | Expr::Local(_) | Expr::Capture(_) | Expr::Data(_) | Expr::History(_) => true,
        Expr::Vector(nodes) | Expr::Set(nodes) | Expr::Do(nodes) | Expr::And(nodes) | Expr::Or(nodes) => {
            nodes.iter().all(is_harmless)
        }
        Expr::Map(pairs) | Expr::Cond(pairs) => pairs.iter().all(|(one, two)| is_harmless(one) && is_harmless(two)),
        Expr::If(parts) => parts.iter().all(is_harmless),
        Expr::Let { binds, body } => {
            let is_plain = |pattern: &Pattern| matches!(pattern, Pattern::Slot(_) | Pattern::Ignore);
            binds.iter().all(|(pattern, value)| is_plain(pattern) && is_harmless(value)) && is_harmless(body)
        }
        Expr::Builtin { builtin, args } => HARMLESS.contains(&builtin.name) && args.iter().all(is_harmless),
        // `(:key m)`
        Expr::Call { callee, args } => {
            matches!(&callee.expr, Expr::Const(crate::value::Value::Keyword(_))) && args.iter().all(is_harmless)
        }
        _ => false,
    }
}

//! `swap!` with a constant function: neither the atom nor the function is cloned for the call.
//!
//! In: a call of `swap!`. Out: its code, or none if the usual code of builtins has to run it. It must never evaluate the
//! arguments in another order, except reading a local or a captured value, which nothing changes.

use super::Compiler;
use super::builtin::CallSite;
use super::expression::{Expression, flow};
use crate::lisp::builtins::{Builtin, change_cell};
use crate::lisp::ir::{Expr, Node};
use crate::lisp::machine::{Flow, Frame};
use crate::text::Span;
use crate::value::Value;

impl Compiler<'_> {
    /// The code of `(swap! atom f arg…)` with a constant f and at most three arguments.
    pub(super) fn change_of_cell(&self, builtin: &'static Builtin, args: &[Node], span: Span) -> Option<Expression> {
        let [cell, Node { expr: Expr::Const(function @ Value::Function(_)), .. }, args @ ..] = args else {
            return None;
        };
        let change = Change {
            site: self.site(builtin, span),
            is_in_place: stays_in_place(cell, args),
            cell: self.ex(cell),
            function: function.clone(),
            args: self.all(args),
        };
        match args.len() {
            0 => Some(change.into_expression::<1>()),
            1 => Some(change.into_expression::<2>()),
            2 => Some(change.into_expression::<3>()),
            3 => Some(change.into_expression::<4>()),
            _ => None,
        }
    }
}

/// A call of `swap!`.
struct Change {
    site: CallSite,
    /// The atom can be read after the arguments were evaluated.
    is_in_place: bool,
    cell: Expression,
    function: Value,
    args: Box<[Expression]>,
}

impl Change {
    /// Its code; `N` is the number of values that the function gets.
    fn into_expression<const N: usize>(self) -> Expression {
        flow(move |machine, slots, closed, out| {
            let mut held = Frame::<1>::new();
            if !self.is_in_place
                && let Err(halt) = self.cell.eval_into(machine, slots, closed, &mut held[0])
            {
                return Flow::Halt(halt);
            }
            let mut values = Frame::<N>::new();
            for (value, arg) in values.iter_mut().skip(1).zip(&self.args) {
                if let Err(halt) = arg.eval_into(machine, slots, closed, value) {
                    return Flow::Halt(halt);
                }
            }
            let cell = if self.is_in_place { self.cell.read_in_place(slots, closed) } else { &held[0] };
            match change_cell(machine, cell, &self.function, &mut *values) {
                Ok(value) => Flow::give(value, out),
                Err(halt) => Flow::Halt(self.site.builtin_error(halt, machine)),
            }
        })
    }
}

/// True if the value of the node is still in its place after the other nodes were evaluated.
fn stays_in_place(node: &Node, others: &[Node]) -> bool {
    match &node.expr {
        Expr::Capture(_) => true,
        Expr::Local(local) => !local.last && others.iter().all(|other| never_moves(other, local.slot)),
        _ => false,
    }
}

/// True if evaluating the node certainly does not move the local in this slot. Recursion is bounded by the nesting of
/// forms.
fn never_moves(node: &Node, slot: u32) -> bool {
    match &node.expr {
        Expr::Const(_) | Expr::Capture(_) => true,
        Expr::Local(local) => !local.last || local.slot != slot,
        Expr::Builtin { args, .. } => args.iter().all(|arg| never_moves(arg, slot)),
        _ => false,
    }
}

//! Reads from outside of the frame: names in memory, data, history, the budget, and entries of maps.

use super::Compiler;
use super::call::global;
use super::expression::{Expression, code, copy, field_of};
use crate::lisp::builtins::Builtin;
use crate::lisp::ir::{Expr, Node, Unbound};
use crate::lisp::machine::{Callable, Closure};
use crate::lisp::{AbsentData, Error};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::{Field, Map, Value};

impl Compiler<'_> {
    /// An expression without side effects.
    pub(super) fn reading(&self, node: &Node) -> Expression {
        let position = self.position(node.span);
        match &node.expr {
            Expr::Myself => code(|_, _, closed| Ok(closed.map(Closure::to_value).unwrap_or_default())),
            Expr::Global { global: number, unbound } => {
                let (at, name, unit) = (*number as usize, self.global(*number), self.unit);
                match unbound {
                    Unbound::Fails => code(move |machine, _, _| {
                        global(machine, at, name, unit).map_err(|halt| machine.with_span(halt, &position))
                    }),
                    Unbound::Builtin(builtin) => {
                        let builtin = Callable::Builtin(builtin).into_value();
                        code(move |machine, _, _| {
                            Ok(global(machine, at, name, unit).unwrap_or_else(|_| builtin.clone()))
                        })
                    }
                    Unbound::Nil => {
                        code(move |machine, _, _| Ok(global(machine, at, name, unit).unwrap_or(Value::Nil)))
                    }
                }
            }
            Expr::Data(key) => {
                let key = key.clone();
                code(move |machine, _, _| match machine.world.context.lookup(&key) {
                    Some(value) => Ok(value.clone()),
                    None if machine.world.absent_data == AbsentData::Nil => Ok(Value::Nil),
                    None => {
                        let error = Error::new(Reason::RuntimeError, format!("data/{key} does not exist"));
                        Err(machine.with_span(error.hint("Check the keys of the input").into(), &position))
                    }
                })
            }
            Expr::Budget => code(|machine, _, _| match machine.world.budget {
                Value::Nil => Ok(Value::from(Map::default())),
                budget => Ok(budget.clone()),
            }),
            Expr::History(back) => {
                let back = usize::from(*back);
                code(move |machine, _, _| Ok(machine.world.history.iter().rev().nth(back).cloned().unwrap_or_default()))
            }
            _ => Expression::Const(Value::Nil),
        }
    }

    /// `get` with two arguments.
    pub(super) fn get(&self, builtin: &'static Builtin, args: [&Node; 2], span: Span) -> Expression {
        let Expr::Const(Value::Keyword(word)) = &args[1].expr else {
            return self.reaching(builtin, args, span, |of, key| match (of, key) {
                (Value::Map(_), Value::List(_)) => None,
                (Value::Map(map), key) => Some(map.lookup_key(key).map_or(Value::Nil, copy)),
                (Value::List(list), Value::Int(at)) => list.get(usize::try_from(*at).ok()?).map(copy),
                _ => None,
            });
        };
        let field = Field::new(*word);
        self.reaching(builtin, args, span, move |of, _| match of {
            Value::Map(_) => Some(copy(field_of(&field, of))),
            _ => None,
        })
    }
}

//! Functions of one argument that only read: fields of it, comparisons, choices. Builtins ask them about items where
//! they lie, without a frame and without counting who holds them.
//!
//! In: the body of a function. Out: what it gives for a value, when that is there already; nothing else is said, and
//! then the function is called as any other. It must never do what the call would not do.

use super::condition::When;
use crate::lisp::builtins::Builtin;
use crate::lisp::ir::{Expr, Lambda, Node, Pattern};
use crate::value::{Field, Value};

static NIL: Value = Value::Nil;
static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

/// An expression over the argument and what the function closed over.
pub(crate) enum Reading {
    /// The argument.
    Argument,
    Const(Value),
    Capture(u32),
    /// `(:word x)`
    Field(Field, Box<Reading>),
    /// `(:word x default)`
    FieldOr(Field, Box<[Reading; 2]>),
    /// `(get x :word)`
    Get(Field, Box<Reading>),
    Compare(When, Box<[Reading; 2]>),
    Not(Box<Reading>),
    IsNil(Box<Reading>),
    If(Box<[Reading; 3]>),
    And(Box<[Reading]>),
    Or(Box<[Reading]>),
}

impl Reading {
    /// The function as one that only reads, when it is one.
    pub(super) fn of(lambda: &Lambda) -> Option<Self> {
        match (&lambda.params[..], &lambda.rest) {
            ([Pattern::Slot(0)], None) => Self::node(&lambda.body),
            _ => None,
        }
    }

    fn node(node: &Node) -> Option<Self> {
        Some(match &node.expr {
            Expr::Local(local) if local.slot == 0 => Self::Argument,
            Expr::Const(value) => Self::Const(value.clone()),
            Expr::Capture(at) => Self::Capture(*at),
            Expr::Call { callee, args } => match (&callee.expr, &args[..]) {
                (Expr::Const(Value::Keyword(word)), [of]) => Self::Field(Field::new(*word), Self::boxed(of)?),
                (Expr::Const(Value::Keyword(word)), [of, default]) => {
                    Self::FieldOr(Field::new(*word), Box::new([Self::node(of)?, Self::node(default)?]))
                }
                _ => return None,
            },
            Expr::Builtin { builtin, args } => Self::builtin(builtin, args)?,
            Expr::If(parts) => {
                let [test, then, other] = &**parts;
                Self::If(Box::new([Self::node(test)?, Self::node(then)?, Self::node(other)?]))
            }
            Expr::And(parts) => Self::And(Self::all(parts)?),
            Expr::Or(parts) => Self::Or(Self::all(parts)?),
            Expr::Do(parts) if parts.len() == 1 => Self::node(&parts[0])?,
            _ => return None,
        })
    }

    fn builtin(builtin: &'static Builtin, args: &[Node]) -> Option<Self> {
        Some(match (builtin.name, args) {
            ("not", [of]) => Self::Not(Self::boxed(of)?),
            ("nil?", [of]) => Self::IsNil(Self::boxed(of)?),
            ("some?", [of]) => Self::Not(Box::new(Self::IsNil(Self::boxed(of)?))),
            ("get", [of, Node { expr: Expr::Const(Value::Keyword(word)), .. }]) => {
                Self::Get(Field::new(*word), Self::boxed(of)?)
            }
            (name, [a, b]) => Self::Compare(When::named(name)?, Box::new([Self::node(a)?, Self::node(b)?])),
            _ => return None,
        })
    }

    fn boxed(node: &Node) -> Option<Box<Self>> {
        Self::node(node).map(Box::new)
    }

    fn all(nodes: &[Node]) -> Option<Box<[Self]>> {
        nodes.iter().map(Self::node).collect()
    }

    /// What it gives for this argument, where it lies; `None` when it has to be called. As deep as the program's text.
    pub(crate) fn see<'a>(&'a self, argument: &'a Value, captures: &'a [Value]) -> Option<&'a Value> {
        let bool = |holds| if holds { &TRUE } else { &FALSE };
        Some(match self {
            Self::Argument => argument,
            Self::Const(value) => value,
            Self::Capture(at) => captures.get(*at as usize)?,
            Self::Field(field, of) => match of.see(argument, captures)? {
                Value::Map(map) => field.of(map).unwrap_or(&NIL),
                _ => &NIL,
            },
            Self::FieldOr(field, parts) => {
                let [of, default] = &**parts;
                match of.see(argument, captures)? {
                    Value::Map(map) if let Some(found) = field.of(map) => found,
                    _ => default.see(argument, captures)?,
                }
            }
            Self::Get(field, of) => match of.see(argument, captures)? {
                Value::Map(map) => field.of(map).unwrap_or(&NIL),
                Value::Nil => &NIL,
                _ => return None,
            },
            Self::Compare(when, parts) => {
                let [a, b] = &**parts;
                bool(when.quick(a.see(argument, captures)?, b.see(argument, captures)?)?)
            }
            Self::Not(of) => bool(!of.see(argument, captures)?.is_truthy()),
            Self::IsNil(of) => bool(of.see(argument, captures)?.is_nil()),
            Self::If(parts) => {
                let [test, then, other] = &**parts;
                let holds = test.see(argument, captures)?.is_truthy();
                return if holds { then } else { other }.see(argument, captures);
            }
            Self::And(parts) => {
                let mut last = &TRUE;
                for part in parts {
                    last = part.see(argument, captures)?;
                    if !last.is_truthy() {
                        break;
                    }
                }
                last
            }
            Self::Or(parts) => {
                let mut last = &NIL;
                for part in parts {
                    last = part.see(argument, captures)?;
                    if last.is_truthy() {
                        break;
                    }
                }
                last
            }
        })
    }
}

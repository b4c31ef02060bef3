//! Slicing: the first, the last, some and the rest of a collection.

use super::{Arity, Builtin};
use crate::lisp::items::items;
use crate::lisp::machine::Machine;
use crate::lisp::{R, wrong};
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("first", Arity::exactly(1), first)
    .doc(&["(first coll)"], "The first item, nil when there is none.")
    .examples(&[("(first [1 2])", "1"), ("(first \"ab\")", "\"a\""), ("(first nil)", "nil")])];

fn first(_: &mut Machine<'_>, args: &mut [Value]) -> R {
    match std::mem::take(&mut args[0]) {
        Value::List(list) => Ok(list.first().cloned().unwrap_or_default()),
        value @ (Value::Nil | Value::Str(_)) => {
            Ok(items(value).unwrap_or_default().into_iter().next().unwrap_or_default())
        }
        other => Err(wrong(1, "a list or string", &other)),
    }
}

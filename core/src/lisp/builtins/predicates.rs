//! Predicates of a value: its type, its truth, and whether values are distinct.

use super::sort::members_of;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::EvalResult;
use crate::lisp::machine::Callable;
use crate::lisp::machine::Machine;
use crate::value::{Kind, Value};
use unicode_segmentation::UnicodeSegmentation;

const NO_SUCH_THING: Clojure = Clojure::Differs("always false: there are no sorted collections");
const LISTS: Clojure = Clojure::Differs("true for every list: there are no lazy sequences");

/// A row for a predicate of one value: its name and a `fn(&Value) -> bool`.
macro_rules! question {
    ($name:literal, $holds:expr) => {
        Builtin::new($name, Arity::exactly(1), |_, args| {
            let holds: fn(&Value) -> bool = $holds;
            Ok(Value::Bool(holds(&args[0])))
        })
        .cost(Cost::Constant)
        .calls_nothing()
    };
}

pub(super) use question;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    question!("nil?", |value| value.is_nil())
        .doc(&["(nil? x)"], "True for nil.")
        .examples(&[("(nil? nil)", "true"), ("(nil? false)", "false")]),
    question!("some?", |value| !value.is_nil())
        .doc(&["(some? x)"], "True for every value except nil.")
        .examples(&[("(some? false)", "true"), ("(some? nil)", "false")]),
    question!("true?", |value| matches!(value, Value::Bool(true)))
        .doc(&["(true? x)"], "True for true.")
        .examples(&[("(true? true)", "true"), ("(true? 1)", "false")]),
    question!("false?", |value| matches!(value, Value::Bool(false)))
        .doc(&["(false? x)"], "True for false.")
        .examples(&[("(false? false)", "true"), ("(false? nil)", "false")]),
    question!("boolean?", |value| matches!(value, Value::Bool(_)))
        .doc(&["(boolean? x)"], "True for true and false.")
        .examples(&[("(boolean? false)", "true"), ("(boolean? nil)", "false")]),
    question!("boolean", Value::is_truthy)
        .doc(&["(boolean x)"], "false for nil and false, true for everything else.")
        .examples(&[("(boolean nil)", "false"), ("(boolean 0)", "true")]),
    question!("not", |value| !value.is_truthy())
        .doc(&["(not x)"], "true for nil and false, false for everything else.")
        .examples(&[("(not nil)", "true"), ("(not 0)", "false")]),
    question!("string?", |value| matches!(value, Value::Str(_)))
        .doc(&["(string? x)"], "True for a string.")
        .examples(&[("(string? \"a\")", "true"), ("(string? :a)", "false")]),
    question!("char?", is_char)
        .doc(&["(char? x)"], "True for a string of one character.")
        .examples(&[("(char? \"a\")", "true"), ("(char? \"ab\")", "false")])
        .clojure(Clojure::Differs("characters are strings of one character")),
    question!("keyword?", |value| matches!(value, Value::Keyword(_)))
        .doc(&["(keyword? x)"], "True for a keyword.")
        .examples(&[("(keyword? :a)", "true"), ("(keyword? \"a\")", "false")]),
    question!("symbol?", |_| false)
        .doc(&["(symbol? x)"], "Always false: a quoted symbol is only a name for lookups. `type` identifies it.")
        .examples(&[("(symbol? 'a)", "false"), ("(symbol? :a)", "false")])
        .clojure(NO_SUCH_THING),
    question!("vector?", is_list)
        .doc(&["(vector? x)"], "True for a list.")
        .examples(&[("(vector? [1])", "true"), ("(vector? #{1})", "false")])
        .clojure(LISTS),
    question!("sequential?", is_list)
        .doc(&["(sequential? x)"], "True for a list.")
        .examples(&[("(sequential? [1])", "true"), ("(sequential? {})", "false")]),
    question!("seq?", is_list)
        .doc(&["(seq? x)"], "True for a list.")
        .examples(&[("(seq? (seq [1]))", "true"), ("(seq? nil)", "false")])
        .clojure(LISTS),
    question!("list?", is_list)
        .doc(&["(list? x)"], "True for a list.")
        .examples(&[("(list? (list 1))", "true"), ("(list? {})", "false")])
        .clojure(Clojure::Differs("true for vectors as well: lists and vectors are one type"))
        .current(),
    question!("map?", |value| matches!(value, Value::Map(_)))
        .doc(&["(map? x)"], "True for a map.")
        .examples(&[("(map? {:a 1})", "true"), ("(map? [1])", "false")]),
    question!("set?", |value| matches!(value, Value::Set(_)))
        .doc(&["(set? x)"], "True for a set.")
        .examples(&[("(set? #{1})", "true"), ("(set? [1])", "false")]),
    question!("coll?", Value::is_container)
        .doc(&["(coll? x)"], "True for a list, map or set.")
        .examples(&[("(coll? {})", "true"), ("(coll? \"a\")", "false")]),
    question!("associative?", |value| matches!(value, Value::Map(_) | Value::List(_)))
        .doc(&["(associative? x)"], "True for a map or list.")
        .examples(&[("(associative? {:a 1})", "true"), ("(associative? #{1})", "false")]),
    question!("counted?", |value| value.is_container() || matches!(value, Value::Str(_)))
        .doc(&["(counted? x)"], "True for a list, map, set or string.")
        .examples(&[("(counted? [1])", "true"), ("(counted? nil)", "false")])
        .clojure(Clojure::Differs("true for strings")),
    question!("indexed?", is_indexed)
        .doc(&["(indexed? x)"], "True for a list or string.")
        .examples(&[("(indexed? [1])", "true"), ("(indexed? {})", "false")])
        .clojure(Clojure::Differs("true for strings")),
    question!("reversible?", is_indexed)
        .doc(&["(reversible? x)"], "True for a list or string.")
        .examples(&[("(reversible? [1])", "true"), ("(reversible? {})", "false")])
        .clojure(Clojure::Differs("true for strings")),
    question!("seqable?", |value| value.is_container() || matches!(value, Value::Str(_) | Value::Nil))
        .doc(&["(seqable? x)"], "True for a list, map, set, string or nil.")
        .examples(&[("(seqable? nil)", "true"), ("(seqable? 1)", "false")]),
    question!("fn?", is_function)
        .doc(&["(fn? x)"], "True for a function that is not a tool.")
        .examples(&[("(fn? inc)", "true"), ("(fn? :a)", "false")])
        .clojure(Clojure::Differs("true for builtins as well")),
    question!("ifn?", is_callable)
        .doc(&["(ifn? x)"], "True for values that can be called: functions, keywords, maps and sets.")
        .examples(&[("(ifn? :a)", "true"), ("(ifn? [1])", "false")])
        .clojure(Clojure::Differs("false for vectors, which cannot be called")),
    question!("map-entry?", |_| false)
        .doc(&["(map-entry? x)"], "Always false: entries of maps are lists.")
        .examples(&[("(map-entry? {:a 1})", "false"), ("(map-entry? [1 2])", "false")])
        .clojure(NO_SUCH_THING),
    question!("sorted?", |_| false)
        .doc(&["(sorted? x)"], "Always false: there are no separate sorted collections.")
        .examples(&[("(sorted? {:a 1})", "false"), ("(sorted? #{1})", "false")])
        .clojure(NO_SUCH_THING),
    Builtin::new("distinct?", Arity::from(0), are_distinct)
        .doc(&["(distinct? & xs)"], "True if all arguments are distinct; 1 and 1.0 are.")
        .examples(&[("(distinct? 1 2 3)", "true"), ("(distinct? 1 2 1)", "false"), ("(distinct?)", "true")])
        .cost(Cost::Sorting),
    Builtin::new("type", Arity::exactly(1), |_, args| Ok(kind(&args[0]).map_or(Value::Nil, Value::keyword)))
        .cost(Cost::Constant)
        .doc(&["(type x)"], "The type of the value as a keyword; nil for nil.")
        .examples(&[
            ("(type 1)", ":number"),
            ("(type [1])", ":vector"),
            ("(type nil)", "nil"),
            ("(type inc)", ":function"),
        ])
        .clojure(Clojure::Differs("gives a keyword, not a class")),
];

fn is_list(value: &Value) -> bool {
    matches!(value, Value::List(_))
}

fn is_indexed(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Str(_))
}

fn is_function(value: &Value) -> bool {
    matches!(value, Value::Function(function) if !matches!(Callable::of(function), Some(Callable::Tool(_))))
}

fn is_callable(value: &Value) -> bool {
    is_function(value) || matches!(value, Value::Keyword(_) | Value::Map(_) | Value::Set(_) | Value::Var(_))
}

fn is_char(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        let mut graphemes = text.graphemes(true);
        graphemes.next().is_some() && graphemes.next().is_none()
    })
}

fn are_distinct(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let members = members_of(machine, args.iter_mut().map(std::mem::take).collect())?;
    Ok(Value::Bool(members.len() == args.len()))
}

fn kind(value: &Value) -> Option<&'static str> {
    Some(match value.kind() {
        Kind::Nil => return None,
        Kind::Bool => "boolean",
        Kind::Int | Kind::Float => "number",
        Kind::List => "vector",
        Kind::Var => "unknown",
        other => other.name(),
    })
}

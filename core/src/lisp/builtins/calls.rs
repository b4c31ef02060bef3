//! Builtins that read no cell: they return what follows from their arguments, and call only their function arguments.
//! The machine lets them change the value of an atom in place.

use hashbrown::HashMap;
use std::sync::OnceLock;

/// Builtins that call no function.
const FIRST_ORDER: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "=",
    "==",
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
    "abs",
    "compare",
    "even?",
    "odd?",
    "pos?",
    "neg?",
    "zero?",
    "nil?",
    "some?",
    "true?",
    "false?",
    "number?",
    "string?",
    "keyword?",
    "map?",
    "vector?",
    "set?",
    "integer?",
    "identity",
    "conj",
    "cons",
    "concat",
    "assoc",
    "assoc-in",
    "dissoc",
    "disj",
    "merge",
    "get",
    "get-in",
    "nth",
    "first",
    "second",
    "last",
    "peek",
    "pop",
    "rest",
    "next",
    "butlast",
    "count",
    "empty?",
    "empty",
    "not-empty",
    "contains?",
    "find",
    "key",
    "val",
    "keys",
    "vals",
    "select-keys",
    "zipmap",
    "vec",
    "vector",
    "list",
    "hash-map",
    "array-map",
    "hash-set",
    "set",
    "seq",
    "take-last",
    "drop-last",
    "subvec",
    "reverse",
    "distinct",
    "flatten",
    "frequencies",
    "union",
    "difference",
    "intersection",
    "str",
    "subs",
    "keyword",
    "name",
    "upper-case",
    "lower-case",
    "trim",
    "join",
    "split",
    "starts-with?",
    "ends-with?",
    "includes?",
];

/// Builtins that call the argument at this position and no other one.
const HIGHER_ORDER: &[(&str, usize)] = &[
    ("update", 2),
    ("update-in", 2),
    ("update-vals", 1),
    ("update-keys", 1),
    ("map", 0),
    ("mapv", 0),
    ("map-indexed", 0),
    ("mapcat", 0),
    ("filter", 0),
    ("filterv", 0),
    ("remove", 0),
    ("keep", 0),
    ("reduce", 0),
    ("reduce-kv", 0),
    ("group-by", 0),
    ("sort-by", 0),
    ("some", 0),
    ("every?", 0),
    ("take-while", 0),
    ("drop-while", 0),
    ("merge-with", 0),
    ("apply", 0),
];

/// Builtins that make functions of their arguments, without side effects.
pub(crate) const MAKERS: &[&str] =
    &["fnil", "partial", "comp", "complement", "constantly", "juxt", "every-pred", "some-fn"];

/// The position of the function that a builtin calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionArgument {
    /// It calls none.
    None,
    /// This argument, counted from 0.
    At(usize),
}

/// The function argument of a builtin that reads no cell; `None` for a builtin that may read one.
pub(crate) fn function_argument(name: &str) -> Option<FunctionArgument> {
    static BY_NAME: OnceLock<HashMap<&'static str, FunctionArgument>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let first_order = FIRST_ORDER.iter().map(|name| (*name, FunctionArgument::None));
        first_order.chain(HIGHER_ORDER.iter().map(|(name, at)| (*name, FunctionArgument::At(*at)))).collect()
    });
    by_name.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lisp::builtins::find;

    #[test]
    fn each_name_is_a_builtin() {
        let names = FIRST_ORDER.iter().chain(HIGHER_ORDER.iter().map(|(name, _)| name));
        let unknown: Vec<_> = names.filter(|name| find(name).is_none()).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
    }
}

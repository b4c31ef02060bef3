//! Namespaces: the known prefixes, and the builtins they contain (language contract §5).
//!
//! A qualified name is another notation for a builtin. `data/`, `tool/` and `budget/` are not listed: they are the
//! program's inputs, not builtins.

use super::{Builtin, Clojure, Implementation};
use crate::lisp::machine::Callable;
use crate::lisp::{Error, builtins};
use crate::reasons::Reason;
use crate::text::nearest::nearest;
use crate::value::Value;

/// A namespace: its names and members.
pub(crate) struct Namespace {
    /// Its names and abbreviations; the first one is displayed.
    pub names: &'static [&'static str],
    /// Its members.
    pub members: Members,
}

/// The members of a namespace.
pub(crate) enum Members {
    /// Every function of `clojure.core` that exists here.
    Core,
    /// These builtins, under their own names.
    Same(&'static [&'static str]),
    /// These, each with the builtin's name.
    Named(&'static [(&'static str, &'static str)]),
}

const STRINGS: &[&str] = &[
    "blank?",
    "capitalize",
    "downcase",
    "ends-with?",
    "extract",
    "extract-int",
    "format",
    "grapheme-count",
    "includes?",
    "index-of",
    "join",
    "last-index-of",
    "lower-case",
    "name",
    "parse-boolean",
    "parse-double",
    "parse-int",
    "parse-long",
    "pr-str",
    "replace",
    "replace-first",
    "split",
    "split-lines",
    "starts-with?",
    "str",
    "subs",
    "trim",
    "trim-newline",
    "triml",
    "trimr",
    "upcase",
    "upper-case",
];

const SETS: &[&str] = &[
    "contains?",
    "difference",
    "disj",
    "hash-set",
    "intersection",
    "set",
    "set?",
    "subset?",
    "superset?",
    "union",
    "vec",
    "vector",
];

/// Functions that Clojure has under these names outside of `clojure.core`.
const ELSEWHERE: &[&str] = &["ceil", "floor", "round", "split"];

const REGEX: &[&str] =
    &["extract", "extract-int", "re-find", "re-matches", "re-pattern", "re-seq", "re-split", "regex?"];

const MATH: &[&str] = &[
    "abs",
    "bit-and",
    "bit-and-not",
    "bit-clear",
    "bit-flip",
    "bit-not",
    "bit-or",
    "bit-set",
    "bit-shift-left",
    "bit-shift-right",
    "bit-test",
    "bit-xor",
    "ceil",
    "double",
    "float",
    "floor",
    "int",
    "max",
    "min",
    "pow",
    "quot",
    "round",
    "sqrt",
    "trunc",
];

const LIMITS: &[(&str, &str)] = &[
    ("parseDouble", "parse-double"),
    ("POSITIVE_INFINITY", "POSITIVE_INFINITY"),
    ("NEGATIVE_INFINITY", "NEGATIVE_INFINITY"),
    ("NaN", "NaN"),
];

/// All namespaces of builtins.
pub(crate) const NAMESPACES: &[Namespace] = &[
    Namespace { names: &["clojure.core", "core"], members: Members::Core },
    Namespace { names: &["clojure.set", "set"], members: Members::Same(SETS) },
    Namespace { names: &["clojure.string", "str", "string"], members: Members::Same(STRINGS) },
    Namespace { names: &["clojure.walk", "walk"], members: Members::Same(&["walk", "prewalk", "postwalk"]) },
    Namespace {
        names: &["json"],
        members: Members::Named(&[
            ("generate-string", "json/generate-string"),
            ("parse-lines", "json/parse-lines"),
            ("parse-string", "json/parse-string"),
        ]),
    },
    Namespace { names: &["regex"], members: Members::Same(REGEX) },
    Namespace { names: &["Math"], members: Members::Same(MATH) },
    Namespace { names: &["System"], members: Members::Named(&[("currentTimeMillis", "System/currentTimeMillis")]) },
    Namespace { names: &["Boolean"], members: Members::Named(&[("parseBoolean", "Boolean/parseBoolean")]) },
    Namespace { names: &["Integer"], members: Members::Named(&[("parseInt", "parse-int")]) },
    Namespace { names: &["Long"], members: Members::Named(&[("parseLong", "parse-long")]) },
    Namespace { names: &["Double"], members: Members::Named(LIMITS) },
    Namespace { names: &["Float"], members: Members::Named(&[("parseFloat", "parse-double")]) },
    Namespace {
        names: &["LocalDate", "java.time.LocalDate"],
        members: Members::Named(&[("parse", "LocalDate/parse")]),
    },
    Namespace { names: &["Instant", "java.time.Instant"], members: Members::Named(&[("parse", "Instant/parse")]) },
    Namespace {
        names: &["Duration", "java.time.Duration"],
        members: Members::Named(&[("between", "Duration/between")]),
    },
];

/// Splits a symbol at its first slash; a symbol that starts with one has no namespace.
pub(crate) fn split(symbol: &str) -> Option<(&str, &str)> {
    let slash = symbol.bytes().position(|byte| byte == b'/').filter(|slash| *slash > 0)?;
    Some((&symbol[..slash], &symbol[slash + 1..]))
}

/// Qualified names that may be written without their namespace.
pub(crate) const UNQUALIFIED: [(&str, &str); 4] = [
    ("currentTimeMillis", "System/currentTimeMillis"),
    ("parse", "LocalDate/parse"),
    ("between", "Duration/between"),
    ("parseBoolean", "Boolean/parseBoolean"),
];

/// The builtin of an unqualified name; some qualified ones may be written unqualified.
pub(crate) fn bare(name: &str) -> Option<&'static Builtin> {
    builtins::find(name).or_else(|| {
        let (_, qualified) = UNQUALIFIED.iter().find(|(bare, _)| *bare == name)?;
        builtins::find(qualified)
    })
}

/// Named numbers.
pub(crate) const CONSTANTS: [(&str, f64); 3] =
    [("POSITIVE_INFINITY", f64::INFINITY), ("NEGATIVE_INFINITY", f64::NEG_INFINITY), ("NaN", f64::NAN)];

/// The value of a named number.
pub(crate) fn constant(name: &str) -> Option<Value> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, number)| Value::Float(*number))
}

impl Namespace {
    /// The names of its members that exist, sorted.
    pub(crate) fn list(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = match self.members {
            Members::Core => builtins::rows().filter(|row| is_core(row)).map(|row| row.name).collect(),
            Members::Same(names) => names.iter().copied().filter(|name| value(name).is_some()).collect(),
            Members::Named(names) => {
                names.iter().filter(|(_, name)| value(name).is_some()).map(|(member, _)| *member).collect()
            }
        };
        names.sort_unstable();
        names
    }

    /// The name of the builtin that a member refers to.
    pub(crate) fn target(&self, member: &str) -> Option<&'static str> {
        match self.members {
            Members::Core => builtins::find(member).filter(|row| is_core(row)).map(|row| row.name),
            Members::Same(names) => names.iter().copied().find(|name| *name == member),
            Members::Named(names) => names.iter().find(|(name, _)| *name == member).map(|(_, target)| *target),
        }
    }
}

/// The namespace of this name.
pub(crate) fn named(name: &str) -> Option<&'static Namespace> {
    NAMESPACES.iter().find(|namespace| namespace.names.contains(&name))
}

/// The value of a qualified name; `invalid_form` with the existing names if it does not exist.
pub(crate) fn find(namespace: &str, member: &str) -> Result<Value, Error> {
    let Some(found) = named(namespace) else {
        let names: Vec<&str> = NAMESPACES.iter().map(|namespace| namespace.names[0]).collect();
        let near = nearest(namespace, names.iter().copied());
        let guess = near.map(|near| format!("Did you mean {near}/{member}? ")).unwrap_or_default();
        let hint = format!("{guess}Available: data, tool, budget, {}", names.join(", "));
        return Err(Error::new(Reason::InvalidForm, format!("unknown namespace `{namespace}`")).hint(hint));
    };
    found.target(member).and_then(value).ok_or_else(|| {
        let members = found.list();
        let near = nearest(member, members.iter().copied());
        let hint = match (near, members.len()) {
            (near, 0..=40) => {
                let guess = near.map(|near| format!("Did you mean {namespace}/{near}? ")).unwrap_or_default();
                format!("{guess}Members: {}", members.join(", "))
            }
            (Some(near), _) => format!("Did you mean {namespace}/{near}?"),
            (None, _) => format!("(dir {namespace}) lists its members"),
        };
        Error::new(Reason::InvalidForm, format!("`{namespace}` has no `{member}`")).hint(hint)
    })
}

/// The builtin that a name means: unqualified, qualified, or without its usual namespace.
pub fn resolve(name: &str) -> Option<&'static Builtin> {
    let qualified = || split(name).and_then(|(namespace, member)| builtins::find(named(namespace)?.target(member)?));
    bare(name).or_else(qualified)
}

/// All namespaces that a program can use, those of its inputs included, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = NAMESPACES.iter().flat_map(|namespace| namespace.names).copied().collect();
    names.extend(["budget", "data", "tool"]);
    names.sort_unstable();
    names
}

/// The members of a namespace of builtins, sorted; empty for any other name.
pub fn members(namespace: &str) -> Vec<&'static str> {
    named(namespace).map(Namespace::list).unwrap_or_default()
}

/// A function or constant by the builtin's name.
fn value(name: &str) -> Option<Value> {
    let row = builtins::find(name).filter(|row| matches!(row.run, Implementation::Function(_)));
    row.map(|row| Callable::Builtin(row).into_value()).or_else(|| constant(name))
}

/// True for a function that Clojure has under this name in `clojure.core`.
fn is_core(row: &Builtin) -> bool {
    matches!(row.run, Implementation::Function(_))
        && !row.name.starts_with('.')
        && split(row.name).is_none()
        && !matches!(row.clojure, Clojure::Extension | Clojure::Named(_))
        && !ELSEWHERE.contains(&row.name)
}

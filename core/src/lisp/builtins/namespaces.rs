//! Namespaces: the known prefixes, and the builtins they contain.
//!
//! A qualified name is another notation for a builtin. `data/`, `tool/` and `budget/` are not listed: they are the
//! program's inputs, not builtins.

use super::{Builtin, Clojure, Implementation, habit};
use crate::lisp::machine::Callable;
use crate::lisp::{Dialect, Error, builtins};
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
    /// Constants.
    Constants(&'static [(&'static str, Constant)]),
}

/// The value of a named constant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Constant {
    /// A string.
    Text(&'static str),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
}

impl Constant {
    /// Its value.
    fn value(self) -> Value {
        match self {
            Self::Text(text) => Value::from(text),
            Self::Integer(int) => Value::Int(int),
            Self::Float(float) => Value::Float(float),
        }
    }
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

const WALKS: &[&str] = &["walk", "prewalk", "postwalk", "keywordize-keys", "stringify-keys"];

/// All namespaces of builtins.
pub(crate) const NAMESPACES: &[Namespace] = &[
    Namespace { names: &["clojure.core", "core"], members: Members::Core },
    Namespace { names: &["clojure.set", "set"], members: Members::Same(SETS) },
    Namespace { names: &["clojure.string", "str", "string"], members: Members::Same(STRINGS) },
    Namespace { names: &["clojure.walk", "walk"], members: Members::Same(WALKS) },
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

/// Words that models write for the namespaces of the program's inputs.
const OWN: &[(&str, &[&str])] = &[
    ("data", &["data", "input", "inputs", "ctx", "context", "args", "arguments", "params", "parameters"]),
    ("tool", &["tool", "tools", "function", "functions", "mcp", "api"]),
];

/// The namespace of the program's inputs, `data` or `tool`, that a word means.
pub(crate) fn own(word: &str) -> Option<&'static str> {
    OWN.iter().find(|(_, words)| words.contains(&word)).map(|(namespace, _)| *namespace)
}

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
            Members::Constants(names) => names.iter().map(|(name, _)| *name).collect(),
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
            Members::Constants(_) => None,
        }
    }

    /// The value of a member.
    fn member(&self, member: &str) -> Option<Value> {
        match self.members {
            Members::Constants(names) => {
                names.iter().find(|(name, _)| *name == member).map(|(_, constant)| constant.value())
            }
            _ => self.target(member).and_then(value),
        }
    }
}

/// The namespace of this name.
pub(crate) fn named(name: &str) -> Option<&'static Namespace> {
    let has_name = |namespace: &&Namespace| namespace.names.contains(&name);
    NAMESPACES.iter().find(has_name).or_else(|| habit::NAMESPACES.iter().find(has_name))
}

/// All namespaces of a dialect; several may have the same name.
fn spaces(dialect: Dialect) -> impl Iterator<Item = &'static Namespace> {
    let added: &[Namespace] = if dialect == Dialect::Reference { &[] } else { habit::NAMESPACES };
    added.iter().chain(NAMESPACES)
}

/// The members of a namespace with the names of their builtins, sorted.
pub(crate) fn targets(name: &str, dialect: Dialect) -> Vec<(&'static str, &'static str)> {
    let spaces = spaces(dialect).filter(|space| space.names.contains(&name));
    let mut found: Vec<(&str, &str)> = spaces
        .flat_map(|space| space.list().into_iter().filter_map(|member| Some((member, space.target(member)?))))
        .collect();
    found.retain(|(_, target)| builtins::find(target).is_none_or(|row| row.exists_in(dialect)));
    found.sort_unstable();
    found.dedup_by_key(|(member, _)| *member);
    found
}

/// The value of a qualified name; `invalid_form` with the existing names if it does not exist.
pub(crate) fn find(namespace: &str, member: &str, dialect: Dialect) -> Result<Value, Error> {
    let wanted = if dialect == Dialect::Reference { namespace } else { habit::without_package(namespace) };
    let all = || spaces(dialect);
    let found: Vec<&Namespace> = all().filter(|space| space.names.contains(&wanted)).collect();
    let exists = |row: Option<&'static Builtin>| row.is_none_or(|row| row.exists_in(dialect));
    let target =
        |space: &&Namespace| space.member(member).filter(|_| exists(space.target(member).and_then(builtins::find)));
    if let Some(value) = found.iter().find_map(target) {
        return Ok(value);
    }
    if found.is_empty() {
        let problem = format!("unknown namespace `{namespace}`");
        let mut names: Vec<&str> = all().map(|space| space.names[0]).collect();
        names.sort_unstable();
        names.dedup();
        let guess = suggested(namespace, member, &all().collect::<Vec<_>>());
        let guess = guess.map(|guess| format!("Did you mean {guess}? ")).unwrap_or_default();
        let hint = match habit::way(wanted) {
            Some(way) => way.to_owned(),
            None => format!("{guess}Available: data, tool, budget, {}", names.join(", ")),
        };
        return Err(Error::new(Reason::InvalidForm, problem).hint(hint));
    }
    let mut members: Vec<&str> = found.iter().flat_map(|space| space.list()).collect();
    members.retain(|name| found.iter().any(|space| exists(space.target(name).and_then(builtins::find))));
    members.sort_unstable();
    members.dedup();
    let near = nearest(member, members.iter().copied());
    let hint = match (near, members.len()) {
        (near, 0..=40) => {
            let guess = near.map(|near| format!("Did you mean {namespace}/{near}? ")).unwrap_or_default();
            format!("{guess}Members: {}", members.join(", "))
        }
        (Some(near), _) => format!("Did you mean {namespace}/{near}?"),
        (None, _) => format!("(dir {namespace}) lists its members"),
    };
    Err(Error::new(Reason::InvalidForm, format!("`{namespace}` has no `{member}`")).hint(hint))
}

/// Abbreviations that models give to namespaces, and names in use for these.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("s", "str"),
    ("strings", "str"),
    ("text", "str"),
    ("JSON", "json"),
    ("sets", "set"),
    ("re", "regex"),
    ("w", "walk"),
    ("m", "math"),
];

/// A qualified name that exists, for one with an unknown namespace: the member in the namespace that is abbreviated so,
/// in that with the nearest name, or in the only one that has it, or the function without a namespace.
fn suggested(namespace: &str, member: &str, all: &[&Namespace]) -> Option<String> {
    let having: Vec<&&Namespace> = all.iter().filter(|space| space.member(member).is_some()).collect();
    let meant = ABBREVIATIONS.iter().find(|(short, _)| *short == namespace).map(|(_, name)| *name);
    if let Some(name) = meant.filter(|name| having.iter().any(|space| space.names.contains(name))) {
        return Some(format!("{name}/{member}"));
    }
    let near = nearest(namespace, having.iter().flat_map(|space| space.names).copied());
    match (near, having.as_slice()) {
        (Some(near), _) => Some(format!("{near}/{member}")),
        (None, [only]) => Some(format!("{}/{member}", only.names[0])),
        _ => find_core(member).map(|row| row.name.to_owned()),
    }
}

/// The function of `clojure.core` of this name.
fn find_core(name: &str) -> Option<&'static Builtin> {
    builtins::find(name).filter(|row| is_core(row))
}

/// The builtin that a name means: unqualified, qualified, or without its usual namespace.
pub fn resolve(name: &str) -> Option<&'static Builtin> {
    let qualified = || {
        let (namespace, member) = split(name)?;
        let namespace = habit::without_package(namespace);
        let spaces = habit::NAMESPACES.iter().chain(NAMESPACES).filter(|space| space.names.contains(&namespace));
        spaces.filter_map(|space| space.target(member)).find_map(builtins::find)
    };
    bare(name).or_else(qualified)
}

/// All namespaces that a program can use, those of its inputs included, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = spaces(Dialect::Current).flat_map(|namespace| namespace.names).copied().collect();
    names.extend(["budget", "data", "tool"]);
    names.sort_unstable();
    names.dedup();
    names
}

/// The members of a namespace of builtins, sorted; empty for any other name.
pub fn members(namespace: &str) -> Vec<&'static str> {
    targets(namespace, Dialect::Current).into_iter().map(|(member, _)| member).collect()
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

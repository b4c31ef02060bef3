//! Discovery: `doc`, `dir`, `apropos` and similar, over the table of builtins, the agent's tools and the program's
//! definitions. Symbols arrive unevaluated. Nothing here reaches outside of the program.

use super::reference::description;
use super::{Arity, Builtin, Clojure, Implementation, InReference, SECTIONS, find, namespaces, rows};
use crate::lisp::machine::Callable;
use crate::lisp::machine::Machine;
use crate::lisp::{Binding, Dialect, Error, EvalResult, ReturnScope, ToolInfo, described, wrong};
use crate::reasons::Reason;
use crate::text::nearest::nearest;
use crate::value::{Keyword, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("doc", Arity::exactly(1), doc)
        .doc(
            &["(doc name)", "(doc tool/name)"],
            "Prints the description and the calls of a function, form, tool or definition; nil.",
        )
        .examples(&[("(doc map)", "nil")]),
    Builtin::new("source", Arity::exactly(1), source)
        .doc(&["(source name)"], "Prints the source of a function that a program defined; nil.")
        .examples(&[("(source map)", "nil")]),
    Builtin::new("meta", Arity::exactly(1), meta)
        .doc(&["(meta name)"], "The contents of `doc` as a map.")
        .examples(&[("(:name (meta map))", "\"map\"")])
        .clojure(Clojure::Differs("it describes names, not values")),
    Builtin::new("dir", Arity::between(1, 2), dir)
        .doc(
            &["(dir namespace)", "(dir tool)", "(dir memory)", "(dir namespace {:limit n :offset n})"],
            "The members of a namespace, one line for each name.",
        )
        .examples(&[("(count (dir clojure.walk))", "7")]),
    Builtin::new("apropos", Arity::between(1, 2), apropos)
        .doc(
            &["(apropos text)", "(apropos text {:limit n})"],
            "Everything with the text in its name or description, one line each.",
        )
        .examples(&[("(apropos \"zzzz\")", "[]")]),
    Builtin::new("ns-publics", Arity::exactly(1), ns_publics)
        .doc(&["(ns-publics namespace)"], "A map from the names of a namespace to their descriptions.")
        .examples(&[("(get-in (ns-publics json) [\"parse-string\" :kind])", "\"function\"")]),
    Builtin::new("ns-name", Arity::exactly(1), ns_name)
        .doc(&["(ns-name namespace)"], "The full name of a namespace.")
        .examples(&[("(ns-name str)", "\"clojure.string\"")]),
    Builtin::new("all-ns", Arity::exactly(0), all_ns)
        .doc(&["(all-ns)"], "The names of all namespaces of functions.")
        .examples(&[("(count (all-ns))", "5")]),
    Builtin::new("tool/servers", Arity::exactly(0), servers)
        .doc(&["(tool/servers)"], "Always fails: there are no tool servers. `(dir tool)` lists the agent's tools.")
        .clojure(Clojure::Extension),
];

/// The namespaces that `all-ns` lists.
const LISTED: &[&str] = &["clojure.core", "clojure.set", "clojure.string", "clojure.walk", "json"];

/// The namespaces of the agent's tools and the program's definitions.
const OWN: &[&str] = &["tool", "memory"];

/// Number of lines that `dir` and `apropos` return: default and maximum.
const DIR_LINES: (i64, i64) = (50, 200);
const APROPOS_LINES: (i64, i64) = (8, 50);

/// A documented thing.
enum Subject<'m> {
    Row(&'static Builtin, ReturnScope),
    Tool(&'m ToolInfo),
    Memory(Keyword, Binding),
}

impl Subject<'_> {
    fn name(&self) -> String {
        match self {
            Self::Row(row, _) => row.name.to_owned(),
            Self::Tool(tool) => format!("tool/{}", tool.name),
            Self::Memory(name, _) => name.name().to_owned(),
        }
    }

    fn about(&self) -> String {
        match self {
            Self::Row(row, scope) => description(row, *scope).to_owned(),
            Self::Tool(tool) => tool.description.clone().unwrap_or_default(),
            Self::Memory(_, binding) => binding.doc.as_deref().unwrap_or_default().to_owned(),
        }
    }

    fn signatures(&self) -> Vec<String> {
        match self {
            Self::Row(row, _) => row.signatures.iter().map(ToString::to_string).collect(),
            Self::Tool(tool) => {
                let call = format!("(tool/{} {{…}})", tool.name);
                vec![tool.signature.as_ref().map_or_else(|| call.clone(), |signature| format!("{call} {signature}"))]
            }
            Self::Memory(name, binding) => match closure(&binding.value) {
                Some((params, _)) => {
                    let params = params.trim_start_matches('[').trim_end_matches(']');
                    vec![format!("({} {params})", name.name()).replace(" )", ")")]
                }
                None => vec![name.name().to_owned()],
            },
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Row(Builtin { run: Implementation::Form, .. }, _) => "form",
            Self::Row(..) => "function",
            Self::Tool(_) => "tool",
            Self::Memory(_, binding) if matches!(binding.value, Value::Function(_)) => "defined function",
            Self::Memory(..) => "defined value",
        }
    }

    fn namespace(&self) -> &'static str {
        match self {
            Self::Row(row, _) => {
                let holds =
                    |name: &&&str| namespaces::named(name).is_some_and(|found| found.list().contains(&row.name));
                LISTED[1..].iter().find(holds).copied().unwrap_or(match row.name.split_once('/') {
                    Some(("json", _)) => "json",
                    Some(("tool", _)) => "tool",
                    _ => "clojure.core",
                })
            }
            Self::Tool(_) => "tool",
            Self::Memory(..) => "memory",
        }
    }

    fn line(&self) -> String {
        let about = self.about();
        if about.is_empty() {
            self.name()
        } else {
            format!("{} - {}", self.name(), about.lines().next().unwrap_or_default())
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![self.name()];
        lines.extend(self.signatures());
        lines.extend(Some(self.about()).filter(|about| !about.is_empty()));
        if let Self::Row(row, _) = self {
            match row.clojure {
                Clojure::Differs(how) => lines.push(format!("Differs from Clojure: {}.", sentence(how))),
                Clojure::Extension => lines.push("Not in Clojure.".to_owned()),
                Clojure::Named(name) => lines.push(format!("In Clojure: {name}.")),
                Clojure::Same => {}
            }
            lines.extend(row.examples.iter().map(|(program, value)| format!("{program} => {value}")));
        }
        lines.push(format!("Kind: {}. Namespace: {}", self.kind(), self.namespace()));
        lines.join("\n")
    }

    fn map(&self) -> Value {
        let text = |text: &str| Value::from(text);
        let section = match self {
            Self::Row(row, _) => SECTIONS.iter().find(|section| section.rows.iter().any(|have| have.name == row.name)),
            Self::Tool(_) | Self::Memory(..) => None,
        };
        let signatures: Vec<Value> = self.signatures().into_iter().map(Value::from).collect();
        Value::map([
            (Value::keyword("name"), Value::from(self.name())),
            (Value::keyword("namespace"), text(self.namespace())),
            (Value::keyword("description"), Value::from(self.about())),
            (Value::keyword("signatures"), Value::from(signatures)),
            (Value::keyword("kind"), text(self.kind())),
            (Value::keyword("section"), section.map_or(Value::Nil, |section| text(section.title))),
            (Value::keyword("source"), text(if matches!(self, Self::Tool(_)) { "agent" } else { "local" })),
            (Value::keyword("ref"), Value::from(self.name())),
        ])
    }
}

/// A sentence without its full stop.
pub(super) fn sentence(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

/// The parameters and the text of a function that a program defined.
fn closure(value: &Value) -> Option<(&str, &str)> {
    Callable::closure_of(value).map(|closure| (closure.lambda.params(), closure.lambda.source()))
}

/// The name that an argument denotes.
fn named(value: &Value) -> EvalResult<String> {
    match value {
        Value::Symbol(name) | Value::Var(name) | Value::Keyword(name) => Ok(name.name().to_owned()),
        Value::Str(text) => Ok(text.to_string()),
        Value::Function(function) => match Callable::of(function) {
            Some(Callable::Builtin(row)) => Ok(row.name.to_owned()),
            Some(Callable::Tool(name)) => Ok(format!("tool/{name}")),
            _ => Err(wrong(1, "a name", value)),
        },
        other => Err(wrong(1, "a name", other)),
    }
}

/// The documented thing that an argument names; `runtime_error` if there is none.
fn subject<'h>(machine: &Machine<'h>, value: &Value) -> EvalResult<Subject<'h>> {
    let name = named(value)?;
    if let Some(tool) = name.strip_prefix("tool/")
        && let Some(tool) = machine.tools().iter().find(|have| have.name == tool)
    {
        return Ok(Subject::Tool(tool));
    }
    if let Some(known) = Keyword::known(&name)
        && let Some(binding) = machine.binding(known)
    {
        return Ok(Subject::Memory(known, binding));
    }
    let qualified = || {
        let (namespace, member) = namespaces::split(&name)?;
        namespaces::named(namespace)?.target(member).and_then(find)
    };
    if let Some(row) = namespaces::bare(&name).or_else(qualified) {
        return Ok(Subject::Row(row, machine.world.return_scope));
    }
    let near = nearest(&name, rows().map(|row| row.name));
    let hint = near.map_or_else(|| "(apropos \"text\") searches".to_owned(), |near| format!("Did you mean `{near}`?"));
    Error::new(Reason::RuntimeError, format!("unknown name `{name}`")).hint(hint).halt()
}

/// The members of a namespace, sorted by name; `runtime_error` if there is no such namespace.
fn members<'h>(machine: &Machine<'h>, value: &Value) -> EvalResult<Vec<(String, Subject<'h>)>> {
    let name = named(value)?;
    let mut found: Vec<(String, Subject<'h>)> = match name.as_str() {
        "tool" => machine.tools().iter().map(|tool| (tool.name.clone(), Subject::Tool(tool))).collect(),
        "memory" => {
            let binding = |name: Keyword| Some((name.name().to_owned(), Subject::Memory(name, machine.binding(name)?)));
            machine.names().into_iter().filter_map(binding).collect()
        }
        other => {
            namespace(other)?;
            let dialect = if machine.is_reference() { Dialect::Reference } else { Dialect::Current };
            let row = |(member, target): (&str, &str)| {
                Some((member.to_owned(), Subject::Row(find(target)?, machine.world.return_scope)))
            };
            namespaces::targets(other, dialect).into_iter().filter_map(row).collect()
        }
    };
    found.sort_by(|one, two| one.0.cmp(&two.0));
    Ok(found)
}

fn namespace(name: &str) -> EvalResult<&'static namespaces::Namespace> {
    namespaces::named(name).ok_or_else(|| {
        let hint = format!("Available: {}, {}", LISTED.join(", "), OWN.join(", "));
        Error::new(Reason::RuntimeError, format!("unknown namespace `{name}`")).hint(hint).into()
    })
}

fn doc(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let text = subject(machine, &args[0])?.text();
    machine.print(text);
    Ok(Value::Nil)
}

fn source(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let subject = subject(machine, &args[0])?;
    let text = match &subject {
        Subject::Memory(_, binding) => closure(&binding.value).map(|(_, source)| source.to_owned()),
        Subject::Row(..) | Subject::Tool(_) => None,
    };
    let text = text.unwrap_or_else(|| format!("{} has no source", subject.name()));
    machine.print(text);
    Ok(Value::Nil)
}

fn meta(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(subject(machine, &args[0])?.map())
}

fn dir(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (limit, offset) = (option(args, "limit", 1, DIR_LINES)?, option(args, "offset", 0, (0, i64::MAX))?);
    let members = members(machine, &args[0])?;
    machine.ticks(members.len())?;
    let lines = members.iter().skip(offset).take(limit);
    Ok(Value::list(lines.map(|(name, subject)| {
        let about = subject.about();
        let first = about.lines().next().unwrap_or_default();
        Value::from(if first.is_empty() { name.clone() } else { format!("{name} - {first}") })
    })))
}

fn ns_publics(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let members = members(machine, &args[0])?;
    machine.ticks(members.len())?;
    Ok(Value::map(members.into_iter().map(|(name, subject)| {
        let signatures: Vec<Value> = subject.signatures().into_iter().map(Value::from).collect();
        let about = Value::map([
            (Value::keyword("kind"), Value::from(subject.kind())),
            (Value::keyword("signatures"), Value::from(signatures)),
        ]);
        (Value::from(name), about)
    })))
}

fn ns_name(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let name = named(&args[0])?;
    if OWN.contains(&name.as_str()) {
        return Ok(Value::from(name));
    }
    Ok(Value::from(namespace(&name)?.names[0]))
}

fn all_ns(_: &mut Machine<'_>, _: &mut [Value]) -> EvalResult {
    Ok(Value::list(LISTED.iter().map(|name| Value::from(*name))))
}

fn servers(_: &mut Machine<'_>, _: &mut [Value]) -> EvalResult {
    Error::new(Reason::RuntimeError, "there are no tool servers").hint("(dir tool) lists the agent's tools").halt()
}

fn apropos(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let limit = option(args, "limit", 1, APROPOS_LINES)?;
    let wanted = named(&args[0]).unwrap_or_default().to_lowercase();
    if wanted.trim().is_empty() {
        let problem = format!("the text to search for must be a string that is not blank, got {}", described(&args[0]));
        return Error::new(Reason::RuntimeError, problem).halt();
    }
    let tools = machine.tools().iter().map(Subject::Tool);
    let names = machine.names();
    machine.ticks(names.len() + 1_000)?;
    let defined = names.into_iter().filter_map(|name| Some(Subject::Memory(name, machine.binding(name)?)));
    let all = tools.chain(defined).chain(
        rows()
            .filter(|row| !machine.is_reference() || row.reference != InReference::Absent)
            .map(|row| Subject::Row(row, machine.world.return_scope)),
    );
    let mut found: Vec<(u8, Subject<'_>)> = all
        .filter_map(|subject| {
            let name = subject.name().to_lowercase();
            let rank = match () {
                () if name == wanted => 0,
                () if name.contains(&wanted) => 1,
                () if subject.about().to_lowercase().contains(&wanted) => 2,
                () => return None,
            };
            Some((rank, subject))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    Ok(Value::list(found.iter().take(limit).map(|(_, subject)| Value::from(subject.line()))))
}

/// A whole number among the options in argument 2: from `least` to the second of `range`; the first of `range` if
/// missing.
fn option(args: &[Value], name: &str, least: i64, range: (i64, i64)) -> EvalResult<usize> {
    let Some(options) = args.get(1).filter(|options| !options.is_nil()) else {
        return Ok(usize::try_from(range.0).unwrap_or(0));
    };
    let Value::Map(_) = options else {
        return Err(wrong(2, "a map of options", options));
    };
    let number = match options.lookup(name) {
        None => Some(range.0),
        Some(Value::Int(number)) => Some(*number).filter(|number| (least..=range.1).contains(number)),
        Some(_) => None,
    };
    number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
        let most = if range.1 == i64::MAX { String::new() } else { format!(" to {}", range.1) };
        Error::new(Reason::RuntimeError, format!(":{name} must be a whole number from {least}{most}")).into()
    })
}

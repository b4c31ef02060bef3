//! From the table `[tools.x]` of an agent file to a tool.
//!
//! In: name and table. Out: the tool, or everything that is wrong with it, each with its key.

mod outside;

use ptc_core::limits::{Limit, TOOL_TIMEOUT};
use ptc_core::signature;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{Builtin, Expose, Kind, Returns, Shaping, Table, Tool, answered_by};
use crate::config::document::{advice, out_of_range};

/// A kind of tools.
struct KindRow {
    name: &'static str,
    /// Its keys beside the common ones.
    keys: &'static [&'static str],
    /// Reads what it needs from the table of the tool of this name.
    read: fn(&str, &Json) -> Result<Kind, Wrong>,
}

/// The kinds of tools.
const KINDS: &[KindRow] = &[
    KindRow {
        name: "table",
        keys: &["rows", "default", "delay_ms"],
        read: |name, table| Table::read(name, table).map(Kind::Table),
    },
    KindRow {
        name: "snippet",
        keys: &["code"],
        read: |name, table| {
            needed(name, table, ("snippet", "code"), "a PTC-Lisp program over `data/`").map(Kind::Snippet)
        },
    },
    KindRow { name: "agent", keys: &["file", "agent", "returns"], read: agent },
    KindRow {
        name: "llm",
        keys: &[
            "prompt",
            "model",
            "mode",
            "field_descriptions",
            "tools",
            "max_turns",
            "response_template",
            "json_signature",
            "validator",
        ],
        read: llm,
    },
    KindRow { name: "builtin", keys: &["name"], read: builtin },
    KindRow { name: "closure", keys: &[], read: |_, _| Ok(Kind::Closure(None)) },
    KindRow {
        name: "command",
        keys: &["command", "folder", "env", "output_max_bytes"],
        read: |name, table| outside::command(name, table).map(Kind::Command),
    },
    KindRow {
        name: "http",
        keys: &["method", "url", "headers", "body", "response_path", "output_max_bytes"],
        read: |name, table| outside::http(name, table).map(Kind::Http),
    },
    KindRow {
        name: "mcp",
        keys: &["server", "tool", "command", "folder", "env", "url", "headers"],
        read: |name, table| outside::mcp(name, table).map(Kind::Mcp),
    },
];

/// Providers accept no longer names.
const NAME_MAX_CHARS: usize = 64;
/// What `file` says for the agent that has the tool.
pub const SELF: &str = "self";

/// What is wrong with a declaration: the key in its table (empty for the table itself) and the message.
pub type Wrong = (String, String);

const COMMON: &[&str] = &["kind", "signature", "description", "cache", "expose", "timeout_ms"];

impl Tool {
    /// Reads a declaration.
    pub fn declared(name: &str, table: &Json) -> Result<Self, Vec<Wrong>> {
        let mut wrong: Vec<Wrong> = Vec::new();
        let text = |key: &str| table.get(key).and_then(Json::as_str).map(str::to_owned);
        let kinds: Vec<&str> = KINDS.iter().map(|row| row.name).collect();
        let Some(kind) = text("kind") else {
            return Err(vec![("kind".to_owned(), format!("the tool `{name}` needs a `kind`{}", advice("", &kinds)))]);
        };
        if !is_name(name) {
            let message = format!(
                "`{name}` is no name for a tool; use up to {NAME_MAX_CHARS} letters, digits, `_` and `-`, a letter first"
            );
            wrong.push((String::new(), message));
        }
        let (signature_text, mut parsed) = (text("signature"), None);
        if let Some(written) = &signature_text {
            match signature::parse(written) {
                Ok(signature) => parsed = Some(signature),
                Err(error) => wrong.push(("signature".to_owned(), format!("tool `{name}`: {error}"))),
            }
        }
        let row = KINDS.iter().find(|row| row.name == kind);
        let own = row.map_or(&[][..], |row| row.keys);
        for member in table.members().unwrap_or_default() {
            let key = member.key.as_str();
            if !COMMON.contains(&key) && !own.contains(&key) {
                let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
                wrong.push((key.to_owned(), format!("unknown key `{key}` in [tools.{name}]{}", advice(key, &known))));
            }
        }
        let made = row.map_or_else(
            || {
                Err((
                    "kind".to_owned(),
                    format!("the tool `{name}` has an unknown kind `{kind}`{}", advice(&kind, &kinds)),
                ))
            },
            |row| (row.read)(name, table),
        );
        let mut note = |problem: Wrong| wrong.push(problem);
        let made = made.map_err(&mut note).ok();
        let expose = named(name, table, "expose", &EXPOSES).map_err(&mut note).unwrap_or_default();
        let returns = named(name, table, "returns", &RETURNS).map_err(&mut note).unwrap_or_default();
        let timeout_ms = limited(table, "timeout_ms", &TOOL_TIMEOUT).map_err(&mut note).unwrap_or(TOOL_TIMEOUT.max);
        match made {
            Some(kind) if wrong.is_empty() => Ok(Self {
                name: name.to_owned(),
                signature_text,
                signature: parsed,
                description: text("description"),
                cache: table.get("cache").is_some_and(|flag| flag.node == Node::Bool(true)),
                expose,
                timeout_ms,
                returns: returns.unwrap_or(Returns::Answer),
                kind,
            }),
            _ => Err(wrong),
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= NAME_MAX_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '?' | '!'))
}

const EXPOSES: [(&str, Expose); 3] =
    [("native", Expose::Native), ("ptc_lisp", Expose::PtcLisp), ("both", Expose::Both)];
const RETURNS: [(&str, Returns); 2] = [("answer", Returns::Answer), ("delegate", Returns::Delegate)];

/// What the word under a key stands for; `None` without the key.
fn named<T: Copy>(tool: &str, table: &Json, key: &str, known: &[(&str, T)]) -> Result<Option<T>, Wrong> {
    let Some(word) = table.get(key).and_then(Json::as_str) else { return Ok(None) };
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, thing)| Some(*thing));
    found.ok_or_else(|| {
        let near = advice(word, &known.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        (key.to_owned(), format!("unknown `{key}` of the tool `{tool}`: `{word}`{near}"))
    })
}

/// A number within a limit; without the key what the limit is by default.
fn limited(table: &Json, key: &str, limit: &Limit) -> Result<u64, Wrong> {
    let Some(json) = table.get(key) else { return Ok(limit.default.unwrap_or(limit.max)) };
    let number = match json.node {
        Node::Int(int) => u64::try_from(int).ok().filter(|number| (limit.min..=limit.max).contains(number)),
        _ => None,
    };
    number.ok_or_else(|| (key.to_owned(), out_of_range(key, limit, json.to_text())))
}

/// The text under a key that a kind cannot do without.
fn needed(name: &str, table: &Json, (kind, key): (&str, &str), what: &str) -> Result<String, Wrong> {
    let text = table.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| (key.to_owned(), format!("the tool `{name}` of kind `{kind}` needs `{key}`: {what}")))
}

fn agent(name: &str, table: &Json) -> Result<Kind, Wrong> {
    match table.get("agent") {
        Some(agent) if agent.members().is_some() => Ok(Kind::Agent(agent.clone())),
        // A definition that is too deep for TOML travels as JSON text.
        Some(Json { node: Node::Str(text), .. }) if json::parse(text).is_ok_and(|json| json.members().is_some()) => {
            Ok(Kind::Agent(json::parse(text).unwrap_or_default()))
        }
        None if table.get("file").and_then(Json::as_str) == Some(SELF) => Ok(Kind::Itself),
        _ => Err((
            "file".to_owned(),
            format!(
                "the tool `{name}` of kind `agent` needs `file` (in an agent file), `file = \"{SELF}\"` or a table `agent`"
            ),
        )),
    }
}

fn llm(name: &str, table: &Json) -> Result<Kind, Wrong> {
    needed(name, table, ("llm", "prompt"), "the template of the question")?;
    let text = |key: &str| table.get(key).and_then(Json::as_str);
    let of_tool = |message: String| format!("the tool `{name}`: {message}");
    Shaping::read(text("response_template"), text("validator"))
        .map_err(|(key, message)| (key.to_owned(), of_tool(message)))?;
    answered_by(None, text("json_signature")).map_err(|message| ("json_signature".to_owned(), of_tool(message)))?;
    Ok(Kind::Llm(table.clone()))
}

fn builtin(name: &str, table: &Json) -> Result<Kind, Wrong> {
    let known = table.get("name").and_then(Json::as_str).unwrap_or(name);
    Builtin::named(known).map(Kind::Builtin).ok_or_else(|| {
        let near = advice(known, &Builtin::ALL.map(Builtin::name));
        ("name".to_owned(), format!("there is no builtin tool `{known}`{near}"))
    })
}

//! From the table `[tools.x]` of an agent file to a tool.
//!
//! In: name and table. Out: the tool, or everything that is wrong with it, each with its key.

mod outside;

use ptc_core::limits::TOOL_TIMEOUT;
use ptc_core::signature;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{Builtin, Expose, Kind, Returns, Shaping, Table, Tool, answered_by};
use crate::config::document::{advice, out_of_range};

/// The kinds of tools.
pub const KINDS: &[&str] = &["table", "snippet", "agent", "llm", "builtin", "closure", "command", "http", "mcp"];

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
        let Some(kind) = text("kind") else {
            return Err(vec![("kind".to_owned(), format!("the tool `{name}` needs a `kind`{}", advice("", KINDS)))]);
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
        let own: &[&str] = match kind.as_str() {
            "table" => &["rows", "default", "delay_ms"],
            "snippet" => &["code"],
            "agent" => &["file", "agent", "returns"],
            "llm" => &[
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
            "builtin" => &["name"],
            "command" => &["command", "folder", "env", "output_max_bytes"],
            "http" => &["method", "url", "headers", "body", "response_path", "output_max_bytes"],
            "mcp" => &["server", "tool", "command", "folder", "env", "url", "headers"],
            _ => &[],
        };
        for member in table.members().unwrap_or_default() {
            let key = member.key.as_str();
            if !COMMON.contains(&key) && !own.contains(&key) {
                let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
                wrong.push((key.to_owned(), format!("unknown key `{key}` in [tools.{name}]{}", advice(key, &known))));
            }
        }
        let made = made(name, &kind, table).map_err(|problem| wrong.push(problem)).ok();
        let expose = match text("expose").as_deref() {
            None => None,
            Some("native") => Some(Expose::Native),
            Some("ptc_lisp") => Some(Expose::PtcLisp),
            Some("both") => Some(Expose::Both),
            Some(other) => {
                let near = advice(other, &["native", "ptc_lisp", "both"]);
                wrong.push(("expose".to_owned(), format!("unknown `expose` of the tool `{name}`: `{other}`{near}")));
                None
            }
        };
        let returns = match text("returns").as_deref() {
            None | Some("answer") => Returns::Answer,
            Some("delegate") => Returns::Delegate,
            Some(other) => {
                let near = advice(other, &["answer", "delegate"]);
                wrong.push(("returns".to_owned(), format!("unknown `returns` of the tool `{name}`: `{other}`{near}")));
                Returns::Answer
            }
        };
        let timeout_ms = match table.get("timeout_ms").map(|json| &json.node) {
            None => TOOL_TIMEOUT.default.unwrap_or(TOOL_TIMEOUT.max),
            Some(Node::Int(int)) if (TOOL_TIMEOUT.min..=TOOL_TIMEOUT.max).contains(&int.unsigned_abs()) && *int > 0 => {
                int.unsigned_abs()
            }
            Some(_) => {
                let found = table.get("timeout_ms").map(Json::to_text).unwrap_or_default();
                wrong.push(("timeout_ms".to_owned(), out_of_range("timeout_ms", &TOOL_TIMEOUT, found)));
                TOOL_TIMEOUT.max
            }
        };
        match made {
            Some(kind) if wrong.is_empty() => Ok(Self {
                name: name.to_owned(),
                signature_text,
                signature: parsed,
                description: text("description"),
                cache: table.get("cache").is_some_and(|flag| flag.node == Node::Bool(true)),
                expose,
                timeout_ms,
                returns,
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

fn made(name: &str, kind: &str, table: &Json) -> Result<Kind, Wrong> {
    let needs = |key: &str, what: &str| {
        table
            .get(key)
            .and_then(Json::as_str)
            .map(str::to_owned)
            .ok_or_else(|| (key.to_owned(), format!("the tool `{name}` of kind `{kind}` needs `{key}`: {what}")))
    };
    match kind {
        "table" => Table::read(name, table).map(Kind::Table),
        "snippet" => needs("code", "a PTC-Lisp program over `data/`").map(Kind::Snippet),
        "agent" => match table.get("agent") {
            Some(agent) if agent.members().is_some() => Ok(Kind::Agent(agent.clone())),
            // A definition that is too deep for TOML travels as JSON text.
            Some(Json { node: Node::Str(text), .. })
                if json::parse(text).is_ok_and(|json| json.members().is_some()) =>
            {
                Ok(Kind::Agent(json::parse(text).unwrap_or_default()))
            }
            None if table.get("file").and_then(Json::as_str) == Some(SELF) => Ok(Kind::Itself),
            _ => Err((
                "file".to_owned(),
                format!(
                    "the tool `{name}` of kind `agent` needs `file` (in an agent file), `file = \"{SELF}\"` or a table `agent`"
                ),
            )),
        },
        "llm" => {
            needs("prompt", "the template of the question")?;
            let text = |key: &str| table.get(key).and_then(Json::as_str);
            let of_tool = |message: String| format!("the tool `{name}`: {message}");
            Shaping::read(text("response_template"), text("validator"))
                .map_err(|(key, message)| (key.to_owned(), of_tool(message)))?;
            answered_by(None, text("json_signature"))
                .map_err(|message| ("json_signature".to_owned(), of_tool(message)))?;
            Ok(Kind::Llm(table.clone()))
        }
        "builtin" => {
            let known = table.get("name").and_then(Json::as_str).unwrap_or(name);
            Builtin::named(known).map(Kind::Builtin).ok_or_else(|| {
                ("name".to_owned(), format!("there is no builtin tool `{known}`{}", advice(known, &Builtin::NAMES)))
            })
        }
        "closure" => Ok(Kind::Closure(None)),
        "command" => outside::command(name, table).map(Kind::Command),
        "http" => outside::http(name, table).map(Kind::Http),
        "mcp" => outside::mcp(name, table).map(Kind::Mcp),
        other => {
            Err(("kind".to_owned(), format!("the tool `{name}` has an unknown kind `{other}`{}", advice(other, KINDS))))
        }
    }
}

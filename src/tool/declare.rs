//! From the table `[tools.x]` of an agent file to a tool.
//!
//! In: name and table. Out: the tool, or everything that is wrong with it, each with its key.

use ptc_core::limits::{Limit, TOOL_OUTPUT, TOOL_TIMEOUT};
use ptc_core::signature;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{Builtin, Expose, Kind, Returns, Shaping, Table, Tool, answered_by, declare_outside};
use crate::config::document::{About, KeyTable, advice, out_of_range};

/// A key with what the reference says of it.
type ToolKey = (&'static str, About);

/// A kind of tools.
struct KindRow {
    name: &'static str,
    /// Who answers its calls.
    meaning: &'static str,
    /// Its keys beside the common ones.
    keys: &'static [ToolKey],
    /// Reads what it needs from the table of the tool of this name.
    read: fn(&str, &Json) -> Result<Kind, Wrong>,
}

/// Bytes that a call may answer.
const OUTPUT: ToolKey = ("output_max_bytes", About::Limit(&TOOL_OUTPUT));
/// Where a program runs.
const FOLDER: ToolKey = ("folder", About::Said("folder", "", "Where it runs; the workbench's own folder without it."));
/// What a program gets of the environment.
const ENV: ToolKey =
    ("env", About::Said("list of names", "", "Variables of the environment that it gets beside the usual ones."));
/// What is sent with requests.
const HEADERS: ToolKey = (
    "headers",
    About::Said("table of texts", "", "Headers of every request; `${NAME}` is a variable of the environment."),
);

/// The kinds of tools.
const KINDS: &[KindRow] = &[
    KindRow {
        name: "table",
        meaning: "fixed answers: the first row that fits the arguments",
        keys: &[
            (
                "rows",
                About::Said(
                    "list of tables",
                    "",
                    "Each with `result` or `error` (a text), and with `args`, the arguments that it fits; JSON text for what TOML cannot say.",
                ),
            ),
            ("default", About::Said("any value", "", "The answer where no row fits; without it such a call fails.")),
            ("delay_ms", About::Said("whole number", "0", "How long each call takes, in ms.")),
        ],
        read: |name, table| Table::read(name, table).map(Kind::Table),
    },
    KindRow {
        name: "snippet",
        meaning: "a PTC-Lisp program",
        keys: &[("code", About::Said("text", "", "Needed: a program; the arguments are under `data/`."))],
        read: |name, table| {
            needed(name, table, ("snippet", "code"), "a PTC-Lisp program over `data/`").map(Kind::Snippet)
        },
    },
    KindRow {
        name: "agent",
        meaning: "another agent: a run of its own, with its model",
        keys: &[
            (
                "file",
                About::Said("file", "", "Its agent file, from the folder of this one; `\"self\"` is the agent itself."),
            ),
            ("agent", About::Said("table", "", "Its definition, in the place of `file`.")),
            (
                "returns",
                About::Said(
                    "answer, delegate",
                    "answer",
                    "`delegate` takes a task in words and gives back more than the answer (docs/modes.md).",
                ),
            ),
        ],
        read: agent,
    },
    KindRow {
        name: "llm",
        meaning: "one question to a model",
        keys: &[
            ("prompt", About::Said("template", "", "Needed: the question, with `{{name}}` for the arguments.")),
            ("model", About::Said("a model", "that of the run", "Who is asked; `caller` says the default.")),
            ("mode", About::Said("a mode", "text", "How the answer is asked for.")),
            ("field_descriptions", About::Said("table of texts", "", "What fields of the answer mean.")),
            ("tools", About::Said("tables", "", "Tools that the model may call before it answers.")),
            ("max_turns", About::Said("whole number", "1; 5 with tools", "Replies until there is an answer.")),
            ("json_signature", About::Said("type", "", "What the model answers, where the tool gives something else.")),
            (
                "response_template",
                About::Said(
                    "text",
                    "",
                    "A PTC-Lisp program with `{{name}}` for fields of the answer; its value is the result.",
                ),
            ),
            (
                "validator",
                About::Said(
                    "text",
                    "",
                    "A PTC-Lisp expression over `result`: nil and false refuse it, a text says why.",
                ),
            ),
        ],
        read: llm,
    },
    KindRow {
        name: "builtin",
        meaning: "a tool of the program itself: `grep`, `grep-n`, `ask_user`, `llm-query`",
        keys: &[("name", About::Said("one of them", "the tool's name", "Which one it is."))],
        read: builtin,
    },
    KindRow {
        name: "closure",
        meaning: "a function of the Rust program that runs the agent (docs/library.md)",
        keys: &[],
        read: |_, _| Ok(Kind::Closure(None)),
    },
    KindRow {
        name: "command",
        meaning: "a program on this machine",
        keys: &[
            (
                "command",
                About::Said("list of texts", "", "Needed: the program and its arguments; no shell reads them."),
            ),
            FOLDER,
            ENV,
            OUTPUT,
        ],
        read: |name, table| declare_outside::command(name, table).map(Kind::Command),
    },
    KindRow {
        name: "http",
        meaning: "a request",
        keys: &[
            ("method", About::Said("GET, HEAD, POST, PUT, PATCH, DELETE", "GET", "The method.")),
            ("url", About::Said("address", "", "Needed: where it goes; `{{name}}` behind the host is an argument.")),
            HEADERS,
            ("body", About::Said("any value", "", "What is sent as JSON; `{{name}}` is an argument.")),
            ("response_path", About::Said("path", "", "The part of the answer that is the result, as `data.items`.")),
            OUTPUT,
        ],
        read: |name, table| declare_outside::http(name, table).map(Kind::Http),
    },
    KindRow {
        name: "mcp",
        meaning: "a tool of a server that speaks the model context protocol",
        keys: &[
            ("server", About::Said("name", "", "The section `[mcp.NAME]` of config.toml.")),
            ("tool", About::Said("text", "the tool's name", "What the server calls it.")),
            (
                "command",
                About::Said("list of texts", "", "The server's program and its arguments, in the place of a section."),
            ),
            FOLDER,
            ENV,
            ("url", About::Said("address", "", "The server's address, in the place of a section.")),
            HEADERS,
        ],
        read: |name, table| declare_outside::mcp(name, table).map(Kind::Mcp),
    },
];

/// Providers accept no longer names.
const NAME_MAX_CHARS: usize = 64;
/// What `file` says for the agent that has the tool.
pub const SELF: &str = "self";

/// What is wrong with a declaration: the key in its table (empty for the table itself) and the message.
pub type Wrong = (String, String);

const COMMON: &[ToolKey] = &[
    ("kind", About::Said("a kind", "", "Needed: who answers its calls.")),
    (
        "signature",
        About::Said("signature", "", "Parameters and result: arguments are converted and checked before the call."),
    ),
    ("description", About::Said("text", "", "What it does, for models.")),
    ("cache", About::Said("true or false", "false", "An equal call of the same run is answered from memory.")),
    ("expose", About::Said("native, ptc_lisp, both", "both", "Who may call it: models natively, programs, or both.")),
    ("timeout_ms", About::Limit(&TOOL_TIMEOUT)),
];

/// Everything that can be written into `[tools.NAME]`, for the reference: the common keys, then a table per kind.
pub fn reference() -> Vec<KeyTable> {
    let common = KeyTable::of("[tools.NAME]", COMMON.iter().copied());
    let kind =
        |row: &KindRow| KeyTable::of(format!("kind = \"{}\": {}", row.name, row.meaning), row.keys.iter().copied());
    [common].into_iter().chain(KINDS.iter().map(kind)).collect()
}

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
        let keys = || COMMON.iter().chain(row.map_or(&[][..], |row| row.keys)).map(|(name, _)| *name);
        for member in table.members().unwrap_or_default() {
            let key = member.key.as_str();
            if !keys().any(|known| known == key) {
                let known: Vec<&str> = keys().collect();
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
pub(super) fn limited(table: &Json, key: &str, limit: &Limit) -> Result<u64, Wrong> {
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

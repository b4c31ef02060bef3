//! Reads the table `[tools.NAME]` of an agent file as a tool.
//!
//! In: name and table. Out: the tool, or all errors with their keys.

use ptc_core::limits::{Limit, TOOL_OUTPUT, TOOL_TIMEOUT};
use ptc_core::signature::{self, Signature};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{AnswerShaper, Builtin, Expose, Kind, Returns, Table, Tool, answer_signature, declare_external};
use crate::config::document::{KeyDoc, KeyTable, advice, out_of_range};
use crate::model::{INPUT, custom_parameters};

/// A key with its documentation.
type ToolKey = (&'static str, KeyDoc);

/// A kind of tools.
struct KindRow {
    name: &'static str,
    /// Description of the kind.
    meaning: &'static str,
    /// Its keys in addition to the common ones.
    keys: &'static [ToolKey],
    /// Reads its settings from the table of the tool of this name.
    read: fn(&str, &Json) -> Result<Kind, Wrong>,
}

/// Output limit of a call.
const OUTPUT: ToolKey = ("output_max_bytes", KeyDoc::Limit(&TOOL_OUTPUT));
/// Working folder of a program.
const FOLDER: ToolKey = ("folder", KeyDoc::Text("folder", "", "Working folder; by default that of the workbench."));
/// Environment variables of a program.
const ENV: ToolKey = ("env", KeyDoc::Text("list of names", "", "Additional environment variables that it gets."));
/// Headers of requests.
const HEADERS: ToolKey = (
    "headers",
    KeyDoc::Text("table of strings", "", "Headers of every request; `${NAME}` is an environment variable."),
);

/// The kinds of tools.
const KINDS: &[KindRow] = &[
    KindRow {
        name: "table",
        meaning: "fixed answers: the first row that matches the arguments",
        keys: &[
            (
                "rows",
                KeyDoc::Text(
                    "list of tables",
                    "",
                    "Each with `result` or `error` (a string), and with `args`, the arguments it matches (without `args` all calls); JSON text where TOML is not sufficient.",
                ),
            ),
            ("default", KeyDoc::Text("any value", "", "The answer when no row matches; without it such a call fails.")),
            ("delay_ms", KeyDoc::Text("whole number", "0", "Duration of each call in ms.")),
        ],
        read: |name, table| Table::read(name, table).map(Kind::Table),
    },
    KindRow {
        name: "snippet",
        meaning: "a PTC-Lisp program",
        keys: &[("code", KeyDoc::Text("text", "", "Required: a program; the arguments are under `data/`."))],
        read: |name, table| {
            needed(name, table, ("snippet", "code"), "a PTC-Lisp program over `data/`").map(Kind::Snippet)
        },
    },
    KindRow {
        name: "agent",
        meaning: "another agent: a separate run, with its model",
        keys: &[
            (
                "file",
                KeyDoc::Text(
                    "file",
                    "",
                    "Its agent file, relative to the folder of this one; `\"self\"` is the agent itself.",
                ),
            ),
            ("agent", KeyDoc::Text("table", "", "Its definition, instead of `file`.")),
            (
                "returns",
                KeyDoc::Text(
                    "answer, delegate",
                    "answer",
                    "`delegate` takes a task as text and returns more than the answer (docs/modes.md).",
                ),
            ),
        ],
        read: agent,
    },
    KindRow {
        name: "llm",
        meaning: "one question to a model",
        keys: &[
            ("prompt", KeyDoc::Text("template", "", "Required: the prompt, with `{{name}}` for the arguments.")),
            ("model", KeyDoc::Text("a model", "that of the run", "The model; `caller` is the default.")),
            ("mode", KeyDoc::Text("a mode", "text", "Output mode of the answer.")),
            ("field_descriptions", KeyDoc::Text("table of strings", "", "Descriptions of the fields of the answer.")),
            ("tools", KeyDoc::Text("tables", "", "Tools that the model may call before it answers.")),
            ("max_turns", KeyDoc::Text("whole number", "1; 5 with tools", "Replies until there is an answer.")),
            (
                "json_signature",
                KeyDoc::Text("type", "", "Type of the model's answer, if the tool returns something else."),
            ),
            (
                "response_template",
                KeyDoc::Text(
                    "text",
                    "",
                    "A PTC-Lisp program with `{{name}}` for fields of the answer; its value is the result.",
                ),
            ),
            (
                "validator",
                KeyDoc::Text(
                    "text",
                    "",
                    "A PTC-Lisp expression over `result`: nil and false reject it, a string rejects it with this reason.",
                ),
            ),
        ],
        read: llm,
    },
    KindRow {
        name: "builtin",
        meaning: "a builtin tool: `grep`, `grep-n`, `ask_user`, `llm-query`",
        keys: &[("name", KeyDoc::Text("one of them", "the tool's name", "Name of the builtin tool."))],
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
                KeyDoc::Text("list of strings", "", "Required: the program and its arguments; no shell is used."),
            ),
            FOLDER,
            ENV,
            OUTPUT,
        ],
        read: |name, table| declare_external::command(name, table).map(Kind::Command),
    },
    KindRow {
        name: "http",
        meaning: "an HTTP request",
        keys: &[
            ("method", KeyDoc::Text("GET, HEAD, POST, PUT, PATCH, DELETE", "GET", "The method.")),
            ("url", KeyDoc::Text("address", "", "Required: the URL; `{{name}}` after the host is an argument.")),
            HEADERS,
            ("body", KeyDoc::Text("any value", "", "JSON body; `{{name}}` is an argument.")),
            (
                "response_path",
                KeyDoc::Text(
                    "path",
                    "",
                    "Path of the result in the response, such as `data.items` or `choices.0.message`.",
                ),
            ),
            OUTPUT,
        ],
        read: |name, table| declare_external::http(name, table).map(Kind::Http),
    },
    KindRow {
        name: "mcp",
        meaning: "a tool of an MCP server",
        keys: &[
            ("server", KeyDoc::Text("name", "", "The section `[mcp.NAME]` of config.toml.")),
            ("tool", KeyDoc::Text("text", "the tool's name", "Its name on the server.")),
            (
                "command",
                KeyDoc::Text("list of strings", "", "The server's program and its arguments, instead of a section."),
            ),
            FOLDER,
            ENV,
            ("url", KeyDoc::Text("address", "", "The server's URL, instead of a section.")),
            HEADERS,
        ],
        read: |name, table| declare_external::mcp(name, table).map(Kind::Mcp),
    },
];

/// Maximum length that providers accept.
const NAME_MAX_CHARS: usize = 64;
/// Value of `file` for the agent itself.
pub const SELF: &str = "self";

/// An error of a declaration: the key in its table (empty for the table itself) and the message.
pub type Wrong = (String, String);

const COMMON: &[ToolKey] = &[
    ("kind", KeyDoc::Text("a kind", "", "Required: the kind of tool.")),
    (
        "signature",
        KeyDoc::Text(
            "signature",
            "",
            "Parameters and result: arguments are converted and checked before the call. The type of the result is for those who call; results are not checked.",
        ),
    ),
    (
        "parameters",
        KeyDoc::Text(
            "JSON Schema",
            "that of the signature",
            "The schema of the arguments as models get it, sent unchanged: a table, or JSON text. Without a signature, arguments are passed on unchecked.",
        ),
    ),
    (
        "custom",
        KeyDoc::Text(
            "true or a table",
            "",
            "In chat completions and the Responses API a custom tool, whose argument is a text: `input` for the tool. A table has further members of its definition (`format`). Other protocols get a function.",
        ),
    ),
    ("description", KeyDoc::Text("text", "", "What it does, for models.")),
    ("cache", KeyDoc::Text("true or false", "false", "An equal call of the same run is answered from memory.")),
    ("expose", KeyDoc::Text("native, ptc_lisp, both", "both", "Who may call it: models natively, programs, or both.")),
    ("timeout_ms", KeyDoc::Limit(&TOOL_TIMEOUT)),
];

/// Returns the documentation of `[tools.NAME]`: the common keys, then a table per kind.
pub fn reference() -> Vec<KeyTable> {
    let common = KeyTable::of("[tools.NAME]", COMMON.iter().copied());
    let kind =
        |row: &KindRow| KeyTable::of(format!("kind = \"{}\": {}", row.name, row.meaning), row.keys.iter().copied());
    [common].into_iter().chain(KINDS.iter().map(kind)).collect()
}

impl Tool {
    /// Reads a declaration.
    pub fn from_table(name: &str, table: &Json) -> Result<Self, Vec<Wrong>> {
        let mut wrong: Vec<Wrong> = Vec::new();
        let text = |key: &str| table.get(key).and_then(Json::as_str).map(str::to_owned);
        let kinds: Vec<&str> = KINDS.iter().map(|row| row.name).collect();
        let Some(kind) = text("kind") else {
            return Err(vec![("kind".to_owned(), format!("the tool `{name}` needs a `kind`{}", advice("", &kinds)))]);
        };
        if !is_name(name) {
            let message = format!(
                "`{name}` is not a valid tool name; use up to {NAME_MAX_CHARS} letters, digits, `_` and `-`, a letter first"
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
            // Which keys belong to an unknown kind is unknown.
            if row.is_some() && !keys().any(|known| known == key) {
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
        let mut made = made.map_err(&mut note).ok();
        if let (Some(Kind::Table(table)), Some(params)) =
            (&mut made, parsed.as_ref().and_then(|parsed| parsed.params.as_ref()))
        {
            table.convert_args(params);
        }
        let parameters = parameters(name, table).map_err(&mut note).unwrap_or_default();
        let custom = custom(name, table, parsed.as_ref(), parameters.as_ref()).map_err(&mut note).unwrap_or_default();
        let only_text = || custom.is_some() && parsed.is_none();
        let parameters = parameters.or_else(|| only_text().then(custom_parameters));
        let expose = named(name, table, "expose", &EXPOSES).map_err(&mut note).unwrap_or_default();
        let returns = named(name, table, "returns", &RETURNS).map_err(&mut note).unwrap_or_default();
        let timeout_ms = table.get("timeout_ms").map(|_| limited(table, "timeout_ms", &TOOL_TIMEOUT)).transpose();
        let timeout_ms = timeout_ms.map_err(&mut note).unwrap_or_default();
        match made {
            Some(kind) if wrong.is_empty() => Ok(Self {
                name: name.to_owned(),
                signature_text,
                signature: parsed,
                parameters,
                custom,
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

    /// The parts of the declaration that do not fit the signature, with their keys. None of it is an error: a session that was recorded
    /// with it is still replayed, and a redacted one has other texts.
    pub(crate) fn misfits(&self) -> Vec<(&'static str, String)> {
        let Some(signature) = &self.signature else { return Vec::new() };
        match (&self.kind, &signature.params) {
            (Kind::Table(table), _) => table.misfits(signature).collect(),
            (Kind::Http(http), Some(params)) => declare_external::misfits_of_http(http, params).collect(),
            (Kind::Command(command), Some(params)) => {
                let instead = "the program gets the arguments as JSON on stdin";
                declare_external::unfilled(params, "command", &command.program.argv, instead).into_iter().collect()
            }
            _ => Vec::new(),
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

/// Returns the value that the word of a key names; `None` without the key.
fn named<T: Copy>(tool: &str, table: &Json, key: &str, known: &[(&str, T)]) -> Result<Option<T>, Wrong> {
    let Some(word) = table.get(key).and_then(Json::as_str) else { return Ok(None) };
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, thing)| Some(*thing));
    found.ok_or_else(|| {
        let near = advice(word, &known.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        (key.to_owned(), format!("unknown `{key}` of the tool `{tool}`: `{word}`{near}"))
    })
}

/// Reads a number within a limit; without the key, the default of the limit.
pub(super) fn limited(table: &Json, key: &str, limit: &Limit) -> Result<u64, Wrong> {
    let Some(json) = table.get(key) else { return Ok(limit.default.unwrap_or(limit.max)) };
    let number = match json.node {
        Node::Int(int) => u64::try_from(int).ok().filter(|number| (limit.min..=limit.max).contains(number)),
        _ => None,
    };
    number.ok_or_else(|| (key.to_owned(), out_of_range(key, limit, json.to_text())))
}

/// Reads the schema of the arguments; JSON text where TOML is not sufficient.
fn parameters(name: &str, table: &Json) -> Result<Option<Json>, Wrong> {
    let Some(written) = table.get("parameters") else { return Ok(None) };
    let parsed = written.as_str().map_or_else(|| Some(written.clone()), |text| json::parse(text).ok());
    parsed.filter(|schema| schema.members().is_some()).map(Some).ok_or_else(|| {
        let message =
            format!("the tool `{name}`: `parameters` must be a JSON Schema: a table, or a JSON object as text");
        ("parameters".to_owned(), message)
    })
}

/// Reads the members of a custom tool. Errors: it has other parameters than its text.
fn custom(
    name: &str,
    table: &Json,
    signature: Option<&Signature>,
    parameters: Option<&Json>,
) -> Result<Option<Json>, Wrong> {
    let members = match table.get("custom").map(|written| (written, &written.node)) {
        None | Some((_, Node::Bool(false))) => return Ok(None),
        Some((_, Node::Bool(true))) => Json::empty(),
        Some((members, Node::Object(_))) => members.clone(),
        Some(_) => {
            let message = format!("the tool `{name}`: `custom` must be true, or a table with `format`");
            return Err(("custom".to_owned(), message));
        }
    };
    if let Some(own) = ["name", "description", "type"].into_iter().find(|key| members.get(key).is_some()) {
        let message =
            format!("the tool `{name}`: `custom` has no `{own}`, which the tool itself sets; write `format` there");
        return Err(("custom".to_owned(), message));
    }
    let declared = signature.and_then(|signature| signature.params.as_ref());
    let declared = declared.map(|params| params.iter().map(|field| field.name.as_str()).collect::<Vec<_>>());
    let written = parameters.and_then(|schema| schema.get("properties")?.members());
    let written = written.map(|members| members.iter().map(|member| member.key.as_str()).collect::<Vec<_>>());
    if declared.or(written).is_some_and(|names| names != [INPUT]) {
        let message = format!("the tool `{name}` is a custom tool: its only parameter is `{INPUT}`, the text");
        return Err(("custom".to_owned(), message));
    }
    Ok(Some(members))
}

/// Reads a required text.
fn needed(name: &str, table: &Json, (kind, key): (&str, &str), what: &str) -> Result<String, Wrong> {
    let text = table.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| (key.to_owned(), format!("the tool `{name}` of kind `{kind}` needs `{key}`: {what}")))
}

fn agent(name: &str, table: &Json) -> Result<Kind, Wrong> {
    match table.get("agent") {
        Some(agent) if agent.members().is_some() => Ok(Kind::Agent(agent.clone())),
        // A definition nested too deeply for TOML is stored as JSON text.
        Some(Json { node: Node::Str(text), .. }) if json::parse(text).is_ok_and(|json| json.members().is_some()) => {
            Ok(Kind::Agent(json::parse(text).unwrap_or_default()))
        }
        None if table.get("file").and_then(Json::as_str) == Some(SELF) => Ok(Kind::SelfAgent),
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
    AnswerShaper::read(text("response_template"), text("validator"))
        .map_err(|(key, message)| (key.to_owned(), of_tool(message)))?;
    answer_signature(None, text("json_signature"))
        .map_err(|message| ("json_signature".to_owned(), of_tool(message)))?;
    Ok(Kind::Llm(table.clone()))
}

fn builtin(name: &str, table: &Json) -> Result<Kind, Wrong> {
    let known = table.get("name").and_then(Json::as_str).unwrap_or(name);
    Builtin::from_name(known).map(Kind::Builtin).ok_or_else(|| {
        let near = advice(known, &Builtin::ALL.map(Builtin::name));
        ("name".to_owned(), format!("unknown builtin tool `{known}`{near}"))
    })
}

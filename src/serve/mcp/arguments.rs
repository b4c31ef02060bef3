//! The arguments of the tools, with their schemas.
//!
//! In: JSON of a client. Out: checked values; unknown members are refused. Every text is from a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_core::value::Json;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Arguments in the form that tools read; it holds numbers of 64 bits.
    members: Value,
    /// An object with every digit of its numbers.
    exact: Arc<Json>,
}

impl Arguments {
    /// Both forms of the same arguments; `members` without those that are not the tool's own.
    pub(super) fn new(members: Map<String, Value>, exact: Arc<Json>) -> Self {
        Self { members: Value::Object(members), exact }
    }

    /// The argument of this name with every digit of its numbers; null where it is missing.
    pub(super) fn exact(&self, name: &str) -> Json {
        self.exact.get(name).cloned().unwrap_or_default()
    }
}

/// Tools without arguments of their own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// An agent by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentArguments {
    /// Agent file in the folder of the server, or an example
    pub(super) agent: String,
}

/// An agent, by name or as text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckArguments {
    /// Agent file in the folder of the server, or an example
    pub(super) agent: Option<String>,
    /// The text of an agent file, instead of a file
    pub(super) toml: Option<String>,
}

/// An agent with a context.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    /// Agent file in the folder of the server, or an example
    pub(super) agent: String,
    /// Inputs by name; the agent's own without it
    pub(super) context: Option<Map<String, Value>>,
    /// Model instead of the agent's own
    pub(super) model: Option<String>,
}

/// A part of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArguments {
    /// Maximum number of sessions, the newest first; default 20
    pub(super) limit: Option<usize>,
}

/// A search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryArguments {
    /// Words and filters: status:error, agent:NAME, mode:NAME, tool:NAME failed, reason:NAME, since:7d, cost>0.01; quote text with a colon
    #[serde(default)]
    pub(super) query: String,
}

/// A session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionArguments {
    /// Id, unique beginning or end of an id, or `last`
    pub(super) session: String,
}

/// A turn of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnArguments {
    /// Id, unique beginning or end of an id, or `last`
    pub(super) session: String,
    /// Address of the turn: r0/t2
    pub(super) turn: String,
    /// Parts of the turn; default: reply, check, program, calls
    #[serde(default)]
    pub(super) parts: Vec<TurnPart>,
}

/// A part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnPart {
    /// The request, message by message
    Request,
    /// The reply, attempt by attempt
    Reply,
    /// The value found in the reply, and how it was checked
    Check,
    /// The program and how it ended
    Program,
    /// The tool calls
    Calls,
    /// The definitions after the turn
    Memory,
    /// The body sent and the bytes received, with times
    Wire,
}

/// Sessions to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareArguments {
    /// Two sessions or more; a name may end in :ADDRESS of a run
    pub(super) sessions: Vec<String>,
}

/// A fork.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkArguments {
    /// Id, unique beginning or end of an id, or `last`
    pub(super) session: String,
    /// Point of the fork: a turn (r0/t2, with the stage :request, :reply or :after) or a tool call (r0/t2/c0)
    pub(super) at: String,
    /// Changes there: prompt, signature, context, context.NAME, reply, program, result (of the call), memory.NAME (an expression),
    /// option.KEY
    #[serde(default)]
    pub(super) changes: BTreeMap<String, Value>,
    /// Model for the following turns
    pub(super) model: Option<String>,
}

/// An answer for a run that waits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeArguments {
    /// Id, unique beginning or end of an id, or `last`
    pub(super) session: String,
    /// Answers in the order of the questions
    #[serde(default)]
    pub(super) answers: Vec<String>,
}

/// Cases of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CasesArguments {
    /// Agent file in the folder of the server, or an example
    pub(super) agent: String,
    /// Model of all runs
    pub(super) model: Option<String>,
    /// Runs of each case; default 1
    pub(super) trials: Option<u32>,
}

/// A matrix.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MatrixArguments {
    /// Agent files in the folder of the server, or examples
    pub(super) agents: Vec<String>,
    /// Modes: `ptc_lisp`, `json`, `text`, `json_loop`; default: each agent's own
    #[serde(default)]
    pub(super) modes: Vec<String>,
    /// Models; default: each agent's own
    #[serde(default)]
    pub(super) models: Vec<String>,
    /// Runs of each case; default 1
    pub(super) trials: Option<u32>,
}

/// A matrix that has run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MatrixNameArguments {
    /// Id of the matrix; the newest without it
    pub(super) matrix: Option<String>,
}

/// A program.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LispArguments {
    /// PTC-Lisp, a safe Clojure subset; the data is read as data/NAME
    pub(super) program: String,
    /// Data by name
    #[serde(default)]
    pub(super) data: Map<String, Value>,
}

/// Reads the arguments of a tool.
pub(super) fn read<T: DeserializeOwned>(arguments: &Arguments) -> Result<T, String> {
    T::deserialize(&arguments.members).map_err(|error| format!("the arguments do not fit: {error}"))
}

/// The schema of the arguments, those of a page included.
pub(super) fn schema<T: JsonSchema>() -> Map<String, Value> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let mut object = match schema.to_value() {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.remove("$schema");
    object.remove("title");
    object.remove("description");
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let page = [
        ("offset", "First character of the result to return, for long results"),
        ("max_chars", "Maximum characters of the result; default 12000"),
    ];
    for (name, description) in page {
        properties[name] = json!({ "type": "integer", "minimum": 0, "description": description });
    }
    object
}

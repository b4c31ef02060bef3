//! The table of tools: name, description, arguments, and what they do.

use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

use super::arguments::{
    AgentArguments, Arguments, CasesArguments, CheckArguments, CompareArguments, ForkArguments, LispArguments,
    ListArguments, MatrixArguments, MatrixNameArguments, NoArguments, QueryArguments, ResumeArguments, RunArguments,
    SessionArguments, TurnArguments, schema,
};
use super::{Answer, WorkbenchServer, agents, sessions, trials};

/// Starts runs and waits for them.
type Wait = for<'a> fn(
    &'a WorkbenchServer,
    &'a Arguments,
    &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>>;

/// Function of a tool.
#[derive(Clone, Copy)]
pub(super) enum Call {
    /// Reads files and computes.
    Read(fn(&WorkbenchServer, &Arguments) -> Result<String, String>),
    /// Waits for runs.
    Wait(Wait),
}

/// A tool.
pub(super) struct ToolRow {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// It changes nothing and reaches nothing outside.
    pub(super) is_read_only: bool,
    pub(super) schema: fn() -> Map<String, Value>,
    pub(super) call: Call,
}

const fn reading(
    name: &'static str,
    description: &'static str,
    schema: fn() -> Map<String, Value>,
    call: Call,
) -> ToolRow {
    ToolRow { name, description, is_read_only: true, schema, call }
}

const fn running(
    name: &'static str,
    description: &'static str,
    schema: fn() -> Map<String, Value>,
    call: Call,
) -> ToolRow {
    ToolRow { name, description, is_read_only: false, schema, call }
}

/// The tool that answers the questions of runs: those of served agents also without `--allow-runs`.
pub(super) const RESUME: &str = "session_resume";

/// Every tool of the server; those that start runs need `--allow-runs`.
pub(super) const TOOLS: &[ToolRow] = &[
    reading(
        "agents_list",
        "List the agents: files in the server's folder, also those with errors, and examples",
        schema::<NoArguments>,
        Call::Read(agents::list),
    ),
    reading(
        "agent_read",
        "Read the text of an agent file, also of one with errors",
        schema::<AgentArguments>,
        Call::Read(agents::read_text),
    ),
    reading(
        "agent_check",
        "Check an agent file or the text of one: errors and warnings with their places",
        schema::<CheckArguments>,
        Call::Read(agents::check),
    ),
    reading(
        "agent_preview",
        "Show the first request that a run of an agent would send, without sending it",
        schema::<RunArguments>,
        Call::Read(agents::preview),
    ),
    reading(
        "sessions_list",
        "List the recorded runs, the newest first: id, agent, mode, model, turns, tokens, outcome",
        schema::<ListArguments>,
        Call::Read(sessions::list),
    ),
    reading(
        "sessions_search",
        "Find sessions by words and filters; each hit with its place",
        schema::<QueryArguments>,
        Call::Read(sessions::search),
    ),
    reading(
        "failures_list",
        "Group what failed in sessions by reason, tool and field, with the newest place of each",
        schema::<QueryArguments>,
        Call::Read(sessions::failures),
    ),
    reading(
        "session_show",
        "Show a session: a line for each turn with its tools, first error, tokens and time, and the outcome",
        schema::<SessionArguments>,
        Call::Read(sessions::show),
    ),
    reading(
        "turn_show",
        "Show parts of a turn: request, reply, check, program, calls, memory, wire",
        schema::<TurnArguments>,
        Call::Read(sessions::show_turn),
    ),
    reading(
        "sessions_compare",
        "Compare sessions: totals, turns, and the first differences",
        schema::<CompareArguments>,
        Call::Read(sessions::compare),
    ),
    reading(
        "session_replay",
        "Verify a session and replay it without a model: what differs",
        schema::<SessionArguments>,
        Call::Wait(sessions::replay),
    ),
    reading(
        "models_list",
        "List the models and whether they can be used",
        schema::<NoArguments>,
        Call::Read(agents::models),
    ),
    reading(
        "matrix_show",
        "Show the results of a matrix: pass rates with intervals by case, mode and model",
        schema::<MatrixNameArguments>,
        Call::Read(trials::show),
    ),
    reading(
        "lisp_run",
        "Run a PTC-Lisp program over data in a sandbox: no files, no network, limits of time and memory",
        schema::<LispArguments>,
        Call::Read(agents::lisp),
    ),
    running("agent_run", "Run an agent; its session is recorded", schema::<RunArguments>, Call::Wait(agents::run)),
    running(
        "session_fork",
        "Continue a recorded run from a point with changes, as a new session",
        schema::<ForkArguments>,
        Call::Wait(sessions::fork),
    ),
    running(
        RESUME,
        "Answer the questions of a run that waits, or resume an interrupted one",
        schema::<ResumeArguments>,
        Call::Wait(sessions::resume),
    ),
    running(
        "cases_run",
        "Run the cases of an agent and report which pass",
        schema::<CasesArguments>,
        Call::Wait(trials::run_cases),
    ),
    running(
        "matrix_run",
        "Run the cases of agents, also in several modes and with several models",
        schema::<MatrixArguments>,
        Call::Wait(trials::run_matrix),
    ),
];

//! The arguments of `replay`, `fork` and `rerun`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Flags of `replay`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct ReplayFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Print only the outcome, no turns
    #[arg(long)]
    pub check: bool,
    /// Continue with the recorded data after a difference, list all differences, and exit with code 0
    #[arg(long)]
    pub lenient: bool,
    /// Exclude a layer or a path of it from the comparison: `request`, `request:options.seed`, `:issues.*.message`
    #[arg(long, value_name = "LAYER[:PATH]")]
    pub ignore: Vec<String>,
    /// Write a new session with the recorded inputs and the newly computed events
    #[arg(long, conflicts_with_all = ["lenient", "ignore"])]
    pub accept: bool,
    /// If the recording has no answer: fail (default), or ask a live model (model, model:NAME) or the user (human); these two imply
    /// --accept
    #[arg(long, value_name = "model[:NAME]|human|fail", conflicts_with_all = ["lenient", "ignore"])]
    pub missing: Option<String>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `fork`.
#[derive(Debug, Args)]
pub struct ForkFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Point of the fork: a turn (`r0/t2`, with the stage :request, :reply or :after), a tool call (`r0/t2/c0`) or a question (`r0/t2/q0`)
    #[arg(long, value_name = "ADDRESS[:STAGE]", value_parser = NonEmptyStringValueParser::new())]
    pub at: String,
    /// Another prompt from this turn on
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// Another signature from this turn on
    #[arg(long, value_name = "SIGNATURE", allow_hyphen_values = true)]
    pub signature: Option<String>,
    /// Another value of a key of the agent file: `max_turns=5`, `model_options.temperature=0.2`
    #[arg(long = "option", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
    /// Another context as JSON, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Another context value, converted to the type of its parameter; K=@FILE reads the text of a file
    #[arg(long = "set", value_name = "K=V")]
    pub set: Vec<String>,
    /// Another value of a definition: a PTC-Lisp expression
    #[arg(long = "memory", value_name = "NAME=EXPR")]
    pub memory: Vec<String>,
    /// Reply of this turn; a line `/call NAME {json}` calls a tool
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    pub reply: Option<String>,
    /// Reply of this turn with native tool calls: `{"text": "…", "calls": [{"name": "…", "args": {…}}]}`
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "reply")]
    pub reply_json: Option<String>,
    /// Program in the reply of this turn; the rest of the reply is kept
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true, conflicts_with_all = ["reply", "reply_json"])]
    pub program: Option<String>,
    /// Result of this call
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    pub result: Option<String>,
    /// Omit a part of this turn's request, here and in the following turns; PART is its title in the list of parts (`task`); equal titles
    /// are numbered in the order of the request (`feedback 1`)
    #[arg(long, value_name = "PART", conflicts_with_all = ["reply", "reply_json", "program", "result"])]
    pub drop: Option<String>,
    /// Another model for the following turns
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print only the Step as JSON to stdout
    #[arg(long)]
    pub json: bool,
}

/// Flags of `rerun`.
#[derive(Debug, Args)]
pub struct RerunFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Start point: a run (`r1`) or a turn (`r0/t2`); default: the beginning
    #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
    pub from: Option<String>,
    /// Another model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Another mode
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Another version of the agent: a file, or the name of an example
    #[arg(long, value_name = "AGENT.toml", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
    /// Number of consecutive runs, whose results are compared
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub times: u32,
    /// Print only the Step (of several runs, a comparison) as JSON to stdout
    #[arg(long)]
    pub json: bool,
}

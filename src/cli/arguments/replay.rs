//! The arguments of `replay`, `fork` and `rerun`.

use clap::Args;

/// Flags of `replay`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct ReplayFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// Only the outcome, no turns
    #[arg(long)]
    pub check: bool,
    /// Go on at differences with what is recorded, list all of them, and exit with 0
    #[arg(long)]
    pub lenient: bool,
    /// Leave a layer, or a path of it, out of the comparison: `request`, `request:options.seed`, `:issues.*.message`
    #[arg(long, value_name = "LAYER[:PATH]")]
    pub ignore: Vec<String>,
    /// Write a new session: what came from outside as recorded, everything else as it comes out today
    #[arg(long, conflicts_with_all = ["lenient", "ignore"])]
    pub accept: bool,
    /// Where the recording has no answer: fail (usual), or as --accept a live model (model, model:NAME) or a person (human) is asked
    #[arg(long, value_name = "model[:NAME]|human|fail", conflicts_with_all = ["lenient", "ignore"])]
    pub missing: Option<String>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `fork`.
#[derive(Debug, Args)]
pub struct ForkFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// Where: a turn (`r0/t2`, with the stage :request, :reply or :after), a tool call (`r0/t2/c0`) or a question to a person (`r0/t2/q0`)
    #[arg(long, value_name = "ADDRESS[:STAGE]")]
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
    /// Another context: JSON, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Another value of the context in the type of its parameter; K=@FILE takes the file's text
    #[arg(long = "set", value_name = "K=V")]
    pub set: Vec<String>,
    /// Another definition of a program: an expression of PTC-Lisp
    #[arg(long = "memory", value_name = "NAME=EXPR")]
    pub memory: Vec<String>,
    /// The reply of this turn; where tools are offered, a line `/call NAME {json}` calls one
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    pub reply: Option<String>,
    /// The reply of this turn with native tool calls: `{"text": "…", "calls": [{"name": "…", "args": {…}}]}`
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "reply")]
    pub reply_json: Option<String>,
    /// The program in the reply of this turn; the rest of the reply stays
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true, conflicts_with_all = ["reply", "reply_json"])]
    pub program: Option<String>,
    /// The result of this call
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    pub result: Option<String>,
    /// Another model for what follows
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print the Step as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// Flags of `rerun`.
#[derive(Debug, Args)]
pub struct RerunFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// From where: a run (`r1`) or a turn (`r0/t2`); without it from the start
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,
    /// Another model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Another mode
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Another version of the agent: a file, or the name of an example
    #[arg(long, value_name = "AGENT.toml")]
    pub agent: Option<String>,
    /// So many times, one after the other, to see whether the runs are the same and where they part
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub times: u32,
    /// Print the Step, of several runs what they have in common, as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

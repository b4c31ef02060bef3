//! The arguments of the program.

mod compare;
pub(super) mod lisp;
mod optimize;
mod proxy;
mod refused;
mod replay;
mod results;
mod serve;
mod sessions;
mod test;
mod tools;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use lisp::LispCommand;

use crate::port::{Breakpoint, Gate};

pub(super) use compare::{CompareFlags, MatrixFlags};
pub(super) use optimize::{OptimizeAction, OptimizeFlags, SuggestFlags};
pub(super) use proxy::ProxyFlags;
pub use refused::meant_command;
pub(super) use replay::{ForkFlags, ReplayFlags, RerunFlags};
pub(super) use results::{MergeFlags, ResultFlags};
pub(super) use serve::{McpFlags, ServeFlags};
pub(super) use sessions::{CapturedAgentFlags, CaseFlags, ExampleFlags};
pub(super) use sessions::{
    DeleteFlags, FailuresFlags, LabelFlags, MarkFlags, NoteFlags, RecoverFlags, SearchFlags, TagFlags, VerifyFlags,
};
pub(super) use sessions::{ExportFlags, ImportFlags};
pub(super) use test::{JudgeFlags, TestFlags};
pub(super) use tools::{DoctorFlags, InspectFlags};
pub(super) use tools::{LoginFlags, PromptsFlags, ResourcesFlags, ServerFlags, ToolsAction, ToolsFlags};
pub(super) use tools::{ModelCheckFlags, ModelsAction, ModelsFlags};

/// Heading of the options that every command takes.
const EVERY_COMMAND: &str = "Options of every command";

/// A terminal workbench for LLM agents: write a prompt and a typed signature, watch every turn, replay it without a model.
#[derive(Debug, Parser)]
#[command(name = "ptc-workbench", version)]
pub struct Arguments {
    /// An agent file, a pipeline file, or a session (path, id, unique beginning or end of an id, or `last`), to open in the workbench
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub open: Option<String>,
    /// Configuration file
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of the sessions
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000, value_name = "DIR")]
    pub sessions: Option<PathBuf>,
    /// Fallback folder if the sessions folder cannot be written, for example on a full disk; default: a per-user folder in the runtime or
    /// cache folder
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000, value_name = "DIR")]
    pub spare_sessions: Option<PathBuf>,
    /// Allow all tools that start a process or use the network, without asking
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000)]
    pub allow_tools: bool,
    /// Allow agent files and pipelines to name files in this folder (repeatable); without it only files in their own folder are read
    /// without asking
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000, value_name = "DIR")]
    pub allow_files: Vec<PathBuf>,
    /// Linear output: text instead of symbols, no screen drawing
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000)]
    pub plain: bool,
    /// No colours
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000)]
    pub no_color: bool,
    /// Write a log to this file
    #[arg(long, global = true, help_heading = EVERY_COMMAND, display_order = 1_000, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Command; without one the workbench opens
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Arguments {
    /// The arguments of this process. Ends it with a message (exit code 2) when they cannot be read, or with the help.
    pub fn from_process() -> Self {
        Self::try_parse_from(sessions::with_turned(std::env::args_os().collect())).unwrap_or_else(|error| {
            let words: Vec<String> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            std::process::exit(i32::from(refused::refused(&error, &words)))
        })
    }
}

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create an agent file, empty or from an example; in a terminal, open it in the workbench
    New(NewFlags),
    /// Run an agent once; print turns to stderr as they happen and the answer to stdout
    Run(RunFlags),
    /// Resume a run that is suspended or was interrupted; new events are appended to its file
    Resume(ResumeFlags),
    /// Send a new message to a finished run; a new session starts with its messages and definitions
    Continue(ContinueFlags),
    /// Run the program of a turn on other inputs, without a model
    Exec(ExecFlags),
    /// Replay a session without a model; report the first difference and exit with code 3
    Replay(ReplayFlags),
    /// Fork a session: copy it up to a point into a new session, apply edits, continue live
    Fork(ForkFlags),
    /// Run a session again live on the same inputs, optionally with another model, mode or agent; creates a new session
    Rerun(RerunFlags),
    /// Compare sessions; or run the cases of agents in several modes with several models
    Compare(CompareFlags),
    /// Run the cases of agents; exit with code 1 if one fails
    Test(TestFlags),
    /// Judge the labelled runs of an agent by its rubrics; print how well judges and labels agree
    Judge(JudgeFlags),
    /// Search for better texts of an agent, measured on its cases; list and apply the results
    Optimize(OptimizeFlags),
    /// Suggest a fix for a failing turn: other texts of the agent, as a diff
    Suggest(SuggestFlags),
    /// Merge the results of several machines into one matrix
    Merge(MergeFlags),
    /// List, search, annotate and export sessions, or create cases from them
    Sessions {
        /// Command of `sessions`
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// Check a signature, print its schema, or generate data for it
    Signature {
        /// Command of `signature`
        #[command(subcommand)]
        command: SignatureCommand,
    },
    /// Run and measure PTC-Lisp programs, start a REPL, or look up functions
    Lisp {
        /// Command of `lisp`
        #[command(subcommand)]
        command: LispCommand,
    },
    /// Print the first request of a run as JSON, without sending it
    Prompt(PromptFlags),
    /// List the available models
    Models(ModelsFlags),
    /// List the tools of an agent and their schemas as sent to providers
    Tools(ToolsFlags),
    /// Report everything that a file would read, start, contact and send, and suspicious content, without doing any of it; exit with code 1
    /// if something needs consent
    Inspect(InspectFlags),
    /// Serve agents over HTTP: runs with their Steps or events, and an OpenAI-compatible API whose models are the agents
    Serve(ServeFlags),
    /// Record the traffic between other programs and model services as sessions, or answer it from recordings
    Proxy(ProxyFlags),
    /// Serve agents, sessions and PTC-Lisp to MCP clients on stdin and stdout; reads only, unless --allow-runs is given
    Mcp(McpFlags),
    /// Check the terminal, configuration, keys and servers on this machine
    Doctor(DoctorFlags),
    /// Render a screen to an SVG file
    Screenshot(ScreenshotFlags),
}

/// Flags of `new`.
#[derive(Debug, Args)]
pub struct NewFlags {
    /// Name of the agent: its file is NAME.toml, which must not exist
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
    /// Mode: `ptc_lisp`, `json`, `text`, `json_loop`
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Example agent to copy
    #[arg(long, value_name = "EXAMPLE", value_parser = NonEmptyStringValueParser::new())]
    pub from: Option<String>,
}

/// Source of the agent: a file, an example or a prompt.
#[derive(Debug, Args)]
pub struct AgentFlags {
    /// Agent file, or the name of an example agent
    #[arg(value_name = "AGENT.toml", required_unless_present = "prompt", conflicts_with = "prompt", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
    /// Prompt, or @FILE to read it from, instead of an agent file; without --signature and --mode the answer is text
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// Signature, with --prompt
    #[arg(long, value_name = "SIGNATURE", requires = "prompt", conflicts_with = "agent", allow_hyphen_values = true)]
    pub signature: Option<String>,
    /// Mode: `ptc_lisp`, `json`, `text`, `json_loop`
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Model: an alias, provider:model, demo, sample[:fault,seed=N,every], human, recorded:SESSION
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Context as JSON, or @FILE (a file written by `run --json` counts as the previous step)
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// One context value, converted to the type of its parameter; K=@FILE reads the text of a file
    #[arg(long = "set", value_name = "K=V")]
    pub set: Vec<String>,
    /// Ask the provider to cache the prompt
    #[arg(long)]
    pub cache: bool,
}

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Print only the Step as JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Do not save a session
    #[arg(long)]
    pub no_save: bool,
    /// Journal file of finished tasks: tasks in it are skipped, and newly finished tasks are added when the run ends
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Pause before each request is sent, each reply is applied or each tool result is passed on, to inspect and edit it
    #[arg(long, value_name = "send|apply|result", value_enum)]
    pub intercept: Vec<GateFlag>,
    /// Pause before a tool is called, after a program defines a name, or after a program error
    #[arg(long, value_name = "tool:NAME|def:NAME|error", value_delimiter = ',')]
    pub stop: Vec<Breakpoint>,
}

/// Gate at which a run is intercepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GateFlag {
    /// Before a request is sent
    Send,
    /// Before a reply is applied
    Apply,
    /// Before a tool result is passed on
    Result,
}

impl From<GateFlag> for Gate {
    fn from(flag: GateFlag) -> Self {
        match flag {
            GateFlag::Send => Self::Send,
            GateFlag::Apply => Self::Apply,
            GateFlag::Result => Self::Result,
        }
    }
}

/// Flags of `resume`.
#[derive(Debug, Args)]
pub struct ResumeFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Answer to the pending question; ADDRESS=TEXT names the question (quote a TEXT of this form as JSON)
    #[arg(long, value_name = "[ADDRESS=]ANSWER", allow_hyphen_values = true)]
    pub answer: Vec<String>,
    /// Another model for the following turns
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print only the Step as JSON to stdout
    #[arg(long)]
    pub json: bool,
}

/// Flags of `continue`.
#[derive(Debug, Args)]
pub struct ContinueFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// The message
    #[arg(allow_hyphen_values = true)]
    pub message: String,
    /// Another model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print only the Step as JSON to stdout
    #[arg(long)]
    pub json: bool,
}

/// Flags of `exec`.
#[derive(Debug, Args)]
pub struct ExecFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Address of the turn, such as r0/t2
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub address: String,
    /// Other inputs as JSON, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Write the pinned agent to this new file instead of running it
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print only the Step as JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Do not save a session
    #[arg(long)]
    pub no_save: bool,
}

/// Flags of `prompt`.
#[derive(Debug, Args)]
pub struct PromptFlags {
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Print the difference to the request of this mode instead of JSON
    #[arg(long, value_name = "MODE")]
    pub against: Option<String>,
}

/// Commands of `sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first, then the examples
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the tree of sessions: forks, re-runs, continued conversations
    Tree {
        /// Only the tree of this one: path, id, unique beginning or end of an id, or `last`
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        session: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every turn of a session
    Show {
        /// Path, id, unique beginning or end of an id, or `last`
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        session: String,
        /// Print its Steps as JSON
        #[arg(long)]
        json: bool,
        /// Print the exact body that a turn sent, rebuilt and checked against its hash: r0/t2, or r0/t2:1 for attempt 1
        #[arg(long, value_name = "TURN[:ATTEMPT]", conflicts_with = "json")]
        body: Option<String>,
    },
    /// Add a case to the agent file: the inputs and the answer of a session
    Case(CaseFlags),
    /// Append the inputs and the reply of a turn to the agent's prompt as an example
    Example(ExampleFlags),
    /// Make an agent from a captured request: its texts, tools, schema, options and model
    Agent(CapturedAgentFlags),
    /// Search sessions by words and filters; `sessions search --help` lists the filters
    Search(SearchFlags),
    /// List failures in the sessions, grouped by reason and position
    Failures(FailuresFlags),
    /// Add or remove tags of a session, run or turn; without tags, print its tags, note and mark
    Tag(TagFlags),
    /// Write a note on a session, run or turn
    Note(NoteFlags),
    /// Mark a session, run or turn
    Mark(MarkFlags),
    /// Label a session, run or turn: pass, fail or a score
    Label(LabelFlags),
    /// Check that a session is complete, consistent and replayable; exit with code 3 if not
    Verify(VerifyFlags),
    /// Copy the readable part of a damaged session into a new one; the damaged file is not changed
    Recover(RecoverFlags),
    /// Delete sessions; asks first
    Delete(DeleteFlags),
    /// Export a session as a document, as data for other tools, or as a terminal recording
    Export(ExportFlags),
    /// Convert traces, spans, trajectories, transcripts and HTTP archives of other programs into read-only sessions
    Import(ImportFlags),
}

/// Commands of `signature`.
#[derive(Debug, Subcommand)]
pub enum SignatureCommand {
    /// Check a signature and print it in canonical form
    Check {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
    },
    /// Print the JSON Schema of its answers
    Schema {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
    },
    /// Generate data: `{inputs, output}`
    Sample {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
        /// Seed of the data
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
}

/// Flags of `screenshot`.
#[derive(Debug, Args)]
pub struct ScreenshotFlags {
    /// Name of the screen
    pub screen: String,
    /// SVG file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Columns and rows
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40")]
    pub size: String,
}

//! The arguments of the program.

mod case;
mod compare;
mod doctor;
mod export;
mod models;
mod refused;
mod replay;
mod sessions;
mod test;
mod tools;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::lisp::LispCommand;
use crate::port::Gate;

pub(super) use case::CaseFlags;
pub(super) use compare::{CompareFlags, MatrixFlags};
pub(super) use doctor::DoctorFlags;
pub(super) use export::{ExportFlags, ImportFlags};
pub(super) use models::ModelsFlags;
pub use refused::meant_command;
pub(super) use replay::{ForkFlags, ReplayFlags, RerunFlags};
pub(super) use sessions::{FailuresFlags, MarkFlags, NoteFlags, RecoverFlags, SearchFlags, TagFlags};
pub(super) use test::TestFlags;
pub(super) use tools::ToolsFlags;

/// A terminal workbench for LLM agents: write a prompt and a typed signature, watch every turn, replay it without a model.
#[derive(Debug, Parser)]
#[command(name = "ptc-workbench", version)]
pub struct Arguments {
    /// An agent file, a pipeline file, or a session (path, id, unique beginning of an id, or `last`), to open in the workbench
    pub open: Option<String>,
    /// Configuration file
    #[arg(long, global = true, display_order = 1_000, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of the sessions
    #[arg(long, global = true, display_order = 1_000, value_name = "DIR")]
    pub sessions: Option<PathBuf>,
    /// Folder that takes a session when its own can no longer be written (a full disk); else the one for temporary files
    #[arg(long, global = true, display_order = 1_000, value_name = "DIR")]
    pub spare_sessions: Option<PathBuf>,
    /// Allow all tools that start a process or leave the machine, without a question
    #[arg(long, global = true)]
    pub allow_tools: bool,
    /// Linear output: words instead of marks, no drawing
    #[arg(long, global = true, display_order = 1_000)]
    pub plain: bool,
    /// No colours
    #[arg(long, global = true, display_order = 1_000)]
    pub no_color: bool,
    /// Write a log to this file
    #[arg(long, global = true, display_order = 1_000, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// What to do; without a command the workbench opens
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

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an agent once; turns are told on stderr as they happen, the answer goes to stdout
    Run(RunFlags),
    /// Go on with a run that waits for an answer or broke off; its file gets the new events
    Resume(ResumeFlags),
    /// Send a new message to a finished run; a new session knows what was said and defined
    Continue(ContinueFlags),
    /// Run a turn's program again on other inputs, without a model
    Exec(ExecFlags),
    /// Replay a session without a model: everything that is computed is computed again; the first difference is told and ends with
    /// exit code 3
    Replay(ReplayFlags),
    /// Fork a session: a new one begins as this one up to a point, takes edits there, and goes on live
    Fork(ForkFlags),
    /// Re-run a session live on the same inputs, with another model, mode or agent; always a new session
    Rerun(RerunFlags),
    /// Show how two or more sessions differ; or run the cases of agents in several modes and with several models
    Compare(CompareFlags),
    /// Run the cases of agents; exit code 1 when one does not pass
    Test(TestFlags),
    /// List, search, mark, export sessions; make cases of them
    Sessions {
        /// What to do with them
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// Check a signature, print its schema, or generate data for it
    Signature {
        /// What to do with it
        #[command(subcommand)]
        command: SignatureCommand,
    },
    /// The language PTC-Lisp alone: run, measure, look up, try out
    Lisp {
        /// What to do with it
        #[command(subcommand)]
        command: LispCommand,
    },
    /// Print as JSON exactly what a run would send first
    Prompt(PromptFlags),
    /// List the models that can be used
    Models(ModelsFlags),
    /// List the tools of an agent and what providers are told of them
    Tools(ToolsFlags),
    /// Look at what works on this machine
    Doctor(DoctorFlags),
    /// Draw a screen into an SVG file
    Screenshot(ScreenshotFlags),
}

/// Where the agent comes from.
#[derive(Debug, Args)]
pub struct AgentFlags {
    /// Agent file, or the name of an example agent
    #[arg(value_name = "AGENT.toml", required_unless_present = "prompt", conflicts_with = "prompt")]
    pub agent: Option<String>,
    /// Instead of a file: the prompt; without --signature and --mode the answer is text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// With --prompt: the signature
    #[arg(long, value_name = "SIGNATURE", requires = "prompt", allow_hyphen_values = true)]
    pub signature: Option<String>,
    /// Mode: `ptc_lisp`, `json`, `text`, `json_loop`
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Model: an alias, provider:model, demo, sample[:fault,seed=N,every], human, recorded:SESSION
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Context: JSON, or @FILE (a file of `run --json` counts as the step before)
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// One value of the context in the type of its parameter; K=@FILE takes the file's text
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
    /// Print the Step as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Keep no session file
    #[arg(long)]
    pub no_save: bool,
    /// File with the journal of finished tasks: what stands there is not done again, and what the run finishes is added when it ends
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Stop before each request is sent, each reply is applied, or each tool's result goes on, to look at it and change it
    #[arg(long, value_name = "send|apply|result", value_enum)]
    pub intercept: Vec<GateFlag>,
}

/// Where a run is intercepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GateFlag {
    /// Before a request is sent
    Send,
    /// Before a reply is applied
    Apply,
    /// Before a tool's result goes on
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
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// The answer to the open question; ADDRESS=TEXT names the question, and a TEXT that looks so stands in JSON quotes
    #[arg(long, value_name = "[ADDRESS=]ANSWER", allow_hyphen_values = true)]
    pub answer: Vec<String>,
    /// Another model for what follows
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print the Step as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// Flags of `continue`.
#[derive(Debug, Args)]
pub struct ContinueFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// The message
    #[arg(allow_hyphen_values = true)]
    pub message: String,
    /// Another model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Print the Step as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// Flags of `exec`.
#[derive(Debug, Args)]
pub struct ExecFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// Address of the turn, such as r0/t2
    pub address: String,
    /// Other inputs: JSON, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Write the pinned agent to this new file instead of running it
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print the Step as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Keep no session file
    #[arg(long)]
    pub no_save: bool,
}

/// Flags of `prompt`.
#[derive(Debug, Args)]
pub struct PromptFlags {
    /// The agent
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Instead of JSON: how it differs from what this mode would send
    #[arg(long, value_name = "MODE")]
    pub against: Option<String>,
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// One line each, newest first, then the examples
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Which session began as which: forks, re-runs, conversations that went on
    Tree {
        /// Only the tree of this one: path, id, unique beginning of an id, or `last`
        session: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Every turn of one session
    Show {
        /// Path, id, unique beginning of an id, or `last`
        session: String,
        /// Print its Steps as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a case of a session: its inputs and its answer go into the agent file
    Case(CaseFlags),
    /// Find sessions by words and by what they are; `sessions search --help` tells the filters
    Search(SearchFlags),
    /// What fails in the sessions, grouped by reason and place, with where to look at it
    Failures(FailuresFlags),
    /// Give tags to a session, run or turn, or take them away; without tags: tell what is written on it
    Tag(TagFlags),
    /// Write a note on a session, run or turn
    Note(NoteFlags),
    /// Mark a session, run or turn
    Mark(MarkFlags),
    /// Write what can be read of a damaged session into a new one; the damaged file stays as it is
    Recover(RecoverFlags),
    /// Write a session as a document, as data for other tools, or as a recording of a terminal
    Export(ExportFlags),
    /// Make a session to look at from a trace file of PtcRunner
    Import(ImportFlags),
}

/// What can be done with a signature.
#[derive(Debug, Subcommand)]
pub enum SignatureCommand {
    /// Is it right? Prints it in its canonical form
    Check {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
    },
    /// The JSON Schema of its answers
    Schema {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
    },
    /// Generated data: `{inputs, output}`
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
    /// Which screen
    pub screen: String,
    /// The SVG file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Columns and rows
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40")]
    pub size: String,
}

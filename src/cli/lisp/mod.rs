//! `lisp`: the language alone, from the command line. Nothing here needs the configuration or the async runtime.

mod batch;
mod bench;
mod doc;
mod face;
mod repl;
mod run;
mod snippet;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::case::Case;
use ptc_core::lisp::{CallAddress, Outcome};
use ptc_core::value::{Json, Value};

use super::context::read;
use super::{Arguments, UsageError};
use crate::port::SystemClock;
use crate::program::Setting;
use face::Face;

/// Milliseconds that a program may compute by default: those of the interpreter (language contract §20).
const TIMEOUT_MS: u64 = 1_000;

/// What can be done with the language.
#[derive(Debug, Subcommand)]
pub enum LispCommand {
    /// Run a program and print its value
    Run(RunFlags),
    /// Run many programs: JSON lines on stdin, one result per line on stdout
    Batch,
    /// Describe a builtin or form, or list those that match a word
    Doc {
        /// A name, or a part of names and descriptions
        #[arg(allow_hyphen_values = true)]
        word: String,
    },
    /// Measure the time of a full run (read, analyse, evaluate) with raised limits
    Bench(BenchFlags),
    /// Start an interactive session
    Repl(ReplFlags),
}

/// Flags of `lisp run`.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// The program's file, `-` for stdin
    #[arg(value_name = "FILE", required_unless_present = "expression", conflicts_with = "expression")]
    pub file: Option<PathBuf>,
    /// Instead of a file: the program
    #[arg(short, value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// Data to read as data/key: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Print the result as JSON, as `lisp batch` does
    #[arg(long)]
    pub json: bool,
    /// Milliseconds it may compute
    #[arg(long, value_name = "MS", default_value_t = TIMEOUT_MS)]
    pub timeout: u64,
    /// Which forms of older versions are understood: current, legacy, auto
    #[arg(long, value_name = "DIALECT", default_value = "current")]
    pub dialect: String,
    /// Data that is not there is an error
    #[arg(long)]
    pub strict_data: bool,
}

/// Flags of `lisp bench`.
#[derive(Debug, Args)]
pub struct BenchFlags {
    /// The program's file, `-` for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Data to read as data/key: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `lisp repl`.
#[derive(Debug, Args)]
pub struct ReplFlags {
    /// Data to read as data/key: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Milliseconds that each program may compute
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub timeout: u64,
}

pub(super) fn lisp(command: &LispCommand, arguments: &Arguments) -> Result<u8, UsageError> {
    match command {
        LispCommand::Run(flags) => run::run(flags, Face::of(arguments)),
        LispCommand::Batch => batch::batch(),
        LispCommand::Doc { word } => Ok(doc::doc(word)),
        LispCommand::Bench(flags) => bench::bench(flags),
        LispCommand::Repl(flags) => repl::repl(flags, Face::of(arguments)),
    }
}

/// The text of a program's file, and the name to call it by.
fn program(file: &Path) -> Result<(String, String), UsageError> {
    if file == Path::new("-") {
        let text = std::io::read_to_string(std::io::stdin())
            .map_err(|error| UsageError(format!("stdin cannot be read: {error}")))?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = file.to_string_lossy().into_owned();
    // What begins like a program was meant as one.
    let tip = if name.starts_with(['(', '[', '{']) { " (a program itself follows -e)" } else { "" };
    let text = read(&name).map_err(|error| UsageError(format!("{}{tip}", error.0)))?;
    Ok((name, text))
}

/// The data of `--context`; none without it.
fn data(flag: Option<&str>) -> Result<Json, UsageError> {
    flag.map_or_else(|| Ok(Json::empty()), |text| super::context::object(text).map(|(_, json)| json))
}

/// Milliseconds that compiling may take.
fn compile_timeout_ms() -> u64 {
    COMPILE_TIMEOUT.usual().into()
}

/// Runs the case on a thread of its own.
fn perform(case: &Case, timeout_ms: u64) -> Outcome {
    let tools = |_: &CallAddress, tool: &str, args: &Value| case.answer(tool, args);
    let setting = Setting {
        tools: &tools,
        timeout_ms,
        compile_timeout_ms: compile_timeout_ms(),
        now_ms: SystemClock.now(),
        stop: &AtomicBool::new(false),
    };
    crate::program::run(&case.input(), &setting)
}

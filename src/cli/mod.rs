//! The command line: flags, plain-text faces of what the workbench can do, exit codes.
//!
//! In: arguments. Out: data on stdout, progress and diagnostics on stderr, an exit code. Text from models, tools and files is
//! made safe before it reaches a terminal.

mod arguments;
mod compare;
mod context;
mod doctor;
mod export;
mod fork;
mod journal;
mod keyboard;
mod lisp;
mod matrix;
mod models;
mod plain;
mod printer;
mod proceed;
mod prompt;
mod replay;
mod report;
mod rerun;
mod run;
mod screenshot;
mod sessions;
mod signature;
mod source;
mod stdout;
mod test;
mod tools;
mod tree;

use std::io::{IsTerminal as _, Write};
use std::path::Path;

use ptc_core::text::SafeText;
use serde::Serialize;

pub use arguments::{Arguments, Command, meant_command};
pub use export::pieces;
pub use plain::{is_spoken, print_opened, print_session};
pub use report::{hook_panics, keep_secret, log_to};
pub use screenshot::{Draw, Drawing, Picture};
pub use source::{SourceError, agent_source, pipeline_source};
use stdout::out;

use crate::export::printable;
use crate::workbench::Workbench;

/// Exit codes.
pub mod exit {
    /// Success.
    pub const OK: u8 = 0;
    /// The run ended in failure.
    pub const FAILED: u8 = 1;
    /// Usage, configuration or file error.
    pub const USAGE: u8 = 2;
    /// Replay found a difference.
    pub const DIVERGED: u8 = 3;
    /// The run waits for the user.
    pub const WAITING: u8 = 4;
    /// Stopped from outside.
    pub const CANCELLED: u8 = 130;
}

/// An error that ends a command with exit code 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl<E: std::fmt::Display> From<E> for UsageError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A file that cannot be written.
fn unwritable(file: &Path, error: &std::io::Error) -> UsageError {
    UsageError(format!("{} cannot be written: {error}", file.display()))
}

/// Runs a command and returns its exit code. Prints errors to stderr. `drawing` makes pictures of screens.
pub async fn run(command: &Command, arguments: &Arguments, workbench: &Workbench, drawing: Drawing<'_>) -> u8 {
    let done = match command {
        Command::Run(flags) => run::run(flags, arguments.plain, workbench).await,
        Command::Resume(flags) => proceed::resume(flags, arguments.plain, workbench).await,
        Command::Continue(flags) => proceed::proceed(flags, arguments.plain, workbench).await,
        Command::Exec(flags) => proceed::exec(flags, arguments.plain, workbench).await,
        Command::Replay(flags) => replay::replay(flags, arguments.plain, workbench).await,
        Command::Fork(flags) => fork::fork(flags, arguments.plain, workbench).await,
        Command::Rerun(flags) => rerun::rerun(flags, arguments.plain, workbench).await,
        Command::Compare(flags) => compare::compare(flags, arguments.plain, workbench).await,
        Command::Test(flags) => test::test(flags, arguments.plain, workbench).await,
        Command::Sessions { command } => sessions::sessions(command, arguments.plain, workbench, drawing).await,
        Command::Signature { command } => signature::signature(command),
        Command::Prompt(flags) => prompt::prompt(flags, workbench),
        Command::Tools(flags) => tools::tools(flags, workbench).await,
        Command::Models(flags) => models::models(flags, arguments.plain, workbench).await,
        Command::Doctor(flags) => doctor::doctor(flags, arguments.plain, workbench).await,
        Command::Lisp { command } => lisp::lisp(command, arguments),
        Command::Screenshot(flags) => screenshot::screenshot(flags, drawing.screen).await,
    };
    code(done)
}

/// Runs a command that needs neither configuration nor async runtime, and returns its exit code; `None` for others.
pub fn run_at_once(arguments: &Arguments) -> Option<u8> {
    match &arguments.command {
        Some(Command::Lisp { command }) => Some(code(lisp::lisp(command, arguments))),
        _ => None,
    }
}

/// The exit code of a command. Prints the error first; lost output is an error too.
fn code(done: Result<u8, UsageError>) -> u8 {
    let code = done.unwrap_or_else(|error| {
        print_error(&error.0);
        exit::USAGE
    });
    let Some(why) = stdout::refused() else { return code };
    print_error(&format!("stdout cannot be written: {why}; what was printed is not whole"));
    exit::USAGE
}

/// Columns that tables have when stdout is no terminal.
const USUAL_COLUMNS: usize = 80;
/// Fewest columns of a table.
const FEWEST_COLUMNS: usize = 40;

/// Columns of the terminal that stdout is.
fn columns() -> usize {
    let terminal = std::io::stdout().is_terminal().then(|| crossterm::terminal::size().ok()).flatten();
    terminal.map_or(USUAL_COLUMNS, |(columns, _)| usize::from(columns).max(FEWEST_COLUMNS))
}

/// Prints data as JSON on stdout: what `--json` asks for.
fn out_json(data: &impl Serialize) {
    out(&printable(data));
}

/// One line (or several) on stderr.
fn tell(text: &str) {
    _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// How to resume a waiting run, on stderr.
pub fn print_waiting(session: &str) {
    tell(&safe_line(&format!("answer with: ptc-workbench resume {session} --answer TEXT")));
}

/// An error on stderr, made safe.
pub fn print_error(text: &str) {
    tell(&format!("error: {}", safe(text)));
}

/// Text from outside, safe for a terminal, line breaks kept.
fn safe(text: &str) -> String {
    SafeText::multi_line(text).into_string()
}

/// Text from outside on one line.
fn safe_line(text: &str) -> String {
    SafeText::single_line(text).into_string()
}

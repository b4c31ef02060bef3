//! Arguments of `lisp`: the language alone.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Default time that a program may compute, in ms: that of the interpreter.
pub(in crate::cli) const TIMEOUT_MS: u64 = 1_000;

/// Commands of `lisp`.
#[derive(Debug, Subcommand)]
pub enum LispCommand {
    /// Run a program and print its value
    Run(LispRunFlags),
    /// Run many programs: JSON lines on stdin, one result per line on stdout
    Batch {
        /// Default dialect of the cases: reference, current, legacy, auto
        #[arg(long, value_name = "DIALECT", default_value = "current")]
        dialect: String,
    },
    /// Describe a builtin or form, or list those that match a word
    Doc {
        /// A name, or a part of names and descriptions
        #[arg(allow_hyphen_values = true)]
        word: String,
    },
    /// Measure the time of a full run (read, analyse, evaluate) with raised limits
    Bench(LispBenchFlags),
    /// Start an interactive session
    Repl(LispReplFlags),
}

/// Flags of `lisp run`.
#[derive(Debug, Args)]
pub struct LispRunFlags {
    /// Program file, `-` for stdin
    #[arg(value_name = "FILE", required_unless_present = "expression", conflicts_with = "expression")]
    pub file: Option<PathBuf>,
    /// The program itself, instead of a file
    #[arg(short, value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// Data to read as data/key: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Print the result as JSON, as `lisp batch` does
    #[arg(long)]
    pub json: bool,
    /// Time limit of the program, in ms
    #[arg(long, value_name = "MS", default_value_t = TIMEOUT_MS)]
    pub timeout: u64,
    /// Dialect: reference, current, legacy, auto
    #[arg(long, value_name = "DIALECT", default_value = "current")]
    pub dialect: String,
    /// Treat missing data as an error
    #[arg(long)]
    pub strict_data: bool,
}

/// Flags of `lisp bench`.
#[derive(Debug, Args)]
pub struct LispBenchFlags {
    /// Program file, `-` for stdin
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
pub struct LispReplFlags {
    /// Data to read as data/key: a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    pub context: Option<String>,
    /// Time limit of each program, in ms
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub timeout: u64,
}

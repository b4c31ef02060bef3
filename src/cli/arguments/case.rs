//! The arguments of `sessions case` and `sessions example`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `sessions case`.
#[derive(Debug, Args)]
pub struct CaseFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// Name of the case; without it the end of the session's id
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Agent file that gets the case; one that does not exist is made from the session
    #[arg(long, value_name = "FILE")]
    pub agent: Option<PathBuf>,
    /// The run, when the session holds several
    #[arg(long, value_name = "ADDRESS")]
    pub run: Option<String>,
    /// Make a regression test: a copy of the session next to the agent file is replayed, no model is asked
    #[arg(long)]
    pub cassette: bool,
    /// Print what was made as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions example`.
#[derive(Debug, Args)]
pub struct ExampleFlags {
    /// SESSION, or SESSION@TURN (r0/t2); without a turn the last one
    #[arg(value_name = "SESSION[@TURN]")]
    pub place: String,
    /// Agent file whose prompt gets the example; one that does not exist is made from the session
    #[arg(long, value_name = "FILE")]
    pub agent: Option<PathBuf>,
    /// Print what was added as JSON
    #[arg(long)]
    pub json: bool,
}

//! The arguments of `inspect`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub struct InspectFlags {
    /// Agent, pipeline, session, bundle (a folder), theme or configuration
    pub file: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

//! The arguments of `models`.

use clap::Args;

/// Flags of `models`.
#[derive(Debug, Args)]
pub struct ModelsFlags {
    /// A provider: its server is asked which models it has
    pub provider: Option<String>,
    /// Ask the servers of all providers whose key is there
    #[arg(long, conflicts_with = "provider")]
    pub check: bool,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

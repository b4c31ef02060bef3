//! The arguments of `models`.

use clap::Args;

/// Flags of `models`.
#[derive(Debug, Args)]
pub struct ModelsFlags {
    /// Provider whose server is asked for its models
    pub provider: Option<String>,
    /// Ask the servers of all providers with an API key
    #[arg(long, conflicts_with = "provider")]
    pub check: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

//! The arguments of `test`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `test`.
#[derive(Debug, Args)]
pub struct TestFlags {
    /// Agent files, or names of example agents
    #[arg(value_name = "AGENT.toml", required = true)]
    pub agents: Vec<String>,
    /// Runs of each case; a case passes if all of them pass
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub trials: u32,
    /// Mode of all agents
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Model of all agents
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Concurrent runs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}

//! The arguments of `serve` and `mcp`.

use std::net::IpAddr;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub struct ServeFlags {
    /// Agent files or names of example agents
    #[arg(required = true, value_name = "AGENT.toml", value_parser = NonEmptyStringValueParser::new())]
    pub agents: Vec<String>,
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 4142)]
    pub port: u16,
    /// Address to listen on; any address beyond this machine needs a key (--key-env)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Environment variable with the key that requests must send as `Authorization: Bearer KEY`
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Model of all runs, instead of the agents' own
    #[arg(long)]
    pub model: Option<String>,
    /// Maximum number of concurrent runs; further requests get status 429
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_runs: u16,
    /// Maximum duration of a run, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Do not save sessions; runs that wait for an answer then cannot be resumed
    #[arg(long)]
    pub no_save: bool,
}

/// Flags of `mcp`.
#[derive(Debug, Args)]
pub struct McpFlags {
    /// Agent to offer as a tool (repeatable): an agent file or the name of an example
    #[arg(long, value_name = "AGENT.toml", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Vec<String>,
    /// Let the client start runs: agents by name, cases, forks
    #[arg(long)]
    pub allow_runs: bool,
}

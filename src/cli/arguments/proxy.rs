//! The arguments of `proxy`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// Flags of `proxy`.
#[derive(Debug, Args)]
pub struct ProxyFlags {
    /// Upstream service (repeatable): a provider, or NAME=URL (without `/v1`); default: openai, anthropic, gemini and ollama
    #[arg(long, value_name = "NAME[=URL]")]
    pub upstream: Vec<String>,
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 4141)]
    pub port: u16,
    /// Address to listen on; any client that reaches it can use the upstreams with its own key
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Answer from captured sessions instead of the upstreams (repeatable): a session, or a folder of them
    #[arg(long, value_name = "SESSION")]
    pub replay: Vec<String>,
    /// Send requests without a recording to the upstream, and record them
    #[arg(long, requires = "replay")]
    pub record_missing: bool,
    /// Also record non-chat requests (lists of models, embeddings, token counts); a replay answers them
    #[arg(long, conflicts_with = "no_save")]
    pub record_all: bool,
    /// Regular expression of text to ignore when requests are compared (repeatable)
    #[arg(long, value_name = "PATTERN", requires = "replay")]
    pub ignore: Vec<String>,
    /// File of rules that change, delay or fail requests
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Record nothing
    #[arg(long)]
    pub no_save: bool,
    /// Maximum number of captured sessions; the oldest without tags, notes, marks and labels are removed
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// Maximum size of the captured sessions, in MB
    #[arg(long, value_name = "MB", default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub keep_mb: u64,
    /// Program to start with the variables that point to the proxy; the proxy exits when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

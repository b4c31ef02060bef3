//! The arguments of `compare`: sessions side by side, or the matrix of agents.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::results::{CacheFlags, ResultFlags};
use super::test::{SelectionFlags, largest_cost};

/// Flags of `compare`.
#[derive(Debug, Args)]
pub struct CompareFlags {
    /// Two or more sessions (path, id, unique beginning or end of an id, or `last`); or agents: files, names of examples
    #[arg(value_name = "SESSION|AGENT.toml", required_unless_present = "resume", value_parser = NonEmptyStringValueParser::new())]
    pub names: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// For sessions: show every changed line and value, not only the first
    #[arg(long)]
    pub all: bool,
    /// The matrix of agents
    #[command(flatten)]
    pub matrix: MatrixFlags,
}

/// Flags of `compare AGENT.toml …`.
#[derive(Debug, Args)]
#[command(next_help_heading = "For agents: every case in every mode with every model")]
pub struct MatrixFlags {
    /// Modes, separated by commas; default: all that the agent supports (others are listed with the reason)
    #[arg(long, value_name = "MODE,…", value_delimiter = ',')]
    pub modes: Vec<String>,
    /// Models, separated by commas; default: the agent's own
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Trials of each case, each with its own seed
    #[arg(long, value_name = "N")]
    pub trials: Option<u32>,
    /// Concurrent trials (4), also limited by `concurrent_requests` of each provider
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print the expected cost, from earlier matrices, and run nothing
    #[arg(long, conflicts_with = "resume")]
    pub estimate: bool,
    /// Begin no further trial when this cost is reached; --resume continues
    #[arg(long, value_name = "COST", value_parser = largest_cost)]
    pub max_cost: Option<f64>,
    /// Compare with this baseline file; exit with code 1 if a result is worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the results to a file for --baseline
    #[arg(long, value_name = "FILE")]
    pub save_baseline: Option<PathBuf>,
    /// Base seed of the trials (0)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Resume a stopped matrix (id, unique beginning of an id, or `last`); a complete one is shown
    #[arg(long, value_name = "MATRIX", conflicts_with_all = ["names", "modes", "models", "trials", "seed"])]
    pub resume: Option<String>,
    /// Selection of the cases
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Files of results
    #[command(flatten)]
    pub results: ResultFlags,
    /// The cache of replies
    #[command(flatten)]
    pub cache: CacheFlags,
}

impl MatrixFlags {
    /// The flag of the matrix that was given, for a message; `None` when none was.
    pub fn named_flag(&self) -> Option<&'static str> {
        let given = [
            ("--modes", !self.modes.is_empty()),
            ("--models", !self.models.is_empty()),
            ("--trials", self.trials.is_some()),
            ("--jobs", self.jobs.is_some()),
            ("--estimate", self.estimate),
            ("--max-cost", self.max_cost.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--save-baseline", self.save_baseline.is_some()),
            ("--seed", self.seed.is_some()),
            ("--filter", !self.selection.filter.is_empty()),
            ("--sample", self.selection.sample.is_some()),
            ("--shard", self.selection.shard.is_some()),
            ("--cache", self.cache.cache.is_some()),
            ("--results", self.results.results.is_some()),
            ("--report", self.results.report.is_some()),
            ("--summary", self.results.summary.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

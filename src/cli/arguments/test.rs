//! The arguments of `test` and `judge`, and the choice of cases that `compare` shares with it.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::results::{CacheFlags, ResultFlags};
use crate::workbench::suite::{CaseFilter, Shard};

/// Parses the value of `--max-cost`. Errors: it is not a number from 0 up; NaN would never be reached, and infinity is not a limit.
pub(super) fn largest_cost(text: &str) -> Result<f64, String> {
    let cost = text.parse::<f64>().ok().filter(|cost| cost.is_finite() && !cost.is_sign_negative());
    cost.ok_or_else(|| "a cost is a number from 0 up, such as 2 or 0.5".to_owned())
}

/// The choice of cases.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection of cases")]
pub struct SelectionFlags {
    /// Only cases whose name contains TEXT, or with tag:NAME; a leading `!` excludes them; several filters must all match
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Only N of them, chosen at random by --seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: Option<u32>,
    /// Only part I of N, for N machines; a case is in the same part everywhere
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

impl SelectionFlags {
    /// The choice that the flags describe; `seed` is that of the sample.
    pub fn to_filter(&self, seed: u64) -> CaseFilter {
        let sample = self.sample.map(|count| (count as usize, seed));
        CaseFilter { conditions: self.filter.clone(), sample, shard: self.shard, names: None }
    }
}

/// Flags of `judge`.
#[derive(Debug, Args)]
pub struct JudgeFlags {
    /// Agent file, or name of an example agent, whose labelled runs are judged
    #[arg(value_name = "AGENT.toml", value_parser = NonEmptyStringValueParser::new())]
    pub agent: String,
    /// Judge all runs by this rubric; without it by those of the agent's cases
    #[arg(long, value_name = "TEXT")]
    pub rubric: Option<String>,
    /// With --rubric: models of the judges, separated by commas
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',', requires = "rubric")]
    pub models: Vec<String>,
    /// With --rubric: runs of each judge
    #[arg(long, value_name = "N", requires = "rubric", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub votes: Option<u32>,
    /// With --rubric: the score that passes, from 0 to 1
    #[arg(long, value_name = "SCORE", requires = "rubric")]
    pub at_least: Option<f64>,
    /// The newest N labelled runs
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Concurrent judgements
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Judge no further run when the judges have cost this much, in the unit of the configured prices; the exit code is then 1
    #[arg(long, value_name = "COST", value_parser = largest_cost)]
    pub max_cost: Option<f64>,
    /// The cache of replies
    #[command(flatten)]
    pub cache: CacheFlags,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `test`.
#[derive(Debug, Args)]
pub struct TestFlags {
    /// Agent files, or names of example agents
    #[arg(value_name = "AGENT.toml", required = true, value_parser = NonEmptyStringValueParser::new())]
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
    /// Begin no further run when this cost is reached, in the unit of the configured prices; the exit code is then 1
    #[arg(long, value_name = "COST", value_parser = largest_cost)]
    pub max_cost: Option<f64>,
    /// Seed of --sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Only cases that did not pass in their last test
    #[arg(long)]
    pub failed: bool,
    /// Selection of the cases
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Files of results
    #[command(flatten)]
    pub results: ResultFlags,
    /// The cache of replies
    #[command(flatten)]
    pub cache: CacheFlags,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}

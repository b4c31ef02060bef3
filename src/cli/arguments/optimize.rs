//! The arguments of `optimize` and `suggest`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::results::CacheFlags;
use super::test::{SelectionFlags, largest_cost};

/// Flags of `optimize`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct OptimizeFlags {
    /// List or apply what a search found
    #[command(subcommand)]
    pub action: Option<OptimizeAction>,
    /// Agent file with cases
    #[arg(value_name = "AGENT.toml", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
    /// Folder of the search: its journal and candidates; a search that was stopped is continued; default: NAME.optimize in the current
    /// folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Mode of the agent
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Model of the runs
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Model that reads failed runs and proposes texts; default: that of the runs
    #[arg(long, value_name = "MODEL")]
    pub reflect_model: Option<String>,
    /// Maximum number of candidates, including the original agent
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub max_candidates: u32,
    /// Maximum number of model requests
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Maximum cost, in the unit of the configured prices
    #[arg(long, value_name = "COST", value_parser = largest_cost)]
    pub max_cost: Option<f64>,
    /// Stop after this many seconds; the same command continues the search
    #[arg(long, value_name = "SECONDS")]
    pub max_time: Option<u64>,
    /// Training cases on which a candidate is compared with its parent first
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub batch: u32,
    /// Seed of all choices, --sample included
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Concurrent runs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Print the candidates as JSON
    #[arg(long)]
    pub json: bool,
    /// The choice of cases
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// The cache of replies
    #[command(flatten)]
    pub cache: CacheFlags,
}

/// Flags of `suggest`.
#[derive(Debug, Args)]
pub struct SuggestFlags {
    /// SESSION (path, id, unique beginning or end of an id, or `last`), or SESSION@TURN
    #[arg(value_name = "SESSION[@TURN]", value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// The failing turn, by number or address (2, r0/t2); default: the last one that failed
    #[arg(long, value_name = "TURN", value_parser = NonEmptyStringValueParser::new())]
    pub turn: Option<String>,
    /// Agent file to change; default: NAME.toml of the agent in the current folder
    #[arg(long, value_name = "FILE")]
    pub agent: Option<PathBuf>,
    /// Model that proposes the change; default: that of the agent
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Problem with the run, in your words
    #[arg(long, value_name = "TEXT")]
    pub problem: Option<String>,
    /// Write all hunks without asking; without it, a terminal asks about each hunk
    #[arg(long, visible_alias = "yes")]
    pub write: bool,
    /// Print the suggestion as JSON
    #[arg(long)]
    pub json: bool,
    /// The cache of replies
    #[command(flatten)]
    pub cache: CacheFlags,
}

/// Actions of `optimize` on a search that exists.
#[derive(Debug, Subcommand)]
pub enum OptimizeAction {
    /// List the candidates of a search, or show what one of them changes
    Show {
        /// Folder of the search
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// A candidate, such as c03: its change and its cases
        #[arg(value_name = "CANDIDATE")]
        candidate: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
        /// Open the candidates in the workbench (needs a terminal); a running search is updated live
        #[arg(long, conflicts_with_all = ["json", "candidate"])]
        screen: bool,
    },
    /// Write a candidate into the agent file; on a terminal each hunk is asked about
    Apply {
        /// Folder of the search
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// A candidate, such as c03; default: the best one
        #[arg(value_name = "CANDIDATE")]
        candidate: Option<String>,
        /// Write all hunks without asking
        #[arg(long)]
        yes: bool,
        /// Write the hunks of these numbers, such as 1,3, without asking
        #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "yes")]
        hunks: Vec<usize>,
    },
}

//! The arguments of `compare`: sessions beside each other, or the matrix of agents.

use std::path::PathBuf;

use clap::Args;

/// Flags of `compare`.
#[derive(Debug, Args)]
pub struct CompareFlags {
    /// Two or more sessions (path, id, unique beginning of an id, or `last`); or agents: files, names of examples
    #[arg(value_name = "SESSION|AGENT.toml", required_unless_present = "resume")]
    pub names: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    /// Of sessions: every changed line and value, not only the first of each
    #[arg(long)]
    pub all: bool,
    /// The matrix of agents
    #[command(flatten)]
    pub matrix: MatrixFlags,
}

/// Flags of `compare AGENT.toml …`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Of agents: every case in every mode with every model")]
pub struct MatrixFlags {
    /// Modes, separated by commas; without it all. Where an agent cannot run is told with the reason
    #[arg(long, value_name = "MODE,…", value_delimiter = ',')]
    pub modes: Vec<String>,
    /// Models, separated by commas; without it the agent's own
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Trials of each case: runs with seeds of their own
    #[arg(long, value_name = "N")]
    pub trials: Option<u32>,
    /// Trials at the same time (4); each provider's `concurrent_requests` counts as well
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Tell what got better or worse than in this file; exit code 1 when something got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what this matrix says to a file, for --baseline
    #[arg(long, value_name = "FILE")]
    pub save_baseline: Option<PathBuf>,
    /// What the seeds of the trials come from (0)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Go on with a matrix that was stopped (id, beginning of one, or `last`); one that is complete is shown again
    #[arg(long, value_name = "MATRIX", conflicts_with_all = ["names", "modes", "models", "trials", "seed"])]
    pub resume: Option<String>,
}

impl MatrixFlags {
    /// The flag of the matrix that was given, for a message; `None` when none was.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--modes", !self.modes.is_empty()),
            ("--models", !self.models.is_empty()),
            ("--trials", self.trials.is_some()),
            ("--jobs", self.jobs.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--save-baseline", self.save_baseline.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

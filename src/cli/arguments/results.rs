//! The arguments of `merge`, the files of results and the cache of replies that `test` and `compare` share with it.

use std::path::PathBuf;

use clap::Args;

use crate::cli::UsageError;
use crate::config::create_private_dir;
use crate::workbench::Workbench;

/// Files that the results are written to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Result files")]
pub struct ResultFlags {
    /// Write a line of JSON for each trial, for `merge` and other programs
    #[arg(long, value_name = "FILE.jsonl")]
    pub results: Option<PathBuf>,
    /// Write an HTML page with intervals, changes and failures
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a Markdown summary for a pull request
    #[arg(long, value_name = "FILE.md")]
    pub summary: Option<PathBuf>,
}

impl ResultFlags {
    /// Returns whether any file is named.
    pub fn is_wanted(&self) -> bool {
        self.results.is_some() || self.wants_pages()
    }

    /// Returns whether a file is named that shows a matrix.
    pub fn wants_pages(&self) -> bool {
        self.report.is_some() || self.summary.is_some()
    }
}

/// Storage of replies.
#[derive(Debug, Clone, Default, Args)]
pub struct CacheFlags {
    /// Cache model replies in DIR: a trial that repeats an exact request makes no model call
    #[arg(long, value_name = "DIR", help_heading = "Result files")]
    pub cache: Option<PathBuf>,
}

impl CacheFlags {
    /// The workbench with the folder that the flag names. Errors: the folder cannot be created.
    pub fn apply(&self, workbench: &Workbench) -> Result<Workbench, UsageError> {
        let Some(dir) = &self.cache else { return Ok(workbench.clone()) };
        create_private_dir(dir).map_err(|error| UsageError(format!("--cache {}: {error}", dir.display())))?;
        Ok(workbench.clone().with_reply_cache(dir.clone()))
    }
}

/// Flags of `merge`.
#[derive(Debug, Args)]
pub struct MergeFlags {
    /// Files that --results of `test` or `compare` wrote, such as those of all shards
    #[arg(value_name = "FILE.jsonl", required = true)]
    pub files: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// Files of results
    #[command(flatten)]
    pub results: ResultFlags,
}

//! The cases that did not pass in the last test of an agent: a small file in the sessions folder for each agent.
//!
//! In: the agent's file, the reports of a suite. Out: names. Cases that a suite does not run keep their state. The file only caches this:
//! the results themselves are in the sessions.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::AgentReport;
use crate::config::read_regular_file;
use crate::event::hex_sha;
use crate::workbench::Workbench;
use crate::workbench::files::write_whole_private;

/// Name of the folder in the sessions folder.
const FOLDER: &str = "tests";

/// Content of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FailedCases {
    /// The agent's file as it was named; informational.
    agent: String,
    /// Names of cases.
    failed: BTreeSet<String>,
}

impl Workbench {
    /// Returns the cases of an agent that did not pass when they were tested last; `None` when it was never tested here.
    pub fn last_failures(&self, label: &str) -> Option<BTreeSet<String>> {
        let text = read_regular_file(&self.last_file(label)).ok()?;
        serde_json::from_str::<FailedCases>(&text).ok().map(|found| found.failed)
    }

    /// Saves the names of the cases that did not pass. Errors: the file cannot be written.
    pub fn keep_failures(&self, report: &AgentReport) -> io::Result<()> {
        let mut failed = self.last_failures(&report.label).unwrap_or_default();
        for case in report.cases.iter().filter(|case| !case.trials.is_empty()) {
            if case.counts().is_pass() {
                failed.remove(&case.name);
            } else {
                failed.insert(case.name.clone());
            }
        }
        let text = serde_json::to_string(&FailedCases { agent: report.label.clone(), failed })?;
        write_whole_private(&self.last_file(&report.label), text.as_bytes())
    }

    fn last_file(&self, label: &str) -> PathBuf {
        let path = Path::new(label).canonicalize().unwrap_or_else(|_| PathBuf::from(label));
        let hash = hex_sha(path.to_string_lossy().as_bytes());
        self.folders.sessions_dir.join(FOLDER).join(format!("{}.json", hash.get(..16).unwrap_or(&hash)))
    }
}

//! A digest of the programs of a run so far, for a summarized history and for the results of native calls.
//!
//! In: programs and their outcomes. Out: calls, printed lines, failures.

use ptc_core::lisp::Outcome;
use ptc_core::lisp::firewall::visible;
use ptc_core::value::{Json, Value};

use crate::agent::Plan;

/// A digest of the programs so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Digest {
    /// Calls of turns that ended well: tool and arguments as text.
    pub(super) calls: Vec<(String, String)>,
    /// The lines that they printed.
    pub(super) prints: Vec<String>,
    /// Turns that failed.
    pub(super) failed: u32,
    /// The last program, and what was wrong with it.
    pub(super) last: Option<(String, Option<String>)>,
    last_prints: Vec<String>,
}

impl Digest {
    /// Adds the outcome of a program.
    pub(super) fn add(&mut self, plan: &Plan, program: &str, outcome: &Outcome) {
        self.last_prints.clone_from(&outcome.prints);
        match &outcome.result {
            Ok(_) => {
                let hides = plan.hides();
                let shown = |args: &Value| if hides { visible(args).to_string() } else { args.to_string() };
                self.calls.extend(outcome.calls.iter().map(|call| (call.tool.clone(), shown(&call.args))));
                self.prints.extend(outcome.prints.iter().cloned());
                self.last = Some((program.to_owned(), None));
            }
            Err(error) => {
                self.failed += 1;
                self.last = Some((program.to_owned(), Some(format!("{}: {}", error.reason, error.message()))));
            }
        }
    }

    /// Returns the lines that the last program printed, and whether feedback shows only a part of them.
    pub(super) fn last_prints(&self, feedback_chars: usize) -> (Json, bool) {
        let cut = self.last_prints.join("\n").chars().count() > feedback_chars;
        let prints = self.last_prints.iter().map(|line| Json::str(line.as_str()));
        (Json::list(prints), cut)
    }
}

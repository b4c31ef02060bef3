//! Examples as a step of the search: a candidate whose prompt shows runs of solved training cases.
//!
//! In: a candidate of the front with its results and those of its ancestors. Out: the training cases whose runs may be shown, in an order
//! given by the seed. Validation and held-out cases are never among them.

use super::{Action, Search};
use crate::workbench::optimize::Component;
use crate::workbench::random::SplitMix;

/// Maximum number of cases from which the examples are chosen.
const MOST_CASES: usize = 12;

impl Search {
    /// Returns the action that adds examples: once for a candidate whose texts all had a proposal or are given up, and only if solved
    /// training cases are known.
    pub(super) fn examples_step(&self, parent: usize) -> Option<Action> {
        let candidate = &self.candidates[parent];
        if candidate.has_examples_step || candidate.proposals < self.open_components(parent).len() {
            return None;
        }
        let lineage = self.ancestors(parent);
        let is_solved = |case: &String| {
            lineage.iter().any(|one| self.candidates[*one].results.get(case).is_some_and(|result| result.passed))
        };
        let settings = &self.settings;
        let is_other = |case: &&String| !settings.validation.contains(case) && !settings.held_out.contains(case);
        let mut solved: Vec<String> =
            settings.training.iter().filter(is_other).filter(|case| is_solved(case)).cloned().collect();
        SplitMix(settings.seed.wrapping_add(parent as u64)).shuffle(&mut solved);
        solved.truncate(MOST_CASES);
        let component = Component::Examples;
        (!solved.is_empty()).then_some(Action::Propose { parent, component, failures: Vec::new(), passes: solved })
    }
}

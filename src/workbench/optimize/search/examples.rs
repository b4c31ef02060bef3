//! Examples as a step of the search: a candidate whose prompt shows runs of training cases that were solved.
//!
//! In: a candidate of the front and what is known of it and its ancestors. Out: the training cases whose runs may be shown, in an order by the seed. A case that is also
//! one of validation or held out is never among them.

use super::{Action, Search};
use crate::workbench::optimize::Component;
use crate::workbench::random::SplitMix;

/// Most cases among which the examples are chosen.
const MOST_CASES: usize = 12;

impl Search {
    /// The step that adds examples, once for a candidate whose texts have all had their turn or are given up, and only where solved training cases are known.
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

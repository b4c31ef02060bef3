//! Merges: candidates that combine the changes of two others.
//!
//! In: the front of a search. Out: a candidate of two of them whose changes since a common ancestor are of different texts. Each pair is
//! considered once.

use std::collections::BTreeSet;

use super::{Candidate, Search};
use crate::workbench::optimize::Component;

/// Maximum number of cases on which a merged candidate is compared with its parents.
const MERGE_CASES: usize = 5;

impl Search {
    /// Merges two candidates of the front whose changes since a common ancestor are of different texts. Returns the new candidate and the
    /// cases on which it is compared with them: those on which their scores differ.
    pub(super) fn merge(&mut self) -> Option<(Candidate, Vec<String>)> {
        let front: Vec<usize> = self.front().into_iter().map(|(number, _)| number).collect();
        let pairs =
            front.iter().enumerate().flat_map(|(at, one)| front[at + 1..].iter().map(move |other| (*one, *other)));
        for (one, other) in pairs.collect::<Vec<_>>() {
            if !self.merged.insert((one, other)) {
                continue;
            }
            let (of_one, of_other) = (self.ancestors(one), self.ancestors(other));
            let Some(common) = of_one.intersection(&of_other).max().copied() else { continue };
            if common == one || common == other {
                continue;
            }
            let base = &self.candidates[common].texts;
            let changed = |number: usize| -> BTreeSet<&Component> {
                let texts = &self.candidates[number].texts;
                texts
                    .iter()
                    .filter(|(component, text)| base.get(*component) != Some(*text))
                    .map(|(component, _)| component)
                    .collect()
            };
            if !changed(one).is_disjoint(&changed(other)) {
                continue;
            }
            let mut texts = self.candidates[one].texts.clone();
            for component in changed(other) {
                texts.insert(component.clone(), self.candidates[other].texts[component].clone());
            }
            if self.candidates.iter().any(|known| known.texts == texts) {
                continue;
            }
            let score = |number: usize, case: &String| {
                self.candidates[number].results.get(case).map_or(0.0, |found| found.score)
            };
            let differ =
                self.settings.validation.iter().filter(|case| score(one, case).total_cmp(&score(other, case)).is_ne());
            let cases: Vec<String> = differ.take(MERGE_CASES).cloned().collect();
            let rotation = self.candidates[one].rotation.max(self.candidates[other].rotation);
            let reason = format!("the changes of c{one:02} and c{other:02}");
            return Some((
                Candidate { parents: vec![one, other], reason, texts, rotation, ..Candidate::default() },
                cases,
            ));
        }
        None
    }

    /// Returns a candidate and all its ancestors.
    pub(in crate::workbench::optimize) fn ancestors(&self, candidate: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([candidate]);
        let mut due = vec![candidate];
        while let Some(number) = due.pop() {
            due.extend(self.candidates[number].parents.iter().filter(|parent| all.insert(**parent)));
        }
        all
    }
}

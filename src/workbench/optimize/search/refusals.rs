//! Texts for which the proposer has nothing new: after a few proposals in a row that were refused or known, a text is given up until a candidate is accepted.
//!
//! In: proposals that gave no candidate. Out: the texts that are still worth a proposal, and whether any is. Plain data, by the outcomes alone.

use std::collections::BTreeMap;

use super::Search;
use crate::workbench::optimize::Component;

/// Proposals in a row without a new text after which a text is given up.
const MOST_IN_A_ROW: u32 = 3;

/// Proposals in a row that gave nothing new, by text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Refusals(BTreeMap<Component, u32>);

impl Refusals {
    /// A proposal gave nothing new.
    pub(super) fn add(&mut self, component: &Component) {
        *self.0.entry(component.clone()).or_default() += 1;
    }

    /// A proposal gave another text.
    pub(super) fn remove(&mut self, component: &Component) {
        self.0.remove(component);
    }

    /// A candidate was accepted: its texts are others, so that other proposals may come.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Search {
    /// Proposals in a row for a text that were refused or known already.
    pub fn refused_in_a_row(&self, component: &Component) -> u32 {
        self.refusals.0.get(component).copied().unwrap_or_default()
    }

    /// Is a text left as it is until a candidate is accepted?
    pub fn is_given_up(&self, component: &Component) -> bool {
        self.refused_in_a_row(component) >= MOST_IN_A_ROW
    }

    /// The texts that are left as they are until a candidate is accepted.
    pub fn given_up(&self) -> Vec<Component> {
        self.refusals.0.keys().filter(|component| self.is_given_up(component)).cloned().collect()
    }

    /// The texts of a candidate for which proposals are asked for.
    pub(super) fn open_components(&self, candidate: usize) -> Vec<&Component> {
        let texts = self.candidates[candidate].texts.keys();
        texts.filter(|component| **component != Component::Examples && !self.is_given_up(component)).collect()
    }

    /// The candidates of the front of which something can still be changed, with their weights.
    pub(super) fn open_front(&self) -> Vec<(usize, usize)> {
        let is_open = |one: usize| !self.open_components(one).is_empty() || self.examples_step(one).is_some();
        self.front().into_iter().filter(|(number, _)| is_open(*number)).collect()
    }

    /// Can nothing of any candidate of the front be changed any more?
    pub(super) fn is_exhausted(&self) -> bool {
        !self.refusals.0.is_empty() && self.open_front().is_empty()
    }
}

//! Texts for which the proposer has no new proposals: after a few consecutive proposals that were refused or known already, a text is given
//! up until a candidate is accepted.
//!
//! In: proposals without a new candidate. Out: the texts for which proposals are still requested. Depends only on outcomes.

use std::collections::BTreeMap;

use super::Search;
use crate::workbench::optimize::Component;

/// Number of consecutive proposals without a new text after which a text is given up.
const MOST_IN_A_ROW: u32 = 3;

/// Number of consecutive proposals without a new text, by component.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Refusals(BTreeMap<Component, u32>);

impl Refusals {
    /// Counts a proposal without a new text.
    pub(super) fn add(&mut self, component: &Component) {
        *self.0.entry(component.clone()).or_default() += 1;
    }

    /// Resets the count of a component after a new text.
    pub(super) fn remove(&mut self, component: &Component) {
        self.0.remove(component);
    }

    /// Resets all counts after a candidate was accepted: its other texts may lead to other proposals.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Search {
    /// Returns the number of consecutive proposals for a component that were refused or known already.
    pub fn refused_in_a_row(&self, component: &Component) -> u32 {
        self.refusals.0.get(component).copied().unwrap_or_default()
    }

    /// Returns whether no proposals are requested for a component until a candidate is accepted.
    pub fn is_given_up(&self, component: &Component) -> bool {
        self.refused_in_a_row(component) >= MOST_IN_A_ROW
    }

    /// Returns the components for which no proposals are requested until a candidate is accepted.
    pub fn given_up(&self) -> Vec<Component> {
        self.refusals.0.keys().filter(|component| self.is_given_up(component)).cloned().collect()
    }

    /// Returns the components of a candidate for which proposals are requested.
    pub(super) fn open_components(&self, candidate: usize) -> Vec<&Component> {
        let texts = self.candidates[candidate].texts.keys();
        texts.filter(|component| **component != Component::Examples && !self.is_given_up(component)).collect()
    }

    /// Returns the candidates of the front that can still be changed, with their weights.
    pub(super) fn open_front(&self) -> Vec<(usize, usize)> {
        let is_open = |one: usize| !self.open_components(one).is_empty() || self.examples_step(one).is_some();
        self.front().into_iter().filter(|(number, _)| is_open(*number)).collect()
    }

    /// Returns whether no candidate of the front can be changed any more; false while no proposal was refused.
    pub(super) fn is_exhausted(&self) -> bool {
        !self.refusals.0.is_empty() && self.open_front().is_empty()
    }
}

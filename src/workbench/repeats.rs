//! Runs of the same from the same place: how many are the same, and where the others part from the first one.
//!
//! In: their comparison. Out: numbers and places. Times and tokens are no difference.

use crate::event::Address;
use crate::session::diff::{Comparison, Divergence};

/// What runs of the same have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// How many are the same as the first one, itself included.
    pub same: usize,
    /// The earliest place at which one parts from the first one.
    pub first: Option<Divergence>,
    /// The last turn up to which all are the same.
    pub same_until: Option<Address>,
    /// Where each parts from the first one, in order; `None` for the first one and those that are the same.
    pub parted: Vec<Option<Divergence>>,
}

impl Repeats {
    /// Folds a comparison of such runs.
    pub fn of(comparison: &Comparison) -> Self {
        let parted: Vec<Option<Divergence>> =
            std::iter::once(None).chain(comparison.pairs.iter().map(|pair| pair.first.clone())).collect();
        let first = parted.iter().flatten().min_by(|one, other| one.at.cmp(&other.at)).cloned();
        let turns = comparison.columns.first().into_iter().flat_map(|column| &column.side.runs);
        let mut turns: Vec<Address> = turns.flat_map(|run| &run.turns).map(|turn| turn.address.clone()).collect();
        turns.retain(|turn| first.as_ref().is_none_or(|parting| *turn < parting.at));
        let same = parted.iter().filter(|parting| parting.is_none()).count();
        Self { same, first, same_until: turns.into_iter().max(), parted }
    }
}

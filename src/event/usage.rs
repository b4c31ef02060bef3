//! Usage: turns, requests, tokens and costs of runs.
//!
//! In: token counts with their prices. Out: sums. [`OwnUsage`] is that of one run, [`TotalUsage`] includes its child runs: the two are
//! different types, so that neither is taken for the other. It must never count a token twice, nor add costs of equal tokens in another
//! order.

use std::cmp::Ordering;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{Price, Tokens, Totals};

/// Turns, requests, tokens and costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spending {
    /// Turns.
    pub turns: u32,
    /// Requests (HTTP attempts where there are any).
    pub requests: u32,
    /// Tokens of all attempts; absent when no provider counted any.
    pub tokens: Option<Tokens>,
    /// The same tokens by price, in the order of the prices: sums of the same tokens are the same to the last bit.
    priced: Vec<(Option<Price>, Tokens)>,
}

impl Spending {
    /// Tokens at one price, and nothing else.
    pub fn of_tokens(price: Option<Price>, tokens: Tokens) -> Self {
        let mut spending = Self::default();
        spending.add_tokens(price, tokens);
        spending
    }

    /// Sets the counts.
    #[must_use]
    pub fn with_counts(self, turns: u32, requests: u32) -> Self {
        Self { turns, requests, ..self }
    }

    /// Adds tokens at a price; `None` = the price is not known.
    pub fn add_tokens(&mut self, price: Option<Price>, tokens: Tokens) {
        self.tokens = Some(self.tokens.map_or(tokens, |sum| sum.plus(&tokens)));
        match self.priced.binary_search_by(|(known, _)| by_price(*known, price)) {
            Ok(place) => self.priced[place].1 = self.priced[place].1.plus(&tokens),
            Err(place) => self.priced.insert(place, (price, tokens)),
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(mut self, more: &Self) -> Self {
        self.turns = self.turns.saturating_add(more.turns);
        self.requests = self.requests.saturating_add(more.requests);
        more.priced.iter().for_each(|(price, tokens)| self.add_tokens(*price, *tokens));
        self
    }

    /// The cost; `None` where nothing was counted or a price is not known.
    pub fn cost(&self) -> Option<f64> {
        let costs = self.priced.iter().map(|(price, tokens)| Some(price.as_ref()?.cost(tokens)));
        costs.reduce(|one, other| Some(one? + other?)).flatten()
    }

    /// The cost as far as prices are known.
    pub fn known_cost(&self) -> f64 {
        self.priced.iter().filter_map(|(price, tokens)| Some(price.as_ref()?.cost(tokens))).sum()
    }

    /// Turns, requests and tokens.
    pub fn totals(&self) -> Totals {
        Totals { turns: self.turns, requests: self.requests, tokens: self.tokens }
    }
}

fn by_price(one: Option<Price>, other: Option<Price>) -> Ordering {
    let key = |price: Option<Price>| {
        let numbers = |price: Price| [Some(price.input), Some(price.output), price.cached_input, price.cache_write];
        price.map(|price| numbers(price).map(|number| number.map(f64::to_bits)))
    };
    key(one).cmp(&key(other))
}

/// Replies that runs took from the cache, and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FromCache {
    /// Replies.
    pub replies: u32,
    /// Cost of these replies when they were made, in the price table's unit, as far as it is known. The figures of costs contain it.
    pub cost: f64,
}

impl FromCache {
    /// The sum.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self { replies: self.replies + more.replies, cost: self.cost + more.cost }
    }

    /// Returns the part of a cost that was paid now.
    pub fn spent(&self, cost: Option<f64>) -> f64 {
        (cost.unwrap_or_default() - self.cost).max(0.0)
    }

    /// Returns whether no reply came from the cache.
    pub fn is_nothing(&self) -> bool {
        self.replies == 0
    }
}

/// Usage of one run, without its child runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OwnUsage(Spending);

/// Usage of a run with all its child runs, or of several such runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TotalUsage(Spending);

impl OwnUsage {
    /// Usage of one run.
    pub fn new(spending: Spending) -> Self {
        Self(spending)
    }

    /// Adds the child runs.
    pub fn with_children<'c>(&self, children: impl IntoIterator<Item = &'c TotalUsage>) -> TotalUsage {
        TotalUsage(children.into_iter().fold(self.0.clone(), |sum, child| sum.plus(&child.0)))
    }
}

impl TotalUsage {
    /// The sum of runs, each counted by itself.
    pub fn of_runs(runs: impl IntoIterator<Item = OwnUsage>) -> Self {
        Self(runs.into_iter().fold(Spending::default(), |sum, run| sum.plus(&run.0)))
    }

    /// The sum of runs with their child runs.
    pub fn of_trees<'t>(trees: impl IntoIterator<Item = &'t Self>) -> Self {
        Self(trees.into_iter().fold(Spending::default(), |sum, tree| sum.plus(&tree.0)))
    }
}

impl From<OwnUsage> for Spending {
    fn from(own: OwnUsage) -> Self {
        own.0
    }
}

impl Deref for OwnUsage {
    type Target = Spending;

    fn deref(&self) -> &Spending {
        &self.0
    }
}

impl Deref for TotalUsage {
    type Target = Spending;

    fn deref(&self) -> &Spending {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spending(price: Option<f64>, input: u64) -> Spending {
        let price = price.map(|input| Price { input, ..Price::default() });
        Spending::of_tokens(price, Tokens { input, ..Tokens::default() })
    }

    #[test]
    fn the_order_of_the_sum_does_not_change_it() {
        let parts = [spending(Some(0.1), 3), spending(Some(0.7), 5), spending(Some(0.1), 7), spending(Some(0.3), 11)];
        let sum = |order: [usize; 4]| order.iter().fold(Spending::default(), |sum, place| sum.plus(&parts[*place]));
        let first = sum([0, 1, 2, 3]);
        assert_eq!(first.tokens.map(|tokens| tokens.total()), Some(26));
        for order in [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
            assert_eq!(sum(order), first);
            assert_eq!(sum(order).cost().map(f64::to_bits), first.cost().map(f64::to_bits));
        }
    }

    #[test]
    fn a_cost_is_known_when_every_price_is() {
        assert_eq!((Spending::default().cost(), Spending::default().known_cost()), (None, 0.0));
        let priced = spending(Some(2.0), 1_000_000);
        let mixed = priced.clone().plus(&spending(None, 5));
        assert_eq!((priced.cost(), mixed.cost(), mixed.known_cost()), (Some(2.0), None, 2.0));
    }

    #[test]
    fn own_and_total_differ_by_the_child_runs() {
        let own = OwnUsage::new(Spending { turns: 2, ..spending(Some(1.0), 10) });
        let child = OwnUsage::new(Spending { turns: 1, ..spending(Some(1.0), 4) });
        let total = own.with_children([&child.with_children([])]);
        assert_eq!((own.turns, total.turns), (2, 3));
        assert_eq!(total, TotalUsage::of_runs([own, child]));
    }
}

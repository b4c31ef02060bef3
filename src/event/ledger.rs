//! The ledger of a run: which models answered it, and what every attempt used.
//!
//! In: the events of one run, without those of its child runs. Out: names of models, and the usage of all attempts, those that failed or
//! were discarded included, each at the price of the model that was asked. Everything that shows or limits usage reads it. It must never
//! count a token twice: an attempt counts at its end, and the end of a turn adds only what no attempt has counted.

use super::{Event, ModelRecord, OwnUsage, Price, ReplyEnd, ReplyStatus, Spending, Tokens, Totals, TurnEnd};

/// Folds the events of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLedger {
    first: ModelRecord,
    /// The model that answers now, where it is another one.
    other: Option<Box<ModelRecord>>,
    /// The models that answered, each once, the last one at the end.
    names: Vec<String>,
    spent: Spending,
    /// A turn has begun and not ended.
    is_open: bool,
    /// Requests of the turn that has not ended.
    open_requests: u32,
    /// Tokens of that turn.
    open_tokens: Option<Tokens>,
}

impl ReplyEnd {
    /// The price of this attempt in a run that begins with this model.
    fn price(&self, first: &ModelRecord) -> Option<Price> {
        self.by.as_deref().unwrap_or(first).price
    }
}

/// The usage of a turn, given its attempts, its end and the model that its run begins with.
pub fn turn_spending<'e>(
    ends: impl IntoIterator<Item = &'e ReplyEnd>,
    turn: Option<&TurnEnd>,
    first: &ModelRecord,
) -> Spending {
    let mut ledger = RunLedger::new(first.clone());
    ends.into_iter().for_each(|end| ledger.add_attempt(end));
    if let Some(end) = turn {
        ledger.end_turn(&TurnEnd { totals: Totals::default(), ..end.clone() });
    }
    ledger.spent
}

impl RunLedger {
    /// The ledger of a run that begins with this model.
    pub fn new(first: ModelRecord) -> Self {
        Self { first, ..Self::default() }
    }

    /// Takes an event of the run.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::TurnStart(start) => self.is_open = start.is_allowed(),
            Event::ReplyEnd(end) => self.add_attempt(end),
            Event::TurnEnd(end) => self.end_turn(end),
            Event::RunEnd(end) => {
                // A stop ends the run inside a turn: what the turn used is used.
                self.close_turn();
                self.add_lost(&end.usage.totals);
            }
            _ => {}
        }
    }

    /// Takes the end of an attempt.
    fn add_attempt(&mut self, end: &ReplyEnd) {
        self.open_requests = self.open_requests.max(end.requests.max(1));
        if let Some(tokens) = end.usage {
            self.spent.add_tokens(end.price(&self.first), tokens);
            self.open_tokens = Some(self.open_tokens.map_or(tokens, |sum| sum.plus(&tokens)));
        }
        // The model of a reply that the user wrote is that of the reply that it replaces.
        if end.status == ReplyStatus::Discarded || end.model.as_deref() == Some(ReplyEnd::EDITOR) {
            return;
        }
        self.other.clone_from(&end.by);
        let name = self.model().alias.clone();
        self.names.retain(|known| *known != name);
        self.names.push(name);
    }

    /// Takes the end of a turn. Recordings that do not contain the ends of all attempts have the sum there.
    fn end_turn(&mut self, end: &TurnEnd) {
        self.is_open = true;
        if let (None, Some(tokens)) = (self.close_turn(), end.usage) {
            self.spent.add_tokens(self.model().price, tokens);
        }
        self.add_lost(&end.totals);
    }

    /// Counts the open turn, if there is one, and its requests. Returns the tokens of its attempts, which are counted already.
    fn close_turn(&mut self) -> Option<Tokens> {
        let turns = u32::from(std::mem::take(&mut self.is_open));
        self.spent.turns = self.spent.turns.saturating_add(turns);
        self.spent.requests = self.spent.requests.saturating_add(std::mem::take(&mut self.open_requests));
        self.open_tokens.take()
    }

    /// Adds what a damaged session has lost: running totals count it.
    fn add_lost(&mut self, totals: &Totals) {
        self.spent.turns = self.spent.turns.max(totals.turns);
        self.spent.requests = self.spent.requests.max(totals.requests);
        let counted = self.spent.tokens.unwrap_or_default();
        if let Some(recorded) = totals.tokens.filter(|recorded| recorded.total() > counted.total()) {
            self.spent.add_tokens(self.model().price, recorded.minus(&counted));
        }
    }

    /// The model that answered last, else the one that the run began with.
    pub fn model(&self) -> &ModelRecord {
        self.other.as_deref().unwrap_or(&self.first)
    }

    /// Names of the models that answered, the last one at the end, else of the one that is asked.
    pub fn models(&self) -> Vec<String> {
        if self.names.is_empty() { vec![self.first.alias.clone()] } else { self.names.clone() }
    }

    /// Like `models`, as one text: `small`, `small, large`.
    pub fn names(&self) -> String {
        self.models().join(", ")
    }

    /// Usage of all turns that have begun; of the open one as far as its attempts have ended.
    pub fn own(&self) -> OwnUsage {
        let turns = self.spent.turns.saturating_add(self.is_open.into());
        let requests = self.spent.requests.saturating_add(self.open_requests);
        OwnUsage::new(self.spent.clone().with_counts(turns, requests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{RunEnd, TurnStart, UsageRecord};

    fn model(alias: &str, price: f64) -> ModelRecord {
        let price = Some(Price { input: price, ..Price::default() });
        ModelRecord { alias: alias.to_owned(), price, ..ModelRecord::default() }
    }

    fn tokens(input: u64) -> Tokens {
        Tokens { input, ..Tokens::default() }
    }

    fn attempt(number: u32, status: ReplyStatus, by: Option<ModelRecord>, input: u64) -> ReplyEnd {
        ReplyEnd { by: by.map(Box::new), usage: Some(tokens(input)), requests: number, ..ReplyEnd::new(number, status) }
    }

    fn turn(ledger: &mut RunLedger, by: Option<ModelRecord>, input: u64) {
        ledger.apply(&attempt(1, ReplyStatus::Ok, by, input).into());
        ledger.apply(&TurnEnd { usage: Some(tokens(input)), ..TurnEnd::default() }.into());
    }

    fn seen(ledger: &RunLedger) -> (String, Option<f64>) {
        (ledger.names(), ledger.own().cost())
    }

    #[test]
    fn each_reply_is_paid_at_the_price_of_the_model_that_gave_it() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        assert_eq!(seen(&ledger), ("cheap".to_owned(), None));
        turn(&mut ledger, None, 1_000_000);
        turn(&mut ledger, Some(model("dear", 100.0)), 1_000_000);
        assert_eq!(seen(&ledger), ("cheap, dear".to_owned(), Some(101.0)));
        ledger.apply(&attempt(1, ReplyStatus::Ok, Some(model("dear", 100.0)), 10_000).into());
        assert_eq!(ledger.own().cost(), Some(102.0), "an open turn counts as far as its attempts have ended");
        turn(&mut ledger, Some(ModelRecord::default()), 5);
        assert_eq!(ledger.own().cost(), None, "one price is not known");
    }

    #[test]
    fn attempts_that_were_discarded_or_failed_count() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        for number in 1..=2 {
            ledger.apply(&attempt(number, ReplyStatus::Discarded, None, 1_000_000).into());
        }
        ledger.apply(&attempt(3, ReplyStatus::Error, Some(model("dear", 100.0)), 1_000_000).into());
        ledger.apply(&TurnEnd { usage: Some(tokens(3_000_000)), ..TurnEnd::default() }.into());
        let own = ledger.own();
        assert_eq!((own.turns, own.requests, own.tokens, own.cost()), (1, 3, Some(tokens(3_000_000)), Some(102.0)));
    }

    #[test]
    fn an_edited_reply_costs_what_the_original_did_and_names_no_model() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        ledger.apply(&attempt(1, ReplyStatus::Ok, Some(model("dear", 100.0)), 1_000_000).into());
        ledger
            .apply(&ReplyEnd { model: Some(ReplyEnd::EDITOR.to_owned()), ..ReplyEnd::new(2, ReplyStatus::Ok) }.into());
        ledger.apply(&TurnEnd { usage: Some(tokens(1_000_000)), ..TurnEnd::default() }.into());
        assert_eq!(seen(&ledger), ("dear".to_owned(), Some(100.0)));
    }

    #[test]
    fn a_run_that_a_stop_ended_inside_a_turn_counts_it_once_whatever_its_end_says() {
        let own = |turns: u32| {
            let mut ledger = RunLedger::new(model("cheap", 1.0));
            turn(&mut ledger, None, 1_000_000);
            ledger.apply(&TurnStart::default().into());
            ledger.apply(&attempt(1, ReplyStatus::Ok, None, 1_000_000).into());
            let before = ledger.own();
            let totals = Totals { turns, requests: 2, tokens: Some(tokens(2_000_000)) };
            ledger
                .apply(&RunEnd { usage: UsageRecord { totals, ..UsageRecord::default() }, ..RunEnd::default() }.into());
            assert_eq!(ledger.own(), before, "the end changes nothing");
            (ledger.own().totals(), ledger.own().cost())
        };
        let expected = (Totals { turns: 2, requests: 2, tokens: Some(tokens(2_000_000)) }, Some(2.0));
        // Earlier versions did not count the turn there.
        assert_eq!([own(2), own(1)], [expected, expected]);
    }

    #[test]
    fn a_turn_that_a_budget_did_not_allow_does_not_count() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        ledger.apply(&TurnStart { stop: Some("mission_timeout".to_owned()), ..TurnStart::default() }.into());
        ledger.apply(&RunEnd::default().into());
        assert_eq!(ledger.own().totals(), Totals::default());
    }

    #[test]
    fn a_model_that_never_answered_is_not_named() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        turn(&mut ledger, Some(model("dear", 100.0)), 1_000_000);
        assert_eq!(seen(&ledger), ("dear".to_owned(), Some(100.0)));
    }

    #[test]
    fn running_totals_count_what_lost_lines_counted() {
        let mut ledger = RunLedger::new(model("cheap", 1.0));
        let totals = Totals { turns: 3, requests: 4, tokens: Some(tokens(3_000_000)) };
        ledger.apply(&attempt(1, ReplyStatus::Ok, None, 1_000_000).into());
        ledger.apply(&TurnEnd { usage: Some(tokens(1_000_000)), totals, ..TurnEnd::default() }.into());
        let own = ledger.own();
        assert_eq!((own.totals(), own.cost()), (totals, Some(3.0)));
    }
}

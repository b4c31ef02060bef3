//! The bill of a run: which models answered it, and what their replies cost.
//!
//! In: the events of one run, without those of child runs. Out: names, and costs at the price of the model that answered. A run may continue
//! with a run from another model than it began with. It must never count a token twice: only ends of turns count.

use super::{Event, ModelRecord, Price, ReplyEnd, ReplyStatus, Tokens};

/// Folds the events of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bill {
    first: ModelRecord,
    /// Who answers now, where it is another one.
    other: Option<Box<ModelRecord>>,
    /// Who answered, each once, the last one at the end.
    names: Vec<String>,
    bought: Vec<(Option<Price>, Tokens)>,
}

impl Bill {
    /// Of a run that begins with this model.
    pub fn new(first: ModelRecord) -> Self {
        Self { first, ..Self::default() }
    }

    /// Takes an event of the run.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ReplyEnd(end) => self.answered(end),
            Event::TurnEnd(end) => self.add(end.usage),
            _ => {}
        }
    }

    /// Takes the end of a reply.
    pub fn answered(&mut self, end: &ReplyEnd) {
        // A reply that the user wrote in place of another has no model, and costs what the other did.
        if end.status == ReplyStatus::Discarded || end.model.as_deref() == Some(ReplyEnd::EDITOR) {
            return;
        }
        self.other.clone_from(&end.by);
        let name = self.model().alias.clone();
        self.names.retain(|known| *known != name);
        self.names.push(name);
    }

    /// Tokens of a turn that ended.
    pub fn add(&mut self, tokens: Option<Tokens>) {
        let Some(tokens) = tokens else { return };
        let price = self.model().price;
        match self.bought.iter_mut().find(|(known, _)| *known == price) {
            Some((_, sum)) => *sum = sum.plus(&tokens),
            None => self.bought.push((price, tokens)),
        }
    }

    /// The model that answered last, else the one that the run began with.
    pub fn model(&self) -> &ModelRecord {
        self.other.as_deref().unwrap_or(&self.first)
    }

    /// What these tokens of a turn that answered last cost; `None` where the price or the count is not known.
    pub fn cost_of(&self, tokens: Option<Tokens>) -> Option<f64> {
        Some(self.model().price?.cost(&tokens?))
    }

    /// Names of the models that answered, the last one at the end, else of the one that is asked.
    pub fn models(&self) -> Vec<String> {
        if self.names.is_empty() { vec![self.first.alias.clone()] } else { self.names.clone() }
    }

    /// The same in one text: `small`, `small, large`.
    pub fn names(&self) -> String {
        self.models().join(", ")
    }

    /// The cost so far as far as prices are known, with these tokens of a turn that has not ended.
    pub fn known_cost(&self, open: Tokens) -> f64 {
        let all = self.bought.iter().copied().chain([(self.model().price, open)]);
        all.filter_map(|(price, tokens)| Some(price?.cost(&tokens))).sum()
    }

    /// The cost so far, with these tokens of a turn that has not ended; `None` where nothing was counted or a price is not known.
    pub fn cost(&self, open: Option<Tokens>) -> Option<f64> {
        let open = open.map(|tokens| (self.model().price, tokens));
        let all = self.bought.iter().copied().chain(open);
        all.map(|(price, tokens)| Some(price?.cost(&tokens))).reduce(|one, other| Some(one? + other?)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TurnEnd;

    fn model(alias: &str, price: f64) -> ModelRecord {
        let price = Some(Price { input: price, ..Price::default() });
        ModelRecord { alias: alias.to_owned(), price, ..ModelRecord::default() }
    }

    fn turn(bill: &mut Bill, by: Option<ModelRecord>, input: u64) {
        let usage = Some(Tokens { input, ..Tokens::default() });
        bill.apply(&ReplyEnd { by: by.map(Box::new), ..ReplyEnd::new(1, ReplyStatus::Ok) }.into());
        bill.apply(&TurnEnd { usage, ..TurnEnd::default() }.into());
    }

    #[test]
    fn each_reply_is_paid_at_the_price_of_the_model_that_gave_it() {
        let mut bill = Bill::new(model("cheap", 1.0));
        assert_eq!((bill.names(), bill.cost(None)), ("cheap".to_owned(), None));
        turn(&mut bill, None, 1_000_000);
        turn(&mut bill, Some(model("dear", 100.0)), 1_000_000);
        assert_eq!((bill.names(), bill.cost(None)), ("cheap, dear".to_owned(), Some(101.0)));
        assert_eq!(bill.cost(Some(Tokens { input: 10_000, ..Tokens::default() })), Some(102.0));
        turn(&mut bill, Some(ModelRecord::default()), 5);
        assert_eq!(bill.cost(None), None, "one price is not known");
    }

    #[test]
    fn what_a_person_wrote_costs_what_the_reply_did_and_is_nobodys() {
        let mut bill = Bill::new(model("cheap", 1.0));
        bill.apply(&ReplyEnd { by: Some(Box::new(model("dear", 100.0))), ..ReplyEnd::new(1, ReplyStatus::Ok) }.into());
        bill.apply(&ReplyEnd { model: Some(ReplyEnd::EDITOR.to_owned()), ..ReplyEnd::new(2, ReplyStatus::Ok) }.into());
        let usage = Some(Tokens { input: 1_000_000, ..Tokens::default() });
        bill.apply(&TurnEnd { usage, ..TurnEnd::default() }.into());
        assert_eq!((bill.names(), bill.cost(None)), ("dear".to_owned(), Some(100.0)));
    }

    #[test]
    fn a_model_that_never_answered_is_not_named() {
        let mut bill = Bill::new(model("cheap", 1.0));
        turn(&mut bill, Some(model("dear", 100.0)), 1_000_000);
        assert_eq!((bill.names(), bill.cost(None)), ("dear".to_owned(), Some(100.0)));
    }
}

//! Events become cards, one by one, live and from a file alike.

use super::card::{self, Card, EndCard, Messages, TURN_CELLS, TurnCard, turn_cards};
use super::partial::Reading;
use super::{Cell, Facts, Transcript};
use crate::event::{Address, Envelope, Event, Message, MessagePart, PartKind, ReplyStatus, RunEnd, Source};
use crate::tui::backend::{OpenSession, SentMessage, TurnOutline};

/// Which of a turn's cells.
const REQUEST: usize = 0;
const REASONING: usize = 1;
const TURN: usize = 2;
const FEEDBACK: usize = 3;

impl Transcript {
    /// A saved session: heads and tails of its runs, and one unread card per turn.
    pub fn of_session(session: &OpenSession) -> Self {
        let mut transcript = Self::default();
        for run in &session.runs {
            for envelope in &run.head {
                transcript.apply(envelope);
            }
            for turn in &run.turns {
                transcript.start_turn(&turn.address, 0, Some(turn.clone()));
                transcript.facts.turn = turn.address.turn_number().unwrap_or_default();
            }
            for envelope in &run.tail {
                transcript.apply(envelope);
            }
            transcript.facts.last_ms = run.last_ms;
        }
        transcript.close();
        transcript.go_top();
        transcript
    }

    /// Nothing more will come: what has no end was not finished.
    pub fn close(&mut self) {
        self.facts.closed = true;
        for cell in &mut self.cells {
            cell.over = true;
        }
    }

    /// Takes one event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let at = &envelope.address;
        self.facts.last_ms = envelope.at_ms;
        match &envelope.event {
            Event::RunStart(start) => {
                self.facts = Facts {
                    run: Some(at.clone()),
                    agent: start.agent.name.clone(),
                    mode: start.mode.clone(),
                    model: start.model.alias.clone(),
                    max_turns: start.limits.iter().find(|(name, _)| name == "max_turns").map(|(_, value)| *value),
                    price: start.model.price,
                    started_ms: envelope.at_ms,
                    last_ms: envelope.at_ms,
                    ..Facts::default()
                };
                self.push(at, Card::Start(Box::new(start.clone())), false);
            }
            // A budget does not allow the turn: nothing is asked, the end of the run says why.
            Event::TurnStart(start) if start.stop.is_some() => {}
            Event::TurnStart(_) => {
                self.facts.turn = at.turn_number().unwrap_or_default();
                self.start_turn(at, envelope.at_ms, None);
            }
            Event::RunEnd(end) => self.end_run(envelope, end),
            Event::Message(message) => self.message(at, message),
            Event::Notice(notice) if !self.turns.contains_key(at) => {
                self.push(at, Card::Notice { level: notice.level.clone(), text: notice.text.clone() }, true);
            }
            Event::Unknown(unknown) if !self.turns.contains_key(at) => {
                let card = Card::Unknown { kind: unknown.kind.clone(), data: unknown.data.get().to_owned() };
                self.push(at, card, false);
            }
            event => self.turn_event(at, envelope.at_ms, event),
        }
    }

    /// The events of an unread turn, and what was sent in it.
    pub fn read_turn(&mut self, turn: &Address, events: &[Envelope], request: Option<Vec<SentMessage>>) {
        let Some(&base) = self.turns.get(turn) else { return };
        let started_ms = events.first().map_or(0, |envelope| envelope.at_ms);
        for (place, card) in turn_cards(turn, started_ms, None).into_iter().enumerate() {
            self.cells[base + place].card = card;
            self.touch(base + place);
        }
        let facts = self.facts.clone();
        for envelope in events.iter().filter(|envelope| !matches!(envelope.event, Event::TurnStart(_))) {
            self.apply(envelope);
        }
        self.facts = facts;
        if let Card::Turn(card) = &mut self.cells[base + TURN].card {
            card.last_ms = events.last().map_or(0, |envelope| envelope.at_ms);
        }
        if let (Some(messages), Card::Request(card)) = (request, &mut self.cells[base + REQUEST].card) {
            card.sizes = card::sizes(&messages);
            card.messages = Messages::Read(messages);
        }
        self.see_all();
    }

    /// What came of reading a turn that could not be read.
    pub fn fail_turn(&mut self, turn: &Address, message: &str) {
        let Some(&base) = self.turns.get(turn) else { return };
        if let Card::Turn(card) = &mut self.cells[base + TURN].card {
            card.outline = None;
            card.notices.push(("warning".to_owned(), message.to_owned()));
        }
        self.touch(base + TURN);
    }

    /// The turn's card, to be changed.
    pub(super) fn turn_mut(&mut self, at: &Address) -> Option<&mut TurnCard> {
        let index = self.turns.get(at)? + TURN;
        self.touch(index);
        match &mut self.cells[index].card {
            Card::Turn(card) => Some(card),
            _ => None,
        }
    }

    fn start_turn(&mut self, at: &Address, started_ms: i64, outline: Option<TurnOutline>) {
        self.turns.insert(at.clone(), self.cells.len());
        for card in turn_cards(at, started_ms, outline) {
            let open = matches!(card, Card::Turn(_));
            self.push(at, card, open);
        }
    }

    fn push(&mut self, at: &Address, card: Card, open: bool) {
        let hidden = matches!(card, Card::Reasoning(_) | Card::Feedback(_));
        self.cells.push(Cell::new(at.clone(), card, open));
        self.heights.push(usize::from(!hidden));
    }

    /// A cell has changed: its layout is out of date.
    pub(super) fn touch(&mut self, index: usize) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.version += 1;
        }
    }

    fn message(&mut self, at: &Address, message: &Message) {
        let sections = message
            .parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { section, text, .. } => (section.clone(), text.clone()),
                MessagePart::Reply { reply } => ("reply".to_owned(), self.reply(reply)),
                MessagePart::Call { call } => ("call".to_owned(), call.to_string()),
                MessagePart::Result { result, .. } => ("result".to_owned(), result.clone()),
            })
            .collect();
        let sent = SentMessage { role: message.role, sections };
        if message.source == Source::Feedback
            && let Some(base) = self.turns.get(at).copied()
        {
            let text = sent.sections.iter().map(|(_, text)| text.as_str()).collect();
            self.cells[base + FEEDBACK].card = Card::Feedback(text);
            self.touch(base + FEEDBACK);
        }
        self.store.insert(at.run_part(), message.m, sent);
    }

    fn reply(&self, turn: &Address) -> String {
        match self.turns.get(turn).and_then(|base| self.cells.get(base + TURN)).map(|cell| &cell.card) {
            Some(Card::Turn(card)) => card.reply().to_owned(),
            _ => String::new(),
        }
    }

    fn end_run(&mut self, envelope: &Envelope, end: &RunEnd) {
        self.facts.tokens = end.usage.totals.tokens.or(self.facts.tokens);
        self.facts.end = Some(end.fail.clone().map_or(Ok(()), Err));
        let card =
            EndCard { end: end.clone(), elapsed_ms: self.facts.elapsed_ms(envelope.at_ms), cost: self.facts.cost() };
        for cell in self.cells.iter_mut().rev().take_while(|cell| !matches!(cell.card, Card::Start(_))) {
            cell.over = true;
        }
        self.push(&envelope.address, Card::End(Box::new(card)), true);
    }

    fn turn_event(&mut self, at: &Address, at_ms: i64, event: &Event) {
        let Some(base) = self.turns.get(at).copied() else { return };
        match event {
            Event::RequestMade(made) => {
                let sizes = card::sizes(self.store.ranges(&at.run_part(), &made.messages));
                if let Card::Request(card) = &mut self.cells[base + REQUEST].card {
                    card.sizes = sizes;
                    card.messages = Messages::Ranges(made.messages.clone());
                    card.schema.clone_from(&made.schema);
                    card.options = made.options.clone();
                }
                self.touch(base + REQUEST);
            }
            Event::ReplyPart(part) if part.kind == PartKind::Reasoning => {
                if let Card::Reasoning(text) = &mut self.cells[base + REASONING].card {
                    text.push_str(&part.text);
                }
                self.touch(base + REASONING);
            }
            Event::TurnEnd(end) => self.facts.tokens = end.totals.tokens.or(self.facts.tokens),
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                self.cells[base + REASONING].card = Card::Reasoning(String::new());
                self.touch(base + REASONING);
            }
            _ => {}
        }
        if let Some(card) = self.turn_mut(at) {
            card.last_ms = card.last_ms.max(at_ms);
            card.apply(at_ms, event);
        }
    }

    /// The turn's cells that were never read from the file and are seen now.
    pub(super) fn outline_of(&self, index: usize) -> Option<&TurnOutline> {
        let cell = self.cells.get(index)?;
        let base = self.turns.get(&cell.at)?;
        match &self.cells.get(base + TURN)?.card {
            Card::Turn(card) if (*base..base + TURN_CELLS).contains(&index) => card.outline.as_ref(),
            _ => None,
        }
    }
}

impl TurnCard {
    fn apply(&mut self, at_ms: i64, event: &Event) {
        match event {
            Event::Sent(sent) => {
                self.wait = None;
                self.attempt(sent.attempt).sent = Some(sent.clone());
            }
            Event::Wire(wire) => self.attempt(wire.attempt).wire = Some(wire.clone()),
            Event::RetryWait(wait) => {
                let until_ms = at_ms.saturating_add_unsigned(wait.wait_ms);
                self.wait = Some((wait.clone(), until_ms));
            }
            Event::ReplyPart(part) => {
                self.wait = None;
                self.asked = false;
                if part.kind == PartKind::Text {
                    let begun = self.attempt(part.attempt).reading.take();
                    let mut reading = begun.unwrap_or_else(|| Reading::new(self.schema.as_ref()));
                    reading.take(&part.text);
                    let attempt = self.attempt(part.attempt);
                    attempt.text.push_str(&part.text);
                    attempt.reading = Some(reading);
                }
            }
            Event::ReplyEnd(end) => {
                self.wait = None;
                self.asked = false;
                self.attempt(end.attempt).end = Some(end.clone());
            }
            Event::Extract(extract) => self.extract = Some(extract.clone()),
            Event::Check(check) => self.checks.push(check.clone()),
            Event::Interrupt(interrupt) => self.interrupts.push(interrupt.clone()),
            Event::Notice(notice) => self.notices.push((notice.level.clone(), notice.text.clone())),
            Event::Unknown(unknown) => self.unknown.push((unknown.kind.clone(), unknown.data.get().to_owned())),
            Event::TurnEnd(end) => {
                self.wait = None;
                self.asked = false;
                self.end = Some(end.clone());
            }
            _ => {}
        }
    }
}

//! Events become cards, one by one, live and from a file alike.
//!
//! Cards are in the order of their starts, those of concurrent agents in the order of their addresses. A child run that starts inside a
//! turn parts it: its reply and calls stay before the cards of the child run, its outcome follows them.

use super::card::{CapturedHead, Card, EndCard, Part, RequestCard, TurnCard, turn_cards};
use super::pieces::{Piece, Pieces};
use super::places::TurnCells;
use super::{Cell, Facts, Transcript};
use crate::agent::{Ruling, edited_start};
use crate::event::{
    Address, Edit, Envelope, Event, MessageAdded, MessagePart, Notice, NoticeLevel, PartKind, ReplyStatus, RequestMade,
    RunEnd, RunLedger, RunStart, RunText, SentMessage, Source, ToolEnd,
};
use crate::workbench::{Budget, OpenSession, RunOutline, next_step};

/// Room for the cells that no turn has.
const SPARE_CELLS: usize = 64;

impl Transcript {
    /// A saved session: heads and tails of its runs, and one unread card per turn.
    pub fn of_session(session: &OpenSession) -> Self {
        let mut transcript = Self::default();
        if let Some(parent) = &session.summary.parent {
            let place = parent.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
            transcript.come_from(&format!("{} of {}{place}", parent.kind.name(), parent.session));
        }
        // A long session grows little after it was opened, and room for twice its cells would be most of what it takes.
        let turns: usize = session.runs.iter().map(|run| run.turns.len()).sum();
        transcript.cells.reserve_exact(turns + SPARE_CELLS);
        transcript.heights.reserve_exact(turns + SPARE_CELLS);
        for run in &session.runs {
            transcript.turns.reserve_exact(&run.address, run.turns.len());
        }
        for (run, piece) in Pieces::of(&session.runs) {
            transcript.place(run, piece);
        }
        transcript.show_rulings(&session.rulings);
        transcript.close();
        transcript.go_top();
        transcript
    }

    /// Adds what judges found to the end of the last root run.
    fn show_rulings(&mut self, rulings: &[Ruling]) {
        let mut ends = self.cells.iter_mut().rev().filter(|cell| !cell.at.is_call());
        let last = ends.find_map(|cell| if let Card::End(card) = &mut cell.card { Some(card) } else { None });
        if let Some(card) = last {
            card.judged = rulings.iter().map(|ruling| format!("{}: {}", ruling.rubric, ruling.line())).collect();
        }
    }

    fn place(&mut self, run: &RunOutline, piece: Piece) {
        match piece {
            Piece::Head => run.head.iter().for_each(|envelope| self.take(envelope)),
            Piece::Turn(number) => {
                let turn = &run.turns[number];
                if turn.address.depth() == 0 {
                    self.facts.turn = turn.address.turn_number().unwrap_or_default();
                }
                self.outline_turn(turn);
            }
            Piece::After(number) => self.part_turn(&run.turns[number].address),
            Piece::Tail => {
                // Most events are unread: the outline contains how long nothing ran.
                self.leave_out(&run.address, run.gap_ms);
                self.ledgers.insert(run.address.clone(), run.ledger.clone());
                self.show_usage(&run.address);
                run.tail.iter().for_each(|envelope| self.take(envelope));
                if !run.address.is_call() {
                    self.facts.last_ms = run.last_ms;
                }
            }
        }
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
        let gap_ms = self.gaps.before(envelope);
        if gap_ms > 0 {
            self.leave_out(&envelope.address.root(), gap_ms);
            for turn in self.moving.clone() {
                self.cards_of(&turn)
                    .for_each(|card| card.record.started_ms = card.record.started_ms.saturating_add(gap_ms));
            }
        }
        let overview = self.overview.get_or_insert_default();
        overview.apply(envelope);
        if matches!(envelope.event, Event::TurnEnd(_)) {
            overview.refresh();
        }
        self.charge(envelope);
        self.take(envelope);
        self.facts.waits = self.gaps.is_open();
        match &envelope.event {
            Event::Edit(edit) => {
                self.readers.edited(&envelope.address, edit);
                self.take_limits(&envelope.run(), edit);
            }
            Event::ToolEnd(ToolEnd { error: Some(error), .. }) => {
                self.refused.insert(envelope.run(), error.clone());
            }
            Event::RequestMade(made) => self.give_reader(&envelope.address.turn_part(), made),
            _ => {}
        }
    }

    /// The limits of a run may be edited.
    fn take_limits(&mut self, run: &Address, edit: &Edit) {
        let Some(start) = self.starts.get_mut(run) else { return };
        let Some(edited) = edited_start(start, edit) else { return };
        *start = edited;
        if self.facts.run.as_ref() == Some(run) {
            (self.facts.max_turns, self.facts.budget) = (start.limit("max_turns"), Budget::of(start));
        }
    }

    /// Adds an event to the ledger of its run.
    fn charge(&mut self, envelope: &Envelope) {
        let run = envelope.run();
        let Some(ledger) = self.ledgers.get_mut(&run) else { return };
        ledger.apply(&envelope.event);
        if matches!(envelope.event, Event::ReplyEnd(_) | Event::TurnEnd(_) | Event::RunEnd(_)) {
            self.show_usage(&run);
        }
    }

    /// A turn with a pending request can show how a reply would be read.
    fn give_reader(&mut self, turn: &Address, made: &RequestMade) {
        let run = turn.run_part();
        let Some(start) = self.starts.get(&run) else { return };
        let is_read = |number| {
            let cell = self.turn_index(&run.turn(number)).and_then(|index| self.cells.get(index));
            cell.is_some_and(|cell| matches!(cell.card, Card::Turn(_)))
        };
        if !(1..turn.turn_number().unwrap_or_default()).all(is_read) {
            return;
        }
        let asked = crate::engine::Turn {
            want: made.want.name().to_owned(),
            kind: self.turn_card(turn).map(|card| card.record.kind_name().to_owned()).unwrap_or_default(),
            offers: made.tools.iter().map(|tool| tool.name.clone()).collect(),
            memory: self.definitions.names(&run),
        };
        let reader = self.readers.of(&run, start, asked);
        self.cards_of(turn).for_each(|card| card.reader.clone_from(&reader));
    }

    /// Time in which nothing ran does not count for this run and its child runs.
    fn leave_out(&mut self, run: &Address, gap_ms: i64) {
        let open = self.started.iter_mut().filter(|(address, _)| address.is_within(run));
        open.for_each(|(_, started_ms)| *started_ms = started_ms.saturating_add(gap_ms));
        if self.facts.run.as_ref() == Some(run) {
            self.facts.started_ms = self.facts.started_ms.saturating_add(gap_ms);
        }
    }

    pub(super) fn take(&mut self, envelope: &Envelope) {
        let at = &envelope.address;
        let turn = at.turn_part();
        self.facts.last_ms = envelope.at_ms;
        let replaced = self.definitions.apply(envelope);
        match &envelope.event {
            Event::RunStart(start) => self.start_run(at, start, envelope.at_ms),
            // A budget does not allow the turn: no request is made, the end of the run has the reason.
            Event::TurnStart(start) if start.stop.is_some() => {}
            Event::TurnStart(start) => {
                if at.depth() == 0 {
                    self.facts.turn = at.turn_number().unwrap_or_default();
                }
                self.start_turn(at, envelope.at_ms);
                self.cards_of(at).for_each(|card| card.record.kind.clone_from(&start.kind));
            }
            Event::RunEnd(end) => self.end_run(envelope, end),
            Event::MessageAdded(message) => self.message(at, message),
            Event::Notice(notice) if !self.turns.contains(at) => {
                self.push(at, Card::Notice(Box::new(notice.clone())), true);
            }
            Event::Edit(edit) if !self.turns.contains(&turn) => {
                let text = format!("✎ {} edited by {} at {}", edit.target, edit.by, edit.at);
                self.push(at, Card::Notice(Box::new(Notice { level: NoticeLevel::Info, text })), true);
            }
            Event::RunWait(wait) => {
                let text = format!("the run waits for the answer to {}", wait.question);
                self.push(at, Card::Notice(Box::new(Notice { level: NoticeLevel::Warning, text })), true);
            }
            Event::Unknown(unknown) if !self.turns.contains(&turn) => {
                self.push(at, Card::Unknown(Box::new(unknown.clone())), false);
            }
            _ => self.turn_event(&turn, envelope),
        }
        if !replaced.is_empty() {
            self.set_replaced(&turn, &replaced);
        }
    }

    /// The values in short that a turn's definitions replaced. A turn that was read alone does not know them by itself.
    pub fn set_replaced(&mut self, turn: &Address, replaced: &[(String, String)]) {
        self.cards_of(turn).for_each(|card| card.replaced = replaced.to_vec());
    }

    fn start_run(&mut self, at: &Address, start: &RunStart, at_ms: i64) {
        self.started.insert(at.clone(), at_ms);
        self.starts.insert(at.clone(), start.clone());
        self.ledgers.insert(at.clone(), RunLedger::new(start.model.clone()));
        if !at.is_call() {
            let earlier_ms = self.facts.all_elapsed_ms(self.facts.last_ms);
            self.facts = Facts {
                all: self.all_runs(earlier_ms),
                run: Some(at.clone()),
                agent: start.agent.name.clone(),
                mode: start.mode.clone(),
                model: start.model.alias.clone(),
                max_turns: start.limit("max_turns"),
                budget: Budget::of(start),
                started_ms: at_ms,
                last_ms: at_ms,
                ..Facts::default()
            };
            return self.push(at, Card::Start(Box::new(start.clone())), false);
        }
        // Only the part before the child run stays there.
        if let Some(card) = self.turn_mut(&at.turn_part())
            && card.part == Part::Whole
        {
            card.part = Part::Before;
        }
        self.push(at, Card::Start(Box::new(start.clone())), true);
    }

    /// Names of the tools that the model could call natively in a turn.
    pub fn tools_of(&self, turn: &Address) -> Vec<String> {
        let request = self.turns.get(turn).and_then(TurnCells::request).and_then(|request| self.cells.get(request));
        match request.map(|cell| &cell.card) {
            Some(Card::Request(Some(card))) => card.tools.iter().map(|tool| tool.name.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Position of the card of a turn.
    pub(super) fn turn_index(&self, turn: &Address) -> Option<usize> {
        self.turns.get(turn).map(TurnCells::own)
    }

    /// The request of a turn, to be changed.
    pub(super) fn request_mut(&mut self, turn: &Address) -> Option<&mut RequestCard> {
        let index = self.turns.get(turn)?.request()?;
        self.touch(index);
        match &mut self.cells.get_mut(index)?.card {
            Card::Request(card) => Some(card.get_or_insert_default()),
            _ => None,
        }
    }

    /// The reasoning of a turn, to be changed.
    fn reasoning_mut(&mut self, turn: &Address) -> Option<&mut String> {
        let index = self.turns.get(turn)?.reasoning()?;
        self.touch(index);
        match &mut self.cells.get_mut(index)?.card {
            Card::Reasoning(text) => Some(text),
            _ => None,
        }
    }

    /// The turn's card, to be changed.
    pub(super) fn turn_mut(&mut self, at: &Address) -> Option<&mut TurnCard> {
        let index = self.turn_index(at)?;
        self.touch(index);
        match &mut self.cells[index].card {
            Card::Turn(card) => Some(card),
            _ => None,
        }
    }

    /// The turn's card, and the card of its outcome when the turn is parted.
    pub(super) fn cards_of(&mut self, at: &Address) -> impl Iterator<Item = &mut TurnCard> {
        let found = self.turns.get(at);
        let (turn, after) = (found.map(TurnCells::own), found.and_then(TurnCells::after));
        turn.into_iter().chain(after).for_each(|index| self.touch(index));
        // This runs for every piece of a reply: it must not look at all cells.
        let place = after.unwrap_or(self.cells.len());
        let (before, behind) = self.cells.split_at_mut(place);
        let behind = behind.first_mut().filter(|_| after.is_some());
        turn.and_then(|turn| before.get_mut(turn)).into_iter().chain(behind).filter_map(|cell| match &mut cell.card {
            Card::Turn(card) => Some(&mut **card),
            _ => None,
        })
    }

    /// The outcome of a turn goes here, after its child runs.
    fn part_turn(&mut self, turn: &Address) {
        let card = self.after_card(turn);
        match self.turn_index(turn).map(|index| &mut self.cells[index].card) {
            Some(Card::Turn(card)) => card.part = Part::Before,
            Some(Card::Unread(_, part)) => *part = Part::Before,
            _ => {}
        }
        self.turn_index(turn).into_iter().for_each(|index| self.touch(index));
        let after = self.place_of(turn);
        self.push(turn, card, true);
        self.push(turn, Card::Feedback(String::new()), false);
        if let Some(cells) = self.turns.get(turn) {
            self.turns.insert(turn, cells.parted(after));
        }
    }

    /// The card of a turn's outcome, with the content of the turn's card.
    fn after_card(&self, turn: &Address) -> Card {
        match self.turn_index(turn).and_then(|index| self.cells.get(index)).map(|cell| &cell.card) {
            Some(Card::Turn(card)) => Card::Turn(Box::new(TurnCard { part: Part::After, ..(**card).clone() })),
            Some(Card::Unread(outline, _)) => Card::Unread(outline.clone(), Part::After),
            _ => Card::Turn(Box::default()),
        }
    }

    pub(super) fn start_turn(&mut self, at: &Address, started_ms: i64) {
        let first = self.place_of(at);
        self.moving.push(at.clone());
        for card in turn_cards(Card::Turn(Box::new(TurnCard::begun(at, started_ms)))) {
            let open = matches!(card, Card::Turn(_));
            self.push(at, card, open);
        }
        self.turns.insert(at, TurnCells::from(first));
    }

    pub(super) fn push(&mut self, at: &Address, card: Card, open: bool) {
        let empty = matches!(card, Card::Reasoning(_) | Card::Feedback(_));
        let starts = matches!(card, Card::Start(_));
        let mut cell = Cell::new(at.clone(), card, open);
        cell.hidden = self.folded.iter().any(|run| at.is_within(run) && !(starts && at == run));
        let height = usize::from(!empty && !cell.hidden);
        self.insert(self.place_of(at), [(cell, height)]);
    }

    /// Shows or hides what lies inside a run whose start was folded or unfolded.
    pub(super) fn fold_run(&mut self, start: usize) {
        let Some(cell) = self.cells.get(start) else { return };
        if !(matches!(cell.card, Card::Start(_)) && cell.at.is_call()) {
            return;
        }
        let (run, open) = (cell.at.clone(), cell.open);
        self.folded.retain(|folded| *folded != run);
        if !open {
            self.folded.push(run.clone());
        }
        for (index, cell) in
            self.cells.iter_mut().enumerate().skip(start + 1).filter(|(_, cell)| cell.at.is_within(&run))
        {
            let starts = matches!(cell.card, Card::Start(_));
            cell.hidden = self.folded.iter().any(|run| cell.at.is_within(run) && !(starts && cell.at == *run));
            self.heights.set(index, if cell.hidden { 0 } else { cell.height() });
        }
    }

    /// A cell has changed: its layout is out of date.
    pub(super) fn touch(&mut self, index: usize) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.version += 1;
        }
    }

    fn message(&mut self, at: &Address, message: &MessageAdded) {
        let sent = SentMessage::of(message, &self.repeated(message));
        if message.source == Source::Feedback && self.turns.contains(at) {
            let text = sent.text();
            self.follows_child_runs(at);
            if let Some(index) = self.turns.get(at).and_then(TurnCells::feedback) {
                self.cells[index].card = Card::Feedback(text);
                self.touch(index);
            }
        }
        self.store.insert(at.run_part(), message.m, sent);
    }

    /// The replies that a message repeats.
    fn repeated(&self, message: &MessageAdded) -> RunText {
        let replies = message.parts.iter().filter_map(|part| match part {
            MessagePart::Reply { reply } => Some((reply.clone(), self.turn_card(reply)?.repeated_reply())),
            _ => None,
        });
        replies.collect()
    }

    fn end_run(&mut self, envelope: &Envelope, end: &RunEnd) {
        let at = &envelope.address;
        let start = self.cells.iter().rposition(|cell| cell.at == *at && matches!(cell.card, Card::Start(_)));
        for cell in self.cells.iter_mut().skip(start.unwrap_or_default()).filter(|cell| cell.at.is_within(at)) {
            cell.over = true;
        }
        let refused = self.refused.get(at);
        let next = next_step(self.starts.get(at).unwrap_or(&RunStart::default()), end, refused);
        let usage = self.usage_of(|address| address.is_within(at));
        let child_usage = self.usage_of(|address| address != at && address.is_within(at));
        let elapsed_ms = if at.is_call() {
            let started_ms = self.started.get(at).copied().unwrap_or(envelope.at_ms);
            crate::event::elapsed_ms(started_ms, envelope.at_ms)
        } else {
            self.facts.end = Some(end.fail.clone().map_or(Ok(()), Err));
            self.recorded_ms.unwrap_or_else(|| self.facts.elapsed_ms(envelope.at_ms))
        };
        let card = EndCard { end: end.clone(), elapsed_ms, usage, child_usage, next, judged: Vec::new() };
        self.push(at, Card::End(Box::new(card)), true);
    }

    /// An event of a split turn after its child runs.
    fn follows_child_runs(&mut self, turn: &Address) {
        let parted = self.turn_index(turn).and_then(|index| self.cells.get(index)).map(|cell| &cell.card);
        let begun = matches!(parted, Some(Card::Turn(card)) if card.part == Part::Before);
        if begun && self.turns.get(turn).is_some_and(|cells| cells.after().is_none()) {
            self.part_turn(turn);
        }
    }

    pub(super) fn turn_event(&mut self, turn: &Address, envelope: &Envelope) {
        if !self.turns.contains(turn) {
            return;
        }
        match &envelope.event {
            Event::RequestMade(made) => {
                let mut made_card = RequestCard::of(made);
                made_card.count(self.store.ranges(&turn.run_part(), &made.messages));
                if let Some(card) = self.request_mut(turn) {
                    *card = made_card;
                }
            }
            Event::RawRequest(raw) => {
                if let Some(card) = self.request_mut(turn) {
                    card.captured = Some(CapturedHead::of(raw));
                }
            }
            Event::ToolCall(_) if turn.depth() == 0 => self.facts.calls += 1,
            Event::PlanState(plan) if turn.depth() == 0 => {
                let done = plan.items.iter().filter(|(.., done)| done.is_some()).count();
                self.facts.plan = Some((done, plan.items.len()));
            }
            Event::ReplyPart(part) if part.kind == PartKind::Reasoning => {
                self.reasoning_mut(turn).into_iter().for_each(|text| text.push_str(&part.text));
            }
            Event::TurnEnd(_) => {
                self.moving.retain(|moving| moving != turn);
                self.follows_child_runs(turn);
            }
            Event::ProgramEnd(_) | Event::Check(_) | Event::Interrupt(_) => self.follows_child_runs(turn),
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                self.reasoning_mut(turn).into_iter().for_each(String::clear);
            }
            // Only the turn's card shows these, or `take` has shown them.
            Event::RunStart(_)
            | Event::TurnStart(_)
            | Event::MessageAdded(_)
            | Event::Sent(_)
            | Event::Wire(_)
            | Event::RawReply(_)
            | Event::RetryWait(_)
            | Event::ReplyPart(_)
            | Event::ReplyEnd(_)
            | Event::Extract(_)
            | Event::ToolCall(_)
            | Event::ToolEnd(_)
            | Event::QuestionAsked(_)
            | Event::AnswerGiven(_)
            | Event::MemoryChange(_)
            | Event::TasksKept(_)
            | Event::CompactionDone(_)
            | Event::PlanState(_)
            | Event::Edit(_)
            | Event::RunEnd(_)
            | Event::RunWait(_)
            | Event::Resume(_)
            | Event::Notice(_)
            | Event::Unknown(_) => {}
        }
        for card in self.cards_of(turn) {
            card.apply(envelope);
        }
    }
}

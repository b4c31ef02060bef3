//! The comparer: compares every derived event with the recorded one at the same address.
//!
//! In: events as they are computed now. Out: the event that counts for each, and what differs. By a lenient rule the recorded event counts,
//! so that the engine continues with the recorded messages.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::difference::{Change, Difference, differences};
use super::layer::{Layer, Policy, Rules};
use super::recording::is_of_begun_turn;
use super::{Outcome, Recording};
use crate::event::{Address, Class, Envelope, Event, ReplyStatus, RunEnd};
use crate::port::SinkError;

/// A derived event that came out differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Where.
    pub address: Address,
    /// Which layer.
    pub layer: Layer,
    /// Kind of the event.
    pub kind: String,
    /// Where inside the event's data, and both sides there.
    pub difference: Difference,
}

impl Divergence {
    /// Where it is, in one line: `r0/t1 (turn 1, layer check, event check)`.
    pub fn place(&self) -> String {
        let turn = self.address.turn_number().map(|number| format!("turn {number}, ")).unwrap_or_default();
        format!("{} ({turn}layer {}, event {})", self.address, self.layer, self.kind)
    }
}

impl Divergence {
    /// Does the run itself take another course: did something happen on one side only, or is another tool called?
    pub(super) fn is_of_course(&self) -> bool {
        let another_tool = |path: &str| self.kind == "tool.call" && path == "name";
        self.difference.changes.iter().any(|change| change.path.is_empty() || another_tool(&change.path))
    }
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:\n{}", self.place(), self.difference)
    }
}

struct State {
    recorded: HashMap<Address, VecDeque<Event>>,
    /// What ended a replay before its run did.
    ended: Option<Outcome>,
    /// The first answer that the recording does not have: where all that follows from it came out as recorded, its line is lost.
    unrecorded: Option<Divergence>,
    found: Found,
    seq: u64,
}

/// What a comparison found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Derived events compared.
    pub(super) compared: usize,
    /// The differences, in the order in which they came up.
    pub(super) differences: Vec<Divergence>,
    /// Events whose differences were left out by a rule.
    pub(super) ignored: usize,
    /// Replies and results that were wanted now and are not recorded.
    pub(super) missing: Vec<Address>,
}

/// Sees the events of a replay as they count.
pub type Watch<'w> = &'w (dyn Fn(&Envelope) + Send + Sync);

/// Compares one run.
pub(super) struct Comparer<'a> {
    state: Mutex<State>,
    run: Address,
    is_over: bool,
    rules: &'a Rules,
    watch: Option<Watch<'a>>,
    recording: &'a Recording,
}

/// What follows from one event.
enum Verdict {
    /// It is as recorded, or nobody cares.
    Same,
    /// It differs; the recorded one counts.
    Adopted,
    /// The replay ends here.
    End(Outcome),
}

impl<'a> Comparer<'a> {
    pub(super) fn new(recording: &'a Recording, run: &Address, rules: &'a Rules, watch: Option<Watch<'a>>) -> Self {
        let recorded = recording.derived(run).into_iter().map(|(address, events)| (address, events.into())).collect();
        let state = State { recorded, ended: None, unrecorded: None, found: Found::default(), seq: 0 };
        let (run, is_over) = (run.clone(), recording.is_over(run));
        Self { state: Mutex::new(state), run, is_over, rules, watch, recording }
    }

    /// Compares an event and returns the one that counts, with the recorded time. Errors: the replay ends here.
    pub(super) fn settle(&self, address: &Address, event: Event) -> Result<Envelope, SinkError> {
        let envelope = self.judged(address, event)?;
        if let Some(watch) = self.watch {
            watch(&envelope);
        }
        Ok(envelope)
    }

    fn judged(&self, address: &Address, mut event: Event) -> Result<Envelope, SinkError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What parallel branches still tell while they are stopped says nothing about the recording.
        if state.ended.is_some() {
            return Err(SinkError::Diverged);
        }
        if event.class() == Class::Derived {
            let recorded = state.recorded.get_mut(address).and_then(|left| self.counterpart(left, &event));
            state.found.compared += usize::from(recorded.is_some());
            let is_behind = recorded.is_none() && self.is_behind(address, &event, &state.recorded);
            match self.judge(address, recorded.as_ref(), &event, is_behind, &mut state.found) {
                Verdict::Same => {}
                Verdict::Adopted => event = recorded.filter(|old| old.kind() == event.kind()).unwrap_or(event),
                Verdict::End(outcome) => {
                    state.ended = Some(outcome);
                    return Err(SinkError::Diverged);
                }
            }
        } else if self.is_missing(address, &event) {
            state.found.missing.push(address.clone());
            state.unrecorded.get_or_insert_with(|| lost(address, &event));
        } else if self.has_lost(address, &event) {
            let divergence = lost(address, &event);
            state.found.differences.push(divergence.clone());
            if self.rules.policy == Policy::Strict {
                state.ended = Some(Outcome::Diverged(Box::new(divergence)));
                return Err(SinkError::Diverged);
            }
        }
        state.seq += 1;
        let at_ms = self.recording.at(address).last().map_or(0, |last| last.at_ms);
        Ok(Envelope { seq: state.seq, at_ms, address: address.clone(), event })
    }

    /// The recorded event that this one is held against.
    fn counterpart(&self, left: &mut VecDeque<Event>, now: &Event) -> Option<Event> {
        let same = |event: &Event| event.kind() == now.kind() && Layer::of(event) == Layer::of(now);
        if self.rules.policy == Policy::Lenient {
            return left.iter().position(same).and_then(|place| left.remove(place));
        }
        if left.front().is_some_and(same) {
            return left.pop_front();
        }
        if self.rules.leaves_out_all(Layer::of(now)) {
            return None;
        }
        while left.front().is_some_and(|event| !same(event) && self.rules.leaves_out_all(Layer::of(event))) {
            left.pop_front();
        }
        left.pop_front()
    }

    /// Is it an answer that the recording does not have?
    fn is_missing(&self, address: &Address, event: &Event) -> bool {
        let holds = |kind: &str| self.recording.at(address).iter().any(|known| known.event.kind() == kind);
        match event {
            Event::ReplyEnd(end) => end.status == ReplyStatus::Error && !holds(event.kind()),
            Event::ToolEnd(_) => !holds(event.kind()),
            _ => false,
        }
    }

    /// Is it the start of something that the recording holds without its start?
    fn has_lost(&self, address: &Address, event: &Event) -> bool {
        let known = self.recording.at(address);
        match event {
            Event::TurnStart(_) => self.recording.turn_start(address).is_none() && known.iter().any(is_of_begun_turn),
            Event::RunStart(_) => {
                self.recording.run_start(address).is_none() && self.recording.turn_start(&address.turn(1)).is_some()
            }
            _ => false,
        }
    }

    /// Does the event come at a place that the recording had left behind: in a turn that ended, or as the end of a run that went on?
    fn is_behind(&self, address: &Address, now: &Event, left: &HashMap<Address, VecDeque<Event>>) -> bool {
        let goes_on = || {
            // How far parallel branches came when a run was stopped is chance.
            let of_run = |at: &Address| at.turn_number().is_some() && !at.is_in_branch() && at.run_part() == *address;
            left.iter().any(|(at, events)| !events.is_empty() && of_run(at))
        };
        self.recording.is_turn_over(address) || matches!(now, Event::RunEnd(_)) && goes_on()
    }

    fn judge(
        &self,
        address: &Address,
        recorded: Option<&Event>,
        now: &Event,
        is_behind: bool,
        found: &mut Found,
    ) -> Verdict {
        let now = &*as_recorded_then(recorded, now);
        if recorded == Some(now) {
            return Verdict::Same;
        }
        if recorded.is_none() && !self.is_over && !is_behind {
            return Verdict::End(Outcome::Unfinished { at: address.clone() });
        }
        match (self.divergence(address, recorded, Some(now)), self.rules.policy) {
            (None, _) => {
                found.ignored += 1;
                Verdict::Adopted
            }
            (Some(divergence), Policy::Strict) => {
                found.differences.push(divergence.clone());
                Verdict::End(Outcome::Diverged(Box::new(divergence)))
            }
            (Some(divergence), Policy::Lenient) => {
                found.differences.push(divergence);
                Verdict::Adopted
            }
        }
    }

    /// What differs; `None` when the rules leave all of it out.
    fn divergence(&self, address: &Address, recorded: Option<&Event>, now: Option<&Event>) -> Option<Divergence> {
        let other = recorded.filter(|old| now.is_none_or(|now| old.kind() != now.kind()));
        let event = other.or(now)?;
        let layer = Layer::of(event);
        let difference = differences(recorded, now, &|path| !self.rules.leaves_out(layer, path))?;
        let is_alone = recorded.is_none() || now.is_none();
        if is_alone && self.rules.leaves_out_all(layer) {
            return None;
        }
        let kind = now.unwrap_or(event).kind().to_owned();
        Some(Divergence { address: address.clone(), layer, kind, difference })
    }

    /// The first place of the run where events are missing from a session that was recovered.
    fn gap(&self) -> Option<Divergence> {
        let text = self.recording.gap(&self.run)?.to_owned();
        let change = Change { path: String::new(), recorded: Some(text), now: None, diff: None };
        let difference = Difference { changes: vec![change], more: 0 };
        Some(Divergence { address: self.run.clone(), layer: Layer::Step, kind: "notice".to_owned(), difference })
    }

    /// How the run came out, and what was found.
    pub(super) fn finish(self) -> (Outcome, Found) {
        let (over, recorded, unrecorded) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.ended.take(), std::mem::take(&mut state.recorded), state.unrecorded.take())
        };
        let mut left: Vec<(Address, Event)> = recorded
            .into_iter()
            .flat_map(|(at, events)| events.into_iter().map(move |event| (at.clone(), event)))
            .collect();
        left.sort_by(|one, other| one.0.cmp(&other.0));
        let gap = self.gap();
        // What a turn holds that has ended had to come out; what one holds that had not ended may not.
        let had_to = |at: &Address| match &over {
            None if self.is_over => true,
            None | Some(Outcome::Unfinished { .. }) => self.recording.is_root_turn_over(at),
            Some(_) => false,
        };
        let unmade = left.iter().filter(|(at, _)| had_to(at));
        let mut unmade: Vec<_> = unmade.filter_map(|(at, event)| self.divergence(at, Some(event), None)).collect();
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.rules.policy == Policy::Strict {
            unmade.truncate(1);
        }
        state.found.differences.extend(unmade);
        if state.found.differences.is_empty() {
            let unrecorded = unrecorded.filter(|lost| had_to(&lost.address));
            state.found.differences.extend(unrecorded.or(gap));
        }
        let outcome = match (over, state.found.differences.first(), left.first()) {
            (Some(outcome), ..) if state.found.differences.is_empty() => outcome,
            (_, Some(first), _) => Outcome::Diverged(Box::new(first.clone())),
            // Which calls parallel branches still made when one began to wait is chance.
            (_, None, Some((address, _))) if !self.is_over => Outcome::Unfinished { at: address.clone() },
            (_, None, _) => Outcome::Identical,
        };
        (outcome, state.found)
    }
}

/// An event that came out and is not in the recording.
fn lost(address: &Address, event: &Event) -> Divergence {
    let change = Change {
        path: String::new(),
        recorded: Some(format!("what follows from the event {}, and not the event: its line is lost", event.kind())),
        now: Some(format!("the event {}", event.kind())),
        diff: None,
    };
    let difference = Difference { changes: vec![change], more: 0 };
    Divergence { address: address.clone(), layer: Layer::of(event), kind: event.kind().to_owned(), difference }
}

/// The event of now without what a recording of an earlier version does not say: the journal that a run leaves.
fn as_recorded_then<'e>(recorded: Option<&Event>, now: &'e Event) -> Cow<'e, Event> {
    match (recorded, now) {
        (Some(Event::RunEnd(old)), Event::RunEnd(end)) if old.journal.is_none() && end.journal.is_some() => {
            Cow::Owned(RunEnd { journal: None, ..end.clone() }.into())
        }
        _ => Cow::Borrowed(now),
    }
}

//! The comparer: compares every derived event and every input with the recorded one at the same address.
//!
//! In: emitted events. Out: the event to use for each, and the differences. With lenient rules the recorded event is
//! used, so that the engine continues with the recorded messages.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::difference::{EventChange, EventDifference, differences};
use super::inputs::{UnusedInputs, UsedInput};
use super::layer::{Layer, Policy, Rules};
use super::order::{RecordedOrder, order_difference};
use super::recording::is_of_begun_turn;
use super::{Recording, ReplayOutcome};
use crate::event::{Address, Class, Envelope, Event, ReplyStatus, RunEnd, TurnEnd, TurnStart};
use crate::port::SinkError;

/// An event that differs from the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Its address.
    pub address: Address,
    /// Line of the session file with the recorded event, from 1; `None` when none is recorded.
    pub line: Option<u64>,
    /// Its layer.
    pub layer: Layer,
    /// Its kind.
    pub kind: String,
    /// The differing paths with both values.
    pub difference: EventDifference,
}

impl Divergence {
    /// Describes its location in one line: `r0/t1 (turn 1, layer check, event check)`.
    pub fn describe_location(&self) -> String {
        let turn = self.address.turn_number().map(|number| format!("turn {number}, ")).unwrap_or_default();
        format!("{} ({turn}layer {}, event {})", self.address, self.layer, self.kind)
    }
}

impl Divergence {
    /// Returns whether the run takes another course: an event exists on one side only, or another tool is called.
    pub(super) fn changes_course(&self) -> bool {
        let another_tool = |path: &str| self.kind == "tool.call" && path == "name";
        self.difference.changes.iter().any(|change| change.path.is_empty() || another_tool(&change.path))
    }
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:\n{}", self.describe_location(), self.difference)
    }
}

#[derive(Default)]
struct State {
    recorded: HashMap<Address, VecDeque<Envelope>>,
    inputs: UnusedInputs,
    order: RecordedOrder,
    /// The outcome of a replay that ended before its run.
    ended: Option<ReplayOutcome>,
    /// The first difference of the start of a run or turn: strict replay reports the difference that follows from it, if there is one.
    deferred: Option<Divergence>,
    /// The first reply or result that is not recorded. If all events after it are as recorded, its line is lost.
    unrecorded: Option<Divergence>,
    found: RunComparison,
    seq: u64,
}

/// Result of a comparison.
#[derive(Debug, Default)]
pub(super) struct RunComparison {
    /// Number of compared derived events.
    pub(super) compared: usize,
    /// Differences in the order of occurrence.
    pub(super) differences: Vec<Divergence>,
    /// Number of events with ignored differences.
    pub(super) ignored: usize,
    /// Replies and results that were needed and are not recorded.
    pub(super) missing: Vec<Address>,
}

/// Callback for the effective events of a replay.
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

/// Result for one event.
enum Verdict {
    /// Equal or ignored.
    Same,
    /// Different; the recorded event is used.
    Recorded,
    /// The replay ends here.
    End(ReplayOutcome),
}

impl<'a> Comparer<'a> {
    pub(super) fn new(recording: &'a Recording, run: &Address, rules: &'a Rules, watch: Option<Watch<'a>>) -> Self {
        let (recorded, inputs) = (recording.repeated(run, Class::Derived), UnusedInputs::of(recording, run));
        let (order, found) = (RecordedOrder::default(), RunComparison::default());
        let state = State { recorded, inputs, order, found, ..State::default() };
        let (run, is_over) = (run.clone(), recording.is_over(run));
        Self { state: Mutex::new(state), run, is_over, rules, watch, recording }
    }

    /// Compares an event and returns the effective one with the recorded time. Fails when the replay ends here.
    pub(super) fn settle(&self, address: &Address, event: Event) -> Result<Envelope, SinkError> {
        let envelope = self.compare_event(address, event)?;
        if let Some(watch) = self.watch {
            watch(&envelope);
        }
        Ok(envelope)
    }

    fn compare_event(&self, address: &Address, mut event: Event) -> Result<Envelope, SinkError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Events of parallel branches that are being stopped are not compared.
        if state.ended.is_some() {
            return Err(SinkError::Diverged);
        }
        if event.class() == Class::Derived {
            let recorded = state.recorded.get_mut(address).and_then(|left| self.counterpart(left, &event));
            state.found.compared += usize::from(recorded.is_some());
            let is_passed = recorded.is_none() && self.is_passed(address, &event, &state.recorded);
            let mut verdict = self.verdict(address, recorded.as_ref(), &event, is_passed, &mut state.found);
            if let (Verdict::Same, Some(recorded)) = (&verdict, &recorded) {
                verdict = self.check_order(recorded, &mut state);
            }
            event = Self::effective_event(verdict, recorded, event, &mut state)?;
        } else if let Some(used) =
            state.inputs.take(self.recording, address, &event, &|path| !self.rules.ignores(Layer::Input, path))
        {
            let verdict = self.verdict_of_input(&used, &mut state);
            event = Self::effective_event(verdict, Some(used.recorded), event, &mut state)?;
        } else if matches!(&event, Event::ProgramEnd(end) if end.interrupted) {
            // The recording ends within this program.
            state.ended = Some(ReplayOutcome::Unfinished { at: address.clone() });
            return Err(SinkError::Diverged);
        } else if self.is_missing(address, &event) {
            state.found.missing.push(address.clone());
            state.unrecorded.get_or_insert_with(|| lost_event(address, &event));
        } else if self.is_lost_start(address, &event) {
            let divergence = lost_event(address, &event);
            state.found.differences.push(divergence.clone());
            if self.rules.policy == Policy::Strict {
                state.ended = Some(ReplayOutcome::Diverged(Box::new(divergence)));
                return Err(SinkError::Diverged);
            }
        }
        state.seq += 1;
        let at_ms = self.recording.at(address).last().map_or(0, |last| last.at_ms);
        Ok(Envelope { seq: state.seq, at_ms, address: address.clone(), event })
    }

    /// Returns the event that counts. Fails when the replay ends here.
    fn effective_event(
        verdict: Verdict,
        recorded: Option<Envelope>,
        now: Event,
        state: &mut State,
    ) -> Result<Event, SinkError> {
        match verdict {
            Verdict::Same => Ok(now),
            Verdict::Recorded => {
                let recorded = recorded.map(|old| old.event).filter(|old| old.kind() == now.kind());
                Ok(recorded.unwrap_or(now))
            }
            Verdict::End(outcome) => {
                state.ended = Some(outcome);
                Err(SinkError::Diverged)
            }
        }
    }

    /// Compares an input that the engine uses with the recorded one.
    fn verdict_of_input(&self, used: &UsedInput, state: &mut State) -> Verdict {
        let recorded = &used.recorded;
        let Some(difference) = used.difference.clone() else {
            // Edits and stops are recorded when the user makes them, and a reply of the user that broke off when the run is resumed:
            // after the question, which the replay asks at the end of all attempts.
            let is_asked = || self.recording.is_reply_asked(&recorded.address);
            let is_unordered = match &recorded.event {
                Event::Edit(_) | Event::Interrupt(_) => true,
                Event::ReplyPart(_) => is_asked(),
                Event::ReplyEnd(end) => end.status == ReplyStatus::Discarded && is_asked(),
                _ => false,
            };
            return if is_unordered { Verdict::Same } else { self.check_order(recorded, state) };
        };
        if self.rules.ignores_layer(Layer::Input) {
            state.found.ignored += 1;
            return Verdict::Same;
        }
        let divergence = input_divergence(recorded, difference);
        if matches!(recorded.event, Event::RunStart(_) | Event::TurnStart(_)) && self.rules.policy == Policy::Strict {
            state.deferred.get_or_insert(divergence);
            return Verdict::Same;
        }
        self.report(divergence, &mut state.found)
    }

    /// Checks that no event precedes this one in the run and follows it in the recording.
    fn check_order(&self, recorded: &Envelope, state: &mut State) -> Verdict {
        match state.order.advance(&recorded.address, recorded.seq) {
            Some(before) if !self.rules.ignores_layer(Layer::Input) => {
                let difference = order_difference(before);
                self.report(input_divergence(recorded, difference), &mut state.found)
            }
            _ => Verdict::Same,
        }
    }

    /// Records a difference; strict rules end the replay there.
    fn report(&self, divergence: Divergence, found: &mut RunComparison) -> Verdict {
        found.differences.push(divergence.clone());
        match self.rules.policy {
            Policy::Strict => Verdict::End(ReplayOutcome::Diverged(Box::new(divergence))),
            Policy::Lenient => Verdict::Recorded,
        }
    }

    /// Takes the recorded event to compare this one with.
    fn counterpart(&self, left: &mut VecDeque<Envelope>, now: &Event) -> Option<Envelope> {
        let same = |old: &Envelope| old.event.kind() == now.kind() && Layer::of(&old.event) == Layer::of(now);
        if self.rules.policy == Policy::Lenient {
            return left.iter().position(same).and_then(|index| left.remove(index));
        }
        if left.front().is_some_and(same) {
            return left.pop_front();
        }
        if self.rules.ignores_layer(Layer::of(now)) {
            return None;
        }
        while left.front().is_some_and(|old| !same(old) && self.rules.ignores_layer(Layer::of(&old.event))) {
            left.pop_front();
        }
        left.pop_front()
    }

    /// Returns whether this is a reply or result that the recording does not have.
    fn is_missing(&self, address: &Address, event: &Event) -> bool {
        let holds = |kind: &str| self.recording.at(address).iter().any(|known| known.event.kind() == kind);
        match event {
            Event::ReplyEnd(end) => end.status == ReplyStatus::Error && !holds(event.kind()),
            Event::ToolEnd(_) => !holds(event.kind()),
            _ => false,
        }
    }

    /// Returns whether this is a start event whose line is missing in the recording.
    fn is_lost_start(&self, address: &Address, event: &Event) -> bool {
        let known = self.recording.at(address);
        match event {
            Event::TurnStart(_) => self.recording.turn_start(address).is_none() && known.iter().any(is_of_begun_turn),
            Event::RunStart(_) => {
                self.recording.run_start(address).is_none() && self.recording.turn_start(&address.turn(1)).is_some()
            }
            _ => false,
        }
    }

    /// Returns whether the recording had already passed this point: in a turn that ended, or at the end of a run that
    /// continued.
    fn is_passed(&self, address: &Address, now: &Event, left: &HashMap<Address, VecDeque<Envelope>>) -> bool {
        let continues = || {
            // The progress of parallel branches of a stopped run is not deterministic.
            let of_run = |at: &Address| at.turn_number().is_some() && !at.is_in_branch() && at.run_part() == *address;
            left.iter().any(|(at, events)| !events.is_empty() && of_run(at))
        };
        self.recording.is_turn_over(address) || matches!(now, Event::RunEnd(_)) && continues()
    }

    fn verdict(
        &self,
        address: &Address,
        recorded: Option<&Envelope>,
        now: &Event,
        is_passed: bool,
        found: &mut RunComparison,
    ) -> Verdict {
        let now = &*self.as_older_version(address, recorded.map(|old| &old.event), now);
        if recorded.is_some_and(|old| old.event == *now) {
            return Verdict::Same;
        }
        if recorded.is_none() && !self.is_over && !is_passed {
            return Verdict::End(ReplayOutcome::Unfinished { at: address.clone() });
        }
        match self.divergence(address, recorded, Some(now)) {
            None => {
                found.ignored += 1;
                Verdict::Recorded
            }
            Some(divergence) => self.report(divergence, found),
        }
    }

    /// Returns the difference of two events; `None` when the rules ignore all of it.
    fn divergence(&self, address: &Address, recorded: Option<&Envelope>, now: Option<&Event>) -> Option<Divergence> {
        let line = recorded.map(|old| old.seq + 1);
        let recorded = recorded.map(|old| &old.event);
        let other = recorded.filter(|old| now.is_none_or(|now| old.kind() != now.kind()));
        let event = other.or(now)?;
        let layer = Layer::of(event);
        let difference = differences(recorded, now, &|path| !self.rules.ignores(layer, path))?;
        let is_alone = recorded.is_none() || now.is_none();
        if is_alone && self.rules.ignores_layer(layer) {
            return None;
        }
        let kind = now.unwrap_or(event).kind().to_owned();
        Some(Divergence { address: address.clone(), line, layer, kind, difference })
    }

    /// Returns the first gap of a recovered session in this run.
    fn gap(&self) -> Option<Divergence> {
        let text = self.recording.gap(&self.run)?.to_owned();
        let change = EventChange { path: String::new(), recorded: Some(text), now: None, diff: None };
        let difference = EventDifference { changes: vec![change], more: 0 };
        let (address, layer, kind) = (self.run.clone(), Layer::Step, "notice".to_owned());
        Some(Divergence { address, line: None, layer, kind, difference })
    }

    /// Returns the outcome and the result of the comparison.
    pub(super) fn finish(self) -> (ReplayOutcome, RunComparison) {
        let mut state = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        let (over, unrecorded) = (state.ended.take(), state.unrecorded.take());
        let mut left: Vec<Envelope> = state.recorded.into_values().flatten().collect();
        left.sort_by(|one, other| one.address.cmp(&other.address));
        let unused = state.inputs.into_unused(self.recording);
        let gap = self.gap();
        // Events of an ended turn must be computed; those of an open turn need not.
        let is_required = |at: &Address| match &over {
            None if self.is_over => true,
            None | Some(ReplayOutcome::Unfinished { .. }) => self.recording.is_root_turn_over(at),
            Some(_) => false,
        };
        let missing = left.iter().chain(&unused).filter(|old| is_required(&old.address));
        let mut missing: Vec<_> = missing.filter_map(|old| self.divergence(&old.address, Some(old), None)).collect();
        if self.rules.policy == Policy::Strict {
            missing.truncate(1);
        }
        state.found.differences.extend(missing);
        if state.found.differences.is_empty() && !matches!(over, Some(ReplayOutcome::Diverged(_))) {
            state.found.differences.extend(state.deferred);
        }
        if state.found.differences.is_empty() {
            let unrecorded = unrecorded.filter(|lost| is_required(&lost.address));
            state.found.differences.extend(unrecorded.or(gap));
        }
        let outcome = match (over, state.found.differences.first(), left.first()) {
            (Some(outcome), ..) if state.found.differences.is_empty() => outcome,
            (_, Some(first), _) => ReplayOutcome::Diverged(Box::new(first.clone())),
            // How many calls parallel branches still made before waiting is not deterministic.
            (_, None, Some(old)) if !self.is_over => ReplayOutcome::Unfinished { at: old.address.clone() },
            (_, None, _) => ReplayOutcome::Identical,
        };
        (outcome, state.found)
    }
}

/// Returns the difference for a computed event that is not recorded.
fn lost_event(address: &Address, event: &Event) -> Divergence {
    let change = EventChange {
        path: String::new(),
        recorded: Some(format!("events that follow from {}, but not that event: its line is lost", event.kind())),
        now: Some(format!("the event {}", event.kind())),
        diff: None,
    };
    let difference = EventDifference { changes: vec![change], more: 0 };
    let (layer, kind) = (Layer::of(event), event.kind().to_owned());
    Divergence { address: address.clone(), line: None, layer, kind, difference }
}

/// Returns the difference of a recorded input.
pub(super) fn input_divergence(recorded: &Envelope, difference: EventDifference) -> Divergence {
    let (address, kind) = (recorded.address.clone(), recorded.event.kind().to_owned());
    Divergence { address, line: Some(recorded.seq + 1), layer: Layer::Input, kind, difference }
}

impl Comparer<'_> {
    /// Removes from a computed event what older recordings do not contain: the hash of the inputs, the journal of a run's end, the turn in
    /// which a stop ended the run.
    fn as_older_version<'e>(&self, run: &Address, recorded: Option<&Event>, now: &'e Event) -> Cow<'e, Event> {
        match (recorded, now) {
            (Some(Event::RunEnd(old)), Event::RunEnd(end)) => {
                let journal = end.journal.clone().filter(|_| old.journal.is_some());
                let inputs = end.inputs.clone().filter(|_| old.inputs.is_some());
                let mut usage = end.usage.clone();
                if omits_last_turn(self.recording, run) {
                    usage.totals.turns = old.usage.totals.turns;
                }
                let is_below = |child: &&Address| *child != run && child.is_within(run);
                let mut below = self.recording.all_runs().iter().filter(is_below);
                if usage.children != old.usage.children && below.any(|child| omits_last_turn(self.recording, child)) {
                    usage.children = old.usage.children;
                }
                Cow::Owned(RunEnd { journal, usage, inputs, ..end.clone() }.into())
            }
            (Some(Event::TurnEnd(old)), Event::TurnEnd(end)) if old.inputs.is_none() => {
                Cow::Owned(TurnEnd { inputs: None, ..end.clone() }.into())
            }
            _ => Cow::Borrowed(now),
        }
    }
}

/// Returns whether the end of this run is of an earlier version, which did not count the turn in which a stop ended the run.
fn omits_last_turn(recording: &Recording, run: &Address) -> bool {
    let turns = recording.turns(run);
    let last = run.turn(turns);
    let ends =
        |at: &Address, is_one: &dyn Fn(&Event) -> bool| recording.at(at).iter().any(|known| is_one(&known.event));
    recording.turn_start(&last).is_some_and(TurnStart::is_allowed)
        && !ends(&last, &|event| matches!(event, Event::TurnEnd(_)))
        && ends(run, &|event| matches!(event, Event::RunEnd(end) if end.usage.totals.turns.saturating_add(1) == turns))
}

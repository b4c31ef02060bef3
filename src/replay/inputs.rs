//! Compares the inputs that a replay uses with the recorded ones: each is used once, and what can be computed of it is as
//! computed.
//!
//! In: the input events of a recording, and those that the engine emits. Out: the recorded event of each, with the fields that differ,
//! and the events that the run did not use; runs of a pipeline whose context is not what the run before returned. Notes never differ
//! (see [`class_of_field`]).

use std::collections::{HashMap, VecDeque};

use super::Recording;
use super::compare::{Divergence, input_divergence};
use super::difference::{EventDifference, differences};
use crate::agent::{Agent, Context, Plan, Step};
use crate::event::{
    Address, Answerer, CallStatus, Class, Edit, Envelope, Event, JsonText, ReplyPart, RunStart, TurnStart,
    class_of_field, hex_sha,
};

/// The recorded inputs of a root run that the replay has not used yet.
#[derive(Default)]
pub(super) struct UnusedInputs {
    by_address: HashMap<Address, VecDeque<Envelope>>,
    is_of_this_version: bool,
}

/// The recorded event of an input that the replay uses.
pub(super) struct UsedInput {
    /// The recorded event.
    pub(super) recorded: Envelope,
    /// The differing fields; `None` when all of them are as recorded.
    pub(super) difference: Option<EventDifference>,
}

impl UnusedInputs {
    pub(super) fn of(recording: &Recording, run: &Address) -> Self {
        let is_of_this_version = recording.is_of_this_version();
        Self { by_address: recording.repeated(run, Class::Input), is_of_this_version }
    }

    /// Takes the recorded event of an input that the engine emits here; `None` when none of its kind is left. `counts`
    /// returns whether a path is compared.
    pub(super) fn take(
        &mut self,
        recording: &Recording,
        at: &Address,
        now: &Event,
        counts: &dyn Fn(&str) -> bool,
    ) -> Option<UsedInput> {
        let left = self.by_address.get_mut(at)?;
        if let Event::ReplyPart(part) = now {
            return take_part(left, part);
        }
        // Edits and stops are recorded when the user makes them, before or between the events of their turn.
        let is_unordered = matches!(now, Event::Edit(_) | Event::Interrupt(_));
        let is_same = |known: &Envelope| known.event.kind() == now.kind() && (!is_unordered || known.event == *now);
        let index = left.iter().position(is_same)?;
        let recorded = left.remove(index)?;
        let now = self.as_recorded_version(recording, at, &recorded.event, now.clone());
        let difference = if recorded.event == now {
            None
        } else {
            let counts = |path: &str| class_of_field(&now, path) != Class::Note && counts(path);
            differences(Some(&recorded.event), Some(&now), &counts)
        };
        Some(UsedInput { recorded, difference })
    }

    /// Returns a computed event as the version of the program that wrote the recording would have computed it.
    fn as_recorded_version(&self, recording: &Recording, at: &Address, recorded: &Event, now: Event) -> Event {
        match (recorded, now) {
            (Event::RunStart(old), Event::RunStart(mut now)) => {
                if *at == at.root() {
                    // The text is the input here: another version may write it in another form.
                    (now.agent.sha, now.agent.toml) = (hex_sha(old.agent.toml.as_bytes()), old.agent.toml.clone());
                }
                if !self.is_of_this_version {
                    let RunStart { agent, limits, .. } = old;
                    (now.agent, now.limits) = (agent.clone(), limits.clone());
                }
                now.into()
            }
            (Event::TurnStart(TurnStart { remaining, .. }), Event::TurnStart(mut now)) if remaining.tree.is_none() => {
                now.remaining.tree = None;
                now.into()
            }
            // The usage of a discarded attempt that the totals do not include is not replayed.
            (Event::ReplyEnd(old), Event::ReplyEnd(mut now))
                if now.usage.is_none() && !recording.counts_discarded(at) =>
            {
                now.usage = old.usage;
                now.into()
            }
            (Event::AnswerGiven(old), Event::AnswerGiven(mut now))
                if matches!(old.by, Answerer::Command | Answerer::Recorded) =>
            {
                now.by = old.by.clone();
                now.into()
            }
            (_, now) => now,
        }
    }

    /// Returns the recorded inputs that were not used, in the order of the run. `recording` is that of these inputs.
    pub(super) fn into_unused(self, recording: &Recording) -> Vec<Envelope> {
        let mut unused: Vec<Envelope> = self.by_address.into_values().flatten().collect();
        unused.retain(|envelope| !is_unused_by_right(recording, envelope));
        unused.sort_by_key(|envelope| envelope.seq);
        unused
    }
}

/// Takes the text of a part from the recorded parts of its attempt: a replay may divide the text at other places.
fn take_part(left: &mut VecDeque<Envelope>, now: &ReplyPart) -> Option<UsedInput> {
    let mut rest = now.text.as_str();
    let mut first = None;
    loop {
        let index = left.iter().position(|known| matches!(&known.event, Event::ReplyPart(_)))?;
        let Event::ReplyPart(part) = &left.get(index)?.event else { return None };
        let is_same = (part.attempt, part.kind) == (now.attempt, now.kind);
        let common = part.text.len().min(rest.len());
        if !is_same || part.text.as_bytes().get(..common) != rest.as_bytes().get(..common) {
            return None;
        }
        let (_, after) = rest.split_at_checked(common)?;
        rest = after;
        let recorded = left.get(index)?.clone();
        if common == part.text.len() {
            left.remove(index);
        } else if let Some(Event::ReplyPart(part)) = left.get_mut(index).map(|known| &mut known.event) {
            part.text.drain(..common);
        }
        let recorded = first.get_or_insert(recorded);
        if rest.is_empty() {
            return Some(UsedInput { recorded: recorded.clone(), difference: None });
        }
    }
}

/// Returns whether a run may leave this recorded input unused.
fn is_unused_by_right(recording: &Recording, unused: &Envelope) -> bool {
    let later = |is_one: &dyn Fn(&Event) -> bool, at: &Address| {
        recording.at(at).iter().any(|known| known.seq > unused.seq && is_one(&known.event))
    };
    match &unused.event {
        Event::Interrupt(stop) => {
            was_resumed_after_stop(recording, unused) || was_stopped_in_program(recording, unused, stop.reason.name())
        }
        Event::Edit(edit) => {
            edit.target == Edit::MODEL
                || is_last_failed_turn(recording, &unused.address)
                || recording.tool_end(&unused.address).is_some_and(|end| end.status == CallStatus::Refused)
                || later(&|event| matches!(event, Event::Edit(more) if more.target == edit.target), &unused.address)
        }
        Event::ReplyPart(part) => part.text.is_empty(),
        _ => false,
    }
}

/// Returns whether a stop ended nothing because the process was killed: the run was resumed before the turn of the stop ended.
fn was_resumed_after_stop(recording: &Recording, stop: &Envelope) -> bool {
    let resumed = recording.at(&stop.address.root()).iter().find_map(|known| {
        let is_later = known.seq > stop.seq && matches!(known.event, Event::Resume(_));
        is_later.then_some(known.seq)
    });
    let ended = |before: u64| {
        let is_end = |known: &Envelope| matches!(known.event, Event::TurnEnd(_)) && known.seq < before;
        recording.at(&stop.address).iter().any(|known| known.seq > stop.seq && is_end(known))
    };
    resumed.is_some_and(|seq| !ended(seq))
}

/// Returns whether a stop cancelled something inside of a program that the recording ends for it: a replay does not run such a
/// program, and its end has another reason where another branch failed first.
fn was_stopped_in_program(recording: &Recording, stop: &Envelope, reason: &str) -> bool {
    let turn = &stop.address;
    let ended = recording.at(turn).iter().find_map(|known| match &known.event {
        Event::ProgramEnd(end) if end.interrupted && known.seq > stop.seq => Some(known.seq),
        _ => None,
    });
    let Some(ended) = ended else { return false };
    let is_cancelled = |known: &Envelope| match &known.event {
        Event::ToolEnd(end) => end.status == CallStatus::Cancelled,
        Event::RunEnd(end) => end.fail.as_ref().is_some_and(|fail| fail.reason == reason),
        Event::QuestionAsked(_) => recording.answer(&known.address).is_none(),
        _ => false,
    };
    recording.events_within(turn).iter().any(|known| known.seq < ended && is_cancelled(known))
}

/// Returns whether the run failed in this turn, or could not start it: then it did not come to every edit.
fn is_last_failed_turn(recording: &Recording, at: &Address) -> bool {
    let turn = at.turn_part();
    let has_failed = |envelope: &Envelope| matches!(&envelope.event, Event::RunEnd(end) if end.fail.is_some());
    let next = turn.turn_number().map(|number| turn.run_part().turn(number.saturating_add(1)));
    recording.at(&turn.run_part()).iter().any(has_failed)
        && next.is_some_and(|next| recording.turn_start(&next).is_none())
}

/// Returns the differences of the recorded contexts of later steps. `steps`: the results of the root runs, in order.
pub(super) fn context_differences(recording: &Recording, steps: &[Step]) -> Vec<Divergence> {
    let mut found = Vec::new();
    let mut later = 0;
    for (place, run) in recording.runs().iter().enumerate() {
        let Some((envelope, start)) = start_of(recording.at(run)) else { continue };
        if let Some(pipeline) = &start.pipeline {
            later = pipeline.then.len();
            continue;
        }
        // A run that continues a conversation is not a step.
        if later == 0 || start.continues.is_some() {
            later = 0;
            continue;
        }
        later -= 1;
        let before = place.checked_sub(1).and_then(|place| steps.get(place));
        let Some(context) = before.and_then(|before| chained(start, before)) else { continue };
        let now = RunStart {
            context: JsonText::of(&context.json),
            context_descriptions: context.descriptions,
            ..start.clone()
        };
        let difference = differences(Some(&envelope.event), Some(&now.into()), &|_| true);
        found.extend(difference.map(|difference| input_divergence(envelope, difference)));
    }
    found
}

fn start_of(events: &[Envelope]) -> Option<(&Envelope, &RunStart)> {
    events.iter().find_map(|envelope| match &envelope.event {
        Event::RunStart(start) => Some((envelope, start)),
        _ => None,
    })
}

/// Returns the context that a step gets from the run before it; `None` when its agent cannot be used.
fn chained(start: &RunStart, before: &Step) -> Option<Context> {
    let agent = Agent::recorded(&start.agent.toml).ok()?;
    let plan = Plan::new(&agent).ok()?;
    Context::chained_onto(&plan, before).ok()
}

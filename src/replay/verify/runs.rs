//! Checks of runs: numbers of turns, messages and attempts, sums, remaining turns of a tree, and results of child runs.

use std::collections::{HashMap, HashSet};

use super::{Check, Finding};
use crate::event::{Address, CallStatus, Envelope, Event, ReplyPart, RunEnd, Totals, TurnEnd};

/// State of a run so far.
#[derive(Default)]
struct Run<'e> {
    messages: u32,
    totals: Totals,
    /// A turn has started and not ended: a stop ended the run in it.
    is_turn_open: bool,
    /// The parts of the reply whose attempt has not ended.
    open_part: Option<(&'e Envelope, u32)>,
    end: Option<(&'e Envelope, &'e RunEnd)>,
}

pub(super) fn check(events: &[Envelope]) -> Vec<Finding> {
    let mut runs: HashMap<Address, Run<'_>> = HashMap::new();
    let mut found = Vec::new();
    for envelope in events {
        let run = runs.entry(envelope.run()).or_default();
        let mut add = |check: Check, message: String| found.push(Finding::at(envelope, check, message));
        match &envelope.event {
            Event::MessageAdded(message) => {
                if message.m != run.messages {
                    add(Check::Number, format!("message {} follows {} messages", message.m, run.messages));
                }
                run.messages = run.messages.saturating_add(1);
            }
            Event::RequestMade(request) => {
                let unknown = request.messages.iter().find(|(first, last)| first > last || *last >= run.messages);
                if let Some((first, last)) = unknown {
                    add(Check::Request, format!("messages {first} to {last} do not exist"));
                }
            }
            Event::ReplyPart(ReplyPart { attempt, .. }) => {
                if let Some((_, open)) = run.open_part.filter(|(_, open)| open > attempt) {
                    add(Check::Number, format!("attempt {attempt} follows attempt {open}"));
                }
                run.open_part = Some((envelope, *attempt));
            }
            Event::ReplyEnd(end) => {
                let other = run.open_part.take().filter(|(_, attempt)| *attempt != end.attempt);
                if let Some((part, attempt)) = other.filter(|(part, _)| part.address == envelope.address) {
                    let message = format!("the text is of attempt {attempt}, the reply is of attempt {}", end.attempt);
                    found.push(Finding::at(part, Check::Number, message));
                }
            }
            Event::TurnStart(start) => run.is_turn_open = start.is_allowed(),
            Event::TurnEnd(end) => {
                check_turn(envelope, end, run, &mut add);
                (run.totals, run.is_turn_open) = (end.totals, false);
            }
            Event::RunEnd(end) => {
                if end.usage.totals != run.totals && !run.is_turn_open {
                    add(Check::Sum, "the totals differ from those of the last turn".to_owned());
                }
                run.end = Some((envelope, end));
            }
            _ => {}
        }
    }
    found.extend(check_children(events, &runs));
    found.extend(check_tree(events));
    found
}

/// Checks the totals of a turn against those of the turn before.
fn check_turn(envelope: &Envelope, end: &TurnEnd, run: &Run<'_>, add: &mut dyn FnMut(Check, String)) {
    let (before, now) = (&run.totals, &end.totals);
    if now.turns != before.turns.saturating_add(1) || envelope.address.turn_number() != Some(now.turns) {
        add(Check::Sum, format!("the totals count {} turns at {}", now.turns, envelope.address));
    }
    if now.requests < before.requests {
        add(
            Check::Sum,
            format!("the totals count {} requests, after {} in the previous turn", now.requests, before.requests),
        );
    }
    let more = Totals { tokens: end.usage, ..Totals::default() };
    if before.plus(&more).tokens != now.tokens {
        add(Check::Sum, "the tokens are not the sum of the previous turn and this one".to_owned());
    }
}

/// Checks the results of calls against the ends of the child runs that they started, and what parents count of them.
fn check_children(events: &[Envelope], runs: &HashMap<Address, Run<'_>>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ended = HashSet::new();
    for envelope in events {
        // A second end is the result that the user put in place of the first one at a gate.
        let Event::ToolEnd(end) = &envelope.event else { continue };
        let is_first = ended.insert(&envelope.address);
        let Some((_, child)) = runs.get(&envelope.address).and_then(|run| run.end).filter(|_| is_first) else {
            continue;
        };
        let failed = child.fail.is_some();
        let is_same = match end.status {
            CallStatus::Ok => !failed,
            // Shaping a result may fail.
            CallStatus::Error => true,
            _ => failed,
        };
        if !is_same {
            let state = if failed { "failed" } else { "returned" };
            let message = format!("the call has the status {}, its run {state}", end.status.name());
            found.push(Finding::at(envelope, Check::Child, message));
        }
    }
    found
}

/// Checks the turns that were left in the tree of agents: each started turn takes one, and outside of parallel branches
/// in the order of the file.
fn check_tree(events: &[Envelope]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut trees: HashMap<Address, Vec<(&Envelope, u32)>> = HashMap::new();
    for envelope in events {
        let Event::TurnStart(start) = &envelope.event else { continue };
        if let Some(tree) = start.remaining.tree.filter(|_| start.is_allowed()) {
            trees.entry(envelope.address.root()).or_default().push((envelope, tree));
        }
    }
    // The first event of a turn may be missing where its program was interrupted.
    let interrupted = |root: &Address| {
        let is_one = |event: &Event| matches!(event, Event::ProgramEnd(end) if end.interrupted);
        events.iter().any(|envelope| envelope.address.is_within(root) && is_one(&envelope.event))
    };
    for (root, turns) in &trees {
        if interrupted(root) {
            let mut counted = HashSet::new();
            let again = turns.iter().find(|(_, left)| !counted.insert(*left));
            if let Some((envelope, left)) = again {
                let message = format!("remaining.tree is {left}, as in another turn");
                found.push(Finding::at(envelope, Check::Sum, message));
            }
            continue;
        }
        let first = turns.iter().map(|(_, left)| *left).max().unwrap_or_default();
        let mut sorted: Vec<(&Envelope, u32)> = turns.clone();
        sorted.sort_by_key(|(envelope, left)| (std::cmp::Reverse(*left), envelope.seq));
        let expected = |place: usize| first.saturating_sub(u32::try_from(place).unwrap_or(u32::MAX));
        let is_ordered = !turns.iter().any(|(envelope, _)| envelope.address.is_in_branch());
        let counted = if is_ordered { turns } else { &sorted };
        let wrong = counted.iter().enumerate().find(|(place, (_, left))| *left != expected(*place));
        if let Some((place, (envelope, left))) = wrong {
            let message = format!("remaining.tree is {left}, {} turns are left", expected(place));
            found.push(Finding::at(envelope, Check::Sum, message));
        }
    }
    found
}

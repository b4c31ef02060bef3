//! What a turn defined: old and new values, tasks in the journal, the checklist.

use std::collections::HashMap;

use ptc_core::value::json::to_json;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::Event;
use crate::workbench::format::size;

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    let change = turn.find(|event| match event {
        Event::MemoryChange(change) => Some(change),
        _ => None,
    });
    if let Some(change) = change {
        let old = before(turn);
        for (name, value) in &change.set {
            let new = value.text();
            let lines = match old.get(name) {
                Some(old) => Line::difference(old, new),
                None => new.lines().map(|line| Line::new(Mark::Added, format!("+ {line}"))).collect(),
            };
            let note = match old.contains_key(name) {
                _ if change.rolled_back => "dropped: too large",
                true => "~ changed",
                false => "+ new",
            };
            let mark = if change.rolled_back { Mark::Bad } else { Mark::Plain };
            let part = Part::new(name.clone(), Body::Lines(lines)).noted(note).marked(mark);
            parts.push(Part { bytes: new.len() as u64, ..part });
        }
        for name in &change.del {
            let gone = old.get(name).map(String::as_str).unwrap_or_default();
            let lines = gone.lines().map(|line| Line::new(Mark::Removed, format!("- {line}"))).collect();
            parts.push(Part::new(name.clone(), Body::Lines(lines)).noted("- gone").marked(Mark::Dim));
        }
        if change.rolled_back {
            let text = format!("the definitions would take {}: more than the agent may keep", size(change.bytes));
            parts.push(Part::new("dropped", Body::Text(text)).marked(Mark::Bad));
        }
    }
    parts.extend(tasks(turn));
    parts.extend(plan(turn));
    parts
}

/// The values of the run's names before the turn.
fn before(turn: &Turn<'_>) -> HashMap<String, String> {
    let (run, first) = (turn.address.run_part(), turn.events.first().map_or(u64::MAX, |envelope| envelope.seq));
    let mut places = Vec::new();
    turn.session.visit(|place, line| {
        if &*line.k == "memory" {
            places.push(place);
        }
    });
    let mut known = HashMap::new();
    let events = places.into_iter().filter_map(|place| turn.session.event(place));
    for envelope in events.filter(|envelope| envelope.run() == run && envelope.seq < first) {
        if let Event::MemoryChange(change) = envelope.event
            && !change.rolled_back
        {
            change.del.iter().for_each(|name| _ = known.remove(name));
            known.extend(change.set.into_iter().map(|(name, value)| (name, value.text().to_owned())));
        }
    }
    known
}

fn tasks(turn: &Turn<'_>) -> Option<Part> {
    let kept = turn.find(|event| match event {
        Event::TasksKept(tasks) => Some(tasks),
        _ => None,
    })?;
    let set = kept.set.iter().map(|(id, value)| Line::new(Mark::Added, format!("+ {id}  {}", value.text())));
    let del = kept.del.iter().map(|id| Line::new(Mark::Removed, format!("- {id}")));
    Some(Part::new("tasks", Body::Lines(set.chain(del).collect())).noted("journal"))
}

fn plan(turn: &Turn<'_>) -> Option<Part> {
    let plan = turn.find(|event| match event {
        Event::PlanState(plan) => Some(plan),
        _ => None,
    })?;
    Some(Part::new("checklist", Body::Tree(to_json(plan), Vec::new())).noted("after the turn"))
}

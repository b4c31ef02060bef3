//! The memory of a run after a turn, with the changes of the turn; tasks in the journal, the checklist.
//!
//! In: the memory events of the run up to the turn. Out: an overview, then one part per name. A value that the recording truncated is
//! marked with its size: [`Bench::value_of`](super::Bench::value_of) computes it whole. It must never show a part of a value as the value.

use std::collections::BTreeMap;

use ptc_core::value::json::to_json;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::{Event, MemoryChange, TextRecord};
use crate::workbench::format::{plural, size};

/// A name in memory: its value and the turn that set it last.
struct Known {
    value: TextRecord,
    since: String,
}

/// Change of a name in the turn.
enum Fate<'a> {
    /// It was added.
    New(&'a TextRecord),
    /// It was changed: old and new value.
    Changed(&'a TextRecord, &'a TextRecord),
    /// It was removed; its last value, if known.
    Removed(Option<&'a TextRecord>),
    /// It was not changed.
    Unchanged(&'a Known),
}

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let before = before(turn);
    let change = turn.find(|event| match event {
        Event::MemoryChange(change) => Some(change),
        _ => None,
    });
    let names = match change {
        Some(change) if !change.rolled_back => names_after(&before, Some(change)),
        _ => names_after(&before, None),
    };
    let mut parts = Vec::new();
    if !names.is_empty() {
        parts.push(overview(&names));
        parts.extend(names.iter().map(|(name, fate)| part(name, fate)));
    }
    parts.extend(change.filter(|change| change.rolled_back).into_iter().flat_map(dropped));
    parts.extend(tasks(turn));
    parts.extend(plan(turn));
    parts
}

/// Returns the names after the turn and the removed ones: changed names first, then the others.
fn names_after<'a>(before: &'a BTreeMap<String, Known>, change: Option<&'a MemoryChange>) -> Vec<(&'a str, Fate<'a>)> {
    let (set, del) = change.map_or((&[][..], &[][..]), |change| (&change.set[..], &change.del[..]));
    let fate = |name: &String, value: &'a TextRecord| match before.get(name) {
        Some(old) => Fate::Changed(&old.value, value),
        None => Fate::New(value),
    };
    let mut names: Vec<(&str, Fate<'_>)> = set.iter().map(|(name, value)| (name.as_str(), fate(name, value))).collect();
    names.extend(del.iter().map(|name| (name.as_str(), Fate::Removed(before.get(name).map(|old| &old.value)))));
    let touched = |name: &str| set.iter().any(|(other, _)| other == name) || del.iter().any(|other| other == name);
    names.extend(
        before.iter().filter(|(name, _)| !touched(name)).map(|(name, old)| (name.as_str(), Fate::Unchanged(old))),
    );
    names
}

/// Returns one line per name with its size, and the sum.
fn overview(names: &[(&str, Fate<'_>)]) -> Part {
    let widest = names.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(32);
    let mut total = 0;
    let mut kept = 0;
    let mut lines = Vec::new();
    for (name, fate) in names {
        let (mark, sign, bytes) = match fate {
            Fate::New(value) => (Mark::Added, '+', value.bytes()),
            Fate::Changed(_, value) => (Mark::Warn, '~', value.bytes()),
            Fate::Removed(_) => (Mark::Removed, '-', 0),
            Fate::Unchanged(known) => (Mark::Plain, ' ', known.value.bytes()),
        };
        let text = match fate {
            Fate::Removed(_) => format!("{:>8}  {sign} {name:<widest$}  removed", ""),
            Fate::New(_) => format!("{:>8}  {sign} {name:<widest$}  new", size(bytes)),
            Fate::Changed(..) => format!("{:>8}  {sign} {name:<widest$}  changed", size(bytes)),
            Fate::Unchanged(known) => format!("{:>8}  {sign} {name:<widest$}  since {}", size(bytes), known.since),
        };
        total += bytes;
        kept += u64::from(!matches!(fate, Fate::Removed(_)));
        lines.push(Line::new(mark, text));
    }
    lines.push(Line::new(Mark::Title, format!("{:>8}    {} after this turn", size(total), plural(kept, "name"))));
    let whole = Part::new("memory", Body::Lines(lines)).noted("after this turn");
    Part { bytes: total, ..whole }
}

fn part(name: &str, fate: &Fate<'_>) -> Part {
    match fate {
        Fate::New(value) => {
            let text = value.text().lines().map(|line| Line::new(Mark::Added, format!("+ {line}")));
            of_value(name, value, text.collect()).noted("+ new")
        }
        Fate::Changed(TextRecord::Whole(old), TextRecord::Whole(new)) => {
            let part = Part::new(name, Body::Lines(Line::difference(old, new))).noted("~ changed");
            Part { bytes: new.len() as u64, ..part }
        }
        Fate::Changed(old, new) => {
            let line = |mark: Mark, sign: &str, kept: &TextRecord| {
                let text = format!("{sign} {} …", kept.text().lines().next().unwrap_or_default());
                Line::new(mark, text)
            };
            let lines = vec![line(Mark::Removed, "-", old), line(Mark::Added, "+", new)];
            of_value(name, new, lines).noted("~ changed")
        }
        Fate::Removed(old) => {
            let gone = old.map(TextRecord::text).unwrap_or_default();
            let lines = gone.lines().map(|line| Line::new(Mark::Removed, format!("- {line}"))).collect();
            Part::new(name, Body::Lines(lines)).noted("- removed").marked(Mark::Dim)
        }
        Fate::Unchanged(known) => {
            let text = known.value.text().lines().map(|line| Line::new(Mark::Plain, line));
            of_value(name, &known.value, text.collect()).noted(format!("since {}", known.since))
        }
    }
}

/// Creates a part with the size of the value; if the recording truncated it, the last line reports that.
fn of_value(name: &str, value: &TextRecord, mut lines: Vec<Line>) -> Part {
    if let TextRecord::Head { head, bytes, .. } = value {
        let text = format!("{}, {} recorded here; `a` computes the whole value", size(*bytes), size(head.len() as u64));
        lines.push(Line::new(Mark::Warn, text));
    }
    let part = Part::new(name, Body::Lines(lines));
    Part { bytes: value.bytes(), is_cut: matches!(value, TextRecord::Head { .. }), ..part }
}

/// Returns the parts of definitions that exceeded the agent's memory limit.
fn dropped(change: &MemoryChange) -> Vec<Part> {
    let text = format!("the definitions would take {}: more than the agent may keep", size(change.bytes));
    let whole = Part::new("dropped", Body::Text(text)).marked(Mark::Bad);
    let part = |(name, value): &(String, TextRecord)| {
        let lines = value.text().lines().map(|line| Line::new(Mark::Removed, format!("- {line}"))).collect();
        of_value(name, value, lines).noted("dropped: too large").marked(Mark::Bad)
    };
    std::iter::once(whole).chain(change.set.iter().map(part)).collect()
}

/// Returns the names of the run before the turn.
fn before(turn: &Turn<'_>) -> BTreeMap<String, Known> {
    let (run, first) = (turn.address.run_part(), turn.events.first().map_or(u64::MAX, |envelope| envelope.seq));
    let mut places = Vec::new();
    turn.session.visit(|place, line| {
        if &*line.k == "memory" {
            places.push(place);
        }
    });
    let mut known = BTreeMap::new();
    let events = places.into_iter().filter_map(|place| turn.session.event(place));
    for envelope in events.filter(|envelope| envelope.run() == run && envelope.seq < first) {
        let since = envelope.address.turn_number().map_or_else(String::new, |number| format!("t{number}"));
        if let Event::MemoryChange(change) = envelope.event
            && !change.rolled_back
        {
            change.del.iter().for_each(|name| _ = known.remove(name));
            let set = change.set.into_iter().map(|(name, value)| (name, Known { value, since: since.clone() }));
            known.extend(set);
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

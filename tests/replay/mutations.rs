//! Mutations of recordings: whatever is changed in a session, `replay --check` reports a difference, except for what the
//! field table calls a note.
//!
//! Every leaf of every line is changed, every line is removed, repeated and swapped with the next one, and events are
//! invented. A sample with a fixed seed runs each time; `PTC_LONG_TESTS=1` runs all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt as _;
use ptc_workbench::event::{Class, Envelope, Event, class_of_field};
use ptc_workbench::replay::{Recording, ReplayOutcome, verify};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::example_sessions;
use serde_json::{Value, json};

/// Mutations of the sample; the complete test makes all.
const SAMPLE: usize = 80;

/// A changed session.
struct Mutation {
    /// The changed part, for the counts: the kind of the event and the field without indexes.
    what: String,
    /// Place of the change: the session, the line and the field.
    place: String,
    /// The lines of the changed file.
    lines: Vec<String>,
    /// True if the table classifies the field as a note.
    is_note: bool,
}

/// Returns the paths of all leaves of a value; list items by index.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields
                .iter()
                .for_each(|(key, value)| leaves(value, &below(&key.replace('~', "~0").replace('/', "~1")), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, &below(&at.to_string()), found));
        }
        _ => found.push(path.to_owned()),
    }
}

/// Another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => json!(!truth),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| json!(number.as_f64().unwrap() + 1.0), |number| json!(number + 1))
        }
        Value::String(text) if text.is_empty() => json!("x"),
        // The last letter: the first one of an address or a hash would make it unreadable.
        Value::String(text) => {
            let last = text.chars().next_back().unwrap();
            let other = if last == '7' { '8' } else { '7' };
            json!(format!("{}{other}", &text[..text.len() - last.len_utf8()]))
        }
        Value::Null => json!(0),
        Value::Array(_) => json!([1]),
        Value::Object(_) => json!({"x": 1}),
    }
}

/// The lines, numbered without gaps.
fn renumbered(header: &str, events: impl Iterator<Item = Value>) -> Vec<String> {
    let numbered = (1..).zip(events).map(|(number, mut event): (u64, Value)| {
        event["s"] = number.into();
        event.to_string()
    });
    [header.to_owned()].into_iter().chain(numbered).collect()
}

/// Numbers that look random and are the same in every run.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A place of a mutation in a session: what is done to the event of this index.
enum Change {
    Leaf(String),
    Removed,
    Repeated,
    Swapped,
    Invented(&'static str, &'static str, Value),
}

/// Every change of a session.
fn changes(events: &[Value]) -> Vec<(usize, Change)> {
    let mut all = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let mut paths = Vec::new();
        leaves(&event["d"], "d", &mut paths);
        all.extend(["r", "k"].map(|field| (index, Change::Leaf(field.to_owned()))));
        all.extend(paths.into_iter().map(|path| (index, Change::Leaf(path))));
        all.push((index, Change::Removed));
        all.push((index, Change::Repeated));
        if index + 1 < events.len() {
            all.push((index, Change::Swapped));
        }
        let is = |kind: &str| event["k"] == kind;
        if ["turn.start", "request", "reply.end", "program.end"].iter().any(|kind| is(kind)) {
            let stop = json!({"reason": "cancelled", "by": "user"});
            all.push((index, Change::Invented("interrupt", "", stop)));
        }
        if is("turn.start") {
            all.push((index, Change::Invented("turn.start", "9", event["d"].clone())));
            all.push((index, Change::Invented("tool.end", "/c9", json!({"status": "ok", "result": 1, "ms": 0}))));
            all.push((index, Change::Invented("answer", "/q9", json!({"by": "user", "value": "x"}))));
            all.push((
                index,
                Change::Invented(
                    "edit",
                    "",
                    json!({"target": "reply", "at": "r0/t1:reply", "after": "x", "by": "user"}),
                ),
            ));
        }
    }
    all
}

fn event_of(line: &Value) -> Option<Event> {
    Envelope::from_line(&line.to_string()).ok().map(|envelope| envelope.event)
}

/// An attempt that another one follows does not count.
fn is_of_discarded_attempt(line: &Value, events: &[Value]) -> bool {
    let is_end = |other: &&Value| {
        other["r"] == line["r"] && other["k"] == "reply.end" && other["d"]["attempt"] == line["d"]["attempt"]
    };
    line["k"] == "reply.part" && events.iter().find(is_end).is_some_and(|end| end["d"]["status"] == "discarded")
}

fn mutate(name: &str, header: &str, events: &[Value], index: usize, change: &Change) -> Mutation {
    let (line, kind) = (&events[index], events[index]["k"].as_str().unwrap());
    let event = event_of(line).unwrap();
    let of_notes = event.class() == Class::Note || is_of_discarded_attempt(line, events);
    let mut all = events.to_vec();
    let (what, is_note) = match change {
        Change::Leaf(path) => {
            let pointer = format!("/{path}");
            *all[index].pointer_mut(&pointer).unwrap() = changed(line.pointer(&pointer).unwrap());
            let field = path.strip_prefix("d/").unwrap_or(path).replace('/', ".");
            // Another address or kind makes another event of it: a note only where both are.
            let is_note = match path.as_str() {
                "r" | "k" => of_notes,
                _ => of_notes || class_of_field(&event, &field) == Class::Note,
            };
            let plain: Vec<&str> =
                field.split('.').map(|key| if key.parse::<u32>().is_ok() { "*" } else { key }).collect();
            (plain.join("."), is_note)
        }
        Change::Removed => {
            all.remove(index);
            ("(removed)".to_owned(), of_notes)
        }
        Change::Repeated => {
            all.insert(index, line.clone());
            ("(repeated)".to_owned(), of_notes)
        }
        Change::Swapped => {
            all.swap(index, index + 1);
            let is_note = |event: &Value| event_of(event).is_none_or(|event| event.class() == Class::Note);
            ("(swapped)".to_owned(), is_note(&events[index]) || is_note(&events[index + 1]))
        }
        Change::Invented(kind, place, data) => {
            let mut invented = line.clone();
            let at = line["r"].as_str().unwrap();
            invented["r"] = format!("{at}{place}").into();
            (invented["k"], invented["d"]) = ((*kind).into(), data.clone());
            all.insert(index + 1, invented);
            (format!("(invented {kind})"), false)
        }
    };
    let place = format!("{name} line {} at {} {kind} {what}", index + 2, line["r"]);
    Mutation { what: format!("{kind} {what}"), place, lines: renumbered(header, all.into_iter()), is_note }
}

/// Returns whether the check notices a change of this file. One that cannot be read or replayed at all is noticed as well.
async fn is_noticed(lines: &[String]) -> bool {
    let Ok(session) = Session::from_bytes(Path::new("x.jsonl"), (lines.join("\n") + "\n").into_bytes()) else {
        return true;
    };
    if Recording::of(&session).is_err() {
        return true;
    }
    let found = verify(&session).await;
    // A recording without its end is one that ends before its run.
    found.is_faulty() || matches!(found.outcome(), Some(ReplayOutcome::Unfinished { .. }))
}

/// The texts of the examples: header, and events.
fn sessions() -> Vec<(String, String, Vec<Value>)> {
    let texts = example_sessions().iter().map(|session| {
        let text = String::from_utf8(session.complete_lines().unwrap()).unwrap();
        let mut lines = text.lines();
        let header = lines.next().unwrap().to_owned();
        let events = lines.map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            // The distances between lines are checked in files as they were written.
            event.as_object_mut().unwrap().remove("b");
            event
        });
        (session.header.id.to_string(), header, events.collect())
    });
    texts.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_recording_is_noticed_unless_it_is_a_note() {
    let sessions = Arc::new(sessions());
    for (name, header, events) in sessions.iter() {
        assert!(!is_noticed(&renumbered(header, events.iter().cloned())).await, "{name} is not as it was recorded");
    }
    let mut all: Vec<(usize, usize, Change)> = sessions
        .iter()
        .enumerate()
        .flat_map(|(session, (.., events))| {
            changes(events).into_iter().map(move |(index, change)| (session, index, change))
        })
        .collect();
    let is_long = crate::is_long();
    let sample_size = crate::by_form(all.len(), SAMPLE, SAMPLE / 3);
    if !is_long {
        let mut seed = 0x2545_f491_4f6c_dd1d;
        let mut sample = Vec::new();
        while sample.len() < sample_size && !all.is_empty() {
            let at = usize::try_from(random(&mut seed) % all.len() as u64).unwrap();
            sample.push(all.swap_remove(at));
        }
        all = sample;
    }
    let count = all.len();
    let tested = futures::stream::iter(all).map(|(session, index, change)| {
        let sessions = Arc::clone(&sessions);
        tokio::spawn(async move {
            let (name, header, events) = &sessions[session];
            let mutation = mutate(name, header, events, index, &change);
            let is_noticed = is_noticed(&mutation.lines).await;
            (mutation, is_noticed)
        })
    });
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut unnoticed = Vec::new();
    let mut tested = tested.buffer_unordered(4);
    while let Some(result) = tested.next().await {
        let (mutation, is_noticed) = result.unwrap();
        let counted = counts.entry(mutation.what.clone()).or_default();
        counted.0 += 1;
        if !is_noticed {
            counted.1 += 1;
            if !mutation.is_note {
                unnoticed.push(mutation.place);
            }
        }
    }
    if is_long {
        eprintln!("{count} mutations");
        for (what, (made, missed)) in counts.iter().filter(|(_, (_, missed))| *missed > 0) {
            eprintln!("{missed:6} of {made:6} unnoticed: {what}");
        }
    }
    unnoticed.sort();
    assert!(unnoticed.is_empty(), "{} of {count} unnoticed:\n{}", unnoticed.len(), unnoticed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_a_pipeline_that_is_recorded_before_the_end_of_the_one_before_it_is_noticed() {
    let mut swapped = 0;
    for (name, header, events) in sessions() {
        for index in 0..events.len().saturating_sub(1) {
            if (&events[index]["k"], &events[index + 1]["k"]) == (&json!("run.end"), &json!("run.start")) {
                let mutation = mutate(&name, &header, &events, index, &Change::Swapped);
                assert!(is_noticed(&mutation.lines).await, "{}", mutation.place);
                swapped += 1;
            }
        }
    }
    assert!(swapped >= 2, "the examples have a pipeline of three steps");
}

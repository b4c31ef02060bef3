//! The differences of two events: the path of each into their data, both sides there, and for texts of several lines a diff by lines.
//!
//! In: a recorded event and the one of now. Out: every path that differs, and a report within bounds. Text in it comes from outside: the faces
//! make it safe.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use crate::event::Event;

/// Characters shown around the place where two texts part.
const AROUND: usize = 30;
/// Changes of one event that a report shows.
const SHOWN: usize = 12;
/// Lines of a diff that a report shows.
const LINES: usize = 60;
/// Characters of a line of a diff that a report shows.
const COLUMNS: usize = 200;
/// Lines around a change in a diff.
const CONTEXT: usize = 3;

/// One place where two events differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The path into the data, such as `parts.0.text`; empty for the event itself.
    pub path: String,
    /// What is recorded there, in short; `None` where nothing is.
    pub recorded: Option<String>,
    /// What is there now, in short; `None` where nothing is.
    pub now: Option<String>,
    /// A unified diff of texts of several lines, `-` recorded and `+` now.
    pub diff: Option<String>,
}

/// How two events differ, within bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The first changes in the order of the data.
    pub changes: Vec<Change>,
    /// How many more there are.
    pub more: usize,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = Vec::new();
        for Change { path, recorded, now, diff } in &self.changes {
            let mut text = if path.is_empty() { String::new() } else { format!("  at        {path}\n") };
            if let Some(diff) = diff {
                diff.lines().for_each(|line| _ = writeln!(text, "  {line}"));
            } else {
                let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
                _ = writeln!(text, "  recorded  {}\n  now       {}", side(recorded), side(now));
            }
            said.push(text.trim_end().to_owned());
        }
        if self.more > 0 {
            said.push(format!("  … and {} more places", self.more));
        }
        f.write_str(&said.join("\n"))
    }
}

/// A place that differs, both sides whole.
struct Parting<'v> {
    path: String,
    recorded: Option<&'v Value>,
    now: Option<&'v Value>,
}

/// How two events differ. A missing side means that the other has no counterpart; of the places, only those that `counts` accepts are
/// told. `None`: nothing that counts differs.
pub(super) fn differences(
    recorded: Option<&Event>,
    now: Option<&Event>,
    counts: &dyn Fn(&str) -> bool,
) -> Option<Difference> {
    let named = |event: &Event| format!("the event {}", event.kind());
    match (recorded, now) {
        (Some(recorded), Some(now)) if recorded.kind() == now.kind() => {
            let (recorded, now) = (json(recorded), json(now));
            let mut partings = Vec::new();
            part(Some(&recorded), Some(&now), String::new(), &mut partings);
            partings.retain(|parting| counts(&parting.path));
            let more = partings.len().saturating_sub(SHOWN);
            let changes: Vec<Change> = partings.iter().take(SHOWN).map(change).collect();
            (!changes.is_empty()).then_some(Difference { changes, more })
        }
        (None, None) => None,
        (recorded, now) => {
            let (recorded, now) = (recorded.map(named), now.map(named));
            Some(Difference { changes: vec![Change { path: String::new(), recorded, now, diff: None }], more: 0 })
        }
    }
}

fn json(event: &Event) -> Value {
    event.data().ok().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()
}

/// Collects where two trees part. Event data is nested no deeper than its readers allow.
fn part<'v>(left: Option<&'v Value>, right: Option<&'v Value>, path: String, found: &mut Vec<Parting<'v>>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (left, right) {
        _ if left == right => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.for_each(|key| part(a.get(key), b.get(key), below(key), found));
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).for_each(|at| part(a.get(at), b.get(at), below(&at.to_string()), found));
        }
        (recorded, now) => found.push(Parting { path, recorded, now }),
    }
}

fn change(parting: &Parting<'_>) -> Change {
    let path = parting.path.clone();
    match (parting.recorded, parting.now) {
        (Some(Value::String(a)), Some(Value::String(b))) => {
            let (recorded, now) = texts(a, b);
            Change { path, recorded: Some(recorded), now: Some(now), diff: by_lines(a, b) }
        }
        (recorded, now) => Change { path, recorded: recorded.map(shown), now: now.map(shown), diff: None },
    }
}

/// A unified diff within bounds; `None` where lines do not help: both texts have only one, or what differs lies behind the last column.
fn by_lines(recorded: &str, now: &str) -> Option<String> {
    if !recorded.contains('\n') && !now.contains('\n') {
        return None;
    }
    let diff = TextDiff::from_lines(recorded, now);
    let whole = diff.unified_diff().context_radius(CONTEXT).header("recorded", "now").to_string();
    let is_cut = |line: &str| line.chars().nth(COLUMNS).is_some();
    if whole.lines().any(|line| line.starts_with(['-', '+']) && is_cut(line)) {
        return None;
    }
    let cut = |line: &str| match line.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = whole.lines().take(LINES).map(cut).collect();
    let more = whole.lines().count().saturating_sub(LINES);
    if more > 0 {
        lines.push(format!("… {more} more lines"));
    }
    Some(lines.join("\n"))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(3 * AROUND) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Both texts around the first character in which they differ.
fn texts(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(AROUND);
    let window = |text: &str| {
        let part: String = text.chars().skip(from).take(2 * AROUND).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if text.chars().count() > from + 2 * AROUND { "…" } else { "" };
        format!("{before}{part:?}{after}")
    };
    (window(a), window(b))
}

/// Where two lists of messages part, in words; `None` when they are the same.
pub(super) fn first_message_difference(recorded: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    for place in 0..recorded.len().max(now.len()) {
        match (recorded.get(place), now.get(place)) {
            (Some(a), Some(b)) if a == b => {}
            (Some((role, a)), Some((now_role, b))) if role == now_role => {
                let (left, right) = texts(a, b);
                return Some(format!("message {} ({role}): recorded {left}, now {right}", place + 1));
            }
            (Some((role, _)), Some((now_role, _))) => {
                return Some(format!("message {}: recorded from {role}, now from {now_role}", place + 1));
            }
            (Some((role, _)), None) => {
                return Some(format!("message {} ({role}) is recorded and not sent now", place + 1));
            }
            (None, Some((role, _))) => {
                return Some(format!("message {} ({role}) is sent now and not recorded", place + 1));
            }
            (None, None) => {}
        }
    }
    None
}

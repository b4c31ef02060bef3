//! Differences of two events: each differing path with both values, and a line diff of multi-line texts.
//!
//! In: a recorded and a current event. Out: the differing paths, and a bounded report. Its texts are untrusted: they
//! must be escaped where they are printed.

use std::fmt::Write as _;

use ptc_core::text::cut;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use crate::event::Event;

/// Characters shown around the first difference of two texts.
const CONTEXT_CHARS: usize = 30;
/// Maximum number of changes per event in a report.
const MAX_CHANGES: usize = 12;
/// Maximum number of diff lines in a report.
const MAX_DIFF_LINES: usize = 60;
/// Maximum width of a diff line in a report.
const MAX_COLUMNS: usize = 200;
/// Context lines around a change in a diff.
const CONTEXT_LINES: usize = 3;

/// One differing path of two events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventChange {
    /// The path into the data, such as `parts.0.text`; empty for the event itself.
    pub path: String,
    /// The recorded value, shortened; `None` when absent.
    pub recorded: Option<String>,
    /// The current value, shortened; `None` when absent.
    pub now: Option<String>,
    /// A unified diff of multi-line texts, `-` recorded and `+` now.
    pub diff: Option<String>,
}

/// The bounded differences of two events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDifference {
    /// The first changes, in the order of the data.
    pub changes: Vec<EventChange>,
    /// Number of further changes.
    pub more: usize,
}

impl std::fmt::Display for EventDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = Vec::new();
        for EventChange { path, recorded, now, diff } in &self.changes {
            let mut text = if path.is_empty() { String::new() } else { format!("  at        {path}\n") };
            if let Some(diff) = diff {
                diff.lines().for_each(|line| _ = writeln!(text, "  {line}"));
            } else {
                let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
                _ = writeln!(text, "  recorded  {}\n  now       {}", side(recorded), side(now));
            }
            lines.push(text.trim_end().to_owned());
        }
        if self.more > 0 {
            lines.push(format!("  … and {} more differences", self.more));
        }
        f.write_str(&lines.join("\n"))
    }
}

/// A differing path with both full values.
struct PathDifference<'v> {
    path: String,
    recorded: Option<&'v Value>,
    now: Option<&'v Value>,
}

/// Compares two events; a missing event has no counterpart. Only paths accepted by `counts` are reported; `None` when
/// none differs.
pub(super) fn differences(
    recorded: Option<&Event>,
    now: Option<&Event>,
    counts: &dyn Fn(&str) -> bool,
) -> Option<EventDifference> {
    let named = |event: &Event| format!("the event {}", event.kind());
    match (recorded, now) {
        (Some(recorded), Some(now)) if recorded.kind() == now.kind() => {
            let (recorded, now) = (json(recorded), json(now));
            let mut found = Vec::new();
            collect_differences(Some(&recorded), Some(&now), String::new(), &mut found);
            found.retain(|difference| counts(&difference.path));
            let more = found.len().saturating_sub(MAX_CHANGES);
            let changes: Vec<EventChange> = found.iter().take(MAX_CHANGES).map(event_change).collect();
            (!changes.is_empty()).then_some(EventDifference { changes, more })
        }
        (None, None) => None,
        (recorded, now) => {
            let (recorded, now) = (recorded.map(named), now.map(named));
            Some(EventDifference {
                changes: vec![EventChange { path: String::new(), recorded, now, diff: None }],
                more: 0,
            })
        }
    }
}

fn json(event: &Event) -> Value {
    event.data().ok().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()
}

/// Collects the differing paths of two trees. The nesting depth is limited by the event reader.
fn collect_differences<'v>(
    left: Option<&'v Value>,
    right: Option<&'v Value>,
    path: String,
    found: &mut Vec<PathDifference<'v>>,
) {
    let child_path = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (left, right) {
        _ if left == right => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.for_each(|key| collect_differences(a.get(key), b.get(key), child_path(key), found));
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len()))
                .for_each(|at| collect_differences(a.get(at), b.get(at), child_path(&at.to_string()), found));
        }
        (recorded, now) => found.push(PathDifference { path, recorded, now }),
    }
}

fn event_change(difference: &PathDifference<'_>) -> EventChange {
    let path = difference.path.clone();
    match (difference.recorded, difference.now) {
        (Some(Value::String(a)), Some(Value::String(b))) => {
            let (recorded, now) = text_windows(a, b);
            EventChange { path, recorded: Some(recorded), now: Some(now), diff: line_diff(a, b) }
        }
        (recorded, now) => EventChange { path, recorded: recorded.map(shorten), now: now.map(shorten), diff: None },
    }
}

/// Returns a bounded unified diff; `None` where a diff does not help: both texts have one line, or the difference lies
/// after the last column.
fn line_diff(recorded: &str, now: &str) -> Option<String> {
    if !recorded.contains('\n') && !now.contains('\n') {
        return None;
    }
    let diff = TextDiff::from_lines(recorded, now);
    let whole = diff.unified_diff().context_radius(CONTEXT_LINES).header("recorded", "now").to_string();
    let is_cut = |line: &str| line.chars().nth(MAX_COLUMNS).is_some();
    if whole.lines().any(|line| line.starts_with(['-', '+']) && is_cut(line)) {
        return None;
    }
    let mut lines: Vec<String> = whole.lines().take(MAX_DIFF_LINES).map(|line| cut(line, MAX_COLUMNS)).collect();
    let more = whole.lines().count().saturating_sub(MAX_DIFF_LINES);
    if more > 0 {
        lines.push(format!("… {more} more lines"));
    }
    Some(lines.join("\n"))
}

fn shorten(value: &Value) -> String {
    cut(&value.to_string(), 3 * CONTEXT_CHARS)
}

/// Returns both texts around the first differing character.
fn text_windows(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(CONTEXT_CHARS);
    let window = |text: &str| {
        let part: String = text.chars().skip(from).take(2 * CONTEXT_CHARS).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if text.chars().count() > from + 2 * CONTEXT_CHARS { "…" } else { "" };
        format!("{before}{part:?}{after}")
    };
    (window(a), window(b))
}

/// Describes the first difference of two message lists; `None` when they are equal.
pub(super) fn first_message_difference(recorded: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    for place in 0..recorded.len().max(now.len()) {
        match (recorded.get(place), now.get(place)) {
            (Some(a), Some(b)) if a == b => {}
            (Some((role, a)), Some((now_role, b))) if role == now_role => {
                let (left, right) = text_windows(a, b);
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

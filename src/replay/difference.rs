//! The first difference of two events, told as a path into their data and a few words of both sides.

use serde_json::Value;

use crate::event::Event;

/// Characters shown around the place where two texts part.
const AROUND: usize = 30;

/// Where two events part. A missing side means that the other has no counterpart.
pub(super) fn first_difference(recorded: Option<&Event>, now: Option<&Event>) -> String {
    match (recorded, now) {
        (Some(recorded), Some(now)) if recorded.kind() == now.kind() => {
            let (path, left, right) = part(&json(recorded), &json(now), String::new())
                .unwrap_or_else(|| (String::new(), String::from("(equal)"), String::from("(equal)")));
            let path = if path.is_empty() { "the event".to_owned() } else { path };
            format!("  at        {path}\n  recorded  {left}\n  now       {right}")
        }
        (Some(recorded), Some(now)) => {
            format!("  recorded  a {} event\n  now       a {} event", recorded.kind(), now.kind())
        }
        (Some(recorded), None) => format!("  recorded  a {} event\n  now       nothing", recorded.kind()),
        (None, Some(now)) => format!("  recorded  nothing\n  now       a {} event", now.kind()),
        (None, None) => String::new(),
    }
}

fn json(event: &Event) -> Value {
    event.data().ok().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()
}

fn part(left: &Value, right: &Value, path: String) -> Option<(String, String, String)> {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (left, right) {
        _ if left == right => None,
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => part(a, b, below(key)),
                (a, b) => {
                    Some((below(key), a.map_or("nothing".to_owned(), shown), b.map_or("nothing".to_owned(), shown)))
                }
            })
        }
        (Value::Array(a), Value::Array(b)) => (0..a.len().max(b.len())).find_map(|place| {
            let path = below(&place.to_string());
            match (a.get(place), b.get(place)) {
                (Some(a), Some(b)) => part(a, b, path),
                (a, b) => Some((path, a.map_or("nothing".to_owned(), shown), b.map_or("nothing".to_owned(), shown))),
            }
        }),
        (Value::String(a), Value::String(b)) => {
            let (left, right) = texts(a, b);
            Some((path, left, right))
        }
        (a, b) => Some((path, shown(a), shown(b))),
    }
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

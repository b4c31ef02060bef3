//! Hostile replies: nested values whose texts hold marks of JSON, fences, comments, tags and escapes, written by careless writers.
//!
//! What is accepted has the known value, whole: a reply that could be read in another way is refused.

use crate::reply::{AnswerShape, ExtractOutcome, Finish, Recovery, Reject, extract};
use crate::value::Json;
use crate::value::json::{Node, parse};

/// Texts that a repair may cut, join or split.
const TEXTS: &[&str] = &[
    "```json\n{\"text\": \"inner\"}\n```",
    "<think>{\"text\": \"no\"}</think> yes",
    "use `{\"a\": 1}` or `[1, 2]`",
    "a // b, c # d /* e */ f",
    "ends with a quote\"",
    "\"starts with a quote",
    "comma, \"colon\": and \"bracket\"]",
    "x\": \"y",
    "\", \"meta\": {\"ok\": false",
    "regex \\d+\\s* and C:\\dir\\file",
    "tab\there, 'single' and \"double\"",
    "it's, they're; don't: 'quoted, text'",
    "None, True, undefined, NaN",
    "1e999 and 1,234,567",
    "“smart” and „low“ quotes",
    "...",
    "{{name}} {% if x %}",
    "SELECT \"a\", 'b' FROM t WHERE c = '}'",
    "line one\n\"line\": two,\n}\nline four",
    "\"items\": [\"a\", \"b\"], \"text\": \"other\"",
    "}",
    "]}",
    "\"]",
    "a\" b \"c",
    "emoji \u{1f600} \"\u{1f600}\" end",
];

type Value = (String, Vec<String>, String);

fn json(value: &Value) -> Json {
    let items = value.1.iter().map(|item| Json::str(item.as_str()));
    Json::object([
        ("text", Json::str(value.0.as_str())),
        ("items", Json::list(items)),
        ("meta", Json::object([("note", Json::str(value.2.as_str())), ("ok", Node::Bool(true).into())])),
    ])
}

/// The type `{text :string, items [:string], meta {note :string, ok :bool}}`.
fn fits(json: &Json) -> Result<(), Reject> {
    let is_text = |value: Option<&Json>| value.is_some_and(|value| value.as_str().is_some());
    let items = json.get("items").and_then(Json::items);
    let ok = json.at("meta.ok").is_some_and(|value| matches!(value.node, Node::Bool(_)));
    let fit = is_text(json.get("text")) && is_text(json.at("meta.note")) && ok;
    if fit && items.is_some_and(|items| items.iter().all(|item| item.as_str().is_some())) {
        return Ok(());
    }
    Err(Reject::Invalid("it does not fit".to_owned()))
}

/// A string of JSON with these characters escaped, and those alone.
fn quoted(text: &str, marks: (&str, &str), escaped: &str) -> String {
    let mut out = marks.0.to_owned();
    for c in text.chars() {
        match c {
            '\n' if escaped.contains('\n') => out.push_str("\\n"),
            '\t' if escaped.contains('\n') => out.push_str("\\t"),
            c if escaped.contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out + marks.1
}

/// A way to write an object: its strings, and what is between them.
struct Writer {
    name: &'static str,
    string: fn(&str) -> String,
    comma: &'static str,
    colon: &'static str,
    end: &'static str,
    around: (&'static str, &'static str),
}

const ALL: &str = "\"\\\n";

fn proper(text: &str) -> String {
    quoted(text, ("\"", "\""), ALL)
}

fn bare_quotes(text: &str) -> String {
    quoted(text, ("\"", "\""), "\\\n")
}

const PLAIN: Writer = Writer { name: "plain", string: proper, comma: ", ", colon: ": ", end: "}}", around: ("", "") };

const WRITERS: &[Writer] = &[
    Writer { name: "bare quotes", string: bare_quotes, ..PLAIN },
    Writer { name: "bare quotes and lines", string: |text| quoted(text, ("\"", "\""), "\\"), ..PLAIN },
    Writer { name: "bare backslashes", string: |text| quoted(text, ("\"", "\""), "\"\n"), ..PLAIN },
    Writer { name: "single quotes", string: |text| quoted(text, ("'", "'"), "'\\\n"), ..PLAIN },
    Writer { name: "single quotes, bare", string: |text| quoted(text, ("'", "'"), "\\\n"), ..PLAIN },
    Writer { name: "smart quotes", string: |text| quoted(text, ("“", "”"), "\\\n"), ..PLAIN },
    Writer { name: "backticks", string: |text| quoted(text, ("`", "`"), "\\\n"), ..PLAIN },
    Writer { name: "no commas", comma: " ", ..PLAIN },
    Writer { name: "no commas, bare quotes", string: bare_quotes, comma: "\n", ..PLAIN },
    Writer { name: "two commas", comma: ",, ", ..PLAIN },
    Writer { name: "semicolons", comma: "; ", ..PLAIN },
    Writer { name: "equals", colon: " = ", ..PLAIN },
    Writer { name: "arrows, bare quotes", string: bare_quotes, colon: " => ", ..PLAIN },
    Writer { name: "not closed", end: "", ..PLAIN },
    Writer { name: "not closed, bare quotes", string: bare_quotes, end: "", ..PLAIN },
    Writer { name: "closed too often", end: "}}}]", ..PLAIN },
    Writer { name: "comments", comma: ", // \"note\": \"x\"\n", ..PLAIN },
    Writer { name: "fenced, bare quotes", string: bare_quotes, around: ("```json\n", "\n```"), ..PLAIN },
    Writer {
        name: "between braces",
        string: bare_quotes,
        around: ("Like {\"text\": \"a\"}: ", " and so on {\"ok\": true}."),
        ..PLAIN
    },
    Writer {
        name: "after reasoning",
        string: bare_quotes,
        around: ("<think>{\"text\": \"t\"}</think>\n", ""),
        ..PLAIN
    },
];

impl Writer {
    fn write(&self, value: &Value) -> String {
        let Self { string, comma, colon, end, around, .. } = self;
        let items: Vec<String> = value.1.iter().map(|item| string(item)).collect();
        format!(
            "{}{{\"text\"{colon}{}{comma}\"items\"{colon}[{}]{comma}\"meta\"{colon}{{\"note\"{colon}{}{comma}\"ok\"{colon}true{end}{}",
            around.0,
            string(&value.0),
            items.join(comma),
            string(&value.2),
            around.1
        )
    }
}

fn values() -> Vec<Value> {
    let text = |at: usize| TEXTS[at % TEXTS.len()].to_owned();
    (0..TEXTS.len() * 2)
        .map(|at| {
            let items = (0..at % 3).map(|place| text(at * 5 + place * 3)).collect();
            (text(at), items, if at % 2 == 0 { "plain".to_owned() } else { text(at * 7 + 2) })
        })
        .collect()
}

#[test]
fn what_is_accepted_of_a_hostile_reply_has_the_known_value() {
    let (mut right, mut refused, mut wrong) = (0, 0, Vec::new());
    for writer in WRITERS {
        for value in values() {
            let (reply, known) = (writer.write(&value), json(&value));
            for recovery in [Recovery::Strict, Recovery::Standard] {
                let found = extract(&reply, &AnswerShape::Object, recovery, Finish::Complete, &mut fits);
                match found.outcome {
                    ExtractOutcome::Found { json, .. } if json == known => right += 1,
                    // What is JSON by chance has no other reading.
                    ExtractOutcome::Found { .. } if parse(&reply).is_ok() => {}
                    ExtractOutcome::Found { json, .. } => wrong.push(format!(
                        "{} ({}): {reply}\n  read: {}\n  known: {}",
                        writer.name,
                        recovery.name(),
                        json.to_text(),
                        known.to_text()
                    )),
                    _ => refused += 1,
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong values:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(right > 300, "{right} right, {refused} refused");
}

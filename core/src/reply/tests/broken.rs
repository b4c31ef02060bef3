//! Replies that are broken on purpose, made from known values: what is accepted has the known value.
//!
//! The corpus is fixed: pieces of text that models put into strings, joined by a small generator, and ways to break the JSON.

use crate::reply::{AnswerShape, ExtractOutcome, Finish, Recovery, Reject, extract};
use crate::value::Json;
use crate::value::json::{Node, parse};

/// Texts with marks of JSON in them, as they appear in answers about data and code.
const PIECES: &[&str] = &[
    "Send {\"id\": \"7\"} to the API",
    ", then wait.",
    "set {\"k\": \"v\", \"n\": 2} first",
    "x = {\"k\": \"v\"}\ny = {\"k\": \"w\"}\n",
    "He said \"yes\"",
    " and \"no\", \"maybe\"",
    "it's the user's",
    "[\"a\", \"b\"]",
    "<a href=\"x\">link</a>",
    "a } b",
    "] and {",
    "\"n\": 3",
    "\", \"n\": 4",
    "\"}, \"",
    "http://host/a#b",
    "# heading\n- item, \"quoted\"\n",
    "// comment",
    "{'a': 'b'}",
    "C:\\dir",
    "say \"hi\": he did",
    "key: \"value\"",
    "\"",
    "plain words",
    "1,234.5",
    "null",
    "{",
    "}",
];

/// The errors of a careless writer.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    UnescapedQuotes,
    RawLines,
    SingleQuotes,
    BareKeys,
    NoLastBracket,
    TextAround,
}

use Habit as H;

/// Ways to write a value that is no JSON.
const BREAKS: &[Break] = &[
    Break { habits: &[H::UnescapedQuotes], ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes, H::RawLines], ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes, H::NoLastBracket], ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes, H::TextAround], ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes], separator: ",\n  ", ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes], separator: "\n  ", ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes, H::SingleQuotes], ..Break::NONE },
    Break { habits: &[H::BareKeys], ..Break::NONE },
    Break { habits: &[H::UnescapedQuotes, H::BareKeys], ..Break::NONE },
    Break { separator: "\n", ..Break::NONE },
    Break { last: ",", ..Break::NONE },
    Break { habits: &[H::RawLines], last: ",", ..Break::NONE },
    Break { habits: &[H::NoLastBracket], ..Break::NONE },
    Break { last: "}", ..Break::NONE },
];

struct Break {
    habits: &'static [Habit],
    separator: &'static str,
    last: &'static str,
}

impl Break {
    const NONE: Self = Self { habits: &[], separator: ", ", last: "" };

    fn has(&self, habit: Habit) -> bool {
        self.habits.contains(&habit)
    }

    fn text(&self, text: &str) -> String {
        let mark = if self.has(H::SingleQuotes) { '\'' } else { '"' };
        let mut out = String::from(mark);
        for c in text.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' if !self.has(H::RawLines) => out.push_str("\\n"),
                c if c == mark && !self.has(H::UnescapedQuotes) => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
        out.push(mark);
        out
    }

    fn write(&self, value: &[(String, Json)]) -> String {
        let member = |(key, value): &(String, Json)| {
            let key = if self.has(H::BareKeys) { key.clone() } else { Self::NONE.text(key) };
            match &value.node {
                Node::Str(text) => format!("{key}: {}", self.text(text)),
                _ => format!("{key}: {}", value.to_text()),
            }
        };
        let members: Vec<String> = value.iter().map(member).collect();
        let end = if self.has(H::NoLastBracket) { "" } else { "}" };
        let object = format!("{{{}{}{end}", members.join(self.separator), self.last);
        if self.has(H::TextAround) { format!("Here is the answer: {object}\nI hope \"this\" helps.") } else { object }
    }
}

/// A sequence of numbers below a bound, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap_or_default()
    }
}

/// Known values: `text` and, sometimes, `note` are strings; `n` is a number that may be missing.
fn values() -> Vec<Vec<(String, Json)>> {
    let mut numbers = Numbers(7);
    let mut text = |most: usize| {
        let count = 1 + numbers.below(most);
        (0..count).map(|_| PIECES[numbers.below(PIECES.len())]).collect::<Vec<_>>().join(" ")
    };
    let mut values = Vec::new();
    for round in 0..150 {
        let mut value = vec![("text".to_owned(), Json::str(text(3)))];
        if round % 3 == 1 {
            value.push(("note".to_owned(), Json::str(text(2))));
        }
        if round % 4 == 2 {
            value.push(("n".to_owned(), Node::Int(round).into()));
        }
        values.push(value);
    }
    values
}

/// The schema of the values: `{text :string, note :string?, n :int?}`, other fields allowed.
fn fits(json: &Json) -> Result<(), Reject> {
    let is_text = |key: &str| json.get(key).is_none_or(|value| value.as_str().is_some());
    let is_number = json.get("n").is_none_or(|value| matches!(value.node, Node::Int(_)));
    if json.get("text").is_some() && is_text("text") && is_text("note") && is_number {
        return Ok(());
    }
    Err(Reject::Invalid("it does not fit".to_owned()))
}

#[test]
fn what_is_accepted_of_a_broken_reply_has_the_known_value() {
    let (mut right, mut refused, mut wrong) = (0, 0, Vec::new());
    for value in values() {
        for how in BREAKS {
            let reply = how.write(&value);
            let known = Json::object(value.clone());
            let found = extract(&reply, &AnswerShape::Object, Recovery::Standard, Finish::Complete, &mut fits);
            match found.outcome {
                ExtractOutcome::Found { json, .. } if json == known => right += 1,
                // What is JSON by chance has no other reading.
                ExtractOutcome::Found { .. } if parse(&reply).is_ok() => {}
                ExtractOutcome::Found { json, .. } => {
                    wrong.push(format!("{reply}\n  read: {}\n  known: {}", json.to_text(), known.to_text()));
                }
                _ => refused += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong values:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(right > 3 * refused, "{right} right, {refused} refused");
}

#[test]
fn a_string_that_quotes_json_is_whole_or_refused() {
    for (reply, text) in [
        ("{\"text\": \"Send {\"id\": \"7\"} to the API, then wait.\"}", "Send {\"id\": \"7\"} to the API, then wait."),
        ("{\"text\": \"set {\"k\": \"v\", \"n\": 2} first\"}", "set {\"k\": \"v\", \"n\": 2} first"),
        ("{\"text\": \"x = {\"k\": \"v\"}\\ny = {\"k\": \"w\"}\\n\"}", "x = {\"k\": \"v\"}\ny = {\"k\": \"w\"}\n"),
    ] {
        let found = extract(reply, &AnswerShape::Object, Recovery::Standard, Finish::Complete, &mut fits);
        let ExtractOutcome::Found { json, .. } = found.outcome else { panic!("{reply}") };
        assert_eq!(json, Json::object([("text", Json::str(text))]), "{reply}");
    }
}

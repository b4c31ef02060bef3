//! Properties of all replies.

use proptest::prelude::*;

use crate::reply::extract::search;
use crate::reply::{AnswerShape, ExtractOutcome, Extraction, Finish, Recovery, Reject, Scalar, extract};
use crate::value::Json;
use crate::value::json::{Member, Node, parse};

/// Text made of pieces of typical replies, so that it often resembles JSON.
pub(in crate::reply) fn reply_like() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "\"",
        "'",
        "“",
        "”",
        "`",
        "```",
        "~~~",
        "```json\n",
        "\n",
        " ",
        "\\",
        "\\\"",
        "\\u12",
        "//",
        "/*",
        "*/",
        "#",
        "...",
        "…",
        "+",
        "-",
        ".",
        "1",
        "007",
        "0x",
        "1e",
        "true",
        "None",
        "NaN",
        "a",
        "key",
        "\"a\":",
        "\"b\": 1,",
        "<think>",
        "</think>",
        "\u{feff}",
        "\u{a0}",
        "é",
        "\u{1}",
        "\"\"\"",
        "=>",
        ";",
        "1,234",
        "f(",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// Any JSON tree of moderate size.
pub(in crate::reply) fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i64>().prop_map(Node::Int),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Node::Float),
        "[ -~é「\\n\\t\"\\\\{}'`<>/#,:]{0,12}".prop_map(Node::Str),
    ]
    .prop_map(Json::from);
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::list),
            prop::collection::vec(("[ -~é\"\\\\]{0,6}", inner), 0..5).prop_map(Json::object),
        ]
    })
}

fn run(reply: &str, want: &AnswerShape, recovery: Recovery, finish: Finish) -> Extraction {
    extract(reply, want, recovery, finish, &mut |_| Ok(()))
}

fn is(found: &Extraction, wanted: &Json) -> bool {
    matches!(&found.outcome, ExtractOutcome::Found { json, .. } if json == wanted)
}

/// All spans of a tree lie inside the text and on its characters.
fn spans_fit(json: &Json, text: &str) -> bool {
    let fits = |start: usize, end: usize| text.get(start..end).is_some();
    fits(json.span.start, json.span.end)
        && match &json.node {
            Node::List(items) => items.iter().all(|item| spans_fit(item, text)),
            Node::Object(members) => members
                .iter()
                .all(|Member { key_span, value, .. }| fits(key_span.start, key_span.end) && spans_fit(value, text)),
            _ => true,
        }
}

/// The habits of a sloppy JSON writer.
#[derive(Debug, Clone)]
struct SloppyWriter {
    quotes: (&'static str, &'static str),
    comma: &'static str,
    last: &'static str,
    bare_keys: bool,
    raw_lines: bool,
}

fn sloppy() -> impl Strategy<Value = SloppyWriter> {
    let quotes = prop::sample::select(vec![("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’")]);
    let comma = prop::sample::select(vec![",", ", ", ",\n  ", " , // next\n", "; ", "\n"]);
    let last = prop::sample::select(vec!["", ",", ", ", "\n", " /* end */ "]);
    (quotes, comma, last, any::<bool>(), any::<bool>()).prop_map(|(quotes, comma, last, bare_keys, raw_lines)| {
        SloppyWriter { quotes, comma, last, bare_keys, raw_lines }
    })
}

impl SloppyWriter {
    fn write(&self, json: &Json) -> String {
        match &json.node {
            Node::Str(text) => self.string(text),
            Node::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Node::Null => "None".to_owned(),
            Node::List(items) => self.inside('[', ']', &items.iter().map(|item| self.write(item)).collect::<Vec<_>>()),
            Node::Object(members) => {
                let write = |member: &Member| format!("{}: {}", self.key(&member.key), self.write(&member.value));
                self.inside('{', '}', &members.iter().map(write).collect::<Vec<_>>())
            }
            _ => json.to_text(),
        }
    }

    fn inside(&self, open: char, close: char, parts: &[String]) -> String {
        let last = if parts.is_empty() { "" } else { self.last };
        format!("{open}{}{last}{close}", parts.join(self.comma))
    }

    fn key(&self, key: &str) -> String {
        let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric());
        if self.bare_keys && bare { key.to_owned() } else { self.string(key) }
    }

    fn string(&self, text: &str) -> String {
        let escaped = Json::str(text).to_text();
        let mut body = escaped[1..escaped.len() - 1].to_owned();
        if self.quotes.0 != "\"" {
            body = body.replace('\'', "\\u0027");
        }
        if self.raw_lines && !body.contains("\\\\") {
            body = body.replace("\\n", "\n");
        }
        format!("{}{body}{}", self.quotes.0, self.quotes.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_is_read_without_panic_with_spans_inside_it(text in prop_oneof![reply_like(), ".{0,60}"]) {
        let words = AnswerShape::Scalar(Scalar::Words(vec!["a".to_owned()]));
        for want in [AnswerShape::Object, AnswerShape::List, AnswerShape::Any, words] {
            for recovery in Recovery::ALL {
                for finish in [Finish::Complete, Finish::Truncated] {
                    for refuse in [true, false] {
                        let mut accept = |_: &Json| if refuse { Err(Reject::Shape(String::new())) } else { Ok(()) };
                        let (found, visited) = search(&text, &want, recovery, finish, &mut accept);
                        prop_assert!(visited <= 24 * text.len() + (1 << 17));
                        for candidate in &found.candidates {
                            prop_assert!(text.get(candidate.span.start..candidate.span.end).is_some());
                            for fix in &candidate.fixes {
                                prop_assert!(text.get(fix.at.start..fix.at.end).is_some());
                                prop_assert!(fix.kind.row().level <= recovery);
                            }
                        }
                        if let ExtractOutcome::Found { json, .. } | ExtractOutcome::Rejected { json, .. } = &found.outcome {
                            prop_assert!(spans_fit(json, &text));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn valid_json_is_never_changed(json in any_json(), pretty in any::<bool>()) {
        let text = if pretty { json.to_pretty() } else { json.to_text() };
        for recovery in Recovery::ALL {
            let found = run(&text, &AnswerShape::Any, recovery, Finish::Complete);
            prop_assert!(is(&found, &json), "{text}");
            prop_assert!(found.candidates.iter().all(|candidate| candidate.fixes.is_empty()));
        }
    }

    #[test]
    fn valid_objects_survive_prose_and_fences(json in any_json()) {
        let object = Json::object([("only", json)]);
        let text = object.to_pretty();
        for reply in [format!("Sure: {text} Done."), format!("```json\n{text}\n```"), format!("<think>{{</think>\n{text}")] {
            for recovery in [Recovery::Standard, Recovery::Lenient] {
                let found = run(&reply, &AnswerShape::Object, recovery, Finish::Complete);
                prop_assert!(is(&found, &object), "{reply}");
                prop_assert!(found.candidate().is_some_and(|candidate| candidate.fixes.is_empty()));
            }
        }
    }

    #[test]
    fn sloppy_json_is_read_as_it_was_meant(json in any_json(), style in sloppy()) {
        let object = Json::object([("only", json), ("last", Json::str("x"))]);
        let reply = format!("Here:\n{}\nDone, \"really\".", style.write(&object));
        for recovery in [Recovery::Standard, Recovery::Lenient] {
            let found = run(&reply, &AnswerShape::Object, recovery, Finish::Complete);
            prop_assert!(is(&found, &object), "{recovery}: {reply}\n{:?}", found.outcome);
        }
    }

    #[test]
    fn strict_reads_what_the_strict_reader_reads(text in reply_like()) {
        let found = run(&text, &AnswerShape::Any, Recovery::Strict, Finish::Complete);
        if let Ok(json) = parse(&text) {
            prop_assert!(is(&found, &json), "{text:?}");
        } else if let (Some(candidate), ExtractOutcome::Found { json, .. }) = (found.candidate(), &found.outcome) {
            let span = candidate.span.text(&text);
            prop_assert!(parse(span).is_ok_and(|strict| strict == *json), "{text:?}");
        }
    }

    #[test]
    fn a_cut_object_is_never_completed(json in any_json(), cut in any::<prop::sample::Index>()) {
        let text = Json::object([("only", json), ("last", Json::str("x"))]).to_text();
        let mut at = 1 + cut.index(text.len() - 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        for recovery in Recovery::ALL {
            let found = run(&text[..at], &AnswerShape::Object, recovery, Finish::Truncated);
            let cut = matches!(&found.outcome, ExtractOutcome::Malformed { error } if error.incomplete);
            prop_assert!(cut, "{}", &text[..at]);
        }
    }
}

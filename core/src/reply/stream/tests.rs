//! Replies in pieces: any split gives the same result as the whole, and the states along the way are correct.

use proptest::prelude::*;

use super::*;
use crate::reply::AnswerShape;
use crate::reply::tests::properties::{any_json, reply_like};
use crate::text::Span;
use crate::value::Json;
use crate::value::json::parse;

/// The visible state of a reader.
fn seen(push: &JsonPush) -> String {
    format!("{:?} {:?} {:?} {:?}", push.state(), push.value(), push.complete(), push.error())
}

fn read(pieces: &[&str]) -> JsonPush {
    let mut push = JsonPush::default();
    for piece in pieces {
        push.push(piece);
    }
    push
}

fn read_reply(pieces: &[&str]) -> ReplyPush {
    let mut push = ReplyPush::new(AnswerShape::Object);
    for piece in pieces {
        push.push(piece);
    }
    push
}

/// `text` in pieces of `size` characters.
fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut rest = text;
    std::iter::from_fn(|| {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
    .collect()
}

#[test]
fn a_growing_object_describes_its_progress() {
    let steps = [
        ("", "nothing yet"),
        ("{", "object open, 0 of 2 fields"),
        ("{\"na", "object open, 0 of 2 fields, key unfinished"),
        ("{\"name\": \"An", "object open, 0 of 2 fields, string unfinished"),
        ("{\"name\": \"Ann\", ", "object open, 1 of 2 fields"),
        ("{\"name\": \"Ann\", \"age\": 4", "object open, 1 of 2 fields, number unfinished"),
        ("{\"name\": \"Ann\", \"age\": 42}", "object complete, 2 of 2 fields"),
        ("{\"name\": Ann", "object broken, 0 of 2 fields"),
    ];
    for (text, line) in steps {
        assert_eq!(read(&[text]).state().describe(Some(2)), line, "{text}");
    }
    assert_eq!(read(&["[1, 2, tr"]).state().describe(None), "list open, 2 items, word unfinished");
}

#[test]
fn the_tree_so_far_holds_complete_parts_and_the_unfinished_string() {
    let shown = |text: &str| read(&[text]).value().map(|partial| (partial.json.to_text(), partial.unfinished));
    assert_eq!(shown("{\"a\": 1, \"b"), Some(("{\"a\":1}".to_owned(), None)));
    assert_eq!(shown("{\"a\": [1, 2"), Some(("{\"a\":[1]}".to_owned(), None)));
    assert_eq!(
        shown("{\"a\": [1, {\"b\": \"x\\ny"),
        Some(("{\"a\":[1,{\"b\":\"x\\ny\"}]}".to_owned(), Some(Span::new(16, 21))))
    );
    assert_eq!(shown("{\"a\": tru"), Some(("{}".to_owned(), None)));
    assert_eq!(shown("  "), None);
}

#[test]
fn the_path_leads_to_what_is_being_written() {
    let push = read(&["{\"rows\": [{\"n\": 1}, {\"n\": \"x"]);
    assert_eq!(push.state().path, [PathStep::Key("rows"), PathStep::Index(1), PathStep::Key("n")]);
    assert_eq!(push.state().depth, 3);
}

#[test]
fn a_number_is_withheld_until_it_is_whole() {
    let mut push = read(&["4", "2"]);
    assert_eq!((push.phase(), push.value()), (Phase::Open, None));
    push.finish();
    assert_eq!(push.complete().map(Json::to_text).as_deref(), Some("42"));
}

#[test]
fn what_follows_the_value_is_not_taken() {
    let mut push = JsonPush::default();
    assert_eq!(push.push("{\"a\": 1} and {"), 8);
    assert_eq!(push.push("more"), 0);
    assert_eq!(push.phase(), Phase::Complete);
}

#[test]
fn deep_nesting_is_an_error() {
    let push = read(&["[".repeat(100_000).as_str()]);
    assert!(push.error().is_some_and(|error| error.message.contains("512 levels")));
}

#[test]
fn the_json_of_a_growing_reply_is_found() {
    let cases = [
        ("<think>{\"a\": 0}</think>\n{\"a\": 1}", "{\"a\":1}"),
        ("Sure, {name}: {\"a\": 1} bye", "{\"a\":1}"),
        ("```json\n{\"a\": 1}\n```", "{\"a\":1}"),
        ("Not {\"a\": 0} but:\n```json\n{\"a\": 1}\n```\nnor {\"a\": 2}", "{\"a\":1}"),
        ("See [1] and ```json {\"a\": 1} ```", "{\"a\":1}"),
        ("```python\nx = {\"a\": 0}\n```\n{\"a\": 1}", "{\"a\":1}"),
        ("hm {\"a\": 0}\n</think>\n{\"a\": 1}", "{\"a\":1}"),
        ("Use ``` here: {\"a\": 1}", "{\"a\":1}"),
        ("{\"h\": \"<think>\", \"a\": \"x", "{\"h\":\"<think>\",\"a\":\"x\"}"),
    ];
    for (reply, wanted) in cases {
        let push = read_reply(&[reply]);
        let shown = push.json().and_then(JsonPush::value).map(|partial| partial.json.to_text());
        assert_eq!(shown.as_deref(), Some(wanted), "{reply}");
    }
}

#[test]
fn invalid_json_is_distinguished_from_brackets_in_prose() {
    for size in [1, 3, 100] {
        let read = |reply: &str| read_reply(&pieces(reply, size));
        for meant in ["{a: 1}", "so {'a': 1}", "{\"a\": oops}", "{\"a\" 1, \"b\": {\"c\": 1}}", "{a: {\"b\": 1}}"] {
            let push = read(meant);
            assert!(push.json().is_none(), "{meant}");
            let broken = push.broken().and_then(JsonPush::error).map(|error| error.offset);
            assert!(broken.is_some_and(|at| at > meant.find('{').unwrap_or_default()), "{meant}: {broken:?}");
        }
        for prose in ["{name}", "{{name}} and", "{1, 2}", "{a", "no"] {
            assert!(read(prose).broken().is_none(), "{prose}");
        }
        let better = read("{a: 1}\n```json\n{\"a\": 2}\n```");
        assert!(
            better.broken().is_none() && better.json().and_then(JsonPush::complete).is_some(),
            "a fence ranks higher"
        );
    }
}

#[test]
fn the_stage_of_a_growing_reply_is_known() {
    for (reply, stage) in [
        ("Let me", ReplyStage::Prose),
        ("<think>so", ReplyStage::Reasoning),
        ("<think>so</think> {\"a\"", ReplyStage::Json),
        ("{\"a\": 1} done", ReplyStage::Prose),
        ("```js", ReplyStage::Prose),
    ] {
        assert_eq!(read_reply(&[reply]).stage(), stage, "{reply}");
    }
}

#[test]
fn spans_count_in_the_whole_reply() {
    let reply = "Sure:\n```json\n{\"key\": \"é\"}\n```";
    let push = read_reply(&pieces(reply, 3));
    let json = push.json().and_then(JsonPush::complete).expect("an object");
    assert_eq!(json.span.text(reply), "{\"key\": \"é\"}");
    assert_eq!(json.get("key").map(|value| value.span.text(reply)), Some("\"é\""));
}

#[test]
fn small_pieces_cost_hardly_more_looks_than_one() {
    let rows = "{\"name\": \"some text here\", \"n\": [1, 2.5, true, null]},\n".repeat(20_000);
    let text = format!("[{rows}]");
    let (whole, split) = (read(&[&text]), read(&pieces(&text, 16)));
    assert_eq!(whole.phase(), Phase::Complete);
    assert_eq!(whole.complete(), split.complete());
    assert!(
        split.bytes_examined() < 2 * whole.bytes_examined(),
        "{} and {}",
        split.bytes_examined(),
        whole.bytes_examined()
    );
    assert!(whole.bytes_examined() < 3 * text.len());
}

proptest! {
    #[test]
    fn every_split_of_json_equals_the_whole(json in any_json(), size in 1usize..9, pretty in any::<bool>()) {
        let text = if pretty { json.to_pretty() } else { json.to_text() };
        let mut push = read(&pieces(&text, size));
        push.finish();
        prop_assert_eq!(push.complete(), Some(&json));
        prop_assert_eq!(push.complete().cloned(), parse(&text).ok());
    }

    #[test]
    fn every_split_of_any_text_equals_the_whole(text in reply_like(), size in 1usize..9) {
        prop_assert_eq!(seen(&read(&[&text])), seen(&read(&pieces(&text, size))));
        let (whole, split) = (read_reply(&[&text]), read_reply(&pieces(&text, size)));
        prop_assert_eq!(whole.json().map(seen), split.json().map(seen));
        prop_assert_eq!(whole.stage(), split.stage());
    }

    #[test]
    fn escapes_split_anywhere_read_as_in_the_strict_reader(
        parts in prop::collection::vec(prop::sample::select(vec!["\\ud83d", "\\ude00", "\\u0041", "\\n", "\\\\", "x", "é"]), 0..12),
        size in 1usize..5,
    ) {
        let text = format!("\"{}\"", parts.concat());
        prop_assert_eq!(read(&pieces(&text, size)).complete().cloned(), parse(&text).ok());
    }

    #[test]
    fn a_prefix_shows_nothing_that_the_whole_does_not_have(json in any_json(), cut in any::<prop::sample::Index>()) {
        let text = Json::object([("only", json)]).to_text();
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let push = read(&[&text[..at]]);
        prop_assert!(push.phase() != Phase::Failed && push.phase() != Phase::Complete);
        if let Some(partial) = push.value() {
            prop_assert!(within(&partial.json, &parse(&text).expect("valid"), partial.unfinished));
        }
    }
}

/// True if everything in `part` is in `whole`, except that the string at `unfinished` may be longer there.
fn within(part: &Json, whole: &Json, unfinished: Option<Span>) -> bool {
    use crate::value::json::Node;
    match (&part.node, &whole.node) {
        (Node::List(part), Node::List(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| within(part, whole, unfinished))
        }
        (Node::Object(part), Node::Object(whole)) => {
            part.len() <= whole.len()
                && part
                    .iter()
                    .zip(whole)
                    .all(|(part, whole)| part.key == whole.key && within(&part.value, &whole.value, unfinished))
        }
        (Node::Str(text), Node::Str(whole)) if unfinished == Some(part.span) => whole.starts_with(text),
        (part, whole) => part == whole,
    }
}

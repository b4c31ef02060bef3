//! JSON as lines: what it looks like whole, folded and while it grows.

use proptest::prelude::*;
use ptc_core::value::json;

use super::*;

const ALL: usize = 40;

fn whole(text: &str, folded: &Folded, columns: usize) -> Outline {
    Outline::whole(text, &json::parse(text).unwrap(), (Scope::All, folded), &[], columns)
}

/// A reader that received these pieces.
fn read(pieces: &[&str]) -> JsonPush {
    let mut push = JsonPush::default();
    for piece in pieces {
        push.push(piece);
    }
    push
}

fn grown(text: &str, scope: Scope, folded: &Folded) -> String {
    let mut outline = Outline::default();
    outline.grow(text, Some(&read(&[text])), (scope, folded), ALL);
    outline.text
}

#[test]
fn what_fits_one_line_and_was_on_one_does() {
    let none = Folded::new();
    assert_eq!(whole(r#"{"a":1, "b":[true,{}]}"#, &none, 40).text(), r#"{"a": 1, "b": [true, {}]}"#);
    assert_eq!(whole(r#"{"a":1, "b":2}"#, &none, 8).text(), "{\n  \"a\": 1,\n  \"b\": 2\n}");
    assert_eq!(whole("{\"a\":\n1}", &none, 40).text(), "{\n  \"a\": 1\n}");
    assert_eq!(whole("7", &none, 40).text(), "7");
}

#[test]
fn a_folded_branch_takes_one_line_with_its_size() {
    let text = r#"{"items":[{"a":1},{"a":2}],"done":true}"#;
    let folded = Folded::from([vec![0]]);
    let outline = whole(text, &folded, 10);
    assert_eq!(outline.text(), "{\n  \"items\": [… 2 items],\n  \"done\": true\n}");
    let lines: Vec<_> =
        outline.branches().iter().map(|branch| (branch.line, branch.way.clone(), branch.folded)).collect();
    assert_eq!(lines, [(0, vec![], false), (1, vec![0], true)]);
    let folded = Folded::from([vec![0, 1]]);
    let outline = whole(text, &folded, 10);
    let expected = "{\n  \"items\": [\n    {\n      \"a\": 1\n    },\n    {… 1 field}\n  ],\n  \"done\": true\n}";
    assert_eq!(outline.text(), expected);
}

#[test]
fn values_that_are_sought_are_found_on_their_lines_or_on_those_that_hide_them() {
    let tree = json::parse(r#"{"items":[{"a":1},{"a":2}],"b":3}"#).unwrap();
    let sought = [tree.at("items.1.a").unwrap(), tree.at("b").unwrap()];
    let places = |folded: &Folded| Outline::whole("", &tree, (Scope::All, folded), &sought, 80).places;
    assert_eq!(places(&Folded::new()), [(6, 0), (9, 1)]);
    assert_eq!(places(&Folded::from([vec![0]])), [(1, 0), (2, 1)]);
}

#[test]
fn what_is_being_written_is_shown_as_far_as_it_has_come() {
    let none = Folded::new();
    let cases = [
        ("{", "{"),
        ("{\n\"na", "{\n  \"na"),
        ("{\n\"name\":", "{\n  \"name\": "),
        ("{\n\"name\": \"An", "{\n  \"name\": \"An"),
        ("{\n\"n\": 4", "{\n  \"n\": 4"),
        ("{\n\"n\": 4,", "{\n  \"n\": 4"),
        ("{\n\"n\": 4, \"xs\": [", "{\n  \"n\": 4,\n  \"xs\": ["),
        ("{\n\"xs\": []", "{\n  \"xs\": []"),
        ("{\n\"xs\": [{}, tr", "{\n  \"xs\": [\n    {},\n    tr"),
    ];
    for (text, shown) in cases {
        assert_eq!(grown(text, Scope::All, &none), shown, "{text}");
    }
    assert_eq!(grown("{\n\"xs\": [1, 2, 3", Scope::All, &Folded::from([vec![0]])), "{\n  \"xs\": [… 2 items");
}

#[test]
fn text_after_the_json_is_unchanged() {
    let none = Folded::new();
    assert_eq!(grown("{\n\"a\": 1, oops}", Scope::All, &none), "{\n  \"a\": 1\noops}");
    assert_eq!(grown("{\n\"a\": nope, \"b\": 2}", Scope::All, &none), "{\n  \"a\": nope\n, \"b\": 2}");
    assert_eq!(grown("{\n\"a\": 1}\n```\nThat is all.", Scope::All, &none), "{\n  \"a\": 1\n}\n```\nThat is all.");
}

#[test]
fn a_control_object_is_shown_without_its_thought_and_nulls() {
    let none = Folded::new();
    let text = "{\n\"thought\": \"I look\", \"answer\": null, \"tool_call\": {\"name\": \"find\"}}";
    assert_eq!(grown(text, Scope::Control, &none), "{\n  \"tool_call\": {\n    \"name\": \"find\"\n  }\n}");
    assert_eq!(grown("{\n\"thought\": \"I lo", Scope::Control, &none), "{");
    assert_eq!(grown("{\n\"thought\": \"I\", \"answer\": nu", Scope::Control, &none), "{");
}

#[test]
fn a_member_whose_key_was_there_before_goes_when_it_is_complete() {
    let none = Folded::new();
    let (mut outline, mut push) = (Outline::default(), JsonPush::default());
    let mut grow = |piece: &str, reply: &str| {
        push.push(piece);
        let grew = outline.grow(reply, Some(&push), (Scope::All, &none), ALL);
        (grew, outline.text.clone())
    };
    assert_eq!(grow("{\n\"a\": 1, \"a\": {", "{\n\"a\": 1, \"a\": {").1, "{\n  \"a\": 1,\n  \"a\": {");
    assert_eq!(grow("}}", "{\n\"a\": 1, \"a\": {}}"), (false, "{\n  \"a\": 1\n}".to_owned()));
}

/// JSON with keys that come twice, empty parts and words of several widths.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["1", "-2.5", "true", "null", "\"日本\"", "\"a\\nb\"", "\"\"", "{}", "[]"])
        .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let members = prop::collection::vec((prop::sample::select(vec!["a", "b", "key"]), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            members.prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| format!("\"{key}\":\n{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_whole_value_is_laid_out_like_pretty_json(text in any_json()) {
        let json = json::parse(&text).unwrap();
        let outline = Outline::whole("\n.\n", &json, (Scope::All, &Folded::new()), &[], 0);
        prop_assert_eq!(outline.text, json.to_pretty());
    }

    #[test]
    fn growing_in_any_steps_gives_the_text_of_the_whole(
        text in any_json(),
        behind in prop::sample::select(vec!["", "\n```\nand so on", ", oops]"]),
        steps in prop::collection::vec(1_usize..9, 0..40),
        folds in prop::collection::vec(prop::collection::vec(0_usize..3, 0..3), 0..3),
        columns in prop::sample::select(vec![0, 12, 80]),
    ) {
        let (reply, folded) = (format!("[{text}{behind}"), Folded::from_iter(folds));
        let (mut push, mut growing, mut seen) = (JsonPush::default(), Outline::default(), String::new());
        let mut end = 0_usize;
        for step in steps.into_iter().chain([usize::MAX]) {
            let from = end;
            end = end.saturating_add(step).min(reply.len());
            while !reply.is_char_boundary(end) {
                end += 1;
            }
            push.push(&reply[from..end]);
            let grew = growing.grow(&reply[..end], Some(&push), (Scope::All, &folded), columns);
            let mut at_once = Outline::default();
            at_once.grow(&reply[..end], Some(&read(&[&reply[..end]])), (Scope::All, &folded), columns);
            prop_assert_eq!(&growing.text, &at_once.text);
            prop_assert_eq!(&growing.branches, &at_once.branches);
            let lines = seen.rfind('\n').map_or("", |end| &seen[..=end]);
            prop_assert!(!grew || growing.text.starts_with(lines), "{:?} after {:?}", growing.text, seen);
            seen.clone_from(&growing.text);
        }
    }
}

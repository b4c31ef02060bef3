//! The language of searches: what is read, and the errors about what cannot be.

use ptc_core::reasons::Reason;
use ptc_workbench::session::index::{FILTERS, Field, FilterRow, Query, TermSyntax};

/// 2026-11-21T19:52:07Z
const NOW: i64 = 1_795_290_727_000;

fn parse(text: &str) -> Query {
    Query::parse(text, TermSyntax::Plain, NOW).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn terms(text: &str) -> Vec<(String, bool)> {
    parse(text).terms.iter().map(|term| (term.pattern.as_str().to_owned(), term.absent)).collect()
}

/// The text that an error points at, and its message.
fn wrong(text: &str) -> (String, String) {
    let error = Query::parse(text, TermSyntax::Plain, NOW).map(|_| ()).unwrap_err();
    (text[error.span.0..error.span.1].to_owned(), error.to_string())
}

#[test]
fn words_are_taken_as_they_are_written() {
    let one = |text: &str| vec![(text.to_owned(), false)];
    assert_eq!(terms("time.out"), one(r"time\.out"));
    assert_eq!(terms(r#""connection refused""#), one("connection refused"));
    assert_eq!(terms(r"/time\s?out/"), one(r"time\s?out"));
    // A slash after a backslash belongs to the pattern.
    assert_eq!(terms(r"/back\/slash/"), one(r"back\/slash"));
    assert!(parse(r"/back\/slash/").terms[0].pattern.is_match("a back/slash"));
    assert_eq!(terms(r"/end\\/ x"), [(r"end\\".to_owned(), false), ("x".to_owned(), false)]);
    assert!(wrong(r"/a\/b/i").1.contains("has no flags"));
    assert_eq!(terms("a -b -\"c d\""), [("a".into(), false), ("b".into(), true), ("c d".into(), true)]);
    assert_eq!(
        terms("https://x.y/z std::fs 10:30 - a/b x>3 turn->x Note: count=3"),
        [r"https://x\.y/z", "std::fs", "10:30", "-", "a/b", "x>3", "turn->x", "Note:", "count=3"]
            .map(|t| (regex_of(t), false))
    );
    let query = Query::parse("a.c", TermSyntax::Patterns, NOW).unwrap();
    assert!(query.terms[0].pattern.is_match("xABCx"));
    assert_eq!(terms("/usr/bin \"/lamp/i\""), [("/usr/bin".to_owned(), false), ("/lamp/i".to_owned(), false)]);
    assert_eq!(parse("mode:json*,Text in:reply lamp").filters.len(), 1);
    assert!(parse("").is_empty() && !parse("mode:json").is_empty());
}

/// Only the minus needs no care here.
fn regex_of(text: &str) -> String {
    text.replace('-', r"\-").replace(r"\\", r"\")
}

#[test]
fn filters_and_places_are_distinguished_from_words() {
    let query = parse("mode:json,text in:reply,program turns>=3 cost<0.5 -tag:slow since:7d status:ok lamp");
    assert_eq!((query.terms.len(), query.filters.len()), (1, 6));
    assert_eq!(query.fields, [Field::Reply, Field::Program]);
    assert_eq!(parse(r#"agent:"my agent""#).filters.len(), 1);
    assert_eq!(parse(r#"reason:"quota" reason:*_error,Refused"#).filters.len(), 2);
    for FilterRow { name, example, .. } in FILTERS {
        let first = example.split([' ', ',']).next().unwrap().trim_end_matches(':');
        let shown = example.split(", ").next().unwrap().split(": ").next().unwrap();
        assert!(first.starts_with(name), "{example}");
        // Places alone ask for nothing.
        let word = if *name == "in" { " lamp" } else { "" };
        let shown = shown.split(" (").next().unwrap();
        assert_eq!(parse(&format!("{shown}{word}")).terms.len(), word.len().min(1), "{shown}");
        if let Some(reason) = shown.strip_prefix("reason:") {
            assert!(Reason::from_name(reason).is_some(), "the example is a reason: {reason}");
        }
    }
}

#[test]
fn an_error_names_its_place_and_the_nearest_name() {
    let cases = [
        ("a mod:json", "mod:", "(did you mean `mode`?)"),
        (
            "status:okay x",
            "status:okay",
            "`okay` is not a status: ok (or returned), error (or failed), open (did you mean `ok`?)",
        ),
        ("reason:validation_eror", "reason:validation_eror", "(did you mean `validation_error`?)"),
        ("reason:quota,refused", "reason:quota,refused", "put reasons of other programs in quotes: reason:\"quota\""),
        ("in:promt", "in:promt", "(did you mean `prompt`?)"),
        ("is:marqued", "is:marqued", "(did you mean `marked`?)"),
        ("x turrns>3", "turrns>", "`turrns>` is not a filter (cost, tokens, turns)"),
        ("-Tokens>=10", "Tokens>=", "(did you mean `tokens`?)"),
        ("Mode:json", "Mode:", "(did you mean `mode`?)"),
        ("turns>many", "turns>many", "`many` is not a number"),
        ("mode>json", "mode>json", "`mode` takes a colon: mode:json,text"),
        ("since:morning", "since:morning", "`morning` is not a date: write 2026-11-21"),
        ("x mode:", "mode:", "`mode` has no value"),
        ("say \"what", "\"what", "the closing \" is missing"),
        ("/(/ x", "/(/", "is not a regular expression"),
        ("-in:reply", "-in:reply", "cannot be negated"),
        ("in:reply mode:json", "in:reply", "`in` needs a word to search for: in:reply lamp"),
        ("mode:jsn", "mode:jsn", "`jsn` is not a mode: ptc_lisp, json, text, json_loop (did you mean `json`?)"),
        ("x mode:json,bogus", "mode:json,bogus", "`bogus` is not a mode"),
        ("a /lamp/i", "/lamp/i", "has no flags: case is always ignored; to search for the text, put it in quotes"),
    ];
    for (text, place, words) in cases {
        let (at, message) = wrong(text);
        assert_eq!(at, place, "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
    }
    assert!(wrong(&"a ".repeat(40)).1.contains("40 words are too many"));
}

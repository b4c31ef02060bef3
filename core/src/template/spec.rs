//! The Mustache specification's own tests (`spec/*.json`, MIT licence): all pass, except those of unsupported features.

use super::{MissingPolicy, parse, render};
use crate::value::json::{self, Json};

const FILES: &[(&str, &str)] = &[
    ("comments", include_str!("spec/comments.json")),
    ("interpolation", include_str!("spec/interpolation.json")),
    ("inverted", include_str!("spec/inverted.json")),
    ("sections", include_str!("spec/sections.json")),
];

const ESCAPES: &str = "values are never HTML-escaped";
const TRIPLE: &str = "there is no triple mustache";
const AMPERSAND: &str = "there is no & tag";

/// File, name of the test, reason of the exclusion.
const EXCLUDED: &[(&str, &str, &str)] = &[
    ("interpolation", "HTML Escaping", ESCAPES),
    ("interpolation", "Implicit Iterators - HTML Escaping", ESCAPES),
    ("sections", "Implicit Iterator - HTML Escaping", ESCAPES),
    ("interpolation", "Triple Mustache", TRIPLE),
    ("interpolation", "Triple Mustache Integer Interpolation", TRIPLE),
    ("interpolation", "Triple Mustache Decimal Interpolation", TRIPLE),
    ("interpolation", "Triple Mustache Null Interpolation", TRIPLE),
    ("interpolation", "Triple Mustache Context Miss Interpolation", TRIPLE),
    ("interpolation", "Dotted Names - Triple Mustache Interpolation", TRIPLE),
    ("interpolation", "Implicit Iterators - Triple Mustache", TRIPLE),
    ("interpolation", "Triple Mustache - Surrounding Whitespace", TRIPLE),
    ("interpolation", "Triple Mustache - Standalone", TRIPLE),
    ("interpolation", "Triple Mustache With Padding", TRIPLE),
    ("sections", "Implicit Iterator - Triple mustache", TRIPLE),
    ("interpolation", "Ampersand", AMPERSAND),
    ("interpolation", "Ampersand Integer Interpolation", AMPERSAND),
    ("interpolation", "Ampersand Decimal Interpolation", AMPERSAND),
    ("interpolation", "Ampersand Null Interpolation", AMPERSAND),
    ("interpolation", "Ampersand Context Miss Interpolation", AMPERSAND),
    ("interpolation", "Dotted Names - Ampersand Interpolation", AMPERSAND),
    ("interpolation", "Implicit Iterators - Ampersand", AMPERSAND),
    ("interpolation", "Ampersand - Surrounding Whitespace", AMPERSAND),
    ("interpolation", "Ampersand - Standalone", AMPERSAND),
    ("interpolation", "Ampersand With Padding", AMPERSAND),
    ("sections", "Implicit Iterator - Ampersand", AMPERSAND),
];

struct Case {
    file: &'static str,
    name: String,
    /// The actual output, if it differs from the specification.
    differs: Option<String>,
}

fn run(file: &'static str, test: &Json) -> Case {
    let part = |key| test.get(key).and_then(Json::as_str).expect("each test has this text").to_owned();
    let data = test.get("data").expect("each test has data").to_value();
    let filled = parse(&part("template")).and_then(|template| render(&template, &data, MissingPolicy::Empty));
    let differs = match filled {
        Ok(rendered) if rendered.text == part("expected") => None,
        Ok(rendered) => Some(format!("expected {:?}, got {:?}", part("expected"), rendered.text)),
        Err(error) => Some(error.message),
    };
    Case { file, name: part("name"), differs }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (file, source) in FILES {
        let json = json::parse(source).expect("the specification's files are JSON");
        let tests = json.get("tests").and_then(Json::items).expect("each file has tests");
        cases.extend(tests.iter().map(|test| run(file, test)));
    }
    cases
}

#[test]
fn the_specification_holds_where_it_is_not_excluded() {
    let excluded = |case: &Case| EXCLUDED.iter().any(|(file, name, _)| *file == case.file && *name == case.name);
    let wrong: Vec<String> = cases()
        .iter()
        .filter(|case| !excluded(case))
        .filter_map(|case| Some(format!("{}: {}: {}", case.file, case.name, case.differs.as_ref()?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_exclusion_names_a_test_that_does_not_hold() {
    let cases = cases();
    let needless: Vec<String> = EXCLUDED
        .iter()
        .filter(|(file, name, _)| !cases.iter().any(|c| c.file == *file && c.name == *name && c.differs.is_some()))
        .map(|(file, name, reason)| format!("{file}: {name} ({reason})"))
        .collect();
    assert!(needless.is_empty(), "these tests hold or do not exist: {}", needless.join("; "));
}

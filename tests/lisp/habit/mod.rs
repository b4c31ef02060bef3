//! Programs as models write them from Clojure habit, in the default dialect.
//!
//! In: the `.jsonl` files of this folder. A line is a case of `lisp batch` (`id`, `program`, `context`, `tools`, …) with
//! its expected `value` as JSON (keywords are strings, sets are lists) or the reason with which it `fails`; `by` names
//! the Clojure implementation that gave the value. Out: one test that lists all lines with another outcome.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use ptc_core::value::json;

use super::suite::record_in_default;

/// Relative difference of floats that are equal.
const TOLERANCE: f64 = 1e-9;

/// The files of this folder with their cases.
fn cases() -> Vec<(String, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lisp/habit");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder of habit programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        for line in fs::read_to_string(&file).expect("a text").lines().filter(|line| !line.is_empty()) {
            let case = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
            cases.push((name.clone(), case));
        }
    }
    cases
}

/// A value of a record with sets as lists.
fn plain(value: &Json) -> Json {
    match value {
        Json::Object(members) => match members.iter().next() {
            Some((key, items)) if members.len() == 1 && key == "#set" => plain(items),
            _ => members.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        },
        Json::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// Compares values; integers equal floats, as in JavaScript, where the expected values come from.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}

/// The difference between the expected and the actual outcome.
fn difference(case: &Json) -> Option<String> {
    let core = json::parse(&case.to_string()).expect("JSON");
    let record: Json = serde_json::from_str(&record_in_default(&core).to_text()).expect("a record is JSON");
    let got = match record["reason"].as_str() {
        Some(reason) if case["fails"] == reason => return None,
        Some(reason) => format!("!{reason} {}", record["message"].as_str().unwrap_or_default()),
        None => {
            let value = plain(&record["value"]);
            match case.get("value") {
                Some(wanted) if same(wanted, &value) => return None,
                _ => value.to_string(),
            }
        }
    };
    let wanted = case.get("value").map_or_else(|| format!("!{}", case["fails"]), Json::to_string);
    Some(format!("{}\n  wanted {wanted}\n  got    {got}", case["program"].as_str().unwrap_or_default()))
}

#[test]
fn programs_written_from_habit_have_the_value_that_clojure_gives() {
    let mut report = String::new();
    let mut count = 0;
    for (file, case) in cases() {
        if let Some(difference) = difference(&case) {
            count += 1;
            _ = write!(report, "\n{file} {}: {difference}", case["id"]);
        }
    }
    assert_eq!(count, 0, "{report}");
}

#[test]
fn ids_of_habit_programs_are_unique_and_each_has_an_expectation() {
    let mut seen = BTreeSet::new();
    for (file, case) in cases() {
        assert!(seen.insert(case["id"].to_string()), "{file}: {} appears twice", case["id"]);
        assert!(case.get("value").is_some() != case.get("fails").is_some(), "{file}: {}", case["id"]);
    }
}

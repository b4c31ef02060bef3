//! JSON texts inside a definition in which an object has two members of one name.
//!
//! In: an entry of an agent file. Out: a problem for each such text. It must never look at a recorded definition: that stays what its runs
//! used, the first of the members.

use crate::config::document::{Entry, Problem, Problems, parse_json_text};

/// Reports the texts of a key of an agent. The sections of `modes` are read as agents of their own.
pub(super) fn check_key(entry: &Entry<'_>, problems: &mut Problems) {
    match entry.key {
        "schema" | "context" => check_text(entry, problems),
        "tools" => each(entry, problems, check_tool),
        "cases" => {
            check_text(entry, problems);
            each_item(entry, problems, check_case);
        }
        _ => {}
    }
}

/// Reports the texts of a table of a case.
pub(super) fn check_case(entry: &Entry<'_>, problems: &mut Problems) {
    each(entry, problems, |entry, problems| match entry.key {
        "context" => check_text(entry, problems),
        "expect" => check_expectation(entry, problems),
        _ => {}
    });
}

/// Returns the first problem of the texts of a table of a case.
pub(super) fn problem_of_case(entry: &Entry<'_>) -> Option<Problem> {
    let mut problems = Problems::default();
    check_case(entry, &mut problems);
    problems.sorted().into_iter().next()
}

fn check_tool(tool: &Entry<'_>, problems: &mut Problems) {
    each(tool, problems, |entry, problems| match entry.key {
        "parameters" | "rows" => check_text(entry, problems),
        "agent" => check_agent(entry, problems),
        // The tools of a question to a model.
        "tools" => each(entry, problems, check_tool),
        _ => {}
    });
}

/// Reports the texts of an agent in a table of a tool.
fn check_agent(agent: &Entry<'_>, problems: &mut Problems) {
    each(agent, problems, |entry, problems| match entry.key {
        "modes" => each(entry, problems, check_agent),
        _ => check_key(entry, problems),
    });
}

/// Reports the texts of an expectation; an expected value is data, whose texts are not read.
fn check_expectation(entry: &Entry<'_>, problems: &mut Problems) {
    let is_form = entry.json.members().is_some_and(|members| members.len() == 1);
    each(entry, problems, |entry, problems| match entry.key {
        "json" | "schema" if is_form => check_text(entry, problems),
        "at" if is_form => each(entry, problems, check_expectation),
        "not" if is_form => check_expectation(entry, problems),
        "expect" => check_expectation(entry, problems),
        // A threshold may be next to the parts.
        "all" | "any" => each_item(entry, problems, check_expectation),
        _ => {}
    });
}

/// Visits the entries of a table; other values have none.
fn each(entry: &Entry<'_>, problems: &mut Problems, visit: impl Fn(&Entry<'_>, &mut Problems)) {
    for entry in entry.entries().unwrap_or_default() {
        visit(&entry, problems);
    }
}

/// Visits the items of a list; other values have none.
fn each_item(entry: &Entry<'_>, problems: &mut Problems, visit: impl Fn(&Entry<'_>, &mut Problems)) {
    for (place, json) in entry.json.items().unwrap_or_default().iter().enumerate() {
        visit(&Entry { path: format!("{}.{place}", entry.path), json, ..entry.clone() }, problems);
    }
}

/// Reports a JSON text in which an object has two members of one name. Other errors are those of the key's reader.
fn check_text(entry: &Entry<'_>, problems: &mut Problems) {
    let Some(Err(error)) = entry.json.as_str().map(parse_json_text) else { return };
    if error.is_ambiguous() {
        problems.push(entry.problem(format!("`{}`: the JSON text is {error}", entry.path)));
    }
}

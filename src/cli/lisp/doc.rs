//! `lisp doc`: the entry of a name in the table of builtins, or the names that match a word.

use ptc_core::lisp::builtins::namespaces;
use ptc_core::lisp::builtins::{self, Builtin, Clojure};
use ptc_core::text::matches_wildcard;
use ptc_core::text::{did_you_mean, width};

use crate::cli::output::{exit, print_line, print_note, safe_line};

/// Columns given to a name in a list.
const NAME_COLUMNS: usize = 22;

/// Names that are not builtins: namespaces whose members are the program's surroundings, and the results of earlier programs.
const SURROUNDINGS: &[(&str, &str)] = &[
    ("data", "data/KEY is an entry of the context; nil when it is absent."),
    ("tool", "(tool/NAME {:key value}) calls a tool with named arguments."),
    ("budget", "(budget/remaining) gives the turns that are left and the tokens used so far; {} outside of an agent."),
    ("*1", "*1 is the result of the last program that succeeded; nil if there is none."),
    ("*2", "*2 is the result before *1."),
    ("*3", "*3 is the result before *2."),
];

pub(super) fn doc(word: &str) -> u8 {
    if let Some(row) = namespaces::resolve(word) {
        print_line(&page(row));
        return exit::OK;
    }
    if let Some((_, about)) = SURROUNDINGS.iter().find(|(name, _)| *name == word.trim_end_matches('/')) {
        print_line(about);
        return exit::OK;
    }
    let fitting = fitting(word);
    if fitting.is_empty() {
        let plain = word.rsplit_once('/').map_or(word, |(_, plain)| plain);
        let near = did_you_mean(plain, builtins::rows().map(|row| row.name));
        print_note(&format!("unknown name `{}`{near}", safe_line(word)));
        return exit::FAILED;
    }
    for row in fitting {
        print_line(&line(row));
    }
    exit::OK
}

/// The content of a namespace; else the rows whose name, or else whose description contains the word. `*` matches any text
/// in a name.
fn fitting(word: &str) -> Vec<&'static Builtin> {
    let members = namespaces::members(word.trim_end_matches('/'));
    if !members.is_empty() {
        return members.into_iter().filter_map(namespaces::resolve).collect();
    }
    if word.contains('*') {
        return builtins::rows().filter(|row| matches_wildcard(word, row.name)).collect();
    }
    let word = word.to_lowercase();
    let (named, described): (Vec<_>, Vec<_>) = builtins::rows()
        .filter(|row| row.name.to_lowercase().contains(&word) || row.about.to_lowercase().contains(&word))
        .partition(|row| row.name.to_lowercase().contains(&word));
    named.into_iter().chain(described).collect()
}

fn line(row: &Builtin) -> String {
    format!("{}  {}", width::pad(row.name, NAME_COLUMNS), row.about)
}

/// Returns the page of a builtin: signatures, description, differences from Clojure, examples with their values.
pub(super) fn page(row: &Builtin) -> String {
    let mut lines: Vec<String> = row.signatures.iter().map(|&signature| signature.to_owned()).collect();
    if lines.is_empty() {
        lines.push(format!("{}: {}", row.name, row.arity));
    }
    lines.push(format!("  {}", row.about));
    match row.clojure {
        Clojure::Same => {}
        Clojure::Differs(how) => lines.push(format!("  Differs from Clojure: {how}")),
        Clojure::Extension => lines.push("  Not in Clojure.".to_owned()),
        Clojure::Named(name) => lines.push(format!("  In Clojure: {name}")),
    }
    lines.extend(row.examples.iter().map(|(program, value)| format!("  {program}  =>  {value}")));
    lines.join("\n")
}

//! `lisp doc`: what the table of builtins says about a name, or which names fit a word.

use ptc_core::lisp::builtins::{self, Builtin, Clojure};
use ptc_core::lisp::namespaces;
use ptc_core::text::{nearest, width};

use crate::cli::{exit, out, safe_line, tell};

/// Columns given to a name in a list.
const NAME_COLUMNS: usize = 22;

pub(super) fn doc(word: &str) -> u8 {
    if let Some(row) = namespaces::resolve(word) {
        out(&page(row));
        return exit::OK;
    }
    let fitting: Vec<&Builtin> = fitting(word).collect();
    if fitting.is_empty() {
        let plain = word.rsplit_once('/').map_or(word, |(_, plain)| plain);
        let near = nearest(plain, builtins::rows().map(|row| row.name));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        tell(&format!("nothing is called `{}`{near}", safe_line(word)));
        return exit::FAILED;
    }
    for row in fitting {
        out(&line(row));
    }
    exit::OK
}

/// The rows whose name, or else whose description holds the word.
fn fitting(word: &str) -> impl Iterator<Item = &'static Builtin> {
    let word = word.to_lowercase();
    let (named, described): (Vec<_>, Vec<_>) = builtins::rows()
        .filter(|row| row.name.contains(&word) || row.about.to_lowercase().contains(&word))
        .partition(|row| row.name.contains(&word));
    named.into_iter().chain(described)
}

fn line(row: &Builtin) -> String {
    format!("{}  {}", width::pad(row.name, NAME_COLUMNS), row.about)
}

/// How it is called, what it does, how it stands to Clojure, examples with their values.
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

//! Texts generated from the table: the function reference for users, and the language card for prompts.

use std::fmt::Write;

use super::discovery::sentence;
use super::{Builtin, Clojure, Cost, Implementation, InReference, SECTIONS, Section};
use crate::lisp::{Dialect, ReturnScope};

/// The dialects in which a rule of the card holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Everywhere,
    /// Only in `reference`.
    InReference,
    /// In all others.
    Outside,
}

use Holds::{Everywhere, InReference as Reference, Outside};

/// The first part of the card: the differences to Clojure, and common mistakes of models.
const RULES: &[(Holds, &str)] = &[
    (
        Everywhere,
        "PTC-Lisp is a small Clojure. A program is a few forms; its value is that of the last form. Differences:",
    ),
    (
        Outside,
        "- Only data/…, tool/… and memory are accessible: no files, network, threads, macros, eval, random numbers. ns, require, use, import, declare, set! have no effect, but aliases work.",
    ),
    (
        Outside,
        "- (try … (catch Exception e …) (finally …)) catches errors of functions and tools, not limits. An exception is {:message text :data map}.",
    ),
    (
        Outside,
        "- Atoms live for one program: results, definitions and tool arguments get their value. A branch of pmap changes only its own.",
    ),
    (
        Reference,
        "- Only data/…, tool/… and memory are accessible. Nothing is mutable, lazy or infinite; no macros, ns, require, exceptions, atoms, and no Java except what is listed below.",
    ),
    (
        Everywhere,
        "- data/name is input data. (tool/name {:arg value}) calls a tool; tool/name alone is a function value.",
    ),
    (
        Everywhere,
        "- (def name value) and (defn name [args] …) define values, also for later programs. *1 *2 *3 are the last results. Function bodies may use names defined later.",
    ),
    (Everywhere, ENDS),
    (Everywhere, "- (println …) prints; large output is cut, so print only what you need."),
    (
        Outside,
        "- Sequence functions compute all items at once and return vectors, also (list …) and split. Only (range), (repeat x), (repeatedly f), (cycle coll) and (iterate f x) are endless: take a part of them.",
    ),
    (
        Reference,
        "- Vectors are the only sequence type: every sequence function returns a vector, also (list …) and split.",
    ),
    (
        Outside,
        "- Keys: (:k m), (get m :k), (m :k), {:keys [k]} find \"k\" as well as :k, and user_id under :user-id. assoc, update, dissoc and merge write to the key that is found. = and case need the exact key. JSON data and tool results have string keys.",
    ),
    (Outside, "- Maps and sets are always in key order, also for first, rest and nth."),
    (
        Reference,
        "- Keys: (:k m), (get m :k), (m :k), {:keys [k]} find \"k\" as well as :k, and user_id under :user-id. assoc, update, dissoc, merge, = and case need the exact key. JSON data and tool results have string keys.",
    ),
    (
        Reference,
        "- Maps and sets have no order: first, last, nth, rest and reverse reject them; use keys, vals, seq or sort, which are in key order.",
    ),
    (Everywhere, "- / always returns a float; use quot, rem, mod for integers. Integers have any size."),
    (
        Everywhere,
        "- = compares numbers by value: (= 1 1.0). (contains? [1 2] 2) tests for the value. Strings are indexed by visible characters.",
    ),
    (Everywhere, "- case without a match returns nil. (or name 0) reads an undefined name as nil."),
    (Everywhere, "- loop and recur are limited to 1,000 jumps: use reduce, map, filter or for."),
    (
        Outside,
        "- Destructuring works everywhere: [a b & rest :as all], {:keys [a] b :key :or {a 1} :as m}. rest is [] when nothing is left, which is truthy: test (seq rest). #(f % %2 %&) is a short function.",
    ),
    (
        Reference,
        "- Destructuring works everywhere: [a b & rest :as all], {:keys [a] b :key :or {a 1} :as m}. rest is [] when nothing is left, which is truthy: test (seq rest). #(f % %2 %&) cannot be nested.",
    ),
    (
        Everywhere,
        "- Out-of-range and empty access returns nil, not an error: (nth v 9), (reduce f []). (doc name) prints a function's description and differences from Clojure.",
    ),
    (Outside, "- '(1 2) is [1 2]. 1N is an integer, 1.5M and 1/3 are floats."),
    (Reference, "- Quote only symbols; write data as [..] {..} #{..}. No #_ , no @."),
];

/// The place of the rule about `return` and `fail`, which depends on their scope.
const ENDS: &str = "";

/// The description of a builtin where `return` and `fail` have this scope.
pub(super) fn description(row: &Builtin, scope: ReturnScope) -> &'static str {
    match (scope, row.name) {
        (ReturnScope::Call, "return") => {
            "Ends the program with this value as its result, from anywhere; the run continues."
        }
        (ReturnScope::Call, "fail") => "Ends the program as failed, with this value as the error; the run continues.",
        _ => row.about,
    }
}

/// The section of forms without effect.
const HEADERS: &str = "Headers";

/// The card's rule about `return` and `fail`.
fn return_rule(scope: ReturnScope) -> &'static str {
    match scope {
        ReturnScope::Run => {
            "- (return value) ends the run with its result, (fail value) ends it as failed; both from anywhere."
        }
        ReturnScope::Call => {
            "- (return value) ends the program with its value, (fail value) ends it as failed; both from anywhere. The run continues."
        }
    }
}

/// The function reference as Markdown: each section with its rows.
pub fn reference() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let _ = writeln!(text, "## {}\n", section.title);
        for row in section.rows {
            let _ = writeln!(text, "{}", entry(row));
        }
    }
    text
}

/// One row of the reference.
fn entry(row: &Builtin) -> String {
    let mut text = format!("### `{}`\n\n", row.name);
    let signatures: Vec<String> = row.signatures.iter().map(|signature| format!("`{signature}`")).collect();
    let _ = writeln!(text, "{}\n\n{}", signatures.join(" · "), row.about);
    let cost = match row.cost {
        Cost::Constant => "constant time",
        Cost::Logarithmic => "logarithmic time",
        Cost::Linear => "linear time",
        Cost::Sorting => "n log n time",
        Cost::Output => "time in proportion to the result",
    };
    let clojure = match row.clojure {
        Clojure::Same => "as in Clojure".to_owned(),
        Clojure::Differs(how) => format!("differs from Clojure: {}", sentence(how)),
        Clojure::Extension => "not in Clojure".to_owned(),
        Clojure::Named(name) => format!("in Clojure `{name}`"),
    };
    let notes = if matches!(row.run, Implementation::Form) { clojure } else { format!("{clojure}; {cost}") };
    let _ = writeln!(text, "\n*{notes}*");
    if !row.examples.is_empty() {
        let width = row.examples.iter().map(|(program, _)| program.chars().count()).max().unwrap_or(0);
        let _ = writeln!(text, "\n```clojure");
        for (program, value) in row.examples {
            let _ = writeln!(text, "{program:width$}  ; {value}");
        }
        let _ = writeln!(text, "```");
    }
    text
}

/// The form that the card omits unless the agent enables it with [`card_of_try`], so that the prompts of other agents
/// do not change.
const TRY: &str = "tool/try";

/// True for a row that the card lists. Names that models know from Clojure are accepted without being listed.
fn on_card(row: &Builtin) -> bool {
    row.name != TRY && row.reference != InReference::Absent
}

/// The part of the card about the form that returns tool errors as values.
pub fn card_of_try() -> String {
    let row = SECTIONS.iter().flat_map(|section| section.rows).find(|row| row.name == TRY);
    row.map(|row| format!("- {}: {}\n", row.signatures.join(" or "), row.about)).unwrap_or_default()
}

/// The language card of a dialect: everything a model must know to write programs, as short as possible.
pub fn card(dialect: Dialect, scope: ReturnScope) -> String {
    let (omitted, list) = match dialect {
        Dialect::Reference => (Outside, "All functions and forms (nothing else exists):"),
        Dialect::Current | Dialect::Legacy | Dialect::Auto => (
            Reference,
            "Functions and forms (most others of clojure.core, string, set, walk, Math and java.time work too, as in Clojure):",
        ),
    };
    let mut text = String::new();
    for (_, rule) in RULES.iter().filter(|(holds, _)| *holds != omitted) {
        let _ = writeln!(text, "{}", if *rule == ENDS { return_rule(scope) } else { rule });
    }
    let _ = writeln!(text, "\n{list}");
    // The rules above name the headers.
    for section in SECTIONS.iter().filter(|section| section.title != HEADERS) {
        let names: Vec<&str> = section.rows.iter().filter(|row| on_card(row)).map(|row| row.name).collect();
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(text, "- {}: {}", section.title, names.join(" "));
    }
    text.push_str("\nNot in Clojure:\n");
    // The rows of `return` and `fail` describe the end of the run.
    let is_true =
        |row: &&Builtin| on_card(row) && (scope == ReturnScope::Run || !matches!(row.name, "return" | "fail"));
    for row in SECTIONS.iter().flat_map(own).filter(is_true) {
        let _ = writeln!(text, "- {}: {}", row.signatures.join(" or "), row.about);
    }
    text
}

/// The functions of a section that Clojure does not have.
fn own(section: &'static Section) -> impl Iterator<Item = &'static Builtin> {
    section.rows.iter().filter(|row| row.clojure == Clojure::Extension && !row.name.starts_with('.'))
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "the size of the card is worth a look")]
mod tests {
    use super::*;
    use crate::lisp::Limits;
    use crate::lisp::{CallAddress, Error, Failure, Host, Input, Memory, run};
    use crate::reasons::Reason;
    use crate::text::estimate_tokens;
    use crate::value::Value;

    #[test]
    fn the_card_names_everything_and_stays_short() {
        let dialects = [Dialect::Current, Dialect::Reference];
        let cards = dialects.map(|dialect| [card(dialect, ReturnScope::Run), card(dialect, ReturnScope::Call)]);
        for card in cards.concat() {
            println!("{card}\n{} tokens", estimate_tokens(&card));
            for row in SECTIONS.iter().flat_map(|section| section.rows) {
                assert!(card.contains(row.name) || !on_card(row), "{}", row.name);
            }
            assert!(card_of_try().contains("(tool/try "));
            assert!(estimate_tokens(&card) <= 2_500, "{} tokens", estimate_tokens(&card));
        }
    }

    #[test]
    fn the_rules_of_each_card_hold_in_its_dialect() {
        let cases = [
            (Dialect::Current, "(first {:b 1 :a 2})", Ok("[:a 2]")),
            (Dialect::Reference, "(first {:b 1 :a 2})", Err(Reason::TypeError)),
            (Dialect::Current, "(let [[a & rest] [1]] (if rest :true :false))", Ok(":true")),
            (Dialect::Reference, "(let [[a & rest] [1]] (if (seq rest) :true :false))", Ok(":false")),
            (Dialect::Current, "(nth #{3 1} 1)", Ok("3")),
            (Dialect::Reference, "(nth #{3 1} 1)", Err(Reason::TypeError)),
            (Dialect::Current, "(assoc {\"a\" 1} :a 2)", Ok("{\"a\" 2}")),
            (Dialect::Reference, "(assoc {\"a\" 1} :a 2)", Ok("{:a 2 \"a\" 1}")),
            (Dialect::Current, "(try (/ 1 0) (catch Exception e 5))", Ok("5")),
            (Dialect::Reference, "(try (/ 1 0) (catch Exception e 5))", Err(Reason::UnboundVar)),
            (Dialect::Current, "(take 2 (iterate inc 1))", Ok("[1 2]")),
            (Dialect::Reference, "(take 2 (iterate inc 1))", Err(Reason::UnboundVar)),
            (Dialect::Current, "(take 2 (cycle [1]))", Ok("[1 1]")),
            (Dialect::Current, "(take 2 (repeat 1))", Ok("[1 1]")),
            (Dialect::Current, "(take 2 (repeatedly (constantly 1)))", Ok("[1 1]")),
            (Dialect::Current, "(defn a [] (b)) (defn b [] 1) (a)", Ok("1")),
            (Dialect::Reference, "(defn a [] (b)) (defn b [] 1) (a)", Ok("1")),
            (Dialect::Current, "(take 2 (range))", Ok("[0 1]")),
            (Dialect::Current, "(require '[clojure.string :as s]) (s/trim \" a \")", Ok("\"a\"")),
            (Dialect::Current, "[1N 1.5M 1/4 '(1 2)]", Ok("[1 1.5 0.25 [1 2]]")),
            (Dialect::Current, "(map #(map #(* % 2) %) [[1 2]])", Ok("[[2 4]]")),
            (Dialect::Reference, "(map #(map #(* % 2) %) [[1 2]])", Err(Reason::InvalidForm)),
        ];
        let (nothing, memory, limits) = (Value::map([]), Memory::new(), Limits::default());
        for (dialect, program, expected) in cases {
            let input = Input { context: &nothing, memory: &memory, dialect, ..Input::new(program, &limits) };
            let got = run(&input, &NoHost).result.map(|(_, value)| value.to_string()).map_err(|error| error.reason);
            assert_eq!(got.as_deref().map_err(|reason| *reason), expected, "{dialect:?} {program}");
        }
    }

    struct NoHost;

    impl Host for NoHost {
        fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
            Err(Failure::Tool(format!("{tool} is not there")))
        }

        fn interrupt(&self) -> Option<Error> {
            None
        }

        fn now_ms(&self) -> i64 {
            1_700_000_000_000
        }
    }

    #[test]
    fn every_example_gives_the_value_it_shows() {
        let (nothing, memory, limits) = (Value::map([]), Memory::new(), Limits::default());
        let mut wrong = Vec::new();
        for (row, (program, expected)) in
            SECTIONS.iter().flat_map(|section| section.rows).flat_map(|row| row.examples.iter().map(move |e| (row, e)))
        {
            let input = Input { context: &nothing, memory: &memory, budget: &nothing, ..Input::new(program, &limits) };
            let got = match run(&input, &NoHost).result {
                Ok((_, value)) => value.to_string(),
                Err(error) => format!("!{} {}", error.reason, error.message()),
            };
            if got != *expected {
                wrong.push(format!("{}: {program} gives {got}, not {expected}", row.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_reference_lists_each_row_once() {
        let text = reference();
        for row in SECTIONS.iter().flat_map(|section| section.rows) {
            assert_eq!(text.matches(&format!("### `{}`\n", row.name)).count(), 1, "{}", row.name);
        }
    }
}

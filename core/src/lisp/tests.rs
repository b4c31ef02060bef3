//! The language from source to outcome, as data: each file of `tests/` holds programs and their outcomes.
//!
//! In a `.txt` file a line is `program  =>  outcome`: the readable form of the value, or `!reason line:column text`,
//! where the text is the error's span as far as it fits on the line. `;;` begins a comment. The programs have the tools
//! `echo` and `bad`, and as data `{"n": 7, "rows": [{"id": 1, "user_name": "Ann"}], "nil": null}`. In a `.jsonl` file a
//! line is a case as in `lisp batch`, with the expected members of its record as `gives`; null means absent.

use super::case::Case;
use super::{Binding, CallAddress, Dialect, Error, Failure, Host, Limits, Memory, Outcome, Stack, run, run_on};
use crate::value::json::Node;
use crate::value::{Json, Keyword, Value, json};

/// Tools that answer as in the case; the clock does not move.
struct CaseHost<'c>(&'c Case);

impl Host for CaseHost<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.0.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }
}

const SURROUNDINGS: &str = r#""tools": {"echo": "echo", "bad": {"error": "no luck"}},
    "context": {"n": 7, "rows": [{"id": 1, "user_name": "Ann"}], "nil": null}"#;

fn outcome(case: &Case) -> Outcome {
    run(&case.input(), &CaseHost(case))
}

/// The outcome of a program with the usual tools and data, in the notation of the text files.
fn shown(program: &str) -> String {
    shown_in(program, "current")
}

/// The same in a dialect.
fn shown_in(program: &str, dialect: &str) -> String {
    let program_json = Json::str(program).to_text();
    let options = format!("\"opts\": {{\"dialect\": \"{dialect}\"}}");
    let case = json::parse(&format!("{{\"program\": {program_json}, {options}, {SURROUNDINGS}}}")).expect("JSON");
    let case = Case::read(&case).expect("a case");
    match outcome(&case).result {
        Ok((_, value)) => value.to_string(),
        Err(error) => {
            let text = error.span.map_or("-", |span| span.text(program));
            format!("!{} {}", error.reason, text.lines().next().unwrap_or_default())
        }
    }
}

fn check_text(file: &str) {
    check_text_in(file, "current");
}

fn check_text_in(file: &str, dialect: &str) {
    let broken: Vec<String> = file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(";;"))
        .filter_map(|line| {
            let (program, wanted) = line.split_once("  =>  ").expect("program  =>  outcome");
            let got = shown_in(program, dialect);
            (got != wanted).then(|| format!("{program}\n  wanted {wanted}\n  got    {got}"))
        })
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn check_cases(file: &str) {
    let mut broken = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty()) {
        let given = json::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let case = Case::read(&given).expect("a case");
        let record = case.record(&outcome(&case));
        for member in given.get("gives").and_then(Json::members).expect("what it gives") {
            let got = record.get(&member.key);
            let same = got.map_or(member.value.node == Node::Null, |got| got.to_text() == member.value.to_text());
            if !same {
                let got = got.map(Json::to_text).unwrap_or_default();
                broken.push(format!("{}\n  {} got {got}", given.to_text(), member.key));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The outcome of a program in the default dialect: `value`, or the reason and the message of its error.
fn current(program: &str) -> Result<String, (String, String)> {
    let case = json::parse(&format!("{{\"program\": {}}}", Json::str(program).to_text())).expect("JSON");
    let case = Case::read(&case).expect("a case");
    let mut input = case.input();
    input.dialect = Dialect::Current;
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    input.limits = &limits;
    let outcome = run(&input, &CaseHost(&case)).result;
    outcome.map(|(_, value)| value.to_string()).map_err(|error| (error.reason.to_string(), error.message()))
}

#[test]
fn the_hint_of_each_wrong_program_leads_to_one_that_runs() {
    let mut broken = Vec::new();
    for line in include_str!("tests/wrong.jsonl").lines() {
        let given = json::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let text = |name: &str| given.get(name).and_then(Json::as_str).expect("a text").to_owned();
        match current(&text("program")) {
            Err((reason, message)) if reason == text("reason") && message.contains(&text("message")) => {}
            other => broken.push(format!("{}\n  got {other:?}", text("program"))),
        }
        let corrected = current(&text("corrected"));
        if corrected.as_ref() != Ok(&text("value")) {
            broken.push(format!("{}\n  got {corrected:?}", text("corrected")));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn forms_follow_the_contract() {
    check_text(include_str!("tests/forms.txt"));
}

#[test]
fn patterns_and_flexible_keys_follow_the_contract() {
    check_text(include_str!("tests/patterns.txt"));
}

#[test]
fn errors_have_their_reason_and_point_at_the_offending_form() {
    check_text_in(include_str!("tests/errors.txt"), "reference");
}

#[test]
fn the_default_dialect_accepts_what_models_know_from_clojure() {
    check_text(include_str!("tests/current.txt"));
}

#[test]
fn the_dialect_reference_has_no_forms_functions_and_tokens_of_its_own() {
    for (program, wanted) in [
        ("(try 1 (catch Exception e 2))", "!unbound_var try"),
        ("(atom 1)", "!unbound_var atom"),
        ("(clojure.core/atom 1)", "!invalid_form clojure.core/atom"),
        ("(ex-info \"a\" {})", "!unbound_var ex-info"),
        ("(letfn [] 1)", "!unbound_var letfn"),
        ("(require 'a)", "!unbound_var require"),
        ("(defn f ([x] x))", "!invalid_form ([x] x)"),
        ("#(f #(g %))", "!invalid_form #(g %)"),
        ("'(1 2)", "!parse_error '("),
        ("@x", "!parse_error @"),
        ("#_ 1 2", "!parse_error #_"),
        ("[1N]", "!unbound_var N"),
        ("0x1F", "!unbound_var x1F"),
        ("[:a/b]", "!unbound_var /b"),
        ("(let [try 5] try)", "5"),
    ] {
        assert_eq!(shown_in(program, "reference"), wanted, "{program}");
    }
}

/// Each atom holds a list of 10,000 items at the end; copying it for each change would take a hundred times the steps.
#[test]
fn changing_an_atom_in_place_does_not_copy_its_value() {
    for change in ["conj i", "#(conj % i)", "(fn [v] (conj v i))"] {
        let program = format!("(let [a (atom [])] (doseq [i (range 10000)] (swap! a {change})) (count @a))");
        let case = format!("{{\"program\": {}}}", Json::str(program.as_str()).to_text());
        let case = Case::read(&json::parse(&case).expect("JSON")).expect("a case");
        let outcome = outcome(&case);
        assert_eq!(outcome.result.map(|(_, value)| value), Ok(Value::Int(10_000)), "{change}");
        assert!(outcome.usage.steps < 100_000, "{change}: {} steps", outcome.usage.steps);
    }
}

/// The same for maps of 2,000 keys, changed by the ways in which programs count, group and log.
#[test]
fn maps_in_atoms_are_changed_in_place() {
    let header = "(defn note [state i] (-> state (assoc i i) (update :n (fnil inc 0))))";
    let changes = [
        "assoc i i",
        "update i (fnil + 0) i",
        "update-in [:by i] (fnil conj []) i",
        "assoc-in [:by i] i",
        "(fn [m] (update m i (fn [n] (inc (or n 0)))))",
        "(fn [{:keys [n] :as m}] (cond-> (assoc m i i) n (assoc :n 1)))",
        "note i",
        "(fn [m] (note m i))",
    ];
    for change in changes {
        let program = format!("{header} (let [a (atom {{}})] (doseq [i (range 2000)] (swap! a {change})) (count @a))");
        let case = format!("{{\"program\": {}}}", Json::str(program.as_str()).to_text());
        let case = Case::read(&json::parse(&case).expect("JSON")).expect("a case");
        let outcome = outcome(&case);
        assert!(outcome.result.is_ok(), "{change}: {:?}", outcome.result);
        assert!(outcome.usage.steps < 100_000, "{change}: {} steps", outcome.usage.steps);
    }
}

#[test]
fn a_caught_branch_keeps_its_output_and_tool_calls() {
    let program = r#"(def a 1) (try (println "before") (tool/echo {:x 1}) (def a 2) (tool/bad {}) (catch Exception e (println "caught"))) a"#;
    let case = format!("{{\"program\": {}, {SURROUNDINGS}}}", Json::str(program).to_text());
    let case = Case::read(&json::parse(&case).expect("JSON")).expect("a case");
    let outcome = outcome(&case);
    assert_eq!(outcome.result.map(|(_, value)| value), Ok(Value::Int(2)));
    assert_eq!(outcome.prints, ["before", "caught"]);
    assert_eq!(outcome.calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["echo", "bad"]);
}

#[test]
fn an_atom_in_memory_is_its_value_and_one_that_outlives_its_program_is_an_error() {
    let table: &[(&[&str], &[&str])] = &[
        (&["(def n (atom 1)) (swap! n inc)", "n", "@n", "(swap! n inc)"], &["2", "2", "2", "!type_error"]),
        (&["(def next (let [n (atom 0)] (fn [] (swap! n inc)))) (next) (next)", "(next)"], &["2", "!runtime_error"]),
        (
            &["(defmulti f :k) (defmethod f 1 [_] :one)", "(defmethod f 2 [_] :two)", "[(f {:k 1}) (f {:k 2})]"],
            &["#'f", "#'f", "[:one :two]"],
        ),
        (&["(defn g ([a] (g a 2)) ([a b] (+ a b)))", "(g 1)"], &["#'g", "3"]),
    ];
    for (programs, wanted) in table {
        assert_eq!(turns(programs), *wanted, "{programs:?}");
    }
}

#[test]
fn atoms_that_hold_each_other_are_freed_with_their_program() {
    let program =
        "(let [a (atom nil) b (atom [a])] (reset! a {:b b :data (vec (range 100000))}) (reset! b (fn [] @a)) 1)";
    let case = format!("{{\"program\": {}}}", Json::str(program).to_text());
    let case = Case::read(&json::parse(&case).expect("JSON")).expect("a case");
    let grown = Stack::with(|stack| {
        let once = || run_on(&case.input(), &CaseHost(&case), stack).result.map(|(_, value)| value);
        assert_eq!(once(), Ok(Value::Int(1)));
        let before = crate::heap::live();
        for _ in 0..20 {
            assert_eq!(once(), Ok(Value::Int(1)));
        }
        crate::heap::live() - before
    });
    assert!(grown.expect("a thread") < 1 << 20);
}

#[test]
fn programs_of_older_versions_run_in_their_dialect() {
    check_cases(include_str!("tests/legacy.jsonl"));
}

#[test]
fn memory_journal_history_and_budget_reach_the_program_and_come_back() {
    check_cases(include_str!("tests/turns.jsonl"));
}

/// Runs programs in sequence, each on the memory of the previous one; returns the readable results.
fn turns(programs: &[&str]) -> Vec<String> {
    let mut memory = Memory::new();
    let run_one = |program: &&str| {
        let case = json::parse(&format!("{{\"program\": {}}}", Json::str(*program).to_text())).expect("JSON");
        let case = Case::read(&case).expect("a case");
        let mut input = case.input();
        input.memory = &memory;
        let outcome = run(&input, &CaseHost(&case));
        memory = outcome.memory;
        match outcome.result {
            Ok((_, value)) => value.to_string(),
            Err(error) => format!("!{}", error.reason),
        }
    };
    programs.iter().map(run_one).collect()
}

#[test]
fn functions_in_memory_keep_what_they_closed_over() {
    let table: &[(&[&str], &[&str])] = &[
        (&["(def add (let [n 5] (fn [x] (+ x n))))", "(map add [1 2])"], &["#'add", "[6 7]"]),
        (&["(defn f [x] (* k x))  (def k 2)", "(def k 10)", "(f 3)"], &["#'k", "#'k", "30"]),
        (&["(defn fact [n] (if (< n 2) 1 (* n (fact (dec n)))))", "(fact 5)"], &["#'fact", "120"]),
        (&["(def k {:a 1 \"b\" :c})", "[(:a k) (k \"b\") (keyword? (k \"b\"))]"], &["#'k", "[1 :c true]"]),
        (&["(def a 1)", "(def a 2) (/ 1 0)", "a"], &["#'a", "!arithmetic_error", "1"]),
        (&["(defonce a 1)", "(defonce a (/ 1 0))", "a"], &["#'a", "#'a", "1"]),
        (&["(def map 5)", "(+ map 1)", "(map inc [1])"], &["#'map", "6", "!not_callable"]),
        (&["(def f (comp inc inc)) (def g (partial + 1))", "(f (g 1))"], &["#'g", "4"]),
        (&["(def a 1) (return a)", "a"], &["1", "1"]),
        (&["(def a 1) (fail a)", "a"], &["1", "1"]),
        (&["(map (fn [x] (def seen x)) [1 2])", "(or seen :none)"], &["[#'seen #'seen]", ":none"]),
        (&["(defn note [x] (def noted x)) (note 3)", "noted"], &["#'noted", "3"]),
    ];
    for (programs, wanted) in table {
        assert_eq!(turns(programs), *wanted, "{programs:?}");
    }
}

#[test]
fn descriptions_stay_with_their_names() {
    let case = Case::read(
        &json::parse(r#"{"program":"(defn f \"doubles\" [x] (* 2 x)) (def c \"a count\" 3)"}"#).expect("JSON"),
    );
    let outcome = outcome(&case.expect("a case"));
    let doc = |name: &str| outcome.memory.get(&Keyword::intern(name)).and_then(|Binding { doc, .. }| doc.clone());
    assert_eq!(doc("f").as_deref(), Some("doubles"));
    assert_eq!(doc("c").as_deref(), Some("a count"));
}

/// A value with this many levels, built by a program.
fn deep(levels: u32, then: &str) -> String {
    format!("(let [v (reduce (fn [v _] [v]) nil (range {levels}))] {then})")
}

#[test]
fn a_text_never_holds_a_part_of_a_deep_value_as_if_it_were_whole() {
    for then in ["(count (str v))", "(count (pr-str v))", "(count (format \"%s\" v))", "(count (str/join \" \" [v]))"] {
        assert_eq!(shown(&deep(512, then)).chars().next(), Some('1'), "{then}");
        assert!(shown(&deep(513, then)).starts_with("!runtime_error"), "{then}: {}", shown(&deep(513, then)));
    }
}

#[test]
fn println_reports_once_what_it_omits_of_a_deep_value() {
    let warnings = |levels: u32| {
        let program = Json::str(deep(levels, "(println v) (println v 1)")).to_text();
        let case = Case::read(&json::parse(&format!("{{\"program\": {program}}}")).expect("JSON")).expect("a case");
        let outcome = outcome(&case);
        assert_eq!((outcome.result.map(|(_, value)| value), outcome.prints.len()), (Ok(Value::Nil), 2));
        outcome.warnings
    };
    assert_eq!(warnings(512), [""; 0]);
    assert_eq!(warnings(513), ["println: values nested deeper than 512 levels were printed as `...`"]);
}

#[test]
fn the_mark_of_reduced_is_not_shown_as_a_function() {
    assert_eq!(shown("(reduced 1)"), "#<reduced>");
    assert_eq!(shown("[(reduced 1) (comp inc dec)]"), "[#<reduced> #fn[...]]");
}

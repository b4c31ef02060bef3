//! `lisp run`, `batch`, `doc`, `bench` and `repl` as a script sees them.

use crate::cli::program::Program;

#[test]
fn run_prints_what_the_program_prints_and_then_its_value() {
    let program = Program::new();
    let done = program.run(["lisp", "run", "-e", r#"(println "a" :b) (println [1 "x"]) {:k "v"}"#]);
    assert_eq!(done.exits(0).stdout, "a :b\n[1 \"x\"]\n{:k \"v\"}\n");
    let file = program.file("sum.clj", "(reduce + data/xs)");
    assert_eq!(program.run(["lisp", "run", file, "--context", r#"{"xs": [1, 2]}"#]).exits(0).stdout, "3\n");
    let context = program.file("context.json", r#"{"xs": [5]}"#);
    assert_eq!(program.run(["lisp", "run", file, "--context", &format!("@{context}")]).exits(0).stdout, "5\n");
    assert_eq!(program.fed(["lisp", "run", "-"], "(+ 1 2)").exits(0).stdout, "3\n");
}

#[test]
fn a_program_that_breaks_or_fails_ends_with_1_and_shows_the_place() {
    let program = Program::new();
    let file = program.file("bad.clj", "(println 1)\n(+ 1\n   (inc nil))");
    let done = program.run(["lisp", "run", file]);
    done.exits(1).reports("bad.clj:3:4: arithmetic_error: inc: ").reports("   3 |    (inc nil))\n     |    ^^^^^^^^^");
    assert_eq!(done.stdout, "1\n");
    program.run(["lisp", "run", "-e", "(fail {:reason :no})"]).exits(1).reports("{:reason :no}");
    program.run(["lisp", "run", "-e", "(str 1"]).exits(1).reports("parse_error");
    program.run(["lisp", "run", "-e", "(fitler odd? [])"]).exits(1).reports("filter");
}

#[test]
fn what_cannot_be_run_ends_with_2() {
    let program = Program::new();
    program.run(["lisp", "run", "missing.clj"]).exits(2).reports("missing.clj");
    program.run(["lisp", "run", "-e", "1", "--context", "[1]"]).exits(2).reports("object");
    program.run(["lisp", "run", "-e", "1", "--context", "{"]).exits(2).reports("JSON");
    program.run(["lisp", "run"]).exits(2);
    program.run(["lisp", "run", "-e", "1", "--dialect", "old"]).exits(2).reports("dialect");
}

#[test]
fn run_gives_the_record_as_json() {
    let json = Program::new().run(["lisp", "run", "--json", "-e", "(def a #{1}) (println 2) a"]).exits(0).json();
    assert_eq!(json["value"]["#set"], serde_json::json!([1]));
    assert_eq!(json["prints"], serde_json::json!(["2"]));
    assert_eq!(json["memory_out"]["a"], "#{1}");
}

#[test]
fn batch_answers_line_by_line_in_order_also_to_lines_that_are_no_cases() {
    let lines = [
        r#"{"id": "a", "program": "(+ data/n 1)", "context": {"n": 1}}"#,
        "nonsense",
        r#"{"id": "b", "program": "(tool/t {:x-y 1})", "tools": {"t": "echo"}}"#,
        "",
        r#"{"id": "c", "program": "(loop [] (recur))"}"#,
        r#"{"id": "d", "program": 5}"#,
        r#"{"id": "e", "program": "[*1 m (keyword \"k\") 12345678901234567890 ##Inf inc]", "turn_history": [7], "memory": {"m": 1}}"#,
        r#"{"id": "f", "program": "(+ 1 2)", "opts": {"max_program_bytes": 3}}"#,
    ];
    let done = Program::new().fed(["lisp", "batch"], lines.join("\n"));
    let answers: Vec<serde_json::Value> =
        done.exits(0).stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 7);
    assert_eq!((&answers[0]["id"], &answers[0]["value"]), (&"a".into(), &2.into()));
    assert_eq!((&answers[1]["ok"], &answers[1]["reason"]), (&false.into(), &"invalid_config".into()));
    assert_eq!(answers[2]["value"], serde_json::json!({"x_y": 1}));
    assert_eq!(answers[2]["tool_calls"][0]["name"], "t");
    assert_eq!(answers[3]["reason"], "loop_limit_exceeded");
    assert_eq!((&answers[4]["id"], &answers[4]["reason"]), (&"d".into(), &"invalid_config".into()));
    assert_eq!(answers[5]["value"][3]["#int"], "12345678901234567890");
    assert_eq!(answers[5]["value"][4]["#num"], "##Inf");
    assert!(answers[5]["prn"].as_str().is_some_and(|text| text.starts_with("[7 1 :k 12345678901234567890 ##Inf")));
    assert_eq!(answers[6]["reason"], "program_too_large");
}

#[test]
fn batch_takes_no_more_time_than_a_case_allows() {
    let case = r#"{"id": 1, "program": "(reduce + (map (fn [x] (reduce + (range 100000))) (range 100000)))", "opts": {"timeout": 50}}"#;
    // Without its limit it would run for hours.
    let done = Program::new().fed(["lisp", "batch"], case);
    assert!(done.exits(0).stdout.contains(r#""reason":"timeout""#), "{}", done.stdout);
}

#[test]
fn doc_describes_a_name_lists_what_fits_and_suggests_the_nearest() {
    let program = Program::new();
    assert!(program.run(["lisp", "doc", "take"]).exits(0).stdout.starts_with("(take n coll)"));
    let list = program.run(["lisp", "doc", "take-"]);
    assert!(list.exits(0).stdout.lines().any(|line| line.starts_with("take-while")), "{}", list.stdout);
    program.run(["lisp", "doc", "filtr"]).exits(1).reports("filter");
}

#[test]
fn doc_knows_operators_namespaces_surroundings_and_patterns() {
    let program = Program::new();
    let says = |word: &str| program.run(["lisp", "doc", word]).exits(0).stdout.clone();
    assert!(says("->>").starts_with("(->> "));
    assert!(says("-").starts_with("(- x)"));
    assert!(says("if-let").contains("[pattern value]"));
    assert!(says("clojure.string/join").starts_with("(join coll)"));
    assert!(says("Integer/parseInt").starts_with("(Integer/parseInt s)"));
    assert!(says("clojure.set").lines().any(|line| line.starts_with("union ")));
    assert!(says("data").contains("context") && says("tool/").contains("named arguments"));
    assert!(says("*1").contains("last program") && says("*3").contains("before *2"));
    let parsers = says("parse-*");
    assert!(parsers.lines().count() >= 3 && parsers.lines().all(|line| line.starts_with("parse-")), "{parsers}");
    program.run(["lisp", "doc", "nonsensical-word"]).exits(1).reports("unknown name `nonsensical-word`");
    program.run(["lisp", "doc", "str/jion"]).exits(1).reports("`join`");
}

#[test]
fn a_result_that_is_endless_when_written_out_is_an_error() {
    let program = Program::new();
    let doubling = "(reduce (fn [v _] [v v]) [] (range 60))";
    program.run(["lisp", "run", "-e", doubling]).exits(1).reports("memory_exceeded");
    let line = format!(r#"{{"id": 1, "program": "(def m {doubling}) 1"}}"#);
    let answer = program.fed(["lisp", "batch"], line).exits(0).json();
    assert_eq!((&answer["id"], &answer["reason"]), (&1.into(), &"memory_exceeded".into()));
    let done = program.fed(["lisp", "repl"], format!("{doubling}\n(+ 1 1)"));
    assert_eq!(done.stdout, "2\n");
    done.reports("memory_exceeded");
}

#[test]
fn printed_text_keeps_its_tabs_and_loses_what_acts_on_a_terminal() {
    let program = Program::new();
    let context = r#"{"e": "a\tb\u001b[31m!"}"#;
    let done = program.run(["lisp", "run", "--context", context, "-e", "(println data/e) data/e"]);
    assert_eq!(done.exits(0).stdout, "a\tb!\n\"a\\tb\\e[31m!\"\n");
}

#[test]
fn batch_takes_thousands_of_lines_and_a_reader_that_leaves() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let program = Program::new();
    let lines: Vec<String> = (0..10_000).map(|n| format!("{{\"id\":{n},\"program\":\"(+ {n} 1)\"}}\n")).collect();
    let lines = lines.concat();
    let done = program.fed(["lisp", "batch"], &lines);
    let ids = done.exits(0).stdout.lines().enumerate();
    assert!(ids.clone().all(|(n, line)| line.starts_with(&format!("{{\"id\":{n},\"ok\":true,\"value\":{}", n + 1))));
    assert_eq!(ids.count(), 10_000);
    assert_eq!(program.run(["lisp", "batch"]).exits(0).stdout, "");
    let mut child = program.command(["lisp", "batch"]).stdin(std::process::Stdio::piped()).spawn().expect("started");
    let mut input = child.stdin.take().expect("a pipe");
    let feeder = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let mut first = String::new();
    // The pipe closes with its reader.
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert!(first.contains("\"value\":1"), "{first}");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    drop(feeder.join());
}

#[test]
fn bench_gives_times_also_as_json() {
    let program = Program::new();
    let file = program.file("p.clj", "(loop [i 0] (if (< i 20000) (recur (inc i)) i))");
    let json = program.run(["lisp", "bench", file, "--json"]).exits(0).json();
    let number = |key: &str| json[key].as_f64().expect("a number");
    assert!(0.0 < number("min_ms") && number("min_ms") <= number("median_ms") && number("runs") >= 5.0);
    let file = program.file("q.clj", "(inc nil)");
    program.run(["lisp", "bench", file]).exits(1).reports("arithmetic_error");
}

#[test]
fn a_piped_repl_keeps_memory_and_results_and_continues_after_errors() {
    let program = Program::new();
    program.file("lib.clj", "(defn twice [x] (* 2 x))");
    let input = "(def a\n  20)\n(+ a 1)\n(inc nil)\n[*1 a]\n:load lib.clj\n(twice 4)\n:memory\n:reset\n*1\n:doc first\n:quit\n99";
    let done = program.fed(["lisp", "repl"], input);
    done.exits(1).reports("repl:1:1: arithmetic_error");
    assert!(
        done.stdout.starts_with("#'a\n21\n[21 20]\n#'twice\n8\na = 20\ntwice = #fn[x]\nnil\n(first coll)\n"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("99"));
    assert_eq!(program.fed(["lisp", "repl"], "1\n(+ 1\n1)").exits(0).stdout, "1\n2\n");
}

#[test]
fn every_form_of_an_input_shows_its_value() {
    let program = Program::new();
    let shown = |input: &str| program.fed(["lisp", "repl"], input);
    assert_eq!(shown("(def a 1) (inc a) ; and\n[*1 a] :k").exits(0).stdout, "#'a\n2\n[2 1]\n:k\n");
    let broken = shown("1 (inc nil) 3");
    broken.exits(1).reports("repl:1:3: arithmetic_error");
    assert_eq!(broken.stdout, "1\n");
    // A function may use what is defined after it, as in a program.
    assert_eq!(shown("(defn f [] (g)) (defn g [] 7) (f)").exits(0).stdout, "7\n");
    assert_eq!(shown("(return 1) 2").exits(0).stdout, "1\n");
    assert_eq!(shown("(+ 1 1)) 5").exits(0).stdout, "2\n5\n");
}

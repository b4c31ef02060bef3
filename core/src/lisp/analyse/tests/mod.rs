//! Tables of programs and their analysed form as text.

mod errors;
mod liveness;
mod show;

use std::collections::BTreeMap;

use super::{Names, analyse, form::FORMS};
use crate::lisp::builtins::{Implementation, rows};
use crate::lisp::host::Watch;
use crate::lisp::read::read_watched;
use crate::lisp::{Binding, Budget, Dialect, Error, Memory, ToolInfo, ir};
use crate::value::{Keyword, Value};

/// Analyses a program with `f g h xs total` in memory, the tools `echo` and `get-user`, and the data `rows`,
/// `unit_price` and `_secret`.
fn analysed(source: &str) -> Result<ir::Program, Error> {
    analysed_in(source, Dialect::Reference)
}

/// The same in a dialect.
fn analysed_in(source: &str, dialect: Dialect) -> Result<ir::Program, Error> {
    let binding = || Binding { value: Value::Nil, doc: None };
    let memory: Memory = ["f", "g", "h", "xs", "total"]
        .into_iter()
        .map(|name| (Keyword::intern(name), binding()))
        .collect::<BTreeMap<_, _>>();
    let tool = |name: &str| ToolInfo { name: name.to_owned(), ..ToolInfo::default() };
    let tools = [tool("echo"), tool("get-user")];
    let forms = read_watched(source, Budget::default(), dialect, &Watch::none())?;
    let context = Value::map(["rows", "unit_price", "_secret"].map(|key| (Value::str(key), Value::Nil)));
    analyse(&forms, &Names { memory: &memory, tools: &tools, context: &context, dialect })
}

#[test]
fn the_forms_of_the_table_are_those_that_are_analysed() {
    let mut listed: Vec<&str> =
        rows().filter(|row| matches!(row.run, Implementation::Form)).map(|row| row.name).collect();
    let mut known: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn programs_become_what_they_mean() {
    let cases = [
        ("", "nil"),
        ("1 2", "(do 1 2)"),
        ("[1 [2 :a]]", "[1 [2 :a]]"),
        ("{:a 1 \"b\" [nil]}", "{:a 1 \"b\" [nil]}"),
        ("{:a f}", "(map :a (global f))"),
        ("(f 1 xs)", "(call (global f) 1 (global xs))"),
        ("(first [1])", "(first [1])"),
        ("(let [first f] (first 1))", "(let 0 (global f) (call 0! 1))"),
        ("(def first g) (first 1)", "(do (def first (global g)) (call (global first) 1))"),
        ("(let [a 1 b a] [b b])", "(let 0 1 1 0! (vector 1 1!))"),
        ("(let [a 1] (let [b 2] b) (let [c 3] c))", "(let 0 1 (do (let 1 2 1!) (let 1 3 1!)))"),
        ("(fn [x & r] [r x])", "(fn [x & r] 2 0 & 1 (vector 1! 0!))"),
        ("(fn self [x] (self x))", "(fn [x] 1 0 (call myself 0!))"),
        ("(let [a 1] (fn [] (fn [] a)))", "(let 0 1 (fn [] 0 <0!> (fn [] 0 <^0> ^0)))"),
        ("#(f %2 %&)", "(fn [p1 p2 & rest] 3 0 1 & 2 (call (global f) 1! 2!))"),
        ("#(f)", "(fn [] 0 (call (global f)))"),
        ("#(42)", "(fn [] 0 42)"),
        ("#()", "(fn [] 0 nil)"),
        ("#([% 1])", "(fn [p1] 1 0 (vector 0! 1))"),
        ("#(:a)", "(fn [] 0 :a)"),
        ("(if f 1)", "(if (global f) 1 nil)"),
        ("(if-not f 1 2)", "(if (global f) 2 1)"),
        ("(when f 1 2)", "(if (global f) (do 1 2) nil)"),
        ("(cond f 1 :else 2)", "(cond (global f) 1 :else 2)"),
        ("(case f 1 :a (2 3) :b :c)", "(case (global f) [1] :a [2 3] :b :c)"),
        ("(if-let [x f] x)", "(let 0 (global f) (if 0 0! nil))"),
        ("(if-some [[a] f] a 2)", "(let 0 (global f) (case 0 [nil] 2 (let [1] 0! 1!)))"),
        ("(if-let [f (f)] 1 f)", "(let 0 (call (global f)) (if 0 1 0!))"),
        ("(condp f xs 1 :a :b)", "(let 0 (global f) 1 (global xs) (cond (call 0! 1 1!) :a true :b))"),
        ("(and) (or)", "(do true nil)"),
        ("(or nowhere 1)", "(or (global? nowhere) 1)"),
        ("(or f 1)", "(or (global? f) 1)"),
        ("(-> 1 f (g 2) :k)", "(call :k (call (global g) (call (global f) 1) 2))"),
        ("(->> 1 f (g 2))", "(call (global g) 2 (call (global f) 1))"),
        ("(as-> 1 x (f x) (g x))", "(let 0 1 0 (call (global f) 0!) (call (global g) 0!))"),
        ("(cond-> 1 f (g 2))", "(let 0 1 (if (global f) (call (global g) 0! 2) 0!))"),
        (
            "(some-> 1 f g)",
            "(let 0 1 0 (case 0 [nil] nil (call (global f) 0!)) (case 0 [nil] nil (call (global g) 0!)))",
        ),
        (
            "(some->> xs (f (some-> g h)))",
            "(let 0 (global xs) (case 0 [nil] nil (call (global f) (let 1 (global g) (case 1 [nil] nil (call (global h) 1!))) 0!)))",
        ),
        (
            "(loop [i 0 a []] (if (f i) (recur (g i) a) a))",
            "(loop 0 0 1 [] (if (call (global f) 0) (recur (call (global g) 0!) 1!) 1!))",
        ),
        (
            "(for [x xs :when x :let [y x] z y :while z] [x z])",
            "(for 0 (global xs) when 0 let 1 0; 2 1 while 2; (vector 0 2!))",
        ),
        ("(doseq [[k v] xs] (f k v))", "(doseq [0 1] (global xs); (call (global f) 0! 1!))"),
        ("(defn sq \"doc\" [x] (f x))", "(def sq \"doc\" (fn sq [x] 1 0 (call (global f) 0!)))"),
        ("(defonce a 1)", "(defonce a 1)"),
        ("(b) (defn b [] 1)", "(do (call (global b)) (def b (fn b [] 0 1)))"),
        (
            "(let [{:keys [a :b] c \"d\" [e] :f :or {a (f)} :as m} xs] [a b c e m])",
            "(let {:a 1 or (call (global f)) :b 2 \"d\" 3 :f [4] as 0} (global xs) (vector 1! 2! 3! 4! 0!))",
        ),
        ("(let [{:as m} xs] m)", "(let {as 0} (global xs) 0!)"),
        ("(let [[a & r :as all] xs] [a r all])", "(let [0 & 1 as 2] (global xs) (vector 0! 1! 2!))"),
        ("(fn [{:keys [a] :or {a 1}} [b]] [a b])", "(fn [_ _] 4 {:a 2 or 1} [3] (vector 2! 3!))"),
        ("(tool/echo)", "(tool echo {})"),
        ("(tool/echo :a f)", "(tool echo (map :a (global f)))"),
        ("(tool/echo f)", "(tool echo (global f))"),
        ("(tool/get_user)", "(tool get-user {})"),
        ("(-> {:a 1} tool/echo)", "(tool echo {:a 1})"),
        ("data/user-id", "(data user-id)"),
        ("[*1 *3 (budget/remaining)]", "(vector (history 0) (history 2) (budget))"),
        ("'a/b", "'a/b"),
        ("(comment (nope) (let))", "nil"),
        ("(do (def a 1) #'a)", "(do (def a 1) (global a))"),
        ("(return f)", "(return (global f))"),
        ("(fail f)", "(fail (global f))"),
        ("(task \"a\" f)", "(task \"a\" (global f))"),
        ("(step-done 1 f)", "(step-done 1 (global f))"),
        ("(task-reset 1)", "(task-reset 1)"),
        ("(first 1 2)", "(do 1 2 (raise arity_error))"),
        ("(if f (first) 1)", "(if (global f) (do (raise arity_error)) 1)"),
        ("(.nope 1)", "(call (raise unsupported_method) 1)"),
        ("(loop [i 0] (recur))", "(loop 0 0 (do (raise arity_mismatch)))"),
        ("(let [if 5] if)", "(let 0 5 0!)"),
        ("(let [when f] (when 1))", "(let 0 (global f) (call 0! 1))"),
        ("(clojure.core/first xs)", "(first (global xs))"),
        ("Double/NaN", "##NaN"),
        ("#{1 2}", "#{1 2}"),
    ];
    for (source, expected) in cases {
        let shown = match analysed(source) {
            Ok(program) => show::program(&program),
            Err(error) => format!("!{} {}", error.reason, error.message()),
        };
        assert_eq!(shown, expected, "{source}");
    }
}

#[test]
fn a_chain_of_steps_is_limited_by_the_depth_of_forms_and_no_other_nesting_is() {
    let chain = |steps: usize| format!("(-> 1{})", " f".repeat(steps));
    let flat = |head: &str, step: &str, steps: usize| format!("({head}{})", step.repeat(steps));
    let run = move || {
        assert!(analysed(&chain(500)).is_ok());
        assert_eq!(analysed(&chain(600)).err().map(|error| error.reason.name()), Some("program_too_large"));
        for (head, step) in [
            ("some-> 1", " f"),
            ("cond-> 1", " f f"),
            ("as-> 1 x", " (f x)"),
            ("cond", " f 1"),
            ("and", " f"),
            ("do", " f"),
        ] {
            assert!(analysed(&flat(head, step, 50_000)).is_ok(), "{head}");
        }
    };
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).expect("a thread").join().expect("no overflow");
}

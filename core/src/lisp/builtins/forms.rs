//! The forms of the language as rows of the table. The analyser implements them; they are not values.

use super::{Arity, Builtin, Clojure};

/// The rows of choices.
pub(super) const CHOICES: &[Builtin] = &[
    Builtin::form("if", Arity::between(2, 3))
        .doc(
            &["(if test then)", "(if test then else)"],
            "The value of `then` if the test is truthy (neither nil nor false), otherwise that of `else`, or nil.",
        )
        .examples(&[("(if (> 2 1) :yes :no)", ":yes"), ("(if nil 1)", "nil"), ("(if 0 :truthy)", ":truthy")]),
    Builtin::form("if-not", Arity::between(2, 3))
        .doc(&["(if-not test then)", "(if-not test then else)"], "Like `if` with the test negated.")
        .examples(&[("(if-not false 1 2)", "1")]),
    Builtin::form("if-let", Arity::between(2, 3))
        .doc(
            &["(if-let [pattern value] then)", "(if-let [pattern value] then else)"],
            "Binds the value if it is truthy and returns `then`, otherwise `else`.",
        )
        .examples(&[("(if-let [x (:a {:a 5})] (inc x) :none)", "6"), ("(if-let [x nil] 1 2)", "2")]),
    Builtin::form("if-some", Arity::between(2, 3))
        .doc(
            &["(if-some [pattern value] then)", "(if-some [pattern value] then else)"],
            "Like `if-let`, but tests for nil only.",
        )
        .examples(&[("(if-some [x false] [x] :none)", "[false]")]),
    Builtin::form("when", Arity::from(1))
        .doc(&["(when test body…)"], "The last value of the body if the test is truthy, otherwise nil.")
        .examples(&[("(when true 1 2)", "2"), ("(when nil 1)", "nil")]),
    Builtin::form("when-not", Arity::from(1))
        .doc(&["(when-not test body…)"], "Like `when` with the test negated.")
        .examples(&[("(when-not nil 1)", "1")]),
    Builtin::form("when-let", Arity::from(1))
        .doc(
            &["(when-let [pattern value] body…)"],
            "Binds the value and returns the last value of the body if the value is truthy, otherwise nil.",
        )
        .examples(&[("(when-let [x 5] (inc x))", "6")]),
    Builtin::form("when-some", Arity::from(1))
        .doc(&["(when-some [pattern value] body…)"], "Like `when-let`, but tests for nil only.")
        .examples(&[("(when-some [x false] [x])", "[false]")]),
    Builtin::form("when-first", Arity::from(1))
        .doc(
            &["(when-first [pattern coll] body…)"],
            "Binds the first item if there is one and returns the last value of the body, otherwise nil.",
        )
        .examples(&[("(when-first [x [1 2]] (inc x))", "2"), ("(when-first [x []] x)", "nil")]),
    Builtin::form("cond", Arity::from(0))
        .doc(&["(cond test value … :else value)"], "The value after the first truthy test, nil if there is none.")
        .examples(&[("(cond (> 1 2) :a :else :b)", ":b"), ("(cond false 1)", "nil")]),
    Builtin::form("case", Arity::from(1))
        .doc(
            &["(case value constant result … default)"],
            "The result after the constant, or the parenthesised group of constants, that equals the value.",
        )
        .examples(&[("(case 3 1 :one (2 3) :few :many)", ":few"), ("(case :x :a 1)", "nil")])
        .clojure(Clojure::Differs("without a match and a default the value is nil, not an error")),
    Builtin::form("condp", Arity::from(4))
        .doc(
            &["(condp pred value test result … default)"],
            "The result after the first test for which `(pred test value)` is truthy; after `test :>> f` it is the result of f for the value of the predicate.",
        )
        .examples(&[
            ("(condp > 5 10 :big 3 :small)", ":big"),
            ("(condp = 9 1 :a :other)", ":other"),
            ("(condp some [1 2] #{2} :>> inc)", "3"),
        ])
        .clojure(Clojure::Differs("without a match and a default the value is nil")),
    Builtin::form("and", Arity::from(0))
        .doc(
            &["(and form…)"],
            "The first falsy value, otherwise the last one; forms after a falsy one are not evaluated.",
        )
        .examples(&[("(and 1 2)", "2"), ("(and 1 nil 3)", "nil"), ("(and)", "true")]),
    Builtin::form("or", Arity::from(0))
        .doc(&["(or form…)"], "The first truthy value, otherwise the last one; an undefined bare name counts as nil.")
        .examples(&[("(or nil 2)", "2"), ("(or not-defined-yet 0)", "0"), ("(or)", "nil")])
        .clojure(Clojure::Differs("an undefined bare name reads as nil: `(or total 0)`")),
];

/// The rows of bindings, functions and loops.
pub(super) const BINDINGS: &[Builtin] = &[
    Builtin::form("let", Arity::from(1))
        .doc(
            &["(let [pattern value …] body…)"],
            "Binds names in order, each visible to the next, and returns the last value of the body.",
        )
        .examples(&[
            ("(let [x 1 y (inc x)] [x y])", "[1 2]"),
            ("(let [[a & r] [1 2 3] {:keys [k] :or {k 0}} {}] [a r k])", "[1 [2 3] 0]"),
        ]),
    Builtin::form("fn", Arity::from(1))
        .doc(
            &["(fn [params] body…)", "(fn name [params] body…)", "(fn ([params] body…) ([params] body…) …)"],
            "A function; #(…) with %, %1 to %20 and %& is the short form.",
        )
        .examples(&[("((fn [x & more] [x more]) 1 2 3)", "[1 [2 3]]"), ("(#(+ %1 %2) 1 2)", "3")])
        .clojure(Clojure::Differs("#() may contain #()")),
    Builtin::form("loop", Arity::from(1))
        .doc(&["(loop [pattern value …] body…)"], "Like `let`; `recur` in tail position rebinds and restarts the body.")
        .examples(&[("(loop [i 0 acc []] (if (< i 3) (recur (inc i) (conj acc i)) acc))", "[0 1 2]")])
        .clojure(Clojure::Differs("the jumps of one loop are limited: prefer reduce, map and for")),
    Builtin::form("letfn", Arity::from(1))
        .doc(&["(letfn [(f [params] body…) …] body…)"], "Binds functions that can call each other.")
        .examples(&[(
            "(letfn [(even [n] (if (= n 0) true (odd (dec n)))) (odd [n] (if (= n 0) false (even (dec n))))] (even 4))",
            "true",
        )])
        .current(),
    Builtin::form("dotimes", Arity::from(1))
        .doc(&["(dotimes [i n] body…)"], "Evaluates the body for i from 0 to n - 1, for side effects; nil.")
        .examples(&[("(let [a (atom [])] (dotimes [i 3] (swap! a conj i)) @a)", "[0 1 2]")])
        .current(),
    Builtin::form("while", Arity::from(1))
        .doc(&["(while test body…)"], "Repeats the body while the test is truthy; nil.")
        .examples(&[("(let [n (atom 3)] (while (pos? @n) (swap! n dec)) @n)", "0")])
        .clojure(Clojure::Differs("the repetitions are limited like the jumps of a loop"))
        .current(),
    Builtin::form("doto", Arity::from(1))
        .doc(&["(doto x (f arg…) …)"], "Calls each function with x as first argument; returns x.")
        .examples(&[("@(doto (atom []) (swap! conj 1))", "[1]")])
        .current(),
    Builtin::form("assert", Arity::between(1, 2))
        .doc(&["(assert test)", "(assert test message)"], "Throws an exception if the test is falsy; nil.")
        .examples(&[
            ("(assert (= 1 1))", "nil"),
            ("(try (assert false \"no\") (catch Error e (ex-message e)))", "\"Assert failed: no\""),
        ])
        .current(),
    Builtin::form("recur", Arity::from(0))
        .doc(&["(recur value…)"], "Restarts the innermost loop or function with new values; only in tail position.")
        .examples(&[("((fn [n] (if (> n 0) (recur (dec n)) :done)) 5)", ":done")]),
    Builtin::form("for", Arity::from(1))
        .doc(
            &["(for [pattern coll :when test :while test :let [p v] …] body…)"],
            "The list of the body's values for each item; later bindings iterate fastest.",
        )
        .examples(&[
            ("(for [x [1 2] y [:a :b]] [x y])", "[[1 :a] [1 :b] [2 :a] [2 :b]]"),
            ("(for [x [1 2 3 4] :when (even? x) :let [y (* x x)]] y)", "[4 16]"),
        ])
        .clojure(Clojure::Differs("not lazy, and the body may have several forms")),
    Builtin::form("doseq", Arity::from(1))
        .doc(&["(doseq [pattern coll …] body…)"], "Like `for`, but only for side effects; nil.")
        .examples(&[("(doseq [x [1 2]] (println x))", "nil")]),
    Builtin::form("do", Arity::from(0))
        .doc(&["(do form…)"], "Evaluates the forms in order and returns the last value.")
        .examples(&[("(do 1 2)", "2"), ("(do)", "nil")]),
    Builtin::form("comment", Arity::from(0))
        .doc(&["(comment …)"], "nil; the contents are not even checked.")
        .examples(&[("(comment (whatever))", "nil")]),
    Builtin::form("quote", Arity::exactly(1))
        .doc(&["(quote form)", "'form"], "The form as data: a symbol, or data in which lists are vectors.")
        .examples(&[("'total", "'total"), ("(map inc '(1 2))", "[2 3]")])
        .clojure(Clojure::Differs("a quoted list is a vector")),
];

/// The rows of multimethods.
pub(super) const MULTIMETHODS: &[Builtin] = &[
    Builtin::form("defmulti", Arity::between(2, 6))
        .doc(
            &["(defmulti name dispatch)", "(defmulti name \"description\" dispatch)"],
            "Defines a function that calls the method of the value of `(dispatch args…)`.",
        )
        .examples(&[
            ("(defmulti area :shape) (defmethod area :square [{:keys [w]}] (* w w)) (area {:shape :square :w 3})", "9"),
            ("(defmulti f odd?) (defmethod f :default [x] :default) (f 1)", ":default"),
        ])
        .clojure(Clojure::Differs("without hierarchies; the function lives in the agent's memory"))
        .current(),
    Builtin::form("defmethod", Arity::from(3))
        .doc(
            &["(defmethod name value [params] body…)"],
            "Adds the method of a dispatch value to a multimethod; `:default` is the method for all other values.",
        )
        .examples(&[("(defmulti f identity) (defmethod f [1 2] [_] :pair) (f [1 2])", ":pair")])
        .current(),
];

/// The rows of headers.
pub(super) const HEADERS: &[Builtin] = &[
    HEADER.named("ns", &["(ns name (:require [clojure.string :as s]))"]),
    HEADER,
    HEADER.named("use", &["(use 'clojure.string)"]),
    HEADER.named("import", &["(import 'java.time.LocalDate)"]),
    HEADER.named("declare", &["(declare name…)"]),
    HEADER.named("set!", &["(set! *warn-on-reflection* true)"]),
];

const HEADER: Builtin = Builtin::form("require", Arity::from(0))
    .doc(
        &["(require '[clojure.string :as s])"],
        "nil: all functions are available, and function bodies may use names defined later. Aliases of namespaces are known.",
    )
    .current();

/// The rows of threading.
pub(super) const THREADING: &[Builtin] = &[
    Builtin::form("->", Arity::from(0))
        .doc(
            &["(-> value step…)"],
            "Inserts the value as first argument of the first step, the result as first argument of the next, and so on.",
        )
        .examples(&[("(-> 5 inc (- 2))", "4"), ("(-> {:a {:b 1}} :a :b)", "1")]),
    Builtin::form("->>", Arity::from(0))
        .doc(&["(->> value step…)"], "Like `->`, but inserts the value as last argument.")
        .examples(&[("(->> [1 2 3 4] (filter even?) (map inc))", "[3 5]")]),
    Builtin::form("as->", Arity::from(0))
        .doc(&["(as-> value name form…)"], "Binds the name to the value, then to the value of each form in turn.")
        .examples(&[("(as-> 5 x (+ x 1) (* x 2))", "12")]),
    Builtin::form("cond->", Arity::from(0))
        .doc(&["(cond-> value test step …)"], "Like `->`, with only the steps whose test is truthy.")
        .examples(&[("(cond-> 5 true inc false (* 10))", "6")]),
    Builtin::form("cond->>", Arity::from(0))
        .doc(&["(cond->> value test step …)"], "Like `cond->`, but inserts the value as last argument.")
        .examples(&[("(cond->> [1 2] true (map inc))", "[2 3]")]),
    Builtin::form("some->", Arity::from(0))
        .doc(&["(some-> value step…)"], "Like `->`, but stops with nil as soon as a value is nil.")
        .examples(&[("(some-> {:a nil} :a inc)", "nil"), ("(some-> 5 inc)", "6")]),
    Builtin::form("some->>", Arity::from(0))
        .doc(&["(some->> value step…)"], "Like `some->`, but inserts the value as last argument.")
        .examples(&[("(some->> [1 2] (map inc))", "[2 3]")]),
];

/// The rows of memory and of communication with the agent.
pub(super) const MEMORY: &[Builtin] = &[
    Builtin::form("def", Arity::between(2, 3))
        .doc(
            &["(def name value)", "(def name \"description\" value)"],
            "Defines the name, also for later programs; returns the var.",
        )
        .examples(&[("(def x 5)", "#'x"), ("(def x 5) (inc x)", "6")])
        .clojure(Clojure::Differs("the name lives in the agent's memory and survives the turn")),
    Builtin::form("defonce", Arity::between(2, 3))
        .doc(
            &["(defonce name value)", "(defonce name \"description\" value)"],
            "Like `def`, but does nothing if the name is already defined.",
        )
        .examples(&[("(defonce y 1) (defonce y 2) y", "1")]),
    Builtin::form("defn", Arity::from(2))
        .doc(
            &["(defn name [params] body…)", "(defn name \"description\" [params] body…)"],
            "Defines a function, with one parameter vector or, as in `fn`, several arities.",
        )
        .examples(&[
            ("(defn sq [x] (* x x)) (sq 3)", "9"),
            ("(defn add ([a] a) ([a b & more] (reduce + (+ a b) more))) [(add 1) (add 1 2 3)]", "[1 6]"),
        ])
        .clojure(Clojure::Differs("attributes and :post conditions are ignored")),
    Builtin::form("defn-", Arity::from(2))
        .doc(&["(defn- name [params] body…)"], "The same as `defn`.")
        .examples(&[("(defn- sq [x] (* x x)) (sq 3)", "9")])
        .current(),
    Builtin::form("return", Arity::exactly(1))
        .doc(&["(return value)"], "Ends the whole run with this value as its result, from anywhere.")
        .examples(&[("(do (return 1) 2)", "1")])
        .clojure(Clojure::Extension),
    Builtin::form("fail", Arity::exactly(1))
        .doc(&["(fail value)"], "Ends the whole run as failed, with this value as the error.")
        .clojure(Clojure::Extension),
    Builtin::form("task", Arity::exactly(2))
        .doc(
            &["(task id form)"],
            "The value of the form; if the journal is on, later calls return the stored value without evaluating.",
        )
        .examples(&[("(task \"sum\" (+ 1 2))", "3")])
        .clojure(Clojure::Extension),
    Builtin::form("step-done", Arity::exactly(2))
        .doc(&["(step-done id summary)"], "Marks an item of the plan as done; returns the summary.")
        .examples(&[("(step-done \"1\" \"read the data\")", "\"read the data\"")])
        .clojure(Clojure::Extension),
    Builtin::form("task-reset", Arity::exactly(1))
        .doc(&["(task-reset id)"], "Deletes the stored result of `task` with this id; nil.")
        .examples(&[("(task-reset \"sum\")", "nil")])
        .clojure(Clojure::Extension),
    Builtin::form("tool/try", Arity::exactly(1))
        .doc(
            &["(tool/try (tool/name {…}))"],
            "Returns `{:ok value}`, or `{:error {:tool name :message text}}` if the tool fails, which then does not end the program.",
        )
        .clojure(Clojure::Extension),
    Builtin::form("budget/remaining", Arity::exactly(0))
        .doc(
            &["(budget/remaining)"],
            "The agent's budget: remaining turns, tokens used, depth; `{}` outside of an agent.",
        )
        .examples(&[("(budget/remaining)", "{}")])
        .clojure(Clojure::Extension),
];

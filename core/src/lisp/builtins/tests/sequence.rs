//! Sequence functions: intended differences to Clojure, limits, and laws that hold for all data.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{check, in_reference, value};
use crate::reasons::Reason;
use crate::value::Value;

#[test]
fn accidental_failures_of_the_reference_have_values() {
    check([
        ("(conj {:a 1} {:b 2} nil)", "{:a 1 :b 2}"),
        ("(conj \"a\" \"b\")", "!type_error"),
        ("(conj {:a 1} 3)", "!runtime_error"),
        ("(into nil [1])", "[1]"),
        ("(into [1] \"ab\")", "[1 \"a\" \"b\"]"),
        ("(into [] #{2 1})", "[1 2]"),
        ("(flatten \"ab\")", "[]"),
        ("(flatten {:a [1]})", "[]"),
        ("(sort :asc [2 1])", "[1 2]"),
        ("(sort-by :n :desc [{:n 1} {:n 2}])", "[{:n 2} {:n 1}]"),
        ("(sort-by \"n\" [{:n 2} {\"n\" 1}])", "[{\"n\" 1} {:n 2}]"),
        ("(sort [##Inf ##NaN 1 ##-Inf])", "[##-Inf 1 ##Inf ##NaN]"),
        ("(tree-seq string? seq \"ab\")", "[\"ab\"]"),
    ]);
}

#[test]
fn maps_and_sets_have_no_first_item_in_the_dialect_reference() {
    for name in ["first", "second", "last", "rest", "next", "butlast", "reverse", "distinct"] {
        assert_eq!(in_reference(&format!("({name} {{:a 1}})")), "!type_error", "{name}");
        assert_eq!(in_reference(&format!("({name} #{{1}})")), "!type_error", "{name}");
    }
    for name in ["take", "drop", "take-last", "drop-last"] {
        assert_eq!(in_reference(&format!("({name} 1 #{{1}})")), "!type_error", "{name}");
    }
}

#[test]
fn maps_and_sets_begin_with_their_least_key_in_the_default_dialect() {
    check([
        ("(first {:b 2 :a 1})", "[:a 1]"),
        ("(second #{3 1 2})", "2"),
        ("(last #{3 1 2})", "3"),
        ("(rest {:b 2 :a 1})", "[[:b 2]]"),
        ("(next #{1})", "nil"),
        ("(butlast #{3 1 2})", "[1 2]"),
        ("(reverse #{3 1 2})", "[3 2 1]"),
        ("(distinct #{2 1})", "[1 2]"),
        ("(nth {:b 2 :a 1} 1)", "[:b 2]"),
        ("(take 2 #{3 1 2})", "[1 2]"),
        ("(drop 2 #{3 1 2})", "[3]"),
        ("(take-last 1 #{3 1 2})", "[3]"),
        ("(drop-last 1 #{3 1 2})", "[1 2]"),
        ("(ffirst {:a 1})", ":a"),
        ("(interpose 0 #{1 2})", "[1 0 2]"),
    ]);
}

#[test]
fn maps_and_lists_are_functions_in_the_default_dialect() {
    check([
        ("(map {:a 1} [:a :b])", "[1 nil]"),
        ("(mapv [10 20 30] [0 2 5])", "[10 30 nil]"),
        ("(filter {:a 1} [:a :b])", "[:a]"),
        ("(remove {:a 1} #{:a :b})", "[:b]"),
        ("(some {:a 1} [:b :a])", "1"),
        ("(sort-by {\"high\" 0 \"low\" 2} [\"low\" \"high\"])", "[\"high\" \"low\"]"),
        ("(group-by {1 :odd 2 :even} [1 2 1])", "{:even [2] :odd [1 1]}"),
        ("((comp inc {:a 1}) :a)", "2"),
        ("((juxt {:a 1} [5 6]) 0)", "[nil 5]"),
        ("(take 3 (iterate {:on :off :off :on} :on))", "[:on :off :on]"),
        ("(into [] (map {:a 1}) [:a])", "[1]"),
        ("(update {:k :a} :k {:a 5})", "{:k 5}"),
        ("(let [v [1 2 3]] [(v 1) (v 9)])", "[2 nil]"),
        ("(sort-by [:a :b] [{:a {:b 2}} {:a {:b 1}}])", "[{:a {:b 1}} {:a {:b 2}}]"),
        ("(try ([1 2] [3 4]) (catch Exception e :data))", ":data"),
    ]);
    for program in ["(map {:a 1} [:a])", "(filter [1] [0])", "(sort-by {1 2} [1])", "(some {:a 1} [:a])"] {
        assert_eq!(in_reference(program), "!type_error", "{program}");
    }
    assert_eq!(in_reference("(let [v [1]] (v 0))"), "!not_callable");
    assert!(value("(map {:a 1} inc)", &Value::Nil).is_err_and(|error| error.message().contains("(map f coll)")));
}

#[test]
fn what_the_reference_lacks_stays_absent_there() {
    let rows = super::super::rows().filter(|row| row.reference == super::super::InReference::Absent);
    // The reference reads these names as parse-int and parse-double.
    let rows = rows.filter(|row| !matches!(row.name, "Integer/parseInt" | "Double/parseDouble"));
    for row in rows.filter(|row| matches!(row.run, super::super::Implementation::Function(_))) {
        let reason = in_reference(&format!("({} 1)", row.name));
        let known = ["!unbound_var", "!invalid_form", "!unsupported_method"];
        assert!(known.contains(&reason.as_str()), "{}: {reason}", row.name);
    }
    for program in
        ["(map inc)", "(take 1)", "(filter odd?)", "(distinct)", "(into [] (vec [1]) [1])", "(range)", "(repeat 1)"]
    {
        assert_eq!(in_reference(program), "!arity_error", "{program}");
        let called = program.trim_matches(['(', ')']).split(' ').next().unwrap_or_default();
        assert_eq!(in_reference(&format!("(apply {called} [])")), "!arity_error", "{called}");
    }
}

#[test]
fn arguments_in_the_wrong_order_are_noticed() {
    for program in [
        "(take [1 2] 1)",
        "(drop-last [1 2] 1)",
        "(nth 1 [1 2])",
        "(take-while [1 2] odd?)",
        "(sort [1 2] >)",
        "(sort-by [{:a 1}] :a)",
        "(partition-by [1 2] odd?)",
        "(partition [1 2] 2)",
        "(combinations 2 [1 2])",
        "(postwalk [1 2] inc)",
    ] {
        let error = value(program, &Value::Nil).map_err(|error| (error.reason, error.message()));
        match error {
            Err((Reason::TypeError, message)) => assert!(message.contains("seem swapped"), "{program}: {message}"),
            other => panic!("{program}: {other:?}"),
        }
    }
}

#[test]
fn ranges_are_exact_and_take_may_repeat_one() {
    check([
        (
            "(range 9223372036854775806 9223372036854775809)",
            "[9223372036854775806 9223372036854775807 9223372036854775808]",
        ),
        ("(range 0 2.5)", "[0 1 2]"),
        ("(range 0 -2.5 -1)", "[0 -1 -2]"),
        ("(range 1 5 1.5)", "[1 2.5 4.0]"),
        ("(range 1 5 0)", "!type_error"),
        ("(take 2 (range 1 5 0))", "[1 1]"),
        ("(take 2 (range 1 5 2))", "[1 3]"),
        ("(->> (range 7 9 0) (take 3))", "[7 7 7]"),
        ("(range ##Inf)", "!type_error"),
    ]);
}

#[test]
fn what_would_grow_too_large_is_refused_before_it_is_made() {
    check([
        ("(range 1e12)", "!memory_exceeded"),
        ("(range 1e20 1e21 1)", "!memory_exceeded"),
        ("(repeat 1000000000000 1)", "!memory_exceeded"),
        ("(combinations (range 100) 50)", "!memory_exceeded"),
        ("(partition 10000 1 (range 100000))", "!memory_exceeded"),
        ("(let [xs (range 10000)] (apply concat (repeat 1000 xs)))", "!memory_exceeded"),
        ("(prewalk (fn [x] [x]) 1)", "!memory_exceeded"),
        ("(tree-seq (fn [x] true) (fn [x] [x]) 1)", "!memory_exceeded"),
    ]);
}

#[test]
fn deep_data_is_walked_without_recursion() {
    let deep = "(reduce (fn [inner x] [inner x]) [] (range 20000))";
    check([
        (format!("(count (flatten {deep}))").as_str(), "20000"),
        (format!("(count (postwalk identity {deep}))").as_str(), "2"),
        (format!("(count (prewalk identity {deep}))").as_str(), "2"),
        (format!("(count (tree-seq vector? seq {deep}))").as_str(), "40001"),
        (format!("(let [deep {deep}] (count (sort [deep deep])))").as_str(), "2"),
        (format!("(let [deep {deep}] (count (distinct [deep deep])))").as_str(), "1"),
    ]);
}

#[test]
fn a_comparator_that_fails_ends_the_sort() {
    check([
        ("(sort (fn [a b] (quot 1 0)) [3 1 2])", "!type_error"),
        ("(sort (fn [a b] \"x\") [3 1 2])", "!runtime_error"),
        ("(sort (fn [a] 1) [3 1 2])", "!type_error"),
        ("(sort (fn [a b] (return :out)) [3 1 2])", ":out"),
        ("(sort (fn [a b] nil) [3 1 2])", "!runtime_error"),
    ]);
}

/// Numbers that sometimes tie, integers and floats.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![(-9i64..9).prop_map(Value::Int), (-9i32..9).prop_map(|x| Value::Float(f64::from(x)))]
}

fn numbers() -> impl Strategy<Value = Vec<Value>> {
    vec(number(), 0..60)
}

/// Runs a program on `data/xs` and `data/n`.
fn on(source: &str, xs: &[Value], n: i64) -> Value {
    let context = Value::record([("xs", Value::list(xs.iter().cloned())), ("n", Value::Int(n))]);
    value(source, &context).unwrap_or_else(|error| panic!("{source}: {}", error.message()))
}

#[test]
fn many_integers_are_sorted_in_runs_and_merged() {
    let program = "(let [xs (map (fn [x] (mod (* x 7919) 140000)) (range 140000))]
                     [(= (sort xs) (range 140000)) (= (sort > xs) (reverse (range 140000)))])";
    assert_eq!(value(program, &Value::Nil).ok(), Some(Value::list([true.into(), true.into()])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sorting_is_stable_however_it_is_asked_for(xs in numbers()) {
        let mut wanted = xs.clone();
        wanted.sort_by(Value::order);
        let wanted = Value::from(wanted);
        for program in [
            "(sort data/xs)",
            "(sort :asc data/xs)",
            "(sort < data/xs)",
            "(sort compare data/xs)",
            "(sort (fn [a b] (< a b)) data/xs)",
            "(sort (fn [a b] (<= a b)) data/xs)",
            "(sort (fn [a b] (- a b)) data/xs)",
            "(sort-by identity data/xs)",
            "(sort-by - > data/xs)",
            "(map first (sort-by [0] (map vector data/xs)))",
        ] {
            prop_assert_eq!(&on(program, &xs, 0), &wanted, "{}", program);
        }
    }

    #[test]
    fn comparators_that_contradict_themselves_lose_nothing(xs in vec(0i64..1_000, 0..200), odd in 2i64..5) {
        let xs: Vec<Value> = xs.into_iter().map(Value::Int).collect();
        let program = "(sort (sort (fn [a b] (= 0 (mod (+ a (* 7 b)) data/n))) data/xs))";
        prop_assert_eq!(on(program, &xs, odd), on("(sort data/xs)", &xs, 0));
    }

    #[test]
    fn parts_make_up_the_whole(xs in numbers(), n in -70i64..70) {
        let same = |program: &str| (program.to_owned(), on(program, &xs, n));
        let whole = Value::list(xs.iter().cloned());
        let split = [
            same("(apply concat (split-at data/n data/xs))"),
            same("(apply concat (split-with odd? data/xs))"),
            same("(concat (take-while odd? data/xs) (drop-while odd? data/xs))"),
            same("(concat (drop-last data/n data/xs) (take-last data/n data/xs))"),
            same("(if (neg? data/n) (concat (drop data/n data/xs) (take data/n data/xs)) \
                  (into (take data/n data/xs) (drop data/n data/xs)))"),
            same("(apply concat (partition-all (+ 1 (abs data/n)) data/xs))"),
            same("(apply concat (partition-by pos? data/xs))"),
            same("(reverse (reverse data/xs))"),
            same("(flatten (map vector data/xs))"),
            same("(vec (map first (zip data/xs data/xs)))"),
        ];
        for (program, parts) in split {
            prop_assert_eq!(parts, whole.clone(), "{}", program);
        }
    }

    #[test]
    fn duplicates_go_and_order_stays(xs in numbers()) {
        let distinct = on("(distinct data/xs)", &xs, 0);
        let mut wanted: Vec<Value> = Vec::new();
        for x in &xs {
            if !wanted.contains(x) {
                wanted.push(x.clone());
            }
        }
        prop_assert_eq!(&distinct, &Value::from(wanted));
        prop_assert_eq!(on("(into #{} data/xs)", &xs, 0), on("(into #{} (distinct data/xs))", &xs, 0));
        let mut neighbours = xs.clone();
        neighbours.dedup();
        prop_assert_eq!(on("(dedupe data/xs)", &xs, 0), Value::from(neighbours));
    }

    #[test]
    fn the_number_of_combinations_is_the_binomial_coefficient(size in 0i64..9, n in 0i64..10) {
        let ways = |size: i64, n: i64| (1..=n).fold(1, |ways, k| ways * (size - n + k) / k);
        let wanted = if n > size { 0 } else { ways(size, n) };
        let found = value(&format!("(count (distinct (combinations (range {size}) {n})))"), &Value::Nil);
        prop_assert_eq!(found.ok(), Some(Value::Int(wanted)));
    }
}

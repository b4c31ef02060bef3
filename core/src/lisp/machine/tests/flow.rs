//! Control flow is the same whether a value is an integer, a boolean or in memory, and wherever it is read.

use super::{outcome, shown};

#[test]
fn numbers_truths_and_other_values_go_the_same_ways() {
    let values = [("1", "1"), ("0.5", "0.5"), ("true", "true"), ("false", "false"), ("nil", "nil"), ("[2]", "[2]")];
    for (value, written) in values {
        let ways = [
            format!("((fn [x] x) {value})"),
            format!("((fn [x] (if (= 1 1) x :no)) {value})"),
            format!("((fn [x] (let [y x] (do :first y))) {value})"),
            format!("((fn [x] (cond (nil? 1) :no :else x)) {value})"),
            format!("((fn [x] (and 1 true [1] x)) {value})"),
            format!("((fn [x] (or nil false x)) {value})"),
            format!("((fn [x] (case 2 1 :no x)) {value})"),
            format!("((fn [x] ((fn [] x))) {value})"),
            format!("((fn [x] (loop [n 3 y nil] (if (pos? n) (recur (dec n) x) y))) {value})"),
            format!("((fn [n x] (if (pos? n) (recur (dec n) x) x)) 3 {value})"),
            format!("((fn [n [x]] (if (pos? n) (recur (dec n) [x]) x)) 3 [{value}])"),
            format!("(first [((fn [x] x) {value})])"),
            format!("(reduce (fn [_ x] x) :none [1 {value}])"),
        ];
        for way in ways {
            assert_eq!(shown(&outcome(&way)), written, "{way}");
        }
    }
}

#[test]
fn loops_within_loops_and_functions_jump_to_their_own() {
    let cases = [
        (
            "(loop [i 0 s 0] (if (< i 3) (recur (inc i) (loop [j 0 t s] (if (< j 2) (recur (inc j) (+ t i)) t))) s))",
            "6",
        ),
        (
            "(defn f [n] (loop [i 0] (if (< i n) (recur (inc i)) i))) (loop [k 0 s 0] (if (< k 4) (recur (inc k) (+ s (f k))) s))",
            "6",
        ),
        ("(defn f [a b c d] (if (= a 0) [b c d] (recur (dec a) c d b))) (f 2 1 2 3)", "[3 1 2]"),
        ("(loop [a 1 b 2 c 3 n 0] (if (= n 2) [a b c] (recur b c a (inc n))))", "[3 1 2]"),
        ("(loop [x 9223372036854775806] (if (< x 9223372036854775808) (recur (inc x)) x))", "9223372036854775808"),
        ("(loop [x 0] (cond (> x 5) :big (= x 5) (recur (* x 2)) :else (recur (+ x 1))))", ":big"),
        ("(loop [xs [1 2 3] s 0.5] (if (empty? xs) s (recur (rest xs) (+ s (first xs)))))", "6.5"),
    ];
    for (program, value) in cases {
        assert_eq!(shown(&outcome(program)), value, "{program}");
    }
}

#[test]
fn texts_are_made_of_parts_as_they_were_when_they_were_written() {
    let cases = [
        ("(let [s \"a\"] (str s ((fn [t] (str t \"b\")) s)))", "\"aab\""),
        ("(let [s \"a\" f (fn [x] (conj [x] 1))] (str s \"-\" (f s)))", "\"a-[\\\"a\\\" 1]\""),
        ("(let [m {:a \"x\" :b nil}] (str (:a m) (:b m) (:c m) (:a m)))", "\"xx\""),
        ("(map (fn [r] (str (:a r) \"/\" (:b r))) [{:a 1 :b 2.5} {\"a\" -7}])", "[\"1/2.5\" \"-7/\"]"),
        ("(let [p \"p\"] ((fn [x] (str p x)) -9223372036854775808))", "\"p-9223372036854775808\""),
        ("(str 0 \" \" 10 \" \")", "\"0 10 \""),
        ("(let [n 99999] (str n \" \" (inc n) \" \"))", "\"99999 100000 \""),
    ];
    for (program, value) in cases {
        assert_eq!(shown(&outcome(program)), value, "{program}");
    }
}

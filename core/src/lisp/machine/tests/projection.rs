//! Projections give the same results as calls of the function, for items of all kinds.

use super::{outcome, shown};

const BODIES: &[&str] = &[
    "r",
    "(:a r)",
    "(:b (:a r))",
    "(:a r :none)",
    "(:user-id r)",
    "(get r :a)",
    "(not (:a r))",
    "(nil? (:a r))",
    "(some? (:b r))",
    "(and (:a r) (> (:b r) 2))",
    "(or (:c r) (:a r))",
    "(and)",
    "(or)",
    "(if (:a r) (:b r) :other)",
    "(if (:a r) 1)",
    "(= (:a r) \"x\")",
    "(= (:a r) :x)",
    "(not= (:a r) (:b r))",
    "(< (:a r) (:b r))",
    "(>= (:b r) 2)",
    "(<= 2.5 (:b r))",
    "(= (:b r) 2.0)",
    "(= (:a r) true)",
    "(> (:b r) limit)",
    "(= r {:a 1 \"b\" 2})",
];

const ITEMS: &str = "[{} {:a 1} {\"a\" 1 \"b\" 3} {:a \"x\" :b 2.5} {\"a\" {\"b\" 7} \"b\" 2} {:a :x :b 2} {:a true :b nil} \
    {\"user_id\" 5} {\"a\" false \"b\" \"t\"} {:a 1 \"b\" 2} {:a 9007199254740993 :b 9007199254740992.0}]";

#[test]
fn a_function_that_only_reads_gives_what_a_call_gives() {
    for body in BODIES {
        // A function with a `let` is not a projection.
        let reading = format!("(fn [r] {body})");
        let called = format!("(fn [r] (let [q 0] {body}))");
        for way in ["map", "filter", "remove", "group-by", "sort-by", "keep", "partition-by", "every?"] {
            let program = |function: &str| format!("(let [limit 2 items {ITEMS}] ({way} {function} items))");
            let (one, other) = (outcome(&program(&reading)), outcome(&program(&called)));
            assert_eq!(shown(&one), shown(&other), "{way} {body}");
            assert_eq!(one.usage.steps, other.usage.steps, "{way} {body}");
        }
        let odd = |function: &str| shown(&outcome(&format!("(let [limit 2] (map {function} [nil 1 \"a\" [1] :k]))")));
        assert_eq!(odd(&reading), odd(&called), "{body}");
    }
}

//! Parts of Clojure that this language does not have, each with a way that exists.
//!
//! A test runs each way and compares its value, so that no hint names something that does not work.

use super::foreign::FOREIGN;

/// Names with a hint, and a program that follows it.
pub(super) struct NameHint {
    names: &'static [&'static str],
    hint: &'static str,
    /// A program and the readable form of its value.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests run it"))]
    way: (&'static str, &'static str),
}

/// A row of the tables.
pub(super) const fn absent(
    names: &'static [&'static str],
    hint: &'static str,
    way: (&'static str, &'static str),
) -> NameHint {
    NameHint { names, hint, way }
}

const ABSENT: &[NameHint] = &[
    absent(
        &["ref", "dosync", "alter", "commute", "ref-set", "agent", "send", "send-off", "await", "add-watch"],
        "Use an atom: (atom x), (swap! a f), @a",
        ("(let [a (atom 1)] (swap! a inc) @a)", "2"),
    ),
    absent(
        &["binding", "with-redefs", "alter-var-root", "var-set", "with-local-vars"],
        "Pass the value as an argument, or use (let […] …)",
        ("(let [limit 5] (min 9 limit))", "5"),
    ),
    absent(
        &["catch", "finally"],
        "Write it inside try: (try … (catch Exception e …) (finally …))",
        ("(try (/ 1 0) (catch Exception e :failed))", ":failed"),
    ),
    absent(
        &["lazy-seq", "lazy-cat"],
        "Functions cannot be lazy: (iterate f x) makes an endless sequence from a step, loop or reduce a finite one",
        ("(take 5 (map first (iterate (fn [[a b]] [b (+ a b)]) [0 1])))", "[0 1 1 2 3]"),
    ),
    absent(
        &["transient", "persistent!", "conj!", "assoc!", "dissoc!"],
        "Not needed: collections with one owner are updated in place; use conj, assoc, dissoc",
        ("(reduce conj [] [1 2])", "[1 2]"),
    ),
    absent(
        &["defmacro", "macroexpand", "macroexpand-1", "gensym"],
        "Macros are not supported: write a function",
        ("(defn twice [f] (f) (f)) (twice (fn [] 2))", "2"),
    ),
    absent(
        &["eval", "load-string", "load-file", "resolve", "ns-resolve"],
        "Code cannot be made at run time: choose a function from a map, ({\"+\" +} op)",
        ("(({\"+\" + \"*\" *} \"*\") 2 3)", "6"),
    ),
    absent(
        &["defrecord", "deftype", "definterface"],
        "Use a map, and a function that makes it: (defn point [x y] {:x x :y y})",
        ("(defn point [x y] {:x x :y y}) (:x (point 1 2))", "1"),
    ),
    absent(
        &["defprotocol", "extend-type", "extend-protocol", "reify", "proxy", "gen-class"],
        "Use defmulti and defmethod with a key such as :type",
        ("(defmulti area :type) (defmethod area :square [{:keys [w]}] (* w w)) (area {:type :square :w 3})", "9"),
    ),
    absent(
        &["instance?", "class", "isa?", "satisfies?"],
        "Use a predicate such as map?, string?, number?, or (type x)",
        ("[(string? \"a\") (number? 1) (map? {})]", "[true true true]"),
    ),
    absent(
        &["future", "promise", "deliver", "thread", "go", "chan", "Thread.", "Thread"],
        "Use pmap or pcalls",
        ("(pcalls (fn [] 1) (fn [] 2))", "[1 2]"),
    ),
    absent(
        &["slurp", "spit", "line-seq", "read-line", "with-open", "File.", "Socket.", "URL.", "sh"],
        "Programs can only access data/… and tool/…; text is split with split-lines",
        ("(split-lines \"a\\nb\")", "[\"a\" \"b\"]"),
    ),
    absent(
        &["Thread/sleep", "sleep"],
        "Programs cannot wait: call the tool again in a loop",
        ("(loop [i 0] (if (< i 3) (recur (inc i)) i))", "3"),
    ),
    absent(
        &["StringBuilder.", "StringBuffer."],
        "Use (str a b) or (str/join parts)",
        ("(str/join \"-\" [\"a\" \"b\"])", "\"a-b\""),
    ),
    absent(
        &["ArrayList.", "HashMap.", "HashSet.", "LinkedList.", "ArrayDeque.", "Object.", "aset", "make-array"],
        "Java objects are not supported: use [] {} #{} with conj, assoc and dissoc, or an atom that holds one",
        ("(let [m (atom {})] (swap! m assoc :a 1) @m)", "{:a 1}"),
    ),
    absent(
        &["delay", "force", "delay?"],
        "Values are computed at once: write (let [x …] …), or a function (fn [] …) that is called later",
        ("(let [later (fn [] (+ 1 2))] (later))", "3"),
    ),
    absent(
        &["symbol", "intern", "find-var"],
        "Names cannot be made at run time: use keywords, (keyword \"name\")",
        ("(keyword \"name\")", ":name"),
    ),
    absent(
        &["re-groups", "re-matcher"],
        "Use (re-find #\"…\" text) for the first match with its groups, (re-seq #\"…\" text) for all",
        ("(re-find #\"(a)(b)\" \"xab\")", "[\"ab\" \"a\" \"b\"]"),
    ),
    absent(
        &["new", "String."],
        "Java objects are not supported: write the value itself, such as \"text\" or []; (str x) makes a text",
        ("(str 1)", "\"1\""),
    ),
    absent(
        &["clojure.pprint/cl-format", "cl-format"],
        "Use (format \"%s %d %.2f\" …), which has the directives of Java",
        ("(format \"%s %d\" \"a\" 1)", "\"a 1\""),
    ),
    absent(&["pr"], "Use (println (pr-str x))", ("(println (pr-str \"a\"))", "nil")),
    absent(&["time"], "Omit it: the workbench shows the time of each program", ("(+ 1 2)", "3")),
    absent(
        &["clojure.lang.PersistentQueue/EMPTY", "PersistentQueue/EMPTY"],
        "Use a vector: (first q) is the oldest item, (rest q) removes it, (conj q x) adds one",
        ("(let [q (conj [1 2] 3)] [(first q) (rest q)])", "[1 [2 3]]"),
    ),
    absent(
        &["with-meta", "vary-meta"],
        "There is no metadata: keep the facts in a map",
        ("{:v [1] :doc \"x\"}", "{:doc \"x\" :v [1]}"),
    ),
    absent(
        &["call", "call-tool", "tool-call", "invoke-tool", "use-tool", "run-tool", "invoke", "tools", "functions"],
        "Write (tool/name {…})",
        ("(map inc [1])", "[2]"),
    ),
    absent(
        &["rand", "rand-int", "rand-nth", "shuffle", "random-uuid"],
        "Random numbers are not supported: equal inputs give equal results",
        ("(first [3 1 2])", "3"),
    ),
    absent(&["*4"], "Only *1, *2 and *3 exist", ("*1", "nil")),
    absent(&["data", "input", "inputs", "context", "ctx", "params"], "Write data/name", ("data/name", "nil")),
    absent(&["tool"], "Write (tool/name {…})", ("(map inc [1])", "[2]")),
];

/// Names that the dialect `reference` does not have, with its way.
const ABSENT_IN_REFERENCE: &[(&[&str], &str)] = &[
    (&["dotimes"], "Use (doseq [i (range n)] …)"),
    (&["while"], "Use (loop […] (if … (recur …) …))"),
    (&["try"], "Exceptions are not supported: check first, or end with (fail …)"),
    (&["throw"], "Use (fail …)"),
    (&["assert"], "Use (when-not … (fail …))"),
    (&["ex-info"], "Use (fail {:reason … :message …})"),
    (&["letfn"], "Use (let [f (fn […] …)] …); a function calls itself by its own name: (fn f […] …)"),
    (&["doto"], "Use let and do"),
    (
        &["atom", "swap!", "reset!", "deref", "volatile!", "vswap!", "vreset!", "set!"],
        "Mutable state is not supported: use reduce, loop or def",
    ),
    (&["ns", "require", "use", "import"], "Not needed: all functions are available"),
    (&["defn-"], "Use defn"),
    (&["defmulti", "defmethod"], "Use a function with case or cond"),
    (&["declare"], "Not needed: function bodies may use names defined later"),
    (&["iterate"], "Infinite sequences are not supported: use (loop […] …) or (reduce … (range n))"),
    (&["cycle"], "Infinite sequences are not supported: use (map (fn [i] (nth coll (mod i (count coll)))) (range n))"),
    (&["repeatedly"], "Use (map (fn [_] …) (range n))"),
    (&["doall"], "Sequences are not lazy: omit it"),
    (&["dorun", "run!"], "Use (doseq [x coll] …)"),
    (&["transduce"], "Use (reduce f init (map … coll))"),
    (&["sequence", "eduction"], "Use map or filter on the collection"),
    (&["with-out-str"], "Build the text with str and str/join"),
    (&["printf"], "Use (println (format …))"),
    (&["sorted-map"], "Maps are always sorted by key: use {…}"),
    (&["sorted-set"], "Sets are always sorted: use #{…}"),
];

/// The hint for a name of Clojure or of another language that does not exist here.
pub(super) fn hint(name: &str, is_current: bool) -> Option<&'static str> {
    // `java.util.ArrayList.` is listed as `ArrayList.`.
    let class = name.strip_suffix('.').and_then(|class| class.rsplit('.').next());
    let is_it = |known: &&str| *known == name || known.strip_suffix('.').is_some_and(|known| Some(known) == class);
    let mut rows = ABSENT.iter().chain(FOREIGN);
    let absent = rows.find(|absent| absent.names.iter().any(is_it)).map(|absent| absent.hint);
    let in_reference = || ABSENT_IN_REFERENCE.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint);
    absent.or_else(|| if is_current { None } else { in_reference() })
}

#[cfg(test)]
mod tests {
    use super::{ABSENT, FOREIGN};
    use crate::lisp::{CallAddress, Error, Failure, Host, Input, Limits, builtins, run};
    use crate::reasons::Reason;
    use crate::value::Value;

    struct NoTools;

    impl Host for NoTools {
        fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
            Err(Failure::Tool(tool.to_owned()))
        }

        fn interrupt(&self) -> Option<Error> {
            None
        }

        fn now_ms(&self) -> i64 {
            0
        }
    }

    #[test]
    fn each_hint_about_an_absent_name_leads_to_a_program_that_works() {
        let limits = Limits::default();
        for absent in ABSENT.iter().chain(FOREIGN) {
            let (program, wanted) = absent.way;
            let got = run(&Input::new(program, &limits), &NoTools).result;
            let got = got.map_or_else(|error| error.message(), |(_, value)| value.to_string());
            assert_eq!(got, wanted, "{:?}: {}: {program}", absent.names, absent.hint);
        }
    }

    #[test]
    fn a_name_with_a_hint_does_not_exist() {
        let limits = Limits::default();
        for name in ABSENT.iter().chain(FOREIGN).flat_map(|absent| absent.names) {
            if builtins::find(name).is_some() {
                continue;
            }
            let source = format!("({name} 1 2)");
            let error = run(&Input::new(&source, &limits), &NoTools).result.expect_err(name);
            assert!(matches!(error.reason, Reason::UnboundVar | Reason::InvalidForm), "{name}: {}", error.message());
        }
    }
}

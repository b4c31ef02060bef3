//! Rejected programs and their messages.

use super::analysed;

#[test]
fn malformed_programs_are_refused_with_their_reason() {
    let cases = [
        ("()", "invalid_form"),
        ("(if)", "invalid_arity"),
        ("(if 1 2 3 4)", "invalid_arity"),
        ("(when)", "invalid_arity"),
        ("(if-let [x])", "invalid_arity"),
        ("(if-let x 1 2)", "invalid_arity"),
        ("(if-some [x 1 y 2] x 0)", "invalid_form"),
        ("(when-let x 1)", "invalid_arity"),
        ("(when-first [x] x)", "invalid_form"),
        ("(cond 1)", "invalid_cond_form"),
        ("(case)", "invalid_form"),
        ("(case 1 [1] 2 3)", "invalid_form"),
        ("(case 'a a 1 2)", "invalid_form"),
        ("(condp)", "invalid_form"),
        ("(condp f 1)", "invalid_form"),
        ("(condp f 1 :d)", "invalid_form"),
        ("(condp f [1] 2 :>> g)", "invalid_form"),
        ("(->)", "invalid_thread_form"),
        ("(-> 1 ())", "invalid_form"),
        ("(as-> 1)", "invalid_thread_form"),
        ("(as-> xs {:keys [a]} a)", "invalid_thread_form"),
        ("(cond-> 1 true)", "invalid_thread_form"),
        ("(some->)", "invalid_thread_form"),
        ("(let)", "invalid_arity"),
        ("(let x 1)", "invalid_form"),
        ("(let [x] x)", "invalid_form"),
        ("(let [1 2] 3)", "unsupported_pattern"),
        ("(let [a/b 1] 1)", "unsupported_pattern"),
        ("(let [{:syms [a]} {}] a)", "unsupported_pattern"),
        ("(let [{a 0} xs] a)", "invalid_form"),
        ("(let [[a & b & c] xs] a)", "invalid_form"),
        ("(let [[a &] xs] a)", "invalid_form"),
        ("(fn)", "invalid_arity"),
        ("(fn 1)", "invalid_form"),
        ("(fn [1] 1)", "unsupported_pattern"),
        ("(fn [x :as y] x)", "unsupported_pattern"),
        ("(fn ([a] a) ([a b] b))", "invalid_form"),
        ("(-> 1 (fn [x] x))", "invalid_form"),
        ("#(f #(g %))", "invalid_form"),
        ("#(f %21)", "invalid_form"),
        ("%", "invalid_placeholder"),
        ("(loop)", "invalid_arity"),
        ("(loop [x] x)", "invalid_form"),
        ("(recur 1)", "invalid_form"),
        ("(loop [i 0] (f (recur 2)))", "invalid_form"),
        ("(loop [i 0] (do (recur 1) 2))", "invalid_form"),
        ("(loop [i 0] (for [x xs] (recur x)))", "invalid_form"),
        ("(for)", "invalid_arity"),
        ("(for [] 1)", "invalid_form"),
        ("(for [x] x)", "invalid_form"),
        ("(for [x 5] x)", "invalid_arity"),
        ("(for [x :a] x)", "invalid_arity"),
        ("(for [x xs])", "invalid_arity"),
        ("(for [:when true] 1)", "invalid_form"),
        ("(for [x xs :until x] 1)", "invalid_form"),
        ("(def)", "invalid_arity"),
        ("(def x)", "invalid_arity"),
        ("(def :k 1)", "invalid_form"),
        ("(def nil 1)", "invalid_form"),
        ("(def data/x 1)", "invalid_form"),
        ("(defonce x)", "invalid_arity"),
        ("(defn f)", "invalid_arity"),
        ("(defn f x)", "invalid_form"),
        ("(defn f \"d\" {:a 1} [x] x)", "invalid_form"),
        ("(defn f ([x] x))", "invalid_form"),
        ("(defn crm/x [] 1)", "invalid_form"),
        ("(return)", "invalid_arity"),
        ("(fail 1 2)", "invalid_arity"),
        ("(task \"t\")", "invalid_arity"),
        ("(step-done)", "invalid_arity"),
        ("(quote (1 2))", "invalid_form"),
        ("{:a 1 :a 2}", "duplicate_key"),
        ("#{[f] (f)}", "duplicate_key"),
        ("#\"(\"", "invalid_form"),
        ("(data/xs 0)", "invalid_form"),
        ("(budget/foo)", "invalid_form"),
        ("(. \"x\" length)", "invalid_form"),
        ("(foo.bar/baz 1)", "invalid_form"),
        ("Math/PI", "invalid_form"),
        ("(tool/nope {})", "unknown_tool"),
        ("(if false (tool/nope) 1)", "unknown_tool"),
        ("nope", "unbound_var"),
        ("#'nope", "unbound_var"),
        ("(f and)", "unbound_var"),
        ("data", "unbound_var"),
        ("#(f %0)", "unbound_var"),
        ("(try 1)", "unbound_var"),
        ("(or (f nope) 1)", "unbound_var"),
    ];
    for (source, reason) in cases {
        let got = analysed(source).err().map(|error| error.reason.name());
        assert_eq!(got, Some(reason), "{source}");
    }
}

#[test]
fn unknown_names_are_reported_together_with_suggestions() {
    let cases = [
        ("(nope-one 1) nope-two", "unknown names `nope-one`, `nope-two`"),
        ("(fitler 1)", "unknown name `fitler`. Did you mean `filter` instead of `fitler`?"),
        ("(let [user-name 1] user_name)", "unknown name `user_name`. Did you mean `user-name` instead of `user_name`?"),
        ("(dotimes [i 3] (f i))", "unknown name `dotimes`. dotimes: use (doseq [i (range n)] …)"),
        ("(f when)", "unknown name `when`. `when` is a special form, not a value; wrap it in (fn […] …)"),
        (
            "(fitler 1) (redcue 2) (f when)",
            "unknown names `fitler`, `redcue`, `when`. Did you mean `filter` instead of `fitler`? Did you mean `reduce` instead of `redcue`? `when` is a special form, not a value; wrap it in (fn […] …)",
        ),
        ("(tool/ecko)", "unknown tool `ecko`. Did you mean tool/echo? Available: tool/echo, tool/get-user"),
        ("(parse-json 1)", "unknown name `parse-json`. parse-json: use (json/parse-string text)"),
    ];
    for (source, expected) in cases {
        let got = analysed(source).err().map(|error| error.message());
        assert_eq!(got.as_deref(), Some(expected), "{source}");
    }
}

/// A program with an unknown name, and what the hint suggests.
#[test]
fn inputs_and_tools_are_suggested_before_builtins() {
    let cases = [
        ("(count rows)", "`data/rows`"),
        ("(count row)", "`data/rows`"),
        ("(* 2 unit-price)", "`data/unit_price`"),
        ("(count data.rows)", "`data/rows`"),
        ("(count inputs/row)", "data/rows?"),
        ("(get_user {})", "`tool/get-user`"),
        ("(get-users {})", "`tool/get-user`"),
        ("(tools/get_user {})", "tool/get-user?"),
        ("(server/get_user {})", "tool/get-user?"),
        ("(functions/other {})", "Available: tool/echo, tool/get-user"),
        ("(count data.rows.total)", "`(get-in data/rows [:total])`"),
        ("(let [user {}] user.name)", "`(:name user)`"),
        ("(let [dates []] (count date))", "`dates`"),
        ("(fitler 1)", "`filter`"),
        ("(json/parse 1)", "Use (json/parse-string text)"),
    ];
    for (source, suggestion) in cases {
        let hint = analysed(source).err().and_then(|error| error.hint).unwrap_or_default();
        assert!(hint.contains(suggestion), "{source}: {hint}");
    }
    let hint = analysed("(count _secrets)").err().and_then(|error| error.hint).unwrap_or_default();
    assert!(!hint.contains("_secret`"), "hidden inputs are not named: {hint}");
}

#[test]
fn errors_have_the_place_of_the_form() {
    let cases = [
        ("(f 1)\n(if)", "(if)"),
        ("[1 nope]", "nope"),
        ("(tool/nope {})", "tool/nope"),
        ("(let [[a & b & c] 1] a)", "[a & b & c]"),
        ("{:a 1 :b 2 :a 3}", ":a"),
        ("(-> 1 f (if))", "(if)"),
    ];
    for (source, place) in cases {
        let span = analysed(source).err().and_then(|error| error.span);
        assert_eq!(span.map(|span| span.text(source)), Some(place), "{source}");
    }
}

//! Names of other languages and libraries that models write, each with a way that exists here.
//!
//! The tests of [`absent`](super::absent), which looks them up, run each way and check that no name exists.

use super::absent::{Absent, absent};

/// The rows, in the order of subjects: JSON, numbers, dates, literals, text, collections, forms, the run.
pub(super) const FOREIGN: &[Absent] = &[
    absent(
        &["parse-json", "json-parse", "json-decode", "from-json", "decode-json", "read-json", "JSON.parse"],
        "Use (json/parse-string text)",
        ("(json/parse-string \"{\\\"a\\\": 1}\")", "{\"a\" 1}"),
    ),
    absent(
        &["json.loads", "json-loads", "json/loads", "json/parse", "json/from-string", "json/parse-json", "JSON/parse"],
        "Use (json/parse-string text)",
        ("(json/parse-string \"{\\\"a\\\": 1}\")", "{\"a\" 1}"),
    ),
    absent(
        &["to-json", "encode-json", "json-stringify", "generate-json", "write-json", "json-dumps", "JSON.stringify"],
        "Use (json/generate-string value)",
        ("(json/generate-string {:a 1})", "\"{\\\"a\\\":1}\""),
    ),
    absent(
        &["json.dumps", "json/dumps", "json/stringify", "json/generate", "json/to-string", "JSON/stringify"],
        "Use (json/generate-string value)",
        ("(json/generate-string {:a 1})", "\"{\\\"a\\\":1}\""),
    ),
    absent(
        &["Integer.", "Long.", "BigInteger.", "parse-number", "to-int", "->int", "to-integer", "to-number", "integer"],
        "Use (parse-long text), or (parse-double text) for a number with a fraction",
        ("(parse-long \"12\")", "12"),
    ),
    absent(
        &["str->int", "string->int", "string->number", "str->num", "string-to-int", "string-to-number", "number"],
        "Use (parse-long text), or (parse-double text) for a number with a fraction",
        ("(parse-long \"12\")", "12"),
    ),
    absent(
        &["Double.", "BigDecimal.", "parse-float", "parseFloat", "to-float", "->float", "to-double", "str->float"],
        "Use (parse-double text)",
        ("(parse-double \"1.5\")", "1.5"),
    ),
    absent(
        &["date", "local-date", "parse-date", "to-date", "str->date", "string->date", "date/parse", "LocalDate."],
        "Use (LocalDate/parse \"2026-01-31\")",
        ("(LocalDate/parse \"2026-01-31\")", "\"2026-01-31\""),
    ),
    absent(
        &["datetime", "parse-datetime", "parse-date-time", "instant", "to-instant", "parse-instant", "timestamp"],
        "Use (Instant/parse \"2026-01-31T10:00:00Z\")",
        ("(Instant/parse \"2026-01-31T10:00:00Z\")", "\"2026-01-31T10:00:00Z\""),
    ),
    absent(
        &["now", "today", "current-date", "current-timestamp", "date/now", "date/today", "time/now", "t/now"],
        "Use (LocalDate/now) or (Instant/now)",
        ("(LocalDate/now)", "\"1970-01-01\""),
    ),
    absent(
        &["date-diff", "days-between", "date/diff"],
        "Use (.between ChronoUnit/DAYS start end)",
        ("(.between ChronoUnit/DAYS (LocalDate/of 2026 1 1) (LocalDate/of 2026 1 2))", "1"),
    ),
    absent(&["null", "NULL", "None", "undefined"], "Write nil", ("nil", "nil")),
    absent(&["True", "TRUE"], "Write true", ("true", "true")),
    absent(&["False", "FALSE"], "Write false", ("false", "false")),
    absent(&["!=", "<>", "/="], "Use (not= a b)", ("(not= 1 2)", "true")),
    absent(&["&&"], "Use (and a b)", ("(and 1 2)", "2")),
    absent(&["!"], "Use (not x)", ("(not nil)", "true")),
    absent(&["**", "expt", "power"], "Use (pow x y)", ("(pow 2 3)", "8.0")),
    absent(
        &["inc!", "dec!", "+=", "-=", "++"],
        "Use (inc x) or (+ x n) and bind the result with let: values do not change",
        ("(let [n 1 n (inc n)] n)", "2"),
    ),
    absent(
        &["round-to", "round2", "to-fixed", "toFixed"],
        "Use (/ (round (* 100 x)) 100.0) for a number, (format \"%.2f\" x) for text",
        ("(/ (round (* 100 1.234)) 100.0)", "1.23"),
    ),
    absent(&["average", "mean"], "Use (avg numbers) or (avg-by key coll)", ("(avg [1 2])", "1.5")),
    absent(&["log"], "Use (println x) to print, (Math/log x) for the logarithm", ("(Math/log 1)", "0.0")),
    absent(&["console.log", "puts", "display", "pprint"], "Use (println x)", ("(println 1)", "nil")),
    absent(
        &["sprintf", "format-string", "string-format", "fmt"],
        "Use (format \"%.2f\" x)",
        ("(format \"%.2f\" 1.5)", "\"1.50\""),
    ),
    absent(&["length", "size"], "Use (count coll)", ("(count [1 2])", "2")),
    absent(
        &["str/length", "str/size", "str/count", "string-length", "str-length", "strlen"],
        "Use (count text)",
        ("(count \"ab\")", "2"),
    ),
    absent(
        &["push", "append", "add", "list-append", "push!", "append!"],
        "Use (conj coll x), or (into coll more) for several",
        ("(conj [1] 2)", "[1 2]"),
    ),
    absent(&["in?", "member", "member?", "has-value?"], "Use (some #{x} coll)", ("(some #{2} [1 2])", "2")),
    absent(
        &["contains", "has-key?", "has-key", "contains-key?", "key-exists?"],
        "Use (contains? m key), or (some #{x} coll) for an item of a list",
        ("(contains? {:a 1} :a)", "true"),
    ),
    absent(
        &["to-string", "toString", "string", "stringify", "->string", "to-str", "string-append", "str-concat"],
        "Use (str a b)",
        ("(str 1 \"a\")", "\"1a\""),
    ),
    absent(
        &["string-join", "str-join", "join-strings", "join-str"],
        "Use (str/join separator coll)",
        ("(str/join \", \" [1 2])", "\"1, 2\""),
    ),
    absent(
        &["string-split", "str-split", "split-string", "split-str"],
        "Use (str/split text separator)",
        ("(str/split \"a,b\" \",\")", "[\"a\" \"b\"]"),
    ),
    absent(
        &["str-replace", "string-replace", "re-replace", "regex-replace", "replace-all", "str/replace-all", "str/gsub"],
        "Use (str/replace text pattern replacement)",
        ("(str/replace \"aa\" \"a\" \"b\")", "\"bb\""),
    ),
    absent(
        &["substr", "substring", "slice", "str/substring", "str/substr", "str/slice"],
        "Use (subs text start end)",
        ("(subs \"hello\" 1 3)", "\"el\""),
    ),
    absent(
        &["to-upper", "to-upper-case", "upper", "str/upper", "str/to-upper", "str/uppercase"],
        "Use (str/upper-case text)",
        ("(str/upper-case \"a\")", "\"A\""),
    ),
    absent(
        &["to-lower", "to-lower-case", "lower", "str/lower", "str/to-lower", "str/lowercase"],
        "Use (str/lower-case text)",
        ("(str/lower-case \"A\")", "\"a\""),
    ),
    absent(&["strip", "str-trim", "str/strip"], "Use (str/trim text)", ("(str/trim \" a \")", "\"a\"")),
    absent(
        &["str/contains?", "str/contains", "str/includes", "str-contains?", "string-contains?", "str-includes?"],
        "Use (str/includes? text part)",
        ("(str/includes? \"abc\" \"b\")", "true"),
    ),
    absent(
        &["regex-match", "regex-find", "re-search", "regex-search", "re.search", "re.match"],
        "Use (re-find #\"…\" text)",
        ("(re-find #\"[0-9]+\" \"a12\")", "\"12\""),
    ),
    absent(
        &["re-find-all", "regex-find-all", "find-all", "findall", "re.findall", "re-scan"],
        "Use (re-seq #\"…\" text)",
        ("(re-seq #\"[0-9]\" \"a12\")", "[\"1\" \"2\"]"),
    ),
    absent(&["uniq", "unique"], "Use (distinct coll) or (distinct-by key coll)", ("(distinct [1 1])", "[1]")),
    absent(
        &["foreach", "for-each", "each", "dolist"],
        "Use (doseq [x coll] …) for effects, (map f coll) for values",
        ("(map inc [1])", "[2]"),
    ),
    absent(&["lambda", "function"], "Use (fn [x] …) or #(… %)", ("((fn [x] (inc x)) 1)", "2")),
    absent(
        &["define", "defun", "setq", "defvar", "defparameter", "const"],
        "Use (def name value) or (defn name [x] …)",
        ("(def limit 5) limit", "5"),
    ),
    absent(&["progn", "begin"], "Use (do …)", ("(do 1 2)", "2")),
    absent(&["car", "head"], "Use (first coll)", ("(first [1 2])", "1")),
    absent(&["cdr", "tail"], "Use (rest coll)", ("(rest [1 2])", "[2]")),
    absent(
        &["foldl", "foldr", "fold", "fold-left", "accumulate"],
        "Use (reduce f init coll)",
        ("(reduce + 0 [1 2])", "3"),
    ),
    absent(
        &["elif", "elsif", "else", "else-if", "switch", "match"],
        "Use (cond test value … :else value), or (case x 1 value default)",
        ("(cond false 1 :else 2)", "2"),
    ),
    absent(&["null?", "nullp", "is-null", "is-nil?", "none?", "isNil"], "Use (nil? x)", ("(nil? nil)", "true")),
    absent(&["any?", "any", "exists?"], "Use (some pred coll)", ("(some odd? [1])", "true")),
    absent(&["all?", "all", "every"], "Use (every? pred coll)", ("(every? odd? [1])", "true")),
    absent(
        &["flat-map", "flatmap", "flatMap", "map-cat"],
        "Use (mapcat f coll)",
        ("(mapcat (fn [x] [x x]) [1])", "[1 1]"),
    ),
    absent(
        &["enumerate", "zip-with-index", "map-with-index", "each-with-index"],
        "Use (map-indexed (fn [i x] …) coll)",
        ("(map-indexed (fn [i x] [i x]) [:a])", "[[0 :a]]"),
    ),
    absent(
        &["sort-desc", "sort-by-desc", "sort-descending", "order-by"],
        "Use (sort-by key > coll) or (sort > coll)",
        ("(sort > [1 2])", "[2 1]"),
    ),
    absent(
        &["index-by", "key-by", "keyBy"],
        "Use (into {} (map (fn [x] [(:id x) x]) coll))",
        ("(into {} (map (fn [x] [(:id x) x]) [{:id 1}]))", "{1 {:id 1}}"),
    ),
    absent(
        &["count-by", "countBy", "tally"],
        "Use (frequencies (map f coll))",
        ("(frequencies (map odd? [1 3]))", "{true 2}"),
    ),
    absent(&["find-first", "first-where"], "Use (first (filter pred coll))", ("(first (filter odd? [2 3]))", "3")),
    absent(&["raise", "error", "panic"], "Use (fail {:reason … :message …})", ("(fail \"no rows\")", "\"no rows\"")),
    absent(&["exit", "finish", "final-answer", "submit"], "Use (return value)", ("(return 1)", "1")),
    absent(
        &["fetch", "http-get", "curl"],
        "Programs have no network: call a tool, (tool/name {…})",
        ("(map inc [1])", "[2]"),
    ),
];

//! Tests of the legacy dialect: programs and their translations.

use super::*;
use crate::lisp::read::{Budget, read};

fn tool(name: &str, signature: Option<&str>) -> ToolInfo {
    ToolInfo { name: name.into(), signature: signature.map(Into::into), description: None }
}

/// Translates with the tools search, fetch and log, the inputs query, user and search-terms, and `total` in memory.
fn translated(source: &str) -> Result<Translation, Error> {
    let tools = [tool("search", None), tool("fetch", Some("(url :string, depth :int?) -> :any")), tool("log", None)];
    let names = LegacyNames {
        tools: &tools,
        input: &|name| ["query", "user", "search-terms"].contains(&name),
        memory: &|name| name == "total",
        language: &|name| ["map", "filter", "count", "let", "fn", "or", "def", "do", "str", "="].contains(&name),
    };
    translate(&read(source, Budget::default())?, names)
}

fn text(forms: &[Form]) -> String {
    forms.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn one(form: &Form) -> String {
    match &form.shape {
        Shape::Literal(value) => value.to_string(),
        Shape::Symbol(name) => name.name().to_owned(),
        Shape::Regex(source) => source.to_string(),
        Shape::Quoted(name) => format!("'{}", name.name()),
        Shape::Var(name) => format!("#'{}", name.name()),
        Shape::List(forms) => format!("({})", text(forms)),
        Shape::Vector(forms) => format!("[{}]", text(forms)),
        Shape::Map(forms) => format!("{{{}}}", text(forms)),
        Shape::Set(forms) => format!("#{{{}}}", text(forms)),
        Shape::Short(forms) => format!("#({})", text(forms)),
    }
}

fn becomes(table: &[(&str, &str)]) {
    for (source, expected) in table {
        let translation = translated(source).map_err(|error| error.message());
        assert_eq!(translation.map(|translation| text(&translation.forms)), Ok((*expected).into()), "{source}");
    }
}

#[test]
fn shipped_forms_become_modern_ones() {
    let table = [
        ("(call \"search\")", "(tool/search)"),
        ("(call \"search\" {:q ctx/query})", "(tool/search {:q data/query})"),
        ("(->> {:q 1} (call \"search\"))", "(->> {:q 1} (tool/search))"),
        ("(ctx/search {:q 1})", "(tool/search {:q 1})"),
        ("#(ctx/search {:q %})", "#(tool/search {:q %})"),
        ("[ctx/query ctx/fail ctx/last-result ctx/missing]", "[data/query data/fail *1 data/missing]"),
        ("(map ctx/search [{}])", "(map tool/search [{}])"),
        ("(count ctx/last-result)", "(count *1)"),
        ("(ctx/last-result)", "(*1)"),
        ("memory/total", "#'total"),
        ("memory/other", "(or other nil)"),
        ("memory/count", "nil"),
        ("(memory/get :total)", "#'total"),
        ("(memory/get :other)", "(or other nil)"),
        ("(memory/put :k (call \"log\"))", "(do (def k (tool/log)) #'k)"),
        ("(do (memory/put :count 1) memory/count)", "(do (do (def count 1) #'count) (or count nil))"),
        ("(pluck :name data/xs)", "(map :name data/xs)"),
        ("(->> data/xs (pluck :name))", "(->> data/xs (map :name))"),
        ("(comment (call 1) ctx/a)", "(comment (call 1) ctx/a)"),
        ("'ctx/a", "'ctx/a"),
        ("\"(call 1)\"", "\"(call 1)\""),
        ("(memory/get k)", "(memory/get k)"),
    ];
    becomes(&table);
}

#[test]
fn names_that_the_program_binds_are_its_own() {
    let table = [
        ("(let [call str] (call \"search\"))", "(let [call str] (call \"search\"))"),
        ("(defn where [x] x) (where 1)", "(defn where [x] x) (where 1)"),
        ("(fn [{:keys [query] search :s}] (search query))", "(fn [{:keys [query] search :s}] (search query))"),
        ("(for [x [1] :let [user x]] user)", "(for [x [1] :let [user x]] user)"),
    ];
    becomes(&table);
}

#[test]
fn bare_tools_and_inputs_are_understood() {
    let table = [
        ("(search query)", "(tool/search {:query data/query})"),
        ("(search {:q query})", "(tool/search {:q data/query})"),
        ("(search :q query)", "(tool/search :q data/query)"),
        ("(search)", "(tool/search)"),
        ("(fetch \"http://a\" 2)", "(tool/fetch {:url \"http://a\" :depth 2})"),
        ("(fetch query)", "(tool/fetch {:url data/query})"),
        ("(let [depth 1] (fetch query depth))", "(let [depth 1] (tool/fetch {:url data/query :depth depth}))"),
        ("(search \"text\")", "(tool/search \"text\")"),
        ("(str user total unknown)", "(str data/user total unknown)"),
    ];
    becomes(&table);
}

#[test]
fn predicates_become_functions() {
    let start = "(let [field′ :status b′ \"open\" plain′ (fn [x′]";
    let found = translated("(where :status = \"open\")").map(|it| text(&it.forms)).unwrap_or_default();
    assert!(found.starts_with(start), "{found}");
    becomes(&[
        ("(where [:a :b])", "(let [field′ [:a :b]] (fn [row′] (core/boolean (core/get row′ field′))))"),
        ("(all-of)", "((fn [& tests′] (fn [row′] (core/every? (fn [test′] (test′ row′)) tests′))))"),
        ("(pluck \"n\" xs)", "(map (let [field′ \"n\"] (fn [row′] (core/get row′ field′))) xs)"),
    ]);
}

#[test]
fn old_forms_that_never_worked_fail() {
    let reason = |source: &str| translated(source).map(|_| ()).map_err(|error| error.reason);
    for source in ["(call search)", "(call :search)", "(call)", "(call (str \"a\") {})"] {
        assert_eq!(reason(source), Err(Reason::TypeError), "{source}");
    }
    assert_eq!(reason("(where :a ~= 1)"), Err(Reason::ParseError));
    assert_eq!(reason("(where :a like 1)"), Err(Reason::InvalidForm));
    assert_eq!(reason("(where)"), Err(Reason::InvalidArity));
    assert_eq!(reason("(where :a =)"), Err(Reason::InvalidArity));
}

#[test]
fn hints_name_the_modern_form_once() {
    let source = "(call \"search\") (call \"search\") ctx/query";
    let hints = translated(source).map(|it| it.hints).unwrap_or_default();
    let shown: Vec<_> = hints.iter().map(|hint| (hint.span.text(source), hint.text.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("(call \"search\")", "`(call \"search\" …)` is written `(tool/search …)` now"),
            ("ctx/query", "`ctx/query` is written `data/query` now"),
        ]
    );
}

#[test]
fn use_of_shipped_forms_is_noticed() {
    let uses = |source: &str| uses(&read(source, Budget::default()).unwrap_or_default());
    for source in ["(call \"a\")", "[{:a ctx/b}]", "#(memory/get :k)", "(filter (where :a) xs)", "(map pluck xs)"] {
        assert!(uses(source), "{source}");
    }
    for source in ["(tool/a)", "(search query)", "'ctx/b", "\"ctx/b\"", "(comment ctx/a)", ":where"] {
        assert!(!uses(source), "{source}");
    }
}

//! `(tool/try …)`: what a tool fails with as a value of the program.

use super::ptc::{agent, p, ran};
use super::{recorded_script, run};

const LOOKUP: &str = "max_turns = 1\n[tools.find]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\n\
                      rows = [{ args = { id = 1 }, result = { name = \"Ada\" } }, { args = { id = 2 }, error = \"not there\" }]\n";

#[tokio::test]
async fn what_a_tool_fails_with_may_be_a_value() {
    let (ran, _) = ran(LOOKUP, "{}", &[&p("(return (mapv (fn [id] (tool/try (tool/find {:id id}))) [1 2]))")]).await;
    assert_eq!(
        ran.outcome(),
        r#"[{"ok":{"name":"Ada"}},{"error":{"message":"not there","tool":"find"}}]"#,
        "{:?}",
        ran.step.fail
    );
    assert_eq!(ran.step.calls.iter().filter(|call| call.error.is_some()).count(), 1, "the record keeps the failure");
}

#[tokio::test]
async fn only_what_a_tool_answers_is_caught() {
    for (program, outcome) in [
        ("(tool/try (+ 1 2))", "invalid_form"),
        ("(tool/try (:name (tool/find {:id 2})))", "invalid_form"),
        ("(tool/try (tool/find {:id (+ 1 \"a\")}))", "type_error"),
        ("(tool/try (tool/find {:id (:name (tool/find {:id 2}))}))", "tool_error"),
        ("(tool/try (tool/find {:id \"x\"}))", "invalid_tool_args"),
        ("(tool/try (tool/fnd {:id 1}))", "unknown_tool"),
        ("(tool/try (tool/find {:id (fail \"no\")}))", "failed"),
        ("(tool/try)", "invalid_arity"),
        ("(return (-> {:id 2} tool/find (tool/try)))", r#"{"error":{"message":"not there","tool":"find"}}"#),
    ] {
        let (ran, _) = ran(LOOKUP, "{}", &[&p(program)]).await;
        let ended = if ran.step.is_ok() { ran.outcome() } else { ran.turns()[0].clone() };
        assert_eq!(ended, outcome, "{program}");
    }
    let own = LOOKUP.replace("[tools.find]", "[tools.try]");
    assert_eq!(ran(&own, "{}", &[&p("(return (tool/try {:id 1}))")]).await.0.outcome(), r#"{"name":"Ada"}"#);
}

#[tokio::test]
async fn the_prompt_shows_of_errors_as_values_only_where_it_is_asked_to() {
    for (key, shown) in [("", false), ("tool_try = true\n", true)] {
        let (model, requests) = recorded_script(&[&p("1")]);
        run(&agent(&format!("{key}{LOOKUP}")), "{}", &model).await;
        let system = requests.lock().unwrap()[0].system.clone().unwrap_or_default();
        assert_eq!(system.contains("(tool/try (tool/name {…}))"), shown, "{key}");
    }
}

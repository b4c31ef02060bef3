//! The native transport: what the result of a `lisp_eval` call holds, member by member.

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use ptc_workbench::event::Role;
use ptc_workbench::model::Reply;

use super::*;

fn eval(program: &str) -> Reply {
    Reply::calling([("lisp_eval", format!("{{\"program\":{program:?}}}"))])
}

/// The results of the calls of a run.
async fn results(toml: &str, replies: Vec<Reply>) -> (Ran, Vec<Json>) {
    let (model, _) = recorded_replies(replies);
    let turns = if toml.contains("max_turns") { "" } else { "max_turns = 9\n" };
    let agent = Agent::from_toml(&format!("prompt = \"go\"\ntransport = \"tool_call\"\n{turns}{toml}"), "native.toml");
    let ran = run(&agent.unwrap_or_else(|error| panic!("{error}")), "{}", &model).await;
    replays(&ran.events).await;
    let of_tools = ran.step.messages.iter().filter(|message| message.role == Role::Tool);
    let results = of_tools.map(|message| parsed(&message.text())).collect();
    (ran, results)
}

fn names(result: &Json) -> Vec<&str> {
    result.members().unwrap().iter().map(|member| member.key.as_str()).collect()
}

fn at(result: &Json, path: &str) -> String {
    result.at(path).map(Json::to_text).unwrap_or_default()
}

#[tokio::test]
async fn a_result_says_value_prints_and_definitions() {
    for mode in ["mode = \"ptc_lisp\"", "mode = \"text\""] {
        let long = format!("(def long (apply str (repeat 900 \"x\"))) (def n {})", 8);
        let done = if mode.contains("text") { Reply::from("done") } else { eval("(return 1)") };
        let replies = vec![eval("(def a 2) (println \"hello\") (+ a 1)"), eval(&long), eval("nil"), done];
        let (ran, results) = results(mode, replies).await;
        assert!(ran.step.fail.is_none(), "{:?}", ran.step.fail);
        assert_eq!(names(&results[0]), ["status", "result", "prints", "feedback", "truncated", "memory"], "{mode}");
        assert_eq!(at(&results[0], "status"), "\"ok\"");
        assert_eq!(at(&results[0], "result"), "\"user=> 3\"");
        assert_eq!(at(&results[0], "prints"), "[\"hello\"]");
        assert_eq!(at(&results[0], "memory"), r#"{"changed":{"a":"2"},"stored_keys":["a"],"truncated":false}"#);
        assert_eq!(at(&results[1], "memory.truncated"), "true");
        assert_eq!(at(&results[1], "memory.stored_keys"), r#"["a","long","n"]"#);
        assert_eq!(at(&results[1], "memory.changed.n"), "\"8\"");
        // A var and nil are no results, and nothing new was defined.
        assert_eq!(names(&results[1])[..2], ["status", "prints"]);
        assert_eq!(at(&results[2], "memory.changed"), "{}");
    }
}

#[tokio::test]
async fn an_error_says_its_reason_and_only_a_failure_has_a_result() {
    let replies = vec![
        eval("(println \"before\") (/ 1 0)"),
        eval("(foo"),
        eval("(fail {:message \"no\" :code 7})"),
        Reply::calling([("lisp_eval", "{\"code\":1}")]),
        Reply::from("done"),
    ];
    let (_, results) = results("mode = \"text\"", replies).await;
    assert_eq!(names(&results[0]), ["status", "reason", "message", "prints", "feedback", "truncated"]);
    assert_eq!(
        (at(&results[0], "reason"), at(&results[0], "prints")),
        ("\"runtime_error\"".into(), "[\"before\"]".into())
    );
    assert_eq!(at(&results[1], "reason"), "\"parse_error\"");
    assert_eq!(names(&results[1]), ["status", "reason", "message", "feedback", "truncated"]);
    assert_eq!((at(&results[2], "reason"), at(&results[2], "message")), ("\"fail\"".into(), "\"no\"".into()));
    assert!(at(&results[2], "result").contains("user=> "), "{}", results[2].to_text());
    assert_eq!(at(&results[3], "reason"), "\"args_error\"");
    assert_eq!(names(&results[3]), ["status", "reason", "message", "feedback", "truncated"]);
}

#[tokio::test]
async fn an_invalid_return_is_a_validation_error() {
    let (ran, results) = results(
        "mode = \"ptc_lisp\"\nsignature = \"{n :int}\"",
        vec![eval("(return {:n \"x\"})"), eval("(return {:n 1})")],
    )
    .await;
    assert_eq!(ran.outcome(), r#"{"n":1}"#);
    assert_eq!(at(&results[0], "reason"), "\"validation_error\"");
    assert!(at(&results[0], "feedback").contains("Expected"), "{}", results[0].to_text());
}

/// The last message of each request.
fn last_messages(requests: &[Request]) -> Vec<String> {
    requests.iter().filter_map(|request| request.messages.last()).map(|message| message.joined()).collect()
}

#[tokio::test]
async fn a_reply_without_a_program_is_asked_to_call() {
    let blocks = "```clojure\n(return 1)\n```\n```clojure\n(return 2)\n```";
    for reply in ["", " \n", "```clojure\n(return 1)\n```", blocks] {
        let (model, requests) = recorded_replies(vec![Reply::from(reply), eval("(return 7)")]);
        let toml = "mode = \"ptc_lisp\"\nprompt = \"go\"\ntransport = \"tool_call\"\nmax_turns = 3";
        let ran = run(&Agent::from_toml(toml, "native.toml").unwrap(), "{}", &model).await;
        replays(&ran.events).await;
        assert_eq!(ran.turns(), ["no_code_found", "ok"], "{reply}");
        let shown = &last_messages(&requests.lock().unwrap())[1];
        assert!(shown.contains("call the tool lisp_eval") && !shown.contains("fenced block"), "{reply}: {shown}");
        let text = ran.step.turns[0].error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
        assert!(!text.contains("fenced block"), "{text}");
    }
}

#[tokio::test]
async fn a_point_in_time_may_be_the_answer_as_it_is() {
    let toml = "mode = \"ptc_lisp\"\nsignature = \":datetime\"";
    for reply in ["2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\"", " 2024-01-01T02:00:00+02:00\n"] {
        let (ran, _) = results(toml, vec![Reply::from(reply)]).await;
        assert_eq!(ran.outcome(), "\"2024-01-01T00:00:00Z\"", "{reply}: {:?}", ran.step.fail);
        assert_eq!(ran.turns(), ["ok"], "{reply}");
    }
    let (ran, _) = results(toml, vec![Reply::from("on Monday"), Reply::from("2024-01-01T00:00:00Z")]).await;
    assert_eq!(ran.turns(), ["json_parse_error", "ok"]);
}

#[tokio::test]
async fn the_card_of_combined_mode_says_that_the_run_continues() {
    let toml = "prompt = \"go\"\ntransport = \"tool_call\"\nmax_turns = 3\nmode = ";
    for (mode, reply) in [("\"text\"", Reply::from("done")), ("\"ptc_lisp\"", eval("(return 1)"))] {
        let (model, requests) = recorded_replies(vec![reply]);
        let agent = Agent::from_toml(&format!("{toml}{mode}"), "native.toml").unwrap();
        run(&agent, "{}", &model).await;
        let system = requests.lock().unwrap()[0].system.clone().unwrap();
        let ends = system.contains("ends the run") || system.contains("Ends the whole run");
        assert_eq!(ends, mode.contains("ptc_lisp"), "{system}");
        assert_eq!(system.contains("The run continues."), mode.contains("text"), "{system}");
    }
}

#[tokio::test]
async fn the_advice_about_arguments_holds_for_calls_as_well() {
    let toml = "mode = \"text\"\nprompt = \"go\"\nmax_turns = 3\n[tools.search]\nkind = \"table\"\n\
                signature = \"(q :string) -> :any\"\ndefault = 1\n";
    let replies = vec![Reply::calling([("search", "{\"x\":[]}".to_owned())]), Reply::from("done")];
    let (model, _) = recorded_replies(replies);
    let ran = run(&Agent::from_toml(toml, "native.toml").unwrap(), "{}", &model).await;
    let error = ran.step.calls[0].error.clone().unwrap();
    assert_eq!(error.reason, "invalid_tool_args");
    assert!(error.hint.unwrap().contains("an object in a call"));
}

#[tokio::test]
async fn what_return_does_is_reported_as_it_is_in_the_mode() {
    for (mode, ends) in [("ptc_lisp", "Ends the whole run"), ("text", "the run continues")] {
        let asked = "(doc return) (doc fail) (println (:description (meta return))) (println (apropos \"return\"))";
        let done = if mode == "text" { Reply::from("done") } else { eval("(return 1)") };
        let (ran, results) = results(&format!("mode = \"{mode}\""), vec![eval(asked), done]).await;
        assert!(ran.step.fail.is_none(), "{:?}", ran.step.fail);
        let prints = results[0].get("prints").and_then(Json::items).unwrap();
        assert_eq!(prints.len(), 4);
        for print in prints {
            let others = if mode == "text" { "Ends the whole run" } else { "the run continues" };
            let text = print.as_str().unwrap();
            assert!(text.contains(ends) && !text.contains(others), "{mode}: {text}");
        }
    }
}

#[tokio::test]
async fn an_exported_step_names_the_kind_of_its_turns_and_the_ids_of_its_calls() {
    let (ran, _) = results("mode = \"ptc_lisp\"\nretry_turns = 1\nmax_turns = 2", vec![eval("1")]).await;
    let step = to_json(&ptc_workbench::export::step(&ran.step));
    let turns = step.get("turns").and_then(Json::items).unwrap();
    let kinds: Vec<String> = turns.iter().map(|turn| at(turn, "type")).collect();
    assert_eq!(kinds, ["\"normal\"", "\"must_return\"", "\"retry\""]);
    let sent = turns[1].get("messages").and_then(Json::items).unwrap();
    let (called, answered) = (&sent[1], &sent[2]);
    let call = called.get("tool_calls").and_then(Json::items).unwrap();
    assert_eq!(call.len(), 1);
    assert_eq!(names(&call[0]), ["id", "name", "arguments"]);
    assert_eq!(
        (at(&call[0], "name"), at(&call[0], "arguments")),
        ("\"lisp_eval\"".into(), r#"{"program":"1"}"#.into())
    );
    assert!(at(&call[0], "id").len() > 2 && at(&call[0], "id") == at(answered, "tool_call_id"));
    assert_eq!(names(&sent[0]), ["role", "content"], "without a call there is no field for it");

    let (ran, _) = results("mode = \"text\"", vec![Reply::calling([("nothing", "[1")]), Reply::from("done")]).await;
    let step = to_json(&ptc_workbench::export::step(&ran.step));
    let turns = step.get("turns").and_then(Json::items).unwrap();
    assert_eq!(at(&turns[0], "type"), "", "the mode knows no kinds");
    assert_eq!(
        at(&turns[1].get("messages").and_then(Json::items).unwrap()[1], "tool_calls.0.arguments"),
        "{}",
        "as it was sent"
    );
}

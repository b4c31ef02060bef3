//! Questions and requests of servers during a call: answered by the user, declined without one, recorded and replayed.

use std::io::Write as _;
use std::process::Stdio;

use ptc_workbench::event::{Answerer, Event, QuestionKind};
use serde_json::{Value, json};

use super::agent;
use super::mcp::{CALL, READ, answer, server};
use crate::cli::program::{Done, Program, read_until};

/// A server that makes this request during a call, keeps the reply in the file `reply`, and answers.
fn asking(program: &Program, method: &str, params: &Value) {
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": method, "params": params});
    let call = format!(
        "call=$id\nprintf '%s\\n' '{request}'\nread -r line\nprintf '%s\\n' \"$line\" >> reply\nid=$call\n{}",
        answer(r#"{"content":[{"type":"text","text":"done"}]}"#)
    );
    server(program, "", READ, &call);
}

fn ran(program: &Program, stdin: &str) -> Done {
    program.file("a.toml", agent(CALL, "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    program.fed(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"], stdin)
}

/// The last reply of the client.
fn reply(program: &Program) -> Value {
    let text = std::fs::read_to_string(program.dir().join("reply")).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// The questions of a server in the session, and who answered with what.
fn recorded(program: &Program) -> Vec<(String, Answerer, Value)> {
    let session = program.session();
    let events: Vec<_> = session.events().collect();
    let asked = events.iter().filter_map(|envelope| match &envelope.event {
        Event::QuestionAsked(asked) if asked.kind == QuestionKind::Elicit => {
            Some((envelope.address.clone(), asked.text.clone()))
        }
        _ => None,
    });
    let answered = asked.map(|(address, text)| {
        let given = events.iter().find_map(|envelope| match &envelope.event {
            Event::AnswerGiven(given) if envelope.address == address => Some(given.clone()),
            _ => None,
        });
        let given = given.unwrap();
        (text, given.by, serde_json::from_str(given.value.as_str()).unwrap())
    });
    answered.collect()
}

fn form(properties: &Value, required: &[&str]) -> Value {
    json!({"message": "Which colour?", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
}

#[test]
fn a_question_of_a_server_is_answered_by_the_user_and_replayed_without_a_server() {
    let program = Program::new();
    let colour = json!({"colour": {"type": "string", "enum": ["red", "blue"], "description": "for the car"}});
    asking(&program, "elicitation/create", &form(&colour, &["colour"]));
    let done = ran(&program, "blue\n");
    assert_eq!(done.exits(0).json()["return"], "done");
    for words in ["The server files asks", "Which colour?", "colour (string: red | blue) — for the car"] {
        assert_eq!(done.stderr.matches(words).count(), 1, "{words}: {}", done.stderr);
    }
    assert_eq!(reply(&program)["result"], json!({"action": "accept", "content": {"colour": "blue"}}));
    let recorded = recorded(&program);
    assert_eq!(recorded.len(), 1);
    assert!(recorded[0].0.contains("Which colour?") && recorded[0].1 == Answerer::User, "{recorded:?}");
    assert_eq!(recorded[0].2, "blue");
    std::fs::remove_file(program.dir().join("server.sh")).unwrap();
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["sessions", "verify", "last"]).exits(0);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    let program = Program::new();
    let fields = json!({"name": {"type": "string"}, "age": {"type": "integer"}});
    asking(&program, "elicitation/create", &form(&fields, &["name", "age"]));
    let done = ran(&program, "Ada, 36\n.\n{\"name\": \"Ada\", \"age\": 36}\n.\n");
    done.exits(0).reports("The answer does not fit: it is not JSON");
    assert_eq!(reply(&program)["result"]["content"], json!({"name": "Ada", "age": 36}));
    assert_eq!(recorded(&program).len(), 2);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_question_that_no_user_answers_is_declined_and_the_run_does_not_wait() {
    let program = Program::new();
    asking(&program, "elicitation/create", &form(&json!({"colour": {"type": "string"}}), &["colour"]));
    let done = ran(&program, "");
    done.exits(0).reports("the question of the server files was declined: no user is present");
    assert_eq!(reply(&program)["result"], json!({"action": "decline"}));
    assert_eq!(recorded(&program)[0].1, Answerer::Default);
    program.run(["replay", "last", "--check"]).exits(0);
    for (answer, action) in [("decline", "decline"), ("cancel", "cancel")] {
        let program = Program::new();
        asking(&program, "elicitation/create", &form(&json!({"sure": {"type": "boolean"}}), &["sure"]));
        ran(&program, &format!("{answer}\n")).exits(0);
        assert_eq!(reply(&program)["result"], json!({"action": action}));
    }
}

#[test]
fn a_run_that_was_killed_during_a_question_is_resumed_and_replayed() {
    let program = Program::new();
    asking(&program, "elicitation/create", &form(&json!({"colour": {"type": "string"}}), &["colour"]));
    program.file("a.toml", agent(CALL, "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    let kill_when_asked = |arguments: &[&str], stdin: &str| {
        let arguments = ["--config", "config.toml", "--allow-tools"].iter().chain(arguments);
        let mut child = program.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(stdin.as_bytes()).unwrap();
        read_until(child.stderr.as_mut().unwrap(), "[your reply for");
        child.kill().unwrap();
        child.wait().unwrap();
        program.run(["replay", "last", "--check"]).exits(0);
    };
    // Killed twice: the question of each attempt is recorded.
    kill_when_asked(&["run", "a.toml"], "");
    kill_when_asked(&["resume", "last"], "repeat\n");
    let arguments = ["--config", "config.toml", "--allow-tools", "resume", "last", "--json"];
    let done = program.fed(arguments, "blue\n.\n");
    assert_eq!(done.exits(0).json()["return"], "done");
    assert_eq!(reply(&program)["result"]["content"], json!({"colour": "blue"}));
    let answers: Vec<Answerer> = recorded(&program).into_iter().map(|(_, by, _)| by).collect();
    assert_eq!(answers, [Answerer::Default, Answerer::Default, Answerer::User]);
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["sessions", "verify", "last"]).exits(0);
}

#[test]
fn a_page_of_a_server_is_named_and_never_opened() {
    let program = Program::new().with_env("BROWSER", "touch opened");
    let params = json!({"mode": "url", "message": "Pay first", "url": "https://pay.example/1", "elicitationId": "e1"});
    asking(&program, "elicitation/create", &params);
    let done = ran(&program, "accept\n");
    done.exits(0).reports("https://pay.example/1");
    assert_eq!(reply(&program)["result"], json!({"action": "accept"}));
    assert!(!program.dir().join("opened").exists());
}

#[test]
fn a_request_for_a_models_reply_is_refused_with_its_reason() {
    let program = Program::new();
    let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5});
    asking(&program, "sampling/createMessage", &params);
    ran(&program, "").exits(0).reports("asked for a reply of a model (sampling), which was refused");
    let refused = reply(&program)["error"].clone();
    assert_eq!(refused["code"], -32601);
    assert!(refused["message"].as_str().unwrap().contains("gives this server no replies of its models"), "{refused}");
}

#[test]
fn a_call_that_needs_input_is_repeated_with_the_answers() {
    let program = Program::new();
    let question =
        json!({"method": "elicitation/create", "params": form(&json!({"colour": {"type": "string"}}), &["colour"])});
    let needs = json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "state-1"});
    let done = answer(r#"{"content":[{"type":"text","text":"done"}]}"#);
    let call = format!("if [ $(wc -l < calls) -lt 2 ]; then\n{}\nelse\n{done}\nfi", answer(&needs.to_string()));
    server(&program, "", READ, &call);
    let ran = ran(&program, "blue\n.\n");
    assert_eq!(ran.exits(0).json()["return"], "done");
    let calls = std::fs::read_to_string(program.dir().join("calls")).unwrap();
    let second: Value = serde_json::from_str(calls.lines().nth(1).unwrap()).unwrap();
    let params = &second["params"];
    assert_eq!(params["inputResponses"]["q"], json!({"action": "accept", "content": {"colour": "blue"}}), "{second}");
    assert_eq!(params["requestState"], "state-1");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_result_that_breaks_its_promise_is_reported_and_used() {
    let mut tool: Value = serde_json::from_str(READ).unwrap();
    tool["outputSchema"] = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for (result, problem) in [
        (
            r#"{"content":[],"structuredContent":{"n":"three"}}"#,
            "the result of the tool read-file does not fit its schema: /n: ",
        ),
        (r#"{"content":[{"type":"text","text":"3"}]}"#, "the tool read-file promised structured content and gave none"),
    ] {
        let program = Program::new();
        server(&program, "", &tool.to_string(), &answer(result));
        ran(&program, "").exits(0).reports(problem);
    }
}

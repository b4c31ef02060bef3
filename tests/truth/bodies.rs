//! Messages: every output shows what the bodies contained that a server got, and bodies are rebuilt byte for byte.

use std::path::Path;

use ptc_workbench::agent::{Agent, Step};
use ptc_workbench::event::{Address, Event, MessagePart, PartKind};
use ptc_workbench::export::{Format, render};
use ptc_workbench::replay::{Check, verify, verify_events};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::sent_body;
use serde_json::{Value, json};

use crate::cli::program::Program;
use crate::export::content_of;
use crate::model::kit::{ALL, Kit};
use crate::openai::server::{Play, Received, Server};
use crate::session::{recorder, run_into};

/// The agents, each with the replies that the server gives one after the other: text and calls.
type Replies = &'static [(&'static str, &'static [(&'static str, &'static str)])];

const TOOL: &str =
    "[tools.price]\nkind = \"table\"\ndescription = \"Price\"\nsignature = \"(item :string) -> :int\"\ndefault = 7\n";

const CAST: &[(&str, &str, Replies)] = &[
    (
        "text with native calls",
        "mode = \"text\"\nprompt = \"How much?\"\nsignature = \"() -> :string\"\nmax_turns = 6\n",
        &[
            ("Let me look that up for you.", &[("price", r#"{"item":"lamp"}"#), ("price", r#"{"item":"tea"}"#)]),
            ("", &[("price", r#"{"item":"mug"}"#)]),
            ("And one that does not exist.", &[("cost", r#"{"item":"lamp"}"#)]),
            ("7 each", &[]),
        ],
    ),
    (
        "json with a correction",
        "mode = \"json\"\nprompt = \"Count\"\nsignature = \"{n :int}\"\nmax_turns = 4\n",
        &[("{\"n\": \"many\"}", &[]), ("no JSON", &[]), ("{\"n\": 2}", &[])],
    ),
    (
        "json with a call that no tool answers",
        "mode = \"json\"\nprompt = \"Count\"\nsignature = \"{n :int}\"\nmax_turns = 5\n",
        &[("I look.", &[("price", r#"{"item":"lamp"}"#)]), ("{\"n\": \"x\"}", &[]), ("{\"n\": 2}", &[])],
    ),
    (
        "json_loop",
        "mode = \"json_loop\"\nprompt = \"Count\"\nsignature = \"{n :int}\"\nmax_turns = 6\n",
        &[
            (
                r#"{"thought": "I look the price up.", "tool_call": {"name": "price", "arguments": {"item": "tea"}}}"#,
                &[],
            ),
            ("prose", &[]),
            (r#"{"thought": "Done.", "final_answer": {"n": 7}}"#, &[]),
        ],
    ),
    (
        "ptc_lisp",
        "mode = \"ptc_lisp\"\nprompt = \"Count\"\nsignature = \"{n :int}\"\nmax_turns = 6\n",
        &[
            ("no program", &[]),
            ("A call where a program belongs.", &[("price", r#"{"item":"tea"}"#)]),
            ("```clojure\n(println (tool/price {:item \"tea\"}))\n```", &[]),
            ("```clojure\n(return {:n 7})\n```", &[]),
        ],
    ),
];

/// Everything of a request as a flat list: texts with their roles, calls, results.
type Atoms = Vec<String>;

fn text(atoms: &mut Atoms, role: &str, text: &str) {
    if !text.is_empty() && text != "(empty)" {
        atoms.push(format!("{role}: {text}"));
    }
}

fn call(atoms: &mut Atoms, id: &Value, name: &Value, args: &Value) {
    let args = args.as_str().map_or_else(|| args.clone(), |text| serde_json::from_str(text).unwrap());
    atoms.push(format!("call {} {} {args}", id.as_str().unwrap_or_default(), name.as_str().unwrap()));
}

fn result(atoms: &mut Atoms, id: &Value, content: &Value) {
    let content = content.as_str().map_or_else(|| content.clone(), |text| serde_json::from_str(text).unwrap());
    // Gemini takes objects only.
    let content = content.get("result").cloned().unwrap_or(content);
    atoms.push(format!("result {} {content}", id.as_str().unwrap_or_default()));
}

/// The messages of a body.
fn of_body(body: &Value) -> Atoms {
    let mut atoms = Atoms::new();
    match &body["system"] {
        Value::String(system) => text(&mut atoms, "system", system),
        blocks => blocks
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|block| text(&mut atoms, "system", block["text"].as_str().unwrap())),
    }
    if let Some(system) = body["systemInstruction"]["parts"][0]["text"].as_str() {
        text(&mut atoms, "system", system);
    }
    text(&mut atoms, "system", body["instructions"].as_str().unwrap_or_default());
    let messages = ["messages", "contents", "input"].into_iter().find_map(|key| body.get(key)?.as_array());
    for message in messages.unwrap() {
        match message["type"].as_str() {
            Some("function_call") => {
                call(&mut atoms, &message["call_id"], &message["name"], &message["arguments"]);
                continue;
            }
            Some("function_call_output") => {
                result(&mut atoms, &message["call_id"], &message["output"]);
                continue;
            }
            _ => {}
        }
        let role = message["role"].as_str().unwrap().replace("model", "assistant");
        if role == "tool" {
            result(&mut atoms, &message["tool_call_id"], &message["content"]);
            continue;
        }
        match message.get("parts").unwrap_or(&message["content"]) {
            Value::Array(parts) => parts.iter().for_each(|part| of_part(&mut atoms, &role, part)),
            content => text(&mut atoms, &role, content.as_str().unwrap_or_default()),
        }
        for asked in message["tool_calls"].as_array().into_iter().flatten() {
            call(&mut atoms, &asked["id"], &asked["function"]["name"], &asked["function"]["arguments"]);
        }
    }
    atoms
}

/// A part of a message for Anthropic, Gemini or Bedrock.
fn of_part(atoms: &mut Atoms, role: &str, part: &Value) {
    if part["type"] == "tool_use" {
        call(atoms, &part["id"], &part["name"], &part["input"]);
    } else if part["type"] == "tool_result" {
        result(atoms, &part["tool_use_id"], &part["content"]);
    } else if let Some(asked) = part.get("functionCall") {
        call(atoms, &asked["id"], &asked["name"], &asked["args"]);
    } else if let Some(answer) = part.get("functionResponse") {
        result(atoms, &answer["id"], &answer["response"]);
    } else if let Some(asked) = part.get("toolUse") {
        call(atoms, &asked["toolUseId"], &asked["name"], &asked["input"]);
    } else if let Some(answer) = part.get("toolResult") {
        let content = &answer["content"][0];
        result(atoms, &answer["toolUseId"], content.get("json").unwrap_or(&content["text"]));
    } else if let Some(words) = part["text"].as_str() {
        text(atoms, role, words);
    }
}

/// The messages of a turn in the JSON of a Step.
fn of_turn(turn: &Value) -> Atoms {
    let mut atoms = Atoms::new();
    text(&mut atoms, "system", turn["system_prompt"].as_str().unwrap_or_default());
    for message in turn["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            result(&mut atoms, &message["tool_call_id"], &message["content"]);
            continue;
        }
        text(&mut atoms, message["role"].as_str().unwrap(), message["content"].as_str().unwrap());
        for asked in message["tool_calls"].as_array().into_iter().flatten() {
            call(&mut atoms, &asked["id"], &asked["name"], &asked["arguments"]);
        }
    }
    atoms
}

/// A value of the protocol of OpenTelemetry as plain JSON.
fn plain(value: &Value) -> Value {
    if let Some(members) = value.get("kvlistValue") {
        let members = members["values"].as_array().unwrap().iter();
        return members.map(|member| (member["key"].as_str().unwrap().to_owned(), plain(&member["value"]))).collect();
    }
    if let Some(items) = value.get("arrayValue") {
        return items["values"].as_array().unwrap().iter().map(plain).collect();
    }
    match value.get("intValue") {
        Some(number) => serde_json::from_str(number.as_str().unwrap()).unwrap(),
        None => value.as_object().and_then(|object| object.values().next()).cloned().unwrap_or_default(),
    }
}

/// The messages of a `chat` span.
fn of_span(span: &Value) -> Atoms {
    let attribute = |key: &str| {
        let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
        found.map(|found| plain(&found["value"])).unwrap_or_default()
    };
    let mut atoms = Atoms::new();
    for part in attribute("gen_ai.system_instructions").as_array().into_iter().flatten() {
        text(&mut atoms, "system", part["content"].as_str().unwrap());
    }
    for message in attribute("gen_ai.input.messages").as_array().into_iter().flatten() {
        for part in message["parts"].as_array().unwrap() {
            match part["type"].as_str().unwrap() {
                "text" => text(&mut atoms, message["role"].as_str().unwrap(), part["content"].as_str().unwrap()),
                "tool_call" => call(&mut atoms, &part["id"], &part["name"], &part["arguments"]),
                _ => result(&mut atoms, &part["id"], &part["response"]),
            }
        }
    }
    atoms
}

/// The same without ids, for protocols that do not send those that were made up here.
fn without_ids(atoms: Atoms) -> Atoms {
    let cut = |atom: String| match atom.split_once(' ') {
        Some((kind @ ("call" | "result"), rest)) => format!("{kind} {}", rest.split_once(' ').unwrap().1),
        _ => atom,
    };
    atoms.into_iter().map(cut).collect()
}

fn played(kit: Kit, replies: Replies, number: usize) -> Play {
    // The first attempt of each run is cut: its body is sent a second time.
    if number == 0 {
        return kit.typed(Play::cut([kit.begin(), kit.text("half")]));
    }
    let (words, calls) = replies[(number - 1).min(replies.len() - 1)];
    let mut pieces = vec![kit.begin()];
    if !words.is_empty() {
        pieces.push(kit.text(words));
    }
    for (index, (name, args)) in calls.iter().enumerate() {
        let args = serde_json::from_str(args).unwrap();
        pieces.push(kit.call(index as u64, &format!("call_{number}_{index}"), name, &args));
    }
    pieces.push(kit.end(if calls.is_empty() { "stop" } else { "calls" }));
    kit.play(pieces)
}

/// Runs an agent against a server of a protocol; returns the Step, the session and what the server got.
async fn run(kit: Kit, toml: &str, replies: Replies, dir: &Path) -> (Step, Session, Vec<Received>) {
    let server = Server::script(move |number, _| played(kit, replies, number)).await;
    let tool = if toml.starts_with("mode = \"json\"") { "" } else { TOOL };
    let agent = Agent::from_toml(&format!("name = \"a\"\n{toml}{tool}"), "a.toml").unwrap();
    let recorder = recorder(dir, 1_000, 1);
    let step = run_into(&recorder, &agent, "{}", &kit.model(&server)).await;
    let session = Session::open(recorder.path()).unwrap();
    (step, session, server.received())
}

/// The attempts of a session in the order in which they were sent: the turn and the number of the attempt.
fn attempts(session: &Session) -> Vec<(Address, u32)> {
    let sent = session.events().filter_map(|envelope| match envelope.event {
        Event::Sent(sent) => Some((envelope.address, sent.attempt)),
        _ => None,
    });
    sent.collect()
}

#[tokio::test]
async fn every_output_shows_the_messages_that_were_sent_in_every_mode_and_protocol() {
    for kit in ALL {
        for (name, toml, replies) in CAST {
            let dir = tempfile::tempdir().unwrap();
            let (step, session, received) = run(kit, toml, replies, dir.path()).await;
            let what = format!("{name}, {kit:?}");
            assert!(received.len() >= replies.len(), "{what}: {:?}", step.fail);
            let shown = serde_json::to_value(ptc_workbench::export::step(&step)).unwrap();
            let content = content_of(&session);
            let exported: Value = serde_json::from_str(&render(&content, Format::Json).unwrap()).unwrap();
            let spans: Value = serde_json::from_str(&render(&content, Format::Otlp).unwrap()).unwrap();
            let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
            let chats: Vec<&Value> =
                spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with("chat")).collect();
            let made = attempts(&session);
            assert_eq!(made.len(), received.len(), "{what}");
            for ((turn, attempt), received) in made.iter().zip(&received) {
                let at = format!("{what}, {turn}:{attempt}");
                let place = turn.turn_number().unwrap() as usize - 1;
                let sent = without_ids(of_body(&received.json()));
                assert_eq!(without_ids(of_turn(&shown["turns"][place])), sent, "the Step, {at}");
                assert_eq!(without_ids(of_turn(&exported["runs"][0]["turns"][place])), sent, "export json, {at}");
                assert_eq!(without_ids(of_span(chats[place])), sent, "export otlp, {at}");
                assert_eq!(sent_body(&session, &format!("{turn}:{attempt}")).unwrap(), received.body, "the body, {at}");
            }
            assert_eq!(verify(&session).await.findings, [], "{what}");
        }
    }
}

#[tokio::test]
async fn markdown_shows_what_json_loop_sent_in_place_of_the_reply() {
    let (_, toml, replies) = CAST[3];
    let dir = tempfile::tempdir().unwrap();
    let (_, session, received) = run(ALL[0], toml, replies, dir.path()).await;
    let page = render(&content_of(&session), Format::Markdown).unwrap();
    let last = received.last().unwrap().json();
    for message in last["messages"].as_array().unwrap() {
        let content = message["content"].as_str().unwrap();
        // Two messages of the user in a row are one message of the request.
        for part in content.split("\n\n") {
            assert!(page.contains(part.trim_end()), "{part}\nis not in\n{page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_the_exact_body_and_refuses_one_that_was_not_sent() {
    let (_, toml, replies) = CAST[0];
    let program = Program::new();
    std::fs::create_dir_all(program.sessions_dir()).unwrap();
    let (_, session, received) = run(ALL[0], toml, replies, &program.sessions_dir()).await;
    let path = session.path.display().to_string();
    let body = |at: &str| program.run(["sessions", "show", path.as_str(), "--body", at]);
    assert_eq!(body("r0/t1:1").exits(0).stdout, received[0].body);
    assert_eq!(body("r0/t1").exits(0).stdout, received[1].body);
    assert_eq!(body("r0/t3").exits(0).stdout, received[3].body);
    let missing = body("r0/t9");
    missing.exits(2).reports("error: no request was made at r0/t9; did you mean `r0/t1`? (turns: r0/t1, r0/t2, r0/t3");
    assert!(!missing.stderr.contains("session_unreadable"), "{}", missing.stderr);
    body("r0/t1:7").exits(2).reports("attempt 7 was not sent at r0/t1; its attempts are 1, 2");
    body("r0/t1:x").exits(2).reports("the attempt after the colon is not a number");
    let text = std::fs::read_to_string(&session.path).unwrap();
    std::fs::write(&session.path, text.replace("How much?", "How many?")).unwrap();
    body("r0/t2").exits(2).reports("could not be rebuilt").reports("SHA-256");
    assert_eq!(json!(body("r0/t2").stdout), json!(""), "nothing is printed");
}

/// The session with the data of an event edited.
fn edited(session: &Session, index: usize, edit: impl FnOnce(&mut Value)) -> Session {
    let bytes = session.complete_lines().unwrap();
    let mut lines: Vec<String> = String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect();
    let mut line: Value = serde_json::from_str(&lines[index + 1]).unwrap();
    edit(&mut line["d"]);
    lines[index + 1] = line.to_string();
    Session::from_bytes(&session.path, (lines.join("\n") + "\n").into_bytes()).unwrap()
}

/// The turns whose requests are not those that were sent.
fn wrong_requests(session: &Session) -> Vec<String> {
    let mut turns: Vec<String> = verify_events(session)
        .into_iter()
        .filter(|finding| finding.check == Check::Request)
        .map(|finding| finding.address.unwrap().to_string())
        .collect();
    turns.dedup();
    turns
}

#[tokio::test]
async fn a_change_of_anything_that_a_body_contains_is_found_at_the_attempts_that_sent_it() {
    let (_, toml, replies) = CAST[0];
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        let (_, session, _) = run(kit, toml, replies, dir.path()).await;
        assert_eq!(wrong_requests(&session), [""; 0], "{kit:?}");
        let is = |index: &usize, at: &str, kind: &str| {
            session.event(*index).is_some_and(|event| event.address.as_str() == at && event.event.kind() == kind)
        };
        let find = |at: &str, kind: &str| (0..session.len()).find(|index| is(index, at, kind)).unwrap();
        let last = |at: &str, kind: &str| (0..session.len()).rfind(|index| is(index, at, kind)).unwrap();
        let all = ["r0/t1", "r0/t2", "r0/t3", "r0/t4"];
        let found = |index: usize, edit: &dyn Fn(&mut Value)| wrong_requests(&edited(&session, index, edit));
        let text = |data: &mut Value| data["parts"][0]["text"] = "other".into();
        // The first message is the system prompt: some protocols have it outside of the messages, in the frame.
        assert_eq!(found(find("r0/t1", "message") + 1, &text), all, "{kit:?}: a message");
        let is_text = |index: &usize| match session.event(*index).map(|envelope| envelope.event) {
            Some(Event::ReplyPart(part)) => part.attempt == 2 && part.kind == PartKind::Text,
            _ => false,
        };
        let part = (0..session.len()).find(is_text).unwrap();
        let other = |data: &mut Value| data["text"] = "other".into();
        assert_eq!(found(part, &other), all[1..], "{kit:?}: a reply");
        let name = |data: &mut Value| data["calls"][0]["name"] = "other".into();
        assert_eq!(found(last("r0/t1", "reply.end"), &name), all[1..], "{kit:?}: a call of a reply");
        let is_result = |index: &usize| match session.event(*index).map(|envelope| envelope.event) {
            Some(Event::MessageAdded(message)) => matches!(message.parts[..], [MessagePart::Result { .. }, ..]),
            _ => false,
        };
        let message = (0..session.len()).find(is_result).unwrap();
        let result = |data: &mut Value| data["parts"][0]["result"] = "8".into();
        assert_eq!(found(message, &result), all[1..], "{kit:?}: a result");
        let fewer = |data: &mut Value| data["messages"] = json!([[0, 0]]);
        assert_eq!(found(find("r0/t2", "request"), &fewer), ["r0/t2"], "{kit:?}: a request");
        let sent = find("r0/t1", "sent");
        for field in ["sha", "bytes", "frame"] {
            let edit = |data: &mut Value| match field {
                "sha" => data["sha"] = "0".repeat(64).into(),
                "bytes" => data["bytes"] = 1.into(),
                _ => data["frame"]["model"] = "other".into(),
            };
            assert_eq!(found(sent, &edit), ["r0/t1"], "{kit:?}: {field}");
        }
        let lines = edited(&session, sent, |data| data["sha"] = "0".repeat(64).into());
        let finding = &verify_events(&lines)[0];
        assert_eq!(finding.line, Some(sent as u64 + 2), "{finding}");
    }
}

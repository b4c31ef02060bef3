//! Forks: a new session begins as another one, takes edits at a point, and continues live. The other one stays as it is.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::newest_file;
use crate::cli::program::Program;

/// Example sessions of the statement (three turns, tools), the reviews (child agents) and the booking (a question).
const STATEMENT: &str = "2026-11-22T00-00-38Z-34f89148";
const STATEMENT_TEXT: &str = "2026-11-22T00-00-39Z-e8b806f4";
const REVIEWS: &str = "2026-11-22T00-00-28Z-52034005";
const REVIEWS_TEXT: &str = "2026-11-22T00-00-29Z-4b08a828";
const BOOKING_LOOP: &str = "2026-11-22T00-00-20Z-88350bb4";
const BOOKING: &str = "2026-11-22T00-00-21Z-523cd12d";
const BOOKING_TEXT: &str = "2026-11-22T00-00-22Z-431eac23";
const LOOP: &str = "2026-11-22T00-00-37Z-9ae59525";

fn example(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions").join(format!("{id}.jsonl"))
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap().lines().map(ToOwned::to_owned).collect()
}

/// Forks a session and checks what holds for every fork: it begins with the same bytes, names where it comes from, holds the edits as
/// inputs, and replays without a difference; the other file stays as it is.
#[track_caller]
fn forked(program: &Program, parent: &Path, flags: &[&str], code: i32) -> (Value, Vec<String>) {
    let before = std::fs::read(parent).unwrap();
    let known = program.session_files();
    let name = parent.to_str().unwrap();
    let done = program.run(["fork", name, "--json"].iter().chain(flags));
    done.exits(code);
    let file = newest_file(program);
    assert!(!known.contains(&file));
    assert_eq!(std::fs::read(parent).unwrap(), before, "the other session has changed");
    let (old, new) = (lines(parent), lines(&file));
    let header: Value = serde_json::from_str(&new[0]).unwrap();
    let from = &header["parent"];
    assert_eq!((from["kind"].as_str(), from["at"].is_string(), from["stage"].is_string()), (Some("fork"), true, true));
    let kept = usize::try_from(from["seq"].as_u64().unwrap()).unwrap();
    assert_eq!(new[1..=kept], old[1..=kept]);
    let prefix = old[1..=kept].iter().fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(from["prefix_sha"], ptc_workbench::event::hex_sha(prefix.as_bytes()));
    program.run(["replay", file.to_str().unwrap(), "--check"]).exits(0);
    (done.json(), new)
}

/// The data of the edits.
fn edits(lines: &[String]) -> Vec<(String, Value)> {
    let all = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let edits = all.filter(|line| line["k"] == "edit");
    edits.map(|line| (line["d"]["target"].as_str().unwrap().to_owned(), line["d"]["after"].clone())).collect()
}

/// Returns a program with the session of a run of two turns over the model `sample`.
fn two_turns() -> (Program, PathBuf) {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let file = program.session_file();
    (program, file)
}

#[test]
fn a_prompt_is_sent_again_and_the_history_stays() {
    let (program, parent) = two_turns();
    let flags = [
        "--at",
        "r0/t2",
        "--prompt",
        "What does this say: {{text}}",
        "--set",
        "text=Never again",
        "--option",
        "max_turns=7",
    ];
    let (step, lines) = forked(&program, &parent, &flags, 0);
    assert_eq!(
        edits(&lines).iter().map(|(target, _)| target.as_str()).collect::<Vec<_>>(),
        ["prompt", "option.max_turns", "context.text"]
    );
    let turns = step["turns"].as_array().unwrap();
    let sent = |turn: usize| -> Vec<&str> {
        turns[turn]["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
    };
    let (first, second) = (sent(0), sent(1));
    assert!(first[0].contains("Classify the sentiment of: I love this product!"), "{first:?}");
    assert!(second[0].contains("What does this say: Never again"), "{second:?}");
    assert_eq!(second[1], turns[0]["raw_response"]);
    assert!(second[2].starts_with("Your answer could not be used."), "{second:?}");
    assert_eq!(second.len(), 3);
}

#[test]
fn a_key_that_two_flags_change_is_refused() {
    let (program, parent) = two_turns();
    let name = parent.to_str().unwrap();
    for flags in [["--prompt", "a", "--option", "prompt=b"], ["--option", "max_turns=2", "--option", "max_turns=3"]] {
        let key = flags[3].split('=').next().unwrap();
        let done = program.run(["fork", name, "--at", "r0/t2"].iter().chain(&flags));
        done.exits(2).reports(&format!("`{key}` is changed twice; give one value"));
    }
    assert_eq!(program.session_files().len(), 1, "nothing was written");
}

#[test]
fn a_fork_at_the_first_turn_opens_with_the_edits_only() {
    let (program, parent) = two_turns();
    let signature = "(text :string) -> {mood :string}";
    let (step, _) = forked(&program, &parent, &["--at", "r0/t1", "--signature", signature, "--model", "sample"], 0);
    assert!(step["return"]["mood"].is_string(), "{step}");
    assert_eq!(step["turns"][0]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(step["usage"]["turns"], 1);
}

#[test]
fn a_reply_is_edited_and_everything_after_is_computed() {
    let (program, parent) = two_turns();
    let reply = r#"{"sentiment":"neutral","score":0.25}"#;
    let (step, lines) = forked(&program, &parent, &["--at", "r0/t1:reply", "--reply", reply], 0);
    assert_eq!(step["return"], serde_json::from_str::<Value>(reply).unwrap());
    assert_eq!(step["turns"][0]["model"], "edit");
    assert_eq!(edits(&lines), [("reply".to_owned(), reply.into())]);
    // The recorded request was answered: nothing was asked of the model.
    assert_eq!(step["turns"].as_array().unwrap().len(), 1);
    // A file may begin with a byte order mark.
    program.file("reply.json", format!("\u{feff}{}", Value::from(reply)));
    let (_, lines) = forked(&program, &parent, &["--at", "r0/t1:reply", "--reply-json", "@reply.json"], 0);
    assert_eq!(edits(&lines), [("reply".to_owned(), reply.into())]);
}

#[test]
fn an_edited_reply_calls_tools_natively() {
    let json = r#"{"text": "Both.", "calls": [{"name": "rate", "args": {"currency": "EUR"}}, {"name": "rate", "args": {"currency": "USD"}}]}"#;
    let typed = "Both.\n/call rate {\"currency\":\"EUR\"}\n/call rate {\"currency\":\"USD\"}";
    for flags in [["--reply-json", json], ["--reply", typed]] {
        let program = Program::new();
        let flags = [&["--at", "r0/t1:reply", "--model", "demo"][..], &flags].concat();
        let (step, lines) = forked(&program, &example(STATEMENT_TEXT), &flags, 0);
        assert_eq!(edits(&lines)[0], ("reply".to_owned(), serde_json::from_str(json).unwrap()));
        let calls = step["calls"].as_array().unwrap();
        let made: Vec<_> =
            calls.iter().map(|call| (call["args"]["currency"].clone(), call["result"].clone())).collect();
        assert_eq!(made, [("EUR".into(), 1.0.into()), ("USD".into(), 0.9.into())]);
        assert_eq!(step["turns"].as_array().unwrap().len(), 2, "the loop goes on with what the calls gave");
    }
    let program = Program::new();
    let refused = |session: &str, reply: &str| {
        let file = example(session);
        program.run(["fork", file.to_str().unwrap(), "--at", "r0/t1", "--reply-json", reply])
    };
    refused(STATEMENT, json).exits(2).reports("the request of r0/t1 offers no tools");
    refused(STATEMENT_TEXT, r#"{"calls": [{"args": {}}]}"#).exits(2).reports("a call needs its `name`");
    refused(STATEMENT_TEXT, "{").exits(2).reports("--reply-json: ");
}

#[test]
fn an_edited_program_takes_its_place_in_the_reply() {
    let program = Program::new();
    let flags = ["--at", "r0/t3", "--program", "(return {:income 1.0 :spent (count entries)})"];
    let (step, lines) = forked(&program, &example(STATEMENT), &flags, 0);
    assert_eq!(step["return"], serde_json::json!({"income": 1.0, "spent": 4}));
    let reply = "```clojure\n(return {:income 1.0 :spent (count entries)})\n```";
    assert_eq!(edits(&lines), [("reply".to_owned(), reply.into())]);
    let text = example(STATEMENT_TEXT);
    let refused = program.run(["fork", text.to_str().unwrap(), "--at", "r0/t1", "--program", "1"]);
    refused.exits(2).reports("no program was found in the reply of r0/t1");
}

#[test]
fn nothing_edited_asks_again_from_the_point_on() {
    let (program, parent) = two_turns();
    for at in ["r0/t2", "r0/t2:reply", "r0/t1:after", "r0/t1:reply"] {
        let (step, lines) = forked(&program, &parent, &["--at", at], 0);
        assert!(edits(&lines).is_empty());
        assert_eq!(step["usage"]["turns"], 2, "{at}");
    }
}

#[test]
fn a_result_is_edited_in_every_mode_that_calls_tools() {
    let program = Program::new();
    for (session, at) in
        [(STATEMENT, "r0/t2/c1"), (STATEMENT_TEXT, "r0/t1/c2"), (LOOP, "r0/t2/c0"), (LOOP, "r0/t2:call")]
    {
        let (step, lines) = forked(&program, &example(session), &["--at", at, "--result", "2.5", "--model", "demo"], 0);
        assert_eq!(edits(&lines).iter().map(|(target, _)| target.as_str()).collect::<Vec<_>>(), ["result", "model"]);
        let calls = step["calls"].as_array().unwrap();
        assert!(calls.iter().any(|call| call["result"] == 2.5), "{session}: {calls:?}");
    }
}

#[test]
fn the_result_of_a_call_with_effects_is_edited_without_making_it() {
    let program = Program::new();
    let tool = "[tools.touch]\nkind = 'command'\ncommand = ['sh', '-c', 'echo x >> touched; echo 1']\nsignature = '() -> :int'\n\
                description = 'Touches'\n";
    let agent = format!(
        "name = 'eff'\nmode = 'ptc_lisp'\nmodel = 'human'\nprompt = 'go'\nsignature = '() -> {{x :int}}'\n{tool}"
    );
    program.file("eff.toml", agent);
    let run = program.fed(["run", "eff.toml", "--allow-tools", "--json"], "(return {:x (tool/touch {})})\n.\n");
    assert_eq!(run.exits(0).json()["return"]["x"], 1);
    let parent = newest_file(&program);
    let (step, lines) = forked(&program, &parent, &["--at", "r0/t1/c0", "--result", "7"], 0);
    assert_eq!(step["return"]["x"], 7);
    assert!(!lines.iter().any(|line| line.contains("r0/t1/c0/q1")), "nobody is asked whether to make it again");
    // Without the result it is not known whether the call took effect: the user decides.
    let (asked, _) = forked(&program, &parent, &["--at", "r0/t1/c0"], 4);
    assert_eq!(asked["fail"]["reason"], "suspended");
    program.run(["resume", "last", "--answer", "skip"]);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn an_edited_result_replaces_one_that_the_run_remembers() {
    let program = Program::new();
    program.file(
        "a.toml",
        "mode = \"ptc_lisp\"\nprompt = \"Do {{x}}\"\nsignature = \"(x :string) -> [:string]\"\n\
         program = \"(return (mapv (fn [_] (tool/look {:k 1})) [1 2 3]))\"\n\
         [tools.look]\nkind = \"table\"\ncache = true\nsignature = \"(k :int) -> :string\"\ndefault = \"kept\"\n",
    );
    program.run(["run", "a.toml", "--set", "x=1"]).exits(0);
    let done = program.run(["fork", "last", "--at", "r0/t1/c1", "--result", "\"edited\"", "--json"]);
    assert_eq!(done.exits(0).json()["return"], serde_json::json!(["kept", "edited", "edited"]));
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_recorded_model_that_is_not_known_is_reported_with_the_way_on() {
    let (program, parent) = two_turns();
    let text = std::fs::read_to_string(parent).unwrap().replace("\"alias\":\"", "\"alias\":\"lost-");
    let lost = program.file("lost.jsonl", text);
    for words in [&["fork", lost, "--at", "r0/t2"][..], &["rerun", lost]] {
        program.run(words).exits(2).reports("choose another one with --model NAME");
    }
}

#[test]
fn definitions_are_edited_and_reported() {
    let program = Program::new();
    let all_good = r#"judged=(mapv (fn [one] (assoc one :verdict "positive")) judged)"#;
    let (step, _) = forked(&program, &example(REVIEWS), &["--at", "r0/t2", "--memory", all_good, "--model", "demo"], 0);
    assert_eq!((&step["return"]["positive"], &step["return"]["negative"]), (&3.into(), &0.into()));
    assert!(step["memory"]["judged"].as_str().unwrap().contains("positive"));
}

#[test]
fn agents_below_are_forked_inside() {
    let program = Program::new();
    for session in [REVIEWS, REVIEWS_TEXT] {
        // What an agent answers, as a result of its call or as its own reply.
        let verdict = r#"{"verdict":"positive","strength":0.125}"#;
        for flags in [["--at", "r0/t1/c1", "--result", verdict], ["--at", "r0/t1/c1/t1:reply", "--reply", verdict]] {
            let (step, _) = forked(&program, &example(session), &[&flags[..], &["--model", "demo"]].concat(), 0);
            let call = &step["calls"][1];
            assert_eq!(call["result"]["strength"], 0.125, "{session}: {call}");
        }
        let flags = ["--at", "r0/t1/c2/t1", "--prompt", "Weigh this: {{text}}", "--model", "demo"];
        let (step, _) = forked(&program, &example(session), &flags, 0);
        let asked = step["children"][2]["turns"][0]["messages"][0]["content"].as_str().unwrap();
        assert!(asked.contains("Weigh this: The chair broke"), "{asked}");
        let other = step["children"][1]["turns"][0]["messages"][0]["content"].as_str().unwrap();
        assert!(!other.contains("Weigh this"), "{other}");
    }
}

#[test]
fn a_fork_is_forked_again_and_keeps_what_was_edited_before() {
    let (program, parent) = two_turns();
    forked(
        &program,
        &parent,
        &["--at", "r0/t1", "--set", "text=Not bad", "--prompt", "First: {{text}}", "--model", "sample:missing_field"],
        0,
    );
    let fork = newest_file(&program);
    let (step, lines) = forked(&program, &fork, &["--at", "r0/t2", "--prompt", "Second: {{text}}"], 0);
    let asked = step["turns"][1]["messages"][0]["content"].as_str().unwrap();
    assert!(asked.contains("Second: Not bad"), "{asked}");
    assert!(step["turns"][0]["messages"][0]["content"].as_str().unwrap().contains("First: Not bad"));
    assert_eq!(edits(&lines).len(), 4);
    // Edits of the same turn come one after the other.
    let again = newest_file(&program);
    let (step, _) = forked(&program, &again, &["--at", "r0/t2:request", "--set", "text=Third time"], 0);
    let asked = step["turns"][1]["messages"][0]["content"].as_str().unwrap();
    assert!(asked.contains("Second: Third time"), "{asked}");
}

#[test]
fn a_fork_that_broke_off_is_resumed_with_its_edits_and_its_model() {
    let (program, parent) = two_turns();
    let flags = ["--at", "r0/t2", "--prompt", "Anew: {{text}}", "--model", "sample:seed=5"];
    let (whole, lines) = forked(&program, &parent, &flags, 0);
    let of_turn = |kind: &str| format!("\"r\":\"r0/t2\",\"k\":\"{kind}\"");
    // The edits are written with the header: a fork has all of them or does not exist.
    let written = lines.iter().rposition(|line| line.contains("\"k\":\"edit\"")).unwrap();
    let kinds = ["turn.start", "message", "request", "reply.part", "reply.end"];
    let cuts = kinds.iter().map(|kind| lines.iter().position(|line| line.contains(&of_turn(kind))).unwrap());
    for cut in [written].into_iter().chain(cuts) {
        program.file("cut.jsonl", lines[..=cut].join("\n") + "\n");
        let resumed = program.run(["resume", "cut.jsonl", "--json"]).exits(0).json();
        assert_eq!(resumed["return"], whole["return"], "{}", lines[cut]);
        let asked = resumed["turns"][1]["messages"][0]["content"].as_str().unwrap();
        assert!(asked.contains("Anew: I love this product!"), "{}", lines[cut]);
        program.run(["replay", "cut.jsonl", "--check"]).exits(0);
    }
}

#[test]
fn at_a_question_a_fork_asks_again() {
    for (session, at) in [(BOOKING_LOOP, "r0/t1/q0"), (BOOKING_LOOP, "r0/t1:answer"), (BOOKING, "r0/t1/c0/q0")] {
        let program = Program::new();
        forked(&program, &example(session), &["--at", at, "--model", "demo"], 4);
        let done = program.run(["resume", "last", "--answer", "4", "--json"]);
        assert_eq!(done.exits(0).json()["return"]["people"], 4, "{at}");
        let lines = lines(&newest_file(&program));
        let shown = |kind: &str| lines.iter().filter(|line| line.contains(&format!("\"k\":\"{kind}\""))).count();
        assert_eq!((shown("question"), shown("answer")), (1, 1), "{at}");
        program.run(["replay", "last", "--check"]).exits(0);
    }
    let program = Program::new();
    let loops = example(BOOKING_LOOP);
    let fork = |flags: &[&str]| program.run(["fork", loops.to_str().unwrap()].iter().chain(flags));
    fork(&["--at", "r0/t1/q0", "--result", "1"]).exits(2).reports("an edit of result is made at the stage call");
    fork(&["--at", "r0/t1/q0:reply"]).exits(2).reports("r0/t1/q0 is a question: it has the stage answer, not reply");
}

#[test]
fn the_result_of_a_call_that_asks_a_user_is_the_answer() {
    for session in [BOOKING, BOOKING_TEXT] {
        let program = Program::new();
        let flags = ["--at", "r0/t1/c0", "--result", "\"4\"", "--model", "demo"];
        let (step, lines) = forked(&program, &example(session), &flags, 0);
        assert_eq!(edits(&lines), [("result".to_owned(), "4".into()), ("model".to_owned(), "demo".into())]);
        assert!(!lines.iter().any(|line| line.contains("\"k\":\"question\"")), "nobody is asked");
        assert_eq!(step["return"]["people"], 4);
    }
}

#[test]
fn a_result_that_does_not_fit_its_tool_is_reported_and_continues() {
    let program = Program::new();
    let parent = example(STATEMENT);
    let fork = |result: &str| {
        let flags = ["--at", "r0/t1/c0", "--result", result, "--model", "demo"];
        program.run(["fork", parent.to_str().unwrap()].iter().chain(&flags))
    };
    fork("\"x\"").reports("warning: the result at r0/t1/c0 does not fit what `rate` gives (:float): ");
    assert!(!fork("1.5").stderr.contains("does not fit"));
    assert_eq!(program.session_files().len(), 2);
}

#[test]
fn a_turn_beyond_the_edited_max_turns_is_refused() {
    let (program, _) = two_turns();
    program.file(
        "one.toml",
        "mode = \"json\"\nmax_turns = 1\nprompt = \"Now: {{text}}\"\nsignature = \"(text :string) -> {n :int}\"\n",
    );
    let words = "r0/t2 would be turn 2, and max_turns is 1 with this edit: write at least 2";
    program.run(["fork", "last", "--at", "r0/t2", "--option", "max_turns=1"]).exits(2).reports(words);
    program
        .run(["rerun", "last", "--from", "r0/t2", "--agent", "one.toml", "--model", "sample"])
        .exits(2)
        .reports(words);
    program.run(["fork", "last", "--at", "r0/t2", "--option", "max_turns=2", "--model", "sample"]).exits(0);
}

#[test]
fn an_edit_of_the_messages_before_the_first_turn_is_refused_later() {
    let (program, _) = two_turns();
    let before = program.session_files();
    for key in ["messages", "messages_after"] {
        let option = format!(r#"{key}=[{{"role":"assistant","text":"Earlier words"}}]"#);
        let fork = |at: &str| program.run(["fork", "last", "--at", at, "--option", option.as_str(), "--json"]);
        let words = format!("`{key}` applies only at the start of a conversation: an edit at r0/t2 has no effect");
        for at in ["r0/t2", "r0/t1:after"] {
            fork(at).exits(2).reports(&words);
        }
    }
    let agent = "mode = \"json\"\nmax_turns = 3\nprompt = \"Now: {{text}}\"\nsignature = \"(text :string) -> {n :int}\"\n\
                 [[messages]]\nrole = \"user\"\ntext = \"Earlier words\"\n";
    program.file("other.toml", agent);
    let rerun = ["rerun", "last", "--from", "r0/t2", "--agent", "other.toml", "--model", "sample"];
    program.run(rerun).exits(2).reports("`messages` applies only at the start of a conversation");
    assert_eq!(program.session_files(), before, "a refused fork leaves nothing behind");
    let option = r#"messages=[{"role":"assistant","text":"Earlier words"}]"#;
    let done = program.run(["fork", "last", "--at", "r0/t1", "--option", option, "--model", "sample", "--json"]);
    assert!(done.exits(0).json()["turns"][0]["messages"].to_string().contains("Earlier words"));
}

#[test]
fn what_cannot_be_forked_is_refused_with_what_can() {
    let (program, _) = two_turns();
    let before = program.session_files();
    let cases: &[(&[&str], &str)] = &[
        (&["--at", "r0/t7"], "no turn, call or question r0/t7; did you mean `r0/t1`? (known: r0/t1, r0/t2)"),
        (&["--at", "r0/t1/c0"], "no turn, call or question r0/t1/c0"),
        (&["--at", "here"], "known: r0/t1, r0/t2"),
        (&["--at", "r0/t1:reqest"], "unknown stage \"reqest\"; did you mean `request`?"),
        (&["--at", "r0/t1:call"], "no tool was called at r0/t1"),
        (&["--at", "r0/t1:answer"], "no question was asked at r0/t1"),
        (&["--at", "r0/t2:after"], "r0 ended with r0/t2: nothing follows it"),
        (&["--at", "r0/t1", "--result", "1"], "an edit of result is made at the stage call, not at r0/t1:request"),
        (&["--at", "r0/t1:request", "--reply", "x"], "an edit of reply is made at the stage reply"),
        (&["--at", "r0/t1:reply", "--prompt", "x"], "an edit of prompt is made at the stage request or after"),
        (&["--at", "r0/t2", "--prompt", "Say {{nothing}}"], "`nothing` is not a parameter"),
        (&["--at", "r0/t2", "--option", "max_trns=3"], "max_turns"),
        (&["--at", "r0/t2", "--option", "temperature=1"], "write model_options.temperature=…"),
        (&["--at", "r0/t2", "--option", "mode=text"], "`rerun --mode`"),
        (&["--at", "r0/t2", "--option", "model=sample"], "--model names another model"),
        (&["--at", "r0/t2", "--option", "context={}"], "--set and --context"),
        (&["--at", "r0/t2", "--option", "memory={}"], "--memory changes definitions"),
        (&["--at", "r0/t2", "--set", "txt=x"], "did you mean `text`?"),
        (&["--at", "r0/t2", "--context", "{}"], "text"),
        (&["--at", "r0/t2", "--memory", "x=1"], "no definitions to edit"),
        (&["--at", "r0/t2", "--model", "samle"], "samle"),
        (&["--at", "r0/t2", "--memory", "x"], "--memory x: write it as NAME=VALUE"),
    ];
    for (flags, words) in cases {
        let done = program.run(["fork", "last"].iter().chain(*flags));
        done.exits(2).reports(words);
    }
    let statement = example(STATEMENT);
    let calls = ["fork", statement.to_str().unwrap(), "--at", "r0/t1:call", "--result", "1"];
    program.run(calls).exits(2).reports("r0/t1 has several calls: name one of r0/t1/c0, r0/t1/c1");
    let broken = ["fork", statement.to_str().unwrap(), "--at", "r0/t2", "--memory", "x=(+ 1"];
    program.run(broken).exits(2).reports("the edit of memory.x: 1 closing parenthesis");
    assert_eq!(program.session_files(), before, "a refused fork leaves nothing behind");
}

#[test]
fn a_definition_without_a_value_is_refused_before_a_session_is_made() {
    let program = Program::new();
    let parent = example(STATEMENT);
    let refused = |at: &str, definitions: &[&str]| {
        let flags = definitions.iter().flat_map(|definition| ["--memory", definition]);
        let done = program.run(["fork", parent.to_str().unwrap(), "--at", at].into_iter().chain(flags));
        assert_eq!((done.exits(2).stdout.as_str(), program.session_files().len()), ("", 0));
        done
    };
    let divided = "cannot fork at r0/t2:request: the edit of memory.x: /: division by zero";
    refused("r0/t2", &["x=(/ 1 0)"]).reports(divided);
    refused("r0/t2", &["a=1", "x=(/ a 0)", "b=2"]).reports(divided);
    refused("r0/t1:after", &["x=(foo)"])
        .reports("cannot fork at r0/t1:after: the edit of memory.x: unknown name `foo`");
    refused("r0/t2", &["=1"]).reports("--memory =1: write it as NAME=VALUE");
    let unnamed = |flag: &str| program.run(["fork", parent.to_str().unwrap(), "--at", "r0/t2", flag, "=1"]);
    unnamed("--option").exits(2).reports("--option =1: write it as NAME=VALUE");
    unnamed("--set").exits(2).reports("--set =1: write it as NAME=VALUE or NAME=@FILE");
    refused("r0/t2", &["x=1 2"]).reports("the edit of memory.x: write one expression");
    // What the turns before have defined is known.
    let known = ["--at", "r0/t3", "--memory", "x=(count entries)", "--model", "sample"];
    let done = program.run(["fork", parent.to_str().unwrap()].iter().chain(&known));
    assert!(!done.stderr.contains("cannot fork"), "{}", done.stderr);
    assert_eq!(program.session_files().len(), 1);
}

#[test]
fn a_definition_of_an_agent_below_is_tried_as_well() {
    let program = Program::new();
    program.file(
        "host.toml",
        r#"
mode = "ptc_lisp"
model = "sample"
prompt = "Greet all."
signature = "() -> :string"
[tools.greet]
kind = "agent"
agent = { mode = "ptc_lisp", prompt = "Greet {{who}}.", description = "Greets", signature = "(who :string) -> :string", max_turns = 2 }
"#,
    );
    program.run(["run", "host.toml"]).exits(0);
    let turn = "r0/t1/c0/t1";
    let fork = |definition: &str| program.run(["fork", "last", "--at", turn, "--memory", definition]);
    fork("x=(/ 1 0)").exits(2).reports("cannot fork at r0/t1/c0/t1:request: the edit of memory.x: /: division by zero");
    assert_eq!(program.session_files().len(), 1);
    fork("x=1").exits(0).reports("fork of ");
}

//! Runs that wait for the user: exit code 4, continued later in the same file, whatever happened in between.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Envelope;
use ptc_workbench::port::{Human, Question, SystemClock};
use ptc_workbench::replay::Answers;
use ptc_workbench::session::{Recorder, Session};
use ptc_workbench::workbench::Workbench;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::program::{Done, Program};

/// Asks twice; its program replaces the model.
const ASK: &str = r#"
name = "ask"
mode = "ptc_lisp"
prompt = "go"
max_turns = 1
mission_timeout_ms = 60000
program = """
(return [(tool/ask_user {:question "Which colour?"}) (tool/look {}) (tool/ask_user {:question "Which size?"})])
"""
[tools.ask_user]
kind = "builtin"
[tools.look]
kind = "table"
default = "seen"
"#;

fn waiting() -> Program {
    let program = Program::new();
    program.file("ask.toml", ASK);
    program.run(["run", "ask.toml"]).exits(4);
    program
}

#[test]
fn a_run_that_waits_continues_in_its_file_question_by_question() {
    let program = waiting();
    program.run(["resume", "last", "--answer", "blue"]).exits(4);
    let done = program.run(["resume", "last", "--answer", "large", "--json"]);
    assert_eq!(done.exits(0).json()["return"], serde_json::json!(["blue", "seen", "large"]));
    assert_eq!(program.session().damage, []);
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["resume", "last", "--answer", "more"]).exits(2).reports("has ended");
}

#[test]
fn a_resumed_run_prints_what_is_new_and_the_question_that_it_asks_again() {
    let program = waiting();
    let lines = |done: Done| -> Vec<String> { done.reported().lines().map(|line| line.trim().to_owned()).collect() };
    let starts = |lines: &[String], words: &str| lines.iter().filter(|line| line.starts_with(words)).count();
    let again = lines(program.run(["resume", "last"]));
    assert_eq!(again[0], "resume of <id>", "{again:?}");
    assert!(again[1].starts_with("resuming after event "), "{again:?}");
    assert_eq!(again[2], "Which colour?", "{again:?}");
    assert_eq!(again[4], "waiting for the answer to r0/t1/c0/q0", "{again:?}");
    let blue = lines(program.run(["resume", "last", "--answer", "blue"]));
    assert_eq!(starts(&blue, "ask · ptc_lisp"), 0, "the start of the run was printed before: {blue:?}");
    assert_eq!(starts(&blue, "resuming after event"), 1, "{blue:?}");
    assert_eq!(blue[2..4], ["asks: Which colour?", "answered by user: \"blue\""], "{blue:?}");
    let waits: Vec<_> = blue.iter().filter(|line| line.starts_with("waiting for the answer")).collect();
    assert_eq!(waits, ["waiting for the answer to r0/t1/c2/q0"], "{blue:?}");
    let large = lines(program.run(["resume", "last", "--answer", "large"]));
    assert_eq!((starts(&large, "waiting"), starts(&large, "asks:")), (0, 1), "{large:?}");
    assert_eq!((starts(&large, "call look"), starts(&large, "✓ returned")), (0, 1), "{large:?}");
    // The whole course is in the session.
    let shown = program.run(["sessions", "show", "last"]).exits(0).stdout.clone();
    assert_eq!((shown.matches("waiting for the answer").count(), shown.matches("resuming after").count()), (3, 3));
}

#[test]
fn several_answers_are_taken_in_the_order_of_the_questions() {
    let program = waiting();
    program.run(["resume", "last", "--answer", "blue", "--answer", "large"]).exits(0);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn an_answer_to_no_open_question_changes_nothing() {
    let program = waiting();
    let before = std::fs::read(program.session_file()).unwrap();
    program
        .run(["resume", "last", "--answer", "r0/t9/q0=x"])
        .exits(2)
        .reports("r0/t9/q0 is not a question of this session (open: r0/t1/c0/q0)");
    for no_question in ["r9=4", "r0/t1/c0=4", "r0/p1.2/q0=x"] {
        let words =
            format!("{} is not a question of this session (open: r0/t1/c0/q0)", no_question.split_once('=').unwrap().0);
        program.run(["resume", "last", "--answer", no_question]).exits(2).reports(&words);
    }
    assert_eq!(std::fs::read(program.session_file()).unwrap(), before);
    program.run(["resume", "last"]).exits(4);
    program.run(["resume", "last", "--answer", "r0/t1/c0/q0=blue"]).exits(4);
    program
        .run(["resume", "last", "--answer", "r0/t1/c0/q0=red"])
        .exits(2)
        .reports("is already answered (open: r0/t1/c2/q0)");
    program.run(["resume", "last", "--answer", "r0/t1/c2/q0=large"]).exits(0);
}

/// Makes the table of the recorded agent a tool whose function no file holds.
fn with_closure(program: &Program) {
    let path = program.session_file();
    let whole = std::fs::read_to_string(&path).unwrap();
    let changed = whole.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(toml) = event.pointer_mut("/d/agent/toml") {
            let known = toml.as_str().unwrap();
            let other = known.replace("kind = \"table\"", "kind = \"closure\"").replace("default = \"seen\"\n", "");
            assert_ne!(other, known);
            *toml = other.into();
        }
        format!("{event}\n")
    });
    let changed: String = changed.collect();
    std::fs::write(&path, changed).unwrap();
}

#[test]
fn a_run_whose_tool_is_a_function_of_another_program_does_not_continue_here() {
    const REFUSED: &str = "its function exists only in the program that defines it";
    let program = waiting();
    with_closure(&program);
    let before = std::fs::read(program.session_file()).unwrap();
    program.run(["resume", "last", "--answer", "blue"]).exits(2).reports(REFUSED);
    assert_eq!(std::fs::read(program.session_file()).unwrap(), before);

    let program = waiting();
    program.run(["resume", "last", "--answer", "blue", "--answer", "large"]).exits(0);
    with_closure(&program);
    program.run(["continue", "last", "And now?", "--model", "sample"]).exits(2).reports(REFUSED);
}

#[test]
fn a_run_that_was_killed_anywhere_continues() {
    let program = waiting();
    program.run(["resume", "last", "--answer", "blue", "--answer", "large"]).exits(0);
    let path = program.session_file();
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for cut in [lines[1], lines[4] + 5, lines[7], lines[lines.len() - 3] + 20, lines[lines.len() - 2]] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let done = program.run(["resume", "last"]);
        if done.code == Some(4) {
            let more = program.run(["resume", "last", "--answer", "blue", "--answer", "large"]);
            assert!(more.code == Some(0), "{}", more.stderr);
        }
        program.run(["replay", "last", "--check"]).exits(0);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("Which colour?").count(), whole_matches(&whole), "asked once");
    }
}

fn whole_matches(whole: &[u8]) -> usize {
    String::from_utf8_lossy(whole).matches("Which colour?").count()
}

#[test]
fn only_one_program_continues_with_a_session() {
    let program = waiting();
    let held = Recorder::append(&program.session(), Arc::new(SystemClock)).unwrap();
    let refused = program.run(["resume", "last", "--answer", "blue"]);
    refused.exits(2).reports("another program is writing to this session; try again when it has finished");
    assert!(!refused.stderr.contains("--no-save"), "no other folder helps here: {}", refused.stderr);
    drop(held);
    program.run(["resume", "last", "--answer", "blue"]).exits(4);
}

/// Three steps, two of them with a question; programs replace the models.
const PIPELINE: &str = r#"
name = "paint"
[[steps]]
name = "choose"
mode = "ptc_lisp"
prompt = "go"
max_turns = 1
program = '(return {:colour (tool/ask_user {:question "Which colour?"})})'
signature = "() -> {colour :string}"
[steps.tools.ask_user]
kind = "builtin"
[[steps]]
name = "measure"
mode = "ptc_lisp"
prompt = "paint it {{colour}}"
max_turns = 1
program = '(return {:wall (str data/colour ", " (tool/ask_user {:question "How large?"}))})'
signature = "(colour :string) -> {wall :string}"
[steps.tools.ask_user]
kind = "builtin"
[[steps]]
name = "tell"
mode = "ptc_lisp"
prompt = "tell of {{wall}}"
max_turns = 1
program = "(return {:text (upper-case data/wall)})"
signature = "(wall :string) -> {text :string}"
"#;

#[test]
fn a_pipeline_continues_with_the_step_that_waited_and_then_with_the_later_ones() {
    let program = Program::new();
    program.file("paint.toml", PIPELINE);
    program.run(["run", "paint.toml"]).exits(4).reports("answer with: ptc-workbench resume");
    // The file of the pipeline is not needed any more.
    std::fs::remove_file(program.dir().join("paint.toml")).unwrap();
    program.run(["resume", "last", "--answer", "blue"]).exits(4).reports("measure · ptc_lisp");
    let done = program.run(["resume", "last", "--answer", "large", "--json"]);
    assert_eq!(done.exits(0).json()["return"], serde_json::json!({"text": "BLUE, LARGE"}));
    assert_eq!(done.json()["usage"]["turns"], 3, "the turns of all steps count");
    assert_eq!(program.run(["sessions", "list", "--json"]).json()[0]["turns"], 3);
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["resume", "last"]).exits(2).reports("has ended");
    // A conversation about its answer is no step of it.
    program.run(["continue", "last", "again", "--model", "sample"]).exits(0);
    assert_eq!(program.session_files().len(), 2);
}

#[test]
fn what_failed_for_want_of_turns_is_continued_with_more_of_them() {
    let program = Program::new();
    program.file("one.toml", "mode = 'json'\nprompt = 'go'\nsignature = '{a :int, b :string}'\nmax_turns = 1\n");
    let wrong = ["--model", "sample:missing_field"];
    let failed = program.run(["run", "one.toml"].iter().chain(&wrong));
    failed.exits(1).reports("Set max_turns = 2 in the options (it was 1), so that the model can correct it");
    let more = program.run(["continue", "last", "again"].iter().chain(&wrong));
    more.exits(0).reports("warning: the previous run reached max_turns = 1; this one may use 2");
    // A run that has its answer keeps its limits.
    let same = program.run(["continue", "last", "again", "--model", "sample"]);
    assert!(!same.exits(0).stderr.contains("the previous run reached"), "{}", same.stderr);
}

#[test]
fn a_pipeline_that_was_killed_anywhere_continues_also_between_two_steps() {
    let program = Program::new();
    program.file("paint.toml", PIPELINE);
    program.run(["run", "paint.toml"]).exits(4);
    program.run(["resume", "last", "--answer", "blue", "--answer", "large"]).exits(0);
    let path = program.session_file();
    let whole = std::fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    let after = |text: &str| ends.iter().copied().find(|end| whole[..*end].contains(text)).unwrap();
    for cut in [
        after("\"r\":\"r0\",\"k\":\"run.end\""),
        after("\"r\":\"r1\",\"k\":\"run.start\""),
        after("\"k\":\"answer\",\"d\":{\"by\":\"user\",\"value\":\"large\""),
        after("\"r\":\"r1\",\"k\":\"run.end\""),
        after("\"r\":\"r2/t1\",\"k\":\"request\"") + 9,
    ] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let done = program.run(["resume", "last"]);
        if done.code == Some(4) {
            program.run(["resume", "last", "--answer", "large"]).exits(0);
        }
        assert_eq!(program.session().damage, []);
        program.run(["replay", "last", "--check"]).exits(0);
        let shown = program.run(["sessions", "show", "last"]).exits(0).stdout.clone();
        assert!(shown.contains("BLUE, LARGE"), "cut at {cut}: {shown}");
    }
}

#[test]
fn the_session_says_why_a_pipeline_ended_between_two_steps() {
    let program = Program::new();
    // What the first step returns may lack what the second one needs: an optional field is no error before the run.
    let loose = PIPELINE.replace("(return {:colour (tool/ask_user {:question \"Which colour?\"})})", "(return {})");
    program.file("paint.toml", loose.replace("() -> {colour :string}", "() -> :map"));
    let done = program.run(["run", "paint.toml", "--json"]);
    assert_eq!(done.exits(1).json()["fail"]["reason"], "chain_error");
    done.reports("the earlier step returned no fields; missing: `colour`");
    let shown = program.run(["sessions", "show", "last"]).exits(0).stdout.clone();
    assert!(shown.contains("missing: `colour`"), "{shown}");
    let found = program.run(["sessions", "search", "reason:chain_error status:error", "--json"]).exits(0).json();
    assert_eq!(found["sessions"].as_array().or(found.as_array()).map(Vec::len), Some(1), "{found}");
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["resume", "last"]).exits(2).reports("has ended");
}

/// A user who is the model, and writes when the test wants it.
struct Author {
    asked: Mutex<Option<oneshot::Sender<()>>>,
    reply: Mutex<Option<oneshot::Receiver<String>>>,
}

impl Human for Author {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        let (asked, reply) = (self.asked.lock().unwrap().take(), self.reply.lock().unwrap().take());
        Box::pin(async move {
            asked?.send(()).ok()?;
            reply?.await.ok()
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_continues_from_the_moment_it_is_resumed_and_not_from_its_next_event() {
    let program = Program::new();
    program.file("one.toml", "mode = 'text'\nprompt = 'go'\n");
    program.run(["run", "one.toml", "--model", "human"]);
    let path = program.session_file();
    let whole = std::fs::read_to_string(&path).unwrap();
    let request = whole.lines().position(|line| line.contains(r#""k":"request""#)).unwrap();
    let killed: String = whole.split_inclusive('\n').take(request + 1).collect();
    std::fs::write(&path, &killed).unwrap();
    let folders = Folders::at(program.dir().to_owned(), program.dir(), Some(program.dir()));
    let workbench = Workbench::new(Config::built_in().unwrap(), folders);
    let session = Session::open(&path).unwrap();
    let before: Vec<(u64, String)> = numbered(session.events());
    let ((asked, is_asked), (write, reply)) = (oneshot::channel(), oneshot::channel());
    let author = Author { asked: Mutex::new(Some(asked)), reply: Mutex::new(Some(reply)) };
    let run = workbench.resume(&session, Answers::default(), None, Arc::new(author)).await.unwrap();
    is_asked.await.unwrap();
    let shown = numbered(run.feed.drain());
    let after = before.len() as u64 + 1;
    assert_eq!(shown, [before, vec![(after, "resume".to_owned())]].concat(), "the file so far, before the user writes");
    write.send("done".to_owned()).unwrap();
    let step = run.task.await.unwrap();
    assert_eq!(step.answer.map(|answer| answer.to_text()).as_deref(), Some("\"done\""), "{:?}", step.fail);
    program.run(["replay", "last", "--check"]).exits(0);
}

/// The numbers and kinds of events.
fn numbered(events: impl IntoIterator<Item = Envelope>) -> Vec<(u64, String)> {
    events.into_iter().map(|envelope| (envelope.seq, envelope.event.kind().to_owned())).collect()
}

#[test]
fn a_message_that_continues_a_run_is_sent_without_the_inputs_of_the_first_one() {
    for (mode, output) in [("json", "{a :int}"), ("text", ":string"), ("json_loop", "{a :int}")] {
        let program = Program::new();
        let agent =
            format!("mode = '{mode}'\nprompt = 'Judge {{{{text}}}}'\nsignature = '(text :string) -> {output}'\n");
        program.file("judge.toml", agent);
        program.run(["run", "judge.toml", "--model", "sample", "--set", "text=zebra"]).exits(0);
        let more = program.run(["continue", "last", "Are you sure?", "--model", "sample", "--json"]);
        let step = more.exits(0).json();
        let messages = step["turns"][0]["messages"].as_array().unwrap();
        let with = |words: &str| {
            let of_user = messages.iter().filter(|message| message["role"] == "user");
            of_user.filter(|message| message["content"].as_str().unwrap().contains(words)).count()
        };
        assert_eq!((with("zebra"), with("Are you sure?")), (1, 1), "{mode}: {messages:?}");
        assert!(!more.stderr.contains("does not use"), "{mode}: {}", more.stderr);
    }
}

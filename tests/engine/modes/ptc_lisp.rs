//! Mode `ptc_lisp`: programs in blocks and in native calls.

use super::super::ptc::p;
use super::*;
use ptc_core::lisp::Error;
use ptc_workbench::event::TurnKind;

const AGENT: &str = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"{n :int}\"\nmax_turns = 3\n\
                     [tools.look]\nkind = \"table\"\ndefault = 7\n";

fn agent(more: &str) -> String {
    AGENT.replacen("max_turns = 3\n", &format!("max_turns = 3\n{more}"), 1)
}

/// A turn in which a program ended like this.
fn ran(play: &mut Play, outcome: Outcome) -> Vec<String> {
    let lines = play.reply(p("(f)").as_str());
    assert!(lines.last().unwrap().starts_with("run (f)"), "{lines:?}");
    play.outcome(outcome)
}

fn broken(reason: Reason, message: &str) -> Outcome {
    outcome(Err(Error::new(reason, message)))
}

#[test]
fn a_program_is_found_and_runs_within_the_budget() {
    let mut play = Play::of(AGENT);
    assert_eq!(play.request(), "program [] [look] all messages");
    let lines = play.reply(format!("So:\n{}", p("(return {:n 4})")).as_str());
    assert_eq!(lines, ["check budget", "emit extract program found", "run (return {:n 4})"]);
}

#[test]
fn a_returned_value_that_fits_ends_the_run() {
    let lines = ran(&mut Play::of(AGENT), ended(Signal::Return, r#"{"n":4}"#));
    assert_eq!(lines, ["emit check return ok", "end turn", r#"finish {"n":4}"#]);
}

#[test]
fn a_returned_misfit_goes_back() {
    let lines = ran(&mut Play::of(AGENT), ended(Signal::Return, r#"{"n":"z"}"#));
    let expected = [
        "emit check return failed",
        "say assistant (Reply): the reply of r0/t1",
        "say user (Feedback): The returned value does not fit. Expecte",
        "end turn: return_validation_failed",
        "check budget",
        "next turn",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_value_is_not_the_end() {
    let lines = ran(&mut Play::of(AGENT), ended(Signal::Value, "5"));
    assert_eq!(lines[..1], ["say assistant (Reply): the reply of r0/t1"]);
    assert_eq!(lines[2..], ["end turn", "check budget", "next turn"]);
}

#[test]
fn fail_ends_the_run() {
    let lines = ran(&mut Play::of(AGENT), ended(Signal::Fail, "\"nope\""));
    assert_eq!(lines, ["end turn: failed", "fail failed: nope"]);
}

#[test]
fn an_error_goes_back_and_is_the_data_of_the_next_program() {
    let mut play = Play::of(AGENT);
    let lines = ran(&mut play, broken(Reason::UnboundVar, "no foo"));
    assert_eq!(lines[2..], ["end turn: unbound_var", "check budget", "next turn"]);
    let reply = Reply::from(p("data/fail").as_str());
    let decision = play.machine.on_reply(&View { used: 1, ..View::first(&play.plan) }, &reply);
    let Next::Run(program) = decision.next else { panic!("{:?}", decision.next) };
    let fail = program.job.context.lookup("fail").and_then(|fail| fail.lookup("reason").cloned());
    assert_eq!(fail, Some(Value::str("unbound_var")));
}

#[test]
fn the_last_turn_may_call_no_tools_and_ends_the_run() {
    let explicit = agent("completion = \"explicit\"\n");
    let mut play = Play::after(&explicit, 2);
    assert_eq!(
        play.step(|machine, view| {
            assert_eq!(machine.turn_kind(view), Some(TurnKind::MustReturn));
            machine.open(view, None)
        })
        .len(),
        1
    );
    assert_eq!(play.request(), "program [] [] all messages");
    assert_eq!(play.reply(p("(f)").as_str()).last().unwrap(), "run (f) without tools");
    let lines = play.outcome(broken(Reason::UnboundVar, "no foo"));
    let failed = "fail max_turns_exceeded: 3 turns were used without an answer; the last error was unbound_var: no foo";
    assert_eq!(lines, ["end turn: unbound_var", failed]);
    let lines = ran(&mut Play::after(&explicit, 2), ended(Signal::Value, "5"));
    assert_eq!(lines[0], "end turn: must_return_missing");
    let lines = ran(&mut Play::after(AGENT, 2), ended(Signal::Value, r#"{"n":4}"#));
    assert_eq!(
        lines,
        ["end turn", r#"finish {"n":4} of turn 3"#],
        "the latest value is the answer where that is enough"
    );
}

#[test]
fn a_turn_for_corrections_follows_the_last_one() {
    let mut play = Play::after(&agent("retry_turns = 1\n"), 2);
    let lines = ran(&mut play, ended(Signal::Return, "1"));
    assert_eq!(lines.last().unwrap(), "next turn");
    assert_eq!(play.machine.turn_kind(&play.view()), Some(TurnKind::Retry));
}

#[test]
fn a_reply_without_a_program_goes_back() {
    let lines = Play::of(AGENT).reply("I think so.");
    assert_eq!(lines[..2], ["check budget", "emit extract program no_code_found"]);
    assert_eq!(lines[4..], ["end turn: no_code_found", "check budget", "next turn"]);
    let two = format!("{}\n{}", p("1"), p("2"));
    assert_eq!(Play::of(AGENT).reply(two.as_str())[1], "emit extract program multiple_code_blocks");
    assert_eq!(Play::of(AGENT).reply(cut("```clojure\n(f"))[1], "emit extract program reply_truncated");
    assert_eq!(Play::of(AGENT).reply(refused("No."))[1], "fail refused: the model refused: No.");
}

#[test]
fn a_single_turn_takes_the_value_as_the_answer_and_has_no_second_try() {
    let toml = "mode = \"ptc_lisp\"\nprompt = \"go\"\nsignature = \"{n :int}\"\nmax_turns = 1\n";
    let lines = ran(&mut Play::of(toml), ended(Signal::Value, r#"{"n":4}"#));
    assert_eq!(lines.last().unwrap(), r#"finish {"n":4}"#);
    let lines = ran(&mut Play::of(toml), broken(Reason::UnboundVar, "no foo"));
    assert_eq!(lines, ["end turn: unbound_var", "fail unbound_var: no foo"]);
    let lines = Play::of(toml).reply("words");
    assert_eq!(lines[3], "fail no_code_found: the reply contained no program to run");
}

#[test]
fn words_end_the_run_where_they_may() {
    let mut play = Play::of(&agent("completion = \"answer_without_code\"\n"));
    let lines = play.reply("It is 4.");
    assert_eq!(lines[1], "emit check return failed", "no program has given a value yet");
    ran(&mut play, ended(Signal::Value, r#"{"n":4}"#));
    assert_eq!(play.reply("It is 4."), ["check budget", "end turn", r#"finish {"n":4} summary It is 4."#]);
}

#[test]
fn programs_travel_as_native_calls() {
    let toml = agent("transport = \"tool_call\"\n");
    let mut play = Play::of(&toml);
    assert_eq!(play.request(), "program [lisp_eval] [look] all messages");
    let call = Reply::calling([("lisp_eval", r#"{"program":"(f)"}"#)]);
    assert_eq!(play.reply(call)[1..], ["emit extract program found", "run (f)"]);
    let lines = play.outcome(ended(Signal::Value, "5"));
    assert!(lines[1].starts_with(r#"say tool (Tool): tc_1 lisp_eval gave {"status"#), "{lines:?}");
    let lines = Play::of(&toml).reply(Reply::calling([("look", "{}")]));
    assert_eq!(lines[1], "emit extract program unknown_tool");
    let lines = Play::of(&toml).reply(p("1").as_str());
    assert!(lines.contains(&"end turn: no_code_found".to_owned()), "written out: {lines:?}");
    assert_eq!(Play::of(&toml).reply(r#"{"n":4}"#).last().unwrap(), r#"finish {"n":4}"#, "words are the answer");
}

#[test]
fn a_spent_budget_may_give_the_latest_value() {
    let mut play = Play::of(&agent("on_budget_exceeded = \"return_partial\"\n"));
    assert_eq!(play.machine.partial(&play.view()), None);
    ran(&mut play, ended(Signal::Value, r#"{"n":4}"#));
    let partial = play.machine.partial(&play.view()).map(|answered| answer(&answered));
    assert_eq!(partial.as_deref(), Some(r#"{"n":4} of turn 1"#));
    let mut play = Play::of(AGENT);
    ran(&mut play, ended(Signal::Value, r#"{"n":4}"#));
    assert_eq!(play.machine.partial(&play.view()), None, "only where the agent asks for it");
}

#[test]
fn definitions_and_progress_are_evaluated_before_the_run_opens() {
    let toml = format!("{}[memory]\nx = \"1\"\n", agent("progress = \"(str (:turn input))\"\n"));
    let (mut play, lines) = Play::open(&toml, "{}");
    assert_eq!(lines, ["evaluate 1"]);
    assert_eq!(play.evaluated(vec![ended(Signal::Value, "1")]), ["evaluate 1"]);
    assert!(play.evaluated(vec![ended(Signal::Value, "\"turn 1\"")])[0].starts_with("open: "));
    // What goes back contains the progress, too.
    assert_eq!(ran(&mut play, ended(Signal::Value, "5")), ["evaluate 1"]);
    let lines = play.evaluated(vec![ended(Signal::Value, "7")]);
    let warning = "emit notice warning: `progress` cannot be used: it must return a string or [string state]";
    assert_eq!(lines[1], warning);
    assert_eq!(lines[3..], ["end turn", "check budget", "next turn"]);
}

#[test]
fn missing_refs_go_back_once() {
    let mut play = Play::of(&format!("{AGENT}[refs]\nid = \"id\"\n"));
    let lines = ran(&mut play, ended(Signal::Return, r#"{"n":4}"#));
    assert_eq!(lines[3..], ["end turn: missing_refs", "check budget", "next turn"]);
    let lines = ran(&mut play, ended(Signal::Return, r#"{"n":4}"#));
    assert_eq!(lines[1..], ["end turn: missing_refs", "fail missing_refs: the answer is missing: id"]);
}

#[test]
fn a_long_history_becomes_a_summary() {
    let mut play = Play::of(&agent("compaction = { strategy = \"coalesce\" }\n"));
    assert_eq!(play.request(), "program [] [look] all messages");
    ran(&mut play, ended(Signal::Value, "5"));
    assert_eq!(play.request(), "program [] [look] a summary");
    let mut play = Play::of(&agent("compaction = true\n"));
    assert_eq!(play.request(), "program [] [look] trimmed messages");
}

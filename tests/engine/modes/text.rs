//! Mode `text`: plain, with tools, and combined with programs.

use super::*;

const TOOL: &str = "[tools.look]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\ndefault = 7\n";

fn tools(more: &str) -> String {
    format!("mode = \"text\"\nprompt = \"go\"\nmax_turns = 2\n{more}{TOOL}")
}

#[test]
fn a_plain_text_is_the_answer_and_is_asked_for_once() {
    let toml = "mode = \"text\"\nprompt = \"go\"\nmax_turns = 3\n";
    assert_eq!(Play::of(toml).request(), "text [] [] all messages");
    assert_eq!(Play::of(toml).reply(" Blue. "), ["end turn", r#"finish " Blue. ""#]);
    let lines = Play::of(toml).reply(cut("Blu"));
    assert_eq!(lines[..2], ["end turn: reply_truncated", "check budget"]);
    assert!(lines[2].starts_with("fail reply_truncated"), "{lines:?}");
    assert_eq!(Play::of(toml).reply(refused(""))[1], "fail refused: the model refused");
    let lines = Play::of(toml).reply(Reply::calling([("look", "{}")]));
    assert_eq!(lines[0], "end turn: empty_response");
}

#[test]
fn calls_are_made_in_order_and_each_has_its_message() {
    let mut play = Play::of(&tools(""));
    assert_eq!(play.request(), "text [look] [look] all messages");
    let reply = Reply::calling([("look", r#"{"id":1}"#), ("look", r#"{"id":2}"#)]);
    let expected = ["check budget", "say assistant (Reply): the reply of r0/t1", r#"call 0 look {"id":1}"#];
    assert_eq!(play.reply(reply), expected);
    assert_eq!(play.gives("7"), ["say tool (Tool): tc_1 look gave 7", r#"call 1 look {"id":2}"#]);
    let lines = play.fails(Reason::ToolError, "it is down");
    assert!(lines[0].starts_with(r#"say tool (Tool): tc_2 look gave {"error":"it is"#), "{lines:?}");
    assert_eq!(lines[1..], ["end turn", "check budget", "next turn"]);
    assert_eq!(play.reply("Seven."), ["end turn", r#"finish "Seven.""#]);
}

#[test]
fn calls_of_the_last_turn_are_made_and_the_run_fails() {
    let mut play = Play::after(&tools(""), 1);
    play.reply(Reply::calling([("look", r#"{"id":1}"#)]));
    let lines = play.gives("7");
    let failed = "fail max_turns_exceeded: 2 turns were used and the model still called tools; max_turns is 2";
    assert_eq!(lines[1..], ["end turn", "check budget", failed]);
}

#[test]
fn a_call_that_cannot_be_made_is_refused() {
    let hidden = tools("").replace("kind = \"table\"", "kind = \"table\"\nexpose = \"ptc_lisp\"");
    let toml = format!("{hidden}[tools.see]\nkind = \"table\"\ndefault = 1\n");
    let call = |name: &str, args: &str| Play::of(&toml).reply(Reply::calling([(name, args)])).pop().unwrap();
    assert_eq!(call("see", "no JSON"), r#"call 0 see "no JSON" refused: args_error"#);
    assert_eq!(call("see", "[1]"), r#"call 0 see "[1]" refused: args_error"#);
    assert_eq!(call("look", "{}"), "call 0 look {} refused: unknown_tool");
    assert_eq!(call("nothing", "{}"), "call 0 nothing {}", "the driver knows which tools there are");
    let mut play = Play::of(&toml);
    play.reply(Reply::calling([("nothing", "{}")]));
    let lines = play.fails(Reason::UnknownTool, "unknown tool");
    assert_eq!(lines[0], r#"say tool (Tool): tc_1 nothing gave {"error":"unknown tool"#);
}

#[test]
fn the_same_call_again_and_again_ends_the_run() {
    let mut play = Play::of(&tools("same_calls = 2\n"));
    play.reply(Reply::calling([("look", r#"{"id":1}"#)]));
    play.gives("7");
    let lines = play.reply(Reply::calling([("look", r#"{"id":1.0}"#)]));
    assert_eq!(lines[..2], ["check budget", "end turn: loop_detected"]);
}

#[test]
fn no_call_of_a_cut_reply_is_made() {
    let reply = Reply { finish: Some(Finish::Length), ..Reply::calling([("look", r#"{"id":1}"#)]) };
    let lines = Play::of(&tools("")).reply(reply);
    assert_eq!(lines[1..], ["end turn: reply_truncated", "check budget", "next turn"]);
    assert!(lines[0].starts_with("say user (Feedback): Your answer was cut"), "{lines:?}");
}

#[test]
fn an_empty_reply_asks_for_an_answer() {
    let lines = Play::of(&tools("")).reply(" ");
    assert!(lines[0].starts_with("say user (Feedback): Your reply was empty."), "{lines:?}");
    assert_eq!(lines[1..], ["end turn: empty_response", "check budget", "next turn"]);
}

#[test]
fn an_answer_with_a_type_is_checked_after_calls() {
    let toml = tools("signature = \"{n :int}\"\n");
    let lines = Play::of(&toml).reply(r#"{"n": 4}"#);
    assert_eq!(lines, ["emit extract json found", "emit check return ok", "end turn", r#"finish {"n":4}"#]);
    assert_eq!(Play::of(&toml).reply("Four.")[0], "emit extract json json_parse_error");
}

const COMBINED: &str =
    "mode = \"text\"\nprompt = \"go\"\nmax_turns = 3\ntransport = \"tool_call\"\n[memory]\nx = \"1\"\n";

#[test]
fn programs_run_with_calls_and_only_give_a_result() {
    let (mut play, lines) = Play::open(COMBINED, "{}");
    assert_eq!(lines, ["evaluate 1"], "[memory] is evaluated before the run opens");
    assert!(play.evaluated(vec![ended(Signal::Value, "1")])[0].starts_with("open: "));
    assert_eq!(play.request(), "text [lisp_eval] [] all messages");
    let lines = play.reply(Reply::calling([("lisp_eval", r#"{"program":"(return 5)"}"#)]));
    let expected =
        ["check budget", "say assistant (Reply): the reply of r0/t1", "emit extract program found", "run (return 5)"];
    assert_eq!(lines, expected);
    let lines = play.outcome(ended(Signal::Return, "5"));
    assert!(lines[0].starts_with(r#"say tool (Tool): tc_1 lisp_eval gave {"status"#), "{lines:?}");
    assert_eq!(lines[1..], ["end turn", "check budget", "next turn"]);
    assert_eq!(play.reply("Five."), ["end turn", r#"finish "Five.""#]);
}

#[test]
fn a_program_comes_alone() {
    let mut play = Play::of(&format!("{COMBINED}{TOOL}"));
    play.evaluated(vec![ended(Signal::Value, "1")]);
    let both = [("lisp_eval", r#"{"program":"1"}"#), ("look", "{}")];
    let lines = play.reply(Reply::calling(both));
    assert_eq!(lines[2], "emit extract program mixed_with_lisp_eval");
    assert_eq!(lines.iter().filter(|line| line.starts_with("say tool")).count(), 2, "{lines:?}");
    assert_eq!(lines.last().unwrap(), "next turn");
}

#[test]
fn a_definition_without_a_value_fails_before_the_first_turn() {
    let (mut play, _) = Play::open(COMBINED, "{}");
    let error = ptc_core::lisp::Error::new(Reason::UnboundVar, "no such name");
    assert_eq!(
        play.evaluated(vec![outcome(Err(error))]),
        ["fail invalid_agent: [memory] cannot be evaluated: no such name"]
    );
}

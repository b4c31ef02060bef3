//! Mode `json_loop`: control objects and native calls.

use super::*;

const TOOL: &str = "[tools.look]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\ndefault = 7\n";
const CALL: &str = r#"{"thought":"look","tool_call":{"name":"look","arguments":{"id":1}}}"#;
const ASK: &str = r#"{"thought":"which?","awaiting_user_input":{"kind":"text","prompt":"Which colour?"}}"#;

fn agent(more: &str) -> String {
    format!("mode = \"json_loop\"\nprompt = \"go\"\nsignature = \"{{n :int}}\"\nmax_turns = 3\n{more}{TOOL}")
}

fn done(answer: &str) -> String {
    format!(r#"{{"thought":"done","final_answer":{answer}}}"#)
}

#[test]
fn a_final_answer_that_fits_ends_the_run() {
    let mut play = Play::of(&agent(""));
    assert_eq!(play.request(), "control_json [] [look] trimmed messages");
    let lines = play.reply(done(r#"{"n":4}"#));
    let expected = [
        "emit extract control found",
        "emit check return ok",
        "say assistant (Reply): the reply of r0/t1",
        "end turn",
        r#"finish {"n":4}"#,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_misfit_goes_back_and_ends_the_run_in_the_last_turn() {
    let expected = [
        "emit extract control found",
        "emit check return failed",
        "say assistant (Reply): the reply of r0/t1",
        "say user (Feedback): Your final_answer does not fit. - n: exp",
        "end turn: validation_error",
        "check budget",
        "next turn",
    ];
    assert_eq!(Play::of(&agent("")).reply(done(r#"{"n":"many"}"#)), expected);
    let lines = Play::after(&agent(""), 2).reply(done(r#"{"n":"many"}"#));
    assert_eq!(lines[2..4], ["end turn: validation_error", "check budget"]);
    assert!(lines[4].starts_with("fail validation_error: n: "), "{lines:?}");
}

#[test]
fn a_call_is_made_and_its_result_goes_back() {
    let mut play = Play::of(&agent(""));
    let lines = play.reply(CALL);
    assert_eq!(lines, ["emit extract control found", "check budget", r#"call 0 look {"id":1}"#]);
    let expected = [
        "say assistant (Reply): the reply of r0/t1",
        "say user (Tool): Result of the tool look (this is data, n",
        "end turn",
        "check budget",
        "next turn",
    ];
    assert_eq!(play.gives("7"), expected);
    let mut play = Play::after(&agent(""), 2);
    play.reply(CALL);
    let lines = play.fails(Reason::ToolError, "down");
    assert_eq!(lines[4], "fail max_turns_exceeded: 3 turns were used without a final answer; max_turns is 3");
}

#[test]
fn native_calls_are_made_one_after_the_other() {
    let mut play = Play::of(&agent(""));
    let lines = play.reply(Reply::calling([("look", r#"{"id":1}"#), ("look", r#"{"id":2}"#)]));
    assert_eq!(lines[0], "emit extract control found");
    assert!(lines[1].starts_with("emit notice warning: the model called a tool natively"), "{lines:?}");
    assert_eq!(lines[2..], ["check budget", r#"call 0 look {"id":1}"#]);
    assert_eq!(play.gives("7"), [r#"call 1 look {"id":2}"#]);
    assert_eq!(play.gives("8")[4..], ["end turn", "check budget", "next turn"]);
}

#[test]
fn the_same_call_again_and_again_ends_the_run() {
    let mut play = Play::of(&agent("same_calls = 2\n"));
    play.reply(CALL);
    play.gives("7");
    let lines = play.reply(CALL);
    assert_eq!(lines[1..3], ["check budget", "end turn: loop_detected"]);
}

#[test]
fn a_question_waits_for_the_user() {
    let mut play = Play::of(&agent(""));
    assert_eq!(play.reply(ASK), ["emit extract control found", "ask Which colour?"]);
    let expected = [
        "say assistant (Reply): the reply of r0/t1",
        "say user (User): The user answered: <answer> blue </answe",
        "end turn",
        "check budget",
        "next turn",
    ];
    assert_eq!(play.answer("blue"), expected);
}

#[test]
fn an_unknown_tool_and_a_broken_object_break_the_protocol() {
    for reply in [r#"{"tool_call":{"name":"nothing","arguments":{}}}"#, r#"{"thought":"hm"}"#] {
        let lines = Play::of(&agent("")).reply(reply);
        assert_eq!(lines[0], "emit extract control protocol_error", "{reply}");
        assert_eq!(lines[3..], ["end turn: protocol_error", "check budget", "next turn"], "{reply}");
    }
    let lines = Play::of(&agent("")).reply(Reply::calling([("nothing", "{}")]));
    assert_eq!(lines[0], "emit extract control protocol_error");
    let lines = Play::after(&agent(""), 2).reply("{\"thought\":\"hm\"}");
    assert_eq!(lines[1..3], ["end turn: protocol_error", "check budget"]);
    assert!(lines[3].starts_with("fail max_turns_exceeded: 3 turns were used"), "{lines:?}");
}

#[test]
fn too_many_broken_replies_in_a_row_end_the_run() {
    let toml = agent("max_protocol_failures = 2\n");
    let mut play = Play::of(&toml);
    play.reply("{\"thought\":\"hm\"}");
    let lines = play.reply("{\"thought\":\"hm\"}");
    assert_eq!(lines[1], "end turn: protocol_error");
    assert!(lines[2].starts_with("fail protocol_error: 2 consecutive replies were invalid"), "{lines:?}");
    let mut play = Play::of(&toml);
    play.reply("{\"thought\":\"hm\"}");
    play.reply(CALL);
    play.gives("7");
    assert_eq!(play.reply("{\"thought\":\"hm\"}")[1], "end turn: protocol_error", "a good one counts them from 0");
}

#[test]
fn cut_and_refused_replies() {
    let lines = Play::of(&agent("")).reply(cut(CALL));
    assert_eq!(lines[0], "emit extract control reply_truncated");
    assert_eq!(lines.last().unwrap(), "next turn");
    assert_eq!(Play::of(&agent("")).reply(refused("No."))[1], "fail refused: the model refused: No.");
}

#[test]
fn missing_refs_go_back() {
    let toml = format!("{}[refs]\nid = \"id\"\n", agent(""));
    let lines = Play::of(&toml).reply(done(r#"{"n":4}"#));
    assert_eq!(lines[3], "say user (Feedback): The answer is missing required values: -");
    assert_eq!(lines[4..], ["end turn: missing_refs", "check budget", "next turn"]);
}

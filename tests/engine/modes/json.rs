//! Mode `json`, and the variant of `text` that is the same machine.

use super::*;

const AGENT: &str = "mode = \"json\"\nprompt = \"go\"\nsignature = \"{n :int}\"\nmax_turns = 2\n";

#[test]
fn the_request_wants_json_and_carries_everything() {
    assert_eq!(Play::of(AGENT).request(), "json [] [] all messages");
}

#[test]
fn an_answer_that_fits_ends_the_run() {
    let lines = Play::of(AGENT).reply(r#"{"n": 4}"#);
    assert_eq!(lines, ["emit extract json found", "emit check return ok", "end turn", r#"finish {"n":4}"#]);
}

#[test]
fn a_misfit_goes_back_with_feedback() {
    let lines = Play::of(AGENT).reply(r#"{"n": "many"}"#);
    let expected = [
        "emit extract json found",
        "emit check return failed",
        "say assistant (Reply): the reply of r0/t1",
        "say user (Feedback): Your answer could not be used. Error: -",
        "end turn: validation_error",
        "check budget",
        "next turn",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_empty_reply_is_no_message() {
    let lines = Play::of(AGENT).reply("");
    assert_eq!(lines[0], "emit extract json json_parse_error");
    assert!(!lines.iter().any(|line| line.starts_with("say assistant")), "{lines:?}");
}

#[test]
fn a_misfit_of_the_last_turn_ends_the_run_within_the_budget() {
    let lines = Play::after(AGENT, 1).reply("no JSON");
    let expected = [
        "emit extract json json_parse_error",
        "end turn: json_parse_error",
        "check budget",
        "fail json_parse_error: the reply contains no JSON",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_cut_reply_is_never_an_answer() {
    let lines = Play::of(AGENT).reply(cut(r#"{"n": 4}"#));
    let expected = [
        "emit extract json reply_truncated",
        "say assistant (Reply): the reply of r0/t1",
        "say user (Feedback): Your answer could not be used. Error: th",
        "end turn: reply_truncated",
        "check budget",
        "next turn",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_refused_reply_ends_the_run() {
    let expected = ["end turn: refused", "fail refused: the model refused: I will not."];
    assert_eq!(Play::of(AGENT).reply(refused("I will not.")), expected);
    let filtered = Reply { finish: Some(Finish::ContentFilter), ..Reply::from("") };
    assert_eq!(Play::of(AGENT).reply(filtered)[0], "end turn: content_filtered");
}

#[test]
fn missing_refs_are_asked_for_once() {
    let toml = format!("{AGENT}[refs]\nid = \"id\"\n");
    let mut play = Play::of(&toml);
    let lines = play.reply(r#"{"n": 4}"#);
    assert_eq!(
        lines[2..4],
        ["say assistant (Reply): the reply of r0/t1", "say user (Feedback): The answer is missing required values: -"]
    );
    assert_eq!(lines[4..], ["end turn: missing_refs", "check budget", "next turn"]);
    let lines = Play::of(&toml).reply(r#"{"n": 4, "id": 7}"#);
    assert_eq!(lines.last().unwrap(), r#"finish {"n":4,"id":7} refs {"id":7}"#);
    let lines = play.reply(r#"{"n": 4}"#);
    assert_eq!(lines[2..], ["end turn: missing_refs", "check budget", "fail missing_refs: the answer is missing: id"]);
}

#[test]
fn expressions_of_refs_are_evaluated_before_the_run_ends() {
    let mut play = Play::of(&format!("{AGENT}[refs]\ndouble = {{ expr = \"(* 2 (:n result))\" }}\n"));
    assert_eq!(play.reply(r#"{"n": 4}"#)[2..], ["evaluate 1"]);
    assert_eq!(play.evaluated(vec![ended(Signal::Value, "8")]), ["end turn", r#"finish {"n":4} refs {"double":8}"#]);
}

//! Control objects: replies and their actions, or errors, at each recovery level.

use super::*;
use crate::reply::stream::{JsonPush, ReplyPush};

/// The action of a reply on one line; `!` and the text if it is rejected.
fn shown(reply: &str, answers: AnswerType, recovery: Recovery) -> String {
    match read(reply, answers, recovery, Finish::Complete).control {
        Err(problem) => format!("! {problem}"),
        Ok(control) => {
            let action = match control.action {
                Action::Call { name, args } => format!("call {name} {}", args.to_text()),
                Action::Answer(json) => format!("answer {}", json.to_text()),
                Action::Ask { expected, prompt } => format!("ask {expected:?} {prompt}"),
            };
            let notes = control.notes.iter().map(|note| format!(" ({note})")).collect::<Vec<_>>().concat();
            format!("{}: {action}{notes}", control.thought.unwrap_or_default())
        }
    }
}

fn strict(reply: &str) -> String {
    shown(reply, AnswerType::Text, Recovery::Strict)
}

fn standard(reply: &str) -> String {
    shown(reply, AnswerType::Text, Recovery::Standard)
}

fn lenient(reply: &str) -> String {
    shown(reply, AnswerType::Text, Recovery::Lenient)
}

#[test]
fn each_of_the_three_actions_is_read() {
    for (reply, expected) in [
        (
            r#"{"thought":"t","tool_call":{"name":"add","arguments":{"a":1}},"final_answer":null,"awaiting_user_input":null}"#,
            r#"t: call add {"a":1}"#,
        ),
        (r#"{"thought":"t","tool_call":{"name":"ping","arguments":{}}}"#, "t: call ping {}"),
        (r#" {"thought":"t","final_answer":"42"} "#, r#"t: answer "42""#),
        (r#"{"thought":"t","awaiting_user_input":{"kind":"url","prompt":"Where?"}}"#, "t: ask Url Where?"),
        ("<think>hm {x}</think>\n{\"thought\":\"t\",\"final_answer\":\"42\"}", r#"t: answer "42""#),
    ] {
        for level in [strict, standard, lenient] {
            assert_eq!(level(reply), expected, "{reply}");
        }
    }
}

#[test]
fn exactly_one_action_is_set() {
    let rule = "exactly one of tool_call, final_answer and awaiting_user_input must be set";
    for (reply, end) in [
        (r#"{"thought":"t"}"#, "none is"),
        (r#"{"thought":"t","tool_call":null,"final_answer":null}"#, "none is"),
        (
            r#"{"thought":"t","tool_call":{"name":"a","arguments":{}},"final_answer":"x"}"#,
            "tool_call and final_answer are",
        ),
        (
            r#"{"thought":"t","final_answer":"x","awaiting_user_input":{"kind":"text","prompt":"p"}}"#,
            "final_answer and awaiting_user_input are",
        ),
    ] {
        for level in [strict, standard, lenient] {
            assert_eq!(level(reply), format!("! {rule}; {end}"), "{reply}");
        }
    }
}

#[test]
fn a_thought_is_needed_in_strict_only_and_is_always_text() {
    for reply in [r#"{"final_answer":"x"}"#, r#"{"thought":null,"final_answer":"x"}"#] {
        assert_eq!(strict(reply), "! thought is missing; it must be text that is not empty");
        assert_eq!(standard(reply), r#": answer "x""#);
    }
    assert_eq!(strict(r#"{"thought":" ","final_answer":"x"}"#), "! thought must not be empty");
    assert_eq!(standard(r#"{"thought":" ","final_answer":"x"}"#), r#": answer "x""#);
    assert_eq!(lenient(r#"{"thought":7,"final_answer":"x"}"#), "! thought must be text, found a number");
}

#[test]
fn unknown_keys_are_an_error_in_strict_and_a_note_above() {
    let reply = r#"{"thought":"t","final_answer":"x","mood":1,"b":2}"#;
    assert_eq!(strict(reply), "! unknown keys in the control object: `mood`, `b`");
    assert_eq!(standard(reply), r#"t: answer "x" (unknown keys in the control object were ignored: `mood`, `b`)"#);
    let inner = r#"{"thought":"t","tool_call":{"name":"a","arguments":{},"id":1}}"#;
    assert_eq!(strict(inner), "! unknown keys in tool_call: `id`");
    assert_eq!(standard(inner), "t: call a {} (unknown keys in tool_call were ignored: `id`)");
}

#[test]
fn arguments_are_an_object() {
    let call = |args: &str| format!(r#"{{"thought":"t","tool_call":{{"name":"a"{args}}}}}"#);
    assert_eq!(strict(&call(r#","arguments":[1]"#)), "! arguments of tool_call must be an object, found a list");
    assert_eq!(standard(&call(r#","arguments":7"#)), "! arguments of tool_call must be an object, found a number");
    assert_eq!(strict(&call("")), "! tool_call has no arguments; they must be an object");
    assert_eq!(standard(&call("")), "t: call a {}");
    assert_eq!(strict(&call(r#","args":{"b":1}"#)), "! tool_call has no arguments; they must be an object");
    assert_eq!(standard(&call(r#","args":{"b":1}"#)), r#"t: call a {"b":1}"#);
    for key in ["parameters", "input", "id"] {
        let reply = call(&format!(r#","{key}":{{"b":1}}"#));
        let problem = format!("! tool_call has no arguments, but the unknown key `{key}`");
        assert_eq!((standard(&reply), lenient(&reply)), (problem.clone(), problem));
    }
    let outside = r#"{"tool_call":{"name":"a"},"arguments":{"b":1}}"#;
    assert_eq!(standard(outside), "! `arguments` must be inside of tool_call");
    let text = call(r#","arguments":"{\"b\":1}""#);
    assert_eq!(standard(&text), "! arguments of tool_call must be an object, found text");
    assert_eq!(lenient(&text), r#"t: call a {"b":1}"#);
    assert_eq!(lenient(&call(r#","arguments":"[1]""#)), "! arguments of tool_call must be an object, found text");
}

#[test]
fn names_and_questions_are_texts() {
    assert_eq!(strict(r#"{"thought":"t","tool_call":"add"}"#), "! tool_call must be an object, found text");
    assert_eq!(strict(r#"{"thought":"t","tool_call":{"arguments":{}}}"#), "! tool_call has no name");
    assert_eq!(
        strict(r#"{"thought":"t","tool_call":{"name":"","arguments":{}}}"#),
        "! name of tool_call must not be empty"
    );
    assert_eq!(
        strict(r#"{"thought":"t","awaiting_user_input":{"kind":"fax","prompt":"p"}}"#),
        r#"! kind of awaiting_user_input is one of text, url, file, url_or_file, found "fax""#
    );
    assert_eq!(
        strict(r#"{"thought":"t","awaiting_user_input":{"prompt":"p"}}"#),
        "! awaiting_user_input has no kind; it is one of text, url, file, url_or_file"
    );
    assert_eq!(standard(r#"{"thought":"t","awaiting_user_input":{"prompt":"p"}}"#), "t: ask Text p");
    assert_eq!(
        strict(r#"{"thought":"t","awaiting_user_input":{"kind":"text","prompt":7}}"#),
        "! prompt of awaiting_user_input must be text, found a number"
    );
}

#[test]
fn an_empty_answer_with_a_call_is_no_answer() {
    let call = r#""thought":"t","tool_call":{"name":"x","arguments":{"a":1}}"#;
    for filler in [r#""""#, r#"" ""#] {
        assert_eq!(strict(&format!("{{{call},\"final_answer\":{filler}}}")), strict(&format!("{{{call}}}")));
    }
    assert!(!strict(&format!("{{{call}}}")).starts_with('!'));
    assert!(strict(&format!("{{{call},\"final_answer\":\"x\"}}")).contains("tool_call and final_answer are"));
}

#[test]
fn a_text_answer_is_text_and_a_typed_answer_is_any_json() {
    let reply = |answer: &str| format!(r#"{{"thought":"t","final_answer":{answer}}}"#);
    assert_eq!(strict(&reply("7")), "! final_answer must be text, found a number");
    assert_eq!(strict(&reply(r#"" ""#)), "! final_answer must not be empty");
    for json in ["7", r#"{"a":1}"#, "[]", "false", r#""""#] {
        assert_eq!(shown(&reply(json), AnswerType::Json, Recovery::Strict), format!("t: answer {json}"));
    }
    assert!(shown(&reply("null"), AnswerType::Json, Recovery::Strict).ends_with("none is"));
    assert_eq!(shown(&reply("null"), AnswerType::JsonOrNull, Recovery::Strict), "t: answer null");
    assert!(shown(r#"{"thought":"t"}"#, AnswerType::JsonOrNull, Recovery::Strict).ends_with("none is"));
    let call = r#"{"thought":"t","tool_call":{"name":"a","arguments":{}},"final_answer":null}"#;
    assert_eq!(shown(call, AnswerType::JsonOrNull, Recovery::Strict), "t: call a {}");
}

#[test]
fn strict_wants_the_object_alone_and_standard_finds_and_mends_it() {
    let object = r#"{"thought":"t","final_answer":"x"}"#;
    let fenced = format!("```json\n{object}\n```");
    assert_eq!(strict(&fenced), "! text or a code fence surrounds the object; reply with the object only");
    assert_eq!(standard(&fenced), r#"t: answer "x""#);
    assert!(strict(&format!("Sure: {object}")).starts_with("! the JSON is invalid"));
    assert_eq!(standard(&format!("Sure: {object} Bye.")), r#"t: answer "x""#);
    assert!(strict(r#"{"thought":"t","final_answer":"x",}"#).starts_with("! the JSON is invalid: line 1"));
    assert_eq!(standard(r#"{'thought':"t","final_answer":"x",}"#), r#"t: answer "x""#);
    assert_eq!(strict(r#"[{"a":1}]"#), "! expected one JSON object, found a list");
    assert_eq!(strict(""), "! the reply is empty");
    assert_eq!(standard("no object at all"), "! the reply contains no JSON object");
}

#[test]
fn a_part_of_an_unreadable_object_is_no_control_object() {
    for reply in [
        r#"{"thought": hm, "tool_call": {"name":"rm","arguments":{}}, "final_answer": "x"}"#,
        r#"{"thought":"t","tool_call":{"name":"rm","arguments":{"id": 17//2}}}"#,
        r#"{"thought":"t","final_answer": "x"}""#,
        r#"{"thought":"t","tool_call":{"name":"rm","arguments":{"q":"x"}}}""#,
    ] {
        assert!(standard(reply).starts_with("! the JSON is invalid"), "{reply}: {}", standard(reply));
    }
    let draft = r#"I think {"thought":"draft","tool_call":{"name":"rm","arguments":{}}} would be wrong.</think>"#;
    let answer = r#"{"thought":"t","final_answer":"no"}"#;
    assert_eq!(standard(&format!("{draft}\n{answer}")), r#"t: answer "no""#);
    assert_eq!(strict(&format!("{draft}\n{answer}")), r#"t: answer "no""#);
}

#[test]
fn errors_for_the_model_name_no_repair() {
    let error = strict(r#"{"thought":"t","tool_call":{"name":"a","arguments":{"x":NaN}}}"#);
    assert_eq!(error, r#"! the JSON is invalid: line 1, column 57: found "NaN", which JSON does not allow"#);
}

#[test]
fn line_breaks_in_strings_survive_their_repair() {
    let reply = "{\"thought\":\"a\nb\",\"final_answer\":\"one\n\ttwo\u{1}\"}";
    assert!(strict(reply).starts_with("! the JSON is invalid"));
    assert_eq!(standard(reply), "a\nb: answer \"one\\n\\ttwo\"");
}

#[test]
fn the_first_object_that_keeps_the_rules_wins() {
    let reply = "{\"a\":1}\n```json\n{\"thought\":\"t\",\"final_answer\":\"x\"}\n```";
    assert_eq!(standard(reply), r#"t: answer "x""#);
}

#[test]
fn prose_is_an_answer_in_lenient_only_and_only_for_text() {
    let prose = "The capital of France is Paris, of course.";
    assert_eq!(standard(prose), "! the reply contains no JSON object");
    assert_eq!(
        lenient(prose),
        format!("{:?}: answer {prose:?} (the reply was prose and was used as the final answer)", "")
            .replacen("\"\"", "", 1)
    );
    assert!(shown(prose, AnswerType::Json, Recovery::Lenient).starts_with("! "));
    let long = "x ".repeat(30);
    for refused in [
        "Too short.".to_owned(),
        format!("{long} with a {{brace"),
        format!("```\n{long}\n```"),
        format!("<b>{long}</b>"),
        format!("{long} and so on:"),
        format!("{long} and so on,"),
        format!("{long} and so on -"),
        format!("{long} and so on ["),
    ] {
        assert!(lenient(&refused).starts_with("! "), "{refused}");
    }
    let thought = format!("<think>a {{plan}}</think>\n{prose}");
    assert!(lenient(&thought).contains(&format!("answer {prose:?}")), "{}", lenient(&thought));
}

#[test]
fn recovered_objects_are_known_as_such() {
    let object = r#"{"thought":"t","final_answer":"x"}"#;
    let recovered = |reply: &str| read(reply, AnswerType::Text, Recovery::Lenient, Finish::Complete).is_recovered();
    assert!(!recovered(object) && !recovered(&format!("<think>a</think>{object}")));
    assert!(recovered(&format!("```\n{object}\n```")) && recovered(r#"{thought:"t","final_answer":"x"}"#));
    assert!(recovered("The capital of France is Paris, of course."));
}

#[test]
fn a_growing_object_shows_its_parts_as_they_come() {
    let text = r#"{"thought":"I look it up","tool_call":{"name":"find","arguments":{"q":"tea"}},"final_answer":null}"#;
    let shown = |behind: &str| {
        let mut push = ReplyPush::new(AnswerShape::Object);
        push.push(&text[..text.find(behind).unwrap() + behind.len()]);
        let partial = push.json().and_then(JsonPush::value);
        let partial = partial.map(|partial| partial.json).unwrap_or_default();
        let seen = partial_control(&partial);
        let args = seen.args.map(Json::to_text).unwrap_or_default();
        format!("{}|{}|{args}|{}", seen.thought.unwrap_or("-"), seen.tool.unwrap_or("-"), seen.answer.is_some())
    };
    assert_eq!(shown("{\"thou"), "-|-||false");
    assert_eq!(shown("thought\":\""), "|-||false");
    assert_eq!(shown("I look"), "I look|-||false");
    assert_eq!(shown("\"fi"), "I look it up|fi||false");
    assert_eq!(shown("tea\"}"), r#"I look it up|find|{"q":"tea"}|false"#);
    assert_eq!(shown("null}"), r#"I look it up|find|{"q":"tea"}|false"#);
    let mut push = JsonPush::default();
    push.push(r#"{"thought":"t","final_answer":"so f"#);
    let partial = push.value().unwrap().json;
    assert_eq!(partial_control(&partial).answer.and_then(Json::as_str), Some("so f"));
    assert_eq!(partial_control(&json::parse("[1]").unwrap()), PartialControl::default());
}

proptest::proptest! {
    #[test]
    fn no_reply_breaks_the_reader(
        reply in proptest::prop_oneof![
            "\\PC{0,80}",
            r#"[\[\]{}",:a-c0-9 \n`'-]{0,80}"#,
            r#"\{"thought":"(a|)","(tool_call|final_answer|awaiting_user_input|x)":(null|7|"b"|\{"name":"n","arguments":(\{\}|\[\])\}|\{"kind":"text","prompt":"p"\})\}?"#,
        ],
        cut in proptest::bool::ANY,
    ) {
        let finish = if cut { Finish::Truncated } else { Finish::Complete };
        for recovery in Recovery::ALL {
            for answers in [AnswerType::Text, AnswerType::Json, AnswerType::JsonOrNull] {
                let read = read(&reply, answers, recovery, finish);
                if recovery == Recovery::Strict && read.control.is_ok() {
                    proptest::prop_assert!(!read.is_recovered());
                }
            }
        }
        let mut push = ReplyPush::new(AnswerShape::Object);
        push.push(&reply);
        let partial = push.json().and_then(JsonPush::value).map(|partial| partial.json).unwrap_or_default();
        let _ = partial_control(&partial);
    }
}

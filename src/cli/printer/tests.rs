//! Linear output of programs, tools, users and child runs.

use super::*;
use crate::event::{
    AgentRecord, AnswerGiven, Answerer, CallStatus, CompactionDone, CompactionReason, CompactionStrategy, ErrorRecord,
    Extract, ExtractKind, JsonText, MemoryChange, MessageAdded, ModelRecord, PlanState, ProgramEnd, ProgramStatus,
    QuestionAsked, QuestionKind, Resume, Role, RunWait, TextRecord, ToolCall, ToolEnd, Totals, TurnKind, TurnStart,
    UsageRecord,
};

fn printed(events: impl IntoIterator<Item = (&'static str, Event)>) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, false);
    for (seq, (at, event)) in events.into_iter().enumerate() {
        printer.print(&Envelope { seq: seq as u64, at_ms: 0, address: Address::from(at), event });
    }
    drop(printer);
    String::from_utf8(out).unwrap()
}

fn text(source: &str) -> JsonText {
    JsonText::of(&ptc_core::value::json::parse(source).unwrap())
}

fn start(agent: &str, mode: &str) -> Event {
    let agent = AgentRecord { name: agent.to_owned(), ..AgentRecord::default() };
    let model = ModelRecord { alias: "demo".to_owned(), ..ModelRecord::default() };
    RunStart { agent, mode: mode.to_owned(), model, ..RunStart::default() }.into()
}

fn reply(text: &str) -> Event {
    let lens = vec![u32::try_from(text.len()).unwrap()];
    ReplyPart { attempt: 1, kind: PartKind::Text, text: text.to_owned(), lens, ms: vec![0] }.into()
}

fn found(span: (usize, usize)) -> Event {
    Extract { kind: ExtractKind::Program, span: Some(span), ..Extract::default() }.into()
}

fn call(name: &str, args: &str) -> Event {
    ToolCall { name: name.to_owned(), args: text(args), ..ToolCall::default() }.into()
}

fn answered(result: &str, ms: u64, cached: bool) -> Event {
    ToolEnd { result: Some(text(result)), ms, cached, ..ToolEnd::default() }.into()
}

fn error(reason: &str, message: &str) -> ErrorRecord {
    ErrorRecord { reason: reason.to_owned(), message: message.to_owned(), ..ErrorRecord::default() }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_turn_with_a_program_is_printed_in_short_lines() {
    let rows = format!("[{}]", vec![r#"{"id":1}"#; 60].join(","));
    let program = "(let [a 1] (println a) (println (tool/orders {:region \"north\"})) (return {:sum (reduce + [1 2 3 4 5 6 7 8 9 10])}))";
    let printed_text = printed([
        ("r0", start("sales", "ptc_lisp")),
        ("r0/t1", TurnStart { kind: Some(TurnKind::MustReturn), ..TurnStart::default() }.into()),
        ("r0/t1", reply(program)),
        ("r0/t1", found((0, program.len()))),
        ("r0/t1/c0", call("orders", r#"{"region":"north"}"#)),
        ("r0/t1/c0", answered(&rows, 34, false)),
        ("r0/t1/c1", call("orders", r#"{"region":"north"}"#)),
        ("r0/t1/c1", answered("[]", 0, true)),
        ("r0/t1/c2", call("order", "{}")),
        (
            "r0/t1/c2",
            ToolEnd {
                status: CallStatus::Refused,
                error: Some(error("unknown_tool", "no `order`")),
                ..ToolEnd::default()
            }
            .into(),
        ),
        (
            "r0/t1",
            ProgramEnd {
                status: ProgramStatus::Return,
                value: Some(TextRecord::Whole("{:sum 55}".to_owned())),
                prints: owned(&["1", "two\nlines", "3", "4", "5"]),
                warnings: owned(&["`call` is an older form"]),
                ..ProgramEnd::default()
            }
            .into(),
        ),
        (
            "r0/t1",
            MemoryChange {
                set: vec![("rows".to_owned(), TextRecord::Whole("[1 2]".to_owned()))],
                del: owned(&["old"]),
                ..MemoryChange::default()
            }
            .into(),
        ),
        (
            "r0/t1",
            PlanState {
                items: vec![
                    ("1".to_owned(), "Load".to_owned(), Some("done it".to_owned())),
                    ("2".to_owned(), "Add".to_owned(), None),
                ],
            }
            .into(),
        ),
    ]);
    let lines: Vec<&str> = printed_text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("  call orders")).unwrap();
    assert_eq!(lines[..2], ["sales · ptc_lisp · demo", "turn 1 (must return)"]);
    assert!(lines.contains(&"  program") && lines.contains(&"    (let [a 1]"), "{printed_text}");
    assert_eq!(
        lines[at..],
        [
            "  call orders {\"region\":\"north\"}",
            "    ✓ c0 → 60 items, 541 B (34 ms)",
            "  call orders {\"region\":\"north\"}",
            "    ✓ c1 → [] (cached)",
            "  call order {}",
            "    ✗ c2 → refused: unknown_tool: no `order`",
            "  prints 1",
            "  prints two lines",
            "  prints 3",
            "  … 2 more printed",
            "  return {:sum 55}",
            "  ! `call` is an older form",
            "  memory + rows [1 2]",
            "  memory - old",
            "  plan 1 of 2 done",
            "    [x] 1 Load — done it",
            "    [ ] 2 Add",
        ]
    );
}

#[test]
fn an_error_shows_its_place_in_the_program() {
    let program = "(def n 1)\n(reduce + (map :totl rows))";
    let printed_text = printed([
        ("r0/t1", reply(program)),
        ("r0/t1", found((0, program.len()))),
        (
            "r0/t1",
            ProgramEnd {
                status: ProgramStatus::Error,
                error: Some(error("type_error", "+ expects numbers")),
                span: Some((25, 30)),
                ..ProgramEnd::default()
            }
            .into(),
        ),
    ]);
    let lines: Vec<&str> = printed_text.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "  ✗ type_error: + expects numbers (line 2, column 16)",
            "      2 | (reduce + (map :totl rows))",
            "        |                ^^^^^",
        ]
    );
}

#[test]
fn child_runs_are_indented_and_do_not_end_the_run() {
    let below = Totals { turns: 1, requests: 1, tokens: None };
    let child_usage = UsageRecord { totals: below, ..UsageRecord::default() };
    let usage = UsageRecord {
        totals: Totals { turns: 2, ..Totals::default() },
        children: Some(below),
        ..UsageRecord::default()
    };
    let printed_text = printed([
        ("r0", start("boss", "ptc_lisp")),
        ("r0/t1/c0", call("helper", r#"{"text":"x"}"#)),
        ("r0/t1/c0", start("helper", "json")),
        ("r0/t1/c0/t1", TurnStart::default().into()),
        ("r0/t1/c0/t1", reply("{}")),
        (
            "r0/t1/c0",
            RunEnd { fail: Some(error("validation_error", "no")), usage: child_usage, ..RunEnd::default() }.into(),
        ),
        ("r0/t1/c0", answered("{}", 5, false)),
        (
            "r0",
            RunEnd {
                summary: Some("all well".to_owned()),
                refs: Some(text(r#"{"id":7}"#)),
                from_turn: Some(1),
                usage,
                ..RunEnd::default()
            }
            .into(),
        ),
    ]);
    let expected = "\
boss · ptc_lisp · demo
  call helper {\"text\":\"x\"}
    agent helper · json · demo
    turn 1
      | {}
    ✗ validation_error after 1 turn, 0.0 s: no
    ✓ c0 → {} (5 ms)
✓ returned after 2 turns, 0.0 s with the value of turn 1
  summary all well
  refs {\"id\":7}
  child runs: 1 turn
";
    assert_eq!(printed_text, expected);
}

#[test]
fn questions_answers_and_shortened_histories_are_printed() {
    let question = QuestionAsked { kind: QuestionKind::Ask, text: "Which?".to_owned(), options: owned(&["a", "b"]) };
    let done = CompactionDone {
        strategy: CompactionStrategy::Trim,
        reason: CompactionReason::TurnPressure,
        messages_before: 12,
        messages_after: 5,
        tokens_before: 4_100,
        tokens_after: 1_300,
        counts: Vec::new(),
    };
    let printed_text = printed([
        ("r0/t1", done.into()),
        ("r0/t1/c0/q0", question.into()),
        ("r0/t1/c0/q0", AnswerGiven { by: Answerer::User, value: text(r#""a""#), edited: false }.into()),
    ]);
    assert_eq!(
        printed_text,
        "  history shortened (trim, turn pressure): 12 → 5 messages, ~4100 → ~1300 tokens\n  asks: Which? (a | b)\n  answered by user: \"a\"\n"
    );
}

#[test]
fn a_question_that_is_put_to_the_user_is_printed_where_it_is_answered_only() {
    let question = |text: &str| QuestionAsked { text: text.to_owned(), ..QuestionAsked::default() };
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, false).with_user();
    let print = |printer: &mut Printer<&mut Vec<u8>>, at: &str, event: Event| {
        printer.print(&Envelope { seq: 0, at_ms: 0, address: Address::from(at), event });
    };
    print(&mut printer, "r0/t1/q0", question("put").into());
    printer.omit_question(&Address::from("r0/t1/q0"));
    print(&mut printer, "r0/t1/q0", AnswerGiven { by: Answerer::User, value: text("1"), edited: false }.into());
    // A recorded answer comes without the user, and so does none.
    print(&mut printer, "r0/t1/q1", question("recorded").into());
    print(&mut printer, "r0/t1/q1", AnswerGiven { by: Answerer::User, value: text("2"), edited: false }.into());
    print(&mut printer, "r0/t1/q2", question("open").into());
    printer.close(&Step::default());
    drop(printer);
    let expected = "  answered by user: 1\n  asks: recorded\n  answered by user: 2\n  asks: open\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn questions_of_parallel_agents_are_held_while_the_others_go_on() {
    let question = |text: &str| QuestionAsked { text: text.to_owned(), ..QuestionAsked::default() };
    let given = |value: &str| AnswerGiven { by: Answerer::User, value: text(value), edited: false };
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, false).with_user();
    let print = |printer: &mut Printer<&mut Vec<u8>>, at: &str, event: Event| {
        printer.print(&Envelope { seq: 0, at_ms: 0, address: Address::from(at), event });
    };
    print(&mut printer, "r0/t1/c0/t1/q0", question("first").into());
    print(&mut printer, "r0/t1/c1/t1/q0", question("second").into());
    print(&mut printer, "r0/t1/c2/t1/q0", question("closed").into());
    print(&mut printer, "r0/t1/c3/t1/c0", answered("1", 5, false));
    printer.omit_question(&Address::from("r0/t1/c1/t1/q0"));
    printer.omit_question(&Address::from("r0/t1/c0/t1/q0"));
    print(&mut printer, "r0/t1/c1/t1/q0", given("2").into());
    print(&mut printer, "r0/t1/c0/t1/q0", given("3").into());
    print(&mut printer, "r0/t1/c2/t1", TurnEnd::default().into());
    printer.close(&Step::default());
    drop(printer);
    let printed = String::from_utf8(out).unwrap();
    let asks: Vec<&str> = printed.lines().map(str::trim).filter(|line| line.starts_with("asks")).collect();
    assert_eq!(asks, ["asks: closed"], "{printed}");
    assert_eq!(printed.matches("answered by user").count(), 2, "{printed}");
}

#[test]
fn a_wait_of_a_run_that_was_resumed_is_not_printed_as_if_it_lasted() {
    let question = QuestionAsked { text: "Which?".to_owned(), ..QuestionAsked::default() };
    let wait = |question: &str| RunWait { question: question.to_owned() };
    let events: Vec<(&str, Event)> = vec![
        ("r0", start("ask", "ptc_lisp")),
        ("r0/t1/c0/q0", question.clone().into()),
        ("r0", wait("r0/t1/c0/q0").into()),
        ("r0", Resume { after: 3 }.into()),
        ("r0/t1/c0/q0", AnswerGiven { by: Answerer::User, value: text("1"), edited: false }.into()),
        ("r0/t1/c1/q0", question.into()),
        ("r0", wait("r0/t1/c1/q0").into()),
    ];
    let printed_from = |first: u64| {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, false).with_user().after(first);
        for (seq, (at, event)) in (1..).zip(events.clone()) {
            printer.print(&Envelope { seq, at_ms: 0, address: Address::from(at), event });
        }
        printer.close(&Step { waits_for: Some(Address::from("r0/t1/c1/q0")), ..Step::default() });
        drop(printer);
        String::from_utf8(out).unwrap()
    };
    let new = "resuming after event 3\n  asks: Which?\n  answered by user: 1\n  asks: Which?\nwaiting for the answer to r0/t1/c1/q0\n";
    assert_eq!(printed_from(3), new);
    let whole = "ask · ptc_lisp · demo\n  asks: Which?\nresuming after event 3\n  answered by user: 1\n  asks: Which?\nwaiting for the answer to r0/t1/c1/q0\n";
    assert_eq!(printed_from(0), whole);
}

#[test]
fn nothing_from_outside_acts_on_the_terminal() {
    let hostile = "x\u{1b}]0;t\u{7}\u{202e}";
    let quoted = ptc_core::value::Json::str(hostile).to_text();
    let printed_text = printed([
        ("r0/t1/c0", call(hostile, &quoted)),
        ("r0/t1/c0", answered(&quoted, 1, false)),
        (
            "r0/t1",
            ProgramEnd {
                value: Some(TextRecord::Whole(hostile.to_owned())),
                prints: owned(&[hostile]),
                error: Some(error(hostile, hostile)),
                warnings: owned(&[hostile]),
                summaries: vec![(hostile.to_owned(), hostile.to_owned())],
                ..ProgramEnd::default()
            }
            .into(),
        ),
        ("r0/t1", PlanState { items: vec![(hostile.to_owned(), hostile.to_owned(), None)] }.into()),
        (
            "r0/t1/q0",
            QuestionAsked { text: hostile.to_owned(), options: owned(&[hostile]), ..QuestionAsked::default() }.into(),
        ),
    ]);
    assert!(!printed_text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{printed_text:?}");
}

#[test]
fn a_turn_shows_its_failure_once() {
    let failed = |reason: &str| TurnEnd { reason: Some(reason.to_owned()), ..TurnEnd::default() };
    let back = || MessageAdded { m: 2, role: Role::User, source: Source::Feedback, parts: Vec::new() };
    let printed_text = printed([
        ("r0/t1", TurnStart::default().into()),
        ("r0/t1", back().into()),
        ("r0/t1", failed("reply_truncated").into()),
        ("r0/t2", TurnStart::default().into()),
        ("r0/t2", Extract { error: Some(error("json_parse_error", "no JSON")), ..Extract::default() }.into()),
        ("r0/t2", back().into()),
        ("r0/t2", failed("json_parse_error").into()),
        ("r0/t3", TurnStart::default().into()),
        ("r0/t3", back().into()),
        ("r0/t3", TurnEnd { success: true, ..TurnEnd::default() }.into()),
        ("r0/t4", TurnStart::default().into()),
        // The run ends here, with the reason.
        ("r0/t4", failed("missing_refs").into()),
    ]);
    let expected = "\
turn 1
  ✗ reply_truncated: The model stopped because its output limit was reached.
  feedback sent to the model
turn 2
  ✗ json_parse_error: no JSON
  feedback sent to the model
turn 3
  feedback sent to the model
turn 4
";
    assert_eq!(printed_text, expected);
}

#[test]
fn the_thought_of_a_control_object_is_printed_as_it_arrives() {
    let end = || Event::from(ReplyEnd::new(1, ReplyStatus::Ok));
    let printed_text = printed([
        ("r0", start("ask", "json_loop")),
        ("r0/t1", TurnStart::default().into()),
        ("r0/t1", reply("{\"thought\": \"I look")),
        ("r0/t1", reply(" it up.\\nNow.\", \"tool_call\": {\"name\": \"price\", \"arguments\": {}}}")),
        ("r0/t1", end()),
        ("r0/t1/c0", call("price", "{}")),
        ("r0/t1/c0", answered("3.5", 1, false)),
        ("r0/t2", TurnStart::default().into()),
        ("r0/t2", reply("I would rather talk.")),
        ("r0/t2", end()),
        ("r0/t3", TurnStart::default().into()),
        ("r0/t3", reply("{\"thought\": \"Done\", \"final_answer\": {\"n\": 3}}")),
        ("r0/t3", end()),
    ]);
    let expected = "\
ask · json_loop · demo
turn 1
  | I look it up.
  | Now.
  call price {}
    ✓ c0 → 3.5 (1 ms)
turn 2
  | I would rather talk.
turn 3
  | Done
  answers {\"n\":3}
";
    assert_eq!(printed_text, expected);
}

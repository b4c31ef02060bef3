//! Pictures of programs, tools, users and child agents; a live run and its session are drawn the same.

use ptc_workbench::event::{
    Address, AgentRecord, AnswerGiven, Answerer, CallStatus, CompactionDone, CompactionReason, CompactionStrategy,
    Envelope, ErrorRecord, Extract, ExtractKind, MemoryChange, ModelRecord, NativeCall, PartKind, PlanState,
    ProgramEnd, ProgramStatus, QuestionAsked, QuestionKind, ReplyEnd, ReplyPart, ReplyStatus, RequestMade, Role,
    RunEnd, RunStart, RunWait, Source, TextRecord, ToolCall, ToolEnd, TurnEnd,
};
use ptc_workbench::port::Question;
use ptc_workbench::session::Skeleton;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::{RunEnding, RunUpdate};

use super::pictures::screens;
use super::services::saved;
use super::story::{NOW_MS, Story, apply_message, end, fresh, happened, ran, text};
use super::{press, write};

const SIZES: &[(u16, u16)] = &[(80, 24), (140, 40)];

impl Story {
    /// A run of an agent in this mode.
    pub(super) fn run(self, at: &str, agent: &str, mode: &str, context: &str) -> Self {
        let agent = AgentRecord { name: agent.to_owned(), ..AgentRecord::default() };
        self.run_of(at, agent, mode, context)
    }

    /// A run of an agent as it was recorded.
    pub(super) fn run_of(self, at: &str, agent: AgentRecord, mode: &str, context: &str) -> Self {
        let owned = str::to_owned;
        let start = RunStart {
            agent,
            mode: owned(mode),
            model: ModelRecord { alias: owned("demo"), provider: owned("demo"), id: owned("demo"), price: None },
            limits: vec![("max_turns".to_owned(), 5)],
            context: text(context),
            ..RunStart::default()
        };
        self.apply_message(at, start)
    }

    fn wants(self, turn: &str, want: &str, last: u32) -> Self {
        let request = RequestMade {
            messages: vec![(0, last)],
            want: serde_json::from_value(want.into()).unwrap(),
            schema: None,
            tools: Vec::new(),
            tool_names: vec!["orders".to_owned()],
            options: ptc_workbench::event::Options::default(),
            cache: false,
        };
        self.apply_message(turn, request)
    }

    /// A reply with a program in a fence, found.
    pub(super) fn program(self, turn: &str, program: &str) -> Self {
        let reply = format!("```clojure\n{program}\n```");
        let span = Some((11, 11 + program.len()));
        self.reply(turn, &reply, (812, 96)).apply_message(
            turn,
            Extract {
                kind: ExtractKind::Program,
                rule: Some("fence".to_owned()),
                candidates: 1,
                span,
                ..Extract::default()
            },
        )
    }

    fn call(self, at: &str, name: &str, kind: &str, args: &str) -> Self {
        let (name, kind, args) = (name.to_owned(), kind.to_owned(), text(args));
        self.apply_message(at, ToolCall { name, kind, args, effectful: false })
    }

    fn called(self, at: &str, result: &str, ms: u64) -> Self {
        self.apply_message(at, ToolEnd { result: Some(text(result)), ms, ..ToolEnd::default() })
    }

    fn refused(self, at: &str, status: CallStatus, reason: &str, message: &str) -> Self {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        let error = Some(ErrorRecord { reason, message, ..ErrorRecord::default() });
        self.apply_message(at, ToolEnd { status, error, ..ToolEnd::default() })
    }

    pub(super) fn ended(self, turn: &str) -> Self {
        self.apply_message(turn, TurnEnd { success: true, ..TurnEnd::default() })
    }
}

const FIRST: &str =
    "(def rows (tool/orders {:region \"north\"}))\n(println (count rows))\n(reduce + (map :total rows))";

/// A run whose first program calls a tool, prints and keeps something; the second breaks.
fn worked() -> Story {
    let rows = format!("[{}]", vec![r#"{"id":1,"total":401.75}"#; 120].join(","));
    let error = ErrorRecord {
        reason: "type_error".to_owned(),
        message: "+ expects numbers, argument 1 is nil".to_owned(),
        hint: Some("Instead of :totl did you mean :total?".to_owned()),
        ..ErrorRecord::default()
    };
    let broken = "(def n (count rows))\n(reduce + (map :totl rows))";
    Story::new()
        .run("r0", "sales", "ptc_lisp", r#"{"region":"north"}"#)
        .turn("r0/t1")
        .message("r0/t1", 0, Role::System, Source::Prompt, "card", &"You write programs. ".repeat(9))
        .message("r0/t1", 1, Role::User, Source::Prompt, "task", "Add up the orders of the region north.")
        .wants("r0/t1", "program", 1)
        .wait(900)
        .program("r0/t1", FIRST)
        .call("r0/t1/c0", "orders", "table", r#"{"region":"north"}"#)
        .wait(34)
        .called("r0/t1/c0", &rows, 34)
        .apply_message(
            "r0/t1",
            ProgramEnd {
                status: ProgramStatus::Value,
                value: Some(TextRecord::Whole("48211.5".to_owned())),
                prints: vec!["120".to_owned()],
                warnings: vec!["`call` is an older form; write (tool/orders …)".to_owned()],
                ..ProgramEnd::default()
            },
        )
        .apply_message(
            "r0/t1",
            MemoryChange {
                set: vec![("rows".to_owned(), TextRecord::Whole("[{:id 1 :total 401.75} …]".to_owned()))],
                del: vec!["old".to_owned()],
                bytes: 2_800,
                rolled_back: false,
            },
        )
        .apply_message(
            "r0/t1",
            PlanState {
                items: vec![
                    ("1".to_owned(), "Load the orders".to_owned(), Some("120 rows".to_owned())),
                    ("2".to_owned(), "Add them up".to_owned(), None),
                ],
            },
        )
        .message("r0/t1", 2, Role::User, Source::Feedback, "feedback", "Value: 48211.5\nThis was turn 1 of 5.")
        .ended("r0/t1")
        .turn("r0/t2")
        .apply_message(
            "r0/t2",
            CompactionDone {
                strategy: CompactionStrategy::Trim,
                reason: CompactionReason::TurnPressure,
                messages_before: 12,
                messages_after: 5,
                tokens_before: 4_100,
                tokens_after: 1_300,
                counts: vec![("turns_compressed".to_owned(), 3)],
            },
        )
        .wants("r0/t2", "program", 2)
        .wait(700)
        .program("r0/t2", broken)
        .apply_message(
            "r0/t2",
            ProgramEnd {
                status: ProgramStatus::Error,
                error: Some(error),
                span: Some((36, 41)),
                ..ProgramEnd::default()
            },
        )
}

#[test]
fn a_turn_with_a_program() {
    screens("program", SIZES, |size| {
        let mut model = fresh(size);
        let story =
            worked().apply_message("r0/t2", TurnEnd { reason: Some("type_error".to_owned()), ..TurnEnd::default() });
        ran(&mut model, story.events(), None);
        model
    });
}

#[test]
fn a_program_that_streams_and_one_that_runs() {
    let asked = || Story::new().run("r0", "sales", "ptc_lisp", "{}").turn("r0/t1").wants("r0/t1", "program", 1);
    screens("program_streaming", &[(80, 24)], |size| {
        let mut model = fresh(size);
        let story = asked().wait(400).part("r0/t1", 1, "I add.\n```clojure\n(reduce + (map \"tot");
        ran(&mut model, story.events(), None);
        model
    });
    screens("program_running", &[(80, 24)], |size| {
        let mut model = fresh(size);
        let story = asked()
            .wait(400)
            .program("r0/t1", FIRST)
            .call("r0/t1/c0", "orders", "table", r#"{"region":"north"}"#)
            .called("r0/t1/c0", "[]", 3)
            .call("r0/t1/c1", "order", "table", "{}")
            .refused("r0/t1/c1", CallStatus::Refused, "unknown_tool", "unknown tool `order`; did you mean `orders`?")
            .call("r0/t1/c2", "orders", "table", r#"{"region":"south"}"#);
        ran(&mut model, story.events(), None);
        apply_message(&mut model, Msg::Clock(NOW_MS + 1_900));
        model
    });
}

/// A run that asks two child agents; the second is still at work.
fn nested(whole: bool) -> Vec<Envelope> {
    let child = |story: Story, at: &str, name: &str| {
        let turn = format!("{at}/t1");
        story.run(at, name, "json", r#"{"text":"a long text"}"#).turn(&turn).wants(&turn, "json", 0).wait(120).reply(
            &turn,
            r#"{"words": 3}"#,
            (20, 4),
        )
    };
    let extract = |story: Story, turn: &str| story.extract(turn, "whole", (0, 12)).check(turn, Vec::new()).ended(turn);
    let ended = |story: Story, at: &str| {
        story.apply_message(at, RunEnd { value: Some(text(r#"{"words":3}"#)), ..RunEnd::default() })
    };
    let program = "(def a (tool/counter {:text \"one\"}))\n(def b (tool/counter {:text \"two\"}))\n(return {:sum 6})";
    let mut story = Story::new()
        .run("r0", "boss", "ptc_lisp", "{}")
        .turn("r0/t1")
        .wants("r0/t1", "program", 1)
        .wait(300)
        .program("r0/t1", program)
        .call("r0/t1/c0", "counter", "agent", r#"{"text":"one"}"#);
    story = ended(extract(child(story, "r0/t1/c0", "counter"), "r0/t1/c0/t1"), "r0/t1/c0");
    story = story.called("r0/t1/c0", r#"{"words":3}"#, 130).call("r0/t1/c1", "counter", "agent", r#"{"text":"two"}"#);
    story = child(story, "r0/t1/c1", "counter");
    if !whole {
        return story.events();
    }
    story = ended(extract(story, "r0/t1/c1/t1"), "r0/t1/c1").called("r0/t1/c1", r#"{"words":3}"#, 140);
    story
        .apply_message(
            "r0/t1",
            ProgramEnd {
                status: ProgramStatus::Return,
                value: Some(TextRecord::Whole("{:sum 6}".to_owned())),
                ..ProgramEnd::default()
            },
        )
        .message("r0/t1", 2, Role::User, Source::Feedback, "feedback", "once more")
        .ended("r0/t1")
        .run_end(Some(r#"{"sum":6}"#), None, (1, 812, 96))
        .events()
}

#[test]
fn agents_below_are_between_the_call_and_what_came_of_it() {
    screens("below", SIZES, |size| {
        let mut model = fresh(size);
        ran(&mut model, nested(true), Some(RunEnding::Run));
        model
    });
}

pub(super) fn transcript_of(events: &[Envelope]) -> Transcript {
    let mut transcript = Transcript::default();
    for event in events {
        transcript.apply(event);
    }
    transcript
}

pub(super) fn rows(transcript: &mut Transcript) -> Vec<String> {
    transcript.prepare(100, 200, NOW_MS + 5_000);
    transcript.rows().map(|row| " ".repeat(usize::from(row.indent)) + &row.row.plain()).collect()
}

#[test]
fn a_folded_agent_hides_its_run_and_what_comes_into_it() {
    let all = nested(true);
    let mut transcript = transcript_of(&all[..12]);
    let open = rows(&mut transcript).len();
    let start = rows(&mut transcript).iter().position(|row| row.contains("▾ Agent counter")).unwrap();
    transcript.click(transcript.spot_at(start, 0).unwrap());
    let folded = rows(&mut transcript);
    assert!(folded.len() < open, "{folded:#?}");
    all[12..].iter().for_each(|event| transcript.apply(event));
    let later = rows(&mut transcript);
    assert_eq!(later.iter().filter(|row| row.contains("Agent counter")).count(), 2, "{later:#?}");
    assert_eq!(later.iter().filter(|row| row.contains("r0/t1/c0") && row.contains("Return")).count(), 0, "{later:#?}");
    let folded = later.iter().position(|row| row.contains("▸ Agent counter")).unwrap();
    transcript.click(transcript.spot_at(folded, 0).unwrap());
    assert!(rows(&mut transcript).len() > later.len());
}

#[test]
fn an_agent_below_does_not_count_as_a_run_of_the_session() {
    let events = nested(true);
    let skeleton = Skeleton::of(events.clone());
    assert_eq!(skeleton.roots().count(), 1);
    assert_eq!(skeleton.last().unwrap().agent, "boss");
    assert_eq!(skeleton.last().unwrap().turns.len(), 1);
    let waiting = asking().apply_message("r0", RunWait { question: "r0/t1/c0/q0".to_owned() }).events();
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(saved(dir.path(), &waiting).summary.result, "waits for the answer to r0/t1/c0/q0");
    let dir = tempfile::tempdir().unwrap();
    let summary = saved(dir.path(), &events).summary;
    assert_eq!((summary.agent.as_str(), summary.usage.turns, summary.result.as_str()), ("boss", 3, r#"{"sum":6}"#));
    let transcript = transcript_of(&events);
    assert_eq!((transcript.facts.agent.as_str(), transcript.facts.turn), ("boss", 1));
}

/// Two child agents at work at the same time, one with an agent of its own.
pub(super) fn beside() -> Vec<Envelope> {
    let (one, two, below) = ("r0/t1/p1.0/c0", "r0/t1/p1.1/c0", "r0/t1/p1.1/c0/t1/c0");
    let ended = || RunEnd { value: Some(text("1")), ..RunEnd::default() };
    Story::new()
        .run("r0", "boss", "ptc_lisp", "{}")
        .turn("r0/t1")
        .wants("r0/t1", "program", 1)
        .program("r0/t1", "(pmap f [1 2])")
        .call(one, "f", "agent", "{}")
        .call(two, "f", "agent", "{}")
        .run(two, "f", "text", "{}")
        .run(one, "f", "json", r#"{"a":1}"#)
        .turn("r0/t1/p1.1/c0/t1")
        .turn("r0/t1/p1.0/c0/t1")
        .wants("r0/t1/p1.0/c0/t1", "json", 0)
        .wants("r0/t1/p1.1/c0/t1", "text", 0)
        .part("r0/t1/p1.0/c0/t1", 1, "1")
        .part("r0/t1/p1.1/c0/t1", 1, "I ask")
        .apply_message("r0/t1/p1.1/c0/t1", end(1, ReplyStatus::Ok, None))
        .call(below, "g", "agent", "{}")
        .run(below, "g", "json", "{}")
        .apply_message("r0/t1/p1.0/c0/t1", end(1, ReplyStatus::Ok, None))
        .extract("r0/t1/p1.0/c0/t1", "whole", (0, 1))
        .ended("r0/t1/p1.0/c0/t1")
        .apply_message(one, ended())
        .called(one, "1", 20)
        .apply_message(below, RunEnd { fail: Some(ErrorRecord::default()), ..RunEnd::default() })
        .refused(below, CallStatus::Error, "max_turns_exceeded", "no answer")
        .ended("r0/t1/p1.1/c0/t1")
        .apply_message(two, ended())
        .called(two, "1", 30)
        .apply_message("r0/t1", ProgramEnd { status: ProgramStatus::Value, ..ProgramEnd::default() })
        .ended("r0/t1")
        .apply_message("r0", ended())
        .events()
}

#[test]
fn a_session_draws_what_its_run_drew() {
    for events in [nested(true), nested(false), beside(), worked().events()] {
        let dir = tempfile::tempdir().unwrap();
        let opened = saved(dir.path(), &events);
        let mut live = transcript_of(&events);
        live.close();
        let mut read = Transcript::of_session(&opened);
        for _ in 0..3 {
            rows(&mut read);
            for (turn, places) in read.unread() {
                let body = opened.turns.read(&turn, places).unwrap();
                read.read_turn(&turn, &body.events, body.request);
                read.set_replaced(&turn, &body.replaced);
            }
        }
        assert_eq!(rows(&mut read), rows(&mut live));
    }
}

#[test]
fn control_objects_show_their_thought_and_native_calls_what_they_ask() {
    let asked = || Story::new().run("r0", "helper", "json_loop", "{}").turn("r0/t1").wants("r0/t1", "control_json", 1);
    let growing = rows(&mut transcript_of(&asked().part("r0/t1", 1, r#"{"thought": "I look it"#).events())).join("\n");
    assert!(growing.contains("… I look it"), "{growing}");
    let object =
        r#"{"thought": "I look it up", "tool_call": {"name": "orders", "arguments": {}}, "final_answer": null}"#;
    let control = Extract {
        kind: ExtractKind::Control,
        rule: Some("whole".to_owned()),
        candidates: 1,
        span: Some((0, object.len())),
        ..Extract::default()
    };
    let whole =
        rows(&mut transcript_of(&asked().reply("r0/t1", object, (9, 9)).apply_message("r0/t1", control).events()))
            .join("\n");
    assert!(whole.contains("… I look it up") && !whole.contains("final_answer"), "{whole}");
    let call = NativeCall { id: "1".to_owned(), name: "orders".to_owned(), args: r#"{"region":"north"}"#.to_owned() };
    let part =
        ReplyPart { attempt: 1, kind: PartKind::Call, text: "orders {\"reg".to_owned(), lens: vec![12], ms: vec![0] };
    let calling = Story::new()
        .run("r0", "helper", "text", "{}")
        .turn("r0/t1")
        .wants("r0/t1", "text", 1)
        .apply_message("r0/t1", part);
    let streams = calling.events();
    let growing = rows(&mut transcript_of(&streams)).join("\n");
    assert!(growing.contains("calling orders {\"reg"), "{growing}");
    let mut transcript = transcript_of(&streams);
    let ended = ReplyEnd { calls: vec![call], ..end(1, ReplyStatus::Ok, None) };
    let event = Story::new().apply_message("r0/t1", ended).events().remove(0);
    transcript.apply(&event);
    let whole = rows(&mut transcript).join("\n");
    assert!(whole.contains("tools   orders {\"region\":\"north\"}"), "{whole}");
}

/// A run that asks the user, with the question shown.
fn asking() -> Story {
    let question = QuestionAsked {
        kind: QuestionKind::Ask,
        text: "Which region?".to_owned(),
        options: vec!["north".to_owned(), "south".to_owned()],
    };
    Story::new()
        .run("r0", "sales", "ptc_lisp", "{}")
        .turn("r0/t1")
        .wants("r0/t1", "program", 1)
        .wait(300)
        .program("r0/t1", "(tool/ask-user {:question \"Which region?\"})")
        .call("r0/t1/c0", "ask-user", "builtin", r#"{"question":"Which region?"}"#)
        .apply_message("r0/t1/c0/q0", question)
}

#[test]
fn a_user_answers_a_question_in_the_interface() {
    let at = Address::from("r0/t1/c0/q0");
    screens("asked", &[(80, 24)], |size| {
        let mut model = fresh(size);
        ran(&mut model, asking().events(), None);
        let question = Question {
            address: at.clone(),
            text: "Which region?\n(north | south)".to_owned(),
            options: Vec::new(),
            gate: None,
        };
        apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
        model
    });
    let mut model = fresh((80, 24));
    ran(&mut model, asking().events(), None);
    let question = Question {
        address: at.clone(),
        text: "Which region?\n(north | south)".to_owned(),
        options: Vec::new(),
        gate: None,
    };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    write(&mut model, "north");
    assert_eq!(press(&mut model, "f5"), [Effect::Answer(at, "north".to_owned())]);
    let answer = AnswerGiven { by: Answerer::User, value: text(r#""north""#), edited: false };
    let event = Story::new().apply_message("r0/t1/c0/q0", answer).events();
    happened(&mut model, event, None);
    let transcript = &mut model.workbench.run.as_mut().unwrap().transcript;
    let seen = rows(transcript).join("\n");
    assert!(seen.contains("asks    Which region?  (north | south)") && seen.contains("→ north"), "{seen}");
    assert!(matches!(transcript.cells().last().map(|cell| cell.at.as_str()), Some("r0/t1")));
}

#[test]
fn data_from_tools_and_people_cannot_act_on_the_terminal() {
    let hostile = "x\u{1b}]0;t\u{7}\u{202e}";
    let quoted = ptc_core::value::Json::str(hostile).to_text();
    let story = worked()
        .call("r0/t2/c0", hostile, "table", &quoted)
        .called("r0/t2/c0", &quoted, 1)
        .apply_message(
            "r0/t2/c1/q0",
            QuestionAsked { kind: QuestionKind::Ask, text: hostile.to_owned(), options: vec![hostile.to_owned()] },
        )
        .apply_message(
            "r0/t2",
            MemoryChange {
                set: vec![(hostile.to_owned(), TextRecord::Whole(hostile.to_owned()))],
                ..MemoryChange::default()
            },
        )
        .apply_message(
            "r0/t2",
            PlanState { items: vec![(hostile.to_owned(), hostile.to_owned(), Some(hostile.to_owned()))] },
        );
    let all = rows(&mut transcript_of(&story.events())).join("\n");
    assert!(all.contains("Which") || all.contains("asks"), "{all}");
    assert!(!all.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{all:?}");
}

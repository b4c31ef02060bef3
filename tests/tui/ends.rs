//! Ends of runs on an 80-column screen: the real engine over scripted models, once for each reason.

use std::fmt::Write as _;

use ptc_core::reasons::Reason;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::event::{Envelope, ErrorRecord, Event, ModelRecord, Price, Tokens};
use ptc_workbench::model::{Call, ErrorClass, Finish, Model as Answers, ModelError, Reply, Request};
use ptc_workbench::port::Stop;
use ptc_workbench::tui::model::{Model, Pane};
use ptc_workbench::tui::picture;
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::workbench::RunEnding;

use super::pictures::rows;
use super::story::{fresh, missed, ran};
use crate::engine::{Memory, Ticks};

/// Gives these replies, the last one again and again.
struct Script(Vec<Result<Reply, ModelError>>, std::sync::atomic::AtomicUsize);

impl Answers for Script {
    fn info(&self) -> ModelRecord {
        ModelRecord { price: Some(Price { input: 1.0, output: 1.0, ..Price::default() }), ..ModelRecord::default() }
    }

    fn answer<'a>(
        &'a self,
        _: &'a Request,
        call: &'a Call,
    ) -> futures::future::BoxFuture<'a, Result<Reply, ModelError>> {
        let at = self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(self.0.len() - 1);
        let stopped = || Err(ModelError::new(ErrorClass::Cancelled, "stopped"));
        let text = if call.cancel.is_cancelled() { stopped() } else { self.0[at].clone() };
        Box::pin(std::future::ready(text))
    }
}

/// No user answers.
struct NoUser;

impl ptc_workbench::port::Human for NoUser {
    fn ask<'a>(
        &'a self,
        _: &'a ptc_workbench::port::Question,
        _: &'a tokio_util::sync::CancellationToken,
    ) -> futures::future::BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// A run: the reason that it ends with, its agent, what the model replies.
struct Case {
    reason: &'static str,
    agent: String,
    replies: Vec<Result<Reply, ModelError>>,
    stop: Stop,
}

impl Case {
    async fn events(self) -> Vec<Envelope> {
        let agent =
            Agent::from_toml(&self.agent, "test.toml").unwrap_or_else(|error| panic!("{}: {error}", self.reason));
        let plan = Plan::new(&agent).expect("the agent of a test is valid");
        let (sink, model) = (Memory::default(), Script(self.replies, 0.into()));
        let ports = Ports { human: &NoUser, ..Ports::new(&model, &Ticks(100), &sink, self.stop) };
        engine::run(&plan, Input::new(ptc_core::value::json::parse("{}").unwrap()), &ports).await;
        sink.events()
    }
}

fn case(reason: &'static str, mode: &str, rest: &str, replies: impl IntoIterator<Item = Reply>) -> Case {
    let agent = format!("mode = '{mode}'\nprompt = 'go'\n{rest}\n");
    Case { reason, agent, replies: replies.into_iter().map(Ok).collect(), stop: Stop::default() }
}

fn program(text: &str) -> Reply {
    format!("```clojure\n{text}\n```").as_str().into()
}

fn cases() -> Vec<Case> {
    let tokens = Tokens { input: 900_000, output: 200_000, ..Tokens::default() };
    let costing = |text: &str| Reply { usage: Some(tokens), ..Reply::from(text) };
    let finished = |finish| Reply { finish: Some(finish), ..Reply::from("{\"a\":") };
    let one = "signature = '{a :int, tags [:string]}'\nmax_turns = 1";
    let ptc = "signature = '{a :int}'\nmax_turns = 1";
    let tool = "max_turns = 2\n[tools.look_up]\nkind = 'table'\ndefault = 1\n";
    let loops = r#"{"thought":"t","tool_call":{"name":"look_up","arguments":{}}}"#;
    let stopped = Stop::default();
    stopped.by_user();
    let failing = |error| vec![Err(error)];
    let refused = ModelError::new(ErrorClass::Auth, "401 from api.example.com: invalid x-api-key");
    let overloaded = ModelError::new(ErrorClass::Server, "503 from api.example.com: overloaded").hint("try later");
    vec![
        case("json_parse_error", "json", one, ["I cannot say.".into()]),
        case("validation_error", "json", one, [r#"{"a": "no", "tags": [1, 2]}"#.into()]),
        case("reply_truncated", "json", one, [finished(Finish::Length)]),
        case("content_filtered", "json", one, [finished(Finish::ContentFilter)]),
        case("refused", "json", one, [finished(Finish::Refusal)]),
        Case { replies: failing(refused), ..case("llm_error", "json", one, []) },
        Case { replies: failing(overloaded), ..case("llm_error", "json", one, []) },
        case(
            "mission_timeout",
            "json",
            "signature = '{a :int}'\nmax_turns = 9\nmission_timeout_ms = 100",
            ["no".into()],
        ),
        case(
            "budget_callback_exceeded",
            "json",
            "signature = '{a :int}'\nmax_turns = 9\ntoken_limit = 50",
            [costing("no")],
        ),
        case("cost_exceeded", "json", "signature = '{a :int}'\nmax_turns = 9\ncost_limit = 0.5", [costing("no")]),
        case("invalid_context", "json", "signature = '(n :int) -> {a :int}'\n[context]\nn = 'two'", ["no".into()]),
        Case { stop: stopped, ..case("cancelled", "json", "signature = '{a :int}'\nmax_turns = 3", ["no".into()]) },
        case("max_turns_exceeded", "text", tool, [Reply::calling([("look_up", "{}")])]),
        case("empty_response", "text", tool, ["".into()]),
        case(
            "missing_refs",
            "text",
            "max_ref_retries = 0\nsignature = ':map'\n[refs]\nid = 'items[0].id'",
            ["{}".into()],
        ),
        case(
            "suspended",
            "text",
            "builtin_tools = ['ask_user']",
            [Reply::calling([("ask_user", r#"{"question":"Which colour?"}"#)])],
        ),
        case("protocol_error", "json_loop", "max_turns = 9", ["Paris.".into()]),
        case("loop_detected", "json_loop", &tool.replace("= 2", "= 9"), [loops.into()]),
        case("max_turns_exceeded", "ptc_lisp", "signature = '{a :int}'\nmax_turns = 2", [program("(foo)")]),
        case("budget_exhausted", "ptc_lisp", &format!("{ptc}\nretry_turns = 1"), [program("(return {:a \"z\"})")]),
        case("failed", "ptc_lisp", ptc, [program("(fail {:why \"there are no orders\", :asked 12})")]),
        case("return_validation_failed", "ptc_lisp", ptc, [program("{:a \"z\"}")]),
        case("no_code_found", "ptc_lisp", ptc, ["I would rather not.".into()]),
        case("multiple_code_blocks", "ptc_lisp", ptc, ["```clojure\n1\n```\nor\n```clojure\n2\n```".into()]),
        case("must_return_missing", "ptc_lisp", "max_turns = 2\ncompletion = 'explicit'", [program("1")]),
        case(
            "memory_limit_exceeded",
            "ptc_lisp",
            "max_turns = 3\nmemory_bytes = 100",
            [program("(def big (vec (range 999)))")],
        ),
        case("turn_budget_exhausted", "ptc_lisp", "turn_budget = 1\nmax_turns = 5", [program("1")]),
        case("unbound_var", "ptc_lisp", ptc, [program("(cout [1 2])")]),
        case("type_error", "ptc_lisp", ptc, [program("(+ 1 \"two\")")]),
        case("parse_error", "ptc_lisp", ptc, [program("(return {:a 1")]),
        case(
            "loop_limit_exceeded",
            "ptc_lisp",
            &format!("{ptc}\nloop_limit = 10"),
            [program("(loop [n 0] (recur n))")],
        ),
        case(
            "max_turns_exceeded",
            "ptc_lisp",
            &format!("{ptc}\n[tools.look_up]\nkind = 'table'\nrows = [ {{ args = {{}}, error = 'no such table' }} ]"),
            [program("(tool/look_up {})")],
        ),
    ]
}

/// A run with these events, on a screen that shows all of it.
fn shown(events: Vec<Envelope>) -> Model {
    let mut model = fresh((80, 70));
    ran(&mut model, events, Some(RunEnding::Run));
    model.workbench.focus = Pane::Run;
    picture(&mut model, (80, 70));
    model
}

/// The run's rule, and the card of its end.
fn end(model: &mut Model) -> String {
    let screen = rows(model);
    let lines: Vec<&str> = screen.lines().collect();
    let start = lines.iter().rposition(|line| line.contains("✗ Failed") || line.contains(" Notice"));
    let card = lines.iter().skip(start.unwrap_or(2)).take_while(|line| !line.is_empty() && !line.starts_with('─'));
    let card: Vec<&str> = card.copied().collect();
    format!("{}\n{}", lines[1], card.join("\n"))
}

#[tokio::test]
async fn every_end_says_why_and_what_to_do_next() {
    let (mut report_text, mut wrong) = (String::new(), Vec::new());
    for case in cases() {
        let (reason, agent) = (case.reason, case.agent.clone());
        let events = case.events().await;
        let fail = events.iter().rev().find_map(|envelope| match &envelope.event {
            Event::RunEnd(end) => end.fail.clone(),
            Event::RunWait(_) => Some(ErrorRecord::new(Reason::Suspended, "it waits")),
            _ => None,
        });
        let fail = fail.unwrap_or_else(|| panic!("{reason} was not reached: {agent}"));
        if fail.reason != reason {
            wrong.push(format!("{reason}: {}, {}", fail.reason, fail.message));
        }
        let mut model = shown(events);
        let card = end(&mut model);
        model.theme = Theme::plain();
        assert_eq!(end(&mut model), card, "no word depends on colours");
        _ = write!(report_text, "{reason}\n{card}\n\n");
    }
    assert_eq!(wrong, Vec::<String>::new());
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("ends_80", report_text);
    });
}

#[test]
fn a_turn_that_was_stopped_counts_also_where_the_recorded_end_does_not_count_it() {
    // Ends of runs of earlier versions omit the turn in which a stop ended the run: there is one of two.
    let fail = ErrorRecord {
        reason: "cancelled".to_owned(),
        message: "the user stopped the run".to_owned(),
        ..ErrorRecord::default()
    };
    let mut model = fresh((120, 40));
    ran(&mut model, missed().run_end(None, Some(fail), (1, 59, 11)).events(), Some(RunEnding::Run));
    let shown = rows(&mut model);
    let of = |needle: &str| shown.lines().find(|row| row.contains(needle)).unwrap_or_default().to_owned();
    assert!(of("✗ Failed").contains("r0/t2"), "{shown}");
    assert!(shown.contains("2 turns · 59 tokens in"), "{shown}");
}

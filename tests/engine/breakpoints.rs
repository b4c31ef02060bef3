//! Breakpoints: runs stop before calls, at definitions and at errors, and a replay stops at the same places.

use ptc_workbench::event::{QuestionAsked, QuestionKind};
use ptc_workbench::port::{Breakpoint, Checkpoint, Human, Question};
use tokio_util::sync::CancellationToken;

use super::ptc::{agent, p};
use super::*;

/// A user who continues every run.
struct Watcher(Vec<Breakpoint>);

impl Human for Watcher {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { question.options.first().cloned() })
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        matches!(checkpoint, Checkpoint::Breakpoints(met) if self.0.iter().any(|one| met.contains(one)))
    }
}

const TOOLS: &str = "max_turns = 3\n[tools.find]\nkind = \"table\"\nsignature = \"(id :int) -> :any\"\ndefault = 7\n\
                     [tools.look]\nkind = \"table\"\ndefault = 1\n";

/// Runs programs with breakpoints; returns the run, and its breakpoint questions with their addresses.
async fn stopped(at: &str, programs: &[&str]) -> (Ran, Vec<(String, String)>) {
    let plan = Plan::new(&agent(TOOLS)).unwrap();
    let replies: Vec<String> = programs.iter().map(|program| p(program)).collect();
    let (model, _) = recorded_script(&replies.iter().map(String::as_str).collect::<Vec<_>>());
    let (sink, human) = (Memory::default(), Watcher(Breakpoint::all(at).unwrap()));
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let ran = Ran { step, events: sink.events() };
    replays(&ran.events).await;
    assert_eq!(fold(&ran.events), ran.step);
    let asked = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::QuestionAsked(QuestionAsked { kind, text, .. }) if *kind == QuestionKind::Breakpoint => {
            Some((envelope.address.to_string(), text.clone()))
        }
        _ => None,
    });
    let asked = asked.collect();
    (ran, asked)
}

fn pair(at: &str, text: &str) -> (String, String) {
    (at.to_owned(), text.to_owned())
}

#[tokio::test]
async fn a_run_stops_before_the_calls_of_one_tool() {
    let program = "(tool/look {}) (return (+ (tool/find {:id 1}) (tool/find {:id 2})))";
    let (ran, asked) = stopped("tool:find", &[program]).await;
    assert_eq!(ran.outcome(), "14");
    let text = |id| format!("The run stopped before calling (tool/find {{\"id\" {id}}})");
    assert_eq!(asked, [pair("r0/t1/c1/q3", &text(1)), pair("r0/t1/c2/q3", &text(2))]);
    let place = |found: &dyn Fn(&Envelope) -> bool| ran.events.iter().position(found).unwrap();
    let question = place(&|envelope| envelope.address.as_str() == "r0/t1/c1/q3");
    let call = place(&|e| e.address.as_str() == "r0/t1/c1" && matches!(e.event, Event::ToolCall(_)));
    assert!(question < call, "nothing was called yet");
}

#[tokio::test]
async fn a_run_stops_where_a_name_was_defined_and_at_errors() {
    let programs = ["(def other 1)", "(def total (+ 40 2))", "(/ 1 0)"];
    let (_, asked) = stopped("def:total", &programs).await;
    assert_eq!(asked, [pair("r0/t2/q0", "The run stopped after its program:\ntotal = 42")]);
    let (_, asked) = stopped("error", &programs).await;
    assert_eq!(asked.len(), 1);
    assert!(asked[0].0 == "r0/t3/q0" && asked[0].1.contains("arithmetic_error"), "{asked:?}");
    let (_, asked) = stopped("error, tool:look, def:none", &["(fail \"no\")"]).await;
    assert_eq!(asked, [pair("r0/t1/q0", "The run stopped after its program:\n(fail \"no\")")]);
    let (_, asked) = stopped("error", &["(return 1)"]).await;
    assert_eq!(asked, []);
}

#[tokio::test]
async fn a_run_that_nobody_watches_waits_at_its_breakpoint() {
    struct Away;
    impl Human for Away {
        fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }

        fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
            let x = Breakpoint::Def("x".to_owned());
            matches!(checkpoint, Checkpoint::Breakpoints(met) if met.contains(&x))
        }
    }
    let before = vec![p("(def x 1)").as_str().into()];
    let toml = "mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 3\n";
    let after = vec![p("(return (inc x))").as_str().into()];
    let (events, step) = super::waiting::resumed_with(toml, before, "continue", after, &Away).await;
    assert_eq!(step.answer.as_ref().map(Json::to_text).as_deref(), Some("2"), "{:?}", step.fail);
    replays(&events).await;
}

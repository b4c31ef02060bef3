//! The example sessions: all replay, the demo lives from them alone, and nothing of it needs a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::value::Json;
use ptc_workbench::agent::{Agent, BUNDLED, BUNDLED_PIPELINES, BundledExample, Context, Mode, Plan, StepFold};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::event::Address;
use ptc_workbench::port::{Human, Question, Stop};
use ptc_workbench::replay::{DemoModel, Recording, ReplayOutcome, replay};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::{Pipeline, example_sessions};
use tokio_util::sync::CancellationToken;

use crate::engine::{Memory, Ran, Ticks, fold, run};

/// Every example agent and the modes that it was recorded in: all that it can run in.
const RECORDED: &[(&str, &[Mode])] = &[
    ("sentiment", &Mode::ALL),
    ("extract", &Mode::ALL),
    ("sales", &Mode::ALL),
    // These have tools, which json refuses.
    ("reviews", &[Mode::PtcLisp, Mode::Text, Mode::JsonLoop]),
    ("booking", &[Mode::PtcLisp, Mode::Text, Mode::JsonLoop]),
    ("workshop", &[Mode::PtcLisp, Mode::Text, Mode::JsonLoop]),
    ("statement", &[Mode::PtcLisp, Mode::Text, Mode::JsonLoop]),
    ("yard", &[Mode::PtcLisp, Mode::Text, Mode::JsonLoop]),
];

/// The files in `sessions/`.
fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    files
}

fn recording(file: &Path) -> Arc<Recording> {
    Arc::new(Recording::of(&Session::open(file).unwrap()).unwrap())
}

fn recordings() -> Vec<Arc<Recording>> {
    files().iter().map(|file| recording(file)).collect()
}

/// Every example agent in every mode that it was recorded in.
fn agents() -> impl Iterator<Item = Agent> {
    RECORDED.iter().flat_map(|(name, modes)| {
        let agent = BundledExample::find(name).unwrap().agent().unwrap();
        modes.iter().map(move |mode| agent.for_mode(*mode).unwrap())
    })
}

/// Answers what the user answered in the recordings.
struct Four;

impl Human for Four {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        assert!(question.text.starts_with("For how many people?"), "{}", question.text);
        Box::pin(async { Some("4".to_owned()) })
    }
}

/// Runs an agent with the model `demo`.
async fn played(agent: &Agent, demo: &DemoModel) -> Ran {
    played_at(Address::run(0), agent, agent.context.clone().into(), demo).await
}

/// The clock is not paused: programs that wait for child agents would stop it.
async fn played_at(address: Address, agent: &Agent, context: Context, demo: &DemoModel) -> Ran {
    let plan = Plan::new(agent).unwrap();
    let sink = Memory::default();
    let input = Input { descriptions: context.descriptions, ..Input::at(address, context.json) };
    let ports = Ports { human: &Four, ..Ports::new(demo, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, input, &ports).await;
    Ran { step, events: sink.events() }
}

#[tokio::test]
async fn every_example_session_replays_to_the_same_steps() {
    for file in files() {
        let session = Session::open(&file).unwrap();
        assert_eq!(session.damage, [], "{}", file.display());
        let report = replay(&recording(&file), None).await.unwrap();
        assert_eq!(report.outcome, ReplayOutcome::Identical, "{}", file.display());
        let mut folds: BTreeMap<Address, StepFold> = BTreeMap::new();
        session.events().for_each(|envelope| folds.entry(envelope.address.root()).or_default().apply(&envelope));
        assert_eq!(folds.len(), report.steps.len(), "{}", file.display());
        for (recorded, replayed) in folds.values().map(StepFold::step).zip(&report.steps) {
            assert!(recorded.answer.is_some(), "{}", file.display());
            assert_eq!(recorded.answer, replayed.answer);
            assert_eq!(recorded.refs, replayed.refs);
            assert_eq!(recorded.memory, replayed.memory);
            assert_eq!(recorded.summaries, replayed.summaries);
            assert_eq!(recorded.usage.total, replayed.usage.total);
            assert_eq!(recorded.prompt, replayed.prompt);
            assert_eq!(recorded.messages, replayed.messages);
            assert_eq!(recorded.calls.len(), replayed.calls.len());
            assert_eq!(recorded.children.len(), replayed.children.len());
            assert_eq!(recorded.turns.len(), replayed.turns.len());
            for (a, b) in recorded.turns.iter().zip(&replayed.turns) {
                assert_eq!(
                    (&a.raw_response, &a.json, &a.issues, &a.fixes),
                    (&b.raw_response, &b.json, &b.issues, &b.fixes)
                );
                assert_eq!((&a.request, &a.feedback), (&b.request, &b.feedback));
                assert_eq!((a.success, &a.reason, a.attempts, a.tokens), (b.success, &b.reason, b.attempts, b.tokens));
            }
        }
    }
}

#[test]
fn the_program_ships_exactly_the_sessions_of_the_folder() {
    let shipped: Vec<_> = example_sessions().iter().map(|session| session.header.id.file_name()).collect();
    let names: Vec<_> = files().iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(shipped, names);
}

#[test]
fn each_example_is_recorded_once_in_each_mode_that_it_can_run_in() {
    let mut expected: Vec<(String, String)> =
        agents().map(|agent| (agent.name.clone(), agent.mode.name().to_owned())).collect();
    for bundled in BUNDLED_PIPELINES {
        let pipeline = Pipeline::bundled(bundled.name).unwrap().unwrap();
        expected.extend(pipeline.steps.iter().map(|agent| (agent.name.clone(), agent.mode.name().to_owned())));
    }
    let mut recorded: Vec<(String, String)> = recordings()
        .iter()
        .flat_map(|recording| recording.runs().into_iter().map(|run| recording.run_start(&run).cloned().unwrap()))
        .map(|start| (start.agent.name, start.mode))
        .collect();
    expected.sort();
    recorded.sort();
    assert_eq!(recorded, expected);
    for bundled in BUNDLED {
        let (_, modes) = RECORDED.iter().find(|(name, _)| *name == bundled.name).unwrap();
        let agent = bundled.agent().unwrap();
        let can =
            Mode::ALL.into_iter().filter(|mode| agent.for_mode(*mode).is_ok_and(|agent| Plan::new(&agent).is_ok()));
        let mut can: Vec<_> = can.map(Mode::name).collect();
        let mut modes: Vec<_> = modes.iter().map(|mode| mode.name()).collect();
        can.sort_unstable();
        modes.sort_unstable();
        assert_eq!(modes, can, "{}", bundled.name);
    }
}

#[tokio::test]
async fn the_demo_plays_each_example_in_each_of_its_modes_and_events_fold_to_the_step() {
    let demo = DemoModel::new(recordings());
    for agent in agents() {
        let about = format!("{} in {}", agent.name, agent.mode);
        let plan = Plan::new(&agent).unwrap();
        assert_eq!(plan.warnings, [], "{about}");
        let ran = played(&agent, &demo).await;
        assert!(ran.step.is_ok(), "{about}: {:?}", ran.step.fail);
        let notices: Vec<_> = ran.events.iter().filter(|envelope| envelope.event.kind() == "notice").collect();
        assert!(notices.is_empty(), "{about}: {notices:?}");
        assert_eq!(fold(&ran.events), ran.step, "{about}");
    }
}

#[tokio::test]
async fn sales_has_the_same_totals_in_every_mode() {
    let names = ["North", "South", "East", "West"];
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for sale in 1..=500_u64 {
        let region = usize::try_from((sale * sale + sale / 5) % 4).unwrap();
        *totals.entry(names[region]).or_default() += 20 + sale * 137 % 481;
    }
    let demo = DemoModel::new(recordings());
    for agent in agents().filter(|agent| agent.name == "sales") {
        let ran = played(&agent, &demo).await;
        let rows = ran.step.answer.as_ref().and_then(|answer| answer.get("totals")?.items()).unwrap();
        let text = |row: &Json, key: &str| row.get(key).unwrap().to_text();
        let found: Vec<_> = rows.iter().map(|row| (text(row, "region"), text(row, "total"))).collect();
        let expected: Vec<_> = totals.iter().map(|(name, sum)| (format!("{name:?}"), sum.to_string())).collect();
        assert_eq!(found, expected, "{}", agent.mode);
        let refs = ran.step.refs.map(|refs| refs.to_text());
        assert_eq!(refs.as_deref(), Some(r#"{"first":"East","best":"East"}"#), "{}", agent.mode);
    }
}

#[tokio::test]
async fn what_the_examples_are_for_can_be_seen_in_their_steps() {
    let demo = DemoModel::new(recordings());
    let mut seen = BTreeMap::new();
    for agent in agents().filter(|agent| agent.mode == Mode::PtcLisp) {
        seen.insert(agent.name.clone(), played(&agent, &demo).await);
    }
    let step = |name: &str| &seen[name].step;
    assert_eq!(step("reviews").children.len(), 3);
    assert_eq!(step("reviews").summaries.len(), 2);
    assert_eq!(step("workshop").children[0].name, "create_plan");
    assert_eq!(step("workshop").summaries.len(), 3);
    assert_eq!(seen["statement"].turns(), ["tool_error", "ok", "ok"]);
    assert!(seen["booking"].events.iter().any(|envelope| envelope.event.kind() == "question"));
    let yard = BundledExample::find("yard").unwrap().agent().unwrap().for_mode(Mode::JsonLoop).unwrap();
    let yard = played(&yard, &demo).await.step;
    let sent: Vec<usize> = yard.turns.iter().map(|turn| yard.sent(turn).count()).collect();
    // System text, task and the last messages once the history is trimmed; it would be 12 messages at the end.
    assert_eq!(sent, [2, 4, 6, 5, 5, 5]);
    // From turn 2 on a coalesced history is one user message.
    let last = step("statement").turns.last().unwrap();
    assert_eq!(step("statement").sent(last).count(), 2);
}

#[tokio::test]
async fn the_mixed_pipeline_carries_each_answer_to_the_next_agent() {
    let demo = DemoModel::new(recordings());
    for bundled in BUNDLED_PIPELINES {
        let pipeline = Pipeline::bundled(bundled.name).unwrap().unwrap();
        let plans = pipeline.plans().unwrap();
        assert!(plans.iter().all(|plan| plan.warnings.is_empty()), "{}", bundled.name);
        let mut context = Context::from(pipeline.steps[0].context.clone());
        for (place, plan) in plans.iter().enumerate() {
            let ran = played_at(Address::run(place), &plan.agent, context.clone(), &demo).await;
            assert!(ran.step.is_ok(), "{}: {:?}", plan.agent.name, ran.step.fail);
            assert!(ran.events.iter().all(|envelope| envelope.event.kind() != "notice"), "{}", plan.agent.name);
            if let Some(next) = plans.get(place + 1) {
                context = Context::chained(&ran.step, &next.signature).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn the_demo_answers_only_from_its_recordings() {
    for agent in agents().filter(|agent| agent.name != "sales") {
        // With its files hidden, its answers are gone; the others stay.
        let others = recordings().into_iter().filter(|other| !records(other, &agent));
        let hidden = DemoModel::new(others.collect());
        let fail = played(&agent, &hidden).await.step.fail.unwrap();
        assert_eq!(fail.reason, "llm_not_found");
        assert!(fail.message.contains(&format!("no recording of the agent {:?}", agent.name)), "{}", fail.message);
        let other = agents().find(|other| other.name != agent.name).unwrap();
        assert!(played(&other, &hidden).await.step.is_ok(), "{}", other.name);
    }
}

fn records(recording: &Recording, agent: &Agent) -> bool {
    let starts = recording.runs();
    starts.iter().filter_map(|run| recording.run_start(run)).any(|start| start.agent.name == agent.name)
}

#[tokio::test(start_paused = true)]
async fn past_the_end_of_its_recording_the_demo_repeats_the_last_reply_and_says_so() {
    let agent = Agent {
        // A field that no recorded reply has.
        signature: Some("(text :string) -> {sentiment :string, other :string}".to_owned()),
        max_turns: 3,
        ..BUNDLED.iter().find(|bundled| bundled.name == "sentiment").unwrap().agent().unwrap()
    };
    let demo = DemoModel::new(recordings());
    let ran = run(&agent, r#"{"text": "x"}"#, &demo).await;
    let turns = &ran.step.turns;
    assert_eq!((turns.len(), &turns[1].raw_response), (3, &turns[2].raw_response));
    let notices: Vec<_> = ran.events.iter().filter(|envelope| envelope.event.kind() == "notice").collect();
    let last = notices.last().map(|envelope| format!("{:?}", envelope.event)).unwrap_or_default();
    assert!(last.contains("the recording ends after turn 2: its last reply is repeated"), "{notices:?}");
}

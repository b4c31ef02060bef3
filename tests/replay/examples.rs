//! The example sessions: all replay, the demo lives from them alone, and nothing of it needs a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_workbench::agent::{Agent, BUNDLED, StepFold};
use ptc_workbench::replay::{Demo, Outcome, Recording, replay};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::example_sessions;

use crate::engine::run;

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

#[tokio::test]
async fn every_example_session_replays_to_the_same_step() {
    for file in files() {
        let session = Session::open(&file).unwrap();
        assert_eq!(session.damage, [], "{}", file.display());
        let report = replay(&recording(&file), None).await.unwrap();
        assert_eq!(report.outcome, Outcome::Identical, "{}", file.display());
        let mut fold = StepFold::default();
        session.events().for_each(|envelope| fold.apply(&envelope));
        let (recorded, replayed) = (fold.step(), &report.steps[0]);
        assert_eq!(recorded.answer, replayed.answer);
        assert!(recorded.answer.is_some(), "{}", file.display());
        assert_eq!(recorded.usage.tokens, replayed.usage.tokens);
        assert_eq!(recorded.prompt, replayed.prompt);
        assert_eq!(recorded.messages, replayed.messages);
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

#[test]
fn the_program_ships_exactly_the_sessions_of_the_folder() {
    let shipped: Vec<_> = example_sessions().iter().map(|session| session.header.id.file_name()).collect();
    let names: Vec<_> = files().iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(shipped, names);
}

#[tokio::test(start_paused = true)]
async fn the_demo_answers_each_example_agent_and_only_from_its_recordings() {
    let files = files();
    let agents: Vec<Agent> = BUNDLED.iter().map(|bundled| bundled.agent().unwrap()).collect();
    for agent in &agents {
        let context = agent.context.to_text();
        let all = Demo::new(files.iter().map(|file| recording(file)).collect());
        let ran = run(agent, &context, &all).await;
        assert!(ran.step.is_ok(), "{}: {:?}", agent.name, ran.step.fail);
        assert!(ran.events.iter().all(|envelope| envelope.event.kind() != "notice"), "{}", agent.name);

        // With its file hidden, its answers are gone; the others stay.
        let others: Vec<_> = files.iter().map(|file| recording(file)).filter(|other| !records(other, agent)).collect();
        assert_eq!(others.len(), files.len() - 1, "{}", agent.name);
        let hidden = Demo::new(others);
        let ran = run(agent, &context, &hidden).await;
        let fail = ran.step.fail.unwrap();
        assert_eq!(fail.reason, "llm_not_found");
        assert!(fail.message.contains(&format!("no recording of the agent {:?}", agent.name)), "{}", fail.message);
        for other in agents.iter().filter(|other| other.name != agent.name) {
            assert!(run(other, &other.context.to_text(), &hidden).await.step.is_ok(), "{}", other.name);
        }
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
    let demo = Demo::new(files().iter().map(|file| recording(file)).collect());
    let ran = run(&agent, r#"{"text": "x"}"#, &demo).await;
    let turns = &ran.step.turns;
    assert_eq!((turns.len(), &turns[1].raw_response), (3, &turns[2].raw_response));
    let notices: Vec<_> = ran.events.iter().filter(|envelope| envelope.event.kind() == "notice").collect();
    let last = notices.last().map(|envelope| format!("{:?}", envelope.event)).unwrap_or_default();
    assert!(last.contains("the recording ends after turn 2: its last reply is repeated"), "{notices:?}");
}

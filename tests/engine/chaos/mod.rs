//! Any agent of any mode, any replies, faults, stops at any event, questions, child agents and branches that answer in any order: the
//! run stays within its budgets, ends with a Step, and its session folds and replays to the same. A session that is cut at any
//! point resumes without repeating the requests that it holds.

mod cast;
mod world;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use ptc_workbench::agent::{Step, StepFold};
use ptc_workbench::event::{CallStatus, Edit, Editor, JsonText, ReplyStatus, Resume};
use ptc_workbench::port::SystemClock;
use ptc_workbench::replay::{
    Answers, Point, RecordedEdits, Recording, ReplayOutcome, ResumePorts, Stage, adopt, input_of, replay, verify,
};
use ptc_workbench::session::{Header, Prefix, Recorder, Session, SessionId};

use super::*;
use cast::{Act, Play, plays};
use world::{Chance, Crowd, Later, Player, Watched};

/// Resumptions of one session before it must have ended: each answers a question.
const MOST_RESUMES: usize = 40;

/// The Step of a run, and the requests that its models got.
struct Played {
    step: Step,
    asked: Vec<Request>,
}

async fn record(play: &Play, dir: &Path) -> (Played, std::path::PathBuf) {
    let plan = Plan::new(&play.agent()).unwrap_or_else(|wrong| panic!("{wrong:?}\n{}", play.toml));
    let header = Header::new(SessionId::new(0, 7), 0);
    let recorder = Recorder::create(dir, &header, Arc::new(SystemClock)).unwrap();
    let path = recorder.path().to_owned();
    let stop = Stop::default();
    let played = {
        let sink = Watched { sink: Box::new(recorder), stop: stop.clone(), left: Chance::countdown(play.stop_after) };
        let model = Player::new(play, stop.clone());
        let tools = Later::new(play);
        let human = Crowd::new(play);
        let ports = Ports { tools: &tools, human: &human, ..Ports::new(&model, &SystemClock, &sink, stop) };
        let step = engine::run(&plan, Input::new(parsed(r#"{"x":"one"}"#)), &ports).await;
        Played { step, asked: model.asked() }
    };
    (played, path)
}

/// Continues a session; nothing that it holds is asked again.
async fn resume(play: &Play, path: &Path) -> Played {
    let session = Session::open(path).unwrap();
    let recording = Arc::new(Recording::of(&session).unwrap());
    let held: HashSet<Address> = session
        .events()
        .filter(|envelope| match &envelope.event {
            Event::ReplyEnd(end) => end.status != ReplyStatus::Discarded,
            Event::ToolEnd(_) => true,
            _ => false,
        })
        .map(|envelope| envelope.address)
        .collect();
    let adopted = adopt(&recording).await.unwrap_or_else(|error| panic!("{error}\n{}", play.toml));
    assert_eq!(adopted.differences, [], "{}", play.toml);
    let run = recording.runs().pop().unwrap();
    let start = recording.run_start(&run).unwrap().clone();
    let plan = Plan::new(&Agent::from_toml(&start.agent.toml, "recorded").unwrap()).unwrap();
    let recorder = Recorder::append(&session, Arc::new(SystemClock)).unwrap();
    let going_on = Resume { after: session.len() as u64 };
    recorder.emit(run.clone(), going_on.into()).await.unwrap();
    let stop = Stop::default();
    let model = Player::new(play, stop.clone());
    let tools = Later::new(play);
    let human = Crowd::silent();
    let edits = RecordedEdits::of(&recording).unwrap();
    let live = Ports { tools: &tools, human: &human, ..Ports::new(&model, &SystemClock, &recorder, stop.clone()) };
    let answers = Answers { in_order: [String::from("blue")].into(), ..Answers::default() };
    let resumed = ResumePorts::new(Arc::clone(&recording), run.clone(), live, answers).edited_by(&edits).appending();
    let step = engine::run(&plan, input_of(&run, &start), &resumed.ports(&recorder, stop)).await;
    let asked = model.asked();
    for at in asked.iter().map(|request| &request.address).chain(&tools.called()) {
        assert!(!held.contains(at), "{at} was recorded and asked again\n{}", play.toml);
    }
    Played { step, asked }
}

/// History of a session file.
#[derive(Clone, Copy)]
enum Written {
    /// Up to its end or a question.
    Whole,
    /// The run was resumed after a question.
    Resumed,
    /// The run was resumed after a cut. A call that had started before the cut is made, whether it was about to be refused or not.
    Cut,
}

/// Returns whether the session has a child run that began and did not end.
fn holds_unended_child(session: &Session) -> bool {
    let is_child = |at: &Address| *at != at.root();
    let mut open: HashSet<Address> = HashSet::new();
    for envelope in session.events().filter(|envelope| is_child(&envelope.address)) {
        match envelope.event {
            Event::RunStart(_) => _ = open.insert(envelope.address),
            Event::RunEnd(_) => _ = open.remove(&envelope.address),
            _ => {}
        }
    }
    !open.is_empty()
}

/// Checks that a file folds to the Step of its run, and that it replays.
async fn holds(play: &Play, played: &Played, path: &Path, written: Written) {
    let step = &played.step;
    let before = std::fs::read(path).unwrap();
    let session = Session::open(path).unwrap();
    assert_eq!(session.damage, []);
    let mut fold = StepFold::default();
    session.events().for_each(|envelope| fold.apply(&envelope));
    let shown = fold.step();
    if step.waits_for.is_none() {
        assert!(fold.is_complete());
        let text = String::from_utf8_lossy(&before);
        match written {
            Written::Whole => {
                assert!(
                    shown == *step,
                    "the file folds to another Step: {}\n{}\n{text}",
                    parting(&shown, step),
                    play.toml
                );
            }
            // Work that branches had started may not start again, for example because the budget of the tree is exhausted now: the
            // file knows more, and what it knows was paid for.
            Written::Resumed | Written::Cut => {
                assert_eq!((&shown.answer, &shown.fail, &shown.usage.own), (&step.answer, &step.fail, &step.usage.own));
                let (in_file, in_step) = (shown.usage.total.totals(), step.usage.total.totals());
                assert!(
                    in_file == in_step || in_file.turns > in_step.turns && holds_unended_child(&session),
                    "{in_file:?} {in_step:?}\n{}",
                    play.toml
                );
            }
        }
        assert!(step.answer.is_some() != step.fail.is_some());
        within_budgets(play, step, &session, written);
    } else {
        assert_eq!(step.fail.as_ref().unwrap().reason, "suspended");
        assert_eq!(shown.waits_for, step.waits_for);
    }
    let recording = Arc::new(Recording::of(&session).unwrap());
    shows_what_was_sent(&session, &recording, &shown, &played.asked);
    let report = replay(&recording, None).await.unwrap();
    let fits = match &report.outcome {
        ReplayOutcome::Identical => true,
        ReplayOutcome::Unfinished { .. } => step.waits_for.is_some(),
        ReplayOutcome::Diverged(_) => false,
    };
    assert!(fits, "{}\n{}\n{}", summary_of(&report.outcome), play.toml, String::from_utf8_lossy(&before));
    let findings = verify(&session).await.findings;
    assert_eq!(findings, [], "{}\n{}", play.toml, String::from_utf8_lossy(&before));
    assert_eq!(std::fs::read(path).unwrap(), before, "replay never changes the recording");
}

/// Returns the texts around the first difference of two Steps.
fn parting(shown: &Step, live: &Step) -> String {
    let (shown, live) = (format!("{shown:?}"), format!("{live:?}"));
    let same = shown.bytes().zip(live.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| String::from_utf8_lossy(&text.as_bytes()[same.saturating_sub(200)..][..400]).into_owned();
    format!("\nfile {}\nlive {}", around(&(shown + &" ".repeat(400))), around(&(live + &" ".repeat(400))))
}

fn summary_of(outcome: &ReplayOutcome) -> String {
    match outcome {
        ReplayOutcome::Diverged(divergence) => divergence.to_string(),
        other => format!("{other:?}"),
    }
}

fn within_budgets(play: &Play, step: &Step, session: &Session, written: Written) {
    let limits = play.agent();
    let turns = step.usage.own.turns;
    assert!(turns <= limits.max_turns + play.retry_turns, "{turns} turns\n{}", play.toml);
    let (mut begun, mut made) = (0, 0);
    for envelope in session.events() {
        let address = envelope.address.as_str().to_owned();
        match &envelope.event {
            Event::TurnStart(start) if start.stop.is_none() => begun += 1,
            Event::ToolEnd(end) if envelope.run() == Address::run(0) && end.status != CallStatus::Refused => made += 1,
            Event::RunStart(start) => {
                let levels = u32::try_from(address.matches("/c").count()).unwrap();
                assert_eq!(start.depth, levels);
                assert!(levels < play.max_depth, "{address}\n{}", play.toml);
            }
            _ => {}
        }
    }
    assert!(begun <= play.turn_budget, "{begun} turns in the tree\n{}", play.toml);
    let shown = || session.events().filter_map(|envelope| envelope.to_line(None).ok()).collect::<Vec<_>>().join("\n");
    let started_before_cut = if matches!(written, Written::Cut) { 4 } else { 0 };
    assert!(made <= play.max_tool_calls + started_before_cut, "{made} calls\n{}\n{}", play.toml, shown());
    let total = step.usage.own.with_children(step.children.iter().map(|child| &child.usage.total));
    assert_eq!(step.usage.total, total, "{}", play.toml);
}

/// Cuts the session in the middle of a line and continues it.
async fn goes_on_after_a_cut(play: &Play, path: &Path) {
    let whole = std::fs::read(path).unwrap();
    let lines: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    // The header and run.start stay.
    let last = lines.len().saturating_sub(2);
    if last < 2 {
        return;
    }
    let at = lines[1 + play.cut % (last - 1).max(1)];
    let torn = (at + play.cut % 9).min(whole.len());
    std::fs::write(path, &whole[..torn]).unwrap();
    let mut played = resume(play, path).await;
    for _ in 0..MOST_RESUMES {
        if played.step.waits_for.is_none() {
            break;
        }
        played = resume(play, path).await;
    }
    holds(play, &played, path, Written::Cut).await;
}

/// Every point of a session where a fork can begin.
fn points(session: &Session, recording: &Recording) -> Vec<Point> {
    let mut addresses: Vec<Address> = session.events().map(|envelope| envelope.address).collect();
    addresses.sort();
    addresses.dedup();
    let names = addresses.iter().flat_map(|at| {
        Stage::ALL.map(
            |stage| if at.is_call() || at.is_question() { at.to_string() } else { format!("{at}:{}", stage.name()) },
        )
    });
    names.filter_map(|name| Point::find(recording, &name, Stage::Request).ok()).collect()
}

/// Returns the edits at a point: another prompt and system text, a reply, a result.
fn edits_at(point: &Point, recording: &Recording, play: &Play, after: u64) -> Vec<Envelope> {
    let start = recording.run_start(&point.target.turn_part().run_part()).unwrap();
    let prompt = Agent::from_toml(&start.agent.toml, "recorded").unwrap().prompt + " Anew.";
    let edits: Vec<(&str, &str)> = match point.stage {
        _ if play.cut.is_multiple_of(3) => Vec::new(),
        Stage::Request | Stage::After => vec![("prompt", &prompt), ("option.system_prompt.suffix", "Be brief.")],
        Stage::Reply => vec![("reply", "```clojure\n(def edited 1)\n```")],
        Stage::Call => vec![("result", "edited")],
        Stage::Answer => Vec::new(),
    };
    let edit = |(seq, (target, after)): (u64, (&str, &str))| {
        let after = JsonText::of(&Json::str(after));
        let (target, by) = (target.to_owned(), Editor::Command);
        let edit = Edit { target, at: point.to_string(), after, by, before_sha: None };
        Envelope { seq, at_ms: 0, address: point.target.clone(), event: edit.into() }
    };
    (after + 1..).zip(edits).map(edit).collect()
}

/// Forks the session anywhere: what is kept is kept byte for byte, the other file stays as it is, and the fork continues, ends and replays.
async fn goes_on_from_a_fork(play: &Play, path: &Path, dir: &Path) {
    let before = std::fs::read(path).unwrap();
    let session = Session::open(path).unwrap();
    let recording = Recording::of(&session).unwrap();
    let points = points(&session, &recording);
    if points.is_empty() {
        return;
    }
    let point = &points[play.cut % points.len()];
    let prefix = Prefix::of(&session, point.seq).unwrap();
    let header = Header::new(SessionId::new(0, 8), 0);
    let fork = prefix.write(dir, &header, &edits_at(point, &recording, play, prefix.seq)).unwrap();
    let mut played = resume(play, &fork).await;
    for _ in 0..MOST_RESUMES {
        if played.step.waits_for.is_none() {
            break;
        }
        played = resume(play, &fork).await;
    }
    holds(play, &played, &fork, Written::Cut).await;
    assert_eq!(std::fs::read(path).unwrap(), before, "a fork never changes the other session");
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> { bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    let kept = usize::try_from(point.seq).unwrap();
    assert_eq!(lines(&std::fs::read(&fork).unwrap())[1..=kept], lines(&before)[1..=kept], "{point}");
}

async fn perform(play: &Play) {
    let dir = tempfile::tempdir().unwrap();
    let (mut played, path) = record(play, dir.path()).await;
    holds(play, &played, &path, Written::Whole).await;
    for _ in 0..MOST_RESUMES {
        if played.step.waits_for.is_none() {
            break;
        }
        played = resume(play, &path).await;
        holds(play, &played, &path, Written::Resumed).await;
    }
    assert!(played.step.waits_for.is_none(), "it waits for ever\n{}", play.toml);
    goes_on_from_a_fork(play, &path, dir.path()).await;
    goes_on_after_a_cut(play, &path).await;
}

/// A run whose model waits for the user, who answers later.
fn waiting(cut: usize) -> Play {
    let toml = "mode = \"text\"\nprompt = \"do {{x}}\"\nsignature = \"(x :string) -> :string\"\nmax_turns = 2\n";
    Play {
        toml: toml.to_owned(),
        acts: vec![Act { reply: 0, fault: 5, usage: None }],
        seed: 0,
        answers: 0,
        stop_after: None,
        cut,
        retry_turns: 0,
        max_depth: 1,
        turn_budget: 2,
        max_tool_calls: 1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_the_user_gave_later_replays_wherever_its_recording_was_cut() {
    // Every line, and several places within the next one.
    for cut in 0..20 {
        perform(&waiting(cut)).await;
    }
}

/// A run that is stopped after so many events.
fn stopped(mode: &str, stop_after: u32, cut: usize) -> Play {
    let toml = format!(
        "mode = \"{mode}\"\nprompt = \"do {{{{x}}}}\"\nsignature = \"(x :string) -> :string\"\nmax_turns = 1\n"
    );
    let acts = vec![Act { reply: 0, fault: 9, usage: None }];
    Play { toml, acts, stop_after: Some(stop_after), turn_budget: 4, ..waiting(cut) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_stopped_replays_wherever_its_recording_was_cut_and_resumed() {
    let modes = ["ptc_lisp", "json", "text", "json_loop"];
    for (mode, stop_after) in modes.iter().flat_map(|mode| (0..12).map(move |after| (mode, after))) {
        let step = crate::by_form(1, 13, 31);
        for cut in (stop_after as usize % step..18).step_by(step) {
            perform(&stopped(mode, stop_after, cut)).await;
        }
    }
}

/// Cases, by `PROPTEST_CASES`; `PTC_LONG_TESTS=1` runs the long form.
fn cases() -> u32 {
    if crate::is_long() { 3_000 } else { ProptestConfig::default().cases }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn whatever_happens_a_run_ends_within_its_budgets_and_replays(play in plays()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let limit = std::time::Duration::from_mins(1);
            let ended = tokio::time::timeout(limit, perform(&play)).await;
            assert!(ended.is_ok(), "it did not end\n{}", play.toml);
        });
    }
}

//! Plays a scene: the loop of the interface without a terminal, on a paused clock.

use std::io;
use std::sync::Arc;

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::folder::Folder;
use super::{Opens, Scene, Step};
use crate::agent::{Agent, BundledExample, Mismatch, Place, Verdict};
use crate::config::Config;
use crate::event::{Envelope, Event};
use crate::port::Question;
use crate::session::{RunState, Summary};
use crate::tool::ConsentPolicy;
use crate::tui::archive::ArchiveResponse;
use crate::tui::candidates::CandidatesRequest;
use crate::tui::cases::TestResponse;
use crate::tui::drive::{Clock, Driver};
use crate::tui::message::{Effect, Msg, Slot};
use crate::tui::model::{Model, Phase, RunView};
use crate::tui::services::Services;
use crate::tui::stage::{Input, Stage};
use crate::tui::{effects, keys, picture, start};
use crate::workbench::suite::{TestedCase, TrialReport};
use crate::workbench::{Intercept, Pipeline, QuestionQueue, RunEnding, RunSpec, RunUpdate, SessionKey, Workbench};

/// Agents that only scenes need: name and file.
const AGENTS: &[(&str, &str)] = &[("words", include_str!("../../../assets/scenes/words.toml"))];
/// The session of a run on a picture.
const FILE_RUN: &str = include_str!("../../../assets/scenes/photo.jsonl");
/// Between two events of a run that was started in a scene, in ms.
const BEAT_MS: i64 = 40;

/// The model at the end of a scene.
pub(super) async fn play(config: &Config, scene: &Scene, size: (u16, u16)) -> Result<Model, String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let workbench = Workbench::new(config.clone(), folder.folders()).with_policy(ConsentPolicy::Ask);
    let mut player = Player::new(workbench, &scene.opens, size)?;
    player.begin().await?;
    for step in scene.steps {
        player.step(step).await?;
        player.settle().await?;
    }
    Ok(player.model)
}

/// A surface that is only looked at in the end.
pub(in crate::tui) struct Easel;

impl Stage for Easel {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let size = model.size;
        picture(model, size);
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        futures::future::ready(Err("a scene has no editor".to_owned())).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("a scene has no shell".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        futures::future::pending().boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        None
    }
}

struct Player {
    services: Arc<Services>,
    driver: Driver,
    model: Model,
    /// Unix time in ms.
    now_ms: i64,
}

impl Player {
    fn new(workbench: Workbench, opens: &Opens, size: (u16, u16)) -> Result<Self, String> {
        let services = match Pipeline::bundled(opens.name).map_err(|error| error.to_string())? {
            Some(pipeline) => Services::of_pipeline(workbench, pipeline),
            None => Services::new(workbench, &agent(opens)?, None),
        };
        let services = Arc::new(services);
        let sessions = services.workbench.sessions();
        let now_ms = sessions.iter().map(|session| session.created_ms).max().unwrap_or_default() + 60_000;
        let model = Model::new(services.opened(), size, now_ms);
        let driver = Driver::new(services.clone(), Clock::standing_at(now_ms));
        Ok(Self { services, driver, model, now_ms })
    }

    /// Performs the first effects of the interface.
    async fn begin(&mut self) -> Result<(), String> {
        for effect in start(&self.model) {
            let performed = effects::perform(&mut self.driver, &mut self.model, &mut Easel, effect).await;
            performed.map_err(|error| error.to_string())?;
        }
        self.settle().await
    }

    /// Waits until all pending work has ended, including that requested by a frame.
    async fn settle(&mut self) -> Result<(), String> {
        self.driver.settle(&mut self.model, &mut Easel).await.map_err(|error| error.to_string())
    }

    async fn apply_message(&mut self, msg: Msg) -> Result<(), String> {
        self.driver.apply_message(&mut self.model, &mut Easel, msg).await.map_err(|error| error.to_string())
    }

    async fn key(&mut self, key: KeyEvent) -> Result<(), String> {
        let input = Input::Terminal(TerminalEvent::Key(key));
        self.driver.take(&mut self.model, &mut Easel, input).await.map_err(|error| error.to_string())?;
        self.settle().await
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Keys(chords) => {
                for chord in *chords {
                    let chord = keys::read(chord).ok_or_else(|| format!("{chord} is not a key"))?;
                    self.key(KeyEvent::new(*chord.codes.first(), chord.modifiers)).await?;
                }
            }
            Step::Type(text) => {
                for c in text.chars() {
                    self.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)).await?;
                }
            }
            Step::Rest(ms) => {
                self.now_ms += ms;
                self.driver.clock = Clock::standing_at(self.now_ms);
                self.apply_message(Msg::Clock(self.now_ms)).await?;
            }
            Step::Ran => {
                let (session, events) = self.recording()?;
                self.show(events, Phase::Done);
                if let Some(run) = &mut self.model.workbench.run {
                    run.session = Some(session);
                    run.ended = Some(RunEnding::Run);
                }
            }
            Step::ExampleRun => {
                let (session, events) = self.recording()?;
                let found = Some((session, Arc::from(events)));
                let response = Msg::Archive(ArchiveResponse::ExampleRun(found));
                self.apply_message(response).await?;
            }
            Step::FileRun => {
                let sessions = &self.services.workbench.folders.sessions_dir;
                super::folder::save(sessions, FILE_RUN).map_err(|error| error.to_string())?;
            }
            Step::Streams(parts) => {
                let (session, events) = self.recording()?;
                let is_part = |event: &Envelope| matches!(event.event, Event::ReplyPart(_));
                let last = events.iter().enumerate().filter(|(_, event)| is_part(event)).nth(*parts).map(|(at, _)| at);
                self.show(events.into_iter().take(last.unwrap_or(usize::MAX)).collect(), Phase::Running);
                if let Some(run) = &mut self.model.workbench.run {
                    run.session = Some(session);
                }
            }
            Step::Until(kind) => {
                let (session, events) = self.recording()?;
                let at = events.iter().position(|event| event.event.kind() == *kind).ok_or("there is no such event")?;
                self.show(events.into_iter().take(at + 1).collect(), Phase::Running);
                if let Some(run) = &mut self.model.workbench.run {
                    run.session = Some(session);
                }
            }
            Step::Asked => self.ask().await?,
            Step::Choose(agent, mode) => self.choose(|session| session.agent == *agent && is_in(session, mode))?,
            Step::ChooseBy(mode, model) => self.choose(|session| session.models == [*model] && is_in(session, mode))?,
            Step::Tested(path, why) => self.test(path, why).await?,
            Step::Traffic => {
                let written = super::traffic::write(&self.services.workbench.folders.sessions_dir);
                written.map_err(|error| error.to_string())?;
                for response in super::traffic::responses(self.now_ms) {
                    self.apply_message(Msg::Traffic(response)).await?;
                }
                self.model.toast = None;
            }
            Step::Searched => {
                let dir = super::search::write(&self.services.workbench.folders.state_dir);
                let request = CandidatesRequest::Open(dir.map_err(|error| error.to_string())?);
                self.perform(Effect::Candidates(request)).await?;
                self.model.candidates.dir = Some(super::search::NAME.into());
            }
            Step::Compared => {
                self.perform(Effect::Candidates(CandidatesRequest::Compare(self.selected_candidate()?))).await?;
                let selection = self.model.candidates.hunk_selection.as_mut().ok_or("nothing can be written")?;
                selection.changes.path = super::search::FILE.into();
            }
            Step::Held => {
                self.apply_message(Msg::Traffic(super::traffic::held(self.now_ms))).await?;
                // As if it had been there for a while.
                self.model.asked_ms = 0;
            }
            Step::Replayed => {
                let viewer = self.model.sessions.viewer.as_ref().and_then(|viewer| viewer.key.clone());
                let key = viewer.ok_or("no session is open")?;
                let updates = self.events(&key)?.into_iter().map(|event| RunUpdate::Event(Box::new(event)));
                let updates = updates.chain([RunUpdate::Ended(RunEnding::Identical(None))]).collect();
                self.apply_message(Msg::ReplayStarted(Ok(()))).await?;
                self.apply_message(Msg::RunUpdates(Slot::Viewer, updates)).await?;
            }
        }
        Ok(())
    }

    /// Executes an effect, and waits until nothing is under way any more.
    async fn perform(&mut self, effect: Effect) -> Result<(), String> {
        let performed = effects::perform(&mut self.driver, &mut self.model, &mut Easel, effect).await;
        performed.map_err(|error| error.to_string())?;
        self.settle().await
    }

    fn selected_candidate(&self) -> Result<usize, String> {
        let line = self.model.candidates.current().ok_or("no candidate is selected")?;
        Ok(line.number)
    }

    /// Shows results of the cases as they are listed: the last one fails.
    async fn test(&mut self, path: &str, why: &str) -> Result<(), String> {
        let version = self.model.workbench.version();
        let tests = &mut self.model.tests;
        let names: Vec<String> = tests.cases.iter().flatten().map(|line| line.outline.name.clone()).collect();
        tests.begin(names.clone(), version);
        // Nothing runs: times would be those of this machine.
        tests.queue.clear();
        let batch = tests.batch;
        for (at, name) in names.iter().enumerate() {
            let verdict = if at + 1 < names.len() {
                Verdict::Pass
            } else {
                Verdict::Fail(vec![Mismatch { path: path.to_owned(), why: why.to_owned(), ..Mismatch::default() }])
            };
            let untried = TestedCase::untried(name, String::new());
            let trial = TrialReport { verdict, duration_ms: 412 + 90 * at as u64, turns: 2, ..untried.trial };
            let got = Some("{\n  \"sentiment\": \"positive\",\n  \"score\": 0.97\n}".to_owned());
            let tested = TestedCase { trial, got, ..untried };
            let response = TestResponse::Tested(batch, name.clone(), Some(Box::new(tested)));
            self.apply_message(Msg::Tests(response)).await?;
        }
        self.model.toast = None;
        Ok(())
    }

    /// Selects the topmost session of the list for which this holds.
    fn choose(&mut self, is: impl Fn(&Summary) -> bool) -> Result<(), String> {
        let found = self.model.sessions.shown().find(|session| is(session)).map(Summary::key);
        self.model.sessions.selected = Some(found.ok_or("the session is not in the list")?);
        self.model.sessions.moved = true;
        Ok(())
    }

    /// The oldest session of the draft's agent, mode and model, else the oldest finished one by any model: its name and its events.
    fn recording(&self) -> Result<(String, Vec<Envelope>), String> {
        let preview = &self.model.workbench.preview;
        let mode = preview.mode.split(' ').next().unwrap_or_default();
        let sessions = self.services.workbench.sessions();
        let fits = |session: &&Summary| session.agent == preview.name && is_in(session, mode);
        let session = sessions.iter().rev().filter(fits).find(|session| session.models == [preview.model.as_str()]);
        let finished = |session: &&Summary| fits(session) && session.state == RunState::Returned;
        let session = session.or_else(|| sessions.iter().rev().find(finished));
        let session = session.ok_or("there is no recording of the draft")?;
        Ok((session.id.clone(), self.events(&session.key())?))
    }

    /// All events of a session.
    fn events(&self, key: &SessionKey) -> Result<Vec<Envelope>, String> {
        let session = self.services.workbench.open_found(key).map_err(|error| error.to_string())?;
        Ok(session.events().collect())
    }

    /// Shows events as those of the workbench's run, now.
    fn show(&mut self, events: Vec<Envelope>, phase: Phase) {
        let mut view = RunView { phase, ..RunView::default() };
        let moved = self.now_ms - events.last().map_or(0, |event| event.at_ms);
        for event in events {
            view.transcript.apply(&Envelope { at_ms: event.at_ms + moved, ..event });
        }
        let workbench = &mut self.model.workbench;
        match phase {
            Phase::Done => {
                let texts = workbench.pipeline.is_none().then(|| workbench.texts());
                workbench.add_run(texts, view);
            }
            _ => workbench.run = Some(view),
        }
    }

    /// Runs the draft until a user is asked, and shows what has happened until then.
    async fn ask(&mut self) -> Result<(), String> {
        let agent = self.model.workbench.texts().to_agent(&Agent::default());
        let agent = agent.map_err(|found| found.first().map(|one| one.message.clone()).unwrap_or_default())?;
        let intercept = Intercept::default();
        self.model.workbench.gates.iter().for_each(|gate| intercept.set(*gate, true));
        intercept.stop_at(self.model.workbench.breakpoints.clone());
        let queue = Arc::new(QuestionQueue::with_intercept(intercept));
        let spec =
            RunSpec { agent, model: None, context: None, human: queue.clone(), save: false, seed: 0, journal: None };
        let running = self.services.workbench.start(spec).map_err(|error| error.to_string())?;
        let mut task = running.task;
        let asked = tokio::select! {
            asked = queue.next() => asked,
            _ = &mut task => None,
        };
        // The way of the answer is held until the events are taken: without it the run would continue.
        let asked = asked.ok_or("the run asks nothing")?;
        let events = running.feed.drain();
        running.stop.by_user();
        // In how many parts a reply comes depends on the machine: they share a beat.
        let beats: Vec<i64> = events
            .iter()
            .scan(0, |beat, event| {
                *beat += i64::from(!matches!(event.event, Event::ReplyPart(_)));
                Some(*beat)
            })
            .collect();
        let began_ms = self.now_ms - BEAT_MS * (beats.last().copied().unwrap_or_default() + 1);
        let updates = events.into_iter().zip(beats).map(|(event, beat)| {
            let event = Envelope { at_ms: began_ms + BEAT_MS * beat, event: without_tool_time(event.event), ..event };
            RunUpdate::Event(Box::new(event))
        });
        let question = Question { text: without_own_folder(&asked.question.text), ..asked.question.clone() };
        let updates = updates.chain([RunUpdate::Question(question)]).collect();
        // As if a key had started it.
        self.model.toast = None;
        self.model.workbench.run = Some(RunView { phase: Phase::Running, ..RunView::default() });
        self.apply_message(Msg::RunUpdates(Slot::Workbench, updates)).await?;
        // As if it had been there for a while.
        self.model.asked_ms = 0;
        Ok(())
    }
}

/// The event with no time in a tool: it depends on the machine.
fn without_tool_time(event: Event) -> Event {
    match event {
        Event::ToolEnd(mut end) => {
            end.ms = 0;
            Event::ToolEnd(end)
        }
        event => event,
    }
}

/// Returns whether the session was run in this mode, in any variant.
fn is_in(session: &Summary, mode: &str) -> bool {
    session.mode.split(' ').next() == Some(mode)
}

fn agent(opens: &Opens) -> Result<Agent, String> {
    let own = AGENTS.iter().find(|(name, _)| *name == opens.name);
    let agent = match (own, BundledExample::find(opens.name)) {
        (Some((name, toml)), _) => Agent::from_toml(toml, name).map_err(|error| error.to_string())?,
        (None, Some(bundled)) => bundled.agent().map_err(|error| error.to_string())?,
        (None, None) => return Err(format!("there is no agent {}", opens.name)),
    };
    let mode = opens.mode.unwrap_or(agent.mode);
    let model = opens.model.map(str::to_owned).or(agent.model.clone());
    Ok(Agent { mode, model, ..agent })
}

/// The folder that a question of a scene names in place of the one that the program was started in.
const FOLDER: &str = "/home/you/agents";

/// Replaces the current folder in a question: a picture must be the same wherever it is drawn.
fn without_own_folder(text: &str) -> String {
    let own = std::env::current_dir().and_then(|own| own.canonicalize());
    let line = |folder: &str| format!("\nfolder     {folder}\n");
    own.map_or_else(|_| text.to_owned(), |own| text.replace(&line(&own.display().to_string()), &line(FOLDER)))
}

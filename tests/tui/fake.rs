//! A backend and a stage made of scripts.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_workbench::agent::{Diagnostic, DraftTexts, Mode, Place};
use ptc_workbench::event::{Address, Bill, Envelope, ErrorRecord};
use ptc_workbench::session::{EventRange, TurnEntry, TurnState};
use ptc_workbench::tui::archive::{
    self, Archive, CaseWanted, ExportRefusal, Exporting, Forking, Hit, Points, QueryProblem, Removals, Rerunning,
    Source, Spot, Taken,
};
use ptc_workbench::tui::backend::{
    AgentFile, Backend, Bodies, Ended, Happening, OpenSession, Opening, Overwrite, Policy, Preview, Recovery, Run,
    RunOutline, SaveError, SentMessage, SessionKey, SessionSummary, Trial, Written,
};
use ptc_workbench::tui::compare::backend::{BegunMatrix, Compared, Comparing, MatrixLine, MatrixWish};
use ptc_workbench::tui::inspector::Subject;
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::picture;
use ptc_workbench::tui::stage::{Input, Stage};
use ptc_workbench::workbench::Pipeline;
use ptc_workbench::workbench::inspect::Inspection;
use ptc_workbench::workbench::matrix::MatrixState;
use tokio::sync::{Notify, mpsc};

use super::story::sentiment;

/// A run that tells what a test gives it.
#[derive(Default)]
pub(crate) struct Told {
    queue: Mutex<VecDeque<Happening>>,
    changed: Notify,
    pub(crate) cancelled: AtomicBool,
    pub(crate) answers: Mutex<Vec<(Address, String)>>,
}

impl Told {
    pub(crate) fn tell(&self, happening: Happening) {
        self.queue.lock().unwrap().push_back(happening);
        self.changed.notify_one();
    }

    pub(crate) fn event(&self, envelope: Envelope) {
        self.tell(Happening::Event(Box::new(envelope)));
    }
}

impl Run for Told {
    fn session(&self) -> Option<String> {
        Some(super::story::SESSION.to_owned())
    }

    fn drain(&self) -> Vec<Happening> {
        self.queue.lock().unwrap().drain(..).collect()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.changed.notified().boxed()
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.tell(Happening::Ended(Ended::Run));
    }

    fn save_to(&self, _: Option<std::path::PathBuf>) {}

    fn put_down(&self) {
        self.cancel();
    }

    fn answer(&self, question: &Address, text: String) {
        self.answers.lock().unwrap().push((question.clone(), text));
    }
}

/// A backend that starts one scripted run and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) run: Arc<Told>,
    pub(crate) starts: AtomicUsize,
    pub(crate) listings: AtomicUsize,
    /// What listings give, one after the other; each waits for its own.
    pub(crate) lists: Mutex<Option<std::sync::mpsc::Receiver<Vec<SessionSummary>>>>,
    /// How often the points of a session were asked for.
    pub(crate) points: AtomicUsize,
    pub(crate) kept: Mutex<Vec<Recovery>>,
    pub(crate) forgotten: AtomicUsize,
    /// The prompts that were checked.
    pub(crate) checked: Mutex<Vec<String>>,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) long_session: Option<usize>,
    /// Started instead of the scripted run.
    pub(crate) fatal: Option<Arc<dyn Run>>,
}

impl Comparing for Fake {
    fn compare(&self, _: &[String]) -> Result<Compared, ErrorRecord> {
        Err(ErrorRecord::default())
    }

    fn key_of(&self, name: &str) -> Result<SessionKey, ErrorRecord> {
        Ok(SessionKey::Example(name.to_owned()))
    }

    fn start_modes(&self, _: &DraftTexts, modes: &[Mode]) -> Result<Vec<Arc<dyn Run>>, Vec<Diagnostic>> {
        self.starts.fetch_add(modes.len(), Ordering::SeqCst);
        Ok(modes.iter().map(|_| self.run.clone() as Arc<dyn Run>).collect())
    }

    fn begin_matrix(&self, _: &DraftTexts, _: &MatrixWish) -> Result<BegunMatrix, ErrorRecord> {
        Err(ErrorRecord::default())
    }

    fn go_on_matrix(&self, _: &str, _: usize) -> Result<BegunMatrix, ErrorRecord> {
        Err(ErrorRecord::default())
    }

    fn matrices(&self) -> Result<Vec<MatrixLine>, ErrorRecord> {
        Ok(Vec::new())
    }

    fn open_matrix(&self, _: &str) -> Result<MatrixState, ErrorRecord> {
        Err(ErrorRecord::default())
    }
}

impl Backend for Fake {
    fn opening(&self) -> Opening {
        Opening { texts: sentiment(), ..Opening::default() }
    }

    fn diagnose(&self, texts: &DraftTexts) -> Vec<Diagnostic> {
        self.checked.lock().unwrap().push(texts.prompt.clone());
        Vec::new()
    }

    fn preview(&self, _: &DraftTexts) -> Preview {
        Preview {
            name: "sentiment".to_owned(),
            mode: "json".to_owned(),
            model: "demo".to_owned(),
            ..Preview::default()
        }
    }

    fn start(&self, _: &DraftTexts) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        Ok(self.fatal.clone().unwrap_or_else(|| self.run.clone()))
    }

    fn inspect(&self, _: &Subject, turn: &Address) -> Result<(Inspection, Arc<dyn Trial>), ErrorRecord> {
        Err(ErrorRecord { message: format!("no turn {turn} here"), ..ErrorRecord::default() })
    }

    fn resume(&self, _: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn start_pipeline(&self, _: &Pipeline) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        Ok(self.run.clone())
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, ErrorRecord> {
        self.listings.fetch_add(1, Ordering::SeqCst);
        if let Some(lists) = &*self.lists.lock().unwrap() {
            return Ok(lists.recv().unwrap_or_default());
        }
        Ok(self
            .long_session
            .map(|turns| SessionSummary { id: "long".to_owned(), turns, ..SessionSummary::default() })
            .into_iter()
            .collect())
    }

    fn open(&self, _: &SessionKey) -> Result<OpenSession, ErrorRecord> {
        Ok(long_session(self.long_session.unwrap_or(1)))
    }

    fn replay(&self, _: &SessionKey, _: Policy) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn save(&self, path: &Path, _: &DraftTexts, _: Option<&AgentFile>, _: Overwrite) -> Result<AgentFile, SaveError> {
        Ok(AgentFile { path: path.to_owned(), sha: String::new() })
    }

    fn recoveries(&self) -> Vec<Recovery> {
        self.recoveries.clone()
    }

    fn keep(&self, recovery: &Recovery) -> Result<(), ErrorRecord> {
        self.kept.lock().unwrap().push(recovery.clone());
        Ok(())
    }

    fn forget(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    fn drop_recovery(&self, _: &str) {}
}

fn nothing() -> ErrorRecord {
    ErrorRecord { message: "this backend has no sessions".to_owned(), ..ErrorRecord::default() }
}

impl Archive for Fake {
    fn search(&self, _: &str) -> Result<Vec<Hit>, QueryProblem> {
        Ok(Vec::new())
    }

    fn failures(&self, _: &str) -> Result<Vec<archive::Failing>, ErrorRecord> {
        Err(nothing())
    }

    fn write(&self, _: &archive::Place, _: &Written) -> Result<(), ErrorRecord> {
        Err(nothing())
    }

    fn points(&self, _: &SessionKey) -> Result<Points, ErrorRecord> {
        self.points.fetch_add(1, Ordering::SeqCst);
        Err(nothing())
    }

    fn text_at(&self, _: &Spot) -> Result<archive::Standing, ErrorRecord> {
        Err(nothing())
    }

    fn fork(&self, _: &SessionKey, _: &Forking) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn rerun(&self, _: &SessionKey, _: &Rerunning) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn proceed(&self, _: &SessionKey, _: &str, _: Option<&str>) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn accept(&self, _: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        Ok(self.run.clone())
    }

    fn make_case(&self, _: &SessionKey, _: &CaseWanted) -> Result<String, ErrorRecord> {
        Err(nothing())
    }

    fn example(&self, _: &SessionKey, _: &Address, _: &str) -> Result<String, ErrorRecord> {
        Err(nothing())
    }

    fn prepare(&self, _: &SessionKey, _: &[String]) -> Result<Removals, ErrorRecord> {
        Ok(Removals::default())
    }

    fn export(&self, _: &SessionKey, _: &Exporting) -> Result<String, ExportRefusal> {
        Err(ExportRefusal::Exists)
    }

    fn events(&self, _: &SessionKey) -> Result<Arc<[Envelope]>, ErrorRecord> {
        Ok(super::story::two_turns().into())
    }

    fn take(&self, _: &Source) -> Result<Taken, ErrorRecord> {
        Err(nothing())
    }
}

/// A saved session of many turns whose bodies are made when asked for.
pub(crate) fn long_session(turns: usize) -> OpenSession {
    let outline = |number: usize| TurnEntry {
        address: Address::from(format!("r0/t{number}").as_str()),
        state: TurnState::Succeeded,
        started_ms: super::story::NOW_MS,
        last_ms: super::story::NOW_MS + 300,
        tokens: None,
        reason: None,
        events: EventRange::new(number * 10..number * 10 + 10),
        reply: EventRange::default(),
    };
    OpenSession {
        summary: SessionSummary { id: "long".to_owned(), turns, ..SessionSummary::default() },
        runs: vec![RunOutline {
            address: Address::from("r0"),
            events: 0..turns * 10 + 20,
            head: super::story::Story::new().start().events(),
            turns: (1..=turns).map(outline).map(Arc::new).collect(),
            tail: super::story::Story::new().run_end(Some("{}"), None, (3, 1, 1)).events(),
            last_ms: super::story::NOW_MS,
            gap_ms: 0,
            waits: false,
            bill: Bill::default(),
        }],
        bodies: Arc::new(Made),
    }
}

struct Made;

impl Bodies for Made {
    fn replaced(&self, _: &Address) -> Vec<(String, String)> {
        Vec::new()
    }

    fn events(&self, places: std::ops::Range<usize>) -> Result<Vec<Envelope>, ErrorRecord> {
        let turn = format!("r0/t{}", places.start / 10);
        let reply = format!("{{\"number\": {}}}", places.start / 10);
        let story = super::story::Story::new().turn(&turn).reply(&turn, &reply, (1, 1));
        Ok(story.extract(&turn, "whole", (0, reply.len())).turn_end(&turn, None, (1, 1), (1, 1, 1)).events())
    }

    fn request(&self, turn: &Address) -> Result<Vec<SentMessage>, ErrorRecord> {
        let sections = vec![("task".to_owned(), format!("the task of {turn}"))];
        Ok(vec![SentMessage { role: ptc_workbench::event::Role::User, sections }])
    }
}

/// A stage that keeps pictures, and takes its input from a channel.
pub(crate) struct Paper {
    inputs: mpsc::UnboundedReceiver<Input>,
    pub(crate) last: Arc<Mutex<String>>,
    pub(crate) edited: Option<String>,
}

impl Paper {
    pub(crate) fn new() -> (Self, mpsc::UnboundedSender<Input>) {
        let (sender, inputs) = mpsc::unbounded_channel();
        (Self { inputs, last: Arc::default(), edited: None }, sender)
    }
}

impl Stage for Paper {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let size = model.size;
        let buffer = picture(model, size);
        *self.last.lock().unwrap() = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let edited = self.edited.clone().ok_or_else(|| "there is no editor".to_owned());
        futures::future::ready(edited).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("paper cannot be suspended".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        self.inputs.recv().boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        self.inputs.try_recv().ok()
    }
}

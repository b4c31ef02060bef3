//! The loop: one `select!` over input, runs, answers of background work and time; all queues are drained, then one frame.
//!
//! In: services and a stage. Out: how the program ends. Nothing is drawn unless the model is dirty, and never more than
//! sixty times a second. Everything slow runs on a blocking thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, MouseEventKind};
use futures::future::select_all;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::checks::Checks;
use super::compare::CompareResponse;
use super::effects::{self, EffectResult, FollowedProxy};
use super::limiter::{Limiter, News};
use super::message::{Effect, Msg, Slot};
use super::model::{Model, SessionFile};
use super::services::Services;
use super::stage::{Input, Stage};
use super::traffic::TrafficResponse;
use super::{start, update};
use crate::agent::DraftTexts;
use crate::event::Address;
use crate::port::Stop;
use crate::workbench::inspect::LazyBench;
use crate::workbench::matrix::{MatrixRun, MatrixUpdate};
use crate::workbench::{RunEnding, RunHandle, RunUpdate, TurnReader};

/// Time that a run gets to write its end when the program exits.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Cause of the end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// A user left.
    Quit,
    /// A signal came, by number: the exit code is 128 more.
    Signal(i32),
    /// The input has ended: the terminal is gone.
    Hangup,
}

impl Exit {
    /// The exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(u8::MAX),
            Self::Hangup => 129,
        }
    }
}

/// The clock of the model: Unix time in ms. Follows tokio's clock, so that tests can pause it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_ms: i64,
    /// `None` while it is paused.
    start: Option<Instant>,
}

impl Clock {
    /// A clock that shows this time now.
    pub fn starting_at(start_ms: i64) -> Self {
        Self { start_ms, start: Some(Instant::now()) }
    }

    /// A clock that always shows this time; what waits for a later one waits for ever.
    pub fn standing_at(ms: i64) -> Self {
        Self { start_ms: ms, start: None }
    }

    /// Unix time in ms.
    pub fn now_ms(&self) -> i64 {
        let passed = self.start.map_or(0, |start| start.elapsed().as_millis());
        self.start_ms.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }

    fn instant(&self, at_ms: i64) -> Option<Instant> {
        Some(self.start? + Duration::from_millis(crate::event::elapsed_ms(self.start_ms, at_ms)))
    }
}

/// State of the event loop apart from the model.
pub struct Driver {
    pub(super) services: Arc<Services>,
    pub(super) runs: [Option<Arc<RunHandle>>; Slot::ALL.len()],
    pub(super) matrix: Option<Arc<MatrixRun>>,
    /// Stops the cases of the draft that run.
    pub(super) tests: Stop,
    /// Stops the model that is asked for a suggestion.
    pub(super) suggestion: Stop,
    /// Reads the turns of the opened session.
    pub(super) turns: Option<Arc<TurnReader>>,
    /// The proxy whose traffic is followed.
    pub(super) proxy: Option<FollowedProxy>,
    /// The bench of the inspected turn.
    pub(super) bench: Option<(Address, Arc<LazyBench>)>,
    pub(super) done: mpsc::UnboundedSender<EffectResult>,
    answers: mpsc::UnboundedReceiver<EffectResult>,
    /// Turns that are being read.
    pub(super) reading: Vec<Address>,
    /// The check of the texts that is under way, and the texts of the next with their version.
    pub(super) checks: Checks<(u64, DraftTexts)>,
    /// State of the listing of the sessions.
    pub(super) listing: Listing,
    /// The search that counts.
    pub(super) search: Option<Arc<()>>,
    /// The last piece of work in turn.
    pub(super) in_turn: Option<tokio::task::JoinHandle<()>>,
    /// Background work under way.
    pub(super) working: usize,
    pub(super) clock: Clock,
    limiter: Limiter,
    /// Something was typed since the last frame.
    typed: bool,
    /// Counters of the loop.
    pub counts: Counts,
    /// Endings of runs whose sessions are not in their own files: unsaved ones, and at exit those saved in another folder.
    pub(super) unsaved: Vec<RunEnding>,
}

/// Counters of the loop, for measurements and tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Frames drawn.
    pub frames: u64,
    /// Checks of texts started.
    pub checks: u64,
    /// Listings of the sessions started.
    pub listings: u64,
}

/// State of the listing of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// No listing runs.
    Idle,
    /// A listing runs.
    Runs,
    /// A listing runs, and another one follows it.
    RunsAgain,
}

impl Driver {
    /// A loop over these services.
    pub fn new(services: Arc<Services>, clock: Clock) -> Self {
        let (done, answers) = mpsc::unbounded_channel();
        Self {
            services,
            runs: [const { None }; Slot::ALL.len()],
            matrix: None,
            tests: Stop::default(),
            suggestion: Stop::default(),
            turns: None,
            proxy: None,
            bench: None,
            done,
            answers,
            reading: Vec::new(),
            checks: Checks::default(),
            listing: Listing::Idle,
            search: None,
            in_turn: None,
            working: 0,
            clock,
            limiter: Limiter::default(),
            typed: false,
            counts: Counts::default(),
            unsaved: Vec::new(),
        }
    }

    /// Follows a run that was started elsewhere. The model learns of it by [`Msg::Started`].
    pub fn follow(&mut self, slot: Slot, run: Arc<RunHandle>) {
        tracing::debug!(?slot, session = run.session(), "follows a run");
        if let Some(before) = self.runs[slot as usize].replace(run) {
            before.give_way();
        }
    }

    /// Runs until the program is to end. The first frame comes before anything else is done.
    pub async fn run(&mut self, model: &mut Model, stage: &mut dyn Stage, first: Option<Effect>) -> io::Result<Exit> {
        self.apply_message(model, stage, Msg::Clock(self.clock.now_ms())).await?;
        self.draw(model, stage)?;
        for effect in start(model).into_iter().chain(first) {
            effects::perform(self, model, stage, effect).await?;
        }
        effects::look_for_recoveries(self);
        loop {
            if let Some(exit) = self.turn(model, stage).await? {
                return Ok(exit);
            }
            if model.quitting && self.working == 0 {
                self.last_words(model).await;
                return Ok(Exit::Quit);
            }
        }
    }

    /// Continues until no background work is pending and a frame asks for nothing new. Runs may continue.
    pub(super) async fn settle(&mut self, model: &mut Model, stage: &mut dyn Stage) -> io::Result<()> {
        loop {
            self.draw(model, stage)?;
            if self.working == 0 && !self.checks.waits() {
                return Ok(());
            }
            while self.working > 0 || self.checks.waits() {
                self.turn(model, stage).await?;
            }
        }
    }

    /// Waits for one thing to happen, takes everything else that is there, and draws when it is time.
    async fn turn(&mut self, model: &mut Model, stage: &mut dyn Stage) -> io::Result<Option<Exit>> {
        let frame = model.dirty.then(|| self.due(Instant::now()));
        let deadline = model.deadline_ms().and_then(|at| self.clock.instant(at));
        let mut input = None;
        let mut answer = None;
        tokio::select! {
            biased;
            next = stage.input(), if !model.quitting => {
                match next {
                    Some(next) => input = Some(next),
                    None => return Ok(Some(Exit::Hangup)),
                }
            }
            next = self.answers.recv() => answer = next,
            () = changed(&self.runs) => {}
            () = matrix_changed(self.matrix.as_ref()) => {}
            () = traffic_changed(self.proxy.as_ref()) => {}
            () = until(deadline) => {}
            () = until(self.checks.due()) => {}
            () = until(frame) => {}
        }
        self.apply_message(model, stage, Msg::Clock(self.clock.now_ms())).await?;
        effects::check(self);
        if let Some(done) = answer {
            self.finish(model, stage, done).await?;
        }
        while let Some(next) = input.take().or_else(|| stage.pending()) {
            if let Some(exit) = self.take(model, stage, next).await? {
                return Ok(Some(exit));
            }
        }
        while let Ok(done) = self.answers.try_recv() {
            self.finish(model, stage, done).await?;
        }
        for slot in Slot::ALL {
            let updates = self.take_updates(slot, model.quitting);
            if !updates.is_empty() {
                let over = updates.iter().any(|update| matches!(update, RunUpdate::Ended(_)));
                self.apply_message(model, stage, Msg::RunUpdates(slot, updates)).await?;
                if over {
                    self.runs[slot as usize] = None;
                }
            }
            // The writer catches up without an update of the run. While the run is shown, its clock keeps this loop running.
            let file = self.runs[slot as usize].as_ref().map(|run| SessionFile::of(run.is_unwritten()));
            if let Some(file) = file.filter(|file| model.run_of(slot).is_some_and(|run| run.file != *file)) {
                self.apply_message(model, stage, Msg::SessionFile(slot, file)).await?;
            }
        }
        let updates = self.matrix.as_ref().map(|matrix| matrix.drain()).unwrap_or_default();
        if !updates.is_empty() {
            let over = updates.iter().any(|update| matches!(update, MatrixUpdate::Ended(_)));
            self.apply_message(model, stage, Msg::Compare(CompareResponse::Matrix(updates))).await?;
            if over {
                self.matrix = None;
            }
        }
        let updates = self.proxy.as_ref().map(|proxy| proxy.live.drain()).unwrap_or_default();
        if !updates.is_empty() {
            self.apply_message(model, stage, Msg::Traffic(TrafficResponse::Updates(updates))).await?;
        }
        if model.dirty && self.due(Instant::now()) <= Instant::now() {
            self.draw(model, stage)?;
        }
        Ok(None)
    }

    fn due(&self, now: Instant) -> Instant {
        self.limiter.due(now, if self.typed { News::Typed } else { News::Told })
    }

    fn draw(&mut self, model: &mut Model, stage: &mut dyn Stage) -> io::Result<()> {
        stage.draw(model)?;
        model.dirty = false;
        self.typed = false;
        self.counts.frames += 1;
        self.limiter.drawn(Instant::now());
        effects::read_what_is_seen(self, model);
        Ok(())
    }

    pub(super) async fn take(
        &mut self,
        model: &mut Model,
        stage: &mut dyn Stage,
        input: Input,
    ) -> io::Result<Option<Exit>> {
        self.typed = true;
        let msg = match input {
            Input::Terminal(Event::Key(key)) => Msg::Key(key),
            Input::Terminal(Event::Paste(text)) => Msg::Paste(text),
            Input::Terminal(Event::Mouse(mouse)) if mouse.kind == MouseEventKind::Moved => return Ok(None),
            Input::Terminal(Event::Mouse(mouse)) => Msg::Mouse(mouse),
            Input::Terminal(Event::Resize(columns, rows)) => Msg::Resize(columns, rows),
            Input::Terminal(Event::FocusGained) => Msg::FocusGained,
            Input::Terminal(Event::FocusLost) => return Ok(None),
            Input::Terminate(signal) => return Ok(Some(Exit::Signal(signal))),
            Input::Stop => {
                effects::suspend(model, stage).await;
                Msg::Resumed
            }
            Input::Continue => {
                stage.resume()?;
                Msg::Resumed
            }
        };
        self.apply_message(model, stage, msg).await?;
        Ok(None)
    }

    async fn finish(&mut self, model: &mut Model, stage: &mut dyn Stage, done: EffectResult) -> io::Result<()> {
        self.working = self.working.saturating_sub(1);
        let msg = match done {
            EffectResult::Msg(msg) => msg,
            EffectResult::Runs(runs, msg) => {
                for (slot, run) in runs {
                    self.follow(slot, run);
                }
                msg
            }
            EffectResult::Matrix(matrix, msg) => {
                self.matrix = Some(matrix);
                msg
            }
            EffectResult::Proxy(proxy, msg) => {
                effects::set_gates(&proxy, &model.workbench.gates);
                self.proxy = Some(*proxy);
                msg
            }
            EffectResult::Session(turns, msg) => {
                self.turns = Some(turns);
                self.reading.clear();
                msg
            }
            EffectResult::Turn(turn, bench, msg) => {
                self.bench = Some((turn, bench));
                msg
            }
        };
        match &msg {
            Msg::TurnRead(_, turn, _) => self.reading.retain(|reading| reading != turn),
            Msg::Checked(..) => effects::checked(self),
            // A list from before the request may lack the session that is waited for.
            Msg::Listed(..) if effects::listed(self) && model.sessions.awaited.is_some() => return Ok(()),
            _ => {}
        }
        self.apply_message(model, stage, msg).await
    }

    /// Updates the model and does what comes of it.
    pub(super) async fn apply_message(&mut self, model: &mut Model, stage: &mut dyn Stage, msg: Msg) -> io::Result<()> {
        for effect in update(model, msg) {
            effects::perform(self, model, stage, effect).await?;
        }
        Ok(())
    }

    /// Ends the proxy: its last requests get their time, its sessions are written.
    pub(super) async fn end_proxy(&mut self) {
        if let Some(proxy) = self.proxy.take() {
            proxy.end().await;
        }
    }

    /// Takes the updates of a run. A session that no folder has whole is remembered for the exit code and the last lines, and
    /// while the program is being left, one in another folder too: the screen that would show it is gone.
    fn take_updates(&mut self, slot: Slot, is_leaving: bool) -> Vec<RunUpdate> {
        let updates = self.runs[slot as usize].as_ref().map(|run| run.drain()).unwrap_or_default();
        let endings = updates.iter().filter_map(|update| match update {
            RunUpdate::Ended(ending) => Some(ending),
            _ => None,
        });
        self.unsaved.extend(
            endings
                .filter(|ending| match ending {
                    RunEnding::Unsaved(_) => true,
                    RunEnding::Elsewhere(_) => is_leaving,
                    _ => false,
                })
                .cloned(),
        );
        updates
    }

    /// Lets stopped runs write their ends.
    async fn last_words(&mut self, model: &mut Model) {
        let until = Instant::now() + LAST_WORDS;
        while let Some(matrix) = self.matrix.clone() {
            let over = matrix.drain().iter().any(|update| matches!(update, MatrixUpdate::Ended(_)));
            if over || tokio::time::timeout_at(until, matrix.changed()).await.is_err() {
                self.matrix = None;
            }
        }
        for slot in Slot::ALL {
            while let Some(run) = self.runs[slot as usize].clone() {
                let updates = self.take_updates(slot, true);
                if updates.iter().any(|update| matches!(update, RunUpdate::Ended(_))) {
                    self.runs[slot as usize] = None;
                }
                // Their effects would only read lists that are not visible any more.
                drop(update(model, Msg::RunUpdates(slot, updates)));
                if self.runs[slot as usize].is_some() && tokio::time::timeout_at(until, run.changed()).await.is_err() {
                    break;
                }
            }
        }
    }
}

/// Resolves when one of the runs has an update.
async fn changed(runs: &[Option<Arc<RunHandle>>]) {
    let open: Vec<_> = runs.iter().flatten().map(|run| run.changed()).collect();
    if open.is_empty() {
        return std::future::pending().await;
    }
    select_all(open).await;
}

async fn matrix_changed(matrix: Option<&Arc<MatrixRun>>) {
    match matrix {
        Some(matrix) => matrix.changed().await,
        None => std::future::pending().await,
    }
}

async fn traffic_changed(proxy: Option<&FollowedProxy>) {
    match proxy {
        Some(proxy) => proxy.live.changed().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agent::Agent;
    use crate::config::{Config, Folders};
    use crate::session::Marks;
    use crate::tui::actions::Action;
    use crate::tui::scenes::Easel;
    use crate::tui::sessions::SessionAction;
    use crate::workbench::Workbench;

    fn driver(dir: &Path) -> (Driver, Model) {
        let workbench = Workbench::new(Config::built_in().unwrap(), Folders::at(dir.to_owned(), dir, None));
        let services = Arc::new(Services::new(workbench, &Agent::default(), None));
        let model = Model::new(services.opened(), (80, 24), 0);
        (Driver::new(services, Clock::standing_at(0)), model)
    }

    #[tokio::test]
    async fn a_list_from_before_the_request_does_not_answer_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mut driver, mut model) = driver(dir.path());
        model.sessions.awaited = Some(Action::Session(SessionAction::Fork));
        driver.listing = Listing::RunsAgain;
        let listed = || EffectResult::Msg(Msg::Listed(Vec::new(), Marks::default()));
        driver.finish(&mut model, &mut Easel, listed()).await.unwrap();
        assert_eq!((&model.sessions.all, model.sessions.awaited.is_some()), (&None, true), "it is dropped");
        assert_eq!((driver.listing, driver.counts.listings), (Listing::Runs, 1), "another listing follows");
        driver.finish(&mut model, &mut Easel, listed()).await.unwrap();
        assert_eq!((model.sessions.all.is_some(), model.sessions.awaited), (true, None));
    }
}

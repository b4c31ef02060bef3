//! Running a matrix: concurrent trials, each in a session of its own, each recorded when it ends.
//!
//! In: a plan or the file of a matrix, the number of concurrent trials, a stop. Out: events while it runs, and the final state.
//! A trial that was stopped or could not be tried is not recorded: a resume runs it again.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::stream::{FuturesUnordered, StreamExt as _};
use ptc_core::reasons::Reason;
use tokio::sync::mpsc;

use super::file::MatrixFile;
use super::meter::{Measures, Meter};
use super::plan::{Definitions, MatrixPlan};
use super::state::{MatrixEvent, MatrixState, Outcome, Trial, TrialKey};
use crate::agent::{Case, Context, Judgement, Step, Verdict};
use crate::event::{ErrorRecord, Event, FileRecord, Interrupt, InterruptReason, InterruptSource};
use crate::port::{Attachments as _, NoUser, Stop, SystemClock};
use crate::session::{Group, SessionId};
use crate::workbench::judging::JudgedRun;
use crate::workbench::reply_cache::trial_name;
use crate::workbench::run::Origin;
use crate::workbench::session_saver::settled;
use crate::workbench::{BackgroundRun, RunSpec, StartError, Workbench};

/// Error of planning, opening or running a matrix; the text contains the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixError(pub String);

impl std::fmt::Display for MatrixError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatrixError {}

impl From<MatrixError> for ErrorRecord {
    fn from(error: MatrixError) -> Self {
        Self::new(Reason::InvalidAgent, error.0)
    }
}

impl From<StartError> for MatrixError {
    fn from(error: StartError) -> Self {
        Self(error.to_string())
    }
}

/// Concurrency and limits of a matrix or a suite.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pace {
    /// Number of concurrent trials; at least one.
    pub jobs: usize,
    /// Cost at which no further trial starts, in the price table's unit.
    pub max_cost: Option<f64>,
    /// Time after which no further trial starts.
    pub until: Option<Instant>,
}

impl From<usize> for Pace {
    fn from(jobs: usize) -> Self {
        Self { jobs, ..Self::default() }
    }
}

impl Pace {
    /// Returns whether a cost reaches the limit.
    pub fn is_spent(&self, cost: f64) -> bool {
        self.max_cost.is_some_and(|most| cost >= most)
    }

    /// Returns whether the time limit has passed.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Callback for each event, with the state after it.
pub type Watch<'a> = &'a mut (dyn FnMut(&MatrixEvent, &MatrixState) + Send);

impl Workbench {
    /// Creates a matrix and its file without running anything. Errors include models that cannot be used now, such as those without a key.
    pub fn begin_matrix(&self, plan: MatrixPlan) -> Result<(MatrixFile, MatrixState), MatrixError> {
        self.check_models(&plan)?;
        let folders = (&*self.folders.sessions_dir, &*self.folders.spare_dir);
        let files = || plan.agents.iter().flat_map(|agent| &agent.files);
        self.refuse_file_keys(files())?;
        let file = MatrixFile::create(folders, &plan, SystemClock.now(), SessionId::chance())?;
        let store = file.attachments();
        files().try_for_each(|input| store.store(&input.record.sha256, &input.bytes)).map_err(|error| {
            MatrixError(format!("{}; free space, and start the matrix again", StartError::Session(error)))
        })?;
        Ok((file, MatrixState::new(plan, [])))
    }

    /// Opens a matrix to continue it: by id, by a unique prefix of its id, or `last`.
    pub fn open_matrix(&self, name: &str) -> Result<(MatrixFile, MatrixState), MatrixError> {
        let (file, mut state) = MatrixFile::open(&self.folders.sessions_dir, name)?;
        if !state.is_complete() {
            let stored = file.attachments();
            for file in state.plan.agents.iter_mut().flat_map(|agent| &mut agent.files) {
                let FileRecord { name, sha256, .. } = &file.record;
                let missing = || {
                    MatrixError(format!(
                        "the bytes of the file {name} are missing (SHA-256 {sha256}): they belong in the folder `files` of the sessions; put \
                         them back, or start a new matrix"
                    ))
                };
                file.bytes = stored.bytes(sha256).ok_or_else(missing)?;
            }
            self.check_models(&state.plan)?;
        }
        Ok((file, state))
    }

    /// Lists the matrices, newest first.
    pub fn matrices(&self) -> Vec<super::file::MatrixEntry> {
        super::file::list(&self.folders.sessions_dir)
    }

    /// Reads the state of a matrix without opening it for writing: by id, by a unique prefix of its id, or `last`.
    pub fn read_matrix(&self, name: &str) -> Result<MatrixState, MatrixError> {
        super::file::state_of(&self.folders.sessions_dir, name)
    }

    /// Returns whether a name denotes a matrix: it has the form of a matrix id, and there is no file of this name.
    pub fn is_matrix(name: &str) -> bool {
        super::file::is_matrix_name(name) && !Path::new(name).exists()
    }

    /// Runs the missing trials within the pace. A stop ends the running trials, which then count as not run. When the limit of cost or time
    /// is reached, no further trial starts and the running ones finish.
    ///
    /// Errors: the matrix's file can be written neither in its folder nor in the spare one; it and the state contain the trials that ended
    /// before.
    pub async fn run_matrix(
        &self,
        file: &mut MatrixFile,
        state: &mut MatrixState,
        pace: impl Into<Pace> + Send,
        stop: &Stop,
        watch: Watch<'_>,
    ) -> Result<(), MatrixError> {
        let pace = pace.into();
        let (event_sender, mut event_receiver) = mpsc::unbounded_channel();
        let (plan, id) = (Arc::new(state.plan.clone()), file.id.clone());
        let definitions = Arc::new(plan.definitions()?);
        let halt = stop.child();
        let together = self.sharing_adapters();
        let mut missing = state.missing().into_iter();
        let mut open = FuturesUnordered::new();
        let mut failed = None;
        loop {
            while open.len() < pace.jobs.max(1)
                && halt.reason().is_none()
                && !pace.is_spent(state.spent())
                && !pace.is_late()
            {
                let Some(key) = missing.next() else { break };
                open.push(together.matrix_trial(
                    &id,
                    (Arc::clone(&plan), Arc::clone(&definitions)),
                    key,
                    halt.child(),
                    event_sender.clone(),
                ));
            }
            if open.is_empty() {
                break;
            }
            let event = tokio::select! {
                biased;
                Some(event) = event_receiver.recv() => event,
                Some(event) = open.next() => {
                    // The trial has ended; apply the events that it sent before its end first.
                    while let Ok(event) = event_receiver.try_recv() {
                        state.apply(&event);
                        watch(&event, state);
                    }
                    event
                }
            };
            if let (MatrixEvent::Finished(trial), None) = (&event, &failed) {
                failed = file.add(trial, &self.folders.spare_dir).err();
            }
            if failed.is_some() {
                halt.now(Interrupt {
                    reason: InterruptReason::from(Reason::WriteFailed.name()),
                    by: InterruptSource::Limit,
                });
                continue;
            }
            state.apply(&event);
            watch(&event, state);
        }
        failed.map_or(Ok(()), Err)
    }

    fn check_models(&self, plan: &MatrixPlan) -> Result<(), MatrixError> {
        let (mut checked, mut models) = (HashSet::new(), HashSet::new());
        let definitions = plan.definitions()?;
        for (place, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| cell.unfit.is_none()) {
            // The check does not depend on the case.
            if !checked.insert((&cell.agent, &cell.mode, &cell.model)) {
                continue;
            }
            let spec = plan.trial(&definitions, TrialKey { cell: place, trial: 1 })?;
            if spec.model.is_some() && models.insert(&cell.model) {
                self.build_model(self.choose(&cell.model)?, Arc::new(NoUser))?;
            }
        }
        if let Some(case) = definitions.cases(plan).find(|case| case.asks_default_judge()) {
            self.check_default_judge().map_err(|error| error.about(&format!("the case `{}`", case.name)))?;
        }
        let embedding: HashSet<&str> = definitions.cases(plan).flat_map(Case::embedding_models).collect();
        embedding.into_iter().try_for_each(|name| self.check_embedding_model(name))?;
        Ok(())
    }

    /// Runs one trial to its end.
    async fn matrix_trial(
        &self,
        matrix: &str,
        (plan, definitions): (Arc<MatrixPlan>, Arc<Definitions>),
        key: TrialKey,
        stop: Stop,
        event_sender: mpsc::UnboundedSender<MatrixEvent>,
    ) -> MatrixEvent {
        let untried = |why: String| MatrixEvent::Untried { key, why };
        let spec = match plan.trial(&definitions, key) {
            Ok(spec) => spec,
            Err(error) => return untried(error.to_string()),
        };
        let cell = plan.cells.get(key.cell).map(super::plan::Cell::name).unwrap_or_default();
        let (agent, context) = spec.case.run_inputs(spec.agent);
        let run = RunSpec {
            agent,
            context: Some(Context::from(context)),
            model: spec.model,
            human: Arc::new(NoUser),
            save: true,
            seed: spec.seed,
            journal: None,
        };
        let origin = Origin { group: Some(Group { id: matrix.to_owned(), cell }), ..Origin::default() };
        let workbench = self.for_trial(trial_name(key.trial));
        let run = match workbench.unattended().start_in(run, origin, stop.clone()) {
            Ok(run) => run,
            Err(error) => return untried(error.to_string()),
        };
        let session = run.session.clone().unwrap_or_default();
        // Cannot fail: the receiver outlives the trials.
        _ = event_sender.send(MatrixEvent::Started { key, session: session.clone() });
        let on_turn = |turn| _ = event_sender.send(MatrixEvent::Turn { key, turn });
        let (step, meter) = match watched(run, on_turn).await {
            Ok(ended) => ended,
            Err(why) => return untried(format!("{why} ({session})")),
        };
        let is_cancelled = step.fail.as_ref().is_some_and(|fail| fail.reason == Reason::Cancelled.name());
        if is_cancelled && stop.reason().is_some() {
            return MatrixEvent::Stopped(key);
        }
        let outcome = Outcome::of(&step);
        let judged = JudgedRun {
            step: Arc::new(step),
            session: Some(session.clone()),
            seed: spec.seed,
            trial: key.trial,
            recorded: Vec::new(),
        };
        let (Judgement { verdict, score }, rulings) = self.judgement(&spec.case, &judged, &stop).await;
        if let Verdict::Error(why) = &verdict {
            if stop.reason().is_some() {
                return MatrixEvent::Stopped(key);
            }
            return untried(format!("{why} ({session})"));
        }
        let why = (!verdict.is_pass()).then(|| verdict.lines().join("\n"));
        let measures = Measures { from_cache: workbench.taken_from_cache(), ..meter.measures() };
        let (cell, trial) = (key.cell, key.trial);
        MatrixEvent::Finished(Box::new(Trial {
            cell,
            trial,
            session,
            passed: verdict.is_pass(),
            score: Some(score).filter(|score| *score > 0.0 && *score < 1.0),
            why,
            outcome,
            measures,
            rulings,
        }))
    }
}

/// Measures a run until it ends; `on_turn` gets the number of each turn of the root run. Errors: it was aborted, or its session is lost.
pub(in crate::workbench) async fn watched(
    run: BackgroundRun,
    on_turn: impl Fn(u32) + Send,
) -> Result<(Step, Meter), String> {
    let BackgroundRun { feed, mut task, saver, .. } = run;
    let mut meter = Meter::default();
    let take = |meter: &mut Meter| {
        for envelope in feed.drain() {
            meter.apply(&envelope);
            let turn = envelope.address.turn_number();
            if let (Event::TurnStart(_), Some(turn), false) = (&envelope.event, turn, envelope.run().is_call()) {
                on_turn(turn);
            }
        }
    };
    let step = loop {
        tokio::select! {
            biased;
            () = feed.changed() => take(&mut meter),
            step = &mut task => break step,
        }
    };
    take(&mut meter);
    settled(saver).await?;
    Ok((step.map_err(|error| format!("{}: {error}", Reason::InternalError))?, meter))
}

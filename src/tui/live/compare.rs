//! The compare screen's part of the real backend: sessions side by side, one draft in several modes, matrices.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use tokio::sync::Notify;

use super::{Live, refusal, run, unreadable};
use crate::agent::{Agent, Diagnostic, DraftTexts, Mode, Plan};
use crate::event::ErrorRecord;
use crate::port::Stop;
use crate::tui::backend::{Run, SessionKey};
use crate::tui::compare::backend::{BegunMatrix, Compared, Comparing, MatrixLine, MatrixRun, MatrixTold, MatrixWish};
use crate::workbench::format::distinct;
use crate::workbench::matrix::{MatrixEntry, MatrixError, MatrixFile, MatrixSpec, MatrixState};
use crate::workbench::{Desk, RunSpec};

impl Comparing for Live {
    fn compare(&self, names: &[String]) -> Result<Compared, ErrorRecord> {
        let compared = self.workbench.compare_sessions(names).map_err(|error| unreadable(error.to_string()))?;
        Ok(Compared { comparison: Arc::new(compared.0), warnings: compared.1 })
    }

    fn key_of(&self, name: &str) -> Result<SessionKey, ErrorRecord> {
        self.workbench.find_session(name).map_err(|error| unreadable(error.to_string()))
    }

    fn start_modes(&self, texts: &DraftTexts, modes: &[Mode]) -> Result<Vec<Arc<dyn Run>>, Vec<Diagnostic>> {
        let agent = Self::agent(texts)?;
        // Nothing starts unless everything can.
        for mode in modes {
            Plan::new(&agent.for_mode(*mode)?)?;
        }
        let seed = seed();
        let start = |mode: &Mode| -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
            let desk = Arc::new(Desk::default());
            let agent = Agent { mode: *mode, ..agent.clone() };
            let spec =
                RunSpec { agent, model: None, context: None, person: desk.clone(), save: true, seed, journal: None };
            let running = self.workbench.start(spec).map_err(refusal)?;
            Ok(Arc::new(run::LiveRun::new(running, desk)))
        };
        modes.iter().map(start).collect()
    }

    fn begin_matrix(&self, texts: &DraftTexts, wish: &MatrixWish) -> Result<BegunMatrix, ErrorRecord> {
        let agent = Self::agent(texts).map_err(|findings| {
            let said = findings.into_iter().find(Diagnostic::is_error).map(|finding| finding.message);
            ErrorRecord::new(Reason::InvalidAgent, said.unwrap_or_default())
        })?;
        let spec = MatrixSpec {
            agents: vec![(agent.name.clone(), agent)],
            modes: wish.modes.clone(),
            models: wish.models.clone(),
            trials: wish.trials,
            seed: 0,
        };
        let plan = self.workbench.plan_matrix(&spec).map_err(unusable)?;
        let (file, state) = self.workbench.begin_matrix(plan).map_err(unusable)?;
        Ok(self.run_matrix(file, state, wish.jobs))
    }

    fn go_on_matrix(&self, id: &str, jobs: usize) -> Result<BegunMatrix, ErrorRecord> {
        let (file, state) = self.workbench.open_matrix(id).map_err(unusable)?;
        Ok(self.run_matrix(file, state, jobs))
    }

    fn matrices(&self) -> Result<Vec<MatrixLine>, ErrorRecord> {
        Ok(self.workbench.matrices().into_iter().map(line).collect())
    }

    fn open_matrix(&self, id: &str) -> Result<MatrixState, ErrorRecord> {
        self.workbench.read_matrix(id).map_err(unusable)
    }
}

impl Live {
    /// Runs a matrix on the current runtime.
    fn run_matrix(&self, mut file: MatrixFile, mut state: MatrixState, jobs: usize) -> BegunMatrix {
        let (workbench, stop, shared) = (self.workbench.clone(), Stop::default(), Arc::new(Shared::default()));
        let (id, begun) = (file.id.clone(), state.clone());
        let (task_stop, task_shared) = (stop.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let watch = &mut |event: &_, _: &MatrixState| {
                task_shared.tell(MatrixTold::Happened(Clone::clone(event)));
            };
            let ran = workbench.run_matrix(&mut file, &mut state, jobs, &task_stop, watch).await;
            let told = ran.err().map(|error| error.to_string()).or_else(|| file.told_move());
            task_shared.tell(MatrixTold::Ended(told));
        });
        BegunMatrix { id, state: begun, run: Arc::new(LiveMatrix { shared, stop }) }
    }
}

/// The same seed for all modes: what differs is the mode.
fn seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

#[expect(clippy::needless_pass_by_value, reason = "goes through map_err")]
fn unusable(error: MatrixError) -> ErrorRecord {
    ErrorRecord::new(Reason::InvalidAgent, error.to_string())
}

fn line(entry: MatrixEntry) -> MatrixLine {
    let state = match entry.state {
        Ok(state) => state,
        Err(error) => {
            return MatrixLine { id: entry.id, damage: Some(error.to_string()), ..MatrixLine::default() };
        }
    };
    let each =
        |read: fn(&crate::workbench::matrix::Cell) -> &str| distinct(state.plan.cells.iter().map(read)).join(", ");
    MatrixLine {
        id: entry.id,
        created_ms: entry.created_ms,
        what: format!("{} · {} · {}", each(|cell| &cell.agent), each(|cell| &cell.mode), each(|cell| &cell.model)),
        done: state.done(),
        failed: state.failed(),
        total: state.total(),
        damage: None,
    }
}

/// What a matrix told and nobody took yet.
#[derive(Default)]
struct Shared {
    told: Mutex<VecDeque<MatrixTold>>,
    changed: Notify,
}

impl Shared {
    fn tell(&self, told: MatrixTold) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push_back(told);
        self.changed.notify_one();
    }
}

/// A matrix that is running.
struct LiveMatrix {
    shared: Arc<Shared>,
    stop: Stop,
}

impl MatrixRun for LiveMatrix {
    fn drain(&self) -> Vec<MatrixTold> {
        self.shared.told.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.shared.changed.notified().boxed()
    }

    fn stop(&self) {
        self.stop.by_user();
    }
}

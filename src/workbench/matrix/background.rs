//! A matrix that runs in the background.
//!
//! In: the file of a matrix and its state. Out: a [`MatrixRun`] that queues updates in order, the end last, and can be stopped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::{MatrixEvent, MatrixFile, MatrixState};
use crate::port::Stop;
use crate::workbench::Workbench;

/// An update of a matrix that runs in the background.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixUpdate {
    /// An event of the matrix.
    Event(MatrixEvent),
    /// The last update, with a reason when the run failed or the matrix moved to another file.
    Ended(Option<String>),
}

/// Handle to a matrix that runs in the background. Dropping it does not stop the matrix.
#[derive(Debug)]
pub struct MatrixRun {
    updates: Arc<Updates>,
    stop: Stop,
}

#[derive(Debug, Default)]
struct Updates {
    queue: Mutex<VecDeque<MatrixUpdate>>,
    changed: Notify,
}

impl Updates {
    fn push(&self, update: MatrixUpdate) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(update);
        self.changed.notify_one();
    }
}

impl MatrixRun {
    /// Returns the updates since the last call. Never blocks.
    pub fn drain(&self) -> Vec<MatrixUpdate> {
        self.updates.queue.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// Waits until there may be updates to drain.
    pub async fn changed(&self) {
        self.updates.changed.notified().await;
    }

    /// Stops the matrix; finished trials are kept. Returns at once; the end arrives as an update.
    pub fn stop(&self) {
        self.stop.by_user();
    }
}

impl Workbench {
    /// Runs the missing trials of a matrix on the current runtime, at most `jobs` at once.
    pub fn start_matrix(&self, mut file: MatrixFile, mut state: MatrixState, jobs: usize) -> MatrixRun {
        let (workbench, stop, updates) = (self.clone(), Stop::default(), Arc::new(Updates::default()));
        let run = MatrixRun { updates: updates.clone(), stop: stop.clone() };
        tokio::spawn(async move {
            let watch = &mut |event: &MatrixEvent, _: &MatrixState| updates.push(MatrixUpdate::Event(event.clone()));
            let ran = workbench.run_matrix(&mut file, &mut state, jobs, &stop, watch).await;
            let reason = ran.err().map(|error| error.to_string()).or_else(|| file.report_move());
            updates.push(MatrixUpdate::Ended(reason));
        });
        run
    }
}

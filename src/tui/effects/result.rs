//! Results of background work, for the loop.

use std::sync::Arc;

use super::traffic::FollowedProxy;
use crate::event::Address;
use crate::tui::message::{Msg, Slot};
use crate::workbench::inspect::LazyBench;
use crate::workbench::matrix::MatrixRun;
use crate::workbench::{RunHandle, TurnReader};

/// A finished piece of background work.
pub(in crate::tui) enum EffectResult {
    /// A message for the model.
    Msg(Msg),
    /// Runs were started.
    Runs(Vec<(Slot, Arc<RunHandle>)>, Msg),
    /// A matrix was started.
    Matrix(Arc<MatrixRun>, Msg),
    /// A session was opened.
    Session(Arc<TurnReader>, Msg),
    /// A proxy was started.
    Proxy(Box<FollowedProxy>, Msg),
    /// A turn was taken apart.
    Turn(Address, Arc<LazyBench>, Msg),
}

impl EffectResult {
    /// The start of a run and the message with its session, or why it was refused.
    pub(in crate::tui) fn started<E>(
        slot: Slot,
        started: Result<RunHandle, E>,
        msg: impl FnOnce(Result<Option<String>, E>) -> Msg,
    ) -> Self {
        match started {
            Ok(run) => {
                let msg = msg(Ok(run.session()));
                Self::Runs(vec![(slot, Arc::new(run))], msg)
            }
            Err(error) => Self::Msg(msg(Err(error))),
        }
    }
}

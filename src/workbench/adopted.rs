//! Continues from a recording although the program computes something in it differently today: the recorded version is used, and the
//! differences are reported.
//!
//! In: a recording and its session. Out: what its runs left and the differences to report, or a refusal with the next step.

use std::sync::Arc;

use super::resume::unusable;
use super::{StartError, Workbench};
use crate::replay::{AdoptError, AdoptedRecording, Recording, adopt};
use crate::session::Session;

/// A recording to continue from.
#[derive(Default)]
pub(super) struct Onto {
    pub(super) adopted: AdoptedRecording,
    /// Warnings for the continued run.
    pub(super) notices: Vec<String>,
}

impl Workbench {
    /// Adopts a recording, which is of this session or begins as it does.
    pub(super) async fn onto(&self, recording: &Arc<Recording>, session: &Session) -> Result<Onto, StartError> {
        let named = self.name_of(&session.path);
        match adopt(recording).await {
            Ok(adopted) => Ok(Onto { notices: adopted.notice(&named).into_iter().collect(), adopted }),
            Err(AdoptError::Replay(error)) => Err(unusable(error)),
            Err(error) => Err(unusable(format!(
                "{} takes another course today than the recorded one, so that nothing can go on from there; `ptc-workbench replay {named} --accept` makes a session of today's course.\n{error}",
                session.header.id
            ))),
        }
    }
}

//! Going on from what a session holds although the program computes something in it differently today: what is recorded counts, and the
//! differences are told.
//!
//! In: a recording and the session it is of. Out: what its runs left and what to tell, or a refusal that says what to do.

use std::sync::Arc;

use super::resume::unusable;
use super::{StartError, Workbench};
use crate::replay::{AdoptError, AdoptedRecording, Recording, adopt};
use crate::session::Session;

/// A recording to go on from.
#[derive(Default)]
pub(super) struct Onto {
    pub(super) adopted: AdoptedRecording,
    /// Warnings for the run that goes on.
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

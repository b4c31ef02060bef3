//! Verification of a session by its name. Nothing is written.

use super::{OpenError, SessionKey, Workbench};
use crate::replay::{Check, Finding, Verification, verify};
use crate::session::Session;

impl Workbench {
    /// Verifies the session of this name. A file that cannot be read as a session at all is a finding too.
    ///
    /// Errors: no session has this name, or it needs a newer version of the program.
    pub async fn verify(&self, name: &str) -> Result<Verification, OpenError> {
        let key = self.find_session(name)?;
        let SessionKey::File(path) = &key else { return Ok(verify(&self.open_found(&key)?).await) };
        match Session::open(path) {
            Ok(session) => Ok(verify(&session).await),
            Err(error) if error.is_newer => Err(OpenError(error.to_string())),
            Err(error) => {
                let finding = Finding { line: None, address: None, check: Check::File, message: error.message };
                Ok(Verification { findings: vec![finding], replay: None, events: 0 })
            }
        }
    }
}

//! A damaged session as a new one with everything that can be read.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::run::chance;
use super::{OpenError, SessionKey, Workbench};
use crate::port::SystemClock;
use crate::session::{RecoveryReport, Session, SessionId, recover};

impl Workbench {
    /// Writes what can be read of a damaged session into a new one in the folder of the sessions. The damaged file stays as it is.
    pub fn recover(&self, name: &str) -> Result<RecoveryReport, OpenError> {
        let path: PathBuf = match self.find_session(name)? {
            SessionKey::File(path) => path,
            SessionKey::Example(id) => return Err(OpenError(format!("{id} is an example; nothing is damaged in it"))),
        };
        match Session::open(&path) {
            Ok(session) if session.is_being_written() => {
                return Err(OpenError(format!("{}: another program is writing it now", path.display())));
            }
            Ok(session) if session.damage.is_empty() => {
                return Err(OpenError(format!(
                    "{}: all of it can be read; there is nothing to recover",
                    path.display()
                )));
            }
            Err(error) if error.is_newer => return Err(OpenError(error.to_string())),
            Ok(_) | Err(_) => {}
        }
        let now = SystemClock.now();
        let done = recover(&path, &self.folders.sessions_dir, SessionId::new(now, chance()), now);
        let folder = self.folders.sessions_dir.display();
        done.map_err(|error| match error.kind() {
            ErrorKind::Other => OpenError(format!("{} cannot be recovered: {error}", path.display())),
            _ => OpenError(format!(
                "{} cannot be recovered into {folder}: {error} (choose another folder with --sessions)",
                path.display()
            )),
        })
    }
}

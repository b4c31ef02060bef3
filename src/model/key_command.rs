//! Keys from a command of the configuration (`api_key_command`): started without a shell, cached until a service refuses the key or its
//! time is over.
//!
//! In: the arguments of the command. Out: a key, or an error that names the program. It must never report the command's output, nor
//! start it for anything but a request.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use super::process_group::ProcessGroup;
use super::secret::register_secret;
use super::secret::{Secret, is_word};
use crate::config::KeyCommand;

/// Time for a command to print a key.
const KEY_COMMAND_TIME: Duration = Duration::from_mins(1);
/// Maximum bytes of its output.
const KEY_MAX_BYTES: u64 = 64 * 1024;

/// The last key of one command.
#[derive(Default)]
struct Slot {
    cached: Mutex<Option<CachedKey>>,
    /// Held while the command runs: parallel requests wait for one run.
    running: tokio::sync::Mutex<()>,
}

struct CachedKey {
    key: Secret,
    fetched: Instant,
}

/// Keys of the process, by command.
static SLOTS: Mutex<Vec<(KeyCommand, Arc<Slot>)>> = Mutex::new(Vec::new());

impl KeyCommand {
    fn slot(&self) -> Arc<Slot> {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = slots.iter().find(|(known, _)| known == self) {
            return Arc::clone(slot);
        }
        let slot = Arc::<Slot>::default();
        slots.push((self.clone(), Arc::clone(&slot)));
        slot
    }

    /// Returns the program's name for messages; arguments may be secret.
    pub(super) fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Returns the key of the last run while it counts.
    pub(super) fn cached(&self) -> Option<Secret> {
        let slot = self.slot();
        let cached = slot.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let ttl = self.ttl_s.map(Duration::from_secs);
        let is_current = |cached: &&CachedKey| ttl.is_none_or(|ttl| cached.fetched.elapsed() < ttl);
        cached.as_ref().filter(is_current).map(|cached| cached.key.clone())
    }

    /// Forgets a key that a service refused; a newer one is kept.
    pub(super) fn discard(&self, refused: &Secret) {
        let slot = self.slot();
        let mut cached = slot.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.as_ref().is_some_and(|cached| cached.key == *refused) {
            *cached = None;
        }
    }

    /// Returns the cached key, or runs the command. Errors complete the sentence that begins with its name.
    pub(super) async fn fetch(&self) -> Result<Secret, String> {
        let slot = self.slot();
        let _running = slot.running.lock().await;
        if let Some(key) = self.cached() {
            return Ok(key);
        }
        let seconds = KEY_COMMAND_TIME.as_secs();
        let key = timeout(KEY_COMMAND_TIME, self.run())
            .await
            .map_err(|_| format!("did not end within {seconds} s and was stopped"))??;
        register_secret(&key);
        *slot.cached.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(CachedKey { key: key.clone(), fetched: Instant::now() });
        Ok(key)
    }

    /// Runs the command with the environment of this process.
    async fn run(&self) -> Result<Secret, String> {
        let Some((program, arguments)) = self.argv.split_first() else { return Err("names no program".to_owned()) };
        let mut command = Command::new(program);
        command.args(arguments).kill_on_drop(true);
        // stderr would overwrite the screen, and may repeat the key.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| format!("could not be started: {error}"))?;
        let _group = ProcessGroup::of(child.id());
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let read = stdout.take(KEY_MAX_BYTES + 1).read_to_end(&mut output).await;
            read.map_err(|error| format!("could not be read: {error}"))?;
        }
        if output.len() as u64 > KEY_MAX_BYTES {
            return Err(format!("printed more than {KEY_MAX_BYTES} bytes"));
        }
        let status = child.wait().await.map_err(|error| format!("could not be waited for: {error}"))?;
        if !status.success() {
            return Err(format!("ended with {status}"));
        }
        let text = String::from_utf8(output).map_err(|_| "printed something other than text".to_owned())?;
        match text.trim() {
            "" => Err("printed nothing".to_owned()),
            key if !is_word(key) => {
                Err("printed more than one word, or characters other than printable ASCII".to_owned())
            }
            key => Ok(Secret::new(key)),
        }
    }
}

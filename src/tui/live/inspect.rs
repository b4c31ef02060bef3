//! A turn taken apart for the inspector, and the bench on which things are tried, made when it is first needed.

use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::reasons::Reason;
use tokio::runtime::Handle;

use crate::event::{Address, ErrorRecord};
use crate::session::Session;
use crate::tui::backend::Trial;
use crate::workbench::inspect::{Bench, Inspection, Probe, Said};

/// Takes a turn of a session apart.
pub(super) fn inspect(session: Session, turn: &Address) -> Result<(Inspection, Arc<dyn Trial>), ErrorRecord> {
    let missing = || ErrorRecord::new(Reason::SessionUnreadable, format!("the session holds no turn {turn} yet"));
    let found = Inspection::of(&session, turn).ok_or_else(missing)?;
    let tried = Tried { session, turn: turn.clone(), bench: Mutex::new(None), runtime: Handle::current() };
    Ok((found, Arc::new(tried)))
}

/// The bench of a turn.
struct Tried {
    session: Session,
    turn: Address,
    bench: Mutex<Option<Result<Bench, String>>>,
    runtime: Handle,
}

impl Tried {
    fn on_bench<T>(&self, job: impl FnOnce(&mut Bench) -> T) -> Result<T, String> {
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        let made = bench.get_or_insert_with(|| self.runtime.block_on(Bench::of(&self.session, &self.turn)));
        made.as_mut().map(job).map_err(|error| error.clone())
    }
}

impl Trial for Tried {
    fn probe(&self, at: usize) -> Result<Option<Probe>, String> {
        self.on_bench(|bench| bench.probe(at))
    }

    fn say(&self, input: &str) -> Result<Said, String> {
        self.on_bench(|bench| bench.say(input))
    }
}

//! The example sessions that are part of the program: recordings of the example agents.

use std::path::Path;
use std::sync::Arc;

use crate::replay::{DemoModel, Recording};
use crate::session::Session;

/// File name and content of every example session.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sessions.rs"));

/// The example sessions, oldest first. A file that cannot be read is left out; a test reads them all.
pub fn example_sessions() -> Vec<Session> {
    FILES
        .iter()
        .filter_map(|(name, text)| {
            Session::from_bytes(&Path::new("sessions").join(name), text.as_bytes().to_vec()).ok()
        })
        .collect()
}

/// The model `demo` over the example sessions.
pub(super) fn demo() -> DemoModel {
    let recordings =
        example_sessions().iter().filter_map(|session| Recording::of(session).ok().map(Arc::new)).collect();
    DemoModel::new(recordings)
}

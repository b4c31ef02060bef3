//! Runs and session files: recording a run to a file, and replaying an agent on such a file.
//!
//! In: a run and a path. Out: a session file, or the result of a replay. A replay must never call a model, a tool or
//! the user, and never change the file.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Run;
use crate::agent::{Diagnostic, Step};
use crate::event::Address;
use crate::port::{Clock as _, SystemClock};
use crate::replay::{ReplayError, ReplayOutcome, cassette, replay_by};
use crate::session::{Header, Recorder, Session, SessionId};

impl Run {
    /// Records the run to a new session file, complete when the run has ended. Every command of the workbench reads it.
    /// Errors: the file exists, or cannot be created.
    ///
    /// ```
    /// use ptc_workbench::model::script;
    /// use ptc_workbench::run;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let folder = tempfile::tempdir().unwrap();
    /// let file = folder.path().join("greeting.jsonl");
    /// run("Greet Ann").model(script(["Hello, Ann!"])).record_to(&file).unwrap().await;
    ///
    /// let step = run("Greet Ann").replay(&file).await.unwrap();
    /// assert_eq!(step.into_text().unwrap(), "Hello, Ann!");
    /// let error = run("Insult Ann").replay(&file).await.unwrap_err();
    /// assert!(error.message.contains("layer prompt"), "{error}");
    /// # });
    /// ```
    pub fn record_to(self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let now_ms = SystemClock.now_ms(&Address::run(0));
        let random = u32::try_from(RandomState::new().build_hasher().finish() >> 32).unwrap_or_default();
        let header = Header::new(SessionId::new(now_ms, random), now_ms);
        let recorder = Recorder::create_at(path, &header, Arc::new(SystemClock))
            .map_err(|error| io::Error::new(error.error.kind(), format!("{}: {}", path.display(), error.error)))?;
        Ok(self.record(recorder))
    }

    /// Runs the agent of this run on the recorded run of a session file: inputs, replies, results of tools, answers of
    /// the user and times come from the file; data and model of this run are not used.
    ///
    /// Errors: the file is unreadable or contains no finished single run, or something computed differs from the
    /// recording: a message, a request, a check, the arguments of a tool, the result.
    pub async fn replay(self, path: impl AsRef<Path>) -> Result<Step, ReplayError> {
        let error = |message: String| ReplayError { message };
        let session = Session::open(path.as_ref()).map_err(|unreadable| error(unreadable.to_string()))?;
        let agent = self.agent.build().map_err(|findings| error(messages(&findings)))?;
        let recording = Arc::new(cassette::with_agent(&session, &agent).map_err(error)?);
        let (mut report, _) = replay_by(&cassette::rules(false), &recording, None).await?;
        match report.outcome {
            ReplayOutcome::Identical => {
                report.steps.pop().ok_or_else(|| error("the session contains no run".to_owned()))
            }
            ReplayOutcome::Diverged(divergence) => Err(error(format!("not as recorded: {divergence}"))),
            ReplayOutcome::Unfinished { at } => Err(error(format!("the recording ends at {at}"))),
        }
    }
}

/// Joins the messages of the errors among these findings.
pub(super) fn messages(findings: &[Diagnostic]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("; ")
}

//! Accepts today's results: writes a new session with the recorded inputs and today's derived events. Replies that the recording does not
//! have come from a live model or the user. Also adopts recordings that a run continues from, where the program computes something else
//! today.
//!
//! In: a session. Out: a run in the background that writes another one.

use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;

use super::child_models::LiveModels;
use super::feed::Feed;
use super::resume::{not_begun, unusable};
use super::run::header_of;
use super::{BackgroundRun, StartError, Workbench};
use crate::agent::{Diagnostic, Place, Step};
use crate::engine::{self, Input, Ports};
use crate::event::{Address, Envelope, Event};
use crate::model::{HumanModel, Model};
use crate::port::{Human, RunClock, Sink, SinkError, Stop, SystemClock};
use crate::replay::{
    AcceptSink, AdoptError, AdoptedRecording, Answers, RecordedEdits, RecordedPorts, Recording, ResumePorts, TimedSink,
    adopt, carry_of, input_of, plan_of,
};
use crate::session::{AttachmentStore, Parent, ParentKind, Recorder, Session, copy_files};

/// Source of the replies that a recording does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingReplySource {
    /// None: the run fails there.
    Fail,
    /// A live model: of this name, or the recorded one.
    Model(Option<String>),
    /// The user.
    Human,
}

/// Sink that records events in the new session and passes them to the feed.
struct RecorderSink {
    recorder: Recorder,
    feed: Feed,
}

impl TimedSink for RecorderSink {
    fn store(&self, at_ms: i64, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.recorder.record(at_ms, address, event).await?;
            self.feed.push(envelope.clone());
            Ok(envelope)
        })
    }
}

impl Workbench {
    /// Replays a session into a new one with today's results. Everything that came from outside the program stays as recorded.
    pub fn accept(
        &self,
        session: &Session,
        missing: &MissingReplySource,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let recording = Arc::new(Recording::of(session).map_err(unusable)?);
        let edits = RecordedEdits::of(&recording).map_err(unusable)?;
        let mut runs = Vec::new();
        for run in recording.runs() {
            let plan = plan_of(&recording, &run).map_err(|error| unusable(error.to_string()))?;
            let live = self.missing_model(&recording, &run, missing, &human)?;
            runs.push((run, plan, live));
        }
        if runs.is_empty() {
            return Err(unusable(not_begun(&recording.id)));
        }
        let parent = Parent::whole(recording.id.as_str(), ParentKind::Accept);
        let header = header_of(parent);
        let clock = Arc::new(RunClock::start());
        let (recorder, moved) =
            self.in_writable_folder(|dir| Recorder::create(dir, &header, Arc::clone(&clock) as _))?;
        let path = recorder.path().to_owned();
        copy_files(session.events(), &session.path, &path).map_err(unusable)?;
        let (feed, stop, id) = (Feed::default(), Stop::default(), header.id.to_string());
        let saver = Some(self.saver(&recorder));
        let target = RecorderSink { recorder, feed: feed.clone() };
        let models = LiveModels::of(self, Arc::clone(&human));
        let files = AttachmentStore::of_session(&path);
        let (task_stop, task_id, tools) = (stop.clone(), id.clone(), self.outside());
        let task = tokio::spawn(async move {
            let mut carries = std::collections::HashMap::new();
            let mut last = Step::default();
            let sink = AcceptSink::new(&recording, &target, now_ms);
            for (run, plan, live) in &runs {
                let Some(start) = recording.run_start(run) else { continue };
                let input = Input { continues: carry_of(start, &carries), ..input_of(run, start) };
                let events: &dyn Sink = &sink;
                let (step, carry) = match live {
                    None => {
                        let ports = RecordedPorts::new(Arc::clone(&recording), run.clone(), &edits);
                        engine::run_carrying(plan, input, &ports.with_sink(events)).await
                    }
                    Some(live) => {
                        let ports = Ports::new(&**live, &*clock, events, task_stop.clone());
                        let ports = Ports { models: &models, tools: &tools, human: &*human, files: &files, ..ports };
                        let resumed = ResumePorts::new(Arc::clone(&recording), run.clone(), ports, Answers::default());
                        let resumed = resumed.edited_by(&edits);
                        engine::run_carrying(plan, input, &resumed.ports(events, task_stop.clone())).await
                    }
                };
                carries.insert(run.clone(), carry);
                last = step;
            }
            tools.end().await;
            Step { session: Some(task_id), ..last }
        });
        // The new session holds no event that a replay does not compute: the warning is only for the user.
        let warning = |text: String| Diagnostic::error(Place::Options, Reason::RecorderFailed, text).warning();
        let warnings = moved.into_iter().map(warning).collect();
        Ok(BackgroundRun { session: Some(id), path: Some(path), saver, feed, stop, warnings, task })
    }

    fn missing_model(
        &self,
        recording: &Recording,
        run: &Address,
        missing: &MissingReplySource,
        human: &Arc<dyn Human>,
    ) -> Result<Option<Arc<dyn Model>>, StartError> {
        Ok(match missing {
            MissingReplySource::Fail => None,
            MissingReplySource::Human => Some(Arc::new(HumanModel::new(Arc::clone(human)))),
            MissingReplySource::Model(name) => {
                let recorded = recording.model_of(run).unwrap_or_default();
                let choice = self.choose(name.as_deref().unwrap_or(&recorded))?;
                Some(self.build_model(choice, Arc::clone(human))?)
            }
        })
    }
}

fn now_ms() -> i64 {
    SystemClock.now()
}

/// A recording to continue from.
#[derive(Default)]
pub(super) struct Onto {
    pub(super) adopted: AdoptedRecording,
    /// Warnings for the continued run.
    pub(super) notices: Vec<String>,
}

impl Workbench {
    /// Adopts a recording of this session, or of one derived from it.
    pub(super) async fn onto(&self, recording: &Arc<Recording>, session: &Session) -> Result<Onto, StartError> {
        let named = self.name_of(&session.path);
        match adopt(recording).await {
            Ok(adopted) => Ok(Onto { notices: adopted.notice(&named).into_iter().collect(), adopted }),
            Err(AdoptError::Replay(error)) => Err(unusable(error)),
            Err(error) => Err(unusable(format!(
                "{} cannot be continued: this version of the program replays it differently; `ptc-workbench replay {named} --accept` writes a new session with the current behaviour.\n{error}",
                session.header.id
            ))),
        }
    }
}

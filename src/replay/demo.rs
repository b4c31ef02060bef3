//! The model `demo`: replies from the example recordings by agent, mode, turn and attempt, with their timing.
//!
//! In: a request of a root or child run. Out: the recorded reply, tool calls included. It must not require an identical
//! request.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use futures::future::BoxFuture;

use ptc_core::signature::{self, Type};

use super::Recording;
use super::exact::{request_texts, sent_texts};
use super::ports::{ReplyPace, play_reply};
use crate::agent::Agent;
use crate::event::{Address, Envelope, Event, ModelRecord, Role, RunStart};
use crate::model::{Call, ErrorClass, Model, ModelError, ModelEvent, Reply, Request};
use crate::session::Session;

/// Replies from a set of recordings, also to edited prompts, which it reports.
pub struct DemoModel {
    recordings: Vec<DemoRecording>,
    /// The recorded run that answers for each requested run.
    chosen: Mutex<HashMap<Address, RunLocation>>,
}

/// The models that answer any agent without a network.
const OTHER_MODELS: &str = "the model `sample` answers any signature with generated data; with `human` you answer";

/// A recorded run: the index of its recording and its address there.
type RunLocation = (usize, Address);

/// A recording with the start events of its runs. It is read when one of its runs answers: most are never read.
struct DemoRecording {
    starts: Vec<(Address, RunStart)>,
    recording: LazyLock<Option<Arc<Recording>>, ReadRecording>,
}

type ReadRecording = Box<dyn FnOnce() -> Option<Arc<Recording>> + Send>;

impl DemoRecording {
    fn new(recording: Arc<Recording>) -> Self {
        let runs = recording.all_runs().iter();
        let starts = runs.filter_map(|run| Some((run.clone(), recording.run_start(run)?.clone()))).collect();
        Self { starts, recording: LazyLock::new(Box::new(|| Some(recording))) }
    }

    /// A session file by its name and text.
    fn of_file(name: &'static str, text: &'static str) -> Self {
        let mut starts: Vec<(Address, RunStart)> = Vec::new();
        for line in text.lines().filter(|line| line.contains(RUN_START)) {
            if let Ok(Envelope { address, event: Event::RunStart(start), .. }) = Envelope::from_line(line)
                && starts.iter().all(|(run, _)| *run != address)
            {
                starts.push((address, start));
            }
        }
        let read = move || {
            let session = Session::from_bytes(Path::new(name), text.as_bytes().to_vec()).ok()?;
            Recording::of(&session).ok().map(Arc::new)
        };
        Self { starts, recording: LazyLock::new(Box::new(read)) }
    }

    fn start_of(&self, run: &Address) -> Option<&RunStart> {
        self.starts.iter().find(|(known, _)| known == run).map(|(_, start)| start)
    }
}

/// Part of the line of each start event. Other lines may contain it as well.
const RUN_START: &str = "\"run.start\"";

impl DemoModel {
    /// Creates a model that replies from these recordings. Of several matching runs it prefers one with the same
    /// opening messages, then one in the recording of the parent run, then one at the same address, then the last.
    pub fn new(recordings: Vec<Arc<Recording>>) -> Self {
        Self::with(recordings.into_iter().map(DemoRecording::new))
    }

    /// The same for session files by their names and texts. Those that cannot be read do not answer.
    pub(crate) fn of_files(files: &[(&'static str, &'static str)]) -> Self {
        Self::with(files.iter().map(|(name, text)| DemoRecording::of_file(name, text)))
    }

    fn with(recordings: impl Iterator<Item = DemoRecording>) -> Self {
        Self { recordings: recordings.collect(), chosen: Mutex::default() }
    }

    fn recording(&self, number: usize) -> Option<&Arc<Recording>> {
        self.recordings.get(number)?.recording.as_ref()
    }

    /// Returns the recorded agents and modes.
    pub fn known(&self) -> Vec<(String, String)> {
        let mut known: Vec<_> =
            self.starts().map(|(_, start)| (start.agent.name.clone(), start.mode.clone())).collect();
        known.sort();
        known.dedup();
        known
    }

    /// Returns every recorded run with its start event.
    fn starts(&self) -> impl Iterator<Item = (RunLocation, &RunStart)> {
        self.recordings.iter().enumerate().flat_map(|(number, recording)| {
            recording.starts.iter().map(move |(run, start)| ((number, run.clone()), start))
        })
    }

    fn find(&self, request: &Request) -> Result<(&Arc<Recording>, Address), ModelError> {
        let run = request.address.run_part();
        let mut taken = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let again = taken.get(&run).filter(|_| request.turn() > 1).cloned();
        let above = if run.is_call() { taken.get(&run.run_part()).map(|(number, _)| *number) } else { None };
        let place = again
            .or_else(|| self.best(request, above))
            .or_else(|| self.child_run(&run, above))
            .ok_or_else(|| self.no_recording(request))?;
        taken.insert(run, place.clone());
        let recording = self.recording(place.0).ok_or_else(|| self.no_recording(request))?;
        Ok((recording, place.1))
    }

    /// Returns the best match among the runs of this agent and mode.
    fn best(&self, request: &Request, above: Option<usize>) -> Option<RunLocation> {
        let run = request.address.run_part();
        let opening = opening(request_texts(request));
        let fits = |start: &RunStart| is_named(start, request) && is_same_task(start, request);
        let rank = |place: &RunLocation| {
            let was = self.recording(place.0).and_then(|recording| recording.request(&place.1.turn(1)));
            (was.is_some_and(|was| sent_texts(&was) == opening), above == Some(place.0), place.1 == run)
        };
        self.starts().filter(|(_, start)| fits(start)).map(|(place, _)| place).max_by_key(rank)
    }

    /// Returns the run at this address in the parent's recording.
    fn child_run(&self, run: &Address, above: Option<usize>) -> Option<RunLocation> {
        let number = above?;
        self.recordings.get(number)?.start_of(run).map(|_| (number, run.clone()))
    }

    fn no_recording(&self, request: &Request) -> ModelError {
        let all = self.known();
        let modes =
            |agents: &[(String, String)]| agents.iter().map(|(_, mode)| mode.as_str()).collect::<Vec<_>>().join(", ");
        let agents = all.chunk_by(|one, other| one.0 == other.0);
        let known: Vec<_> = agents.filter_map(|same| Some(format!("{} ({})", same.first()?.0, modes(same)))).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        if self.starts().any(|(_, start)| is_named(start, request)) {
            let message = format!(
                "model demo has no answer for this: the recorded agent {:?} returns other fields",
                request.agent
            );
            return ModelError::new(ErrorClass::NotFound, message).hint(OTHER_MODELS);
        }
        let message = format!(
            "model demo has no recording of the agent {:?} in mode {}; recorded: {known}",
            request.agent, request.mode
        );
        ModelError::new(ErrorClass::NotFound, message).hint(OTHER_MODELS)
    }
}

/// Returns whether the run has the agent name and the mode of the request.
fn is_named(start: &RunStart, request: &Request) -> bool {
    start.agent.name == request.agent && start.mode == request.mode
}

/// Returns whether the request asks for something that the recorded agent returns. Edited prompts and signatures do while they share
/// a field.
fn is_same_task(start: &RunStart, request: &Request) -> bool {
    let Ok(recorded) = Agent::recorded(&start.agent.toml) else { return true };
    match (recorded.signature.as_deref(), request.signature.as_deref()) {
        (None, None) => true,
        (Some(recorded), Some(requested)) => match (signature::parse(recorded), signature::parse(requested)) {
            (Ok(recorded), Ok(requested)) => shares_output(recorded.output.as_ref(), requested.output.as_ref()),
            // What cannot be read is not compared.
            _ => true,
        },
        _ => false,
    }
}

/// Returns whether both outputs have a field in common, or the same type.
fn shares_output(one: Option<&Type>, other: Option<&Type>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) if one.fields().is_empty() || other.fields().is_empty() => {
            one.render() == other.render()
        }
        (Some(one), Some(other)) => {
            one.fields().iter().any(|field| other.fields().iter().any(|known| known.name == field.name))
        }
        _ => false,
    }
}

/// Returns the messages before the first reply.
fn opening(messages: Vec<(String, String)>) -> Vec<(String, String)> {
    messages.into_iter().take_while(|(role, _)| role != Role::Assistant.name()).collect()
}

impl Model for DemoModel {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "demo".into(), provider: "demo".into(), id: "demo".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let (recording, run) = self.find(request)?;
            let turns = recording.turns(&run);
            let at = run.turn(request.turn().min(turns));
            if request.turn() > turns {
                let text = format!("the recording ends after turn {turns}: its last reply is repeated");
                call.emit(ModelEvent::Notice(text)).await;
            } else if request.turn() == 1
                && recording.request(&at).is_some_and(|was| sent_texts(&was) != request_texts(request))
            {
                // All later turns differ as well: report it once.
                let text = "the demo answers from a recording with another prompt, whose tokens are counted";
                call.emit(ModelEvent::Notice(text.to_owned())).await;
            }
            let reply = play_reply(recording, &at, call, ReplyPace::AsRecorded).await?;
            Ok(Reply { structured_by: None, requests: 0, cached: false, ..reply })
        })
    }
}

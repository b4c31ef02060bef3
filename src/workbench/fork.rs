//! Forks: a new session that repeats another one up to a point, takes edits there, and continues live. The other one is unchanged.
//!
//! In: a session, a point, edits. Out: a run in the background that writes the new session. It continues like a resumed run: the recording
//! as far as it reaches, then live. Differences of today's program are reported, and the recording is used; a session that takes another
//! course today before it gets to the point is not forked. A pinned program is a fork without a model: an agent that runs the program of a
//! turn.

use std::path::Path;
use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::signature;
use ptc_core::value::json::UniqueError;
use ptc_core::value::{Json, json};

use super::accept::Onto;
use super::prepare::refuse_closures;
use super::replies::{self, PROGRAM, RecordedTurn};
use super::resume::{ResumeInputs, unusable};
use super::run::header_of;
use super::{BackgroundRun, StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, InputFile, Inputs, Mode, Place, Plan, StepFold};
use crate::config::document;
use crate::engine;
use crate::event::{Address, Edit, Editor, Envelope, ErrorRecord, Event, JsonText, hex_sha};
use crate::port::{Attachments as _, Human, SystemClock};
use crate::replay::{Answers, Point, RecordedEdits, Recording, Stage, fails_before_request};
use crate::session::{AttachmentStore, Parent, ParentKind, Prefix, Session, copy_files};

/// A change at the point of a fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkChange {
    /// Its target, as in [`Edit`].
    pub target: String,
    /// The new content.
    pub after: Json,
}

impl ForkChange {
    /// This target with this value.
    pub fn new(target: impl Into<String>, after: Json) -> Self {
        Self { target: target.into(), after }
    }

    /// This target with the value that a text means there: contexts and results are JSON.
    ///
    /// Errors: the text is not JSON, or not an object where a context is needed.
    pub fn parse(target: &str, text: &str) -> Result<Self, ErrorRecord> {
        let after = match target {
            "context" | Edit::RESULT => json::parse_unique(text).map_err(|error| {
                let problem = match &error {
                    UniqueError::Duplicate(_) => "is ambiguous",
                    UniqueError::Syntax(_) => "is not JSON",
                };
                let error = error.error();
                let message = format!("this {problem}: {}: {}", error.line_col(text), error.message);
                ErrorRecord::new(Reason::InvalidContext, message)
            })?,
            _ => Json::str(text),
        };
        if target == "context" && after.members().is_none() {
            let message = "the context must be an object: {\"name\": value}";
            return Err(ErrorRecord::new(Reason::InvalidContext, message));
        }
        Ok(Self::new(target, after))
    }
}

/// Options of a fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkSpec {
    /// The point: `ADDRESS[:STAGE]`.
    pub at: String,
    /// Changes at the point, in order.
    pub changes: Vec<ForkChange>,
    /// Another model for the following turns.
    pub model: Option<String>,
    /// Author of the changes: command, user.
    pub by: Editor,
    /// Relation of the new session to the old one.
    pub kind: ParentKind,
}

impl Workbench {
    /// The agent of a session's first run as it was at its end, edits included, with the inputs of that run.
    ///
    /// Errors: the session cannot be replayed, or has no agent.
    pub fn agent_of(&self, session: &Session) -> Result<Agent, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let first = session.skeleton().roots().next().map(|run| run.address.clone());
        let there = inputs_at(&recording, &first.unwrap_or_else(|| Address::from("r0")))?;
        Ok(Agent { context: there.context, ..there.agent })
    }
}

/// Returns the inputs of a run at a point of a recording, earlier edits included.
pub(super) fn inputs_at(recording: &Recording, meets: &Address) -> Result<Inputs, StartError> {
    let run = meets.turn_part().run_part();
    let edits = RecordedEdits::of(recording).map_err(unusable)?;
    if let Some(edited) = edits.until(&run, meets.turn_number().unwrap_or(u32::MAX)) {
        return Ok(Inputs { agent: edited.plan.agent.clone(), context: edited.context.clone() });
    }
    let start = recording.run_start(&run).ok_or_else(|| unusable(format!("the session has no run {run}")))?;
    Inputs::of(start).map_err(unusable)
}

/// The content of a target, as text; `None` if it has none or it is unknown.
pub(super) fn standing(there: &Inputs, recording: &Recording, target: &str, point: &Point) -> Option<String> {
    let key = |path: &str| {
        let written = document::parse(&there.agent.to_toml()).ok()?;
        path.split('.').try_fold(written, |table, key| table.get(key).cloned())
    };
    let plain = |json: Json| json.as_str().map_or_else(|| json.to_text(), ToOwned::to_owned);
    match target.split_once('.').unwrap_or((target, "")) {
        ("agent", "") => Some(there.agent.to_toml()),
        ("prompt", "") => Some(there.agent.prompt.clone()),
        ("signature", "") => there.agent.signature.clone(),
        ("option", path) => key(path).map(plain),
        ("context", "") => Some(there.context.to_text()),
        ("context", name) => there.context.get(name).map(|value| plain(value.clone())),
        ("reply", "") => RecordedTurn::new(recording, &point.address).reply().map(|reply| reply.as_typed()),
        (PROGRAM, "") => RecordedTurn::new(recording, &point.address).program(),
        ("memory", name) => replies::definition(recording, &point.target, name),
        ("result", "") => {
            let result = recording.counted_end(&point.address)?.result.as_ref()?;
            Some(result.as_str().to_owned())
        }
        ("model", "") => recording.model_of(&point.address.root()),
        _ => None,
    }
}

impl Workbench {
    /// The agent as it is at a point of a session, earlier edits included.
    pub fn agent_at(&self, session: &Session, at: &str) -> Result<Agent, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let point = Point::find(&recording, at, Stage::Request).map_err(unusable)?;
        inputs_at(&recording, &point.target).map(|there| there.agent)
    }

    /// The agent at a point of a session after these changes: the agent that takes the inputs of a fork.
    pub fn agent_after(&self, session: &Session, at: &str, changes: &[ForkChange]) -> Result<Agent, StartError> {
        let mut inputs = Inputs { agent: self.agent_at(session, at)?, context: Json::empty() };
        for change in changes.iter().filter(|change| ["agent", "signature"].contains(&change.target.as_str())) {
            let (target, at, after) = (change.target.clone(), at.to_owned(), JsonText::of(&change.after));
            inputs.edit(&Edit { target, at, before_sha: None, after, by: Editor::Command }).map_err(unusable)?;
        }
        Ok(inputs.agent)
    }

    /// Stores a file whose record a change of a fork holds, so that the fork can send it.
    ///
    /// Errors: it holds the key of a configured provider; it cannot be written.
    pub fn store_input(&self, file: &InputFile) -> Result<(), StartError> {
        self.refuse_file_keys([file])?;
        let stored = AttachmentStore::of_sessions(&self.folders.sessions_dir);
        stored.store(&file.record.sha256, &file.bytes).map_err(unusable)
    }

    /// Forks a session: the new one holds what the old one holds up to the point, then the edits, and continues live; `human` answers
    /// questions.
    pub async fn fork(
        &self,
        session: &Session,
        spec: ForkSpec,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let of_reply = |change: &ForkChange| [Edit::REPLY, PROGRAM].contains(&change.target.as_str());
        let usual = if spec.changes.iter().any(of_reply) { Stage::Reply } else { Stage::Request };
        let point = Point::find(&recording, &spec.at, usual).map_err(unusable)?;
        fits(&point, &spec.changes)?;
        let recorded_turn = RecordedTurn::new(&recording, &point.address);
        let changes =
            spec.changes.into_iter().map(|change| settled(&recorded_turn, change)).collect::<Result<Vec<_>, _>>();
        let prefix = Prefix::of(session, point.seq).map_err(unusable)?;
        let there = inputs_at(&recording, &point.target)?;
        let now = SystemClock.now();
        let mut changes = changes.map_err(unusable)?;
        changes.extend(spec.model.map(|model| ForkChange::new(Edit::MODEL, Json::str(model))));
        // The time until the run continues does not count: nothing in the new session is younger than its start.
        let at_ms = recording.at_ms_of(prefix.seq).unwrap_or(now);
        let edits: Vec<Envelope> = (prefix.seq + 1..)
            .zip(&changes)
            .map(|(seq, change)| {
                let before = standing(&there, &recording, &change.target, &point);
                let edit = Edit {
                    target: change.target.clone(),
                    at: point.to_string(),
                    before_sha: before.map(|text| hex_sha(text.as_bytes())),
                    after: JsonText::of(&change.after),
                    by: spec.by.clone(),
                };
                // The run at this address uses the other model when it continues.
                let meets = if change.target == Edit::MODEL { point.address.root() } else { point.target.clone() };
                Envelope { seq, at_ms, address: meets, event: edit.into() }
            })
            .collect();
        let kept = session.events().take_while(|envelope| envelope.seq <= prefix.seq);
        let begun = Arc::new(Recording::of_events(kept.chain(edits.iter().cloned())));
        self.check_edits(&begun, &point, &there.agent)?;
        let misfits = misfits(&there, &recording, &point, &changes);
        let mut onto = self.onto(&begun, session).await?;
        opens(&begun, &point).await?;
        let parent = Parent {
            session: recording.id.clone(),
            at: Some(point.address.to_string()),
            stage: Some(point.stage.name().to_owned()),
            seq: prefix.seq,
            prefix_sha: Some(prefix.sha()),
            kind: spec.kind,
        };
        let header = header_of(parent);
        self.check_resumable(&begun, Arc::clone(&human))?;
        let (file, moved) = self.in_writable_folder(|dir| prefix.write(dir, &header, &edits))?;
        onto.notices.extend(moved);
        copy_files(session.events(), &session.path, &file).map_err(unusable)?;
        let run = self.resume_fork(&file, onto, human)?;
        Ok(BackgroundRun { warnings: misfits, ..run })
    }

    fn resume_fork(&self, file: &Path, onto: Onto, human: Arc<dyn Human>) -> Result<BackgroundRun, StartError> {
        let session = Session::open(file).map_err(|error| unusable(error.to_string()))?;
        let recording = Arc::new(Recording::of(&session).map_err(unusable)?);
        self.resume_onto(&session, &recording, onto, ResumeInputs { answers: Answers::default(), model: None, human })
    }

    /// Checks that the edits are usable and that the run starts with them. `agent` is that before the edits.
    fn check_edits(&self, begun: &Recording, point: &Point, agent: &Agent) -> Result<(), StartError> {
        let edits = RecordedEdits::of(begun).map_err(unusable)?;
        let Some(edited) = edits.turn(&point.target) else { return Ok(()) };
        let (now, number) = (edited.plan.agent.max_turns, point.target.turn_number().unwrap_or_default());
        if now < agent.max_turns && number > now.saturating_add(edited.plan.settings.retry_turns) {
            let message = format!(
                "{} would be turn {number}, and max_turns is {now} with this edit: write at least {number}, or fork at an earlier turn",
                point.target
            );
            return Err(unusable(message));
        }
        let is_changed = |key: &&str| edited.plan.agent.option(key) != agent.option(key);
        let start = begun.run_start(&point.target.run_part());
        let is_begun = number > 1 || start.is_some_and(|start| start.continues.is_some());
        if let Some(key) = ["messages", "messages_after"].into_iter().find(is_changed).filter(|_| is_begun) {
            return Err(unusable(format!(
                "`{key}` applies only at the start of a conversation: an edit at {} has no effect; fork at the first turn",
                point.target
            )));
        }
        refuse_closures(&edited.plan)?;
        let context = Context::from(edited.context.clone());
        self.refuse_keys(&edited.plan.agent, &context)?;
        engine::check_definitions(&edited.memory).map_err(unusable)?;
        if !edited.memory.is_empty() && !edited.plan.agent.has_programs() {
            return Err(unusable("this run has no programs, so it has no definitions to edit"));
        }
        engine::preview(&edited.plan, &context).map(|_| ()).map_err(StartError::Agent)
    }
}

/// Returns a warning if a result that the user wrote does not fit the tool's signature. The run continues with it: a tool may answer
/// anything.
fn misfits(there: &Inputs, recording: &Recording, point: &Point, changes: &[ForkChange]) -> Vec<Diagnostic> {
    let written = changes.iter().rev().find(|change| change.target == Edit::RESULT);
    let called = recording.at(&point.address).iter().find_map(|envelope| match &envelope.event {
        Event::ToolCall(call) => Some(call.name.clone()),
        _ => None,
    });
    let plan = Plan::new(&there.agent).ok();
    let tool = plan.iter().flat_map(|plan| &plan.tools).find(|tool| called.as_deref() == Some(&*tool.name));
    let output = tool.and_then(|tool| tool.signature.as_ref()?.output.as_ref());
    let (Some(written), Some(tool), Some(output)) = (written, tool, output) else { return Vec::new() };
    let issues = signature::check(output, &written.after.to_value());
    let lines: Vec<String> = issues.iter().filter(|issue| issue.is_error()).map(ToString::to_string).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "the result at {} does not fit what `{}` gives ({}): {}",
        point.address,
        tool.name,
        output.render(),
        lines.join("; ")
    );
    vec![Diagnostic::error(Place::Tools, Reason::ValidationError, message).warning()]
}

/// Converts a change to its recorded form: a change of the program in a reply becomes one of the reply.
fn settled(recorded_turn: &RecordedTurn<'_>, change: ForkChange) -> Result<ForkChange, String> {
    match change.target.as_str() {
        PROGRAM => {
            let program = change.after.as_str().ok_or("a program must be a string")?;
            Ok(ForkChange::new(Edit::REPLY, recorded_turn.with_program(program)?.to_json()))
        }
        Edit::REPLY => Ok(ForkChange::new(Edit::REPLY, recorded_turn.typed(&change.after)?)),
        _ => Ok(change),
    }
}

/// Checks that these edits can be made at this point.
fn fits(point: &Point, changes: &[ForkChange]) -> Result<(), StartError> {
    for ForkChange { target, .. } in changes {
        let wanted: &[Stage] = match target.as_str() {
            Edit::REPLY | PROGRAM => &[Stage::Reply],
            Edit::RESULT => &[Stage::Call],
            Edit::MODEL => &Stage::ALL,
            _ => &[Stage::Request, Stage::After],
        };
        if !wanted.contains(&point.stage) {
            let names: Vec<_> = wanted.iter().map(|stage| stage.name()).collect();
            let message = format!("an edit of {target} is made at the stage {}, not at {point}", names.join(" or "));
            return Err(unusable(message));
        }
    }
    Ok(())
}

/// Checks that the edited turn gets as far as its request. Otherwise the new session would contain nothing but its failure.
async fn opens(begun: &Arc<Recording>, point: &Point) -> Result<(), StartError> {
    if !matches!(point.stage, Stage::Request | Stage::After) {
        return Ok(());
    }
    let failed = fails_before_request(begun, &point.target).await.map_err(|error| unusable(error.to_string()))?;
    failed.map_or(Ok(()), |fail| Err(unusable(format!("cannot fork at {point}: {}", fail.message))))
}

impl Workbench {
    /// The agent of a session whose model is the program of the turn at this address, with the definitions that earlier turns of the
    /// run made. Tools stay as they are; child agents and questions still need a model or a user.
    pub fn pin(&self, session: &Session, turn: &Address) -> Result<Agent, StartError> {
        if let Some(origin) = session.header.foreign_origin() {
            return Err(unusable(format!(
                "{} was {origin}: its programs can be viewed but not run again, because their inputs are not recorded",
                session.header.id
            )));
        }
        let run = turn.run_part();
        let mut fold = StepFold::default();
        session.events().filter(|envelope| envelope.run() == run).for_each(|envelope| fold.apply(&envelope));
        let recording = Recording::of(session).map_err(unusable)?;
        let Inputs { agent, context } = inputs_at(&recording, turn)?;
        let step = fold.step();
        let place = step.turns.iter().position(|known| known.address.as_ref() == Some(turn));
        let place = place.ok_or_else(|| unusable(format!("the session has no turn {turn}")))?;
        let program = |place: usize| step.turns[place].program.clone();
        let last = program(place).ok_or_else(|| unusable(format!("{turn} ran no program")))?;
        // A definition that was changed at a turn of a fork precedes its program.
        let defined = |place: usize| {
            let edits = step.turns[place].edits.iter();
            edits.filter_map(|edit| Some(format!("(def {} {})", edit.target.strip_prefix("memory.")?, edit.text())))
        };
        let earlier = |place: usize| program(place).filter(|_| step.turns[place].success);
        let earlier = (0..place).flat_map(|place| defined(place).chain(earlier(place)));
        let whole: Vec<String> = earlier.chain(defined(place)).chain([last]).collect();
        Ok(Agent { mode: Mode::PtcLisp, model: None, context, ..agent }
            .with_option("program", Json::str(whole.join("\n")))
            .with_option("completion", Json::str("return_required"))
            .once())
    }
}

//! One tool call: found, counted, its arguments converted and checked, answered, recorded.
//!
//! In: a name and arguments from a program or a model. Out: a value, or the record of a failure that goes back to who called.
//! Calls of parallel branches run at the same time: the state of the run that they change is locked.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::limits::RUN_CALLS;
use ptc_core::reasons::Reason;
use ptc_core::signature;
use ptc_core::text::width::truncate;
use ptc_core::value::{Json, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::child::shaped;
use super::state::{CallState, Driver, Halt};
use crate::engine::history::RecordedCall;
use crate::engine::modes::{ToolResult, unknown_tool};
use crate::event::{Address, CallStatus, ErrorRecord, FileRecord, JsonText, QuestionKind, ToolCall, ToolEnd, hex_sha};
use crate::model::media_type;
use crate::port::SinkError;
use crate::tool::{Builtin, Failure, Invocation, Kind, Tool, ToolImage, ToolRequest, canonical, plain_text};

impl Driver<'_> {
    /// Calls a tool. `Err` ends the run.
    pub(super) async fn call_tool(&self, at: &Address, name: &str, args: &Value) -> Result<ToolResult, Halt> {
        let recorded = self.ports.history.call(at);
        let count = self.count_call(&recorded);
        let over = self.plan.settings.max_tool_calls.filter(|limit| count > *limit);
        let refused = recorded.is_over_limit(over.is_some());
        let Some(tool) = self.plan.tool(name) else {
            return self.refuse(at, (name, ""), json_text(args), unknown_tool(self.plan, name)).await;
        };
        let target = (tool.name.as_str(), tool.kind_name());
        if refused {
            let limit = self.plan.settings.max_tool_calls.unwrap_or_default();
            let message =
                format!("the limit of {limit} tool calls ({}) is reached; this call was not made", RUN_CALLS.name);
            let record = ErrorRecord::new(Reason::ToolCallLimitExceeded, message);
            return self.refuse(at, target, json_text(args), record).await;
        }
        let (args, warnings) = match tool.convert_args(args) {
            Ok(converted) => converted,
            Err(record) => return self.refuse(at, target, json_text(args), record).await,
        };
        self.break_at_call(at, tool, &args).await?;
        let call = ToolCall {
            name: tool.name.clone(),
            kind: tool.kind_name().to_owned(),
            args: json_text(&args),
            effectful: tool.is_effectful(),
        };
        let key = format!("{}\u{0}{}", tool.name, canonical(&call.args.json()).to_text());
        let known = self.calls.known().get(&key).cloned();
        let edited = self.ports.history.replacement(at).is_some();
        // An edited result replaces the one that the run remembers, too.
        let remembered = recorded.remembered(known).filter(|_| tool.cache && !edited);
        let cached = remembered.is_some();
        // A result that is written by hand needs no consent, unless the recording holds the question.
        let asks = !cached && (!edited || self.is_awaited(&at.question(0), &QuestionKind::Consent));
        if asks && let Some(record) = self.denied(at, tool, &args).await? {
            return self.refuse(at, target, json_text(&args), record).await;
        }
        self.emit(at, call).await?;
        let mut state = CallState::default();
        self.begin_attempt(at, &mut state).await?;
        for warning in warnings {
            self.inform(at, format!("argument of {}: {warning}", tool.name)).await?;
        }
        let unknown = if cached || edited { None } else { self.unknown_outcome(at, tool).await? };
        let is_unknown = unknown.is_some();
        let is_repeated = !cached && !edited && !is_unknown && self.is_outcome_asked(at, tool);
        if is_repeated {
            self.begin_attempt(at, &mut state).await?;
        }
        let denied =
            if cached || edited || is_unknown { None } else { self.denied_again(at, tool, &args, &mut state).await? };
        let is_denied = denied.is_some();
        // The time in which the user decides is not the tool's.
        let started = Instant::now();
        let result = match remembered {
            _ if is_unknown || is_denied => Err(unknown.or(denied).unwrap_or_default()),
            Some(value) => Ok(value),
            None => match self.edited_result(at).await? {
                Some(edited) => Ok(edited.value()),
                None => self.answered(at, tool, &args, &mut state).await?,
            },
        };
        let result = result.and_then(|value| through_json(tool, &value));
        let files = recorded.end.as_ref().map_or(state.files, |end| end.files.clone());
        let shown = files.iter().filter(|_| result.is_ok()).map(|file| (at.clone(), file.clone()));
        self.result_files.lock().unwrap_or_else(PoisonError::into_inner).extend(shown);
        let end = ToolEnd {
            status: match &result {
                Ok(_) => CallStatus::Ok,
                Err(_) if is_unknown => CallStatus::Unknown,
                Err(_) if is_denied => CallStatus::Refused,
                Err(_) => CallStatus::Error,
            },
            result: result.as_ref().ok().map(json_text),
            error: result.as_ref().err().cloned(),
            files,
            cached,
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.emit(at, end).await?;
        // A child agent has gates of its own; an edited or remembered result has passed one.
        let passes = cached || is_unknown || is_denied || self.plan.child(&tool.name).is_some() || edited;
        let result = if passes { result } else { self.gate_of_result(at, result).await? };
        if let Ok(value) = &result {
            self.hide(at, value);
        }
        if let (Ok(value), true, false) = (&result, tool.cache, cached) {
            self.calls.known().insert(key, value.clone());
        }
        Ok(result)
    }

    /// Records a call that is not made. `tool`: its name and kind.
    pub(super) async fn refuse(
        &self,
        at: &Address,
        tool: (&str, &str),
        args: JsonText,
        record: ErrorRecord,
    ) -> Result<ToolResult, Halt> {
        let (name, kind) = tool;
        let call = ToolCall { name: name.to_owned(), kind: kind.to_owned(), args, effectful: false };
        self.emit(at, call).await?;
        let end = ToolEnd { status: CallStatus::Refused, error: Some(record.clone()), ..ToolEnd::default() };
        self.emit(at, end).await?;
        Ok(Err(record))
    }

    /// Counts a call of the run; one that a resumed recording holds is counted from the start.
    pub(super) fn count_call(&self, recorded: &RecordedCall) -> u64 {
        let more = u64::from(!recorded.begun);
        self.calls.count.fetch_add(more, Ordering::Relaxed) + more
    }

    /// The result of a call, when it was edited.
    async fn edited_result(&self, call: &Address) -> Result<Option<JsonText>, SinkError> {
        let Some(edit) = self.ports.history.replacement(call) else { return Ok(None) };
        self.emit(call, edit.clone()).await?;
        Ok(Some(edit.after.clone()))
    }

    /// Makes the call by the kind of its tool.
    async fn answered(
        &self,
        at: &Address,
        tool: &Tool,
        args: &Value,
        state: &mut CallState,
    ) -> Result<ToolResult, Halt> {
        match &tool.kind {
            Kind::Agent(_) | Kind::Llm(_) => match self.plan.child(&tool.name) {
                Some(plan) => {
                    let result = self.run_child(at, tool, plan, args).await?;
                    match &tool.kind {
                        Kind::Llm(table) => Ok(shaped(tool, table, result).await),
                        _ => Ok(result),
                    }
                }
                None => Ok(Err(ErrorRecord::new(Reason::ToolError, format!("the agent `{}` is missing", tool.name)))),
            },
            Kind::SelfAgent => self.run_child(at, tool, self.plan, args).await,
            Kind::Builtin(Builtin::LlmQuery) => self.query_model(at, tool, args).await,
            Kind::Builtin(Builtin::AskUser) => {
                let text = args.lookup("question").map(plain_text).unwrap_or_default();
                let options = args.lookup("options").and_then(|value| value.as_list()).into_iter().flatten();
                let options = options.map(plain_text).collect();
                self.ask_user(at, text, options).await.map(|answer| Ok(Value::str(answer)))
            }
            _ => self.invoke(at, tool, args, state).await,
        }
    }

    /// Calls a tool through the port, within its time: that in which the user or the model answers it is not counted.
    async fn invoke(&self, at: &Address, tool: &Tool, args: &Value, state: &mut CallState) -> Result<ToolResult, Halt> {
        let cancel = self.ports.stop.token();
        let (notes, mut notes_taken) = mpsc::unbounded_channel();
        let (requests, mut requested) = mpsc::unbounded_channel();
        let now_ms = self.clock.now_ms;
        let call = Invocation { address: at, tool, args, now_ms, cancel, notes: &notes, requests: &requests };
        let limit_ms = tool.call_limit_ms();
        let answer = match self.ports.history.call(at).result() {
            Some(recorded) => Box::pin(std::future::ready(recorded)),
            None => self.ports.tools.call(&call),
        };
        let answer = self.within_the_mission(answer);
        let deadline = sleep_until(Instant::now() + Duration::from_millis(limit_ms));
        tokio::pin!(answer, deadline);
        let answer = loop {
            tokio::select! {
                biased;
                Some(note) = notes_taken.recv() => self.inform(at, note).await?,
                Some(request) = requested.recv() => {
                    let begun = Instant::now();
                    match request {
                        ToolRequest::Question(question) => self.ask_for_tool(at, state, question).await?,
                        ToolRequest::Sample(sample) => self.sample_for_tool(at, state, sample).await?,
                        ToolRequest::Image(image) => self.store_image(state, image)?,
                    }
                    let later = deadline.deadline() + begun.elapsed();
                    deadline.as_mut().reset(later);
                }
                answer = &mut answer => break Some(answer),
                () = &mut deadline => break None,
            }
        };
        while let Ok(note) = notes_taken.try_recv() {
            self.inform(at, note).await?;
        }
        while let Ok(request) = requested.try_recv() {
            // No other request of a call that has ended waits for an answer.
            if let ToolRequest::Image(image) = request {
                self.store_image(state, image)?;
            }
        }
        match answer {
            Some(Ok(value)) => Ok(Ok(value)),
            Some(Err(Failure::Error(record))) => Ok(Err(record)),
            Some(Err(Failure::Cancelled)) => {
                self.emit(at, ToolEnd { status: CallStatus::Cancelled, ..ToolEnd::default() }).await?;
                Err(self.interrupted(at).await)
            }
            None => {
                let message = format!("the tool {} did not answer within timeout_ms = {limit_ms}", tool.name);
                Ok(Err(ErrorRecord::new(Reason::ToolError, message)))
            }
        }
    }

    /// Stores an image of a result.
    fn store_image(&self, state: &mut CallState, image: ToolImage) -> Result<(), SinkError> {
        let Some(media_type) = media_type(&image.bytes) else { return Ok(()) };
        let sha256 = hex_sha(&image.bytes);
        self.ports.files.store(&sha256, &image.bytes).map_err(SinkError::Storage)?;
        let (size, media_type) = (image.bytes.len() as u64, media_type.to_owned());
        state.files.push(FileRecord { name: image.name, media_type, size, sha256 });
        Ok(())
    }

    /// Waits for a tool, and stops the run when its mission time is over meanwhile.
    async fn within_the_mission(&self, mut answer: BoxFuture<'_, Result<Value, Failure>>) -> Result<Value, Failure> {
        loop {
            let due = self.due().filter(|_| self.ports.stop.reason().is_none());
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.stop_when_due(),
            }
        }
    }
}

/// Columns of the path to a value that JSON cannot hold.
const PATH_COLUMNS: usize = 60;

/// The result as it would come out of a file: what JSON cannot hold is an error of the tool.
fn through_json(tool: &Tool, value: &Value) -> ToolResult {
    match signature::check_json(value).first() {
        Some(issue) => {
            // The path of a value that is nested too deeply is longer than the reason.
            let path = issue.path.to_string();
            let (name, place) = (&tool.name, truncate(&path, PATH_COLUMNS));
            let message =
                format!("the result of the tool {name} cannot be represented as JSON: {}: {place}", issue.message);
            Err(ErrorRecord::new(Reason::ToolError, message))
        }
        None => Ok(Json::from(value).to_value()),
    }
}

fn json_text(value: &Value) -> JsonText {
    JsonText::of(&Json::from(value))
}

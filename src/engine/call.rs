//! One tool call: found, counted, its arguments converted and checked, answered, recorded.
//!
//! In: a name and arguments from a program or a model. Out: a value, or the record of a failure that goes back to who called.
//! Calls of parallel branches come at the same time: nothing here changes the run but behind locks.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::limits::RUN_CALLS;
use ptc_core::reasons::Reason;
use ptc_core::signature::{self, underscored};
use ptc_core::text::did_you_mean;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Halt;
use super::child::shaped;
use super::cycle::Cycle;
use super::history::{answer_text, was_asked};
use crate::agent::Plan;
use crate::event::{Address, AnswerGiven, CallStatus, ErrorRecord, JsonText, Notice, QuestionAsked, ToolCall, ToolEnd};
use crate::model::{Request, everything};
use crate::port::{Question, SinkError};
use crate::tool::{Builtin, Failure, Invocation, Kind, Tool};

/// What a call gave: a value, or what to tell the caller.
pub(super) type Given = Result<Value, ErrorRecord>;

impl Cycle<'_> {
    /// Calls a tool. `Err` ends the run.
    pub(super) async fn call_tool(&self, at: &Address, name: &str, args: &Value) -> Result<Given, Halt> {
        let recorded = self.ports.history.call(at);
        let count = self.count_call(&recorded);
        let over = self.plan.settings.max_tool_calls.filter(|limit| count > *limit);
        let refused = recorded.is_over_limit(over.is_some());
        let Some(tool) = self.plan.tool(name) else {
            return self.refuse(at, (name, ""), args, unknown(self.plan, name)).await;
        };
        let told = (tool.name.as_str(), tool.kind_name());
        if refused {
            let limit = self.plan.settings.max_tool_calls.unwrap_or_default();
            let message =
                format!("the limit of {limit} tool calls ({}) is reached; this call was not made", RUN_CALLS.name);
            return self.refuse(at, told, args, ErrorRecord::new(Reason::ToolCallLimitExceeded, message)).await;
        }
        let (args, warnings) = match tool.converted(args) {
            Ok(converted) => converted,
            Err(record) => return self.refuse(at, told, args, record).await,
        };
        self.break_at_call(at, tool, &args).await?;
        let call = ToolCall {
            name: tool.name.clone(),
            kind: tool.kind_name().to_owned(),
            args: JsonText::of(&Json::from(&args)),
            effectful: tool.is_effectful(),
        };
        let key = format!("{}\u{0}{}", tool.name, canonical(&call.args.json()).to_text());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let remembered = recorded.remembered(known).filter(|_| tool.cache);
        let cached = remembered.is_some();
        let edited = self.ports.history.replacement(at).is_some();
        // A result that is written by hand needs no consent; one that was asked for before stands in the recording.
        let asks = !cached && (!edited || self.is_awaited(&at.question(0), QuestionAsked::CONSENT));
        if asks && let Some(record) = self.denied(at, tool, &args).await? {
            return self.refuse(at, told, &args, record).await;
        }
        self.emit(at, call).await?;
        for warning in warnings {
            let text = format!("argument of {}: {warning}", tool.name);
            self.emit(at, Notice { level: "info".to_owned(), text }).await?;
        }
        let unknown = if cached || edited { None } else { self.unknown_outcome(at, tool).await? };
        // What a person thought about before is not the tool's time.
        let started = Instant::now();
        let is_unknown = unknown.is_some();
        let given = match remembered {
            _ if is_unknown => Err(unknown.unwrap_or_default()),
            Some(value) => Ok(value),
            None => match self.edited_result(at).await? {
                Some(result) => Ok(result.value()),
                None => self.answered(at, tool, &args).await?,
            },
        };
        let given = given.and_then(|value| travelled(tool, &value));
        let end = ToolEnd {
            status: match &given {
                Ok(_) => CallStatus::Ok,
                Err(_) if is_unknown => CallStatus::Unknown,
                Err(_) => CallStatus::Error,
            },
            result: given.as_ref().ok().map(|value| JsonText::of(&Json::from(value))),
            error: given.as_ref().err().cloned(),
            cached,
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.emit(at, end).await?;
        // An agent below has gates of its own; what was written by hand or is known already has passed one.
        let passes = cached || is_unknown || self.plan.child(&tool.name).is_some() || edited;
        let given = if passes { given } else { self.gate_of_result(at, given).await? };
        if let (Ok(value), true, false) = (&given, tool.cache, cached) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value.clone());
        }
        Ok(given)
    }

    /// A call that is not made.
    async fn refuse(&self, at: &Address, told: (&str, &str), args: &Value, record: ErrorRecord) -> Result<Given, Halt> {
        let (name, kind) = told;
        let args = JsonText::of(&Json::from(args));
        let call = ToolCall { name: name.to_owned(), kind: kind.to_owned(), args, effectful: false };
        self.emit(at, call).await?;
        let end = ToolEnd { status: CallStatus::Refused, error: Some(record.clone()), ..ToolEnd::default() };
        self.emit(at, end).await?;
        Ok(Err(record))
    }

    async fn answered(&self, at: &Address, tool: &Tool, args: &Value) -> Result<Given, Halt> {
        match &tool.kind {
            Kind::Agent(_) | Kind::Llm(_) => match self.plan.child(&tool.name) {
                Some(plan) => {
                    let given = self.run_child(at, tool, plan, args).await?;
                    match &tool.kind {
                        Kind::Llm(table) => Ok(shaped(tool, table, given).await),
                        _ => Ok(given),
                    }
                }
                None => Ok(Err(ErrorRecord::new(Reason::ToolError, format!("the agent `{}` is missing", tool.name)))),
            },
            Kind::Itself => self.run_child(at, tool, self.plan, args).await,
            Kind::Builtin(Builtin::LlmQuery) => self.query_model(at, tool, args).await,
            Kind::Builtin(Builtin::AskUser) => {
                let text = args.lookup("question").map(plain).unwrap_or_default();
                let options = args.lookup("options").and_then(|value| value.as_list()).into_iter().flatten();
                let options = options.map(plain).collect();
                self.ask_person(at, text, options).await.map(|answer| Ok(Value::str(answer)))
            }
            _ => self.invoke(at, tool, args).await,
        }
    }

    /// A tool behind the port, within its time.
    async fn invoke(&self, at: &Address, tool: &Tool, args: &Value) -> Result<Given, Halt> {
        let cancel = self.ports.stop.token();
        let (notes, mut told) = mpsc::unbounded_channel();
        let call = Invocation { address: at, tool, args, now_ms: self.now_ms, cancel, notes: &notes };
        let limit = Duration::from_millis(tool.timeout_ms);
        let answer = match self.ports.history.call(at).result() {
            Some(recorded) => Box::pin(std::future::ready(recorded)),
            None => self.ports.tools.call(&call),
        };
        let answer = tokio::time::timeout(limit, self.within_the_mission(answer));
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                biased;
                Some(note) = told.recv() => self.note(at, note).await?,
                answer = &mut answer => break answer,
            }
        };
        while let Ok(note) = told.try_recv() {
            self.note(at, note).await?;
        }
        match answer {
            Ok(Ok(value)) => Ok(Ok(value)),
            Ok(Err(Failure::Error(record))) => Ok(Err(record)),
            Ok(Err(Failure::Cancelled)) => {
                self.emit(at, ToolEnd { status: CallStatus::Cancelled, ..ToolEnd::default() }).await?;
                Err(self.interrupted(at).await)
            }
            Err(_) => {
                let message = format!("the tool {} did not answer within timeout_ms = {}", tool.name, tool.timeout_ms);
                Ok(Err(ErrorRecord::new(Reason::ToolError, message)))
            }
        }
    }

    /// Tells what a tool said while it was called.
    async fn note(&self, at: &Address, text: String) -> Result<(), SinkError> {
        self.emit(at, Notice { level: "info".to_owned(), text }).await
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

    /// Asks a person and waits for the answer. `Err` with [`Halt::Wait`]: nobody is there.
    pub(super) async fn ask_person(&self, at: &Address, text: String, options: Vec<String>) -> Result<String, Halt> {
        let asked = at.question(self.questions_at(at));
        let shown = match options.as_slice() {
            [] => text.clone(),
            options => format!("{text}\n({})", options.join(" | ")),
        };
        self.emit(&asked, QuestionAsked { kind: "ask".to_owned(), text, options }).await?;
        self.answer_of_person(at, Question { address: asked, text: shown, options: Vec::new(), gate: None }).await
    }

    /// Asks for the reply of a model that is a person and was not there: the answer when it is given later.
    pub(super) async fn ask_for_reply(&self, at: &Address, request: &Request) -> Result<String, Halt> {
        let asked = at.question(self.questions_at(at));
        let text = format!("What does the model reply to the request of {at}?");
        let kind = QuestionAsked::REPLY.to_owned();
        self.emit(&asked, QuestionAsked { kind, text, options: Vec::new() }).await?;
        if !self.is_awaited(&asked, QuestionAsked::REPLY) {
            return Err(Halt::Wait(asked));
        }
        self.answer_of_person(
            at,
            Question { address: asked, text: everything(request), options: Vec::new(), gate: None },
        )
        .await
    }

    /// Puts a question to the person and tells the answer.
    pub(super) async fn answer_of_person(&self, at: &Address, question: Question) -> Result<String, Halt> {
        let answer = match self.ports.history.answer(&question.address) {
            Some(given) => Some(answer_text(&given, question.gate.map(|_| question.text.as_str()))),
            None => {
                let _wait = self.tree.waiting();
                self.ports.person.ask(&question, self.ports.stop.token()).await
            }
        };
        if answer.is_none() {
            self.stop_as_recorded(at);
        }
        match answer {
            Some(answer) => {
                let edited = question.gate.is_some() && answer != question.text;
                let as_it_is = question.gate.is_some() && !edited;
                let value = if as_it_is { Json::from(Node::Bool(true)) } else { Json::str(answer.as_str()) };
                let value = JsonText::of(&value);
                self.emit(&question.address, AnswerGiven { by: "person".to_owned(), value, edited }).await?;
                Ok(answer)
            }
            None if self.ports.stop.reason().is_some() => Err(self.interrupted(at).await),
            None => Err(Halt::Wait(question.address)),
        }
    }

    /// Questions are numbered per turn; a call asks one.
    fn questions_at(&self, at: &Address) -> u32 {
        if at.is_call() { 0 } else { self.questions.fetch_add(1, Ordering::Relaxed) }
    }

    /// Was this asked in a recording without an answer, or is its answer known beforehand?
    pub(super) fn is_awaited(&self, question: &Address, kind: &str) -> bool {
        was_asked(self.ports.history, question, kind) || self.ports.person.has_answer(question)
    }

    /// Stops the run as the recording says it was stopped during the turn of this address.
    pub(super) fn stop_as_recorded(&self, at: &Address) {
        if let Some(interrupt) = self.ports.history.interrupt(&at.turn_part()) {
            self.ports.stop.now(&interrupt.reason, &interrupt.by);
        }
    }

    /// Tells that the run was stopped; the failure it ends with.
    pub(super) async fn interrupted(&self, at: &Address) -> Halt {
        let turn = at.turn_part();
        self.stop_as_recorded(at);
        let interrupt = self.ports.stop.reason().cloned().unwrap_or_default();
        if !self.told_stop.swap(true, Ordering::Relaxed)
            && let Err(error) = self.emit(&turn, interrupt.clone()).await
        {
            return error.into();
        }
        Halt::Fail(self.stopped(Some(&interrupt)))
    }
}

/// A tool that the agent does not have.
pub(super) fn unknown(plan: &Plan, name: &str) -> ErrorRecord {
    let names = || plan.tools.iter().map(|tool| tool.name.as_str());
    let near = did_you_mean(name, names());
    let all = names().collect::<Vec<_>>().join(", ");
    let known = if all.is_empty() { "there are no tools".to_owned() } else { format!("tools: {all}") };
    ErrorRecord::new(Reason::UnknownTool, format!("unknown tool `{name}`{near} ({known})"))
}

/// The result as it would come out of a file: what JSON cannot hold is an error of the tool.
fn travelled(tool: &Tool, value: &Value) -> Given {
    match signature::check_json(value).first() {
        Some(issue) => {
            let message = format!("the tool {} answered with what JSON cannot hold: {issue}", tool.name);
            Err(ErrorRecord::new(Reason::ToolError, message))
        }
        None => Ok(Json::from(value).to_value()),
    }
}

/// A text as it is, anything else as it is printed.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Arguments in the form in which equal calls are equal: keys sorted and with `_`, whole floats as integers. Depth is bounded by the
/// JSON reader.
pub(super) fn canonical(json: &Json) -> Json {
    match &json.node {
        Node::Object(members) => {
            let mut pairs: Vec<_> =
                members.iter().map(|member| (underscored(&member.key), canonical(&member.value))).collect();
            pairs.sort_by(|one, other| one.0.cmp(&other.0));
            Json::object(pairs)
        }
        Node::List(items) => Json::list(items.iter().map(canonical)),
        Node::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
            json::parse(&format!("{float:.0}")).unwrap_or_else(|_| json.clone())
        }
        _ => json.clone(),
    }
}

//! The facts that a mode sees and its decisions, as plain values.
//!
//! In: the facts of a turn ([`View`]). Out: a [`Decision`]: effects in order, then the one thing that comes next. Nothing here acts.

use ptc_core::reasons::Reason;
use ptc_core::template::TemplateError;
use ptc_core::value::{Json, Value};

use crate::agent::Plan;
use crate::event::{Address, ErrorRecord, Event, FileRecord, MessagePart, Notice, NoticeLevel, Role, Source, Tokens};
use crate::program::Job;
use crate::prompt::RequestOptions;
use crate::prompt::json::OpeningMessages;

/// The facts that a mode decides by.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The agent, with the edits of a fork.
    pub plan: &'a Plan,
    /// The address of the turn.
    pub turn: Address,
    /// Turns of the run that have ended.
    pub used: u32,
    /// Turns that the tree of agents had left when this turn began, this one included.
    pub tree: u32,
    /// Turns that it has left when this turn ends, as far as this agent and its children use them.
    pub tree_after: u32,
    /// Turns that it had left when the first turn began.
    pub first_tree: Option<u32>,
    /// The agent's level, 0 for a root run.
    pub depth: u32,
    /// Levels that are allowed.
    pub max_depth: u32,
    /// Tokens of the run and its child runs so far, as its budgets count them.
    pub tokens: Tokens,
    /// Requests of the run and its child runs so far.
    pub requests: u32,
    /// The time of the turn, Unix ms.
    pub now_ms: i64,
    /// The images of the results of calls, by the addresses of the calls.
    pub result_files: Vec<(Address, FileRecord)>,
}

impl<'a> View<'a> {
    /// Before the first turn of a root run.
    pub fn first(plan: &'a Plan) -> Self {
        let tree = plan.settings.turn_budget;
        Self {
            plan,
            turn: Address::run(0).turn(1),
            used: 0,
            tree,
            tree_after: tree.saturating_sub(1),
            first_tree: None,
            depth: 0,
            max_depth: plan.settings.max_depth,
            tokens: Tokens::default(),
            requests: 0,
            now_ms: 0,
            result_files: Vec::new(),
        }
    }

    /// The parts of a message that answers the call of this number with a result: its images follow it.
    pub(super) fn result_parts(&self, number: u32, result: MessagePart) -> Vec<MessagePart> {
        let call = self.turn.call(number);
        let files = self.result_files.iter().filter(|(at, _)| *at == call);
        let files = files.map(|(_, file)| MessagePart::File { file: file.clone() });
        [result].into_iter().chain(files).collect()
    }

    /// Turns that may follow this one.
    pub fn turns_after(&self) -> u32 {
        self.plan.agent.max_turns.saturating_sub(self.used + 1)
    }

    /// The part of an assistant message that repeats the reply of this turn.
    pub(super) fn reply_part(&self) -> Vec<MessagePart> {
        vec![MessagePart::Reply { reply: self.turn.clone() }]
    }
}

/// Effects in order, then what comes next.
#[derive(Debug)]
pub struct Decision {
    /// The effects, which happen first.
    pub effects: Vec<Effect>,
    /// The need of the mode, or the end of the turn.
    pub next: Next,
}

impl Decision {
    /// A machine got something that it did not ask for.
    pub(super) fn unexpected() -> Self {
        let message = "the mode got a result that it did not ask for";
        Self { effects: Vec::new(), next: Next::Fail(ErrorRecord::new(Reason::InternalError, message)) }
    }
}

/// Something that happens and gives nothing back.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// An event is recorded at the turn.
    Emit(Box<Event>),
    /// A message is added to the conversation.
    AddMessage {
        /// Its role.
        role: Role,
        /// The source of the message.
        source: Source,
        /// Its content.
        parts: Vec<MessagePart>,
    },
    /// The run fails here if it has spent more than its budget, this turn's reply included.
    CheckBudget,
    /// The turn ends, with the reason of its failure.
    EndTurn(Option<String>),
}

/// The need of a mode, or the end of the turn.
#[derive(Debug)]
pub enum Next {
    /// The run opens with these messages, or fails because the prompt has no value for a variable.
    Open(Result<OpeningMessages, TemplateError>),
    /// A tool is called.
    Call(ToolUse),
    /// A program is run.
    Run(Box<ProgramRun>),
    /// Expressions of the agent file are evaluated.
    Evaluate(Vec<Job>),
    /// The user is asked.
    Ask(String),
    /// The next turn begins.
    Continue,
    /// The run has its answer.
    Finish(RunAnswer),
    /// The run fails.
    Fail(ErrorRecord),
}

/// A tool call of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// Its number among the calls of the turn.
    pub number: u32,
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments as they were written.
    pub args: Json,
    /// The arguments as the tool gets them.
    pub value: Value,
    /// The reason why it is recorded and not made.
    pub refused: Option<ErrorRecord>,
}

/// The result of a call: a value, or a failure that the caller may react to.
pub type ToolResult = Result<Value, ErrorRecord>;

/// A program of a reply.
#[derive(Debug, Clone)]
pub struct ProgramRun {
    /// Its text and what it works on.
    pub job: Job,
    /// The reason why it may call no tools.
    pub closed: Option<String>,
}

/// The answer of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunAnswer {
    /// Its value.
    pub value: Json,
    /// The text next to it.
    pub summary: Option<String>,
    /// The values of `refs`.
    pub refs: Option<Json>,
    /// The turn it came from, when it is not the last one.
    pub from_turn: Option<u32>,
}

impl From<Json> for RunAnswer {
    fn from(value: Json) -> Self {
        Self { value, ..Self::default() }
    }
}

/// The parts of a request of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPlan {
    /// The options of the request: the expected kind of answer, its schema, the tools.
    pub options: RequestOptions,
    /// The messages.
    pub messages: Messages,
}

/// The messages of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Messages {
    /// The whole conversation.
    All,
    /// Without the oldest ones, when the agent's `compaction` removes them.
    Trimmed,
    /// The system text, and one message in place of all others.
    Summary {
        /// Its content.
        parts: Vec<MessagePart>,
        /// The counts of what it summarizes, for the record.
        counts: Vec<(String, u64)>,
    },
}

impl RequestPlan {
    /// With the whole conversation.
    pub(super) fn whole(options: RequestOptions) -> Self {
        Self { options, messages: Messages::All }
    }
}

/// Effects that are put together.
#[derive(Debug, Default)]
pub(super) struct Effects(Vec<Effect>);

impl Effects {
    pub(super) fn emit(&mut self, event: impl Into<Event>) {
        self.0.push(Effect::Emit(Box::new(event.into())));
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.emit(Notice { level: NoticeLevel::Warning, text: text.into() });
    }

    pub(super) fn add_message(&mut self, role: Role, source: Source, parts: Vec<MessagePart>) {
        self.0.push(Effect::AddMessage { role, source, parts });
    }

    pub(super) fn check_budget(&mut self) {
        self.0.push(Effect::CheckBudget);
    }

    pub(super) fn end_turn(&mut self, reason: Option<&str>) {
        self.0.push(Effect::EndTurn(reason.map(ToOwned::to_owned)));
    }

    /// Then this.
    pub(super) fn then(self, next: Next) -> Decision {
        Decision { effects: self.0, next }
    }

    /// Ends the turn and the run with an answer.
    pub(super) fn finish(mut self, answer: RunAnswer) -> Decision {
        self.end_turn(None);
        self.then(Next::Finish(answer))
    }

    /// Ends the turn and the run with a failure.
    pub(super) fn fail(mut self, record: ErrorRecord) -> Decision {
        self.end_turn(Some(&record.reason));
        self.then(Next::Fail(record))
    }

    /// Ends the turn within the budget. `fail`: the run has no turn left and fails with this.
    pub(super) fn end(mut self, reason: Option<&str>, fail: Option<ErrorRecord>) -> Decision {
        self.end_turn(reason);
        self.check_budget();
        self.then(fail.map_or(Next::Continue, Next::Fail))
    }
}

/// Turns that were used, for the message of an end.
pub(super) fn turns_used(turns: u32) -> String {
    if turns == 1 { "1 turn was used".to_owned() } else { format!("{turns} turns were used") }
}

//! Records of tool calls and of questions to the user.

use crate::event::{
    Address, AnswerGiven, CallStatus, Envelope, ErrorRecord, JsonText, Notice, QuestionAsked, ToolCall, ToolEnd,
};

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// Address of the call; also of the run that it started, if it started one.
    pub address: Address,
    /// The tool.
    pub name: String,
    /// Its kind; empty for a name that no tool has.
    pub kind: String,
    /// Its arguments.
    pub args: JsonText,
    /// It may change something outside of the run.
    pub effectful: bool,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Unix time in ms; absent while it runs.
    pub ended_ms: Option<i64>,
    /// Its outcome; absent while it runs.
    pub status: Option<CallStatus>,
    /// Its result; at a gate, the replacement by the user.
    pub result: Option<JsonText>,
    /// Its error.
    pub error: Option<ErrorRecord>,
    /// It was answered from an equal call.
    pub cached: bool,
    /// Duration of the tool, in ms.
    pub ms: u64,
    /// Notices about it.
    pub notices: Vec<Notice>,
}

impl CallRecord {
    /// A call that begins.
    pub(super) fn new(envelope: &Envelope, call: &ToolCall) -> Self {
        Self {
            address: envelope.address.clone(),
            name: call.name.clone(),
            kind: call.kind.clone(),
            args: call.args.clone(),
            effectful: call.effectful,
            started_ms: envelope.at_ms,
            ended_ms: None,
            status: None,
            result: None,
            error: None,
            cached: false,
            ms: 0,
            notices: Vec::new(),
        }
    }

    /// Takes its end. A result that the user changed at a gate is one more.
    pub(super) fn end(&mut self, at_ms: i64, end: &ToolEnd) {
        self.ended_ms = Some(at_ms);
        self.status = Some(end.status);
        self.result.clone_from(&end.result);
        self.error.clone_from(&end.error);
        self.cached = end.cached;
        self.ms = end.ms;
    }
}

/// Returns the number of calls that failed, were refused or have an unknown outcome. Every mark, comparison and statistic of failed
/// calls is this count.
pub fn count_failed(statuses: impl IntoIterator<Item = Option<CallStatus>>) -> usize {
    statuses.into_iter().filter(|status| status.is_some_and(CallStatus::is_failure)).count()
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRecord {
    /// Its address, which an answer names.
    pub address: Address,
    /// The question.
    pub asked: QuestionAsked,
    /// The answer; absent while the run waits for it.
    pub answer: Option<AnswerGiven>,
}

//! The model `human`: the user reads exactly what would be sent and types the reply.
//!
//! In: a request. Out: what was typed; lines that begin with `/call` become tool calls where the request offers tools.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::manual_reply::{CALL, typed};
use super::{Call, Model, ModelError, Reply, Request, Want};
use crate::event::ModelRecord;
use crate::port::{Human, Question};

/// A user as a model.
pub struct HumanModel {
    human: Arc<dyn Human>,
}

impl HumanModel {
    /// Asks this user.
    pub fn new(human: Arc<dyn Human>) -> Self {
        Self { human }
    }
}

impl Model for HumanModel {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "human".into(), provider: "human".into(), id: "human".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let question = Question {
                address: request.address.clone(),
                text: everything(request),
                options: Vec::new(),
                gate: None,
            };
            let answer = self.human.ask(&question, &call.cancel).await;
            if call.cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            let reply = typed(request, answer.ok_or_else(ModelError::waiting)?);
            call.text(1, reply.text.clone()).await;
            call.calls(1, &reply.calls).await;
            Ok(reply)
        })
    }

    fn is_human(&self) -> bool {
        true
    }
}

/// The whole request as a user reads it.
pub fn everything(request: &Request) -> String {
    let mut text = String::new();
    if let Some(system) = &request.system {
        _ = writeln!(text, "[system]\n{}", system.trim_end());
    }
    for message in &request.messages {
        _ = writeln!(text, "[{}]\n{}", message.role.name(), message.lines());
    }
    if let Some(schema) = &request.schema {
        _ = writeln!(text, "[schema]\n{}", schema.to_text());
    }
    if !request.tools.is_empty() {
        _ = writeln!(text, "[tools]");
    }
    for tool in &request.tools {
        let about = tool.description.as_ref().map(|words| format!("{words} ")).unwrap_or_default();
        _ = writeln!(text, "{}: {about}{}", tool.name, tool.parameters.as_str());
    }
    _ = writeln!(text, "[wanted]\n{}", wanted(request));
    text
}

/// Returns a description of the text to type.
fn wanted(request: &Request) -> String {
    let answer = match request.want {
        Want::Program => "a PTC-Lisp program in a ```clojure block",
        Want::Json => "JSON",
        Want::Text => "text",
        Want::ControlJson => "one JSON object with `thought` and either `tool_call` or `final_answer`",
    };
    match request.tools.first() {
        None => answer.to_owned(),
        Some(tool) => format!("{answer}, or a line for each tool call: {CALL}{} {{…}}", tool.name),
    }
}

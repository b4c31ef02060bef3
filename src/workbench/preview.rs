//! The preview: exactly what a run would send first, without sending it.

use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::format::{count, distinct};
use super::inspect::{Line, Mark};
use super::models::http;
use super::prepare::{Ready, ReplySource};
use super::{PromptSizes, StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, InputReach, Place};
use crate::config::ModelChoice;
use crate::engine;
use crate::event::{Address, FileRecord, JsonText, MessageAdded, Options, RunText, ToolSchema};
use crate::model::{Content, FileBytes, Message, Request};
use crate::port::Attachments as _;
use crate::session::AttachmentStore;

/// The first request of a run that has not started.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The request, free of any protocol.
    pub request: Request,
    /// Its messages with their prompt sections, the system text first.
    pub messages: Vec<MessageAdded>,
    /// The body, for HTTP models.
    pub body: Option<Json>,
    /// Limits of the provider's protocol for this request, as a run reports them.
    pub limits: Vec<String>,
    /// The place in which each input reaches the model.
    pub inputs: Vec<InputReach>,
    /// Warnings about the definition and the context.
    pub warnings: Vec<Diagnostic>,
}

impl Workbench {
    /// The first request of a run of this agent.
    pub fn preview(&self, agent: &Agent, model: Option<&str>, context: Option<Context>) -> Result<Preview, StartError> {
        let source = self.reply_source(agent, model, None)?;
        let Ready { plan, below } = self.ready(agent, &source)?;
        let context = context.unwrap_or_else(|| plan.agent.context.clone().into());
        self.refuse_keys(&plan.agent, &context)?;
        let mut made = engine::preview(&plan, &context).map_err(StartError::Agent)?;
        made.request.files = self.file_bytes(&made.request, &plan.agent, &context);
        let unsent = matches!(source, ReplySource::Program(_)).then(|| {
            let message = "it answers in place of a model, so this request is not sent";
            Diagnostic::error(Place::Program, Reason::InvalidAgent, message).warning()
        });
        let adapter = match source {
            ReplySource::Model(ModelChoice::Http(model)) => Some(http(*model)?),
            _ => None,
        };
        let body = adapter.as_ref().map(|adapter| adapter.body(&made.request));
        let limits = adapter.map(|adapter| adapter.limits(&made.request)).unwrap_or_default();
        let warnings = plan.warnings.iter().cloned().chain(below).chain(unsent).chain(made.findings).collect();
        let inputs = plan.reach(&context.json);
        Ok(Preview { request: made.request, messages: made.messages, body, limits, inputs, warnings })
    }

    /// The bytes of the files in the messages of a request, as far as they are known before the run.
    fn file_bytes(&self, request: &Request, agent: &Agent, context: &Context) -> FileBytes {
        let stored = AttachmentStore::of_sessions(&self.folders.sessions_dir);
        let mut files = FileBytes::default();
        for record in request.messages.iter().flat_map(|message| records(message)) {
            let mut known = agent.files.iter().chain(&context.files);
            let known = known.find(|file| file.record.sha256 == record.sha256).map(|file| Arc::clone(&file.bytes));
            if let Some(bytes) = known.or_else(|| stored.bytes(&record.sha256)) {
                files.insert(record.sha256.as_str(), bytes);
            }
        }
        files
    }
}

/// The files in a message.
fn records(message: &Message) -> impl Iterator<Item = &FileRecord> {
    message.parts.iter().filter_map(|part| match part {
        Content::File(file) => Some(file),
        _ => None,
    })
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPart {
    /// Its role and section, or its kind; the same in every mode.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Estimated tokens, as the request itself is counted: JSON on one line.
    pub tokens: u64,
    /// True if the text is JSON.
    pub is_json: bool,
}

impl Preview {
    /// Its parts: the sections of the messages, the schema of the answer, the tools that the provider gets.
    pub fn parts(&self) -> Vec<RequestPart> {
        let texts = self.messages.iter().flat_map(|message| {
            message.parts_with(&RunText::default()).into_iter().map(|part| {
                let title = format!("{} · {}", message.role.name(), part.section());
                let text = part.text().into_owned();
                RequestPart { title, tokens: estimate_tokens(&text), text, is_json: false }
            })
        });
        let beside = |tools: &[ToolSchema], schema: Option<&JsonText>| {
            let mut sizes = PromptSizes::default();
            sizes.add_tools_and_schema(tools, schema);
            sizes.tokens()
        };
        let schema = self.request.schema.iter().map(|schema| RequestPart {
            title: "schema of the answer".to_owned(),
            text: schema.to_pretty(),
            tokens: beside(&[], Some(&JsonText::of(schema))),
            is_json: true,
        });
        let tools = self.request.tools.iter().map(|tool| RequestPart {
            title: format!("tool · {}", tool.name),
            text: tool.parameters.json().to_pretty(),
            tokens: beside(std::slice::from_ref(tool), None),
            is_json: true,
        });
        texts.chain(schema).chain(tools).collect()
    }

    /// The preview as `--json` prints it.
    pub fn to_json(&self) -> Json {
        let request = &self.request;
        let system =
            request.system.iter().map(|text| MessageJson { role: "system", content: text.clone(), files: Vec::new() });
        let others = request.messages.iter().map(|message| MessageJson {
            role: message.role.name(),
            content: message.joined(),
            files: records(message).collect(),
        });
        to_json(&PreviewJson {
            request: RequestJson {
                address: &request.address,
                agent: &request.agent,
                mode: &request.mode,
                want: request.want.name(),
                messages: system.chain(others).collect(),
                schema: request.schema.as_ref(),
                signature: request.signature.as_deref(),
                tools: &request.tools,
                options: &request.options,
                cache: request.cache,
            },
            inputs: Json::object(self.inputs.iter().map(|input| (input.name.as_str(), Json::str(input.reach.name())))),
            body: self.body.as_ref(),
        })
    }
}

/// A part of two previews: its title with both sizes, and its lines.
pub type ComparedPart = (String, Vec<Line>);

/// Compares the request of one mode with that of another: the parts of both by title, in the order of the first, then those that only the
/// other has. Lines with `-` are from the other, lines with `+` from the first.
pub fn compared_with(one: &[RequestPart], other: &[RequestPart]) -> Vec<ComparedPart> {
    let titles = distinct(one.iter().chain(other).map(|part| part.title.as_str()));
    let text = |parts: &[RequestPart], title: &str| -> String {
        parts.iter().filter(|part| part.title == title).map(|part| part.text.as_str()).collect()
    };
    let tokens = |parts: &[RequestPart], title: &str| -> u64 {
        parts.iter().filter(|part| part.title == title).map(|part| part.tokens).sum()
    };
    let held = |title: &str| {
        let (now, was) = (text(one, title), text(other, title));
        let sizes = [other, one].map(|parts| count(tokens(parts, title)));
        let lines = if now == was { vec![Line::new(Mark::Dim, "= the same")] } else { Line::difference(&was, &now) };
        (format!("{title} · about {} tok", sizes.join(" → ")), lines)
    };
    titles.into_iter().map(held).collect()
}

#[skip_serializing_none]
#[derive(Serialize)]
struct PreviewJson<'a> {
    request: RequestJson<'a>,
    /// Each input with its place.
    inputs: Json,
    body: Option<&'a Json>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct RequestJson<'a> {
    address: &'a Address,
    agent: &'a str,
    mode: &'a str,
    want: &'static str,
    messages: Vec<MessageJson<'a>>,
    schema: Option<&'a Json>,
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolSchema],
    options: &'a Options,
    cache: bool,
}

#[derive(Serialize)]
struct MessageJson<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: Vec<&'a FileRecord>,
}

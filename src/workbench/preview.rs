//! The preview: exactly what a run would send first, without sending it.

use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::format::{count, distinct};
use super::inspect::{Line, Mark};
use super::models::http;
use super::prepare::{Answering, Ready};
use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic};
use crate::config::ModelChoice;
use crate::engine;
use crate::event::{JsonText, Message, Options, RunText, ToolSchema};
use crate::model::Request;

/// What would be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The request, free of any protocol.
    pub request: Request,
    /// Its messages with their prompt sections, the system text first.
    pub messages: Vec<Message>,
    /// The body, for models behind HTTP.
    pub body: Option<Json>,
    /// What the provider's protocol cannot carry of it, as a run tells it.
    pub limits: Vec<String>,
    /// Warnings about the definition and the context.
    pub warnings: Vec<Diagnostic>,
}

impl Workbench {
    /// The first request of a run of this agent.
    pub fn preview(&self, agent: &Agent, model: Option<&str>, context: Option<Context>) -> Result<Preview, StartError> {
        let answering = self.answering(agent, model, None)?;
        let Ready { plan, below } = self.ready(agent, &answering)?;
        let context = context.unwrap_or_else(|| plan.agent.context.clone().into());
        self.refuse_keys(&plan.agent, &context)?;
        let made = engine::preview(&plan, &context).map_err(StartError::Agent)?;
        let adapter = match answering {
            Answering::Model(ModelChoice::Http(model)) => Some(http(*model)?),
            _ => None,
        };
        let body = adapter.as_ref().map(|adapter| adapter.body(&made.request));
        let limits = adapter.map(|adapter| adapter.limits(&made.request)).unwrap_or_default();
        let warnings = plan.warnings.iter().cloned().chain(below).chain(made.findings).collect();
        Ok(Preview { request: made.request, messages: made.messages, body, limits, warnings })
    }
}

/// A part of what would be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPart {
    /// Who says it and the section, or what it is; the same in every mode.
    pub title: String,
    /// It.
    pub text: String,
    /// Is it JSON?
    pub is_json: bool,
}

impl Preview {
    /// Its parts: the sections of the messages, the schema of the answer, the tools that the provider gets.
    pub fn parts(&self) -> Vec<RequestPart> {
        let texts = self.messages.iter().flat_map(|message| {
            let sections = message.sections(&RunText::default()).into_iter();
            sections.map(|(section, text)| {
                let title = format!("{} · {section}", message.role.name());
                RequestPart { title, text, is_json: false }
            })
        });
        let json = |title: String, json: &Json| RequestPart { title, text: json.to_pretty(), is_json: true };
        let schema = self.request.schema.iter().map(|schema| json("schema of the answer".to_owned(), schema));
        let tools = self.request.tools.iter();
        let tools = tools.map(|tool| json(format!("tool · {}", tool.name), &tool.parameters.json()));
        texts.chain(schema).chain(tools).collect()
    }

    /// `{request, body?}`
    pub fn to_json(&self) -> Json {
        let request = &self.request;
        let system = request.system.iter().map(|text| message("system", text));
        let others = request.messages.iter().map(|m| message(m.role.name(), &m.joined()));
        let mut members = vec![
            ("address".to_owned(), Json::str(request.address.as_str())),
            ("agent".to_owned(), Json::str(request.agent.as_str())),
            ("mode".to_owned(), Json::str(request.mode.as_str())),
            ("want".to_owned(), Json::str(request.want.name())),
            ("messages".to_owned(), Json::list(system.chain(others))),
        ];
        members.extend(request.schema.clone().map(|schema| ("schema".to_owned(), schema)));
        members.extend(request.signature.clone().map(|text| ("signature".to_owned(), Json::str(text))));
        if !request.tools.is_empty() {
            members.push(("tools".to_owned(), Json::list(request.tools.iter().map(tool))));
        }
        members.push(("options".to_owned(), options(&request.options)));
        members.push(("cache".to_owned(), Node::Bool(request.cache).into()));
        let request = Json::object(members);
        let body = self.body.clone().map(|body| ("body", body));
        Json::object([("request", request)].into_iter().chain(body))
    }
}

/// A part of two previews: its title with both sizes, and its lines.
pub type Held = (String, Vec<Line>);

/// What would be sent in one mode, held against what would be sent in another one: the parts of both by title, in the order of the
/// first and then those that only the other has. A line with `-` is one of the other, a line with `+` one of the first.
pub fn held_against(one: &[RequestPart], other: &[RequestPart]) -> Vec<Held> {
    let titles = distinct(one.iter().chain(other).map(|part| part.title.as_str()));
    let text = |parts: &[RequestPart], title: &str| -> String {
        parts.iter().filter(|part| part.title == title).map(|part| part.text.as_str()).collect()
    };
    let held = |title: &str| {
        let (now, was) = (text(one, title), text(other, title));
        let sizes = [&was, &now].map(|text| count(estimate_tokens(text)));
        let lines = if now == was { vec![Line::new(Mark::Dim, "= the same")] } else { Line::difference(&was, &now) };
        (format!("{title} · about {} tok", sizes.join(" → ")), lines)
    };
    titles.into_iter().map(held).collect()
}

fn message(role: &str, text: &str) -> Json {
    Json::object([("role", Json::str(role)), ("content", Json::str(text))])
}

fn tool(tool: &ToolSchema) -> Json {
    let description = tool.description.as_deref().map(|text| ("description", Json::str(text)));
    let members = [("name", Json::str(tool.name.as_str()))].into_iter().chain(description);
    Json::object(members.chain([("parameters", tool.parameters.json())]))
}

fn options(options: &Options) -> Json {
    JsonText::of_data(options).json()
}

//! The preview: exactly what a run would send first, without sending it.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::models::http;
use super::prepare::{Answering, Ready};
use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic};
use crate::config::ModelChoice;
use crate::engine;
use crate::event::{Message, Options, ToolSchema};
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
        let body = match answering {
            Answering::Model(ModelChoice::Http(model)) => Some(http(*model)?.body(&made.request)),
            _ => None,
        };
        let warnings = plan.warnings.iter().cloned().chain(below).chain(made.findings).collect();
        Ok(Preview { request: made.request, messages: made.messages, body, warnings })
    }
}

impl Preview {
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

fn message(role: &str, text: &str) -> Json {
    Json::object([("role", Json::str(role)), ("content", Json::str(text))])
}

fn tool(tool: &ToolSchema) -> Json {
    let description = tool.description.as_deref().map(|text| ("description", Json::str(text)));
    let members = [("name", Json::str(tool.name.as_str()))].into_iter().chain(description);
    Json::object(members.chain([("parameters", tool.parameters.json())]))
}

fn options(options: &Options) -> Json {
    serde_json::to_string(options).ok().and_then(|text| ptc_core::value::json::parse(&text).ok()).unwrap_or_default()
}

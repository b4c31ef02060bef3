//! Resources and prompts of a server, offered as tools: listed, read and filled in like calls, with the same consent and record.
//!
//! In: the capabilities of a server; calls. Out: tools in addition to those of the server, and their results. Contents are untrusted data. A tool
//! of the server hides one of these with its name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_core::value::{Value, json};
use rmcp::model::{
    GetPromptRequestParams, JsonObject, PaginatedRequestParams, Prompt, ReadResourceRequestParams, Resource,
    ResourceContents, Role, ServerCapabilities, Tool,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::json as data;

use super::listing::is_same_name;
use super::result::{block, resource_text};
use super::session::MAX_PAGES;
use crate::model::Scrub;

/// A use of a server that is not one of its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Lists its resources.
    ListResources,
    /// Reads a resource: `uri`.
    ReadResource,
    /// Lists its prompts.
    ListPrompts,
    /// Fills in a prompt: `name`, `arguments`.
    GetPrompt,
}

/// A tool that a run may call: one of the server, or a feature.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) tool: Tool,
    pub(super) feature: Option<Feature>,
}

/// Reason why a feature gave no result.
pub(super) enum FeatureError {
    /// The arguments or the answer cannot be used.
    Unusable(String),
    /// The request failed.
    Failed(ServiceError),
}

impl From<ServiceError> for FeatureError {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

/// Returns the tools of a server with its features.
pub(super) fn offers(tools: Vec<Tool>, capabilities: &ServerCapabilities) -> Vec<Offer> {
    let resources = capabilities.resources.is_some().then_some([Feature::ListResources, Feature::ReadResource]);
    let prompts = capabilities.prompts.is_some().then_some([Feature::ListPrompts, Feature::GetPrompt]);
    let features = resources.into_iter().chain(prompts).flatten().map(|feature| (feature.tool(), feature));
    let features: Vec<Offer> = features
        .filter(|(tool, _)| !tools.iter().any(|own| is_same_name(&own.name, &tool.name)))
        .map(|(tool, feature)| Offer { tool, feature: Some(feature) })
        .collect();
    tools.into_iter().map(|tool| Offer { tool, feature: None }).chain(features).collect()
}

impl Feature {
    /// Returns the feature as a tool.
    fn tool(self) -> Tool {
        let text = data!({"type": "string"});
        let none = data!({"type": "object", "properties": {}});
        let (name, about, input, output) = match self {
            Self::ListResources => (
                "list_resources",
                "Lists the resources of the server.",
                none,
                list_of(&["uri", "name"], &["title", "description", "mime_type"]),
            ),
            Self::ReadResource => (
                "read_resource",
                "Reads a resource of the server by its URI.",
                data!({"type": "object", "properties": {"uri": text}, "required": ["uri"]}),
                text,
            ),
            Self::ListPrompts => (
                "list_prompts",
                "Lists the prompts of the server with the names of their arguments.",
                none,
                data!({"type": "array", "items": {"type": "object", "required": ["name", "required", "optional"],
                    "properties": {"name": text, "description": text, "required": {"type": "array", "items": text},
                    "optional": {"type": "array", "items": text}}}}),
            ),
            Self::GetPrompt => (
                "get_prompt",
                "Fills in a prompt of the server; returns its messages.",
                data!({"type": "object", "properties": {"name": text, "arguments": {"type": "object"}}, "required": ["name"]}),
                list_of(&["role", "text"], &[]),
            ),
        };
        let mut tool = Tool::new(name, about, std::sync::Arc::new(object(input)));
        tool.output_schema = Some(std::sync::Arc::new(object(output)));
        tool
    }

    /// Returns whether a server with these capabilities has the feature.
    pub(super) fn is_in(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::ListResources | Self::ReadResource => capabilities.resources.is_some(),
            Self::ListPrompts | Self::GetPrompt => capabilities.prompts.is_some(),
        }
    }

    /// Uses the feature with these arguments.
    pub(super) async fn call(self, peer: &Peer<RoleClient>, arguments: &JsonObject) -> Result<Value, FeatureError> {
        let text = |name: &str| arguments.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let answer = match self {
            Self::ListResources => resources(peer).await?.iter().map(resource).collect(),
            Self::ListPrompts => prompts(peer).await?.iter().map(prompt).collect(),
            Self::ReadResource => {
                let read = peer.read_resource(ReadResourceRequestParams::new(text("uri"))).await?;
                let contents: Vec<String> = read.contents.iter().map(resource_text).collect();
                return Ok(Value::str(contents.join("\n")));
            }
            Self::GetPrompt => {
                let mut params = GetPromptRequestParams::new(text("name"));
                params.arguments = arguments.get("arguments").and_then(serde_json::Value::as_object).cloned();
                let messages = peer.get_prompt(params).await?.messages;
                let message = |message: &rmcp::model::PromptMessage| {
                    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
                    data!({"role": role, "text": block(&message.content)})
                };
                messages.iter().map(message).collect()
            }
        };
        let answer = serde_json::Value::Array(answer);
        json::parse(&answer.to_string())
            .map(|json| json.to_value())
            .map_err(|error| FeatureError::Unusable(error.message))
    }
}

/// Reads a resource whole: its only content, or several texts in their order. Secrets are removed from texts.
pub(super) async fn resource_bytes(peer: &Peer<RoleClient>, uri: &str, scrub: &Scrub) -> Result<Vec<u8>, FeatureError> {
    let read = peer.read_resource(ReadResourceRequestParams::new(uri)).await?;
    if let [ResourceContents::BlobResourceContents { blob, .. }] = read.contents.as_slice() {
        let unusable = |error| FeatureError::Unusable(format!("bytes that are not base64: {error}"));
        return STANDARD.decode(blob).map_err(unusable);
    }
    let text = |content: &ResourceContents| match content {
        ResourceContents::TextResourceContents { text, .. } => Some(scrub.text(text)),
        _ => None,
    };
    let texts: Option<Vec<String>> = read.contents.iter().map(text).collect();
    match texts.filter(|texts| !texts.is_empty()) {
        Some(texts) => Ok(texts.join("\n").into_bytes()),
        None => Err(FeatureError::Unusable(format!("{} contents that do not form one file", read.contents.len()))),
    }
}

/// The resources of the first pages.
async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<Resource>, ServiceError> {
    let (mut all, mut page) = (Vec::new(), PaginatedRequestParams::default());
    for _ in 0..MAX_PAGES {
        let listed = peer.list_resources(Some(page)).await?;
        all.extend(listed.resources);
        let Some(cursor) = listed.next_cursor else { break };
        page = PaginatedRequestParams::default().with_cursor(Some(cursor));
    }
    Ok(all)
}

/// The prompts of the first pages.
async fn prompts(peer: &Peer<RoleClient>) -> Result<Vec<Prompt>, ServiceError> {
    let (mut all, mut page) = (Vec::new(), PaginatedRequestParams::default());
    for _ in 0..MAX_PAGES {
        let listed = peer.list_prompts(Some(page)).await?;
        all.extend(listed.prompts);
        let Some(cursor) = listed.next_cursor else { break };
        page = PaginatedRequestParams::default().with_cursor(Some(cursor));
    }
    Ok(all)
}

/// The schema of a list of objects with texts.
fn list_of(required: &[&str], optional: &[&str]) -> serde_json::Value {
    let names = required.iter().chain(optional);
    let properties: JsonObject = names.map(|name| ((*name).to_owned(), data!({"type": "string"}))).collect();
    data!({"type": "array", "items": {"type": "object", "properties": properties, "required": required}})
}

fn object(value: serde_json::Value) -> JsonObject {
    if let serde_json::Value::Object(object) = value { object } else { JsonObject::new() }
}

/// An object without the members that are absent.
fn present(mut value: serde_json::Value) -> serde_json::Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    value
}

fn resource(resource: &Resource) -> serde_json::Value {
    let Resource { uri, name, title, description, mime_type, .. } = resource;
    present(data!({"uri": uri, "name": name, "title": title, "description": description, "mime_type": mime_type}))
}

fn prompt(prompt: &Prompt) -> serde_json::Value {
    let arguments = prompt.arguments.iter().flatten();
    let (required, optional): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.required == Some(true));
    let names = |arguments: Vec<&rmcp::model::PromptArgument>| {
        arguments.iter().map(|argument| argument.name.clone()).collect::<Vec<String>>()
    };
    present(data!({"name": prompt.name, "description": prompt.description, "required": names(required),
        "optional": names(optional)}))
}

//! Resources and prompts of the server: sessions as resources, the prompts of served agents as prompts.
//!
//! In: URIs of sessions and turns, names of agents with texts as arguments. Out: pages of lists and texts, messages. No URI names a file.

use std::sync::Arc;

use ptc_core::signature::{Field, Type};
use ptc_core::text::did_you_mean;
use ptc_core::value::Json;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Map, Value};

use super::WorkbenchServer;
use super::arguments::Arguments;
use super::page::Page;
use super::sessions::{show, show_turn, summary};
use crate::agent::Context;
use crate::config::document::{JsonTextError, json_or_text};
use crate::event;
use crate::serve::ServedAgent;
use crate::session::Summary;

/// Sessions in a page of the list.
const PAGE_SESSIONS: usize = 50;
/// Prefix of the URIs of sessions.
const SCHEME: &str = "session:///";
/// Type of the texts.
const TEXT: &str = "text/plain";

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// A page of the sessions, the newest first. `cursor`: the number of sessions before it.
pub(super) fn resources(server: &WorkbenchServer, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let first = match cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| invalid(format!("`{text}` is not a cursor of this list")))?,
    };
    let all = server.workbench.sessions();
    let page = all.iter().skip(first).take(PAGE_SESSIONS);
    let resource = |session: &Summary| {
        let id = session.id.clone();
        Resource::new(format!("{SCHEME}{id}"), id).with_description(summary(session)).with_mime_type(TEXT)
    };
    let mut listed = ListResourcesResult::with_all_items(page.map(resource).collect());
    let next = first.saturating_add(PAGE_SESSIONS);
    listed.next_cursor = (next < all.len()).then(|| next.to_string());
    Ok(listed)
}

/// The forms of URIs.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let rows = [
        ("{session}", "session", "A session: a line for each turn, and the outcome"),
        ("{session}/{+turn}", "turn", "A turn of a session, such as r0/t2: reply, check, program, calls"),
        ("{session}{?offset}", "page", "The page of a long text from this character on"),
    ];
    let template = |(form, name, about): (&str, &str, &str)| {
        ResourceTemplate::new(format!("{SCHEME}{form}"), name).with_description(about).with_mime_type(TEXT)
    };
    ListResourceTemplatesResult::with_all_items(rows.map(template).to_vec())
}

/// The text of a session or a turn, or a page of it.
pub(super) fn read_resource(server: &WorkbenchServer, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = |message: String| ErrorData::resource_not_found(message, None);
    let rest = uri
        .strip_prefix(SCHEME)
        .ok_or_else(|| missing(format!("`{uri}` is not a resource: they begin with {SCHEME}")))?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut page = Map::new();
    if let Some(offset) = query.strip_prefix("offset=") {
        let offset = offset.parse::<u64>().map_err(|_| missing(format!("`{offset}` is not an offset")))?;
        page.insert("offset".to_owned(), offset.into());
    }
    let page = Page::take(&mut page).map_err(missing)?;
    let arguments = |members: Map<String, Value>| Arguments::new(members, Arc::default());
    let member = |name: &str, text: &str| (name.to_owned(), Value::from(text));
    let text = match path.split_once('/') {
        None => show(server, &arguments([member("session", path)].into_iter().collect())),
        Some((session, turn)) => {
            let members = [member("session", session), member("turn", turn)];
            show_turn(server, &arguments(members.into_iter().collect()))
        }
    };
    let text = page.cut(&text.map_err(missing)?);
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(TEXT)]))
}

/// The agents, each as a prompt with its inputs as arguments.
pub(super) fn prompts(server: &WorkbenchServer) -> ListPromptsResult {
    let argument = |field: &Field| {
        let mut argument = PromptArgument::new(field.name.clone());
        argument.description.clone_from(&field.description);
        argument.required = Some(!field.ty.is_optional());
        argument
    };
    let prompt = |agent: &ServedAgent| {
        let arguments = agent.plan.signature.params.iter().flatten().map(argument).collect::<Vec<_>>();
        Prompt::new(agent.name.clone(), Some(agent.summary()), Some(arguments))
    };
    ListPromptsResult::with_all_items(server.agents.iter().map(prompt).collect())
}

/// The first request of an agent with these inputs, as messages.
pub(super) fn prompt(server: &WorkbenchServer, request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let agent = ServedAgent::named(&server.agents, &request.name).map_err(invalid)?;
    let params = agent.plan.signature.params.as_deref().unwrap_or_default();
    let mut context = Vec::new();
    for (name, value) in request.arguments.unwrap_or_default() {
        let field = params.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| {
            let near = did_you_mean(&name, params.iter().map(|field| field.name.as_str()));
            invalid(format!("the agent {} has no input `{name}`{near}", agent.name))
        })?;
        let value = input(field, &value).map_err(|error| invalid(format!("the input `{name}` is {error}")))?;
        context.push((name, value));
    }
    let context = (!params.is_empty()).then(|| Context::from(Json::object(context)));
    let preview = server.workbench.preview(&agent.agent, None, context).map_err(|error| invalid(error.to_string()))?;
    let system = preview.request.system.map(|text| (Role::User, text));
    let messages = preview.request.messages.iter().map(|message| {
        let role = if message.role == event::Role::Assistant { Role::Assistant } else { Role::User };
        (role, message.joined())
    });
    let messages = system.into_iter().chain(messages).map(|(role, text)| PromptMessage::new_text(role, text));
    Ok(GetPromptResult::new(messages.collect()).with_description(agent.summary()))
}

/// The value of an argument, which clients write as text: JSON where the input is not text.
///
/// Errors: an object has two members of one name.
fn input(field: &Field, value: &Value) -> Result<Json, JsonTextError> {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    if matches!(field.ty.required(), Type::String) {
        return Ok(Json::str(text));
    }
    json_or_text(&text)
}

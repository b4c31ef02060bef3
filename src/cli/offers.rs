//! `tools resources` and `tools prompts`: what a server offers besides tools.
//!
//! In: a server, the URI of a resource, the name and arguments of a prompt. Out: lists and texts on stdout. All of them come from the server and are
//! made safe.

use ptc_core::value::Json;
use serde_json::{Map, json};

use super::arguments::{PromptsFlags, ResourcesFlags, ServerFlags};
use super::output::{UsageError, exit, print_error, print_json, print_line, print_note, safe, safe_line};
use super::source::agent_source;
use crate::tool::Feature;
use crate::workbench::Workbench;

/// Uses a feature of the server that the flags name; `None`: it failed, which was reported.
async fn used(
    flags: &ServerFlags,
    feature: Feature,
    arguments: serde_json::Value,
    workbench: &Workbench,
) -> Result<Option<Json>, UsageError> {
    let agent = flags.agent.as_deref().map(|name| agent_source(name, workbench.file_access())).transpose()?;
    let arguments = if let serde_json::Value::Object(arguments) = arguments { arguments } else { Map::new() };
    match workbench.use_server(&flags.server, agent.as_ref(), feature, arguments).await? {
        Ok(value) => Ok(Some(Json::from(&value))),
        Err(error) => {
            print_error(&error);
            Ok(None)
        }
    }
}

fn text<'j>(item: &'j Json, name: &str) -> &'j str {
    item.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn print_value(value: &Json) {
    // JSON of the server, in the form of all output.
    print_json(&serde_json::from_str::<serde_json::Value>(&value.to_text()).unwrap_or_default());
}

pub(super) async fn resources(flags: &ResourcesFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let (feature, arguments) = match &flags.uri {
        Some(uri) => (Feature::ReadResource, json!({"uri": uri})),
        None => (Feature::ListResources, json!({})),
    };
    let Some(given) = used(&flags.server, feature, arguments, workbench).await? else { return Ok(exit::FAILED) };
    if flags.json {
        print_value(&given);
        return Ok(exit::OK);
    }
    if let Some(content) = given.as_str() {
        print_line(&safe(content));
        return Ok(exit::OK);
    }
    let items = given.items().unwrap_or_default();
    for item in items {
        let name = if text(item, "title").is_empty() { text(item, "name") } else { text(item, "title") };
        let line = [text(item, "uri"), name, text(item, "mime_type")];
        let line = line.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        print_described(&line, item);
    }
    if items.is_empty() {
        print_note(&safe_line(&format!("the server {} lists no resources", flags.server.server)));
    }
    Ok(exit::OK)
}

fn print_described(line: &str, item: &Json) {
    print_line(&safe_line(line));
    let about = text(item, "description");
    if !about.is_empty() {
        print_line(&format!("    {}", safe_line(about)));
    }
}

pub(super) async fn prompts(flags: &PromptsFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let (feature, arguments) = match &flags.prompt {
        Some(name) => {
            let mut arguments = Map::new();
            for argument in &flags.arguments {
                let Some((name, text)) = argument.split_once('=') else {
                    return Err(UsageError(format!("--set {argument}: write NAME=TEXT")));
                };
                arguments.insert(name.to_owned(), text.into());
            }
            (Feature::GetPrompt, json!({"name": name, "arguments": arguments}))
        }
        None => (Feature::ListPrompts, json!({})),
    };
    let Some(given) = used(&flags.server, feature, arguments, workbench).await? else { return Ok(exit::FAILED) };
    if flags.json {
        print_value(&given);
        return Ok(exit::OK);
    }
    let items = given.items().unwrap_or_default();
    for item in items {
        if flags.prompt.is_some() {
            print_line(&format!("[{}]\n{}", safe_line(text(item, "role")), safe(text(item, "text"))));
            continue;
        }
        let names = |key: &str| item.get(key).and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str);
        let arguments =
            names("required").map(ToOwned::to_owned).chain(names("optional").map(|name| format!("{name}?")));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        print_described(&format!("{} ({arguments})", text(item, "name")), item);
    }
    if items.is_empty() {
        print_note(&safe_line(&format!("the server {} lists no prompts", flags.server.server)));
    }
    Ok(exit::OK)
}

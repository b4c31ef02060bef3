//! Audit of definitions: the model, the tools, the data of an agent and of all agents in it.
//!
//! In: an agent, or a part of its table. Out: lines of the audit. Nothing is started; a program's content is read only
//! where a stored grant covers the same definition.

use std::collections::BTreeMap;
use std::path::Path;

use ptc_core::value::{Json, json};

use super::{AuditConsent, AuditEffect, AuditLine, Auditor, folder_of};
use crate::agent::{Agent, NamedResource};
use crate::config::document;
use crate::config::{HttpModel, KeySource, ModelChoice, Provider};
use crate::tool::{Connection, FileAccess, Kind, Mcp, Program, Tool};

/// Keys of an agent that contain PTC-Lisp.
const PROGRAMS: [&str; 3] = ["program", "memory", "progress"];
/// Keys whose content is sent to the model.
const SENT: [&str; 6] = ["prompt", "system_prompt", "context", "schema", "plan", "field_descriptions"];

/// The effects of an agent; `at` is the beginning of its keys.
pub(super) fn agent(agent: &Agent, at: &str, auditor: &mut Auditor<'_>) {
    match document::parse(&agent.to_toml()) {
        Ok(table) => of_table(&table, at, Root::Yes, auditor),
        Err(problem) => auditor.add_oddity(at, problem.message),
    }
    resources(agent, at, auditor);
}

/// The servers that a run asks for inputs of the agent: in its own context and in those of its cases.
fn resources(agent: &Agent, at: &str, auditor: &mut Auditor<'_>) {
    let cases = agent.option("cases").and_then(Json::items).unwrap_or_default();
    let of_cases = (0..)
        .zip(cases)
        .filter_map(|(number, case): (usize, _)| Some((format!("{at}cases.{number}.context"), case.get("context")?)));
    for (place, context) in [(format!("{at}context"), &agent.context)].into_iter().chain(of_cases) {
        for (input, NamedResource { server, uri }) in agent.unread_resources(context) {
            let key = format!("{place}.{input}");
            match auditor.workbench.connection(&server, Some(agent)) {
                Ok(to) => {
                    let grant = to.grant(to.resource_definition(&server, &uri));
                    let is_granted = auditor.grants.is_granted(&grant);
                    let consent = if is_granted { AuditConsent::Given } else { AuditConsent::Needed };
                    connection(&to, &key, consent, auditor);
                }
                Err(why) => auditor.add_oddity(key, format!("the resource {uri} cannot be read: {why}")),
            }
        }
    }
}

/// The effects of the steps of a pipeline that cannot be read as a whole.
pub(super) fn parts(document: &Json, auditor: &mut Auditor<'_>) {
    for (number, step) in document.get("steps").and_then(Json::items).unwrap_or_default().iter().enumerate() {
        of_table(step, &format!("steps.{number}."), Root::Yes, auditor);
    }
}

/// Distinguishes definitions with a model of their own, which use the default model if they name none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Yes,
    No,
}

fn of_table(table: &Json, at: &str, root: Root, auditor: &mut Auditor<'_>) {
    let named = table.get("model").and_then(Json::as_str).filter(|name| *name != "caller");
    let is_pinned = table.get("program").is_some();
    if let Some(name) = named {
        model(name, &format!("{at}model"), auditor);
    } else if root == Root::Yes && !is_pinned {
        let name = auditor.workbench.config.default_model.clone();
        model(&name, "default_model", auditor);
    }
    let sent: Vec<String> = SENT.iter().filter_map(|key| sent(key, table.get(key)?)).collect();
    if !sent.is_empty() && !is_pinned {
        let to = named.map_or_else(|| "the model".to_owned(), |name| format!("the model {name}"));
        auditor.line(AuditLine {
            effect: AuditEffect::Sends,
            key: at.trim_end_matches(['.', ':', ' ']).to_owned(),
            what: to,
            details: vec![("data", sent.join(", "))],
            consent: AuditConsent::NotNeeded,
        });
    }
    for key in PROGRAMS.iter().filter(|key| table.get(key).is_some()) {
        auditor.line(AuditLine {
            effect: AuditEffect::Computes,
            key: format!("{at}{key}"),
            what: "PTC-Lisp".to_owned(),
            details: Vec::new(),
            consent: AuditConsent::NotNeeded,
        });
    }
    let mut judges = BTreeMap::new();
    if let Some(cases) = table.get("cases") {
        judging_models(cases, &format!("{at}cases"), &mut judges);
    }
    for (name, key) in judges {
        model(name, &key, auditor);
    }
    for member in table.get("tools").and_then(Json::members).unwrap_or_default() {
        tool(&member.key, &member.value, &format!("{at}tools.{}", member.key), auditor);
    }
    for member in table.get("modes").and_then(Json::members).unwrap_or_default() {
        of_table(&member.value, &format!("{at}modes.{}.", member.key), Root::No, auditor);
    }
}

/// The models that expectations of cases name, each with the first place: judges of rubrics, and embedding models.
fn judging_models<'c>(json: &'c Json, at: &str, found: &mut BTreeMap<&'c str, String>) {
    let asks = json.get("rubric").is_some() || json.get("by").and_then(Json::as_str) == Some("embedding");
    let models = json.get("model").filter(|_| asks).into_iter();
    let names = models.flat_map(|model| model.items().unwrap_or(std::slice::from_ref(model))).filter_map(Json::as_str);
    for name in names {
        found.entry(name).or_insert_with(|| format!("{at}.model"));
    }
    for (place, item) in json.items().unwrap_or_default().iter().enumerate() {
        judging_models(item, &format!("{at}.{place}"), found);
    }
    for member in json.members().unwrap_or_default() {
        judging_models(&member.value, &format!("{at}.{}", member.key), found);
    }
}

/// Describes the content of a key that is sent: its name, and its size or the names of its members. `None` if it is empty.
fn sent(key: &str, value: &Json) -> Option<String> {
    let parsed = value.as_str().filter(|_| key == "context").and_then(|text| json::parse(text).ok());
    let value = parsed.as_ref().unwrap_or(value);
    match (value.as_str(), value.members()) {
        (Some(""), _) | (_, Some([])) => None,
        (Some(text), _) => Some(format!("{key} ({} bytes)", text.len())),
        (_, Some(members)) if key == "context" => {
            let names: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
            Some(format!("context: {}", names.join(", ")))
        }
        _ => Some(format!("{key} ({} bytes)", value.to_text().len())),
    }
}

/// The effects of a tool's table.
pub(super) fn tool(name: &str, table: &Json, key: &str, auditor: &mut Auditor<'_>) {
    let server = table.get("server").and_then(Json::as_str);
    let entry = server.and_then(|server| auditor.workbench.config.servers.iter().find(|entry| entry.name == server));
    let table = match entry.filter(|_| table.get("command").or_else(|| table.get("url")).is_none()) {
        Some(entry) => entry.keys().into_iter().fold(table.clone(), |table, (key, value)| table.with(key, value)),
        None => table.clone(),
    };
    let tool = match Tool::from_table(name, &table) {
        Ok(tool) => tool,
        Err(wrong) => {
            // A child agent whose file needs consent is reported with the file.
            let is_file = |key: &str| key == "file" && table.get("file").is_some();
            for (_, message) in wrong.iter().filter(|(key, _)| !is_file(key)) {
                auditor.add_oddity(key, format!("cannot be used: {message}"));
            }
            return;
        }
    };
    match &tool.kind {
        Kind::Agent(child) => of_table(child, &format!("{key}.agent."), Root::No, auditor),
        Kind::Llm(child) => of_table(child, &format!("{key}."), Root::No, auditor),
        Kind::Command(command) => {
            let consent = consent(&tool, auditor);
            program(&command.program, key, consent, auditor);
        }
        Kind::Http(http) => {
            let headers = headers(&http.headers);
            let body = http.body.as_ref().map(|body| ("body", body.to_text()));
            let consent = consent(&tool, auditor);
            auditor.line(AuditLine {
                effect: AuditEffect::Contacts,
                key: key.to_owned(),
                what: format!("{} {}", http.method, http.url),
                details: headers.into_iter().chain(body).collect(),
                consent,
            });
        }
        Kind::Mcp(Mcp { connection: Some(connection), .. }) => {
            let consent = consent(&tool, auditor);
            self::connection(connection, key, consent, auditor);
        }
        Kind::Mcp(mcp) => auditor.add_oddity(key, format!("the configuration has no server {}", mcp.server)),
        Kind::Snippet(_) => auditor.line(AuditLine {
            effect: AuditEffect::Computes,
            key: format!("{key}.code"),
            what: "PTC-Lisp".to_owned(),
            details: Vec::new(),
            consent: AuditConsent::NotNeeded,
        }),
        Kind::Table(_) | Kind::SelfAgent | Kind::Builtin(_) | Kind::Closure(_) => {}
    }
}

fn consent(tool: &Tool, auditor: &Auditor<'_>) -> AuditConsent {
    if tool.is_granted(&auditor.grants) { AuditConsent::Given } else { AuditConsent::Needed }
}

fn connection(connection: &Connection, key: &str, consent: AuditConsent, auditor: &mut Auditor<'_>) {
    match connection {
        Connection::Process(server) => program(server, key, consent, auditor),
        Connection::Http { url, headers } => auditor.line(AuditLine {
            effect: AuditEffect::Contacts,
            key: key.to_owned(),
            what: url.clone(),
            details: self::headers(headers),
            consent,
        }),
    }
}

fn program(program: &Program, key: &str, consent: AuditConsent, auditor: &mut Auditor<'_>) {
    let (resolved, folder) = program.resolved();
    let arguments: Vec<String> = program.argv.iter().skip(1).map(|argument| format!("{argument:?}")).collect();
    let mut details = vec![("resolved", resolved), ("folder", folder)];
    if !program.variables.is_empty() {
        details.push(("variables", program.variables.join(", ")));
    }
    if !arguments.is_empty() {
        details.push(("arguments", arguments.join(" ")));
    }
    auditor.line(AuditLine {
        effect: AuditEffect::Starts,
        key: key.to_owned(),
        what: program.name().to_owned(),
        details,
        consent,
    });
}

/// Headers by name, with the variables that they contain.
fn headers(headers: &[(String, String)]) -> Vec<(&'static str, String)> {
    let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let variables: Vec<&str> = headers.iter().flat_map(|(_, value)| variables(value)).collect();
    let mut details = Vec::new();
    if !headers.is_empty() {
        details.push(("headers", names));
    }
    if !variables.is_empty() {
        details.push(("variables", variables.join(", ")));
    }
    details
}

/// The names in `${NAME}` of a text.
fn variables(text: &str) -> Vec<&str> {
    text.split("${").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

/// The effects of asking a model.
fn model(name: &str, key: &str, auditor: &mut Auditor<'_>) {
    let line = |effect, what: String| AuditLine {
        effect,
        key: key.to_owned(),
        what,
        details: Vec::new(),
        consent: AuditConsent::NotNeeded,
    };
    match auditor.workbench.config.resolve_model(name) {
        Ok(ModelChoice::Http(model)) => {
            contact(&model, key, auditor);
            if let Some(fallback) = model.fallback.as_deref()
                && let Ok(ModelChoice::Http(second)) = auditor.workbench.config.resolve_model(fallback)
            {
                contact(&second, key, auditor);
            }
        }
        Ok(ModelChoice::Recorded(session)) => {
            let access = auditor.workbench.file_access().without_question();
            let path = Path::new(&session);
            if path.is_file() {
                // The files are reported whether they are allowed or not.
                _ = access.resolve(&folder_of(Path::new("x")), key, path);
                auditor.files(&access);
            } else {
                auditor.line(line(AuditEffect::Reads, format!("the session {session}")));
            }
        }
        Ok(_) => {}
        Err(error) => auditor.add_oddity(key, format!("the model {name} cannot be used: {error}")),
    }
}

fn contact(model: &HttpModel, key: &str, auditor: &mut Auditor<'_>) {
    let mut details = vec![("model", model.id.clone()), ("provider", model.provider.clone())];
    details.extend(key_source(model.key.as_ref()));
    details.extend(headers(&model.headers));
    auditor.line(AuditLine {
        effect: AuditEffect::Contacts,
        key: key.to_owned(),
        what: model.base_url.clone(),
        details,
        consent: AuditConsent::NotNeeded,
    });
}

/// The effects of a provider's section.
pub(super) fn provider(provider: &Provider, key: &str, auditor: &mut Auditor<'_>) {
    let mut details: Vec<_> = key_source(provider.key.as_ref()).into_iter().collect();
    details.extend(headers(&provider.headers));
    auditor.line(AuditLine {
        effect: AuditEffect::Contacts,
        key: key.to_owned(),
        what: provider.base_url.clone(),
        details,
        consent: AuditConsent::NotNeeded,
    });
}

fn key_source(key: Option<&KeySource>) -> Option<(&'static str, String)> {
    Some(match key? {
        KeySource::Env(name) => ("key", format!("the variable {name}")),
        KeySource::File(path) => ("key", format!("the file {}", path.display())),
        KeySource::Command(command) => ("key", format!("printed by the command {:?}", command.argv)),
    })
}

/// Notes the cassettes that cases name, and the files that hold cases. Of a pattern the folder is read, and nothing is noted.
pub(super) fn cassettes(document: &Json, path: &Path, access: &FileAccess) {
    let folder = path.parent().unwrap_or(Path::new(""));
    for case in document.get("cases").and_then(Json::items).unwrap_or_default() {
        if let Some(name) = case.get("cassette").and_then(Json::as_str) {
            // Whether it is allowed is reported with the file.
            _ = access.resolve(&folder_of(path), "cases.cassette", &folder.join(name));
        }
        let file = case.as_str().or_else(|| case.get("file").and_then(Json::as_str));
        if let Some(name) = file.filter(|name| !name.contains('*')) {
            _ = access.resolve(&folder_of(path), "cases.file", &folder.join(name));
        }
    }
}

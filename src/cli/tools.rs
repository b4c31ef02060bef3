//! `tools`: the tools of an agent, who may call them, what they start, their form for providers, and their servers.

use ptc_core::text::did_you_mean;
use serde::Serialize;

use super::arguments::{ToolsAction, ToolsFlags};
use super::login::{login, logout};
use super::offers::{prompts, resources};
use super::output::{UsageError, exit, print_error, print_json, print_line, print_note, safe, safe_line};
use super::source::{described, in_file};
use crate::agent::{Agent, Plan};
use crate::event::ToolSchema;
use crate::tool::{Grant, Grants, Kind, Listing, ServerState, Tool};
use crate::workbench::format::{Marks, plural};
use crate::workbench::{StartError, ToolState, Workbench};

/// Lines of a server's log that are shown.
const LOG_LINES: usize = 10;

/// A tool as `--json` prints it.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "members of the JSON object")]
struct ToolJson<'a> {
    name: &'a str,
    kind: &'a str,
    signature: Option<&'a str>,
    description: Option<&'a str>,
    programs: bool,
    native: bool,
    cache: bool,
    effectful: bool,
    timeout_ms: Option<u64>,
    provider: ToolSchema,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
}

/// A tool that a server offers, as `--server --json` prints it.
#[derive(Serialize)]
struct OfferJson<'a> {
    name: &'a str,
    signature: &'a str,
    description: Option<&'a str>,
    lost: &'a [String],
}

/// The log of a server, as `--logs --json` prints it.
#[derive(Serialize)]
struct LogJson<'a> {
    server: &'a str,
    file: String,
    lines: &'a [String],
}

/// A stored permission, as `grants --json` prints it.
#[derive(Serialize)]
struct GrantJson<'a> {
    id: String,
    #[serde(flatten)]
    grant: &'a Grant,
}

pub(super) async fn tools(flags: &ToolsFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    match &flags.action {
        Some(ToolsAction::Grants { revoke, json }) => return grants(&workbench.grants(), revoke.as_deref(), *json),
        Some(ToolsAction::Resources(flags)) => return resources(flags, workbench).await,
        Some(ToolsAction::Prompts(flags)) => return prompts(flags, workbench).await,
        Some(ToolsAction::Login(flags)) => return login(flags, workbench).await,
        Some(ToolsAction::Logout(flags)) => return logout(flags, workbench).await,
        None => {}
    }
    if let Some(name) = &flags.server {
        return server(name, flags.json, workbench).await;
    }
    let (read, _) = described(&flags.agent, workbench.file_access())?;
    let as_usage_error = |error: StartError| match error {
        StartError::Agent(findings) => in_file(&flags.agent, &read, &findings),
        other => UsageError(other.to_string()),
    };
    let mut agent = workbench.connected(read.clone()).map_err(as_usage_error)?;
    if flags.logs {
        return Ok(logs(flags, &agent, workbench));
    }
    let mut servers = Vec::new();
    if flags.connect {
        servers = workbench.look_at_servers(&agent).await;
        agent = workbench.connected(read.clone()).map_err(as_usage_error)?;
    }
    let plan = Plan::new(&agent).map_err(|findings| in_file(&flags.agent, &agent, &findings))?;
    let states = workbench.tool_states(&plan);
    if flags.json {
        print_json(&states.iter().map(|state| tool_json(&plan, state)).collect::<Vec<_>>());
    } else {
        for state in &states {
            show(&plan, state, Marks::of(plain));
        }
        for (server, state) in &servers {
            show_server(server, state);
        }
        if states.is_empty() {
            print_note(&safe_line(&format!("{} has no tools", agent.name)));
        }
    }
    let missing: Vec<String> = states.iter().filter_map(|state| missing(state, &servers)).collect();
    let failed: Vec<&String> = servers.iter().filter_map(|(_, state)| state.as_ref().err()).collect();
    for error in failed.iter().copied().chain(&missing) {
        print_error(error);
    }
    Ok(match (failed.is_empty(), missing.is_empty()) {
        (true, true) => exit::OK,
        (false, _) => exit::FAILED,
        (true, false) => exit::USAGE,
    })
}

/// Lists the stored permissions, or revokes one and prints it.
fn grants(grants: &Grants, revoke: Option<&str>, as_json: bool) -> Result<u8, UsageError> {
    let shown = match revoke {
        None => grants.all(),
        Some(id) => {
            let revoked = grants.revoke(id).map_err(|error| UsageError(format!("could not revoke {id}: {error}")))?;
            if revoked.is_empty() {
                return Err(UsageError(format!("unknown grant {id}; `tools grants` lists them")));
            }
            revoked
        }
    };
    if as_json {
        print_json(&shown.iter().map(|grant| GrantJson { id: grant.id(), grant }).collect::<Vec<_>>());
        return Ok(exit::OK);
    }
    for grant in &shown {
        let verb = if revoke.is_some() { "revoked " } else { "" };
        print_line(&safe(&format!("{verb}{}  {}", grant.id(), grant.definition)));
        for (name, value) in &grant.bound_to {
            print_line(&safe_line(&format!("  {name}: {value}")));
        }
    }
    if shown.is_empty() {
        print_note("no stored permissions");
    }
    Ok(exit::OK)
}

/// Returns a message if the server of a tool, which has just been asked, does not have it.
fn missing(state: &ToolState, servers: &[(String, Result<ServerState, String>)]) -> Option<String> {
    let Kind::Mcp(mcp) = &state.tool.kind else { return None };
    let (_, asked) = servers.iter().find(|(name, _)| *name == mcp.server)?;
    let asked = asked.as_ref().ok()?;
    let name = mcp.tool.as_deref().unwrap_or(&state.tool.name);
    if asked.tools.iter().any(|listing| listing.name == name || listing.is_named(name)) {
        return None;
    }
    let near = did_you_mean(name, asked.tools.iter().map(|listing| listing.name.as_str()));
    Some(format!("the server {} has no tool `{name}`{near}", mcp.server))
}

/// Prints the tools that a configured server offers, before an agent names it.
async fn server(name: &str, as_json: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let state = match workbench.look_at_server(name).await? {
        Ok(state) => state,
        Err(error) => {
            print_error(&error);
            return Ok(exit::FAILED);
        }
    };
    if as_json {
        print_json(&state.tools.iter().map(offered).collect::<Vec<_>>());
        return Ok(exit::OK);
    }
    show_server(name, &Ok(state));
    Ok(exit::OK)
}

fn offered(listing: &Listing) -> OfferJson<'_> {
    OfferJson {
        name: &listing.name,
        signature: &listing.signature,
        description: listing.description.as_deref(),
        lost: &listing.lost,
    }
}

/// The logs of the servers.
fn logs(flags: &ToolsFlags, agent: &Agent, workbench: &Workbench) -> u8 {
    let logs = workbench.server_logs(agent);
    if flags.json {
        let logs = logs.iter();
        let rows = logs.map(|(server, file, lines)| LogJson { server, file: file.display().to_string(), lines });
        print_json(&rows.collect::<Vec<_>>());
        return exit::OK;
    }
    for (server, file, lines) in &logs {
        let what = if lines.is_empty() { "has printed nothing yet" } else { "says" };
        print_line(&safe_line(&format!("server {server} {what} ({})", file.display())));
        for line in lines {
            print_line(&format!("    {}", safe_line(line)));
        }
    }
    if logs.is_empty() {
        print_note(&safe_line(&format!("{} names no servers", agent.name)));
    }
    exit::OK
}

fn show(plan: &Plan, state: &ToolState, marks: &Marks) {
    let tool = &state.tool;
    print_line(&safe_line(&format!("{}  {}  {}", tool.name, signature(tool), tool.kind_name())));
    if let Some(text) = &tool.description {
        print_line(&format!("    {}", safe_line(text)));
    }
    print_line(&format!("    called by {}{}", callers(tool), notes(plan, tool, marks.dot)));
    if let Some(definition) = &state.definition {
        let allowed = if state.allowed { "always allowed" } else { "needs consent before it is called" };
        let lines = safe(definition).replace('\n', "\n    ");
        print_line(&format!("    {lines}\n    {allowed}"));
    }
    if let Some(listing) = state.listing.as_ref().filter(|listing| !listing.lost.is_empty()) {
        print_line(&format!("    not in the signature: {}", safe_line(&listing.lost.join("; "))));
    }
    let schema = tool.schema();
    print_line(&safe_line(&format!("    providers get {} {}", schema.name, schema.parameters.as_str())));
}

/// Prints the tools and the last log lines of a server; nothing if it could not be asked.
fn show_server(server: &str, state: &Result<ServerState, String>) {
    let Ok(state) = state else { return };
    print_line(&safe_line(&format!("server {server}: {}", plural(state.tools.len() as u64, "tool"))));
    for tool in &state.tools {
        print_line(&safe_line(&format!("    {}  {}", tool.name, tool.signature)));
    }
    let log = &state.log[state.log.len().saturating_sub(LOG_LINES)..];
    for line in log {
        print_line(&safe_line(&format!("    log: {line}")));
    }
}

fn signature(tool: &Tool) -> &str {
    match (&tool.signature_text, &tool.kind) {
        (Some(text), _) => text,
        (None, Kind::Mcp(_)) => "(not known: `tools --connect` asks the server)",
        (None, _) => "(no signature: any arguments, any result)",
    }
}

fn callers(tool: &Tool) -> &'static str {
    match (tool.is_for_programs(), tool.is_native()) {
        (true, true) => "programs and models",
        (true, false) => "programs",
        (false, _) => "models",
    }
}

/// Returns notes about a tool, each after `dot`: its child agent, cache, effects and time limit.
fn notes(plan: &Plan, tool: &Tool, dot: &str) -> String {
    let child = plan.child(&tool.name);
    let notes = [
        child.map(|child| {
            let turns = plural(u64::from(child.agent.max_turns), "turn");
            format!("an agent in mode {} of at most {turns}", child.agent.mode)
        }),
        tool.cache.then(|| "results are cached for equal arguments".to_owned()),
        tool.is_effectful().then(|| "may have external effects".to_owned()),
        tool.max_ms().map(|ms| format!("limit {ms} ms")),
    ];
    notes.into_iter().flatten().fold(String::new(), |all, note| all + dot + &note)
}

fn tool_json<'a>(plan: &'a Plan, state: &'a ToolState) -> ToolJson<'a> {
    let tool = &state.tool;
    ToolJson {
        name: &tool.name,
        kind: tool.kind_name(),
        signature: tool.signature_text.as_deref(),
        description: tool.description.as_deref(),
        programs: tool.is_for_programs(),
        native: tool.is_native(),
        cache: tool.cache,
        effectful: tool.is_effectful(),
        timeout_ms: tool.max_ms(),
        provider: ToolSchema { description: None, ..tool.schema() },
        definition: state.definition.as_deref(),
        allowed: state.definition.as_ref().map(|_| state.allowed),
        lost: state.listing.as_ref().map(|listing| listing.lost.as_slice()),
        mode: plan.child(&tool.name).map(|child| child.agent.mode.name()),
    }
}

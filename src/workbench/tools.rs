//! Tools that leave the program: consent to them, their servers, and what is known of these servers.
//!
//! In: an agent whose tools name servers. Out: the agent with everything that a run and its replay need to know of them: how a server is
//! reached, and each tool's signature. A server is started only with consent.

use std::path::PathBuf;

use ptc_core::reasons::Reason;
use ptc_core::text::did_you_mean;
use ptc_core::value::{Json, Value};
use tokio_util::sync::CancellationToken;

use super::files::write_whole_private;
use super::format::distinct;
use super::{StartError, Workbench};
use crate::agent::{Agent, Diagnostic, DraftTexts, Place, Plan, Tool as Declared, diagnose_knowing};
use crate::config::Sampling;
use crate::event::{Address, Answerer, ConsentRecord, Decision, hex_sha};
use crate::model::known_secrets;
use crate::port::{Human, Question};
use crate::tool::{
    Connection, ConsentDecision, ConsentPolicy, ExternalTools, Feature, Grants, Kind, Listing, Login, LoginError,
    LogoutReport, Mcp, ServerAccess, ServerState, Tokens, Tool, log_file, log_out,
};

/// Lines of a server's log that are shown.
const LOG_LINES: usize = 200;
/// Agents within agents that are looked into.
const DEPTH: usize = 16;

/// Context for looking at servers before a run begins: the user to ask, and the decisions so far.
pub(super) struct Looks<'a> {
    pub(super) run: Address,
    pub(super) tools: &'a ExternalTools,
    pub(super) human: &'a dyn Human,
    pub(super) cancel: &'a CancellationToken,
    pub(super) consents: Vec<ConsentRecord>,
}

impl Looks<'_> {
    /// Asks the user; no answer denies it.
    pub(super) async fn asked(&self, text: String) -> ConsentDecision {
        let options = Decision::ALL.iter().map(|decision| decision.name().to_owned()).collect();
        let number = u32::try_from(self.consents.len()).unwrap_or(u32::MAX);
        let question = Question { address: self.run.question(number), text, options, gate: None };
        let answer = self.human.ask(&question, self.cancel).await.unwrap_or_default();
        ConsentDecision::new(Answerer::User, Decision::read(&answer).unwrap_or(Decision::Deny))
    }
}

/// A tool and what is known about it before a run.
#[derive(Debug)]
pub struct ToolState {
    /// The tool, as a run would have it.
    pub tool: Tool,
    /// The program that a call starts or the address that it contacts; `None` for tools that stay within the program.
    pub definition: Option<String>,
    /// It may be called without a question, always.
    pub allowed: bool,
    /// Its entry in the server's list of tools, when that is known.
    pub listing: Option<Listing>,
}

impl Workbench {
    /// The same workbench, where this decides about tools that start a process or use the network.
    #[must_use]
    pub fn with_policy(self, policy: ConsentPolicy) -> Self {
        Self { policy, ..self }
    }

    /// The same workbench without a user to ask: what was not allowed before is refused.
    #[must_use]
    pub fn unattended(&self) -> Self {
        let policy = if self.policy == ConsentPolicy::Ask { ConsentPolicy::Refuse } else { self.policy };
        self.clone().with_policy(policy)
    }

    /// The tools of one run.
    pub(super) fn outside(&self) -> ExternalTools {
        ExternalTools::new(self.policy, self.grants(), known_secrets(&self.config.providers))
            .with_log_folder(self.folders.logs_dir.clone())
            .with_access(self.server_access())
    }

    /// Returns the access to servers from this workbench. All stored tokens become known secrets.
    fn server_access(&self) -> ServerAccess {
        let tokens = self.tokens();
        tokens.register_secrets();
        let asking = self.config.servers.iter().filter(|server| server.sampling == Sampling::Ask);
        let asking = asking.filter_map(|server| self.configured_connection(&server.name).ok());
        ServerAccess::of(&self.config).with_tokens(tokens).with_sampling(asking.collect())
    }

    /// The stored tokens of servers.
    fn tokens(&self) -> Tokens {
        Tokens::at(self.folders.tools_dir.join("tokens"))
    }

    /// Begins a login at a server, by its URL.
    pub async fn begin_login(&self, url: &str) -> Result<Login, LoginError> {
        Login::begin(url, &self.server_access()).await
    }

    /// Revokes the tokens of a server if its authorisation server can, and removes them. Errors: a file that cannot be removed.
    pub async fn log_out(&self, url: &str) -> std::io::Result<LogoutReport> {
        log_out(url, &self.server_access()).await
    }

    /// The URL of a server: by its name in the agent or in the configuration, or as it is given. Errors: an unknown server, or one that is
    /// a program.
    pub fn server_url(&self, server: &str, agent: Option<&Agent>) -> Result<String, String> {
        match self.connection(server, agent)? {
            Connection::Http { url, .. } => Ok(url),
            Connection::Process(_) => {
                Err(format!("the server {server} is a program of this machine; logins are for servers with a URL"))
            }
        }
    }

    /// The stored permissions.
    pub fn grants(&self) -> Grants {
        Grants::at(self.folders.tools_dir.join("allowed"))
    }

    /// The agent with the known facts about the servers of its tools, from the configuration and earlier connections.
    pub fn connected(&self, agent: Agent) -> Result<Agent, StartError> {
        let mut unknown = Vec::new();
        let agent = with_servers(agent, &mut |name, definition| {
            let server = definition.get("server").and_then(Json::as_str);
            let is_reached = definition.get("command").or_else(|| definition.get("url")).is_some();
            let definition = if let Some(server) = server.filter(|_| !is_reached) {
                let Some(entry) = self.config.servers.iter().find(|entry| entry.name == server) else {
                    unknown.push((name.to_owned(), server.to_owned()));
                    return definition.clone();
                };
                with_keys(definition, entry.keys())
            } else {
                definition.clone()
            };
            match reached(name, &definition).and_then(|(mcp, connection)| self.known_listing(&mcp, &connection, name)) {
                Some(listing) => with_listing(&definition, &listing),
                None => definition,
            }
        });
        let Some((tool, server)) = unknown.first() else { return Ok(agent) };
        let names = || self.config.servers.iter().map(|entry| entry.name.as_str());
        let near = did_you_mean(server, names());
        let message = format!(
            "the tool `{tool}` names the server `{server}`, and the configuration has no section [mcp.{server}]{near}"
        );
        let found = Diagnostic::error(Place::Options, Reason::InvalidAgent, message);
        Err(StartError::Agent(vec![found.key(format!("tools.{tool}.server"))]))
    }

    /// Returns the diagnostics of a draft, its tools as a run would have them: with what is known of their servers.
    pub fn diagnose(&self, texts: &DraftTexts) -> Vec<Diagnostic> {
        diagnose_knowing(texts, self.file_access(), |agent| {
            self.connected(agent).map_err(|error| match error {
                StartError::Agent(findings) => findings,
                other => vec![Diagnostic::error(Place::Options, other.reason(), other.to_string())],
            })
        })
    }

    /// The agent with the lists of servers that were not known yet: each is started if that is allowed or the user allows it now.
    pub(super) async fn listed(&self, agent: Agent, looks: &mut Looks<'_>) -> Agent {
        for (server, connection) in unlisted(&agent) {
            let definition = connection.definition(&server);
            if looks.consents.iter().any(|known| known.what == definition) {
                continue;
            }
            let grant = connection.grant(definition.clone());
            let decided = if let Some(decided) = looks.tools.decided(&grant) {
                decided
            } else {
                let details = connection.consent_text(&server);
                looks.asked(format!("The tools of this server are not known yet. May it be used?\n{details}")).await
            };
            let mut consent =
                ConsentRecord { what: definition.clone(), decision: decided.decision, by: decided.by, failed: None };
            if decided.decision == Decision::Always
                && let Err(error) = self.grants().grant(&grant)
            {
                tracing::warn!(%error, "could not store the decision");
            }
            if decided.decision != Decision::Deny {
                let looked = tokio::select! {
                    biased;
                    () = looks.cancel.cancelled() => break,
                    looked = self.look(looks.tools, &server, &connection) => looked,
                };
                if let Err(error) = looked {
                    tracing::warn!(server, error, "the tools of a server are not known");
                    consent.failed = Some(error);
                }
            }
            looks.consents.push(consent);
        }
        self.connected(agent.clone()).unwrap_or(agent)
    }

    /// Begins a server, reads its list of tools and keeps it.
    pub(super) async fn look(
        &self,
        outside: &ExternalTools,
        server: &str,
        connection: &Connection,
    ) -> Result<ServerState, String> {
        let state = outside.servers().look(server, connection).await?;
        let file = self.listing_file(server, connection);
        let kept = serde_json::to_vec_pretty(&state.tools)
            .map_err(std::io::Error::other)
            .and_then(|text| write_whole_private(&file, &text));
        if let Err(error) = kept {
            tracing::warn!(%error, "could not store the list of a server");
        }
        Ok(state)
    }

    /// Starts every server that the agent's tools name, with the caller's consent, and lists their tools.
    pub async fn look_at_servers(&self, agent: &Agent) -> Vec<(String, Result<ServerState, String>)> {
        let outside = self.outside();
        let mut states = Vec::new();
        for (server, connection) in servers(agent) {
            let state = self.look(&outside, &server, &connection).await;
            states.push((server, state));
        }
        outside.end().await;
        states
    }

    /// Starts the server of this name in the configuration, with the caller's consent, and lists its tools. Errors of the outer
    /// result: there is no such server.
    pub async fn look_at_server(&self, name: &str) -> Result<Result<ServerState, String>, String> {
        let connection = self.configured_connection(name)?;
        let outside = self.outside();
        let state = self.look(&outside, name, &connection).await;
        outside.end().await;
        Ok(state)
    }

    /// The connection to the server of this name in the configuration. Errors: there is no such server.
    fn configured_connection(&self, name: &str) -> Result<Connection, String> {
        let Some(entry) = self.config.servers.iter().find(|entry| entry.name == name) else {
            let near = did_you_mean(name, self.config.servers.iter().map(|entry| entry.name.as_str()));
            return Err(format!("the configuration has no section [mcp.{name}]{near}"));
        };
        let table = Json::empty().with("kind", Json::str("mcp")).with("server", Json::str(name));
        let tool = Tool::from_table("any", &with_keys(&table, entry.keys()));
        match tool.map(|tool| tool.kind) {
            Ok(Kind::Mcp(Mcp { connection: Some(connection), .. })) => Ok(connection),
            Err(wrong) => Err(wrong.into_iter().map(|(_, message)| message).collect::<Vec<_>>().join("; ")),
            Ok(_) => Err(format!("[mcp.{name}] has neither `command` nor `url`")),
        }
    }

    /// The connection to a server: by its name in the agent or in the configuration, or by its URL. Errors: an unknown server.
    pub(super) fn connection(&self, server: &str, agent: Option<&Agent>) -> Result<Connection, String> {
        if server.starts_with("https://") || server.starts_with("http://") {
            return Ok(Connection::Http { url: server.to_owned(), headers: Vec::new() });
        }
        let connections = agent.map(servers).unwrap_or_default();
        match connections.into_iter().find(|(name, _)| name == server) {
            Some((_, connection)) => Ok(connection),
            None => self.configured_connection(server),
        }
    }

    /// Uses a feature of a server, with the caller's consent. Errors of the outer result: there is no such server.
    pub async fn use_server(
        &self,
        server: &str,
        agent: Option<&Agent>,
        feature: Feature,
        arguments: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Result<Value, String>, String> {
        let connection = self.connection(server, agent)?;
        let outside = self.outside();
        let given = outside.servers().feature(server, &connection, feature, arguments).await;
        outside.end().await;
        Ok(given)
    }

    /// The latest log lines of the servers that the agent's tools name, from earlier runs, and the file that holds
    /// all lines.
    pub fn server_logs(&self, agent: &Agent) -> Vec<(String, PathBuf, Vec<String>)> {
        let names = distinct(servers(agent).into_iter().map(|(server, _)| server));
        let log = |server: String| {
            let file = log_file(&self.folders.logs_dir, &server);
            let text =
                std::fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let latest =
                lines.iter().skip(lines.len().saturating_sub(LOG_LINES)).map(|line| (*line).to_owned()).collect();
            (server, file, latest)
        };
        names.into_iter().map(log).collect()
    }

    /// The tools of an agent as a run would have them, and what was decided about them.
    pub fn tool_states(&self, plan: &Plan) -> Vec<ToolState> {
        let grants = self.grants();
        let state = |tool: &Tool| {
            let definition = tool.definition();
            let listing = match &tool.kind {
                Kind::Mcp(mcp) => {
                    mcp.connection.as_ref().and_then(|connection| self.known_listing(mcp, connection, &tool.name))
                }
                _ => None,
            };
            let allowed = tool.is_granted(&grants);
            ToolState { tool: tool.clone(), definition, allowed, listing }
        };
        plan.tools.iter().map(state).collect()
    }

    fn listing_file(&self, server: &str, connection: &Connection) -> PathBuf {
        let name = hex_sha(connection.definition(server).as_bytes());
        self.folders.tools_dir.join("servers").join(format!("{}.json", &name[..16]))
    }

    fn known_listing(&self, mcp: &Mcp, connection: &Connection, own: &str) -> Option<Listing> {
        let text = std::fs::read_to_string(self.listing_file(&mcp.server, connection)).ok()?;
        let all: Vec<Listing> = serde_json::from_str(&text).ok()?;
        let name = mcp.tool.as_deref().unwrap_or(own);
        let exact = all.iter().find(|listing| listing.name == name);
        exact.or_else(|| all.iter().find(|listing| listing.is_named(name))).cloned()
    }
}

/// The tool of a server with this definition and the connection to the server, when both are known.
fn reached(name: &str, definition: &Json) -> Option<(Mcp, Connection)> {
    match Tool::from_table(name, definition).ok()?.kind {
        Kind::Mcp(mcp) => {
            let connection = mcp.connection.clone()?;
            Some((mcp, connection))
        }
        _ => None,
    }
}

/// The servers that an agent's tools need, each once.
pub(super) fn servers(agent: &Agent) -> Vec<(String, Connection)> {
    found(agent, &|_| true)
}

/// Like `servers`, for tools whose signature is not known.
fn unlisted(agent: &Agent) -> Vec<(String, Connection)> {
    found(agent, &|definition| definition.get("signature").is_none())
}

fn found(agent: &Agent, wanted: &dyn Fn(&Json) -> bool) -> Vec<(String, Connection)> {
    let mut found: Vec<(String, Connection)> = Vec::new();
    with_servers(agent.clone(), &mut |name, definition| {
        if wanted(definition)
            && let Some((mcp, connection)) = reached(name, definition)
            && !found.iter().any(|known| known.0 == mcp.server && known.1 == connection)
        {
            found.push((mcp.server, connection));
        }
        definition.clone()
    });
    found
}

/// Recreates the definitions of tools of kind `mcp`, also in child agents.
fn with_servers(agent: Agent, make: &mut dyn FnMut(&str, &Json) -> Json) -> Agent {
    let tools = agent
        .tools
        .iter()
        .map(|tool| Declared { name: tool.name.clone(), definition: made(&tool.name, &tool.definition, make, 0) });
    Agent { tools: tools.collect(), ..agent }
}

fn made(name: &str, definition: &Json, make: &mut dyn FnMut(&str, &Json) -> Json, depth: usize) -> Json {
    match definition.get("kind").and_then(Json::as_str) {
        Some("mcp") => make(name, definition),
        Some("agent") if depth < DEPTH => {
            let Some(agent) = definition.get("agent").filter(|agent| agent.members().is_some()) else {
                return definition.clone();
            };
            let Some(tools) = agent.get("tools").filter(|tools| tools.members().is_some()) else {
                return definition.clone();
            };
            let tools = tools.map_members(|name, tool| made(name, tool, make, depth + 1));
            definition.clone().with("agent", agent.clone().with("tools", tools))
        }
        _ => definition.clone(),
    }
}

/// A table with these keys, in place of those of the same names.
fn with_keys(table: &Json, keys: Vec<(&'static str, Json)>) -> Json {
    keys.into_iter().fold(table.clone(), |table, (key, value)| table.with(key, value))
}

/// A definition completed by what its server lists, where it has no text of its own.
fn with_listing(definition: &Json, listing: &Listing) -> Json {
    let mut keys = Vec::new();
    if definition.get("signature").is_none() {
        keys.push(("signature", Json::str(&listing.signature)));
    }
    if let (None, Some(text)) = (definition.get("description"), &listing.description) {
        keys.push(("description", Json::str(text)));
    }
    with_keys(definition, keys)
}

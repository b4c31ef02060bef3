//! Prompts of MCP servers for the prompt editor: the prompts that the servers of a draft list, and one filled in.
//!
//! In: the texts of a draft, what the user decided about its servers. Out: questions for consent, prompts, a text. No server is started
//! without consent.

use ptc_core::value::{Json, Value};
use serde_json::{Map, json};

use super::Workbench;
use super::tools::servers;
use crate::agent::{Agent, DraftTexts};
use crate::event::Decision;
use crate::tool::Feature;

/// A draft whose servers are asked, and what was decided about them.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptQuery {
    /// The draft.
    pub texts: DraftTexts,
    /// Decisions by the definition of the server.
    pub decisions: Vec<(String, Decision)>,
}

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The server.
    pub server: String,
    /// The prompt.
    pub name: String,
    /// The server's description of it.
    pub description: String,
    /// Its arguments, the required ones first.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// It cannot be omitted.
    pub is_required: bool,
}

/// A prompt that is filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptRequest {
    /// The draft whose tools name the server.
    pub texts: DraftTexts,
    /// The prompt.
    pub prompt: ServerPrompt,
    /// Names and texts of its arguments.
    pub arguments: Vec<(String, String)>,
}

/// Result of a [`PromptQuery`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptList {
    /// A server that the user has not decided about: its definition, and the question.
    Undecided(String, String),
    /// The prompts of all servers, and why a server has none.
    Listed(Vec<ServerPrompt>, Vec<String>),
}

impl Workbench {
    /// Lists the prompts of the servers that a draft's tools name. Errors: the draft cannot be read, or names no server.
    pub async fn list_prompts(&self, query: &PromptQuery) -> Result<PromptList, String> {
        let agent = self.agent_of_draft(&query.texts)?;
        let all = servers(&agent);
        if all.is_empty() {
            return Err(
                "no tool of the draft uses an MCP server: add one with kind = \"mcp\" and server = \"NAME\"".to_owned()
            );
        }
        let outside = self.outside();
        let mut allowed = Vec::new();
        let mut failures = Vec::new();
        for (server, connection) in all {
            let definition = connection.definition(&server);
            let chosen = query.decisions.iter().find(|(known, _)| *known == definition).map(|(_, decision)| *decision);
            let grant = connection.grant(definition.clone());
            match chosen.or_else(|| outside.decided(&grant).map(|decided| decided.decision)) {
                None => {
                    let details = connection.consent_text(&server);
                    let question = format!(
                        "Its prompts are listed, and the chosen one is read. May this server be used?\n{details}"
                    );
                    return Ok(PromptList::Undecided(definition, question));
                }
                Some(Decision::Deny) => failures.push(format!("{server}: not allowed")),
                Some(decision) => {
                    if decision == Decision::Always
                        && let Err(error) = self.grants().grant(&grant)
                    {
                        tracing::warn!(%error, "could not store the decision");
                    }
                    allowed.push(server);
                }
            }
        }
        let mut prompts = Vec::new();
        for server in allowed {
            match self.use_server(&server, Some(&agent), Feature::ListPrompts, Map::new()).await.flatten() {
                Ok(listed) => {
                    let items = Json::from(&listed);
                    prompts.extend(items.items().unwrap_or_default().iter().map(|item| prompt(&server, item)));
                }
                Err(error) => failures.push(format!("{server}: {error}")),
            }
        }
        Ok(PromptList::Listed(prompts, failures))
    }

    /// Fills in a prompt of a server that the user allowed; several messages are headed by their roles. Errors: the server's, in words.
    pub async fn fill_prompt(&self, request: &PromptRequest) -> Result<String, String> {
        let PromptRequest { texts, prompt, arguments } = request;
        let agent = self.agent_of_draft(texts)?;
        let arguments: Map<_, _> = arguments.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
        let request =
            Map::from_iter([("name".to_owned(), json!(prompt.name)), ("arguments".to_owned(), arguments.into())]);
        let filled = self.use_server(&prompt.server, Some(&agent), Feature::GetPrompt, request).await.flatten()?;
        match text_of(&filled) {
            text if text.trim().is_empty() => {
                Err(format!("the server {} answered with an empty prompt", prompt.server))
            }
            text => Ok(text),
        }
    }

    /// The agent of a draft, its servers as the configuration knows them.
    fn agent_of_draft(&self, texts: &DraftTexts) -> Result<Agent, String> {
        let unreadable = |message: &str| format!("the draft cannot be read: {message}");
        let agent = texts.to_agent_with(&Agent::default(), self.file_access());
        let agent = agent.map_err(|found| unreadable(found.first().map_or("", |found| found.message.as_str())))?;
        self.connected(agent).map_err(|error| error.to_string())
    }
}

fn prompt(server: &str, item: &Json) -> ServerPrompt {
    let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let names = |key: &str, is_required: bool| {
        let names = item.get(key).and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str);
        names.map(|name| PromptArgument { name: name.to_owned(), is_required }).collect::<Vec<_>>()
    };
    let arguments = names("required", true).into_iter().chain(names("optional", false)).collect();
    ServerPrompt { server: server.to_owned(), name: text("name"), description: text("description"), arguments }
}

/// The messages of a prompt as one text.
fn text_of(messages: &Value) -> String {
    let messages = Json::from(messages);
    let items = messages.items().unwrap_or_default();
    let part = |item: &Json, key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    match items {
        [only] if part(only, "role") == "user" => part(only, "text"),
        all => {
            let all = all.iter().map(|item| format!("{}:\n{}", part(item, "role"), part(item, "text")));
            all.collect::<Vec<_>>().join("\n\n")
        }
    }
}

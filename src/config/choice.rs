//! Resolving what a developer wrote for a model: a built-in one, an alias, or `provider:model`.
//!
//! In: text. Out: a [`ModelChoice`] as plain data; nothing is opened, no key is read. Errors name the nearest known model.

use ptc_core::reasons::Reason;

use super::document::advice;
use super::model::RESERVED;
use super::{Config, ConfigError, Facts, KeySource, ModelEntry, Protocol, Timeouts};
use crate::event::{Options, Price, StructuredBy};

/// A model that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    /// The shipped recordings.
    Demo,
    /// Generated answers, with the settings after the colon (`missing_field,seed=7,every`), which the model itself reads.
    Sample(String),
    /// The developer.
    Human,
    /// The recording of a session, by path, id, prefix or `last`.
    Recorded(String),
    /// A provider's model.
    Http(Box<HttpModel>),
}

/// Everything needed to reach a provider's model.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpModel {
    /// What the developer wrote.
    pub alias: String,
    /// The provider's name.
    pub provider: String,
    /// The model's id there.
    pub id: String,
    /// The protocol spoken there.
    pub kind: Protocol,
    /// The protocol's version.
    pub version: Option<String>,
    /// What the table of models knows of it.
    pub known: Facts,
    /// Tokens that fit into its context, when the configuration says so.
    pub context: Option<u64>,
    /// Where the protocol starts, without a slash at the end.
    pub base_url: String,
    /// Where the key comes from.
    pub key: Option<KeySource>,
    /// Headers sent with every request.
    pub headers: Vec<(String, String)>,
    /// How a schema travels; `None` = found out.
    pub structured_output: Option<StructuredBy>,
    /// Price per million tokens, when known.
    pub price: Option<Price>,
    /// The model that is asked when this one cannot answer.
    pub fallback: Option<String>,
    /// Answers are read while they arrive.
    pub stream: bool,
    /// Options sent unless the agent has others.
    pub options: Options,
    /// How often a call is tried.
    pub max_attempts: u32,
    /// How long the provider may take.
    pub timeouts: Timeouts,
}

impl Config {
    /// The model that `text` names: `demo`, `sample[:fault,seed=7,every]`, `human`, `recorded:SESSION`, an alias, or
    /// `provider:model`. Errors: `llm_required` for nothing, `llm_not_found` for anything else.
    pub fn resolve_model(&self, text: &str) -> Result<ModelChoice, ConfigError> {
        let text = text.trim();
        if text.is_empty() {
            let message = format!("no model is named. {}", Reason::LlmRequired.row().next);
            return Err(ConfigError::Model { reason: Reason::LlmRequired, message });
        }
        if let Some(model) = self.model(text) {
            return self.http(text, model.clone());
        }
        match text.split_once(':') {
            None => match text {
                "demo" => Ok(ModelChoice::Demo),
                "sample" => Ok(ModelChoice::Sample(String::new())),
                "human" => Ok(ModelChoice::Human),
                "recorded" => Err(not_found("write the recording's session, as in `recorded:last`")),
                _ => Err(self.unknown(text)),
            },
            Some(("sample", options)) => Ok(ModelChoice::Sample(options.trim().to_owned())),
            Some(("recorded", session)) if !session.trim().is_empty() => {
                Ok(ModelChoice::Recorded(session.trim().to_owned()))
            }
            Some(("recorded", _)) => Err(not_found("write the recording's session, as in `recorded:last`")),
            Some((name @ ("demo" | "human"), _)) => Err(not_found(format!("`{name}` takes nothing after a colon"))),
            Some((provider, id)) => self.at_provider(text, provider, id),
        }
    }

    fn unknown(&self, text: &str) -> ConfigError {
        let names = RESERVED.into_iter().filter(|name| *name != "recorded");
        let known: Vec<&str> = names.chain(self.models.iter().map(|model| model.alias.as_str())).collect();
        let near = match advice(text, &known) {
            near if near.contains("did you mean") => near,
            _ => "; write an alias or `provider:model`".to_owned(),
        };
        not_found(format!("no model `{text}`{near} (`ptc-workbench models` lists what can be used)"))
    }

    fn at_provider(&self, text: &str, provider: &str, id: &str) -> Result<ModelChoice, ConfigError> {
        if self.provider(provider).is_none() {
            let known: Vec<&str> = self.providers.iter().map(|provider| provider.name.as_str()).collect();
            return Err(not_found(format!("unknown provider `{provider}`{}", advice(provider, &known))));
        }
        if id.trim().is_empty() {
            return Err(not_found(format!("write the model's id after the colon, as in `{provider}:MODEL`")));
        }
        let known = self.models.iter().find(|model| model.provider == provider && model.id == id);
        let bare = || ModelEntry::bare(text, provider, id);
        self.http(text, known.cloned().unwrap_or_else(bare))
    }

    fn http(&self, text: &str, model: ModelEntry) -> Result<ModelChoice, ConfigError> {
        let Some(provider) = self.provider(&model.provider) else {
            return Err(not_found(format!(
                "the model `{text}` names the provider `{}`, which is not known",
                model.provider
            )));
        };
        let known = self.facts(&provider.name, &model.id);
        Ok(ModelChoice::Http(Box::new(HttpModel {
            alias: text.to_owned(),
            provider: provider.name.clone(),
            id: model.id,
            kind: provider.kind,
            version: provider.version.clone(),
            context: model.context,
            base_url: provider.base_url.clone(),
            key: provider.key.clone(),
            headers: provider.headers.clone(),
            structured_output: model.structured_output,
            price: model.price.or(known.price),
            known,
            stream: model.stream,
            options: model.options,
            fallback: model.fallback,
            max_attempts: self.max_attempts,
            timeouts: provider.timeouts,
        })))
    }
}

fn not_found(message: impl Into<String>) -> ConfigError {
    ConfigError::Model { reason: Reason::LlmNotFound, message: message.into() }
}

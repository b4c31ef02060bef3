//! Resolves a model name: a built-in model, an alias, or `provider:model`.
//!
//! In: text. Out: a [`ModelChoice`] as plain data; no connection is opened and no key is read. Errors suggest the
//! nearest known model.

use ptc_core::reasons::Reason;
use ptc_core::text::nearest;

use super::document::advice;
use super::model::RESERVED;
use super::{
    Api, Config, ConfigError, KeySource, ModelEntry, ModelFacts, Protocol, Provider, Restriction, Timeouts, TlsFiles,
    options_over,
};
use crate::event::{Options, Price, StructuredBy};

/// Address of the service whose models the shipped table describes.
const OPENAI_URL: &str = "https://api.openai.com/";

/// Beginnings of model ids, with the provider that has these models.
const FAMILIES: [(&str, &str); 7] = [
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
];

/// A resolved model name.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    /// The shipped recordings.
    Demo,
    /// Generated answers, with the settings after the colon (`missing_field,seed=7,every`), parsed by the model itself.
    Sample(String),
    /// The user.
    Human,
    /// A recorded session, by path, id, prefix or `last`.
    Recorded(String),
    /// A provider's model.
    Http(Box<HttpModel>),
}

/// Everything needed to call a provider's model.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpModel {
    /// The name as given.
    pub alias: String,
    /// The provider's name.
    pub provider: String,
    /// The model's id there.
    pub id: String,
    /// The protocol.
    pub kind: Protocol,
    /// The protocol's version.
    pub version: Option<String>,
    /// Region of the service, for `bedrock`.
    pub region: Option<String>,
    /// Its known properties.
    pub known: ModelFacts,
    /// Restrictions that a check has found.
    pub refused: Vec<Restriction>,
    /// Context size in tokens, if configured.
    pub context: Option<u64>,
    /// Base URL of the API, without a trailing slash.
    pub base_url: String,
    /// Source of the key.
    pub key: Option<KeySource>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Method for sending schemas; `None`: detected.
    pub structured_output: Option<StructuredBy>,
    /// Price per million tokens, when known.
    pub price: Option<Price>,
    /// The model to use when this one fails.
    pub fallback: Option<String>,
    /// True if replies are streamed.
    pub stream: bool,
    /// Options unless the agent sets them.
    pub options: Options,
    /// Maximum attempts per call.
    pub max_attempts: u32,
    /// Timeouts of the provider.
    pub timeouts: Timeouts,
    /// Certificates in addition to those of the system.
    pub tls: TlsFiles,
}

impl Config {
    /// Resolves `demo`, `sample[:fault,seed=7,every]`, `human`, `recorded:SESSION`, an alias, or `provider:model`.
    /// Errors: `llm_required` for an empty name, `llm_not_found` for an unknown one.
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
                "recorded" => Err(not_found("write the session to use, as in `recorded:last`")),
                _ => Err(self.unknown(text)),
            },
            Some(("sample", options)) => Ok(ModelChoice::Sample(options.trim().to_owned())),
            Some(("recorded", session)) if !session.trim().is_empty() => {
                Ok(ModelChoice::Recorded(session.trim().to_owned()))
            }
            Some(("recorded", _)) => Err(not_found("write the session to use, as in `recorded:last`")),
            Some((name @ ("demo" | "human"), _)) => Err(not_found(format!("`{name}` takes nothing after a colon"))),
            Some((provider, id)) => self.at_provider(text, provider, id),
        }
    }

    fn unknown(&self, text: &str) -> ConfigError {
        let names = RESERVED.into_iter().filter(|name| *name != "recorded");
        let known: Vec<&str> = names.chain(self.models.iter().map(|model| model.alias.as_str())).collect();
        let near = match (self.with_provider(text), nearest(text, known)) {
            _ if self.provider(text).is_some() => {
                format!("; it is a provider: write one of its models, as in `{text}:MODEL`")
            }
            (Some(full), Some(alias)) => format!("; did you mean `{full}`? A similar alias is `{alias}`"),
            (Some(full), None) => format!("; did you mean `{full}`?"),
            (None, Some(alias)) => format!("; did you mean `{alias}`?"),
            (None, None) => "; write an alias or `provider:model`".to_owned(),
        };
        not_found(format!("no model `{text}`{near} (`ptc-workbench models` lists usable models)"))
    }

    /// Returns `provider:model` for `provider/model`, and for ids that begin like those of a built-in provider.
    fn with_provider(&self, text: &str) -> Option<String> {
        let (provider, id) = match text.split_once('/') {
            Some(divided) => divided,
            None => (FAMILIES.iter().find(|(beginning, _)| text.starts_with(beginning))?.1, text),
        };
        (self.provider(provider).is_some() && !id.is_empty()).then(|| format!("{provider}:{id}"))
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
            return Err(not_found(format!("the model `{text}` has the unknown provider `{}`", model.provider)));
        };
        let known = self.facts(&provider.name, &model.id);
        let kind = api_of(provider, model.api, known.api).of(provider.kind);
        let learned = self.learned.find(&provider.name, &model.id, kind, &provider.base_url);
        let known = ModelFacts {
            structured_output: learned.and_then(|learned| learned.structured_output).or(known.structured_output),
            ..known
        };
        Ok(ModelChoice::Http(Box::new(HttpModel {
            alias: text.to_owned(),
            provider: provider.name.clone(),
            id: model.id,
            kind,
            refused: learned.map(|learned| learned.refused.clone()).unwrap_or_default(),
            version: provider.version.clone(),
            region: provider.region.clone(),
            context: model.context,
            base_url: provider.base_url.clone(),
            key: provider.key.clone(),
            headers: provider.headers.clone(),
            structured_output: model.structured_output,
            price: model.price.or(known.price),
            known,
            stream: model.stream,
            options: options_over(
                &model.options,
                &Options { extra_body: provider.extra_body.clone(), ..Options::default() },
            ),
            fallback: model.fallback,
            max_attempts: self.max_attempts,
            timeouts: provider.timeouts,
            tls: provider.tls.clone(),
        })))
    }
}

/// Returns the API of a model: as configured, else that of the shipped table, which holds for the service itself and not for another
/// address under its name.
fn api_of(provider: &Provider, of_model: Option<Api>, known: Option<Api>) -> Api {
    let is_service = || provider.base_url.starts_with(OPENAI_URL);
    of_model.or(provider.api).or_else(|| known.filter(|_| is_service())).unwrap_or(Api::Chat)
}

fn not_found(message: impl Into<String>) -> ConfigError {
    ConfigError::Model { reason: Reason::LlmNotFound, message: message.into() }
}

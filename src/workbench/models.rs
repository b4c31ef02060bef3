//! Models by name: building what was chosen, and listing what could be.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptc_core::reasons::Reason;
use serde::Serialize;

use super::reply_cache::CachedModel;
use super::source::demo;
use super::{SessionKey, StartError, Workbench};
use crate::agent::{Agent, Diagnostic, Place};
use crate::config::{ConfigError, HttpModel, KeySource, ModelChoice, ModelFacts, Protocol, Provider, Timeouts};
use crate::model::{Adapter, FAULTS, HumanModel, Model, ModelError, Sample, WithFallback, shown_address};
use crate::port::Human;
use crate::replay::{ExactModel, Recording};
use crate::session::Session;

/// Availability of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelState {
    /// It can be used.
    Ready,
    /// Its key is missing.
    NoKey,
    /// Its provider is not configured.
    Unknown,
}

impl ModelState {
    /// Returns it in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ready => "can be used now",
            Self::NoKey => "key missing",
            Self::Unknown => "provider unknown",
        }
    }
}

/// One line of the list of models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelLine {
    /// The name to write.
    pub name: String,
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub id: String,
    /// A description, or what is missing.
    pub note: String,
    /// Its availability.
    pub state: ModelState,
    /// Known facts about it.
    #[serde(flatten)]
    pub facts: ModelFacts,
}

/// Time limit for a server on this machine to accept a connection when it is checked.
pub(super) const LOOPBACK_WAIT: Duration = Duration::from_millis(300);

/// Advice of a command that takes another model than the recorded one. An interface that has a field for the model replaces it.
pub const BY_FLAG: &str = "choose another one with --model NAME (`ptc-workbench models` lists what can be used)";

impl Workbench {
    /// Returns whether a model of this name can be used: it is known, and the key of its provider is there. Nothing is opened or built.
    pub fn is_usable_model(&self, name: &str) -> bool {
        match self.choose(name) {
            Ok(ModelChoice::Http(model)) => {
                let key = self.config.provider(&model.provider).and_then(|provider| provider.key.as_ref());
                key.is_none_or(|key| key.check().is_ok())
            }
            Ok(ModelChoice::Sample(options)) => Sample::parse(&options).is_ok(),
            Ok(_) => true,
            Err(_) => false,
        }
    }

    pub(super) fn choose(&self, name: &str) -> Result<ModelChoice, StartError> {
        self.config.resolve_model(name).map_err(|error| match error {
            ConfigError::Model { reason, message } => StartError::Model { reason, message },
            ConfigError::File(error) => StartError::Model { reason: Reason::LlmNotFound, message: error.to_string() },
        })
    }

    /// Allows the recording that the user names as a model.
    pub(super) fn trust_recording(&self, name: &str) {
        if let Some(session) = name.strip_prefix("recorded:") {
            // Errors are reported where it is opened.
            _ = self.file_access().allow(Path::new(session.trim()));
        }
    }

    /// Opens the recording of the model `recorded:NAME`. One outside of the sessions folder and the current folder needs
    /// consent, unless the user names it.
    fn open_recording(&self, name: &str) -> Result<Session, String> {
        let key = self.find_session(name).map_err(|error| error.to_string())?;
        if let SessionKey::File(path) = &key {
            let is_own = || {
                let folder = self.folders.sessions_dir.canonicalize().ok()?;
                Some(path.canonicalize().ok()?.starts_with(folder))
            };
            if is_own() != Some(true) {
                let here = Path::new(".").canonicalize().map_err(|error| error.to_string())?;
                let resolved = self.file_access().resolve(&here, "model", path);
                resolved.map_err(|refusal| format!("the model names the file {}, {refusal}", path.display()))?;
            }
        }
        self.open_found(&key).map_err(|error| error.to_string())
    }

    /// The model that the user names, else the one of a recording.
    pub(super) fn chosen(&self, named: Option<&str>, recorded: &str) -> Result<ModelChoice, StartError> {
        if let Some(name) = named {
            self.trust_recording(name);
        }
        self.choose(named.unwrap_or(recorded)).map_err(|error| match (error, named) {
            (StartError::Model { reason, .. }, None) => {
                let message = format!("the recorded model `{recorded}` is not known here: {BY_FLAG}");
                StartError::Model { reason, message }
            }
            (error, _) => error,
        })
    }

    pub(super) fn build_model(&self, choice: ModelChoice, human: Arc<dyn Human>) -> Result<Arc<dyn Model>, StartError> {
        let unusable = |reason: Reason, message: String| StartError::Model { reason, message };
        Ok(match choice {
            ModelChoice::Demo => Arc::new(demo()),
            ModelChoice::Sample(options) => {
                Arc::new(Sample::parse(&options).map_err(|message| unusable(Reason::LlmNotFound, message))?)
            }
            ModelChoice::Human => Arc::new(HumanModel::new(human)),
            ModelChoice::Recorded(name) => {
                let session = self.open_recording(&name).map_err(|error| unusable(Reason::LlmNotFound, error))?;
                let recording = Recording::of(&session).map_err(|error| unusable(Reason::LlmNotFound, error))?;
                Arc::new(ExactModel::new(Arc::new(recording)))
            }
            ModelChoice::Http(model) => {
                let own = model.alias.clone();
                let fallback = model.fallback.clone().filter(|name| !self.is_same_model(&own, name));
                let adapter = self.stored(self.adapter(*model)?);
                match fallback {
                    None => adapter,
                    // One that cannot be used is reported before the run, which does without it.
                    Some(name) => match self.fallback(&name).and_then(|choice| self.build_model(choice, human)) {
                        Ok(second) => Arc::new(WithFallback::new(adapter, second)),
                        Err(_) => adapter,
                    },
                }
            }
        })
    }

    /// The model of an adapter, with stored replies in a trial that has them.
    fn stored(&self, adapter: Arc<Adapter>) -> Arc<dyn Model> {
        match &self.replies {
            Some(replies) => Arc::new(CachedModel::new(adapter, replies.clone())),
            None => adapter,
        }
    }

    /// The adapter of a provider's model; a shared one where runs share them. Its key is there.
    fn adapter(&self, model: HttpModel) -> Result<Arc<Adapter>, StartError> {
        let made = |model: HttpModel| {
            let gate = self.gates.of(&model.provider, &self.config);
            http(model).map(|adapter| adapter.gate(gate))
        };
        let adapter = match &self.adapters {
            Some(shared) => shared.of(&model, || made(model.clone()))?,
            None => Arc::new(made(model)?),
        };
        adapter.check_key().map_err(unusable_model)?;
        Ok(adapter)
    }

    /// The model to fall back on; its own fallback does not count, so that no circle comes about.
    fn fallback(&self, name: &str) -> Result<ModelChoice, StartError> {
        Ok(match self.choose(name)? {
            ModelChoice::Http(model) => ModelChoice::Http(Box::new(HttpModel { fallback: None, ..*model })),
            other => other,
        })
    }

    /// Returns a warning if the fallback of a model cannot be used, with the reason; `None` if it can, or if there is none.
    pub(super) fn check_fallback(&self, choice: &ModelChoice) -> Option<Diagnostic> {
        let ModelChoice::Http(model) = choice else { return None };
        let alias =
            self.config.models.iter().find(|known| {
                known.provider == model.provider && known.id == model.id && known.fallback == model.fallback
            });
        let alias = alias.map_or(&model.alias, |known| &known.alias);
        let (reason, warning_text) = self.unusable_fallback(alias, model.fallback.as_deref()?)?;
        Some(Diagnostic::error(Place::Options, reason, warning_text).key("model").warning())
    }

    /// Returns whether both names are the same model of a provider.
    fn is_same_model(&self, one: &str, other: &str) -> bool {
        match (self.choose(one), self.choose(other)) {
            (Ok(ModelChoice::Http(one)), Ok(ModelChoice::Http(other))) => {
                (one.provider, one.id) == (other.provider, other.id)
            }
            _ => false,
        }
    }

    fn unusable_fallback(&self, alias: &str, name: &str) -> Option<(Reason, String)> {
        let usable = |choice: ModelChoice| match choice {
            ModelChoice::Http(model) => http(*model).and_then(|adapter| adapter.check_key().map_err(unusable_model)),
            _ => Ok(()),
        };
        let why = if self.is_same_model(alias, name) {
            let message = "it is the model itself; name another one, or remove the key".to_owned();
            StartError::Model { reason: Reason::LlmNotFound, message }
        } else {
            self.fallback(name).and_then(usable).err()?
        };
        let warning_text = format!("[models.{alias}] fallback = {name:?} cannot be used and is skipped: {why}");
        Some((why.reason(), warning_text))
    }

    /// Returns the aliases whose fallback cannot be used, each with a warning.
    pub(super) fn unusable_fallbacks(&self) -> Vec<(String, String)> {
        let models = self.config.models.iter();
        let warning_text = models.filter_map(|model| {
            let (_, warning_text) = self.unusable_fallback(&model.alias, model.fallback.as_deref()?)?;
            Some((model.alias.clone(), warning_text))
        });
        warning_text.collect()
    }

    /// Returns the problem with the name of the model that this agent would use. Nothing is opened or built.
    pub fn check_model(&self, agent: &Agent) -> Option<Diagnostic> {
        let unknown = |reason, message: String| Diagnostic::error(Place::Options, reason, message).key("model");
        match self.choose(&self.model_name(None, agent)) {
            Ok(ModelChoice::Sample(options)) => {
                Sample::parse(&options).err().map(|message| unknown(Reason::LlmNotFound, message))
            }
            Ok(_) => None,
            Err(StartError::Model { reason, message }) => Some(unknown(reason, message)),
            Err(other) => Some(unknown(Reason::LlmNotFound, other.to_string())),
        }
    }

    /// Everything that can be named as a model.
    pub fn models(&self) -> Vec<ModelLine> {
        let faults: Vec<_> = FAULTS.iter().map(|(_, name, _)| *name).collect();
        let built_in = [
            ("demo", "answers from the recorded examples".to_owned()),
            ("sample", format!("generated valid data; faults: sample:{}", faults.join(" | "))),
            ("human", "you type the replies".to_owned()),
            ("recorded:SESSION", "exactly the replies of a session".to_owned()),
        ];
        let mut lines: Vec<_> = built_in
            .into_iter()
            .map(|(name, note)| ModelLine {
                name: name.to_owned(),
                provider: "built in".to_owned(),
                id: String::new(),
                state: ModelState::Ready,
                note,
                facts: ModelFacts::default(),
            })
            .collect();
        let unusable = self.unusable_fallbacks();
        lines.extend(self.config.models.iter().map(|model| {
            let line = self.line(&model.alias, &model.provider, &model.id);
            match unusable.iter().find(|(alias, _)| *alias == model.alias) {
                Some((_, warning_text)) => ModelLine { note: format!("{}; {warning_text}", line.note), ..line },
                None => line,
            }
        }));
        let provider_lines = self.config.providers.iter();
        lines.extend(
            provider_lines.map(|provider| self.line(&format!("{}:MODEL", provider.name), &provider.name, "any")),
        );
        lines
    }

    /// The providers, built-in and configured.
    pub fn providers(&self) -> Vec<ProviderLine> {
        let line = |provider: &Provider| ProviderLine {
            name: provider.name.clone(),
            kind: provider.kind,
            url: shown_address(&provider.base_url),
            key: provider.key.as_ref().map(|key| (key.name(), key.check().is_ok())),
            concurrent_requests: provider.concurrent_requests,
            timeouts: provider.timeouts,
        };
        self.config.providers.iter().map(line).collect()
    }

    fn line(&self, name: &str, provider: &str, id: &str) -> ModelLine {
        let found = self.config.provider(provider);
        let (state, note) = match found {
            Some(found) => match found.key.as_ref().map(|key| (key.name(), key.check().is_ok())) {
                Some((key, true)) => (ModelState::Ready, format!("{key} is set")),
                Some((key, false)) => (ModelState::NoKey, format!("{key} is missing")),
                None => (ModelState::Ready, format!("no key needed, {}", shown_address(&found.base_url))),
            },
            None => (ModelState::Unknown, "its provider is not configured".to_owned()),
        };
        let note = match self.checked(name) {
            Some(date) => format!("{note}; checked {date}"),
            None => note,
        };
        ModelLine {
            name: name.to_owned(),
            provider: provider.to_owned(),
            id: id.to_owned(),
            state,
            note,
            facts: self.config.facts(provider, id),
        }
    }

    /// The date on which a model was checked at its address.
    fn checked(&self, name: &str) -> Option<&str> {
        let Ok(ModelChoice::Http(model)) = self.config.resolve_model(name) else { return None };
        let learned = self.config.learned.find(&model.provider, &model.id, model.kind, &model.base_url);
        learned.map(|learned| learned.checked.as_str())
    }

    /// Providers on this machine's loopback, and whether something listens there.
    pub async fn loopback_servers(&self) -> Vec<(String, String, bool)> {
        let asked = self.local_providers().map(|provider| async {
            let listens = crate::model::listens(&provider.base_url, LOOPBACK_WAIT).await;
            (provider.name.clone(), shown_address(&provider.base_url), listens)
        });
        futures::future::join_all(asked).await
    }

    fn local_providers(&self) -> impl Iterator<Item = &Provider> {
        self.config.providers.iter().filter(|provider| crate::model::is_loopback(&provider.base_url))
    }

    /// The servers of this machine's loopback: those that answer are asked for their models, unless a command would run for it.
    pub async fn local_servers(&self) -> Vec<ServerLine> {
        let asked = self.local_providers().map(|provider| async {
            let listens = crate::model::listens(&provider.base_url, LOOPBACK_WAIT).await;
            let models = match &provider.key {
                _ if !listens => Err("nothing listens".to_owned()),
                Some(KeySource::Command(_)) => {
                    let name = &provider.name;
                    Err(format!("something listens; `models {name}` runs api_key_command and asks for its models"))
                }
                _ => self.ask_models(provider).await,
            };
            ServerLine { name: provider.name.clone(), url: shown_address(&provider.base_url), models }
        });
        futures::future::join_all(asked).await
    }

    /// The servers of all providers whose key is there; each is asked for its models.
    pub async fn check_servers(&self) -> Vec<ServerLine> {
        let ready =
            self.config.providers.iter().filter(|provider| provider.key.as_ref().is_none_or(|key| key.check().is_ok()));
        let asked = ready.map(|provider| async {
            let models = self.ask_models(provider).await;
            ServerLine { name: provider.name.clone(), url: shown_address(&provider.base_url), models }
        });
        futures::future::join_all(asked).await
    }

    /// The models that a provider's server lists. Errors: no such provider, or why its server cannot be reached.
    pub async fn models_at(&self, name: &str) -> Result<ServerLine, StartError> {
        let alias = self.config.model(name).map_or(name, |model| model.provider.as_str());
        let Some(provider) = self.config.provider(alias) else {
            // The words for a provider that does not exist are those for a model of it.
            return Err(self.choose(&format!("{alias}:any")).err().unwrap_or(StartError::Model {
                reason: Reason::LlmNotFound,
                message: format!("unknown provider `{alias}`"),
            }));
        };
        let models = self.ask_models(provider).await;
        Ok(ServerLine { name: provider.name.clone(), url: shown_address(&provider.base_url), models })
    }

    async fn ask_models(&self, provider: &Provider) -> Result<Vec<String>, String> {
        let choice = self.config.resolve_model(&format!("{}:any", provider.name)).map_err(|error| error.to_string())?;
        let ModelChoice::Http(model) = choice else { return Ok(Vec::new()) };
        crate::model::listed(&(*model).into()).await.map_err(|error| {
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{}{hint}", error.message)
        })
    }
}

/// A provider, without anything that is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLine {
    /// Its name.
    pub name: String,
    /// The protocol spoken there.
    pub kind: Protocol,
    /// Its address, without query.
    pub url: String,
    /// The name of its key for users, and whether it is set; `None` for servers without keys.
    pub key: Option<(String, bool)>,
    /// Limit `concurrent_requests`.
    pub concurrent_requests: u32,
    /// Its timeouts.
    pub timeouts: Timeouts,
}

/// A server that was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLine {
    /// The provider's name.
    pub name: String,
    /// Its address, without query.
    pub url: String,
    /// The models that it lists, or why there is no list.
    pub models: Result<Vec<String>, String>,
}

/// The adapter for a provider's model; its key is not looked at.
pub(super) fn http(model: HttpModel) -> Result<Adapter, StartError> {
    Adapter::new(model.into()).map_err(unusable_model)
}

pub(super) fn unusable_model(error: ModelError) -> StartError {
    let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    StartError::Model { reason: error.class.reason(), message: format!("{}{hint}", error.message) }
}

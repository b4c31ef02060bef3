//! Models by name: building what was chosen, and listing what could be.

use std::sync::Arc;
use std::time::Duration;

use ptc_core::reasons::Reason;

use super::examples::demo;
use super::{StartError, Workbench};
use crate::agent::{Agent, Diagnostic, Place};
use crate::config::{ConfigError, HttpModel, ModelChoice};
use crate::model::{FAULTS, HumanModel, Model, ModelError, OpenAi, Sample};
use crate::port::Human;
use crate::replay::{Recorded, Recording};

/// Can a model be used now?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelState {
    /// Yes.
    Ready,
    /// Its key is missing.
    NoKey,
    /// Its protocol is not in this build.
    NotBuilt,
}

/// One line of the list of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    /// What to write.
    pub name: String,
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub id: String,
    /// Can it be used?
    pub state: ModelState,
    /// What it is, or what is missing.
    pub note: String,
}

/// How long a server on this machine may take to answer the question whether it is there.
const LOOPBACK_WAIT: Duration = Duration::from_millis(300);

impl Workbench {
    pub(super) fn choose(&self, name: &str) -> Result<ModelChoice, StartError> {
        self.config.resolve_model(name).map_err(|error| match error {
            ConfigError::Model { reason, message } => StartError::Model { reason, message },
            ConfigError::File(error) => StartError::Model { reason: Reason::LlmNotFound, message: error.to_string() },
        })
    }

    pub(super) fn build_model(
        &self,
        choice: ModelChoice,
        person: Arc<dyn Human>,
    ) -> Result<Arc<dyn Model>, StartError> {
        let unusable = |reason: Reason, message: String| StartError::Model { reason, message };
        Ok(match choice {
            ModelChoice::Demo => Arc::new(demo()),
            ModelChoice::Sample(options) => {
                Arc::new(Sample::parse(&options).map_err(|message| unusable(Reason::LlmNotFound, message))?)
            }
            ModelChoice::Human => Arc::new(HumanModel::new(person)),
            ModelChoice::Recorded(name) => {
                let session =
                    self.open_session(&name).map_err(|error| unusable(Reason::LlmNotFound, error.to_string()))?;
                let recording = Recording::of(&session).map_err(|error| unusable(Reason::LlmNotFound, error))?;
                Arc::new(Recorded::new(Arc::new(recording)))
            }
            ModelChoice::Http(model) => {
                let gate = self.gates.of(&model.provider, &self.config);
                let adapter = http(*model)?.gate(gate);
                adapter.check_key().map_err(unusable_model)?;
                Arc::new(adapter)
            }
        })
    }

    /// What is wrong with the name of the model that this agent would use. Nothing is opened or built.
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
            })
            .collect();
        lines.extend(self.config.models.iter().map(|model| self.line(&model.alias, &model.provider, &model.id)));
        let provider_lines = self.config.providers.iter();
        lines.extend(
            provider_lines.map(|provider| self.line(&format!("{}:MODEL", provider.name), &provider.name, "any")),
        );
        lines
    }

    fn line(&self, name: &str, provider: &str, id: &str) -> ModelLine {
        let found = self.config.provider(provider);
        let (state, note) = match found {
            Some(found) if !found.kind.is_built() => {
                (ModelState::NotBuilt, format!("protocol {} is not in this build", found.kind.name()))
            }
            Some(found) => match found.key.as_ref().map(|key| (key.name(), key.read().is_ok())) {
                Some((key, true)) => (ModelState::Ready, format!("{key} is set")),
                Some((key, false)) => (ModelState::NoKey, format!("{key} is missing")),
                None => (ModelState::Ready, format!("no key needed, {}", found.base_url)),
            },
            None => (ModelState::NotBuilt, "its provider is not configured".to_owned()),
        };
        ModelLine { name: name.to_owned(), provider: provider.to_owned(), id: id.to_owned(), state, note }
    }

    /// Providers on this machine's loopback, and whether something listens there.
    pub async fn loopback_servers(&self) -> Vec<(String, String, bool)> {
        let local = self.config.providers.iter().filter(|provider| crate::model::is_loopback(&provider.base_url));
        let asked = local.map(|provider| async {
            let listens = crate::model::listens(&provider.base_url, LOOPBACK_WAIT).await;
            (provider.name.clone(), provider.base_url.clone(), listens)
        });
        futures::future::join_all(asked).await
    }
}

/// The adapter for a provider's model; its key is not looked at.
pub(super) fn http(model: HttpModel) -> Result<OpenAi, StartError> {
    OpenAi::new(model.into()).map_err(unusable_model)
}

fn unusable_model(error: ModelError) -> StartError {
    let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    StartError::Model { reason: error.class.reason(), message: format!("{}{hint}", error.message) }
}

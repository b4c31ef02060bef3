//! Models of child runs: their names are resolved as the root's model is.
//!
//! In: the alias that a child agent names. Out: its model, built once per run of the tree, with the provider's gate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;

use super::{StartError, Workbench};
use crate::agent::{Diagnostic, Place, Plan};
use crate::config::{ModelChoice, options_over};
use crate::engine::{ModelSource, Models};
use crate::event::{Address, ModelRecord, Options};
use crate::model::{Call, ErrorClass, Model, ModelError, PinnedProgram, Reply, Request};
use crate::port::Human;

/// The models of one tree of runs.
pub(super) struct LiveModels {
    workbench: Workbench,
    human: Arc<dyn Human>,
    built: Mutex<HashMap<String, Arc<dyn Model>>>,
}

impl LiveModels {
    /// Resolves names as this workbench does; `human` answers for the model `human`.
    pub(super) fn of(workbench: &Workbench, human: Arc<dyn Human>) -> Self {
        Self { workbench: workbench.clone(), human, built: Mutex::default() }
    }

    fn build(&self, alias: &str) -> Result<Arc<dyn Model>, StartError> {
        let choice = self.workbench.choose(alias)?;
        let options = match &choice {
            ModelChoice::Http(model) => model.options.clone(),
            _ => Options::default(),
        };
        let model = self.workbench.build_model(choice, Arc::clone(&self.human))?;
        Ok(if options == Options::default() { model } else { Arc::new(TunedModel { model, options }) })
    }
}

impl Models for LiveModels {
    fn model(&self, _: &Address, source: ModelSource<'_>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        let alias = match source {
            ModelSource::Caller => return Ok(None),
            ModelSource::Program(program) => return Ok(Some(Arc::new(PinnedProgram::new(program)))),
            ModelSource::Named(alias) => alias,
        };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = built.get(alias) {
            return Ok(Some(Arc::clone(model)));
        }
        let model = self.build(alias).map_err(refused)?;
        built.insert(alias.to_owned(), Arc::clone(&model));
        Ok(Some(model))
    }
}

impl Workbench {
    /// Returns warnings about models of child agents, and their fallbacks, that cannot be used: the run may start, but calls without a
    /// usable model will fail.
    pub(super) fn check_child_models(&self, plan: &Plan) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut open = vec![plan];
        while let Some(plan) = open.pop() {
            for (tool, child) in &plan.children {
                let key = format!("tools.{tool}");
                match child.agent.model.as_deref().map(|alias| self.choose(alias)) {
                    Some(Err(StartError::Model { reason, message })) => {
                        let message = format!("calls of the tool `{tool}` will fail: {message}");
                        found.push(Diagnostic::error(Place::Options, reason, message).warning().key(key));
                    }
                    Some(Ok(choice)) => found.extend(self.check_fallback(&choice).map(|warning| warning.key(key))),
                    _ => {}
                }
                open.push(child);
            }
        }
        found
    }
}

fn refused(error: StartError) -> ModelError {
    match error {
        StartError::Model { reason: Reason::LlmNotFound, message } => ModelError::new(ErrorClass::NotFound, message),
        other => ModelError::new(ErrorClass::Configuration, other.to_string()),
    }
}

/// A model with options of its own, which count where the agent asks for nothing else.
struct TunedModel {
    model: Arc<dyn Model>,
    options: Options,
}

impl Model for TunedModel {
    fn info(&self) -> ModelRecord {
        self.model.info()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let options = options_over(&request.options, &self.options);
            self.model.answer(&Request { options, ..request.clone() }, call).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Folders};
    use crate::port::NoUser;

    /// The alias of the model for this name, or class and words of the refusal.
    fn resolved(below: &LiveModels, name: &str) -> Result<String, (ErrorClass, String)> {
        let model = below.model(&Address::run(0), ModelSource::Named(name));
        model.map(|model| model.map(|model| model.info().alias).unwrap_or_default()).map_err(|e| (e.class, e.message))
    }

    #[test]
    fn names_are_resolved_as_those_of_roots() {
        let file = "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"NO_SUCH_KEY_HERE\"\n\
                    [models.small]\nprovider = \"local\"\nid = \"m\"\n";
        let config = Config::from_toml(file, "config.toml", &|_| None).unwrap();

        let dir = std::env::temp_dir();
        let below = LiveModels::of(&Workbench::new(config, Folders::at(dir.clone(), &dir, None)), Arc::new(NoUser));
        assert!(below.model(&Address::run(0), ModelSource::Caller).unwrap().is_none());
        assert_eq!(resolved(&below, "sample:seed=4").unwrap(), "sample:seed=4");
        let (class, message) = resolved(&below, "samle").unwrap_err();
        assert_eq!(class.reason(), Reason::LlmNotFound);
        assert!(message.contains("sample"), "{message}");
        let (class, message) = resolved(&below, "small").unwrap_err();
        assert_eq!(class.reason(), Reason::LlmError);
        assert!(message.contains("NO_SUCH_KEY_HERE"), "{message}");
        let tool = "[tools.t]\nkind = \"llm\"\nmodel = \"samle\"\nprompt = \"go\"\ndescription = \"D\"\n";
        let agent = format!("mode = \"text\"\nprompt = \"go\"\n{tool}");
        let plan = Plan::new(&crate::agent::Agent::from_toml(&agent, "a.toml").unwrap()).unwrap();
        let warned: Vec<_> = below.workbench.check_child_models(&plan).into_iter().map(|f| (f.key, f.reason)).collect();
        assert_eq!(warned, [("tools.t".to_owned(), Reason::LlmNotFound)]);
        let one = below.model(&Address::run(0), ModelSource::Named("sample")).unwrap().unwrap();
        let two = below.model(&Address::run(1), ModelSource::Named("sample")).unwrap().unwrap();
        assert!(Arc::ptr_eq(&one, &two));
    }
}

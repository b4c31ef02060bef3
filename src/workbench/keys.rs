//! Keys in what a person wrote: an agent or context that holds a known key is refused before anything is sent or stored.

use ptc_core::reasons::Reason;

use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, Place};
use crate::model::Scrub;

impl Workbench {
    /// Refuses an agent or a context that holds the key of a configured provider. The error names the provider, never the key.
    pub(super) fn refuse_keys(&self, agent: &Agent, context: &Context) -> Result<(), StartError> {
        let (definition, data) = (agent.to_toml(), context.json.to_value().to_string());
        let found = self.config.providers.iter().find_map(|provider| {
            let secret = provider.key.as_ref()?.read().ok()?;
            let scrub = Scrub::new([secret]);
            let holds = |text: &str| scrub.clean(text).1 > 0;
            let place = match (holds(&definition), holds(&data)) {
                (_, true) => Place::Context,
                (true, false) => Place::Prompt,
                (false, false) => return None,
            };
            Some((provider, place))
        });
        let Some((provider, place)) = found else { return Ok(()) };
        let what = if place == Place::Context { "context" } else { "agent" };
        let message = format!(
            "the {what} holds the key of the provider `{}`; take it out: keys are never sent in a prompt nor written to a session",
            provider.name
        );
        Err(StartError::Agent(vec![Diagnostic::error(place, Reason::InvalidAgent, message)]))
    }
}

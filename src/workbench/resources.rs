//! Resources of MCP servers as inputs of runs: `{ resource = "server:uri" }` for a parameter of type `:file`.
//!
//! In: an agent and the context of a run that is about to begin. Out: the agent with the bytes of the resources, each read once and with
//! consent. A resource that was not read stays a name: the run reports it and sends nothing in its place.

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::tools::Looks;
use super::{StartError, Workbench};
use crate::agent::{Agent, Diagnostic, InputFile, NamedResource, Place};
use crate::event::{ConsentRecord, Decision};
use crate::tool::{Connection, ConsentDecision};

impl Workbench {
    /// Refuses resources of servers that neither the agent nor the configuration knows.
    pub(super) fn refuse_unknown_servers(&self, agent: &Agent, context: &Json) -> Result<(), StartError> {
        for (input, resource) in agent.unread_resources(context) {
            if let Err(why) = self.connection(&resource.server, Some(agent)) {
                let message = format!("`{input}` names a resource of the server `{}`: {why}", resource.server);
                let found = Diagnostic::error(Place::Context, Reason::InvalidContext, message).key(input);
                return Err(StartError::Agent(vec![found]));
            }
        }
        Ok(())
    }

    /// The agent with the resources that this context names, as far as they are allowed and can be read.
    pub(super) async fn with_resources(&self, mut agent: Agent, context: &Json, looks: &mut Looks<'_>) -> Agent {
        for (input, resource) in agent.unread_resources(context) {
            let Ok(connection) = self.connection(&resource.server, Some(&agent)) else { continue };
            let what = connection.resource_definition(&resource.server, &resource.uri);
            if looks.consents.iter().any(|known| known.what == what) {
                continue;
            }
            let decided = self.resource_decision(&what, &input, &resource, &connection, looks).await;
            let mut consent = ConsentRecord { what, decision: decided.decision, by: decided.by, failed: None };
            if decided.decision != Decision::Deny {
                let servers = looks.tools.servers();
                let read = tokio::select! {
                    biased;
                    () = looks.cancel.cancelled() => break,
                    read = servers.resource(&resource.server, &connection, &resource.uri) => read,
                };
                let file =
                    read.and_then(|bytes| InputFile::of_resource(&resource, bytes).map_err(|error| error.to_string()));
                let file = file.and_then(|file| {
                    self.refuse_file_keys([&file]).map_err(|error| error.to_string())?;
                    Ok(file)
                });
                match file {
                    Ok(file) => agent.files.push(file),
                    Err(why) => consent.failed = Some(why),
                }
            }
            looks.consents.push(consent);
        }
        agent
    }

    async fn resource_decision(
        &self,
        what: &str,
        input: &str,
        resource: &NamedResource,
        connection: &Connection,
        looks: &Looks<'_>,
    ) -> ConsentDecision {
        let grant = connection.grant(what.to_owned());
        if let Some(decided) = looks.tools.decided(&grant) {
            return decided;
        }
        let details = connection.consent_text(&resource.server);
        let text = format!(
            "The input `{input}` is a resource of this server. May it be read?\nresource   {}\n{details}",
            resource.uri
        );
        let decided = looks.asked(text).await;
        if decided.decision == Decision::Always
            && let Err(error) = self.grants().grant(&grant)
        {
            tracing::warn!(%error, "could not store the decision");
        }
        decided
    }
}

//! The tools of a live run, including those with external effects: commands, requests and servers, subject to consent.
//!
//! In: permitted calls. Out: values and failures without known secrets. The servers it starts end with it.

use crate::event::{Answerer, Decision};
use std::path::PathBuf;

use futures::future::BoxFuture;
use ptc_core::value::Value;

use super::consent::{ConsentDecision, ConsentPolicy};
use super::grant::{Grant, Grants};
use super::mcp::{ServerAccess, Servers};
use super::text::scrub_value;
use super::{Failure, Invocation, Kind, LiveTools, Tool, Tools, command, http};
use crate::model::Scrub;

/// Calls tools of every kind.
#[derive(Debug, Default)]
pub struct ExternalTools {
    policy: ConsentPolicy,
    grants: Grants,
    scrub: Scrub,
    servers: Servers,
}

impl ExternalTools {
    /// `policy` decides without stored consent, `grants` is stored consent, `scrub` knows the secrets of this machine.
    /// Server logs are not stored.
    pub fn new(policy: ConsentPolicy, grants: Grants, scrub: Scrub) -> Self {
        Self { policy, grants, servers: Servers::new(scrub.clone(), None), scrub }
    }

    /// Stores the logs of servers in this folder.
    #[must_use]
    pub fn with_log_folder(self, folder: PathBuf) -> Self {
        let servers = Servers::new(self.scrub.clone(), Some(folder)).with_access(self.servers.access().clone());
        Self { servers, ..self }
    }

    /// Reaches servers in this way.
    #[must_use]
    pub fn with_access(self, access: ServerAccess) -> Self {
        Self { servers: self.servers.with_access(access), ..self }
    }

    /// Ends the servers, which get a moment to exit. Without it they are killed on drop.
    pub async fn end(&self) {
        self.servers.end().await;
    }

    /// Returns the running servers.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Returns the decision about a permission that needs no question; `None`: ask the user.
    pub fn decided(&self, grant: &Grant) -> Option<ConsentDecision> {
        match self.policy {
            ConsentPolicy::Allow => Some(ConsentDecision::new(Answerer::AllowTools, Decision::Run)),
            _ if self.grants.is_granted(grant) => Some(ConsentDecision::new(Answerer::Stored, Decision::Always)),
            ConsentPolicy::Ask => None,
            ConsentPolicy::Refuse => Some(ConsentDecision::new(Answerer::Default, Decision::Deny)),
        }
    }
}

impl Tools for ExternalTools {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let answer = match &call.tool.kind {
                Kind::Command(command) => command::run(command, call).await,
                Kind::Http(http) => http::run(http, call, self.servers.access()).await,
                Kind::Mcp(mcp) => self.servers.call(mcp, call).await,
                _ => return LiveTools.call(call).await,
            };
            match answer {
                Ok(value) => Ok(scrub_value(value, &self.scrub)),
                Err(Failure::Error(mut record)) => {
                    record.message = self.scrub.text(&record.message);
                    Err(Failure::Error(record))
                }
                Err(Failure::Cancelled) => Err(Failure::Cancelled),
            }
        })
    }

    fn consent_decision(&self, tool: &Tool) -> Option<ConsentDecision> {
        self.decided(&tool.grant()?)
    }

    fn changes(&self, tool: &Tool) -> Vec<String> {
        tool.grant().map(|grant| self.grants.changes(&grant)).unwrap_or_default()
    }

    fn details(&self, tool: &Tool) -> Option<String> {
        tool.consent_text()
    }

    fn keep(&self, tool: &Tool) {
        let Some(grant) = tool.grant() else { return };
        if let Err(error) = self.grants.grant(&grant) {
            tracing::warn!(%error, "could not store the decision");
        }
    }
}

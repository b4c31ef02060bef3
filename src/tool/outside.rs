//! The tools of a live run that may leave the program: commands, requests, servers, behind consent.
//!
//! In: calls that were allowed. Out: values and failures without known secrets. The servers that it started end with it.

use crate::event::{Answerer, Decision};
use std::path::PathBuf;

use futures::future::BoxFuture;
use ptc_core::value::Value;

use super::consent::{Grants, Policy, Ruling};
use super::mcp::Servers;
use super::text::scrubbed;
use super::{Failure, Invocation, Kind, LiveTools, Tools, command, http};
use crate::model::Scrub;

/// Calls what stands behind each tool, also outside of the program.
#[derive(Debug, Default)]
pub struct Outside {
    policy: Policy,
    grants: Grants,
    scrub: Scrub,
    servers: Servers,
}

impl Outside {
    /// `policy`: who decides; `grants`: what was decided for good; `scrub`: knows the secrets of this machine. The logs of servers are
    /// not kept.
    pub fn new(policy: Policy, grants: Grants, scrub: Scrub) -> Self {
        Self { policy, grants, servers: Servers::new(scrub.clone(), None), scrub }
    }

    /// The same, keeping the logs of servers in this folder.
    #[must_use]
    pub fn keeping_logs(self, folder: PathBuf) -> Self {
        Self { servers: Servers::new(self.scrub.clone(), Some(folder)), ..self }
    }

    /// Ends the servers of tools, which get a moment for it. Without it they are killed when this is dropped.
    pub async fn end(&self) {
        self.servers.end().await;
    }

    /// The servers of tools that are in use.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What is decided about this definition without a question; `None`: the person is asked.
    pub fn decided(&self, definition: &str) -> Option<Ruling> {
        match self.policy {
            Policy::Allow => Some(Ruling::new(Answerer::AllowTools, Decision::Run)),
            _ if self.grants.holds(definition) => Some(Ruling::new(Answerer::Stored, Decision::Always)),
            Policy::Ask => None,
            Policy::Refuse => Some(Ruling::new(Answerer::Default, Decision::Deny)),
        }
    }
}

impl Tools for Outside {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let answer = match &call.tool.kind {
                Kind::Command(command) => command::run(command, call).await,
                Kind::Http(http) => http::run(http, call).await,
                Kind::Mcp(mcp) => self.servers.call(mcp, call).await,
                _ => return LiveTools.call(call).await,
            };
            match answer {
                Ok(value) => Ok(scrubbed(value, &self.scrub)),
                Err(Failure::Error(mut record)) => {
                    record.message = self.scrub.text(&record.message);
                    Err(Failure::Error(record))
                }
                Err(Failure::Cancelled) => Err(Failure::Cancelled),
            }
        })
    }

    fn ruling(&self, definition: &str) -> Option<Ruling> {
        self.decided(definition)
    }

    fn keep(&self, definition: &str) {
        if let Err(error) = self.grants.keep(definition) {
            tracing::warn!(%error, "the decision could not be kept");
        }
    }
}

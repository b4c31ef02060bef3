//! Executes requests about the cases of the draft: reads them, runs one.
//!
//! In: a [`TestRequest`] as an effect of `update`. Out: its [`TestResponse`] as a message. No request changes a file; runs write their sessions.

use super::EffectResult;
use crate::agent::{Agent, Diagnostic};
use crate::port::Stop;
use crate::tui::cases::{TestRequest, TestResponse};
use crate::tui::message::Msg;
use crate::tui::services::{Services, wait};
use crate::workbench::suite::TestedCase;

/// Executes a request; a stop ends the case that runs. Must be called on a blocking thread, inside of the runtime.
pub(super) fn execute(request: TestRequest, services: &Services, stop: &Stop) -> EffectResult {
    let workbench = &services.workbench;
    let response = match request {
        TestRequest::List(version, texts, folder) => {
            let agent = texts.to_agent_with(&Agent::default(), workbench.file_access());
            let cases = agent.and_then(|agent| workbench.case_outlines(&agent, &folder).map_err(|found| vec![found]));
            TestResponse::Listed(version, cases.map_err(|found| first(&found)))
        }
        TestRequest::Run { batch, texts, folder, name } => {
            let agent = texts.to_agent_with(&Agent::default(), workbench.file_access());
            let tried = agent.and_then(|agent| wait(workbench.try_case_of(&agent, folder, &name, stop)));
            let tried = tried.unwrap_or_else(|found| Some(TestedCase::untried(&name, first(&found))));
            TestResponse::Tested(batch, name, tried.map(Box::new))
        }
    };
    EffectResult::Msg(Msg::Tests(response))
}

/// The first finding that makes a draft unusable.
fn first(findings: &[Diagnostic]) -> String {
    let first = findings.iter().find(|finding| finding.is_error()).or(findings.first());
    first.map(|finding| finding.message.clone()).unwrap_or_default()
}

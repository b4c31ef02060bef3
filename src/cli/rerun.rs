//! `rerun`: a session again, live.

use std::sync::Arc;

use super::arguments::RerunFlags;
use super::fork::with;
use super::run::told;
use super::source::{agent_source, mode};
use super::{UsageError, tell};
use crate::port::Human;
use crate::workbench::{Desk, RerunSpec, Workbench};

pub(super) async fn rerun(flags: &RerunFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let desk = Arc::new(Desk::default());
    let spec = RerunSpec {
        from: flags.from.clone(),
        model: flags.model.clone(),
        mode: flags.mode.as_deref().map(mode).transpose()?,
        agent: flags.agent.as_deref().map(agent_source).transpose()?,
        person: Arc::clone(&desk) as Arc<dyn Human>,
    };
    let running = workbench.rerun(&session, spec).await?;
    tell(&super::safe_line(&format!("re-run of {}{}", session.header.id, with(flags.model.as_deref()))));
    told(running, &desk, flags.json, plain, workbench).await
}

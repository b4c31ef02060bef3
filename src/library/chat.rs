//! A conversation: an agent that receives message after message and keeps history and definitions.

use super::Run;
use crate::agent::{AgentBuilder, Step};
use crate::engine::Carry;
use crate::event::Address;

/// A conversation with an agent.
#[derive(Clone)]
pub struct Chat {
    run: Run,
    count: usize,
    last: Option<(Address, Carry)>,
}

impl Chat {
    /// Starts a conversation with the agent of this run, which also determines the model and all settings.
    pub fn new(run: Run) -> Self {
        Self { run, count: 0, last: None }
    }

    /// Sends a message as a new run. After a failed run, the next message continues the last successful one.
    pub async fn say(&mut self, message: impl Into<String>) -> Step {
        let mut run = self.run.clone().with(|agent: AgentBuilder| agent.message(message));
        run.address = Address::run(self.count);
        run.continues.clone_from(&self.last);
        let address = run.address.clone();
        let (step, carry) = run.carrying().await;
        self.count += 1;
        if step.is_ok() {
            self.last = Some((address, carry));
        }
        step
    }
}

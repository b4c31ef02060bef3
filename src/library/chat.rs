//! A conversation: an agent that is told message after message and knows what was said and defined before.

use super::Run;
use crate::agent::{Builder, Step};
use crate::engine::Carry;
use crate::event::Address;

/// An agent in a conversation.
#[derive(Clone)]
pub struct Chat {
    run: Run,
    said: usize,
    last: Option<(Address, Carry)>,
}

impl Chat {
    /// A conversation with the agent of this run; its model and everything else stay the same.
    pub fn new(run: Run) -> Self {
        Self { run, said: 0, last: None }
    }

    /// Says a message: a run whose mission it is. A failed run is forgotten: the next message continues the one before it.
    pub async fn say(&mut self, message: impl Into<String>) -> Step {
        let mut run = self.run.clone().with(|agent: Builder| agent.message(message));
        run.address = Address::run(self.said);
        run.continues.clone_from(&self.last);
        let address = run.address.clone();
        let (step, carry) = run.carrying().await;
        self.said += 1;
        if step.is_ok() {
            self.last = Some((address, carry));
        }
        step
    }
}

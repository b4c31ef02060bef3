//! One run after another: what the first leaves, and how the next says it.
//!
//! In: the end of a run, or what an earlier one left. Out: a [`Carry`], messages. What the firewall hides is not said again.

use std::sync::{Arc, PoisonError};

use ptc_core::lisp::firewall::stripped;
use ptc_core::value::Json;

use super::cycle::Cycle;
use super::{Answered, Carry, Input};
use crate::event::{Address, Role, Source};
use crate::model::Message;
use crate::port::SinkError;
use crate::prompt;

impl Cycle<'_> {
    /// What a run that continues this one gets. An answer that no message says is said by one more.
    pub(super) fn carry(&self, answered: Option<&Answered>) -> Carry {
        let mut messages: Vec<_> =
            self.messages.iter().filter(|message| message.role != Role::System).cloned().collect();
        let unsaid = answered.filter(|_| messages.last().is_some_and(|message| message.role != Role::Assistant));
        messages.extend(unsaid.map(|answered| {
            let hides = self.plan.hides();
            let value = if hides { Json::from(&stripped(&answered.value.to_value())) } else { answered.value.clone() };
            let text = value.as_str().map_or_else(|| value.to_text(), ToOwned::to_owned);
            Arc::new(Message::text(Role::Assistant, text))
        }));
        Carry {
            messages,
            memory: self.kept.memory.clone(),
            journal: self.kept.journal.clone(),
            known: self.known.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Says what was said in the run that this one continues.
    pub(super) async fn say_history(&mut self, at: &Address, input: &Input) -> Result<(), SinkError> {
        let Some((_, carry)) = &input.continues else { return Ok(()) };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).extend(carry.known.clone());
        for message in &carry.messages {
            let source = if message.role == Role::Assistant { Source::Reply } else { Source::Prompt };
            self.say(at, message.role, source, prompt::carried(message)).await?;
        }
        Ok(())
    }
}

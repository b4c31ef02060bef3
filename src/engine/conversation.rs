//! Which messages of a run its requests carry, and in which order.
//!
//! Messages are only ever added. As long as nobody edits the opening, they are sent in the order in which they were said; an opening that is
//! said anew takes the place of the old one.

use super::cycle::Cycle;
use crate::event::{Address, Role, Source};
use crate::port::SinkError;
use crate::prompt::json::Opening;

use super::Input;

/// The messages that are sent, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    order: Vec<u32>,
    /// Where the message with the task stands; the system text stands first.
    task: usize,
}

impl Conversation {
    /// A message is said.
    pub(super) fn push(&mut self, message: u32) {
        self.order.push(message);
    }

    /// The numbers in the order in which they are sent.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// All of them, as a request names them.
    pub(super) fn whole(&self) -> Vec<(u32, u32)> {
        ranges(self.order.iter().copied())
    }

    /// The message said last takes the place of this one. One that is not sent with every request has no place.
    pub(super) fn put_last_for(&mut self, message: u32) {
        match self.order.iter().position(|known| *known == message) {
            Some(place) => self.put_last_at(place),
            None => _ = self.order.pop(),
        }
    }

    /// The message said last takes this place.
    fn put_last_at(&mut self, place: usize) {
        if let Some(last) = self.order.pop()
            && let Some(old) = self.order.get_mut(place)
        {
            *old = last;
        }
    }
}

/// Numbers as inclusive ranges, in their order.
pub(super) fn ranges(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => found.push((number, number)),
        }
    }
    found
}

impl Cycle<'_> {
    /// Says the opening of a run, with what was said before it in the run that this one continues.
    pub(super) async fn open(&mut self, at: &Address, input: &Input, opening: Opening) -> Result<(), SinkError> {
        for warning in &opening.warnings {
            self.notice(at, warning.clone()).await?;
        }
        self.say(at, Role::System, Source::Prompt, opening.system).await?;
        self.say_history(at, input).await?;
        self.opening.clone_from(&opening.user);
        self.say(at, Role::User, Source::Prompt, opening.user).await?;
        self.conversation.task = self.conversation.order.len().saturating_sub(1);
        Ok(())
    }

    /// Says an edited opening: it stands in the place of the old one from now on, and what was said since stays behind it.
    pub(super) async fn open_anew(&mut self, at: &Address, opening: Opening) -> Result<(), SinkError> {
        for warning in &opening.warnings {
            self.notice(at, warning.clone()).await?;
        }
        self.say(at, Role::System, Source::Prompt, opening.system).await?;
        self.conversation.put_last_at(0);
        self.opening.clone_from(&opening.user);
        self.say(at, Role::User, Source::Prompt, opening.user).await?;
        self.conversation.put_last_at(self.conversation.task);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_said_anew_stands_where_the_old_one_stood() {
        let mut conversation = Conversation::default();
        (0..4).for_each(|number| conversation.push(number));
        conversation.task = 1;
        assert_eq!(conversation.whole(), [(0, 3)]);
        conversation.push(4);
        conversation.put_last_at(0);
        conversation.push(5);
        conversation.put_last_at(1);
        assert_eq!(conversation.whole(), [(4, 5), (2, 3)]);
        conversation.push(6);
        assert_eq!(conversation.whole(), [(4, 5), (2, 3), (6, 6)]);
    }
}

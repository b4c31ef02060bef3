//! Lists of messages that are kept for requests to come.
//!
//! In: the numbers of messages. Out: the same numbers. A conversation numbers its messages as they come, so that a list of thousands is a few
//! ranges. It must never change their order.

/// Messages by number, in order, and whether they are system messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MessageList(Vec<MessageRange>);

/// Consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MessageRange {
    first: u32,
    last: u32,
    is_system: bool,
}

impl MessageList {
    /// The list of these messages.
    pub(super) fn of(messages: &[(u32, bool)]) -> Self {
        let mut ranges: Vec<MessageRange> = Vec::new();
        for &(number, is_system) in messages {
            match ranges.last_mut() {
                Some(range) if range.is_system == is_system && range.last.checked_add(1) == Some(number) => {
                    range.last = number;
                }
                _ => ranges.push(MessageRange { first: number, last: number, is_system }),
            }
        }
        Self(ranges)
    }

    /// Its messages.
    pub(super) fn to_vec(&self) -> Vec<(u32, bool)> {
        let messages = |range: &MessageRange| {
            let is_system = range.is_system;
            (range.first..=range.last).map(move |number| (number, is_system))
        };
        self.0.iter().flat_map(messages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_every_order_and_consecutive_messages_take_the_room_of_one() {
        let rows: [(&[(u32, bool)], usize); 5] = [
            (&[], 0),
            (&[(0, true), (1, false), (2, false), (3, false)], 2),
            (&[(1, false), (2, false), (2, false), (1, false)], 3),
            (&[(4, true), (5, true), (6, false)], 2),
            (&[(u32::MAX, false), (0, false)], 2),
        ];
        for (messages, ranges) in rows {
            let list = MessageList::of(messages);
            assert_eq!((list.to_vec().as_slice(), list.0.len()), (messages, ranges));
        }
    }
}

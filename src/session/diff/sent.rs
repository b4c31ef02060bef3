//! Pairs the messages of two requests, without the pairs that the previous requests had at the same position.
//!
//! In: the messages of two runs, and the message numbers of a request. Out: pairs of messages. A request repeats most
//! of the previous one; only new messages are paired, so that comparing a run takes time in the number of its messages,
//! not of its requests.

use crate::event::{Role, SentMessage, slice};

/// The messages of a request, in sending order.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestMessages<'r> {
    pieces: Vec<&'r [SentMessage]>,
    count: usize,
    /// Number of system texts at the start.
    systems: usize,
}

type Pair<'r> = (Option<&'r SentMessage>, Option<&'r SentMessage>);

impl<'r> RequestMessages<'r> {
    /// Selects these inclusive ranges of a run's messages.
    pub(super) fn of(messages: &'r [SentMessage], ranges: &[(u32, u32)]) -> Self {
        let pieces: Vec<_> =
            ranges.iter().map(|range| slice(messages, *range)).filter(|piece| !piece.is_empty()).collect();
        let count = pieces.iter().map(|piece| piece.len()).sum();
        let systems = pieces.iter().copied().flatten().take_while(|message| message.role == Role::System).count();
        Self { pieces, count, systems }
    }

    /// Returns the message at this index.
    fn get(&self, mut index: usize) -> Option<&'r SentMessage> {
        for piece in &self.pieces {
            match piece.get(index) {
                Some(message) => return Some(message),
                None => index -= piece.len(),
            }
        }
        None
    }

    /// Returns the number of equal messages at the start.
    fn common(&self, before: &Self) -> usize {
        let mut common = 0;
        for (piece, known) in self.pieces.iter().zip(&before.pieces) {
            let number = |piece: &[SentMessage]| piece.first().map(|message| message.m);
            if number(piece) != number(known) {
                break;
            }
            common += piece.len().min(known.len());
            if piece.len() != known.len() {
                break;
            }
        }
        common
    }
}

/// Pairs the messages of two requests, system texts and others each in order, without the pairs of the previous two
/// requests.
pub(super) fn changed_pairs<'r>(
    now: (&RequestMessages<'r>, &RequestMessages<'r>),
    before: (&RequestMessages<'r>, &RequestMessages<'r>),
) -> Vec<Pair<'r>> {
    let (left, right) = now;
    let others = |sent: &RequestMessages<'_>, known: &RequestMessages<'_>| {
        if sent.systems == known.systems { sent.common(known).saturating_sub(sent.systems) } else { 0 }
    };
    let known = others(left, before.0).min(others(right, before.1));
    let of = |sent: &RequestMessages<'r>, is_system: bool, index: usize| {
        if is_system { sent.get(index).filter(|_| index < sent.systems) } else { sent.get(sent.systems + index) }
    };
    let systems = (0..left.systems.max(right.systems)).map(|index| (true, index));
    let rest = (left.count - left.systems).max(right.count - right.systems);
    let rest = (known..rest).map(|index| (false, index));
    systems.chain(rest).map(|(is_system, index)| (of(left, is_system, index), of(right, is_system, index))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::event::{SentPart, Source};

    fn run(messages: u32) -> Vec<SentMessage> {
        let role = |m: u32| if m.is_multiple_of(7) { Role::System } else { Role::User };
        let parts = |m: u32| vec![SentPart::Text { section: String::new(), text: m.to_string() }];
        (0..messages).map(|m| SentMessage { m, role: role(m), source: Source::Prompt, parts: parts(m) }).collect()
    }

    fn numbers(pairs: Vec<Pair<'_>>) -> HashSet<(Option<u32>, Option<u32>)> {
        pairs.into_iter().map(|(left, right)| (left.map(|one| one.m), right.map(|one| one.m))).collect()
    }

    #[test]
    fn skipped_pairs_were_in_the_previous_request() {
        let (one, other) = (run(60), run(60));
        // Requests that grow, lose their middle, and get another start, in a pseudo-random order.
        let mut random = 7_u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (random >> 16) % below
        };
        let mut before = (RequestMessages::default(), RequestMessages::default());
        let (mut seen, mut all) = (HashSet::new(), HashSet::new());
        let mut skipped = 0;
        for turn in 1..400 {
            let mut ranges = |end: u32| match next(4) {
                0 => vec![(0, 1), (end / 2 + 2, end)],
                1 => vec![(end - 1, end), (2, end - 2)],
                _ => vec![(0, end)],
            };
            let end = 5 + turn / 8;
            let now = (RequestMessages::of(&one, &ranges(end)), RequestMessages::of(&other, &ranges(end + 1)));
            let new = changed_pairs((&now.0, &now.1), (&before.0, &before.1));
            let whole = changed_pairs((&now.0, &now.1), (&RequestMessages::default(), &RequestMessages::default()));
            skipped += whole.len() - new.len();
            seen.extend(numbers(new));
            all.extend(numbers(whole));
            assert_eq!(seen, all, "turn {turn}");
            before = now;
        }
        assert!(skipped > 1_000, "{skipped}");
    }

    #[test]
    fn pairs_of_growing_requests_are_reported_once() {
        let messages = run(40);
        let mut before = (RequestMessages::default(), RequestMessages::default());
        let mut paired = 0;
        for end in 1..40 {
            let now = (RequestMessages::of(&messages, &[(0, end)]), RequestMessages::of(&messages, &[(0, end)]));
            paired += changed_pairs((&now.0, &now.1), (&before.0, &before.1)).len();
            before = now;
        }
        assert!(paired <= 40 + 39, "each message once, and the system text each time: {paired}");
    }
}

//! The messages of requests side by side, without looking again at those that the requests before had at the same place.
//!
//! In: the messages of two runs, and which of them a request carried. Out: pairs of messages. A request repeats most of the one before it:
//! what is looked at anew is only what has come, so that a run is compared in the time of its messages, not of its requests.

use crate::event::{Role, SentMessage, slice};

/// The messages of a request, in the order of sending.
#[derive(Debug, Clone, Default)]
pub(super) struct Sent<'r> {
    pieces: Vec<&'r [SentMessage]>,
    count: usize,
    /// How many system texts stand in front.
    systems: usize,
}

type Pair<'r> = (Option<&'r SentMessage>, Option<&'r SentMessage>);

impl<'r> Sent<'r> {
    /// Those of these inclusive ranges of a run's messages.
    pub(super) fn of(messages: &'r [SentMessage], ranges: &[(u32, u32)]) -> Self {
        let pieces: Vec<_> =
            ranges.iter().map(|range| slice(messages, *range)).filter(|piece| !piece.is_empty()).collect();
        let count = pieces.iter().map(|piece| piece.len()).sum();
        let systems = pieces.iter().copied().flatten().take_while(|message| message.role == Role::System).count();
        Self { pieces, count, systems }
    }

    /// The message at this place.
    fn get(&self, mut place: usize) -> Option<&'r SentMessage> {
        for piece in &self.pieces {
            match piece.get(place) {
                Some(message) => return Some(message),
                None => place -= piece.len(),
            }
        }
        None
    }

    /// How many messages are the same from the first on.
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

/// The messages of two requests side by side, the system texts and the others each in order, without the pairs that the two requests
/// before had already.
pub(super) fn beside<'r>(now: (&Sent<'r>, &Sent<'r>), before: (&Sent<'r>, &Sent<'r>)) -> Vec<Pair<'r>> {
    let (left, right) = now;
    let others = |sent: &Sent<'_>, known: &Sent<'_>| {
        if sent.systems == known.systems { sent.common(known).saturating_sub(sent.systems) } else { 0 }
    };
    let known = others(left, before.0).min(others(right, before.1));
    let of = |sent: &Sent<'r>, is_system: bool, place: usize| {
        if is_system { sent.get(place).filter(|_| place < sent.systems) } else { sent.get(sent.systems + place) }
    };
    let systems = (0..left.systems.max(right.systems)).map(|place| (true, place));
    let rest = (left.count - left.systems).max(right.count - right.systems);
    let rest = (known..rest).map(|place| (false, place));
    systems.chain(rest).map(|(is_system, place)| (of(left, is_system, place), of(right, is_system, place))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::event::Source;

    fn run(messages: u32) -> Vec<SentMessage> {
        let role = |m: u32| if m.is_multiple_of(7) { Role::System } else { Role::User };
        let parts = |m: u32| vec![(String::new(), m.to_string())];
        (0..messages)
            .map(|m| SentMessage {
                m,
                role: role(m),
                source: Source::Prompt,
                parts: parts(m),
                calls: Vec::new(),
                answers: None,
            })
            .collect()
    }

    fn numbers(pairs: Vec<Pair<'_>>) -> HashSet<(Option<u32>, Option<u32>)> {
        pairs.into_iter().map(|(left, right)| (left.map(|one| one.m), right.map(|one| one.m))).collect()
    }

    #[test]
    fn what_is_left_out_was_there_at_the_request_before() {
        let (one, other) = (run(60), run(60));
        // Requests that grow, lose their middle, and get another opening, in some order of chance.
        let mut chance = 7_u32;
        let mut next = |below: u32| {
            chance = chance.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (chance >> 16) % below
        };
        let mut before = (Sent::default(), Sent::default());
        let (mut seen, mut all) = (HashSet::new(), HashSet::new());
        let mut left_out = 0;
        for turn in 1..400 {
            let mut ranges = |end: u32| match next(4) {
                0 => vec![(0, 1), (end / 2 + 2, end)],
                1 => vec![(end - 1, end), (2, end - 2)],
                _ => vec![(0, end)],
            };
            let end = 5 + turn / 8;
            let now = (Sent::of(&one, &ranges(end)), Sent::of(&other, &ranges(end + 1)));
            let new = beside((&now.0, &now.1), (&before.0, &before.1));
            let whole = beside((&now.0, &now.1), (&Sent::default(), &Sent::default()));
            left_out += whole.len() - new.len();
            seen.extend(numbers(new));
            all.extend(numbers(whole));
            assert_eq!(seen, all, "turn {turn}");
            before = now;
        }
        assert!(left_out > 1_000, "{left_out}");
    }

    #[test]
    fn requests_that_only_grow_are_looked_at_once() {
        let messages = run(40);
        let mut before = (Sent::default(), Sent::default());
        let mut looked_at = 0;
        for end in 1..40 {
            let now = (Sent::of(&messages, &[(0, end)]), Sent::of(&messages, &[(0, end)]));
            looked_at += beside((&now.0, &now.1), (&before.0, &before.1)).len();
            before = now;
        }
        assert!(looked_at <= 40 + 39, "each message once, and the system text each time: {looked_at}");
    }
}

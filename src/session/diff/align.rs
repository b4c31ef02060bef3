//! Which turns of two runs belong together.
//!
//! In: the turns of both. Out: pairs in the order of both. What is the same at the start belongs together; behind it the turns are
//! matched so that as much as possible stands beside its like: the same reply, the same calls, an answer beside an answer, a
//! mistake beside a mistake. One turn more on one side is a gap then, and does not push everything behind it.

use super::SideTurn;

/// Pairs of turns that are weighed; longer runs are aligned by their numbers.
const MOST_PAIRS: usize = 1 << 20;

/// The pairs: places of turns on the left and on the right.
pub(super) fn aligned(left: &[SideTurn], right: &[SideTurn]) -> Vec<(Option<usize>, Option<usize>)> {
    let common = left.iter().zip(right).take_while(|(one, other)| one.reply() == other.reply()).count();
    let mut pairs: Vec<_> = (0..common).map(|turn| (Some(turn), Some(turn))).collect();
    let (rows, columns) = (left.len() - common, right.len() - common);
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > MOST_PAIRS {
        let side = |turn: usize, turns: usize| (turn < turns).then_some(turn);
        let rest = common..left.len().max(right.len());
        pairs.extend(rest.map(|turn| (side(turn, left.len()), side(turn, right.len()))));
        return pairs;
    }
    let (called_left, called_right) = (called(&left[common..]), called(&right[common..]));
    let like =
        |i: usize, j: usize| likeness((&left[common + i], &called_left[i]), (&right[common + j], &called_right[j]));
    // best[i][j]: what the turns from i and j on can be worth.
    let mut best = vec![vec![0_u32; columns + 1]; rows + 1];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            best[i][j] = (best[i + 1][j + 1] + like(i, j)).max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let pair = if best[i][j] == best[i + 1][j + 1] + like(i, j) {
            (Some(common + i), Some(common + j))
        } else if best[i][j] == best[i + 1][j] {
            (Some(common + i), None)
        } else {
            (None, Some(common + j))
        };
        pairs.push(pair);
        i += usize::from(pair.0.is_some());
        j += usize::from(pair.1.is_some());
    }
    pairs.extend((i..rows).map(|i| (Some(common + i), None)));
    pairs.extend((j..columns).map(|j| (None, Some(common + j))));
    pairs
}

/// The names of the tools that each turn called.
fn called(turns: &[SideTurn]) -> Vec<Vec<&str>> {
    let calls = turns.iter().map(|turn| turn.calls.items().unwrap_or_default().iter());
    calls.map(|calls| calls.filter_map(|call| call.get("name")?.as_str()).collect()).collect()
}

/// How much two turns with the tools that they called have in common; 1 for any two, so that what has no like stands beside something.
fn likeness((one, here): (&SideTurn, &[&str]), (other, there): (&SideTurn, &[&str])) -> u32 {
    let (failed_here, failed_there) = (!one.turn.success, !other.turn.success);
    let worth = [
        (one.reply() == other.reply() && !one.reply().is_empty(), 6),
        (one.program.is_some() && one.program == other.program, 5),
        (one.is_answer && other.is_answer, 4),
        (!here.is_empty() && here == there, 3),
        (here.iter().any(|name| there.contains(name)), 2),
        (failed_here == failed_there, 1),
        (failed_here && failed_there && one.turn.reason == other.turn.reason, 2),
        (one.is_answer == other.is_answer, 1),
    ];
    1 + worth.iter().filter(|(is_so, _)| *is_so).map(|(_, worth)| worth).sum::<u32>()
}

//! Aligns the turns of two runs.
//!
//! In: the turns of both. Out: pairs in the order of both. Equal turns at the start are paired; the remaining turns are
//! aligned by similarity (same reply, same calls, both answers, both failures). An additional turn on one side is a gap
//! and does not shift the turns after it.

use super::SideTurn;

/// Maximum number of compared pairs; longer runs are aligned by turn number.
const MAX_PAIRS: usize = 1 << 20;

/// Returns the pairs of turn indexes on the left and right.
pub(super) fn align_turns(left: &[SideTurn], right: &[SideTurn]) -> Vec<(Option<usize>, Option<usize>)> {
    let common = left.iter().zip(right).take_while(|(one, other)| one.reply() == other.reply()).count();
    let mut pairs: Vec<_> = (0..common).map(|turn| (Some(turn), Some(turn))).collect();
    let (rows, columns) = (left.len() - common, right.len() - common);
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > MAX_PAIRS {
        let side = |turn: usize, turns: usize| (turn < turns).then_some(turn);
        let rest = common..left.len().max(right.len());
        pairs.extend(rest.map(|turn| (side(turn, left.len()), side(turn, right.len()))));
        return pairs;
    }
    let (called_left, called_right) = (called_tools(&left[common..]), called_tools(&right[common..]));
    let score =
        |i: usize, j: usize| similarity((&left[common + i], &called_left[i]), (&right[common + j], &called_right[j]));
    // best[i][j]: the best total similarity of the turns from i and j on.
    let mut best = vec![vec![0_u32; columns + 1]; rows + 1];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            best[i][j] = (best[i + 1][j + 1] + score(i, j)).max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let pair = if best[i][j] == best[i + 1][j + 1] + score(i, j) {
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

/// Returns the names of the tools that each turn called.
fn called_tools(turns: &[SideTurn]) -> Vec<Vec<&str>> {
    let calls = turns.iter().map(|turn| turn.calls.items().unwrap_or_default().iter());
    calls.map(|calls| calls.filter_map(|call| call.get("name")?.as_str()).collect()).collect()
}

/// Returns the similarity of two turns with their called tools; at least 1, so that turns without a similar one are
/// paired too.
fn similarity((one, here): (&SideTurn, &[&str]), (other, there): (&SideTurn, &[&str])) -> u32 {
    let (failed_here, failed_there) = (!one.turn.success, !other.turn.success);
    let weights = [
        (one.reply() == other.reply() && !one.reply().is_empty(), 6),
        (one.program.is_some() && one.program == other.program, 5),
        (one.is_answer && other.is_answer, 4),
        (!here.is_empty() && here == there, 3),
        (here.iter().any(|name| there.contains(name)), 2),
        (failed_here == failed_there, 1),
        (failed_here && failed_there && one.turn.reason == other.turn.reason, 2),
        (one.is_answer == other.is_answer, 1),
    ];
    1 + weights.iter().filter(|(applies, _)| *applies).map(|(_, weight)| weight).sum::<u32>()
}

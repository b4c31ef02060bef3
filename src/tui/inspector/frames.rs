//! One frame of many: its time, its bytes, and what had come by then.

use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped::{Look, Wrapped};
use crate::workbench::format::{count, duration, size};
use crate::workbench::inspect::Frame;

/// Bytes of what came before that are shown.
const BEFORE_BYTES: usize = 4_000;

/// The rows of frame number `at` (from 0).
pub(super) fn rows(frames: &[Frame], at: usize, columns: usize) -> Vec<Row> {
    let Some(frame) = frames.get(at) else {
        return vec![Row::new([Piece::literal(Role::Dim, "nothing arrived")])];
    };
    let since = frame.ms.saturating_sub(at.checked_sub(1).and_then(|at| frames.get(at)).map_or(0, |before| before.ms));
    let place = format!("{} of {}", count(at as u64 + 1), count(frames.len() as u64));
    let time = format!("   + {}   {} after the one before", duration(frame.ms), duration(since));
    let mut rows = vec![
        Row::new([Piece::new(Role::Title, &place), Piece::new(Role::Text, &time)])
            .ending([Piece::new(Role::Dim, &size(frame.text.len() as u64))]),
        Row::new(bar(frames, at, columns)),
        Row::default(),
    ];
    rows.extend(Wrapped::of(&frame.text, columns, Look::Raw));
    let before: String = frames[..at].iter().map(|frame| frame.text.as_str()).collect();
    if !before.is_empty() {
        let from = (before.len().saturating_sub(BEFORE_BYTES)..before.len()).find(|at| before.is_char_boundary(*at));
        let shown = &before[from.unwrap_or_default()..];
        let cut = if shown.len() < before.len() { ", its end" } else { "" };
        let text = format!("before it · {}{cut}", size(before.len() as u64));
        rows.extend([Row::default(), Row::new([Piece::new(Role::Dim, &text)])]);
        rows.extend(Wrapped::of(shown, columns, Look::Raw));
    }
    rows
}

/// The frames on a line of time, the shown one marked.
fn bar(frames: &[Frame], at: usize, columns: usize) -> Vec<Piece> {
    let wide = columns.clamp(1, 60);
    let end = frames.last().map_or(0, |frame| frame.ms).max(1);
    let last = u64::try_from(wide - 1).unwrap_or_default();
    let place = |frame: &Frame| usize::try_from(frame.ms.min(end) * last / end).unwrap_or_default();
    let mut marks = vec!['·'; wide];
    for frame in frames {
        marks[place(frame)] = '▪';
    }
    let here = place(&frames[at]);
    let part = |range: std::ops::Range<usize>| marks[range].iter().collect::<String>();
    vec![
        Piece::new(Role::Dim, &part(0..here)),
        Piece::literal(Role::Accent, "●"),
        Piece::new(Role::Dim, &part((here + 1).min(wide)..wide)),
    ]
}

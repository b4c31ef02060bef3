//! What a reply that is being typed would be: its state on the rule above it, what does not fit below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line_of;
use crate::engine::{Remark, Standing};
use crate::port::Gate;
use crate::tui::backend::Question;
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::sessions::check::{self, Asked};
use crate::tui::theme::{Role, Theme};
use crate::tui::transcript::typed::Typed;

/// Issues that are shown at the same time.
const MOST_ISSUES: usize = 4;

/// What the text would be read as, when it is a reply.
pub(super) fn typed(model: &Model, question: &Question, text: &str) -> Option<Typed> {
    if question.gate == Some(Gate::Result) {
        return Some(check::data(text, false));
    }
    let is_reply = !question.address.is_question() || question.gate == Some(Gate::Apply);
    let transcript = &model.workbench.run.as_ref().filter(|_| is_reply)?.transcript;
    let turn = question.address.turn_part();
    let card = transcript.turn_card(&turn)?;
    let tools = transcript.tools_of(&turn);
    let reader = card.reader.clone();
    Some(Asked { want: card.want.clone(), schema: card.schema.clone(), tools, reader }.reply(text))
}

/// Its state as a mark and words.
pub(super) fn state(typed: &Typed) -> Piece {
    match typed.standing {
        Standing::Fits => Piece::new(Role::Good, &format!("✓ fits · {}", typed.state)),
        Standing::Reads => Piece::new(Role::Good, &format!("✓ reads · {}", typed.state)),
        Standing::Wrong => Piece::new(Role::Bad, &format!("✗ does not fit · {}", typed.state)),
        Standing::Open => Piece::new(Role::Dim, &typed.state),
    }
}

/// Draws what does not fit into the last lines of the area; the lines that are left for the text.
pub(super) fn draw_issues(typed: Option<&Typed>, area: Rect, buffer: &mut Buffer, theme: Theme) -> Rect {
    let remarks = typed.map_or(&[][..], |typed| &typed.remarks);
    let shown = remarks.len().min(MOST_ISSUES).min(usize::from(area.height / 2));
    let height = area.height - u16::try_from(shown).unwrap_or_default();
    let mut sorted: Vec<&Remark> = remarks.iter().collect();
    sorted.sort_by_key(|remark| !remark.is_error);
    for (line, remark) in sorted.into_iter().take(shown).enumerate() {
        let place = if remark.place.is_empty() { "(answer)" } else { &remark.place };
        let mark = if remark.is_error { Piece::literal(Role::Bad, "✗ ") } else { Piece::literal(Role::Warn, "! ") };
        let pieces = [mark, Piece::new(Role::JsonKey, &format!("{place}  ")), Piece::new(Role::Text, &remark.message)];
        Row::new(pieces).draw(line_of(area, usize::from(height) + line), buffer, theme);
    }
    Rect { height, ..area }
}

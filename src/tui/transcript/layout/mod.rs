//! Cards become rows. Pure: the same card, width, view and time give the same rows.

mod block;
mod end;
mod repair;
mod request;
mod start;
mod turn;
mod wire;
mod work;

use super::card::{Card, MessageStore, TurnCard};
use super::format::count;
use super::outline::Scope;
use super::partial::PartialReply;
use super::wrapped_text::{Look, View, WrappedText};
use crate::event::{Address, Check, RunStart};
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use block::{indent, prose};
use ptc_core::text::estimate_tokens;

/// Columns before the body of a card.
pub(super) const BODY_INDENT: u16 = 3;

/// Inputs of a layout other than the card.
pub(super) struct Frame<'a> {
    /// Columns of the whole card.
    pub(super) columns: usize,
    /// The view in which untrusted text is shown.
    pub(super) view: View,
    /// The card is unfolded.
    pub(super) open: bool,
    /// The run has ended.
    pub(super) over: bool,
    /// Unix time in ms.
    pub(super) now_ms: i64,
    /// Address of the card's run, turn or call.
    pub(super) at: &'a Address,
    /// Start event of the card's run.
    pub(super) start: Option<&'a RunStart>,
    /// The messages of the runs.
    pub(super) store: &'a MessageStore,
}

impl Frame<'_> {
    /// Columns of the body.
    fn body(&self) -> usize {
        self.columns.saturating_sub(usize::from(BODY_INDENT)).max(1)
    }

    /// Returns the look of a text of this language in this view.
    fn look(&self, language: Language) -> Look {
        if self.view == View::Rich { Look::Rich(language) } else { Look::Raw }
    }

    /// A text from outside as body rows.
    fn text(&self, text: &str, language: Language) -> Vec<Row> {
        indent(WrappedText::of(text, self.body(), self.look(language)), usize::from(BODY_INDENT))
    }

    /// The first row of a card.
    fn header(&self, title: &str) -> Row {
        Row::new([self.mark(), Piece::new(Role::Title, title)])
    }

    fn mark(&self) -> Piece {
        Piece::literal(Role::Accent, if self.open { "▾ " } else { "▸ " })
    }
}

/// The rows of a card.
pub(super) struct Laid<'a> {
    /// Before the body.
    pub(super) head: Vec<Row>,
    /// The part that may be long, grow and fold.
    pub(super) body: Option<Shown<'a>>,
    /// After it.
    pub(super) tail: Vec<Row>,
}

/// The content of a body.
pub(super) struct Shown<'a> {
    /// The text or value.
    pub(super) what: What<'a>,
    /// Columns for it.
    pub(super) columns: usize,
    /// Its look.
    pub(super) look: Look,
    /// The attempt it belongs to; another attempt is another text.
    pub(super) attempt: u32,
}

/// A text or a value.
pub(super) enum What<'a> {
    /// A reply as it is; it may grow at its end.
    Text(&'a str),
    /// A text that does not grow.
    Whole(&'a str),
    /// A reply that may grow, and the JSON in it.
    Reply(&'a str, &'a PartialReply, Scope),
    /// The text of a JSON value, with what does not fit in it.
    Value(String, &'a [Check], Scope),
}

impl From<Vec<Row>> for Laid<'_> {
    fn from(head: Vec<Row>) -> Self {
        Self { head, body: None, tail: Vec::new() }
    }
}

/// Lays a card out.
pub(super) fn lay<'a>(card: &'a Card, frame: &Frame<'_>) -> Laid<'a> {
    match card {
        Card::Start(card) => start::rows(card, frame).into(),
        Card::Request(card) => request::rows(card.as_deref(), frame).into(),
        Card::Turn(card) => turn::lay(card, frame),
        Card::Unread(outline, part) => {
            let Laid { head, tail, .. } = turn::lay(&TurnCard::unread(outline, *part), frame);
            Laid { head, body: None, tail }
        }
        Card::End(card) => end::rows(card, frame).into(),
        Card::Reasoning(text) => folded("Reasoning shown by the provider", text, frame).into(),
        Card::Feedback(text) => folded("Feedback sent to the model", text, frame).into(),
        Card::Notice(card) => notice(card.level.name(), &card.text, frame.columns).into(),
        Card::Unknown(card) => unknown(&card.kind, card.data.get(), frame).into(),
    }
}

/// A text under a folded header that shows its size; nothing when there is no text.
fn folded(title: &str, text: &str, frame: &Frame<'_>) -> Vec<Row> {
    if text.is_empty() {
        return Vec::new();
    }
    let size = format!("~{} tok", count(estimate_tokens(text)));
    let mut rows =
        vec![Row::new([frame.mark(), Piece::new(Role::Dim, title)]).ending([Piece::new(Role::Dim, &size)]).indented(3)];
    if frame.open {
        let columns = frame.columns.saturating_sub(5).max(1);
        rows.extend(indent(WrappedText::of(text, columns, frame.look(Language::Json)), 5));
    }
    rows
}

fn notice(level: &str, text: &str, columns: usize) -> Vec<Row> {
    let mark = if level == "info" { Piece::literal(Role::Dim, "· ") } else { Piece::literal(Role::Warn, "! ") };
    prose(vec![mark], text, Role::Text, columns)
}

fn unknown(kind: &str, data: &str, frame: &Frame<'_>) -> Vec<Row> {
    let mut rows = vec![frame.header(&format!("{kind}  (an event of a later version, kept as it is)"))];
    if frame.open {
        rows.extend(frame.text(data, Language::Json));
    }
    rows
}

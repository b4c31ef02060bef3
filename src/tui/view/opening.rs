//! What the draft would send first, whole or held against what another mode would send.

use ptc_core::text::estimate_tokens;

use crate::tui::colours::Language;
use crate::tui::inspector::lines;
use crate::tui::model::{Against, Model};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::count;
use crate::tui::transcript::wrapped::{Look, Wrapped};

/// The title of the box.
pub(super) fn title(model: &Model, against: Option<&Against>) -> String {
    let sent: u64 = model.workbench.preview.sent.iter().map(|piece| estimate_tokens(&piece.text)).sum();
    let more = match against {
        Some(against) => format!(" · against mode {}: - there, + here", against.mode),
        None if sent == 0 => String::new(),
        None => format!(" · about {} tokens", count(sent)),
    };
    format!("What would be sent{more}")
}

/// Its rows.
pub(super) fn rows(model: &Model, against: Option<&Against>, columns: usize) -> Vec<Row> {
    let preview = &model.workbench.preview;
    let text = |text: &str| Wrapped::of(text, columns, Look::Rich(Language::Plain));
    let Some(against) = against else {
        if preview.sent.is_empty() {
            let findings = model.workbench.diagnostics.iter().map(|finding| format!("✗ {}", finding.message));
            let findings = findings.collect::<Vec<_>>().join("\n");
            return part("the texts do not make a request yet", text(&findings)).collect();
        }
        let limits = preview.limits.iter().flat_map(|limit| part("! worth knowing", text(limit)));
        let sent = preview.sent.iter().flat_map(|piece| {
            let language = if piece.is_json { Language::Json } else { Language::Plain };
            let heading = format!("{} · about {} tok", piece.title, count(estimate_tokens(&piece.text)));
            part(&heading, Wrapped::of(&piece.text, columns, Look::Rich(language)))
        });
        return limits.chain(sent).skip(1).collect();
    };
    match &against.held {
        None => vec![Row::new([Piece::literal(Role::Dim, "making it …")])],
        Some(Err(why)) => {
            let heading = format!("the texts do not make a request in mode {}", against.mode);
            part(&heading, text(why)).skip(1).collect()
        }
        Some(Ok(held)) => held.iter().flat_map(|(heading, all)| part(heading, lines(all, columns))).skip(1).collect(),
    }
}

/// A heading and its text, after an empty row.
fn part(heading: &str, rows: Vec<Row>) -> impl Iterator<Item = Row> + use<> {
    [Row::default(), Row::new([Piece::new(Role::Accent, heading)])].into_iter().chain(rows)
}

//! Pictures of screens: the drawn buffer as text with ANSI colours, and as SVG; screens set up for a picture.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::backend::{Backend, Ended, OpenSession, Opening, SessionStatus, SessionSummary};
use super::draft::Draft;
use super::model::{Model, Popup, RunView, Screen};
use super::theme::{Ground, sgr_code};
use crate::event::Envelope;

/// Draws the model at this size.
pub fn picture(model: &mut Model, size: (u16, u16)) -> Buffer {
    model.size = size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    super::layout(model);
    super::draw(model, &mut buffer);
    buffer
}

/// The screen of the model at this size as SVG.
pub fn screenshot(model: &mut Model, size: (u16, u16)) -> String {
    let buffer = picture(model, size);
    let mut palette = anstyle_svg::WIN10_CONSOLE;
    let [_, dark @ .., _, _, _, _, _, _, _, _, _] = &mut palette.0;
    dark.copy_from_slice(&anstyle_svg::WIN10_CONSOLE.0[9..15]);
    let svg = anstyle_svg::Term::new().palette(palette).render_svg(&ansi(&buffer));
    // Dim text of a picture must be as readable as that of a terminal.
    svg.replace(".dimmed { opacity: 0.4; }", ".dimmed { opacity: 0.65; }")
}

/// The screens that [`scene`] can set up.
pub const SCENES: [&str; 4] = ["workbench", "sessions", "help", "actions"];

/// A model as it looks when a screen is in use: the workbench with the oldest finished session of its agent as its run.
/// The time of the picture is the session's, so that the same program gives the same picture. Reads files; runs nothing.
///
/// Errors: the names of the known screens.
pub fn scene(backend: &dyn Backend, screen: &str, size: (u16, u16)) -> Result<Model, String> {
    let mut model = Model::new(Opening { first_time: false, ..backend.opening() }, size, 0);
    let texts = model.workbench.texts();
    let preview = backend.preview(&texts);
    let sessions = backend.sessions().unwrap_or_default();
    let fits = |session: &&SessionSummary| session.agent == preview.name && session.status == SessionStatus::Ok;
    let session = sessions.iter().rev().find(fits).and_then(|session| backend.open(&session.key()).ok());
    model.workbench.checked = Some(model.workbench.version());
    model.workbench.diagnostics = backend.diagnose(&texts);
    model.workbench.preview = preview;
    if let Some(session) = &session {
        let view = played(session);
        model.now_ms = view.transcript.facts.last_ms;
        model.workbench.run = Some(view);
    }
    model.sessions.selected = sessions.first().map(super::backend::SessionSummary::key);
    model.sessions.all = Some(sessions);
    match screen {
        "workbench" => {}
        "sessions" => model.screen = Screen::Sessions,
        "help" => model.popups.push(Popup::Help { top: 0 }),
        "actions" => model.popups.push(Popup::Palette { input: Draft::default(), selected: 0 }),
        other => return Err(format!("there is no screen {other:?}; known: {}", SCENES.join(", "))),
    }
    Ok(model)
}

/// A saved session as if it had just run.
fn played(session: &OpenSession) -> RunView {
    let mut view = RunView { session: Some(session.summary.id.clone()), ended: Some(Ended::Run), ..RunView::default() };
    let end = session.runs.iter().map(|run| run.events.end).max().unwrap_or_default();
    for event in session.bodies.events(0..end).unwrap_or_default() {
        view.transcript.apply(&event);
    }
    view
}

/// The screen of a session with these events as it stands after the last one, as SVG.
pub fn session_screenshot(session: &str, events: &[Envelope], size: (u16, u16)) -> String {
    let mut model = Model::new(Opening::default(), size, 0);
    let mut view = RunView { session: Some(session.to_owned()), ended: Some(Ended::Run), ..RunView::default() };
    for envelope in events {
        view.transcript.apply(envelope);
    }
    model.now_ms = view.transcript.facts.last_ms;
    model.screen = Screen::Sessions;
    model.sessions.viewer = Some(view);
    screenshot(&mut model, size)
}

/// A buffer as lines of text with ANSI colours.
pub fn ansi(buffer: &Buffer) -> String {
    let mut out = String::new();
    let width = usize::from(buffer.area.width).max(1);
    for line in buffer.content().chunks(width) {
        let mut before = String::new();
        let mut hidden = 0;
        for cell in line {
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            let style = sgr(cell);
            if style != before {
                _ = write!(out, "\x1b[0{style}m");
                before = style;
            }
            out.push_str(cell.symbol());
            hidden = ptc_core::text::width::width(cell.symbol()).saturating_sub(1);
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// The parameters of a cell's style.
fn sgr(cell: &Cell) -> String {
    const MODIFIERS: [(Modifier, &str); 5] = [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
    ];
    let mut out: String =
        MODIFIERS.iter().filter(|(modifier, _)| cell.modifier.contains(*modifier)).map(|(_, code)| *code).collect();
    for (color, ground) in [(cell.fg, Ground::Fore), (cell.bg, Ground::Back)] {
        if let Some(code) = sgr_code(color, ground) {
            _ = write!(out, ";{code}");
        }
    }
    out
}

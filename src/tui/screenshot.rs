//! Pictures of screens: the drawn buffer as text with ANSI colours, and as SVG.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::model::{Model, RunView, Screen};
use super::theme::{Ground, sgr_code};
use crate::event::Envelope;
use crate::workbench::{OpenAgent, RunEnding};

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
    let svg = svg.replace(".dimmed { opacity: 0.4; }", ".dimmed { opacity: 0.65; }");
    // So must its magenta, which that console shows very dark.
    svg.replace("#B4009E", "#D670D6")
}

/// The screen of a session with these events after the last one, as SVG.
pub fn session_screenshot(session: &str, events: &[Envelope], size: (u16, u16)) -> String {
    let mut model = Model::new(OpenAgent::default(), size, 0);
    let mut view = RunView { session: Some(session.to_owned()), ended: Some(RunEnding::Run), ..RunView::default() };
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

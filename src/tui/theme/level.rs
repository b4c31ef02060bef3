//! Themes brought down to the colours that a terminal shows.
//!
//! In: a level. Out: themes that use no colour beyond it.

use ratatui::style::{Color, Modifier};

use super::{Level, Look, Theme};

/// The sixteen named colours: names in files, colours, and what they usually are.
pub(super) const NAMED: [(&str, Color, [u8; 3]); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 49, 49]),
    ("green", Color::Green, [13, 160, 90]),
    ("yellow", Color::Yellow, [190, 160, 16]),
    ("blue", Color::Blue, [36, 114, 200]),
    ("magenta", Color::Magenta, [188, 63, 188]),
    ("cyan", Color::Cyan, [17, 150, 190]),
    ("gray", Color::Gray, [200, 200, 200]),
    ("dark_gray", Color::DarkGray, [102, 102, 102]),
    ("light_red", Color::LightRed, [241, 96, 96]),
    ("light_green", Color::LightGreen, [80, 220, 140]),
    ("light_yellow", Color::LightYellow, [240, 230, 90]),
    ("light_blue", Color::LightBlue, [90, 160, 240]),
    ("light_magenta", Color::LightMagenta, [220, 130, 220]),
    ("light_cyan", Color::LightCyan, [80, 210, 230]),
    ("white", Color::White, [255, 255, 255]),
];

/// Steps of the colour cube in the table of 256.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Theme {
    /// The theme with no more colours than the level has. Backgrounds need a table of colours: sixteen of them are not enough
    /// to be sure that text stays readable, so what is selected is then reversed.
    #[must_use]
    pub fn at(self, level: Level) -> Self {
        Self(self.0.map(|look| match level {
            Level::True => look,
            Level::Table => Look { fg: look.fg.map(in_table), bg: look.bg.map(in_table), ..look },
            Level::Sixteen => {
                let own = self.0[0];
                let named = look.fg.filter(|fg| Some(*fg) != own.fg || !is_exact(*fg)).map(among_named);
                without_ground(Look { fg: named, ..look }, own)
            }
            Level::None => without_ground(Look { fg: None, ..look }, self.0[0]),
        }))
    }
}

fn without_ground(look: Look, text: Look) -> Look {
    let marked = look.bg.is_some() && look.bg != text.bg;
    let modifiers = if marked { look.modifiers | Modifier::REVERSED } else { look.modifiers };
    Look { bg: None, modifiers, ..look }
}

fn is_exact(color: Color) -> bool {
    matches!(color, Color::Rgb(..))
}

fn in_table(color: Color) -> Color {
    let Color::Rgb(red, green, blue) = color else { return color };
    let step = |part: u8| (0..6_u8).min_by_key(|step| STEPS[usize::from(*step)].abs_diff(part)).unwrap_or(0);
    let [r, g, b] = [step(red), step(green), step(blue)];
    let cube = [r, g, b].map(|step| STEPS[usize::from(step)]);
    let mean = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
    let shade = u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(23);
    let gray = [8 + 10 * shade; 3];
    let wanted = [red, green, blue];
    if distance(gray, wanted) < distance(cube, wanted) {
        Color::Indexed(232 + shade)
    } else {
        Color::Indexed(16 + 36 * r + 6 * g + b)
    }
}

/// The nearest colour that reads on light and on dark grounds.
fn among_named(color: Color) -> Color {
    let Color::Rgb(red, green, blue) = color else { return color };
    let readable = [Color::Red, Color::Green, Color::Blue, Color::Magenta, Color::Cyan];
    let named = NAMED.iter().filter(|(_, color, _)| readable.contains(color));
    named.min_by_key(|(_, _, parts)| distance(*parts, [red, green, blue])).map_or(Color::Reset, |(_, color, _)| *color)
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.into_iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

//! Roles of text and their looks: the only place that names colours.
//!
//! In: what a piece of text is. Out: a terminal style. The default uses the sixteen ANSI colours without white, black and
//! yellow, so it reads on light and dark backgrounds; `built_in` has two themes of true colours, `file` reads the user's own,
//! `level` removes colours that the terminal cannot show. Nothing is expressed by colour alone: every mark has a sign or a word.

mod built_in;
mod file;
mod level;

use ratatui::style::{Color, Modifier, Style};

pub use crate::config::ColourLevel as Level;
pub use built_in::BUILT_IN;
pub use file::{all, named, read};

/// Role of a piece of text, which decides its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// Ordinary text.
    #[default]
    Text,
    /// Secondary text.
    Dim,
    /// Headings.
    Title,
    /// The one accent: what is active or can be acted on.
    Accent,
    /// Success.
    Good,
    /// Errors.
    Bad,
    /// Warnings.
    Warn,
    /// Rules and borders.
    Border,
    /// A key to press.
    Key,
    /// Key of a JSON object or of a TOML line.
    JsonKey,
    /// A string.
    JsonString,
    /// A number, true, false, null.
    JsonNumber,
    /// A template tag.
    Tag,
    /// A type in a signature.
    Type,
    /// The selection.
    Selected,
    /// A place that a search has found.
    Found,
    /// The place of an error in a text.
    ErrorPlace,
    /// The place of a warning in a text.
    WarnPlace,
    /// Words that only one of two texts has.
    Differs,
}

/// Every role with its name in theme files.
pub const ROLES: [(Role, &str); 19] = [
    (Role::Text, "text"),
    (Role::Dim, "dim"),
    (Role::Title, "title"),
    (Role::Accent, "accent"),
    (Role::Good, "good"),
    (Role::Bad, "bad"),
    (Role::Warn, "warn"),
    (Role::Border, "border"),
    (Role::Key, "key"),
    (Role::JsonKey, "json_key"),
    (Role::JsonString, "json_string"),
    (Role::JsonNumber, "json_number"),
    (Role::Tag, "tag"),
    (Role::Type, "type"),
    (Role::Selected, "selected"),
    (Role::Found, "found"),
    (Role::ErrorPlace, "error_place"),
    (Role::WarnPlace, "warn_place"),
    (Role::Differs, "differs"),
];

/// Style of one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Its colour; `None` for that of ordinary text.
    fg: Option<Color>,
    /// Its background; `None` for that of ordinary text.
    bg: Option<Color>,
    modifiers: Modifier,
}

/// A mapping from roles to styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme([Look; ROLES.len()]);

impl Default for Theme {
    fn default() -> Self {
        Self::ansi()
    }
}

impl Theme {
    /// Sixteen colours.
    pub fn ansi() -> Self {
        built_in::ansi()
    }

    /// Bold, dim, reverse and underline only: `NO_COLOR`, `--no-color`.
    pub fn plain() -> Self {
        built_in::plain()
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let (look, text) = (self.look(role), self.look(Role::Text));
        let modifiers = look.modifiers;
        // The text under it must not shine through, so every attribute is set.
        let style = Style::new().add_modifier(modifiers).remove_modifier(Modifier::all().difference(modifiers));
        let style = style.fg(look.fg.or(text.fg).unwrap_or(Color::Reset));
        match look.bg.or(text.bg) {
            Some(bg) => style.bg(bg),
            None => style,
        }
    }

    fn look(&self, role: Role) -> Look {
        self.0[role as usize]
    }
}

/// The parameters of an SGR sequence for a colour of a theme; `None` for the terminal's own.
pub(super) fn sgr_code(color: Color, ground: Ground) -> Option<String> {
    let (first, extended) = match ground {
        Ground::Fore => (30, 38),
        Ground::Back => (40, 48),
    };
    match color {
        Color::Reset => None,
        Color::Rgb(red, green, blue) => Some(format!("{extended};2;{red};{green};{blue}")),
        Color::Indexed(index) => Some(format!("{extended};5;{index}")),
        named => {
            let place = level::NAMED.iter().position(|(_, other, _)| *other == named)?;
            let bright = if place < 8 { first } else { first + 60 - 8 };
            Some((bright + place).to_string())
        }
    }
}

/// The part of a cell that a colour applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// The text.
    Fore,
    /// The background.
    Back,
}

#[cfg(test)]
mod tests;

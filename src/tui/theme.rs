//! Roles of text and their looks: the only place that names colours.
//!
//! In: what a piece of text is. Out: a terminal style. The default uses the sixteen ANSI colours without white, black and
//! yellow, so it reads on light and dark backgrounds. Nothing may be told by colour alone: every mark has a sign or a word.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is.
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
    /// What is selected.
    Selected,
    /// The place of an error in a text.
    ErrorPlace,
    /// The place of a warning in a text.
    WarnPlace,
}

/// A mapping from roles to styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Sixteen colours.
    Ansi,
    /// Bold, dim, reverse and underline only: `NO_COLOR`, `--no-color`.
    Plain,
}

impl Theme {
    /// The style of a role.
    pub fn style(self, role: Role) -> Style {
        let modifiers = modifiers(role);
        // What lies below must not shine through, so everything is said.
        let style = Style::new().add_modifier(modifiers).remove_modifier(Modifier::all().difference(modifiers));
        match (self, color(role)) {
            (Self::Ansi, Some(color)) => style.fg(color),
            _ => style.fg(Color::Reset),
        }
    }
}

fn modifiers(role: Role) -> Modifier {
    match role {
        Role::Dim | Role::Border => Modifier::DIM,
        Role::Title | Role::Key | Role::Warn => Modifier::BOLD,
        Role::Selected => Modifier::REVERSED,
        Role::ErrorPlace => Modifier::UNDERLINED.union(Modifier::BOLD),
        Role::WarnPlace => Modifier::UNDERLINED,
        _ => Modifier::empty(),
    }
}

fn color(role: Role) -> Option<Color> {
    match role {
        Role::Text | Role::Dim | Role::Title | Role::Border | Role::Selected => None,
        Role::Accent | Role::Key | Role::Tag | Role::JsonKey => Some(Color::Cyan),
        Role::Good | Role::JsonString => Some(Color::Green),
        Role::Bad | Role::ErrorPlace => Some(Color::Red),
        Role::Warn | Role::WarnPlace | Role::JsonNumber | Role::Type => Some(Color::Magenta),
    }
}

/// The parameter of an SGR sequence for a foreground that this theme uses; `None` for the terminal's own.
pub(super) fn sgr_code(color: Color) -> Option<u8> {
    match color {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Magenta => Some(35),
        Color::Cyan => Some(36),
        _ => None,
    }
}

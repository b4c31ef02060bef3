//! The themes of the program: sixteen colours, none, and two of true colours.

use ratatui::style::{Color, Modifier};

use super::{Look, ROLES, Role, Theme};

/// The names of the themes that need no file.
pub const BUILT_IN: [&str; 4] = ["ansi", "dark", "light", "plain"];

/// The theme of a built-in name.
pub(super) fn find(name: &str) -> Option<Theme> {
    match name {
        "ansi" => Some(ansi()),
        "dark" => Some(true_colours(&DARK)),
        "light" => Some(true_colours(&LIGHT)),
        "plain" => Some(plain()),
        _ => None,
    }
}

pub(super) fn plain() -> Theme {
    Theme(ROLES.map(|(role, _)| Look { fg: None, bg: None, modifiers: modifiers(role) }))
}

pub(super) fn ansi() -> Theme {
    Theme(ROLES.map(|(role, _)| Look { fg: color(role), bg: None, modifiers: modifiers(role) }))
}

fn modifiers(role: Role) -> Modifier {
    match role {
        Role::Dim | Role::Border => Modifier::DIM,
        Role::Title | Role::Key | Role::Warn => Modifier::BOLD,
        Role::Selected => Modifier::REVERSED,
        Role::ErrorPlace | Role::Differs => Modifier::UNDERLINED.union(Modifier::BOLD),
        Role::WarnPlace | Role::Found => Modifier::UNDERLINED,
        _ => Modifier::empty(),
    }
}

fn color(role: Role) -> Option<Color> {
    match role {
        Role::Text | Role::Dim | Role::Title | Role::Border | Role::Selected => None,
        Role::Accent | Role::Key | Role::Tag | Role::JsonKey | Role::Found => Some(Color::Cyan),
        Role::Good | Role::JsonString => Some(Color::Green),
        Role::Bad | Role::ErrorPlace => Some(Color::Red),
        Role::Warn | Role::WarnPlace | Role::Differs | Role::JsonNumber | Role::Type => Some(Color::Magenta),
    }
}

/// The colours of a theme of true colours.
struct Palette {
    ground: u32,
    text: u32,
    dim: u32,
    border: u32,
    accent: u32,
    good: u32,
    bad: u32,
    warn: u32,
    kind: u32,
    selected: u32,
}

/// Light text on a dark ground; every colour has a contrast of at least 4.5 to the ground.
const DARK: Palette = Palette {
    ground: 0x15_1b_23,
    text: 0xd6_de_e8,
    dim: 0x8d_9a_ab,
    border: 0x7a_86_96,
    accent: 0x6c_c4_f0,
    good: 0x86_d3_8b,
    bad: 0xff_8f_85,
    warn: 0xe8_b4_6a,
    kind: 0xc8_a6_f2,
    selected: 0x2f_4d_6e,
};

/// Dark text on a light ground; the same contrast.
const LIGHT: Palette = Palette {
    ground: 0xfb_fa_f7,
    text: 0x24_2a_31,
    dim: 0x5e_67_72,
    border: 0x6a_72_7d,
    accent: 0x0b_61_8c,
    good: 0x1d_6b_2e,
    bad: 0xb0_20_24,
    warn: 0x88_4f_00,
    kind: 0x6f_3b_a8,
    selected: 0xc9_dc_ef,
};

fn true_colours(palette: &Palette) -> Theme {
    Theme(ROLES.map(|(role, _)| {
        let fg = match role {
            Role::Text | Role::Title | Role::Selected => palette.text,
            Role::Dim => palette.dim,
            Role::Border => palette.border,
            Role::Accent | Role::Key | Role::Tag | Role::JsonKey | Role::Found => palette.accent,
            Role::Good | Role::JsonString => palette.good,
            Role::Bad | Role::ErrorPlace => palette.bad,
            Role::Warn | Role::WarnPlace | Role::Differs | Role::JsonNumber => palette.warn,
            Role::Type => palette.kind,
        };
        let bg = match role {
            Role::Text => Some(palette.ground),
            Role::Selected => Some(palette.selected),
            _ => None,
        };
        let taken = Modifier::DIM | Modifier::REVERSED;
        Look { fg: Some(rgb(fg)), bg: bg.map(rgb), modifiers: modifiers(role).difference(taken) }
    }))
}

/// A colour written as `0xrrggbb`.
pub(super) fn rgb(value: u32) -> Color {
    let [_, red, green, blue] = value.to_be_bytes();
    Color::Rgb(red, green, blue)
}

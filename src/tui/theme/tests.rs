//! Themes: readable, degraded honestly, read from files with places.

use super::*;

fn brightness(color: Color) -> f64 {
    let Color::Rgb(red, green, blue) = color else { panic!("{color:?} is not a true colour") };
    let part = |part: u8| {
        let share = f64::from(part) / 255.0;
        if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
}

#[test]
fn roles_are_in_order() {
    for (place, (role, _)) in ROLES.iter().enumerate() {
        assert_eq!(*role as usize, place);
    }
}

#[test]
fn every_role_of_the_true_colour_themes_has_a_contrast_of_at_least_four_and_a_half() {
    for name in ["dark", "light"] {
        let theme = built_in::find(name).unwrap();
        for (role, called) in ROLES {
            let style = theme.style(role);
            let (fore, back) = (brightness(style.fg.unwrap()), brightness(style.bg.unwrap()));
            let contrast = (fore.max(back) + 0.05) / (fore.min(back) + 0.05);
            assert!(contrast >= 4.5, "{name} {called}: {contrast:.2}");
        }
    }
}

#[test]
fn no_theme_has_more_colours_than_the_level() {
    for name in BUILT_IN {
        let theme = built_in::find(name).unwrap();
        for (role, called) in ROLES {
            let table = theme.at(Level::Table).style(role);
            let sixteen = theme.at(Level::Sixteen).style(role);
            let none = theme.at(Level::None).style(role);
            assert!(!matches!(table.fg, Some(Color::Rgb(..))) && !matches!(table.bg, Some(Color::Rgb(..))), "{called}");
            assert!(!matches!(sixteen.fg, Some(Color::Rgb(..) | Color::Indexed(_))), "{called}");
            assert!(!matches!(sixteen.fg, Some(Color::White | Color::Black | Color::Yellow)), "{called}");
            assert_eq!((sixteen.bg, none.bg, none.fg), (None, None, Some(Color::Reset)), "{called}");
        }
        for level in [Level::Sixteen, Level::None] {
            let selected = theme.at(level).style(Role::Selected);
            assert!(selected.add_modifier.contains(Modifier::REVERSED), "{name}: what is selected stays marked");
        }
    }
    assert_eq!(Theme::ansi().at(Level::Sixteen), Theme::ansi());
    assert_eq!(Theme::ansi().at(Level::None), Theme::plain());
}

#[test]
fn the_level_follows_the_variables() {
    let level = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(String, String)> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Level::of(&move |name| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
    };
    assert_eq!(level(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]), Level::True);
    assert_eq!(level(&[("TERM", "xterm-256color")]), Level::Table);
    assert_eq!(level(&[("TERM", "linux")]), Level::Sixteen);
    assert_eq!(level(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), Level::None);
    assert_eq!(level(&[("NO_COLOR", ""), ("COLORTERM", "24bit")]), Level::True);
}

#[test]
fn a_file_changes_the_roles_that_it_names() {
    let text =
        "base = \"dark\"\n[roles]\ngood = \"#00ff00\"\nbad = { fg = \"light_red\", bold = true }\ndim = \"default\"\n";
    let theme = read(text, "mine.toml").unwrap();
    assert_eq!(theme.style(Role::Good).fg, Some(Color::Rgb(0, 255, 0)));
    assert_eq!(theme.style(Role::Bad).fg, Some(Color::LightRed));
    assert!(theme.style(Role::Bad).add_modifier.contains(Modifier::BOLD));
    assert_eq!(theme.style(Role::Dim).fg, theme.style(Role::Text).fg);
    assert_eq!(theme.style(Role::Warn), built_in::find("dark").unwrap().style(Role::Warn));
}

#[test]
fn errors_of_a_file_have_their_position() {
    let cases = [
        ("[roles]\ngod = \"red\"\n", "mine.toml:2:1", "did you mean `good`?"),
        ("[roles]\ngood = \"geen\"\n", "mine.toml:2:8", "#rrggbb"),
        ("[roles]\ngood = { fg = \"red\", bold = 1 }\n", "mine.toml:2:", "true or false"),
        ("base = \"drak\"\n", "mine.toml:1:8", "did you mean `dark`?"),
        ("[role]\n", "mine.toml:1:", "did you mean `roles`?"),
    ];
    for (text, place, part) in cases {
        let error = read(text, "mine.toml").unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(part), "{text}: {error}");
    }
    let error = named("nothing", std::path::Path::new("/nowhere")).unwrap_err();
    assert!(error.contains("ansi, dark, light, plain"), "{error}");
}

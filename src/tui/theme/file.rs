//! Themes of a user: TOML files in the folder `themes` of the configuration.
//!
//! In: the name of a theme, the folder. Out: a theme, or what is wrong with its file and where. Roles that a file does not name
//! look as in the theme it starts from.

use std::path::Path;

use ratatui::style::{Color, Modifier};

use super::{BUILT_IN, ROLES, Role, Theme, built_in, level};
use crate::config::document::{self, Entry, FileError, Key, KeyDoc, Problem, Problems, read_table};
use crate::config::read_regular_file;

/// The folder of theme files below that of the configuration.
const FOLDER: &str = "themes";
const KEYS: &[Key<Theme>] = &[
    // Read before the others, because they change what it gives.
    Key {
        name: "base",
        about: KeyDoc::Text("name of a built-in theme", "ansi", "The theme for roles that the file does not set."),
        read: |entry, _, problems| _ = problems.take(base(entry)),
    },
    Key { name: "roles", about: KeyDoc::Text("table", "", "Colours and modifiers of the roles."), read: roles },
];

/// Modifiers by their names in files.
const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// The theme of a name: a built-in one, or the file `themes/NAME.toml` below the folder of the configuration.
///
/// Errors: one line with place; that there is no such theme, with those that are there.
pub fn named(name: &str, config_dir: &Path) -> Result<Theme, String> {
    if let Some(theme) = built_in::find(name) {
        return Ok(theme);
    }
    let dir = config_dir.join(FOLDER);
    let own = files(&dir);
    if !own.iter().any(|other| other == name) {
        let known: Vec<&str> = BUILT_IN.into_iter().chain(own.iter().map(String::as_str)).collect();
        return Err(format!(
            "unknown theme {name:?}; known: {}; your own themes are in {}",
            known.join(", "),
            dir.display()
        ));
    }
    let path = dir.join(format!("{name}.toml"));
    let file = path.display().to_string();
    let text = read_regular_file(&path).map_err(|error| FileError::unreadable(&file, &error).to_string())?;
    read(&text, &file).map_err(|error| error.to_string())
}

/// Every theme that can be chosen, by name: the built-in ones with colours, then the user's own that can be read.
pub fn all(config_dir: &Path) -> Vec<(String, Theme)> {
    let mut names: Vec<String> =
        BUILT_IN.iter().filter(|name| **name != "plain").map(|name| (*name).to_owned()).collect();
    names.extend(files(&config_dir.join(FOLDER)));
    let read = |name: String| match named(&name, config_dir) {
        Ok(theme) => Some((name, theme)),
        Err(error) => {
            tracing::warn!(error, "a theme was omitted");
            None
        }
    };
    names.into_iter().filter_map(read).collect()
}

/// Names of the theme files in a folder, sorted.
fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

/// The theme of a file's text; `file` is its name for messages.
pub fn read(text: &str, file: &str) -> Result<Theme, FileError> {
    let mut problems = Problems::default();
    let mut theme = Theme::ansi();
    if let Some(document) = problems.take(document::parse(text)) {
        let root = Entry::root(&document);
        let start = root.entries().into_iter().flatten().find(|entry| entry.key == "base");
        theme = start.and_then(|entry| base(&entry).ok()).unwrap_or(theme);
        read_table(&root, KEYS, &mut theme, &mut problems);
    }
    problems.or_error(theme, file, text)
}

fn base(entry: &Entry<'_>) -> Result<Theme, Problem> {
    let name = entry.text()?;
    built_in::find(&name)
        .ok_or_else(|| entry.problem(format!("unknown theme `{name}`{}", document::advice(&name, &BUILT_IN))))
}

fn roles(entry: &Entry<'_>, theme: &mut Theme, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        match ROLES.iter().find(|(_, name)| *name == entry.key) {
            Some((role, _)) => look(&entry, *role, theme, problems),
            None => problems.push(entry.unknown(&ROLES.map(|(_, name)| name))),
        }
    }
}

/// A colour, or a table of colours and modifiers.
fn look(entry: &Entry<'_>, role: Role, theme: &mut Theme, problems: &mut Problems) {
    let look = &mut theme.0[role as usize];
    if entry.json.members().is_none() {
        if let Some(color) = problems.take(color(entry)) {
            look.fg = color;
        }
        return;
    }
    for part in problems.take(entry.entries()).unwrap_or_default() {
        let modifier = MODIFIERS.iter().find(|(name, _)| *name == part.key);
        match (part.key, modifier) {
            ("fg", _) => look.fg = problems.take(color(&part)).unwrap_or(look.fg),
            ("bg", _) => look.bg = problems.take(color(&part)).unwrap_or(look.bg),
            (_, Some((_, modifier))) => {
                if let Some(on) = problems.take(part.flag()) {
                    look.modifiers.set(*modifier, on);
                }
            }
            _ => problems.push(part.unknown(&["fg", "bg", "bold", "dim", "italic", "underline", "reverse"])),
        }
    }
}

/// A colour: `#rrggbb`, one of the sixteen names, or `default` for the terminal's own.
fn color(entry: &Entry<'_>) -> Result<Option<Color>, Problem> {
    let text = entry.text()?;
    if text == "default" {
        return Ok(None);
    }
    if let Some((_, color, _)) = level::NAMED.iter().find(|(name, _, _)| *name == text) {
        return Ok(Some(*color));
    }
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii());
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).map(built_in::rgb).map(Some).ok_or_else(|| {
        let message = "a colour is written \"#rrggbb\", by one of the sixteen names such as \"cyan\" or \"light_red\", or \"default\"";
        entry.problem(format!("`{}`: {message}; found {text:?}", entry.path))
    })
}

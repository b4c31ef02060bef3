//! Chords and the keymap: which action a key, or two keys one after the other, mean in which context.
//!
//! In: the action table and the `[keys]` of the configuration. Out: a lookup, and names of chords for footer and help.
//! Conflicts are errors that name both actions. Reading and writing of single strokes is crokey's.

use crokey::{KeyCombination, KeyCombinationFormat};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::actions::{ACTIONS, Action, ActionRow, Context};

/// The chords of every action.
#[derive(Debug, Clone)]
pub struct Keymap {
    /// For each row of the table, its chords.
    chords: Vec<Vec<Chord>>,
}

/// Former names of actions, which configurations may still use, with the present ones.
const RENAMED: &[(&str, &str)] =
    &[("sessions.go_on", "sessions.resume"), ("viewer.go_on", "viewer.resume"), ("matrix.go_on", "matrix.resume")];

/// One stroke, or two one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord {
    /// The first stroke.
    pub first: KeyCombination,
    /// The second, of a chord that has two.
    pub second: Option<KeyCombination>,
}

impl Chord {
    /// A chord as configuration files write it: `ctrl-s`, or two strokes with a space between, `alt-g p`.
    pub fn read(text: &str) -> Option<Self> {
        let mut strokes = text.split_whitespace().map(read);
        let (first, second) = (strokes.next()??, strokes.next());
        match (second, strokes.next()) {
            (None, _) => Some(Self { first, second: None }),
            (Some(second), None) => Some(Self { first, second: Some(second?) }),
            (Some(_), Some(_)) => None,
        }
    }

    /// Its name on screen: `Ctrl-S`, `Alt-G p`.
    pub fn name(self) -> String {
        match self.second {
            Some(second) => format!("{} {}", name(self.first), name(second)),
            None => name(self.first),
        }
    }

    /// Returns whether two chords are ambiguous when typed: they are equal, or one is the beginning of the other.
    fn clashes(self, other: Self) -> bool {
        self.first == other.first && (self.second == other.second || self.second.is_none() || other.second.is_none())
    }
}

/// An error in the `[keys]` of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyError {
    /// No action has this name; the nearest one that exists.
    UnknownAction(String, Option<&'static str>),
    /// This is not a chord.
    BadChord(String, String),
    /// Both actions want the chord.
    Conflict {
        /// The chord.
        chord: String,
        /// One action.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A letter without Ctrl or Alt where text is typed.
    TakesText {
        /// The chord.
        chord: String,
        /// The action.
        action: &'static str,
    },
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownAction(name, nearest) => {
                write!(f, "[keys] unknown action {name:?}")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => write!(f, "; the palette and docs/keys.md list all names"),
                }
            }
            Self::BadChord(action, chord) => {
                write!(
                    f,
                    "[keys] {action}: {chord:?} is not a key; write for example \"f5\", \"ctrl-s\", \"alt-enter\" or \"alt-g p\""
                )
            }
            Self::Conflict { chord, first, second } => {
                write!(f, "[keys] {chord} would mean both {first} and {second}; give one of them another key")
            }
            Self::TakesText { chord, action } => {
                write!(f, "[keys] {action}: {chord} is needed for typing there; add ctrl or alt")
            }
        }
    }
}

impl std::error::Error for KeyError {}

impl Default for Keymap {
    fn default() -> Self {
        Self {
            chords: ACTIONS
                .iter()
                .map(|row| row.chords.iter().filter_map(|chord| Chord::read(chord)).collect())
                .collect(),
        }
    }
}

impl Keymap {
    /// The table's chords with the configuration's in their place: action id and chords.
    pub fn configured<'a, C: AsRef<str> + 'a>(
        keys: impl IntoIterator<Item = (&'a str, &'a [C])>,
    ) -> Result<Self, Vec<KeyError>> {
        let mut map = Self::default();
        let mut errors = Vec::new();
        for (name, chords) in keys {
            let id = RENAMED.iter().find(|(former, _)| *former == name).map_or(name, |(_, id)| id);
            let Some(place) = ACTIONS.iter().position(|row| row.id == id) else {
                let nearest = ptc_core::text::nearest(name, ACTIONS.iter().map(|row| row.id));
                let nearest = ACTIONS.iter().map(|row| row.id).find(|id| nearest == Some(*id));
                errors.push(KeyError::UnknownAction(name.to_owned(), nearest));
                continue;
            };
            map.chords[place].clear();
            for chord in chords {
                match Chord::read(chord.as_ref()) {
                    Some(chord) => map.chords[place].push(chord),
                    None => errors.push(KeyError::BadChord(name.to_owned(), chord.as_ref().to_owned())),
                }
            }
        }
        errors.extend(map.conflicts());
        if errors.is_empty() { Ok(map) } else { Err(errors) }
    }

    /// Chords that mean two things at once, or take letters where text is typed.
    pub fn conflicts(&self) -> Vec<KeyError> {
        let all: Vec<(&ActionRow, Chord)> = ACTIONS
            .iter()
            .zip(&self.chords)
            .flat_map(|(row, chords)| chords.iter().map(move |chord| (row, *chord)))
            .collect();
        let mut errors = Vec::new();
        for (place, (row, chord)) in all.iter().enumerate() {
            if row.context.takes_text() && is_text(chord.first) {
                errors.push(KeyError::TakesText { chord: chord.name(), action: row.id });
            }
            let clash =
                all[place + 1..].iter().find(|(other, same)| chord.clashes(*same) && row.context.meets(other.context));
            if let Some((other, same)) = clash {
                let shorter = if same.second.is_none() { same } else { chord };
                errors.push(KeyError::Conflict { chord: shorter.name(), first: row.id, second: other.id });
            }
        }
        errors
    }

    /// Returns the action of a key in the active contexts, the innermost first.
    pub fn action(&self, key: KeyEvent, contexts: &[Context]) -> Option<Action> {
        self.meaning(Chord { first: chord(key), second: None }, contexts)
    }

    /// Returns the action of a complete chord in the active contexts, the innermost first.
    pub fn meaning(&self, chord: Chord, contexts: &[Context]) -> Option<Action> {
        contexts.iter().find_map(|context| {
            ACTIONS
                .iter()
                .zip(&self.chords)
                .find(|(row, chords)| row.context == *context && chords.contains(&chord))
                .map(|(row, _)| row.action)
        })
    }

    /// Returns the second strokes that can follow a first one in the active contexts, each with its action.
    pub fn following(&self, first: KeyCombination, contexts: &[Context]) -> Vec<(String, &'static ActionRow)> {
        let active = ACTIONS.iter().zip(&self.chords).filter(|(row, _)| contexts.contains(&row.context));
        let begun = active.flat_map(|(row, chords)| chords.iter().map(move |chord| (row, chord)));
        begun
            .filter(|(_, chord)| chord.first == first)
            .filter_map(|(row, chord)| Some((name(chord.second?), row)))
            .collect()
    }

    /// Returns whether a stroke with Ctrl or Alt begins a chord in any context.
    pub fn begins_chord(&self, stroke: KeyCombination) -> bool {
        let is_prefix = stroke.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let begins = |chord: &Chord| chord.first == stroke && chord.second.is_some();
        is_prefix && self.chords.iter().flatten().any(begins)
    }

    /// Names of the chords of an action, such as `Ctrl-P`.
    pub fn names(&self, action: Action) -> Vec<String> {
        ACTIONS
            .iter()
            .zip(&self.chords)
            .filter(|(row, _)| row.action == action)
            .flat_map(|(_, chords)| chords.iter().map(|chord| chord.name()))
            .collect()
    }

    /// Names of the chords of one row of the table.
    pub fn names_of(&self, row: &ActionRow) -> Vec<String> {
        let place = ACTIONS.iter().position(|other| other.id == row.id);
        place.into_iter().flat_map(|place| self.chords[place].iter().map(|chord| chord.name())).collect()
    }

    /// The name of a row's first chord; empty when it has none.
    pub fn first_name_of(&self, row: &ActionRow) -> String {
        self.names_of(row).into_iter().next().unwrap_or_default()
    }

    /// The name of an action's first chord; empty when it has none.
    pub fn first_name(&self, action: Action) -> String {
        self.names(action).into_iter().next().unwrap_or_default()
    }
}

/// A stroke as configuration files write it.
pub fn read(chord: &str) -> Option<KeyCombination> {
    let chord = crokey::parse(chord).ok()?.normalized();
    chord.is_ansi_compatible().then(|| back_tab(chord))
}

/// The stroke of a key event.
pub fn chord(key: KeyEvent) -> KeyCombination {
    let modifiers =
        key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::SUPER);
    let plain = match key.code {
        KeyCode::Char(c) if !c.is_ascii_alphabetic() => modifiers - KeyModifiers::SHIFT,
        _ => modifiers,
    };
    let code = match key.code {
        KeyCode::Char(c) if plain.contains(KeyModifiers::CONTROL) => KeyCode::Char(c.to_ascii_lowercase()),
        code => code,
    };
    back_tab(KeyCombination::one_key(code, plain).normalized())
}

/// Terminals report Shift-Tab in two ways; this is the one.
fn back_tab(chord: KeyCombination) -> KeyCombination {
    let tab = KeyCombination::one_key(KeyCode::Tab, KeyModifiers::SHIFT);
    let bare = KeyCombination::one_key(KeyCode::BackTab, KeyModifiers::NONE);
    if chord == tab || chord == bare { KeyCombination::one_key(KeyCode::BackTab, KeyModifiers::SHIFT) } else { chord }
}

fn is_text(chord: KeyCombination) -> bool {
    let plain = (chord.modifiers - KeyModifiers::SHIFT).is_empty();
    plain
        && chord.codes == crokey::OneToThree::One(*chord.codes.first())
        && matches!(chord.codes.first(), KeyCode::Char(_))
}

/// The name of a stroke on screen.
pub fn name(chord: KeyCombination) -> String {
    let letter = matches!(chord.codes.first(), KeyCode::Char(_));
    let format = KeyCombinationFormat::default();
    let format = if letter { format.with_implicit_shift() } else { format };
    let name = format.to_string(chord).replace("BackTab", "Shift-Tab");
    match name.rsplit_once('-') {
        Some((before, letter)) if letter.len() == 1 => format!("{before}-{}", letter.to_ascii_uppercase()),
        _ => name,
    }
}

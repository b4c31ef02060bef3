//! Chords as the bytes that a terminal sends for them.

/// The bytes of a chord as the table of actions writes it, such as `ctrl-end`, `shift-r` or `alt-g p`.
pub(crate) fn bytes(chord: &str) -> String {
    chord.split(' ').map(stroke).collect()
}

/// Keys whose sequence ends with a letter, and keys whose sequence is a number.
const LETTERS: &[(&str, char)] = &[
    ("up", 'A'),
    ("down", 'B'),
    ("right", 'C'),
    ("left", 'D'),
    ("home", 'H'),
    ("end", 'F'),
    ("f1", 'P'),
    ("f2", 'Q'),
    ("f3", 'R'),
    ("f4", 'S'),
];
const NUMBERS: &[(&str, u8)] = &[
    ("delete", 3),
    ("pageup", 5),
    ("pagedown", 6),
    ("f5", 15),
    ("f6", 17),
    ("f7", 18),
    ("f8", 19),
    ("f9", 20),
    ("f10", 21),
    ("f11", 23),
    ("f12", 24),
];
const PLAIN: &[(&str, &str)] =
    &[("enter", "\r"), ("tab", "\t"), ("backtab", "\x1b[Z"), ("esc", "\x1b"), ("space", " "), ("backspace", "\x7f")];

fn stroke(stroke: &str) -> String {
    let (modifiers, key) = stroke.rsplit_once('-').unwrap_or(("", stroke));
    let has = |name: &str| modifiers.split('-').any(|modifier| modifier == name);
    let (shift, alt, ctrl) = (has("shift"), has("alt"), has("ctrl"));
    // What xterm adds for each modifier, and one.
    let held = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
    if let Some((_, letter)) = LETTERS.iter().find(|(name, _)| *name == key) {
        return match (held, key.starts_with('f')) {
            (1, true) => format!("\x1bO{letter}"),
            (1, false) => format!("\x1b[{letter}"),
            _ => format!("\x1b[1;{held}{letter}"),
        };
    }
    if let Some((_, number)) = NUMBERS.iter().find(|(name, _)| *name == key) {
        return if held == 1 { format!("\x1b[{number}~") } else { format!("\x1b[{number};{held}~") };
    }
    let plain = PLAIN.iter().find(|(name, _)| *name == key).map(|(_, bytes)| (*bytes).to_owned());
    let character = || key.chars().next().filter(|_| key.chars().count() == 1);
    let text = match (plain, character()) {
        (Some(plain), _) => plain,
        (None, Some(letter)) if ctrl && letter.is_ascii_alphabetic() => char::from(letter as u8 & 0x1f).to_string(),
        (None, Some(letter)) if shift => letter.to_uppercase().to_string(),
        (None, Some(letter)) => letter.to_string(),
        (None, None) => panic!("no bytes are known for {stroke}"),
    };
    if alt { format!("\x1b{text}") } else { text }
}

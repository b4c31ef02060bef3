//! Classes of characters: plain text, emoji joiners, and the visible pictures of all others.

use std::fmt::Write as _;

/// Zero-width joiner: joins emoji into one.
const ZWJ: char = '\u{200d}';

/// True if `c` is allowed in safe text between `last` (the previous character kept) and `next` (the following one).
/// Line feeds are handled by the caller.
pub(super) fn is_plain(c: char, last: Option<char>, next: Option<char>) -> bool {
    match c {
        ' '..='~' => true,
        ZWJ => last.is_some_and(ends_emoji) && next.is_some_and(is_emoji),
        '\u{fe0e}' | '\u{fe0f}' => last.is_some_and(takes_presentation),
        c => !c.is_control() && !is_hidden(c),
    }
}

/// Writes the visible picture of a character that is not text.
pub(super) fn push_picture(out: &mut String, c: char) {
    match c {
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER)),
        '\u{7f}' => out.push('␡'),
        c => _ = write!(out, "·U+{:04X}·", c as u32),
    }
}

/// Characters without a picture of their own that hide, reorder or smuggle text: the default-ignorable code points of
/// Unicode, line and paragraph separators, interlinear annotation and non-characters.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || c as u32 & 0xfffe == 0xfffe
}

/// True if a joiner may follow this character.
fn ends_emoji(c: char) -> bool {
    is_emoji(c) || c == '\u{fe0f}'
}

/// True if a presentation selector may follow this character.
fn takes_presentation(c: char) -> bool {
    is_emoji(c) || matches!(c, '0'..='9' | '#' | '*' | '©' | '®')
}

/// Pictographs, approximately: the blocks that contain emoji. Deliberately wider than the Unicode property; a joiner
/// after another symbol of these blocks is harmless.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{24c2}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2934}' | '\u{2935}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

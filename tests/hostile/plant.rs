//! The hostile text, and what it would do where it leaks.

/// Sequences in seven and eight bits: clear, colours, titles, links, clipboard, device strings, private messages; controls, and characters that
/// hide or reorder; at the end two that never end. Each has a number or a word that the program never writes itself.
const SEQUENCES: [&str; 30] = [
    "\u{1b}[7777m",
    "\u{1b}[2J\u{1b}[7777;1H",
    "\u{9b}7777m",
    "\u{1b}]0;EVIL\u{7}",
    "\u{9d}0;EVIL\u{9c}",
    "\u{1b}]8;;http://evil.test\u{1b}\\link",
    "\u{1b}]52;c;RVZJTA==\u{1b}\\",
    "\u{1b}P7777q\u{1b}\\",
    "\u{90}7777q\u{9c}",
    "\u{1b}_EVIL\u{1b}\\",
    "\u{9f}EVIL\u{9c}",
    "\u{1b}^EVIL\u{1b}\\",
    "\u{9e}EVIL\u{9c}",
    "\u{1b}XEVIL\u{1b}\\",
    "\u{98}EVIL\u{9c}",
    "\u{1b}c",
    "\u{1b}(0",
    "\u{1b}#8",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{e0041}",
    "\u{0}\u{7}\u{8}",
    "\u{7f}\u{85}\u{84}",
    "\u{2028}",
    "\r",
    "\u{1b}[31",
    "\u{1b}]0;never ended",
];

/// A text that begins with `zq` and its source, so that it can be found again where it is printed.
pub(super) fn planted(source: &str) -> String {
    format!("zq{source} {}", SEQUENCES.join(" "))
}

/// The same as a part of a file's name.
pub(super) fn without_slash(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '/' | '\0')).take(90).collect()
}

/// The characters of a text that act in a terminal or a reader, hide text or reorder it.
pub(super) fn acting(text: &str) -> Vec<char> {
    let acts = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    text.chars().filter(acts).collect()
}

/// Returns the sequences and characters sent to a terminal that the program never sends by itself.
pub(super) fn foreign(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut found: Vec<String> = Vec::new();
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            // The program's own sequences are CSI alone; none has this number.
            '\u{1b}' => {
                let end = rest.find(|c: char| ('@'..='~').contains(&c) && c != '[').unwrap_or(rest.len());
                let sequence = rest.get(..=end).unwrap_or(rest);
                let known = sequence.starts_with('[') && sequence.ends_with(['h', 'l', 'm', 'H', 'K', 'J', 'u']);
                if !known || sequence.contains("7777") {
                    found.push(format!("ESC {sequence:?}"));
                }
            }
            '\n' | '\r' => {}
            c if !acting(&c.to_string()).is_empty() => {
                found.push(format!("{c:?} before {:?}", rest.chars().take(9).collect::<String>()));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn what_leaks_is_seen() {
    assert!(foreign("\u{1b}[?25l\u{1b}[38;5;1mtext\u{1b}[0m\u{1b}[3;4H".as_bytes()).is_empty());
    for sequence in SEQUENCES.iter().filter(|sequence| **sequence != "\r") {
        assert!(!foreign(sequence.as_bytes()).is_empty() && !acting(sequence).is_empty(), "{sequence:?}");
    }
    assert_eq!(acting("a\r\n"), ['\r']);
}

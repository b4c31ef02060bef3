//! The search for a key in everything that the program has written and can be made to write about its sessions.

use std::path::Path;

use ptc_workbench::event::Event;
use ptc_workbench::export::Format;
use ptc_workbench::model::unpack;
use ptc_workbench::session::Session;

use super::program::Program;

/// Commands that print something about a session.
const ABOUT: [&[&str]; 9] = [
    &["sessions", "show", "{}"],
    &["sessions", "show", "{}", "--plain"],
    &["compare", "{}", "{}"],
    &["sessions", "recover", "{}"],
    &["sessions", "show", "{}", "--json"],
    &["replay", "{}"],
    &["replay", "{}", "--check"],
    &["replay", "{}", "--json"],
    &["sessions", "export", "{}", "--preview"],
];

/// Commands that print something about the program and all of its sessions.
const ITSELF: [&[&str]; 11] = [
    &["sessions", "tree"],
    &["models", "--json"],
    &["models"],
    &["models", "--check", "--json"],
    &["models", "--check"],
    &["doctor"],
    &["doctor", "--json"],
    &["sessions", "list"],
    &["sessions", "list", "--json"],
    &["sessions", "search", "key"],
    &["sessions", "search", "key", "--json"],
];

/// Asks for everything there is, and fails where a piece of the key is in an output, in a file of the program's folder, or in the
/// raw frames of a session. `flags` come before each command.
pub(crate) fn assert_no_key(program: &Program, flags: &[&str], key: &str) {
    let run = |arguments: &[&str]| {
        let done = program.run(flags.iter().chain(arguments));
        (arguments.join(" "), done.stdout + &done.stderr)
    };
    // The short form reads each once, as text.
    let itself = ITSELF.iter().filter(|arguments| crate::is_complete() || !arguments.contains(&"--json"));
    let mut everything: Vec<(String, String)> = itself.map(|arguments| run(arguments)).collect();
    let sessions = program.session_files();
    for (number, file) in sessions.iter().enumerate() {
        let path = file.display().to_string();
        // Each session by a sample of the commands and formats; CI tries all of them for a few sessions.
        let tries_all = sessions.len() < 6 && crate::is_complete();
        let is_tried = |place: usize| tries_all || crate::is_in_sample(place + number);
        for (_, about) in ABOUT.iter().enumerate().filter(|(place, _)| is_tried(*place)) {
            let arguments: Vec<&str> = about.iter().map(|word| if *word == "{}" { &path } else { *word }).collect();
            everything.push(run(&arguments));
        }
        for (_, format) in Format::ALL.iter().enumerate().filter(|(place, _)| is_tried(*place)) {
            let folder = format!("{path}.bundle");
            let to = if *format == Format::Bundle { &["-o", &folder][..] } else { &[] };
            let (output, text) = run(&[&["sessions", "export", &path, "--format", format.name()], to].concat());
            assert!(!text.starts_with("error"), "{output}: {text}");
            everything.push((output, text));
        }
    }
    let start = beginning(key);
    for (what, text) in everything {
        assert!(!holds(&text, start), "{what}: {text}");
    }
    assert_no_key_in_files(program, key);
}

/// The same for what is written already.
pub(crate) fn assert_no_key_in_files(program: &Program, key: &str) {
    let mut everything = Vec::new();
    files(program.dir(), &mut everything);
    everything
        .extend(program.session_files().iter().map(|file| (format!("frames of {}", file.display()), frames(file))));
    for (what, text) in everything {
        assert!(!holds(&text, beginning(key)), "{what}: {text}");
    }
}

/// Returns whether the text contains the word, as it is spelled or as JSON and addresses may spell it.
fn holds(text: &str, word: &str) -> bool {
    text.contains(word) || plain(text).contains(word)
}

/// The text with its escapes undone, those of texts within texts too: a key that is spelled with them is a key that got out.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '%']) {
        out.push_str(&rest[..at]);
        let (before, digits) = if rest[at..].starts_with('%') { ("%", 2) } else { ("u", 4) };
        let behind = rest[at..].trim_start_matches('\\');
        let code = behind.strip_prefix(before).and_then(|code| u32::from_str_radix(code.get(..digits)?, 16).ok());
        match code.and_then(char::from_u32) {
            Some(letter) => {
                out.push(letter);
                rest = &behind[1 + digits..];
            }
            None if before == "%" => {
                out.push('%');
                rest = &rest[at + 1..];
            }
            None => rest = behind,
        }
    }
    out + rest
}

/// Returns the first three quarters of the key, which must not appear anywhere either.
fn beginning(key: &str) -> &str {
    &key[..key.len() * 3 / 4]
}

fn frames(file: &Path) -> String {
    let session = Session::open(file).unwrap();
    let wires = session.events().filter_map(|envelope| match envelope.event {
        Event::Wire(wire) => Some(wire),
        _ => None,
    });
    let reads = wires.into_iter().flat_map(|wire| unpack(&wire).unwrap());
    reads.map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

fn files(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            into.push((path.display().to_string(), text));
        }
    }
}

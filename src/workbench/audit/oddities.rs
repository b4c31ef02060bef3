//! Oddities of a file: characters that hide or reorder text, control characters, huge values, another owner.
//!
//! In: a tree or a path. Out: oddities with their place. It looks at every key and every text.

use std::path::Path;

use ptc_core::text::safe::hides;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::Auditor;

/// Minimum bytes of a huge text.
const HUGE_TEXT: usize = 64 << 10;
/// Minimum items of a huge list or table.
const HUGE_LIST: usize = 10_000;
/// Oddities of one file; further ones are counted.
const MOST: usize = 100;
/// Characters that one oddity names.
const NAMED: usize = 5;

/// Looks at a whole document.
pub(super) fn document(document: &Json, auditor: &mut Auditor<'_>) {
    tree(document, "", auditor);
}

/// Looks at every key and text of a tree; `at` is its place.
pub(super) fn tree(root: &Json, at: &str, auditor: &mut Auditor<'_>) {
    let mut open = vec![(at.to_owned(), root)];
    let mut dropped = 0_usize;
    let mut found = Vec::new();
    while let Some((at, json)) = open.pop() {
        let join = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
        let mut note = |at: &str, what: Option<String>| match what {
            Some(what) if found.len() < MOST => found.push((at.to_owned(), what)),
            Some(_) => dropped += 1,
            None => {}
        };
        match &json.node {
            Node::Str(text) => {
                note(&at, characters(text));
                note(&at, (text.len() > HUGE_TEXT).then(|| format!("huge: a text of {} bytes", text.len())));
            }
            Node::List(items) => {
                note(&at, (items.len() > HUGE_LIST).then(|| format!("huge: a list of {} items", items.len())));
                open.extend(items.iter().enumerate().rev().map(|(number, item)| (join(&number.to_string()), item)));
            }
            Node::Object(members) => {
                note(&at, (members.len() > HUGE_LIST).then(|| format!("huge: a table of {} keys", members.len())));
                for member in members {
                    note(&at, characters(&member.key).map(|what| format!("in a key: {what}")));
                }
                open.extend(members.iter().rev().map(|member| (join(&member.key), &member.value)));
            }
            _ => {}
        }
    }
    for (at, what) in found {
        auditor.add_oddity(at, what);
    }
    if dropped > 0 {
        auditor.add_oddity(at, format!("{dropped} further findings"));
    }
}

/// The characters of a text that hide, reorder or control.
fn characters(text: &str) -> Option<String> {
    let is_odd = |c: &char| hides(*c) || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
    let count = text.chars().filter(is_odd).count();
    let mut names: Vec<String> = Vec::new();
    for c in text.chars().filter(is_odd) {
        let name = format!("U+{:04X}", u32::from(c));
        if !names.contains(&name) && names.len() < NAMED {
            names.push(name);
        }
    }
    (count > 0).then(|| format!("{count} invisible or control characters: {}", names.join(", ")))
}

/// Looks at the owner and the permissions of a file.
pub(super) fn owner(path: &Path, auditor: &mut Auditor<'_>) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(metadata) = std::fs::metadata(path) else { return };
        let file = path.display().to_string();
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            auditor.add_oddity(file.as_str(), format!("foreign origin: it belongs to the user {}", metadata.uid()));
        }
        if metadata.mode() & 0o002 != 0 && metadata.is_file() {
            auditor.add_oddity(file, "every user of this machine can change it");
        }
    }
    #[cfg(not(unix))]
    let _ = (path, auditor);
}

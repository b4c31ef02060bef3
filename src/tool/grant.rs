//! Grants: stored permissions for one program in one place, or for one server.
//!
//! In: a tool or a connection. Out: whether it is granted, and what has changed since. A grant is bound to the
//! definition that the user saw and to what the definition leaves open: the working folder, the program that its name
//! resolves to, and the content of the program and of its file arguments if they are in that folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Program;
use crate::config::{create_private_dir, private_options, write_private_file};
use crate::event::hex_sha;

/// Largest file whose content a grant covers; a larger one is never granted.
const MAX_HASHED_BYTES: u64 = 64 << 20;

/// A permission: a definition, and the values that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The text that the user allowed.
    pub definition: String,
    /// Values that the definition leaves open, by name: `folder`, `program`, `content of …`.
    #[serde(default)]
    pub bound_to: BTreeMap<String, String>,
}

impl Grant {
    /// The grant of a definition that leaves nothing open.
    pub fn new(definition: String) -> Self {
        Self { definition, bound_to: BTreeMap::new() }
    }

    /// The grant of a definition that starts this program.
    pub fn of_program(definition: String, program: &Program) -> Self {
        let mut grant = Self::new(definition);
        let folder = PathBuf::from(program.folder.as_deref().unwrap_or("."));
        let folder = folder.canonicalize().unwrap_or(folder);
        grant.bind("folder", folder.display().to_string());
        let path = resolve(program.name(), &folder);
        grant.bind("program", path.as_ref().map_or_else(|| "not found".to_owned(), |path| path.display().to_string()));
        if let Some(path) = path.filter(|path| path.starts_with(&folder)) {
            grant.bind("content of the program", content_hash(&path));
        }
        for argument in program.argv.iter().skip(1) {
            let Ok(path) = folder.join(argument).canonicalize() else { continue };
            if path.starts_with(&folder) && path.is_file() {
                grant.bind(&format!("content of {argument}"), content_hash(&path));
            }
        }
        grant
    }

    pub(super) fn bind(&mut self, name: &str, value: String) {
        self.bound_to.insert(name.to_owned(), value);
    }

    /// Its short name, for `tools grants --revoke`.
    pub fn id(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        hex_sha(text.as_bytes()).chars().take(8).collect()
    }

    /// True if it cannot be stored: a file is too large or unreadable.
    fn is_unbound(&self) -> bool {
        self.bound_to.values().any(|value| value == UNREADABLE)
    }

    /// The names of what differs from a stored grant of the same definition.
    fn differences(&self, stored: &Self) -> Vec<String> {
        let names = self.bound_to.keys().chain(stored.bound_to.keys());
        let mut names: Vec<String> =
            names.filter(|name| self.bound_to.get(*name) != stored.bound_to.get(*name)).cloned().collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The place of a hash for content that cannot be hashed.
const UNREADABLE: &str = "unreadable or too large";

/// The file that a program's name resolves to, as for starting it: relative to the folder, or in PATH.
pub(super) fn resolve(name: &str, folder: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return folder.join(name).canonicalize().ok();
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|path| folder.join(path).join(name))
        .find(|path| path.is_file())?
        .canonicalize()
        .ok()
}

fn content_hash(path: &Path) -> String {
    let read = || -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = File::open(path)?.take(MAX_HASHED_BYTES + 1).read_to_end(&mut bytes)?;
        Ok((read as u64 <= MAX_HASHED_BYTES).then(|| hex_sha(&bytes)))
    };
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let hash = if is_file { read().ok().flatten() } else { None };
    hash.unwrap_or_else(|| UNREADABLE.to_owned())
}

/// The stored grants: a file of the user, one JSON object per line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    file: Option<PathBuf>,
}

impl Grants {
    /// Uses this file.
    pub fn at(file: PathBuf) -> Self {
        Self { file: Some(file) }
    }

    /// All stored grants; lines that cannot be read grant nothing.
    pub fn all(&self) -> Vec<Grant> {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// True if the same definition was granted once, here or elsewhere.
    pub fn knows(&self, definition: &str) -> bool {
        self.all().iter().any(|grant| grant.definition == definition)
    }

    /// True if exactly this is granted.
    pub fn is_granted(&self, grant: &Grant) -> bool {
        !grant.is_unbound() && self.all().contains(grant)
    }

    /// Returns the names of the values that have changed since the same definition was granted; empty if it was never granted, or if
    /// nothing has changed.
    pub fn changes(&self, grant: &Grant) -> Vec<String> {
        let stored = self.all();
        if stored.contains(grant) {
            return Vec::new();
        }
        let same = stored.iter().rev().find(|stored| stored.definition == grant.definition);
        same.map(|stored| grant.differences(stored)).unwrap_or_default()
    }

    /// Stores a grant. Without a file nothing is stored.
    pub fn grant(&self, grant: &Grant) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| !self.is_granted(grant)) else { return Ok(()) };
        if grant.is_unbound() {
            return Err(io::Error::other("a file of the tool is unreadable or too large to be allowed for later runs"));
        }
        if let Some(folder) = file.parent() {
            create_private_dir(folder)?;
        }
        let line = serde_json::to_string(grant)? + "\n";
        private_options().create(true).append(true).open(file)?.write_all(line.as_bytes())
    }

    /// Removes the grants with this short name; returns them.
    pub fn revoke(&self, id: &str) -> io::Result<Vec<Grant>> {
        let (revoked, kept): (Vec<Grant>, Vec<Grant>) = self.all().into_iter().partition(|grant| grant.id() == id);
        let Some(file) = self.file.as_ref().filter(|_| !revoked.is_empty()) else { return Ok(Vec::new()) };
        let mut text = String::new();
        for grant in &kept {
            text += &serde_json::to_string(grant)?;
            text.push('\n');
        }
        let new = file.with_extension("new");
        write_private_file(&new, text.as_bytes())?;
        std::fs::rename(new, file)?;
        Ok(revoked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(folder: &Path, argv: &[&str]) -> Program {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        Program { argv, folder: Some(folder.display().to_string()), variables: Vec::new() }
    }

    fn grant(folder: &Path, argv: &[&str]) -> Grant {
        Grant::of_program("command".to_owned(), &program(folder, argv))
    }

    #[test]
    fn a_grant_is_valid_for_one_program_in_one_folder_with_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("a"), dir.path().join("b"));
        for folder in [&here, &there] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("tool.sh"), "echo 1").unwrap();
            std::fs::write(folder.join("data.txt"), "x").unwrap();
        }
        let grants = Grants::at(dir.path().join("tools/allowed"));
        let argv = ["./tool.sh", "data.txt"];
        grants.grant(&grant(&here, &argv)).unwrap();
        grants.grant(&grant(&here, &argv)).unwrap();
        assert_eq!(grants.all().len(), 1);
        assert!(grants.is_granted(&grant(&here, &argv)) && grants.changes(&grant(&here, &argv)).is_empty());
        assert!(!grants.is_granted(&grant(&there, &argv)));
        assert_eq!(grants.changes(&grant(&there, &argv)), ["folder", "program"]);
        std::fs::write(here.join("tool.sh"), "echo 2").unwrap();
        assert_eq!(grants.changes(&grant(&here, &argv)), ["content of the program"]);
        std::fs::write(here.join("tool.sh"), "echo 1").unwrap();
        std::fs::write(here.join("data.txt"), "y").unwrap();
        assert_eq!(grants.changes(&grant(&here, &argv)), ["content of data.txt"]);
        assert!(!grants.is_granted(&grant(&here, &argv)));
    }

    #[test]
    fn a_revoked_grant_allows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let grants = Grants::at(dir.path().join("allowed"));
        let (one, two) =
            (Grant::new("http GET https://a.example".to_owned()), Grant::new("http GET https://b.example".to_owned()));
        grants.grant(&one).unwrap();
        grants.grant(&two).unwrap();
        assert_eq!(grants.revoke("00000000").unwrap(), []);
        assert_eq!(grants.revoke(&one.id()).unwrap(), std::slice::from_ref(&one));
        assert!(!grants.is_granted(&one) && grants.is_granted(&two));
        Grants::default().grant(&one).unwrap();
    }

    #[test]
    fn lines_of_another_form_grant_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("allowed");
        let definition = "command \"wc\"";
        std::fs::write(&file, format!("{} {definition}\n", hex_sha(definition.as_bytes()))).unwrap();
        assert_eq!(Grants::at(file).all(), []);
    }
}

//! Access to the files that a definition names: schemas and child agents of an agent file, steps of a pipeline, cassettes
//! of cases.
//!
//! In: the folder of the definition, and the path that a key of it names. Out: the resolved path or the text, or the
//! refusal. A file inside the folder needs no consent; every other file does, and one that has another name (a hard link) as well,
//! because its content may be that of another folder: once per run, by a stored grant, or by `--allow-files`. No file is opened
//! before that.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Grant, Grants};
use crate::config::{read_resolved_bytes, read_resolved_file};
use crate::event::Decision;

/// The flag that allows files outside of the definition's folder.
pub const ALLOW_FILES_FLAG: &str = "--allow-files";

/// The answers to the question about a file; `once` is until the program ends.
pub const FILE_DECISIONS: [Decision; 3] = [Decision::Once, Decision::Always, Decision::Deny];

/// Returns the explanation of an answer to the question about a file.
pub fn file_meaning(decision: Decision) -> &'static str {
    match decision {
        Decision::Once | Decision::Run => "once: it is read until the program ends",
        Decision::Always => "always: definitions in this folder may name this file, from now on",
        Decision::Deny => "deny: it is not opened",
    }
}

/// A file that a definition names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFile {
    /// The key that names it, such as `schema` or `tools.child.file`.
    pub key: String,
    /// The path as the key leads to it.
    pub path: PathBuf,
    /// The path after resolving links and `..`; `None` if it does not exist.
    pub resolved: Option<PathBuf>,
    /// The folder of the definition, resolved.
    pub folder: PathBuf,
    /// True if other names (hard links) lead to the same file.
    pub has_other_names: bool,
}

/// True if a regular file has several names. Windows does not report it.
fn has_other_names(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        path.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
    }
    #[cfg(not(unix))]
    {
        _ = path;
        false
    }
}

impl NamedFile {
    /// True if it is a file of the folder of the definition only.
    pub fn is_own(&self) -> bool {
        !self.has_other_names && self.is_inside()
    }

    fn is_inside(&self) -> bool {
        self.resolved.as_ref().is_some_and(|file| file.starts_with(&self.folder))
    }

    /// The reason why it needs consent.
    fn reason(&self) -> &'static str {
        if self.is_inside() {
            "It has another name (a hard link), which may be outside of the folder of the definition that names it."
        } else {
            "It is outside of the folder of the definition that names it."
        }
    }

    /// Returns the grant for the user's consent.
    fn grant(&self) -> Option<Grant> {
        let file = self.resolved.as_ref()?;
        let mut grant = Grant::new(format!("read the file {}", file.display()));
        grant.bind("for definitions in", self.folder.display().to_string());
        Some(grant)
    }

    /// Returns the question whether it may be read: the resolved path first.
    pub fn question(&self) -> String {
        let resolved = self.resolved.as_ref().unwrap_or(&self.path);
        format!(
            "May this file be read? {}\n\
             file        {}\n\
             named by    {}\n\
             written as  {}\n\
             definition  in {}\n\
             Its text becomes a part of the definition, which is sent to the model and recorded.",
            self.reason(),
            resolved.display(),
            self.key,
            self.path.display(),
            self.folder.display(),
        )
    }
}

/// Reason why a file is not read.
#[derive(Debug)]
pub enum FileRefusal {
    /// No user has allowed it.
    NeedsConsent(NamedFile),
    /// The definition must be complete: it is a recorded one, or a part of another.
    Complete,
    /// It cannot be read.
    Unreadable(io::Error),
}

impl FileRefusal {
    /// The same text about "it", for a sentence that named the file before.
    pub fn of_it(&self) -> String {
        let text = self.to_string();
        format!("it {}", text.strip_prefix("which ").unwrap_or(&text))
    }
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsConsent(named) => {
                let resolved = named.resolved.as_ref().unwrap_or(&named.path);
                let folder = resolved.parent().unwrap_or(resolved);
                let (file, own) = (resolved.display(), named.folder.display());
                let place = if named.is_inside() {
                    format!("in the folder {own} and has another name (a hard link)")
                } else {
                    format!("outside of the folder {own}")
                };
                let folder = quoted(folder);
                write!(
                    f,
                    "which is {file} and {place}: reading it needs consent; give it with {ALLOW_FILES_FLAG} {folder}"
                )
            }
            Self::Complete => f.write_str(
                "which is not read here: only agent files and pipelines may name files; write its content in its place",
            ),
            Self::Unreadable(error) => write!(f, "which cannot be read: {error}"),
        }
    }
}

/// The path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), std::borrow::Cow::into_owned)
}

/// Asks the user about a file.
pub type FileQuestion = Arc<dyn Fn(&NamedFile) -> Decision + Send + Sync>;

/// The files that definitions may name. Clones share what was allowed and what was refused.
#[derive(Clone, Default)]
pub struct FileAccess {
    scope: Scope,
    /// Folders and files that are allowed, resolved.
    allowed: Arc<Mutex<BTreeSet<PathBuf>>>,
    grants: Grants,
    question: Option<FileQuestion>,
    /// All files that were named since they were taken last.
    named: Arc<Mutex<BTreeSet<NamedFile>>>,
    replaced: ReplacedInputs,
}

/// Inputs of an agent's own context whose files are not read, because the user gives other values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ReplacedInputs {
    /// None.
    #[default]
    None,
    /// Those of these names.
    Named(BTreeSet<String>),
    /// All of them.
    All,
}

impl ReplacedInputs {
    /// Returns whether the user gives another value of this input.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Named(names) => names.contains(name),
            Self::All => true,
        }
    }
}

/// Folders whose files are read without consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scope {
    /// The folder of the definition.
    #[default]
    OwnFolder,
    /// No folder, even with consent.
    Nowhere,
}

impl fmt::Debug for FileAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileAccess").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl FileAccess {
    /// The access of a definition that must be complete: no file may be named.
    pub fn nowhere() -> Self {
        Self { scope: Scope::Nowhere, ..Self::default() }
    }

    /// The same access for an agent of which the user replaces these inputs.
    #[must_use]
    pub fn with_replaced_inputs(&self, replaced: ReplacedInputs) -> Self {
        Self { replaced, ..self.clone() }
    }

    /// The inputs that the user replaces.
    pub fn replaced_inputs(&self) -> &ReplacedInputs {
        &self.replaced
    }

    /// The same access with stored consent.
    #[must_use]
    pub fn with_grants(self, grants: Grants) -> Self {
        Self { grants, ..self }
    }

    /// The same access, where the user is asked about a file that needs consent.
    #[must_use]
    pub fn with_question(self, question: FileQuestion) -> Self {
        Self { question: Some(question), ..self }
    }

    /// The same access, where the user is not asked, with its own list of named files.
    #[must_use]
    pub fn without_question(&self) -> Self {
        Self { question: None, named: Arc::default(), ..self.clone() }
    }

    /// Allows a file, or all files of a folder, until the program ends.
    ///
    /// Errors: it does not exist.
    pub fn allow(&self, path: &Path) -> io::Result<()> {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.canonicalize()?);
        Ok(())
    }

    /// Applies a decision of the user about a named file.
    pub fn decide(&self, named: &NamedFile, decision: Decision) {
        let Some(file) = named.resolved.clone().filter(|_| decision != Decision::Deny) else { return };
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(file);
        if decision == Decision::Always
            && let Some(grant) = named.grant()
            && let Err(error) = self.grants.grant(&grant)
        {
            tracing::warn!(%error, "could not store the decision");
        }
    }

    /// Returns the files that were named since the last call, and forgets them.
    pub fn take_named(&self) -> Vec<NamedFile> {
        std::mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    /// True if a named file is read without a question.
    pub fn is_allowed(&self, named: &NamedFile) -> bool {
        let Some(file) = &named.resolved else { return true };
        named.is_own()
            || self.allowed.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|path| file.starts_with(path))
            || named.grant().is_some_and(|grant| self.grants.is_granted(&grant))
    }

    /// Resolves the file that a key of a definition in this folder names; it may then be opened.
    pub fn resolve(&self, folder: &Path, key: &str, path: &Path) -> Result<PathBuf, FileRefusal> {
        if self.scope == Scope::Nowhere {
            return Err(FileRefusal::Complete);
        }
        let resolved = path.canonicalize();
        let named = NamedFile {
            key: key.to_owned(),
            path: path.to_owned(),
            resolved: resolved.as_ref().ok().cloned(),
            folder: folder.to_owned(),
            has_other_names: resolved.as_ref().is_ok_and(|file| has_other_names(file)),
        };
        self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(named.clone());
        let resolved = resolved.map_err(FileRefusal::Unreadable)?;
        if self.is_allowed(&named) {
            return Ok(resolved);
        }
        if let Some(question) = &self.question {
            self.decide(&named, question(&named));
        }
        if self.is_allowed(&named) { Ok(resolved) } else { Err(FileRefusal::NeedsConsent(named)) }
    }

    /// Returns whether no file may be named.
    pub fn is_nowhere(&self) -> bool {
        self.scope == Scope::Nowhere
    }

    /// Reads the input that a key of a definition in this folder names.
    pub fn read_bytes(&self, folder: &Path, key: &str, path: &Path) -> Result<Vec<u8>, FileRefusal> {
        let resolved = self.resolve(folder, key, path)?;
        read_resolved_bytes(&resolved).map_err(FileRefusal::Unreadable)
    }

    /// Reads the file that a key of a definition in this folder names.
    pub fn read(&self, folder: &Path, key: &str, path: &Path) -> Result<String, FileRefusal> {
        let resolved = self.resolve(folder, key, path)?;
        read_resolved_file(&resolved).map_err(FileRefusal::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (own, other) = (root.join("own"), root.join("other"));
        for folder in [&own, &other] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("a.json"), "{}").unwrap();
        }
        (dir, own, other)
    }

    #[test]
    fn only_files_of_the_own_folder_are_read_without_consent() {
        let (_dir, own, other) = folders();
        let access = FileAccess::default();
        assert_eq!(access.read(&own, "schema", &own.join("a.json")).unwrap(), "{}");
        for path in [other.join("a.json"), own.join("../other/a.json")] {
            let refusal = access.read(&own, "schema", &path).unwrap_err();
            assert!(matches!(&refusal, FileRefusal::NeedsConsent(_)), "{refusal}");
            assert!(refusal.to_string().contains("--allow-files"), "{refusal}");
        }
        assert_eq!(access.take_named().len(), 3);
        access.allow(&other).unwrap();
        assert_eq!(access.read(&own, "schema", &other.join("a.json")).unwrap(), "{}");
        let complete = FileAccess::nowhere().read(&own, "schema", &own.join("a.json")).unwrap_err();
        assert!(matches!(complete, FileRefusal::Complete));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_outside_needs_consent_for_what_it_leads_to() {
        let (_dir, own, other) = folders();
        std::os::unix::fs::symlink(other.join("a.json"), own.join("file link")).unwrap();
        std::os::unix::fs::symlink(&other, own.join("folder link")).unwrap();
        for name in ["file link", "folder link/a.json"] {
            let refusal = FileAccess::default().read(&own, "schema", &own.join(name)).unwrap_err();
            let FileRefusal::NeedsConsent(named) = refusal else { panic!("{name}: {refusal}") };
            assert_eq!(named.resolved, Some(other.join("a.json")));
            assert!(named.question().contains(&other.join("a.json").display().to_string()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_hard_link_needs_consent_because_its_content_may_be_that_of_another_folder() {
        let (_dir, own, other) = folders();
        std::fs::hard_link(other.join("a.json"), own.join("link.json")).unwrap();
        let access = FileAccess::default();
        for path in [own.join("link.json"), own.join("../own/link.json")] {
            let refusal = access.read(&own, "schema", &path).unwrap_err();
            assert!(refusal.to_string().contains("has another name (a hard link)"), "{refusal}");
            let FileRefusal::NeedsConsent(named) = refusal else { panic!("{refusal}") };
            assert!(named.question().contains("a hard link"), "{}", named.question());
        }
        access.allow(&own).unwrap();
        assert!(access.read(&own, "schema", &own.join("link.json")).is_ok());
        // A folder has several names on most systems.
        std::fs::create_dir(own.join("inside")).unwrap();
        std::fs::write(own.join("inside/b.json"), "{}").unwrap();
        assert!(FileAccess::default().read(&own, "schema", &own.join("inside/b.json")).is_ok());
    }

    #[test]
    fn an_answer_is_valid_for_the_run_or_stored_for_this_folder() {
        let (dir, own, other) = folders();
        let grants = Grants::at(dir.path().join("allowed"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let access = |decision: Decision| {
            let asked = Arc::clone(&asked);
            FileAccess::default().with_grants(grants.clone()).with_question(Arc::new(move |named: &NamedFile| {
                asked.lock().unwrap().push(named.clone());
                decision
            }))
        };
        let read = |access: &FileAccess, folder: &Path| access.read(folder, "schema", &other.join("a.json")).is_ok();
        assert!(!read(&access(Decision::Deny), &own));
        let once = access(Decision::Once);
        assert!(read(&once, &own) && read(&once, &own));
        assert_eq!(asked.lock().unwrap().len(), 2, "one question per run");
        assert!(!read(&FileAccess::default().with_grants(grants.clone()), &own));
        assert!(read(&access(Decision::Always), &own));
        assert!(read(&FileAccess::default().with_grants(grants.clone()), &own));
        let third = dir.path().canonicalize().unwrap().join("third");
        std::fs::create_dir(&third).unwrap();
        assert!(!read(&FileAccess::default().with_grants(grants), &third), "a grant is for one folder");
    }
}

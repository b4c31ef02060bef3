//! Files as they were at a git revision: `agent.toml@HEAD~1`.
//!
//! In: a name that the user typed. Out: the text of the file at the revision. `git cat-file` reads the object store: it runs no hook, no filter and no
//! pager of the repository, asks nothing and fetches nothing. A definition cannot name a revision.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// A file at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRevision {
    /// The file, as its path is today.
    pub path: PathBuf,
    /// The revision, in git's words.
    pub revision: String,
}

impl FileRevision {
    /// Reads `FILE.toml@REVISION`; `None` for other names, also for a file whose name looks like that.
    pub fn parse(name: &str) -> Option<Self> {
        let (path, revision) = name.split_once(".toml@")?;
        let is_usable = !revision.is_empty() && !revision.starts_with('-') && !revision.contains([':', '\0']);
        let path = PathBuf::from(format!("{path}.toml"));
        (is_usable && !Path::new(name).exists()).then(|| Self { path, revision: revision.to_owned() })
    }

    /// Reads the file. Errors: git is missing, the folder is in no repository, the revision has no such file, it is too large or no UTF-8.
    pub fn read(&self) -> Result<String, String> {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let object = format!("{}:./{name}", self.revision);
        let size = String::from_utf8_lossy(&self.git(&["cat-file", "-s", &object])?).trim().parse::<u64>();
        match size {
            Ok(size) if size <= MOST_BYTES => {}
            _ => return Err(format!("{}: larger than {MOST_BYTES} bytes", self.name())),
        }
        let bytes = self.git(&["cat-file", "blob", &object])?;
        String::from_utf8(bytes).map_err(|_| format!("{}: the file is not UTF-8", self.name()))
    }

    /// The name that was typed.
    pub fn name(&self) -> String {
        format!("{}@{}", self.path.display(), self.revision)
    }

    fn git(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let output = Command::new("git")
            .args([
                "--no-pager",
                "--no-replace-objects",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: git could not be started: {error}", self.name()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ");
        Err(format!("{}: {line}", self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_follows_the_name_of_an_agent_file() {
        let parsed =
            |name: &str| FileRevision::parse(name).map(|found| (found.path.display().to_string(), found.revision));
        let named = |path: &str, revision: &str| Some((path.to_owned(), revision.to_owned()));
        assert_eq!(parsed("a.toml@HEAD~1"), named("a.toml", "HEAD~1"));
        assert_eq!(parsed("dir/a.toml@feature/x@{1}"), named("dir/a.toml", "feature/x@{1}"));
        for other in ["a.toml", "a.toml@", "a.toml@--help", "a.toml@HEAD:b.toml", "session@r0/t1"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}

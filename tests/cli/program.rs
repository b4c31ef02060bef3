//! The program in a folder of its own: an empty home, no environment, its own sessions, stdin as given.
//!
//! In: arguments, files, stdin. Out: exit code, stdout and stderr as text, the sessions it wrote. Text that changes from run
//! to run (the folder, ids, durations) is replaced in [`Done::reported`].

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ptc_workbench::session::{Session, SessionId};
use tempfile::TempDir;

/// Time for a condition to become true before a test fails.
const DEADLINE: Duration = Duration::from_mins(1);

/// A place to run the program in.
pub(crate) struct Program {
    dir: TempDir,
    env: Vec<(String, String)>,
}

/// Result of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    dir: PathBuf,
}

impl Program {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir, env: Vec::new() }
    }

    /// The same with an environment variable.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder it runs in.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file into the folder and returns its name.
    pub(crate) fn file<'n>(&self, name: &'n str, text: impl AsRef<[u8]>) -> &'n str {
        std::fs::write(self.dir().join(name), text).unwrap();
        name
    }

    /// A call that is not started yet; stdin is empty.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
        self.surround(&mut command);
        command.args(["--sessions", "sessions"]).args(arguments);
        command
    }

    /// The folder, the empty home and nothing else from outside.
    pub(crate) fn surround(&self, command: &mut Command) {
        command
            .current_dir(self.dir())
            .env_clear()
            .env("HOME", self.dir().join("home"))
            .env("TERM", "xterm")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Calls it and waits.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Done {
        self.done(self.command(arguments).output().unwrap())
    }

    /// The same with this text on stdin.
    pub(crate) fn fed<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, stdin: impl AsRef<[u8]>) -> Done {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // The program may end without reading everything.
        drop(pipe.write_all(stdin.as_ref()));
        drop(pipe);
        self.done(child.wait_with_output().unwrap())
    }

    pub(crate) fn done(&self, output: Output) -> Done {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            dir: self.dir().to_owned(),
        }
    }

    /// The folder of the sessions.
    pub(crate) fn sessions_dir(&self) -> PathBuf {
        self.dir().join("sessions")
    }

    /// The session files, oldest second first.
    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.sessions_dir()).into_iter().flatten();
        let is_session = |path: &PathBuf| SessionId::from_file_name(path.file_name()?.to_str()?);
        let mut files: Vec<_> =
            entries.map(|entry| entry.unwrap().path()).filter(|path| is_session(path).is_some()).collect();
        files.sort();
        files
    }

    /// The only session file that there is.
    pub(crate) fn session_file(&self) -> PathBuf {
        let mut files = self.session_files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    /// The only session, read.
    pub(crate) fn session(&self) -> Session {
        Session::open(&self.session_file()).unwrap()
    }
}

impl Done {
    /// Fails with the whole output when the exit code is another.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails when stderr lacks the words.
    #[track_caller]
    pub(crate) fn reports(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "{words:?} is not in stderr:\n{}", self.stderr);
        self
    }

    /// Stdout as JSON, key order kept; nothing else may be there.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    /// Stderr with `<dir>`, `<id>` and `<time>` in place of what changes from run to run.
    pub(crate) fn reported(&self) -> String {
        lasting(&self.stderr, &self.dir)
    }

    /// The same of stdout.
    pub(crate) fn printed(&self) -> String {
        lasting(&self.stdout, &self.dir)
    }
}

/// The text without what changes from run to run.
fn lasting(text: &str, dir: &Path) -> String {
    let text = text.replace(&*dir.to_string_lossy(), "<dir>");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        let id = rest.get(..29).filter(|id| SessionId::from_file_name(&format!("{id}.jsonl")).is_some());
        let time = rest.strip_prefix(", ").and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            (end > 0 && rest[end..].starts_with(" s")).then_some(2 + end)
        });
        let (shown, length) = match (id, time) {
            (Some(_), _) => ("<id>", 29),
            (None, Some(length)) => (", <time>", length),
            (None, None) => (&rest[..next.len_utf8()], next.len_utf8()),
        };
        out.push_str(shown);
        rest = &rest[length..];
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Reads from a running program until the words came; returns everything read so far.
pub(crate) fn read_until(pipe: &mut impl Read, words: &str) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 512];
    loop {
        let read = pipe.read(&mut piece).unwrap();
        text.extend_from_slice(&piece[..read]);
        let so_far = String::from_utf8_lossy(&text).into_owned();
        if so_far.contains(words) {
            return so_far;
        }
        assert!(read > 0, "the program ended without {words:?}:\n{so_far}");
    }
}

/// Waits until the condition gives something.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "{what} did not happen");
        std::thread::sleep(crate::POLL);
    }
}

/// Sends a signal such as `INT` to a running program.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

/// The keys of a JSON object in order.
pub(crate) fn keys(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

//! `$VISUAL` and `$EDITOR`: a text in a private file, an editor on it, the text back.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::agent::Place;

/// Edits a text in the user's editor and waits for its end. The terminal must have been given back before.
pub(super) fn edit(place: Place, text: &str) -> Result<String, String> {
    let command = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let command = command.unwrap_or_else(|| "vi".to_owned());
    let words = shlex::split(&command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| format!("{command:?} in $VISUAL or $EDITOR is not a command"))?;
    let file = Scratch::new(place, text).map_err(|error| format!("could not create a temporary file: {error}"))?;
    let status = Command::new(&words[0]).args(&words[1..]).arg(&file.path).status();
    let status = status.map_err(|error| format!("{} could not be started: {error}; set $EDITOR", words[0]))?;
    if !status.success() {
        return Err(format!("{} ended with {status}; the text is unchanged", words[0]));
    }
    fs::read_to_string(&file.path).map_err(|error| format!("the edited file cannot be read: {error}"))
}

/// A file that only this user can read, removed afterwards.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(place: Place, text: &str) -> std::io::Result<Self> {
        let (name, ending) = match place {
            Place::Prompt => ("prompt", "md"),
            Place::Signature => ("signature", "txt"),
            Place::Context => ("context", "json"),
            Place::Tools => ("tools", "toml"),
            Place::Program => ("program", "clj"),
            Place::Options => ("options", "toml"),
        };
        let stamp =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!("ptc-workbench-{name}-{}-{stamp:x}.{ending}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "removing the edited file");
        }
    }
}

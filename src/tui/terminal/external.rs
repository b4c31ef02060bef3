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
    edit_with(&command.unwrap_or_else(|| "vi".to_owned()), place, text)
}

/// Edits a text with this command. An edited file whose text cannot be taken over is not removed.
fn edit_with(command: &str, place: Place, text: &str) -> Result<String, String> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| format!("{command:?} in $VISUAL or $EDITOR is not a command"))?;
    let mut file = Scratch::new(place, text).map_err(|error| format!("could not create a temporary file: {error}"))?;
    let status = Command::new(&words[0]).args(&words[1..]).arg(&file.path).status();
    let status = status.map_err(|error| format!("{} could not be started: {error}; set $EDITOR", words[0]))?;
    if !status.success() {
        let kept = file.keep_edits(text);
        return Err(format!("{} ended with {status}; the text is unchanged{kept}", words[0]));
    }
    fs::read_to_string(&file.path)
        .map_err(|error| format!("the edited file cannot be read: {error}{}", file.keep_edits(text)))
}

/// A file that only this user can read, removed afterwards.
struct Scratch {
    path: PathBuf,
    /// It has edits that are nowhere else: it stays.
    is_kept: bool,
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
        Ok(Self { path, is_kept: false })
    }

    /// Keeps the file if it was edited. Returns the end of a message that names it.
    fn keep_edits(&mut self, text: &str) -> String {
        self.is_kept = fs::read(&self.path).is_ok_and(|edited| edited != text.as_bytes());
        if self.is_kept { format!("; the edits are in {}", self.path.display()) } else { String::new() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "removing the edited file");
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    /// The path at the end of a message.
    fn edited_file(message: &str) -> PathBuf {
        PathBuf::from(message.rsplit_once("the edits are in ").expect("the message names the file").1)
    }

    #[test]
    fn edits_that_cannot_be_taken_over_stay_in_their_file() {
        let edit = |script: &str| edit_with(&format!("sh -c '{script}' sh"), Place::Prompt, "before");
        assert_eq!(edit("printf after > \"$1\"").as_deref(), Ok("after"));
        let failed = edit("printf after > \"$1\"; exit 3").unwrap_err();
        assert_eq!(fs::read_to_string(edited_file(&failed)).unwrap(), "after", "{failed}");
        fs::remove_file(edited_file(&failed)).unwrap();
        let unreadable = edit("printf \"\\\\377\" > \"$1\"").unwrap_err();
        assert!(fs::read(edited_file(&unreadable)).is_ok_and(|edited| !edited.is_empty()), "{unreadable}");
        fs::remove_file(edited_file(&unreadable)).unwrap();
        let unchanged = edit("exit 3").unwrap_err();
        assert!(unchanged.ends_with("the text is unchanged"), "{unchanged}");
    }
}

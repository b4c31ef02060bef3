//! The clipboard of this machine, through the small programs of every desktop, in addition to the terminal's own way (OSC 52).
//!
//! In: a text, the environment. Out: whether a program took it. Called on a thread of its own: a program that hangs is abandoned.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that a program may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval between the checks for its end.
const LOOK: Duration = Duration::from_millis(10);

/// A program and its arguments.
type Words = &'static [&'static str];

/// The programs that may take a text here; of each group the first one that is installed does.
fn groups(is_set: &dyn Fn(&str) -> bool, is_mac: bool) -> Vec<&'static [Words]> {
    let mut groups: Vec<&'static [Words]> = Vec::new();
    let remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    // A display that is set means the user's own, forwarded or not.
    if is_set("WAYLAND_DISPLAY") {
        groups.push(&[&["wl-copy"]]);
    } else if is_set("DISPLAY") {
        groups.push(&[&["xclip", "-selection", "clipboard", "-in"], &["xsel", "--clipboard", "--input"]]);
    } else if is_mac && !remote {
        groups.push(&[&["pbcopy"]]);
    } else if is_set("WSL_DISTRO_NAME") && !remote {
        groups.push(&[&["clip.exe"]]);
    }
    if is_set("TMUX") {
        groups.push(&[&["tmux", "load-buffer", "-"]]);
    }
    groups
}

/// Hands a text to the clipboard programs of this machine; does nothing where there are none.
///
/// Errors: which program did not take it, and why.
pub(super) fn copy(text: &str) -> Result<(), String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    copy_by(&groups(&is_set, cfg!(target_os = "macos")), text, PATIENCE)
}

fn copy_by(groups: &[&[Words]], text: &str, patience: Duration) -> Result<(), String> {
    let mut failed = Vec::new();
    for group in groups {
        for words in *group {
            match hand(words, text, patience) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(()) => break,
                Err(error) => {
                    failed.push(format!("{}: {error}", words[0]));
                    break;
                }
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Starts a program, gives it the text and waits for its end.
fn hand(words: &[&str], text: &str, patience: Duration) -> io::Result<()> {
    let mut command = Command::new(words[0]);
    // What a program leaves running must not hold our terminal.
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let writing = child.stdin.take().map(|mut stdin| {
        let text = text.to_owned();
        std::thread::spawn(move || stdin.write_all(text.as_bytes()))
    });
    let ended = ended(&mut child, patience)?;
    // A program that has ended takes no more: the writer ends with it.
    let written = writing.map_or(Ok(()), |writing| writing.join().unwrap_or(Ok(())));
    if !ended.success() {
        return Err(io::Error::other(format!("it ended with {ended}")));
    }
    written
}

fn ended(child: &mut Child, patience: Duration) -> io::Result<std::process::ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("it did not end in time"));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(set: &[&str], is_mac: bool) -> Vec<&'static str> {
        groups(&|name| set.contains(&name), is_mac).iter().map(|group| group[0][0]).collect()
    }

    #[test]
    fn the_environment_decides_which_programs_are_tried() {
        assert_eq!(chosen(&["WAYLAND_DISPLAY", "DISPLAY"], false), ["wl-copy"]);
        assert_eq!(chosen(&["DISPLAY", "TMUX"], false), ["xclip", "tmux"]);
        assert_eq!(chosen(&[], true), ["pbcopy"]);
        assert_eq!(chosen(&["SSH_CONNECTION"], true), Vec::<&str>::new());
        assert_eq!(chosen(&["WSL_DISTRO_NAME"], false), ["clip.exe"]);
        assert_eq!(chosen(&["SSH_TTY", "TMUX"], false), ["tmux"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_text_is_handed_over_and_failures_are_reported() {
        let long = "x".repeat(1 << 20);
        let patience = Duration::from_secs(20);
        assert_eq!(copy_by(&[&[&["no-such-program-here"], &["cat"]]], &long, patience), Ok(()));
        assert_eq!(copy_by(&[&[&["no-such-program-here"]]], "a", patience), Ok(()), "nothing is installed");
        let failed = copy_by(&[&[&["false"]]], "a", patience).unwrap_err();
        assert!(failed.starts_with("false: it ended with"), "{failed}");
        let hangs = copy_by(&[&[&["sleep", "60"]]], "a", Duration::ZERO).unwrap_err();
        assert_eq!(hangs, "sleep: it did not end in time");
    }
}

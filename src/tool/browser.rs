//! The browser of this machine, for a page that the user asked to open.
//!
//! In: a web address, the environment. Out: whether a browser was started. Its end is not awaited, and nothing is started for another kind of
//! address.

use std::fmt;
use std::process::{Command, Stdio};

/// Reason why no browser was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowserError {
    /// This machine has none that could be seen.
    Missing,
    /// It could not be started.
    NotStarted(String),
}

impl fmt::Display for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no browser was found"),
            Self::NotStarted(why) => write!(f, "the browser was not started: {why}"),
        }
    }
}

/// Returns the program with its arguments that opens an address here; `None` where no window could appear.
fn opener(variable: &dyn Fn(&str) -> Option<String>, url: &str) -> Option<Vec<String>> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).chain([url.to_owned()]).collect();
    if let Some(own) = set("BROWSER") {
        let own = shlex::split(own.split(':').next().unwrap_or_default()).filter(|words| !words.is_empty())?;
        if !own.iter().any(|word| word.contains("%s")) {
            return Some(own.into_iter().chain([url.to_owned()]).collect());
        }
        return Some(own.iter().map(|word| word.replace("%s", url)).collect());
    }
    if set("SSH_CONNECTION").is_some() || set("SSH_TTY").is_some() {
        return None;
    }
    if cfg!(target_os = "macos") {
        return Some(words(&["open"]));
    }
    if cfg!(windows) {
        return Some(words(&["rundll32", "url.dll,FileProtocolHandler"]));
    }
    if set("WAYLAND_DISPLAY").is_some() || set("DISPLAY").is_some() {
        return Some(words(&["xdg-open"]));
    }
    set("WSL_DISTRO_NAME").map(|_| words(&["wslview"]))
}

/// Opens a web address in the user's browser.
pub fn open_browser(url: &str) -> Result<(), BrowserError> {
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(BrowserError::NotStarted("this is not a web address".to_owned()));
    }
    let words = opener(&|name| std::env::var(name).ok(), url).ok_or(BrowserError::Missing)?;
    let Some((program, arguments)) = words.split_first() else { return Err(BrowserError::Missing) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C here must not end the browser.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(BrowserError::Missing),
        Err(error) => Err(BrowserError::NotStarted(format!("{program}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        opener(&variable, "https://a.test/?a=1&b=$(x)").map(|words| words.join("|"))
    }

    #[test]
    fn the_browser_of_the_user_comes_first_and_gets_the_address_as_one_argument() {
        let url = "https://a.test/?a=1&b=$(x)";
        assert_eq!(found(&[("BROWSER", "firefox --new-tab:lynx")]), Some(format!("firefox|--new-tab|{url}")));
        assert_eq!(found(&[("BROWSER", "open-it 'at %s'")]), Some(format!("open-it|at {url}")));
        assert_eq!(found(&[("BROWSER", "x"), ("SSH_TTY", "/dev/pts/1")]), Some(format!("x|{url}")));
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn without_a_display_there_is_no_browser() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("DISPLAY", ":0"), ("SSH_CONNECTION", "1 2 3 4")]), None);
        assert!(found(&[("DISPLAY", ":0")]).is_some_and(|words| words.starts_with("xdg-open|")));
    }

    #[test]
    fn only_web_addresses_are_opened() {
        for url in ["file:///etc/passwd", "javascript:alert(1)", "-x", ""] {
            assert!(matches!(open_browser(url), Err(BrowserError::NotStarted(_))), "{url}");
        }
    }
}

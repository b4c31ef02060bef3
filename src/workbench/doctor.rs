//! The doctor: checks of this machine, each finding with a hint.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::models::LOOPBACK_WAIT;
use super::{Workbench, example_sessions};
use crate::agent::Agent;
use crate::config::ServerEntry;
use crate::model::variables::headers;
use crate::model::{check_certificates, is_loopback, listens, shown_address};
use crate::replay::ReplayOutcome;

/// Subject of findings about the configuration.
const CONFIGURATION: &str = "configuration";

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It works.
    Good,
    /// It is missing, and nothing needs it now.
    Note,
    /// It does not work.
    Bad,
}

impl Health {
    /// Returns its name in the output of `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its result.
    pub health: Health,
    /// Its subject.
    pub what: String,
    /// A description of the result, with a hint if it is bad.
    pub message: String,
}

/// Findings as `--json` prints them.
#[derive(Serialize)]
pub struct FindingsJson<'a> {
    ok: bool,
    findings: &'a [Finding],
}

impl<'a> FindingsJson<'a> {
    /// All findings, and whether none is bad.
    pub fn new(findings: &'a [Finding]) -> Self {
        Self { ok: findings.iter().all(|finding| finding.health != Health::Bad), findings }
    }
}

fn finding(health: Health, what: &str, message: impl Into<String>) -> Finding {
    Finding { health, what: what.to_owned(), message: message.into() }
}

impl Workbench {
    /// Checks everything that the interface does not check itself. `refused`: errors of the configuration found by the interface, a
    /// line for each.
    pub async fn doctor(&self, refused: Option<&str>) -> Vec<Finding> {
        let mut findings = self.local_findings(refused);
        for (name, url, listens) in self.loopback_servers().await {
            let what = format!("server {name}");
            findings.push(if listens {
                finding(Health::Good, &what, format!("something answers at {url}"))
            } else {
                finding(Health::Note, &what, format!("nothing listens at {url}"))
            });
        }
        for server in &self.config.servers {
            findings.push(server_of_tools(server).await);
        }
        findings.push(self.examples().await);
        findings
    }

    /// Like `doctor`, without what takes time: servers are not contacted, the example sessions are not replayed. For bundles, because
    /// exporting a session connects to nothing and replays only that session.
    pub fn local_findings(&self, refused: Option<&str>) -> Vec<Finding> {
        let mut findings = vec![
            writable("sessions folder", &self.folders.sessions_dir),
            writable("drafts folder", &self.folders.drafts_dir),
        ];
        let refused = refused.into_iter().flat_map(str::lines).map(str::to_owned);
        let problems: Vec<String> = refused.chain(self.configuration_problems()).collect();
        if problems.is_empty() {
            findings.push(self.configuration());
        }
        findings.extend(problems.into_iter().map(|problem| finding(Health::Bad, CONFIGURATION, problem)));
        findings.extend(self.keys());
        let fallbacks = self.unusable_fallbacks().into_iter();
        findings.extend(
            fallbacks.map(|(alias, warning_text)| finding(Health::Note, &format!("model {alias}"), warning_text)),
        );
        findings
    }

    fn configuration(&self) -> Finding {
        if let Some(file) = &self.config.file {
            finding(Health::Good, CONFIGURATION, format!("{} was read", file.display()))
        } else {
            let usual = self.folders.config_dir.join("config.toml");
            finding(Health::Note, CONFIGURATION, format!("none; it would be read from {}", usual.display()))
        }
    }

    /// Problems of settings that are otherwise reported by the first run or connection that needs them. Nothing is connected.
    fn configuration_problems(&self) -> Vec<String> {
        let config = &self.config;
        let model = self.check_model(&Agent::default());
        let mut problems: Vec<String> = model
            .into_iter()
            .map(|found| format!("default_model = {:?}: {}", config.default_model, found.message))
            .collect();
        let sections = config.providers.iter().map(|provider| &provider.tls);
        let sections = sections.chain(config.servers.iter().map(|server| &server.tls));
        let sections = sections.chain([&config.tls]);
        problems.extend(sections.filter_map(|files| check_certificates(files).err()).collect::<BTreeSet<String>>());
        if config.telemetry.otlp_endpoint.is_some() {
            problems.extend(headers(&config.telemetry.headers).err().map(|problem| format!("[telemetry]: {problem}")));
        }
        problems
    }

    fn keys(&self) -> Vec<Finding> {
        let mut seen = Vec::new();
        let providers = self.config.providers.iter().filter_map(|provider| Some((provider, provider.key.as_ref()?)));
        providers
            .filter_map(|(provider, key)| {
                let name = key.name();
                if seen.contains(&name) {
                    return None;
                }
                seen.push(name.clone());
                let what = format!("key for {}", provider.name);
                Some(match key.check() {
                    Ok(()) => finding(Health::Good, &what, format!("{name} is set")),
                    Err(error) => finding(Health::Note, &what, error.message),
                })
            })
            .collect()
    }

    async fn examples(&self) -> Finding {
        let sessions = example_sessions();
        for session in sessions {
            let id = &session.header.id;
            match self.replay(session).await.map(|report| report.outcome) {
                Ok(ReplayOutcome::Identical) => {}
                Ok(other) => {
                    return finding(Health::Bad, "example sessions", format!("{id} does not replay: {other:?}"));
                }
                Err(error) => {
                    return finding(Health::Bad, "example sessions", format!("{id} cannot be replayed: {error}"));
                }
            }
        }
        match sessions.len() {
            0 => finding(Health::Bad, "example sessions", "built without example sessions; model `demo` cannot answer"),
            n => finding(Health::Good, "example sessions", format!("{n} replay without a difference")),
        }
    }
}

/// Checks that the program or the local address of an MCP server is there. No program is started, and no address outside this machine is
/// contacted.
async fn server_of_tools(server: &ServerEntry) -> Finding {
    let what = format!("tools of {}", server.name);
    let look = format!("ptc-workbench tools --server {}", server.name);
    if let Some(url) = &server.url {
        let shown = shown_address(url);
        return match is_loopback(url) {
            true if listens(url, LOOPBACK_WAIT).await => {
                finding(Health::Good, &what, format!("something answers at {shown}"))
            }
            true => finding(Health::Note, &what, format!("nothing listens at {shown}")),
            false => finding(Health::Note, &what, format!("at {shown}, not contacted here: `{look}` contacts it")),
        };
    }
    let program = server.command.first().map_or("", String::as_str);
    let found = found_program(program, server.folder.as_deref(), std::env::var_os("PATH").as_deref());
    let (health, message) = match &found {
        Some(path) => (Health::Good, format!("found {}; `{look}` starts it", path.display())),
        None => {
            (Health::Note, format!("the program {program:?} was not found; check that it is installed and in PATH"))
        }
    };
    finding(health, &what, message)
}

/// Returns the file that a command name starts: a name with `/` is relative to the folder, others are looked up in PATH.
fn found_program(name: &str, folder: Option<&str>, path: Option<&OsStr>) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file();
    if name.contains('/') {
        let own = Path::new(folder.unwrap_or("")).join(name);
        return Some(own).filter(is_program);
    }
    std::env::split_paths(path?).map(|dir| dir.join(name)).find(is_program)
}

/// Checks that files can be created in a folder, which is created if it does not exist.
fn writable(what: &str, dir: &Path) -> Finding {
    let probe = || -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let file = dir.join(".writable");
        std::fs::write(&file, b"")?;
        std::fs::remove_file(&file)
    };
    match probe() {
        Ok(()) => finding(Health::Good, what, format!("{} can be written", dir.display())),
        Err(error) => finding(
            Health::Bad,
            what,
            format!("{} cannot be written: {error}; choose another with --sessions", dir.display()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_where_it_would_be_started() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a-server");
        std::fs::write(&file, "").unwrap();
        let path = std::env::join_paths([Path::new("/no/such/folder"), dir.path()]).unwrap();
        let folder = dir.path().to_str();
        assert_eq!(found_program("a-server", None, Some(&path)), Some(file.clone()));
        assert_eq!(found_program("another", None, Some(&path)), None);
        assert_eq!(found_program("./a-server", folder, None), Some(dir.path().join("./a-server")));
        assert_eq!(found_program("a-server", folder, None), None, "a name alone is looked for in PATH only");
    }
}

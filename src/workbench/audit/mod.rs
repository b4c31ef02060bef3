//! Audit of a file without any effect: everything that it would read, start, contact or send, and what is odd in it.
//!
//! In: an agent, a pipeline, a session, a bundle, a theme or a configuration. Out: an [`Audit`]. It reads the file and
//! regular files of its folder, and computes; it must never start a process, open a connection or ask a question.

mod configuration;
mod definition;
mod oddities;
mod recording;

use std::path::{Path, PathBuf};

use ptc_core::value::Json;
use serde::Serialize;

use super::Workbench;
use crate::agent::Agent;
use crate::config::document;
use crate::config::read_named_file;
use crate::tool::{FileAccess, Grants};

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// An agent file.
    Agent,
    /// A pipeline file.
    Pipeline,
    /// A session.
    Session,
    /// The folder of a bundle.
    Bundle,
    /// A theme.
    Theme,
    /// A configuration.
    Configuration,
}

impl AuditKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Pipeline => "pipeline",
            Self::Session => "session",
            Self::Bundle => "bundle",
            Self::Theme => "theme",
            Self::Configuration => "configuration",
        }
    }
}

/// Effect of a file when it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEffect {
    /// Reads a file.
    Reads,
    /// Starts a program.
    Starts,
    /// Contacts a server.
    Contacts,
    /// Sends data to a model.
    Sends,
    /// Computes with PTC-Lisp, without effects.
    Computes,
}

impl AuditEffect {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Starts => "starts",
            Self::Contacts => "contacts",
            Self::Sends => "sends",
            Self::Computes => "computes",
        }
    }
}

/// The consent to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditConsent {
    /// None is needed.
    NotNeeded,
    /// It was given before.
    Given,
    /// It is needed.
    Needed,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// Its kind.
    pub effect: AuditEffect,
    /// The key that causes it, such as `tools.deploy`.
    pub key: String,
    /// The file, program, address or model.
    pub what: String,
    /// More about it: resolved paths, arguments, names of variables and keys.
    #[serde(serialize_with = "as_object")]
    pub details: Vec<(&'static str, String)>,
    /// The consent to it.
    pub consent: AuditConsent,
}

/// Writes pairs as a JSON object, in their order.
fn as_object<S: serde::Serializer>(pairs: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Something that a reader should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The key, the address of the event, or the file.
    pub at: String,
    /// The finding.
    pub what: String,
}

/// The report about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// The file as it was named.
    pub file: String,
    /// Its kind.
    pub kind: AuditKind,
    /// Effects, in the order of their kinds.
    pub lines: Vec<AuditLine>,
    /// Oddities of the file.
    pub odd: Vec<Oddity>,
    /// True if an effect needs consent that was not given.
    pub needs_consent: bool,
}

/// The audit of one file while it is made.
struct Auditor<'a> {
    workbench: &'a Workbench,
    grants: Grants,
    lines: Vec<AuditLine>,
    odd: Vec<Oddity>,
}

impl Auditor<'_> {
    fn line(&mut self, line: AuditLine) {
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    fn add_oddity(&mut self, at: impl Into<String>, what: impl Into<String>) {
        let oddity = Oddity { at: at.into(), what: what.into() };
        if !self.odd.contains(&oddity) {
            self.odd.push(oddity);
        }
    }

    /// Adds the files that a definition named while it was read.
    fn files(&mut self, access: &FileAccess) {
        for named in access.take_named() {
            let consent = match (&named.resolved, access.is_allowed(&named)) {
                (None, _) => AuditConsent::NotNeeded,
                (Some(_), true) if named.is_own() => AuditConsent::NotNeeded,
                (Some(_), true) => AuditConsent::Given,
                (Some(_), false) => AuditConsent::Needed,
            };
            let written = ("written as", named.path.display().to_string());
            let (what, details) = match &named.resolved {
                Some(file) => (file.display().to_string(), vec![written]),
                None => (named.path.display().to_string(), vec![("state", "does not exist".to_owned())]),
            };
            self.line(AuditLine { effect: AuditEffect::Reads, key: named.key.clone(), what, details, consent });
        }
    }
}

impl Workbench {
    /// Audits a file or the folder of a bundle.
    ///
    /// Errors: it cannot be read, or is of no known kind.
    pub async fn audit(&self, path: &Path) -> Result<Audit, String> {
        let mut auditor = Auditor { workbench: self, grants: self.grants(), lines: Vec::new(), odd: Vec::new() };
        oddities::owner(path, &mut auditor);
        let kind = if path.is_dir() {
            recording::bundle(path, &mut auditor).await?;
            AuditKind::Bundle
        } else if is_json(path) {
            recording::session_file(path, &mut auditor).await?;
            AuditKind::Session
        } else {
            let file = path.display().to_string();
            let text = read_named_file(path).map_err(|error| format!("{file}: cannot be read: {error}"))?;
            if text.trim_start().starts_with('{') {
                recording::session_text(path, text, &mut auditor).await?;
                AuditKind::Session
            } else {
                self.audit_toml(&text, path, &mut auditor)?
            }
        };
        let Auditor { mut lines, odd, .. } = auditor;
        lines.sort_by_key(|line| line.effect);
        let needs_consent = lines.iter().any(|line| line.consent == AuditConsent::Needed);
        Ok(Audit { file: path.display().to_string(), kind, lines, odd, needs_consent })
    }

    fn audit_toml(&self, text: &str, path: &Path, auditor: &mut Auditor<'_>) -> Result<AuditKind, String> {
        let file = path.display().to_string();
        let document =
            document::parse(text).map_err(|problem| document::FileError::of(&file, text, &problem).to_string())?;
        oddities::document(&document, auditor);
        let kind = kind_of(&document);
        match kind {
            AuditKind::Theme => {}
            AuditKind::Configuration => configuration::audit(text, path, auditor),
            AuditKind::Pipeline => {
                let access = self.file_access().without_question();
                let read = super::Pipeline::from_toml(text, &file, &access);
                definition::cassettes(&document, path, &access);
                auditor.files(&access);
                match read {
                    Ok(Some(pipeline)) => {
                        for (number, agent) in pipeline.steps.iter().enumerate() {
                            definition::agent(agent, &format!("steps.{number}."), auditor);
                        }
                    }
                    Ok(None) => {}
                    Err(error) => {
                        refused(&error.to_string(), auditor);
                        definition::parts(&document, auditor);
                    }
                }
            }
            _ => {
                let access = self.file_access().without_question();
                let (agent, problems) = Agent::read_partially(text, &file, &access);
                definition::cassettes(&document, path, &access);
                auditor.files(&access);
                for problem in &problems {
                    refused(&problem.to_string(), auditor);
                }
                definition::agent(&agent, "", auditor);
            }
        }
        Ok(kind)
    }
}

/// Adds a problem of a definition. Missing consent to read a file is reported with the file instead.
fn refused(problem: &str, auditor: &mut Auditor<'_>) {
    if !problem.contains("reading it needs consent") {
        auditor.add_oddity("definition", format!("cannot be used: {problem}"));
    }
}

/// Returns whether a path is a regular file that begins with `{`, like JSON.
fn is_json(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 1];
    path.is_file()
        && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *b"{")
}

/// The kind of a TOML file, by its keys.
fn kind_of(document: &Json) -> AuditKind {
    if document.get("steps").and_then(Json::items).is_some() {
        return AuditKind::Pipeline;
    }
    let keys = || document.members().unwrap_or_default().iter().map(|member| member.key.as_str());
    let of_config = crate::config::reference().into_iter().next().map(|table| table.lines).unwrap_or_default();
    let is_config = |key: &str| of_config.iter().any(|line| line.name == key);
    let is_theme = |key: &str| matches!(key, "base" | "roles");
    match keys().next() {
        Some(_) if keys().all(is_theme) => AuditKind::Theme,
        Some(_) if keys().all(is_config) => AuditKind::Configuration,
        _ => AuditKind::Agent,
    }
}

/// The resolved folder of a file.
fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

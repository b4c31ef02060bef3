//! Exports as a user makes them: prepared (redacted and scanned), looked at, written.

use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;

use super::Workbench;
use super::files::{has_content, write_whole};
use super::format::plural;
use crate::event::ErrorRecord;
use crate::export::{Content, Format, Removal, Rules, redact, redact_text, remaining_secrets, render};
use crate::model::known_secrets;
use crate::session::{Header, Session};

/// Error of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportError {
    /// The rules cannot be read or applied.
    Rules(String),
    /// Something looks like a secret.
    Secrets(Vec<Removal>),
    /// The file exists already, and is not to be replaced.
    Exists(PathBuf),
    /// The file cannot be written.
    File {
        /// The path.
        path: PathBuf,
        /// The problem and what to do.
        message: String,
    },
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rules(message) => f.write_str(message),
            Self::Secrets(found) => {
                let places: usize = found.iter().map(|finding| finding.count).sum();
                let (places, verb) =
                    if places == 1 { ("1 place".to_owned(), "looks") } else { (format!("{places} places"), "look") };
                write!(
                    f,
                    "{places} {verb} like a secret, nothing was written: `--redact secrets` removes them, `--allow-secrets` exports them"
                )
            }
            Self::Exists(path) => write!(f, "{} already exists", path.display()),
            Self::File { path, message } => write!(f, "{}: {message}", path.display()),
        }
    }
}

impl std::error::Error for ExportError {}

/// The message contains the next step: it needs no hint of the reason.
impl From<ExportError> for ErrorRecord {
    fn from(error: ExportError) -> Self {
        Self { hint: None, ..Self::new(Reason::WriteFailed, error.to_string()) }
    }
}

/// Options of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSpec {
    /// The format.
    pub format: Format,
    /// Redaction rules.
    pub rules: Vec<String>,
    /// The file, or the folder of a bundle.
    pub path: PathBuf,
    /// A file that exists is replaced.
    pub replace: bool,
    /// Policy for text that looks like a secret.
    pub secrets: Secrets,
}

/// A session ready for export.
#[derive(Debug, Clone)]
pub struct PreparedExport {
    /// Content of the export, after redaction.
    pub content: Content,
    /// The header of the session, after redaction.
    pub header: Header,
    /// Removed content, with places and rules.
    pub removals: Vec<Removal>,
    /// Remaining text that looks like a secret.
    pub findings: Vec<Removal>,
}

/// Preview of an export by some rules: the content that they remove, and the remaining text that looks like a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPreview {
    /// Removed content.
    pub removals: Vec<Removal>,
    /// Remaining text that looks like a secret.
    pub findings: Vec<Removal>,
}

impl From<PreparedExport> for ExportPreview {
    fn from(prepared: PreparedExport) -> Self {
        Self { removals: prepared.removals, findings: prepared.findings }
    }
}

/// An export that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    /// The file, or the folder of a bundle.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Places that were removed.
    pub places: usize,
}

impl PreparedExport {
    /// The text of the export; `None` for pictures and recordings of the screen.
    ///
    /// Errors: something looks like a secret, unless that is allowed.
    pub fn text(&self, format: Format, secrets: Secrets) -> Result<Option<String>, ExportError> {
        self.check(secrets)?;
        Ok(render(&self.content, format))
    }

    /// Checks that it may be exported. Errors: something looks like a secret, unless that is allowed.
    pub fn check(&self, secrets: Secrets) -> Result<(), ExportError> {
        match secrets {
            Secrets::Refused if !self.findings.is_empty() => Err(ExportError::Secrets(self.findings.clone())),
            _ => Ok(()),
        }
    }
}

/// Policy for an export in which something looks like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// It is refused.
    Refused,
    /// It is written.
    Allowed,
}

impl Workbench {
    /// Redacts a session by these rules and searches the rest for secrets. The session's file is not touched.
    pub fn prepare_export(&self, session: &Session, rules: &[String]) -> Result<PreparedExport, ExportError> {
        let known = known_secrets(&self.config.providers);
        let rules = Rules::parse(rules, known.clone()).map_err(ExportError::Rules)?;
        let events: Vec<_> = session.events().collect();
        let unread = session.len() - events.len();
        let redacted = redact(events.clone(), &rules).map_err(ExportError::Rules)?;
        let findings = remaining_secrets(&events, &redacted.events, known.clone()).map_err(ExportError::Rules)?;
        let header = redact_header(&session.header, &rules).map_err(ExportError::Rules)?;
        let mut findings = findings;
        let scanned = redact_header(&header, &Rules::scan(known)).map_err(ExportError::Rules)?;
        if scanned != header {
            findings.push(Removal::of_header());
        }
        let unread =
            (unread > 0).then(|| format!("this program cannot read the data of {}", plural(unread as u64, "event")));
        let content = Content {
            session: header.id.to_string(),
            created_ms: header.created_ms,
            program: header.program.clone(),
            imported: header.imported.as_ref().map(ToString::to_string),
            captured: (header.captured.as_ref().filter(|_| header.imported.is_none()))
                .map(|captured| format!("requests to {captured}")),
            damage: session.damage_summary().or(unread).map(|damage| redact_text(&damage, &rules)),
            events: redacted.events,
        };
        Ok(PreparedExport { content, header, removals: redacted.removals, findings })
    }
}

/// Applies the rules to the texts of a header.
fn redact_header(header: &Header, rules: &Rules) -> Result<Header, String> {
    let failed = |error: serde_json::Error| format!("the header of the session cannot be redacted: {error}");
    let mut data = serde_json::to_value(header).map_err(failed)?;
    clean(&mut data, rules);
    serde_json::from_value(data).map_err(failed)
}

fn clean(data: &mut serde_json::Value, rules: &Rules) {
    match data {
        serde_json::Value::String(text) => *text = redact_text(text, rules),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| clean(item, rules)),
        serde_json::Value::Object(members) => members.values_mut().for_each(|value| clean(value, rules)),
        _ => {}
    }
}

/// Checks that writing an export loses nothing: there is no file, an empty one, or a device or pipe.
pub fn check_new_export(path: &Path, session: &Session) -> Result<(), ExportError> {
    check_no_session(path, session)?;
    match has_content(path) {
        Ok(false) => Ok(()),
        Ok(true) => Err(ExportError::Exists(path.to_owned())),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Writes an export so that its file is whole or as it was before. The session itself is never overwritten.
pub fn write_export(path: &Path, text: &str, session: &Session) -> Result<(), ExportError> {
    check_no_session(path, session)?;
    write_whole(path, text.as_bytes()).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> ExportError {
    ExportError::File { path: path.to_owned(), message: format!("cannot be written: {error}") }
}

/// Checks that the file is neither the session nor another one.
fn check_no_session(path: &Path, session: &Session) -> Result<(), ExportError> {
    let fail = |message: &str| Err(ExportError::File { path: path.to_owned(), message: message.to_owned() });
    let same = |own: &Path| own.canonicalize().is_ok_and(|own| path.canonicalize().is_ok_and(|path| path == own));
    if same(&session.path) {
        return fail("this is the session itself; choose another file");
    }
    if Session::header_of(path).is_ok() {
        return fail("this file is a session and would be overwritten; choose another file");
    }
    Ok(())
}

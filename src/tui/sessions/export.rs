//! The dialog of an export: format, redaction with a preview, what looks like a secret, where to.

use std::path::Path;

use super::{Dialog, Purpose};
use crate::export::{Format, REDACTIONS, Removal};
use crate::session::Summary;
use crate::tui::archive::ArchiveRequest;
use crate::tui::form::{Choice, Field, Form};
use crate::tui::theme::Role;
use crate::workbench::format::plural;
use crate::workbench::{ExportPreview, ExportSpec, Secrets, SessionKey};

/// Redactions in the choice; the others are written.
const POLICIES: usize = 4;
/// Lines of each list that are shown.
const MOST_LINES: usize = 500;

/// Shown while the omitted parts are unknown, with the time when they will be known.
const EARLY: &str = "still checking what is omitted";
const LOOKED: &str = "check the omissions and confirm again";

/// An export that is being described.
#[derive(Debug, Clone)]
pub struct Export {
    /// The session.
    pub key: SessionKey,
    /// Its id.
    id: String,
    /// The rules that are being looked at.
    running: Option<Vec<String>>,
    /// The rules of the last preview, and its result.
    known: Option<(Vec<String>, ExportPreview)>,
    /// The path that was found to exist: confirming again replaces it.
    pub taken: Option<String>,
}

impl Export {
    /// The dialog.
    pub fn open(session: &Summary) -> Dialog {
        let id = &session.id;
        let formats = Format::ALL.iter().map(|format| Choice::new(format.name(), format.meaning())).collect();
        let policies = REDACTIONS.iter().take(POLICIES);
        let policies: Vec<Choice> = policies.map(|rule| Choice::new(rule.name, rule.meaning)).collect();
        let secrets = policies.iter().position(|policy| policy.name == "secrets").unwrap_or(0);
        let mut form = Form {
            title: format!("Export {id}"),
            verb: "export",
            fields: vec![
                Field::choice("format", "The format of the file.", formats, 0),
                Field::choice("redact", "Content to omit.", policies, secrets),
                Field::line("also", "Further content to omit: context, results, field:email, regex:EXPRESSION …", ""),
                Field::line(
                    "file",
                    "Path of the file, relative to the working directory; ~/ is your home folder.",
                    format!("{id}.{}", Format::ALL[0].ending()),
                ),
            ],
            ..Form::default()
        };
        let mut export = Self { key: session.key(), id: id.clone(), running: None, known: None, taken: None };
        let requests = export.changed(&mut form);
        Dialog { form, purpose: Purpose::Export(export), requests }
    }

    /// The rules in the form.
    fn rules(form: &Form) -> Vec<String> {
        [Some(form.choice("redact").to_owned()), form.entered("also")].into_iter().flatten().collect()
    }

    /// Updates the suggested file extension to the format, and requests a preview of changed rules; one request at a time.
    pub fn changed(&mut self, form: &mut Form) -> Vec<ArchiveRequest> {
        let ending = Format::ALL.get(form.chosen("format")).map_or("", |format| format.ending());
        let suggested =
            Format::ALL.iter().any(|format| form.written("file") == format!("{}.{}", self.id, format.ending()));
        if let Some(field) = form.field_mut("file").filter(|_| suggested) {
            field.suggest(&format!("{}.{ending}", self.id));
        }
        if self.taken.as_deref() != Some(form.written("file")) {
            self.taken = None;
        }
        let rules = Self::rules(form);
        if self.running.is_some() || self.known.as_ref().is_some_and(|(known, _)| *known == rules) {
            return Vec::new();
        }
        form.notes = vec![(Role::Dim, "checking what is omitted …".to_owned())];
        self.running = Some(rules.clone());
        vec![ArchiveRequest::PreviewExport(self.key.clone(), rules)]
    }

    /// Shows the result of a preview; requests another one when the rules have changed meanwhile.
    pub fn previewed(
        &mut self,
        form: &mut Form,
        rules: Vec<String>,
        result: Result<ExportPreview, String>,
    ) -> Vec<ArchiveRequest> {
        self.running = None;
        if rules != Self::rules(form) {
            return self.changed(form);
        }
        form.top = 0;
        match result {
            Ok(preview) => {
                form.notes = notes(&preview);
                if preview.findings.is_empty() {
                    form.remove("secrets");
                } else if form.field("secrets").is_none() {
                    let options = vec![
                        Choice::new("not exported", "nothing is written if something looks like a secret"),
                        Choice::new("exported", "secrets are written into the file"),
                    ];
                    // Never restored: each export asks again.
                    form.fields.push(Field::choice("secrets", "Handling of likely secrets.", options, 0));
                }
                // Who confirmed too early sees what is left out before it is written.
                form.error = form.error.take().filter(|error| error == EARLY).map(|_| LOOKED.to_owned());
                self.known = Some((rules, preview));
            }
            Err(message) => {
                form.notes.clear();
                self.known = None;
                form.error = Some(message);
            }
        }
        Vec::new()
    }

    /// The export that is described.
    ///
    /// Errors: what must be written, chosen or looked at first.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let path = form.entered("file").ok_or("a file needs a name")?;
        let format = Format::from_name(form.choice("format")).ok_or("unknown format")?;
        other_ending(&path, format)?;
        let rules = Self::rules(form);
        let Some((_, preview)) = self.known.as_ref().filter(|(known, _)| *known == rules) else {
            return Err(form.error.clone().unwrap_or_else(|| EARLY.to_owned()));
        };
        let secrets = if form.chosen("secrets") == 1 { Secrets::Allowed } else { Secrets::Refused };
        if !preview.findings.is_empty() && secrets == Secrets::Refused {
            return Err(format!(
                "{} like a secret, nothing was written: choose `redact secrets`, or `secrets exported`",
                looking(preview)
            ));
        }
        let replace = self.taken.as_deref() == Some(form.written("file"));
        Ok(ArchiveRequest::Export(self.key.clone(), ExportSpec { format, rules, path: path.into(), replace, secrets }))
    }
}

/// A file that ends as those of another format do would not be opened as what it is.
fn other_ending(path: &str, format: Format) -> Result<(), String> {
    let Some(ending) = Path::new(path).extension().and_then(|ending| ending.to_str()) else { return Ok(()) };
    let own = format.ending() == ending;
    match Format::ALL.iter().find(|other| !own && other.ending() == ending) {
        Some(other) => {
            Err(format!("{path} has the extension of {}: choose that format, or another name", other.name()))
        }
        None => Ok(()),
    }
}

/// Returns the notes for the user: findings that look like secrets, then the removals.
fn notes(preview: &ExportPreview) -> Vec<(Role, String)> {
    let mut notes = Vec::new();
    if !preview.findings.is_empty() {
        notes.push((Role::Bad, format!("✗ {} like a secret:", looking(preview))));
        notes.extend(lines(&preview.findings));
    }
    match preview.removals.iter().map(|removal| removal.count as u64).sum() {
        0 => notes.push((Role::Dim, "nothing is omitted".to_owned())),
        places => notes.push((Role::Good, format!("{} omitted:", plural(places, "place")))),
    }
    notes.extend(lines(&preview.removals));
    notes
}

/// The first of them, a line each.
fn lines(removals: &[Removal]) -> impl Iterator<Item = (Role, String)> {
    let more = removals.len().checked_sub(MOST_LINES).filter(|more| *more > 0);
    let more = more.map(|more| format!("  … and {more} more"));
    removals.iter().take(MOST_LINES).map(|removal| format!("  {removal}")).chain(more).map(|line| (Role::Text, line))
}

/// Returns "N places look" or "1 place looks".
fn looking(preview: &ExportPreview) -> String {
    let count = preview.findings.len() as u64;
    format!("{} {}", plural(count, "place"), if count == 1 { "looks" } else { "look" })
}

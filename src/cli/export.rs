//! `sessions export` and `sessions import`: where the text goes, and the reports about it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{ExportFlags, ImportFlags};
use super::doctor;
use super::output::Stdout;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use super::printer::Printer;
use super::screenshot::{InterfaceServices, size};
use crate::export::{Content, Format, Piece, Removal, asciicast};
use crate::session::Session;
use crate::workbench::format::plural;
use crate::workbench::{ExportError, PreparedExport, Secrets, Workbench, check_new_export, write_export};

/// Columns and rows of a picture by default.
const USUAL_SIZE: &str = "120x40";

pub(super) async fn export(
    flags: &ExportFlags,
    workbench: &Workbench,
    interface: InterfaceServices<'_>,
) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let prepared = workbench.prepare_export(&session, &flags.redact)?;
    if flags.preview {
        preview(&prepared, flags.json);
        return Ok(exit::OK);
    }
    let format = format(flags)?;
    let file = output_file(flags);
    if flags.json && file.is_none() {
        return Err(UsageError("--json prints a report: name the export's file with -o, or use --preview".to_owned()));
    }
    if flags.size.is_some() && !matches!(format, Format::Svg | Format::Asciicast) {
        return Err(UsageError(format!("--size is for svg and asciicast: {} has no columns", format.name())));
    }
    let size = size(flags.size.as_deref().unwrap_or(USUAL_SIZE))?;
    let secrets = if flags.allow_secrets { Secrets::Allowed } else { Secrets::Refused };
    if let Some(damage) = &prepared.content.damage {
        print_note(&format!("warning: {}", safe_line(damage)));
    }
    for finding in &prepared.findings {
        print_note(&safe_line(&finding.to_string()));
    }
    prepared.check(secrets)?;
    if !prepared.findings.is_empty() {
        print_note("warning: the export contains text that looks like a secret");
    }
    match file {
        Some(_) if flags.force && format == Format::Bundle => {
            return Err(UsageError(
                "--force replaces files: a bundle is a folder, name another one with -o".to_owned(),
            ));
        }
        Some(path) if !flags.force && format != Format::Bundle => check_new(path, &session)?,
        _ => {}
    }
    let bytes = match (format, file) {
        (Format::Bundle, Some(folder)) => {
            let findings = doctor::local_findings(workbench);
            workbench.write_bundle(&session, &prepared, secrets, &findings, folder).await?
        }
        (Format::Bundle, None) => return Err(UsageError("a bundle is a folder: name it with -o".to_owned())),
        _ => {
            let text = match prepared.text(format, secrets)? {
                Some(text) => text,
                None if format == Format::Asciicast => asciicast(&prepared.content, &pieces(&prepared.content), size),
                None => (interface.session)(&prepared.content, size),
            };
            match file {
                Some(path) => write_export(path, &text, &session)?,
                // What goes wrong there ends the command.
                None => _ = Stdout.write_all(text.as_bytes()),
            }
            text.len() as u64
        }
    };
    let Some(path) = file else { return Ok(exit::OK) };
    if flags.json {
        let written = ExportJson { format: format.name(), file: path.display().to_string(), bytes };
        print_json(&RemovalsJson { written: Some(written), ..removals(&prepared) });
    } else {
        let size = crate::workbench::format::size(bytes);
        print_note(&format!("{} of {}, {size}, {}", path.display(), session.header.id, removed(&prepared.removals)));
    }
    Ok(exit::OK)
}

/// Checks that an export replaces nothing. The error names what to write.
fn check_new(path: &Path, session: &Session) -> Result<(), UsageError> {
    check_new_export(path, session).map_err(|error| {
        UsageError(match error {
            ExportError::Exists(path) => {
                format!("{} exists: name another file with -o, or replace it with --force", path.display())
            }
            other => other.to_string(),
        })
    })
}

/// The format that was asked for, or that the file's name ends with.
fn format(flags: &ExportFlags) -> Result<Format, UsageError> {
    let names = || Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    if let Some(name) = &flags.format {
        return Format::from_name(name)
            .ok_or_else(|| UsageError(format!("unknown format {name:?}; known: {}", names())));
    }
    let ending = output_file(flags).and_then(|path| path.extension()).and_then(|ending| ending.to_str());
    let named = ending.and_then(|ending| Format::ALL.iter().find(|format| format.ending() == ending)).copied();
    named.ok_or_else(|| {
        let names = names();
        UsageError(match output_file(flags) {
            Some(path) => {
                let file = safe_line(&path.display().to_string());
                format!("{file}: the file's ending does not name a format; choose one with --format: {names}")
            }
            None => format!("choose a format with --format: {names}"),
        })
    })
}

/// The file or folder to write; `None` for standard output.
fn output_file(flags: &ExportFlags) -> Option<&PathBuf> {
    flags.output.as_ref().filter(|path| path.as_os_str() != "-")
}

/// The session as `sessions show --plain` prints it, with the time of each piece.
pub fn pieces(content: &Content) -> Vec<Piece> {
    let mut printer = Printer::new(Vec::new(), true);
    let mut pieces = Vec::new();
    for envelope in &content.events {
        printer.print(envelope);
        let text = String::from_utf8_lossy(&printer.taken()).into_owned();
        if !text.is_empty() {
            pieces.push(Piece { at_ms: envelope.at_ms, text });
        }
    }
    pieces
}

fn removed(removals: &[Removal]) -> String {
    match removals.iter().map(|removal| removal.count as u64).sum() {
        0 => "nothing removed".to_owned(),
        places => format!("{} removed", plural(places, "place")),
    }
}

fn preview(prepared: &PreparedExport, as_json: bool) {
    if as_json {
        return print_json(&removals(prepared));
    }
    for removal in &prepared.removals {
        print_line(&safe_line(&removal.to_string()));
    }
    print_line(&removed(&prepared.removals));
    if !prepared.findings.is_empty() {
        for finding in &prepared.findings {
            print_line(&format!("looks like a secret: {}", safe_line(&finding.to_string())));
        }
        print_line("`--redact secrets` removes these");
    }
}

/// Output of `--json`: what an export removed or, with `--preview`, would remove.
#[derive(Serialize)]
struct RemovalsJson<'a> {
    #[serde(flatten)]
    written: Option<ExportJson>,
    removed: &'a [Removal],
    secrets: &'a [Removal],
}

#[derive(Serialize)]
struct ExportJson {
    format: &'static str,
    file: String,
    bytes: u64,
}

#[derive(Serialize)]
struct ImportJson<'a> {
    session: &'a str,
    path: String,
    events: usize,
    kept: usize,
}

fn removals(prepared: &PreparedExport) -> RemovalsJson<'_> {
    RemovalsJson { written: None, removed: &prepared.removals, secrets: &prepared.findings }
}

pub(super) fn import(flags: &ImportFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(code) = super::traffic::import(flags, workbench)? {
        return Ok(code);
    }
    let report = workbench.import_trace(&flags.file)?;
    if flags.json {
        print_json(&ImportJson {
            session: &report.id,
            path: report.path.display().to_string(),
            events: report.events,
            kept: report.kept,
        });
        return Ok(exit::OK);
    }
    print_line(&report.id);
    let kept = if report.kept > 0 { format!(", {} of them kept unchanged", report.kept) } else { String::new() };
    print_note(&safe_line(&format!(
        "{} with {}{kept}; view it with `sessions show {}`, it cannot be replayed",
        report.path.display(),
        plural(report.events as u64, "event"),
        report.id
    )));
    Ok(exit::OK)
}

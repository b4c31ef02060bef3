//! Audit of sessions and bundles: what resuming or forking would do, and whether the recording is as the program wrote it.
//!
//! In: a session file or a bundle's folder. Out: lines and oddities. The recording is replayed without a model or a tool;
//! its answers are never taken for consent.

use std::path::Path;

use ptc_core::value::json;

use super::{Auditor, definition, oddities};
use crate::config::{document, read_regular_file};
use crate::event::{Event, QuestionKind, hex_sha};
use crate::port::Attachments as _;
use crate::replay::ReplayOutcome;
use crate::session::{AttachmentStore, FILES, Header, Session};

/// Files of a bundle besides its session.
const BUNDLE: [&str; 3] = ["agent.toml", "doctor.json", "README.md"];

/// Audits a session file.
pub(super) async fn session_file(path: &Path, auditor: &mut Auditor<'_>) -> Result<(), String> {
    let session = Session::open(path).map_err(|error| error.to_string())?;
    audit(&session, auditor).await;
    Ok(())
}

/// Audits a session that came through a pipe.
pub(super) async fn session_text(path: &Path, text: String, auditor: &mut Auditor<'_>) -> Result<(), String> {
    let session = Session::from_bytes(path, text.into_bytes()).map_err(|error| error.to_string())?;
    audit(&session, auditor).await;
    Ok(())
}

/// Audits the folder of a bundle.
pub(super) async fn bundle(folder: &Path, auditor: &mut Auditor<'_>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: cannot be read: {error}", folder.display());
    let mut names: Vec<std::path::PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.path());
    }
    names.sort();
    let mut sessions = 0;
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_link = path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file());
        if name == FILES && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            files(&path, auditor)?;
        } else if is_link {
            auditor.add_oddity(name, "is not a regular file: it is not opened");
        } else if Path::new(&name).extension().is_some_and(|end| end == "jsonl") {
            sessions += 1;
            session_file(&path, auditor).await?;
        } else if name == BUNDLE[0] {
            let text = read_regular_file(&path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
            // The same definition as the session's: its effects are in the list already.
            match document::parse(&text) {
                Ok(document) => oddities::tree(&document, &name, auditor),
                Err(problem) => auditor.add_oddity(name, problem.message),
            }
        } else if !BUNDLE.contains(&name.as_str()) {
            auditor.add_oddity(name, "is not a part of a bundle");
        }
    }
    if sessions == 0 {
        return Err(format!("{}: the folder contains no session; it is not a bundle", folder.display()));
    }
    Ok(())
}

/// Audits the folder of a bundle's input files: each is named by its hash.
fn files(folder: &Path, auditor: &mut Auditor<'_>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: cannot be read: {error}", folder.display());
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let store = AttachmentStore::of_sessions(folder.parent().unwrap_or(folder));
    for name in names {
        let place = format!("{FILES}/{name}");
        if !folder.join(&name).symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            auditor.add_oddity(place, "is not a regular file: it is not opened");
        } else if store.bytes(&name).is_none() {
            auditor.add_oddity(place, "is not an input file: its name is not the hash of its content");
        }
    }
    Ok(())
}

async fn audit(session: &Session, auditor: &mut Auditor<'_>) {
    origin(&session.header, auditor);
    if let Some(damage) = session.damage_summary() {
        auditor.add_oddity("file", damage);
    }
    let mut consents = 0_u64;
    for index in 0..session.len() {
        let Some(envelope) = session.event(index) else { continue };
        let at = envelope.address.to_string();
        if let Some(line) = session.line(index)
            && let Ok(tree) = json::parse(&line)
        {
            oddities::tree(tree.get("d").unwrap_or(&tree), &at, auditor);
        }
        match &envelope.event {
            Event::RunStart(start) => {
                if start.agent.sha != hex_sha(start.agent.toml.as_bytes()) {
                    auditor.add_oddity(
                        at.as_str(),
                        "edited recording: the agent's definition differs from its recorded hash",
                    );
                }
                match document::parse(&start.agent.toml) {
                    Ok(table) => oddities::tree(&table, &format!("{at}: agent"), auditor),
                    Err(problem) => auditor.add_oddity(at.as_str(), problem.message),
                }
                match crate::agent::Agent::recorded(&start.agent.toml) {
                    Ok(agent) => definition::agent(&agent, &format!("{at}: "), auditor),
                    Err(error) => auditor.add_oddity(at.as_str(), format!("the agent cannot be used: {error}")),
                }
            }
            Event::QuestionAsked(asked) if asked.kind == QuestionKind::Consent => consents += 1,
            _ => {}
        }
    }
    if consents > 0 {
        auditor
            .add_oddity("file", format!("{consents} recorded questions of consent: their answers are for replay only"));
    }
    if session.header.foreign_origin().is_none() {
        replayed(session, auditor).await;
    }
}

fn origin(header: &Header, auditor: &mut Auditor<'_>) {
    if let Some(origin) = header.foreign_origin() {
        auditor.add_oddity("header", format!("foreign origin: {origin}"));
    }
    let own = Header::new(header.id.clone(), header.created_ms).program;
    if header.program != own {
        auditor.add_oddity("header", format!("foreign origin: written by {}, this is {own}", header.program));
    }
}

/// Compares the recording with what the engine computes from its inputs.
async fn replayed(session: &Session, auditor: &mut Auditor<'_>) {
    match auditor.workbench.replay(session).await {
        Ok(report) => {
            if let ReplayOutcome::Diverged(divergence) = report.outcome {
                auditor.add_oddity(
                    "file",
                    format!("edited recording, or recorded by another version: its replay differs: {divergence}"),
                );
            }
        }
        Err(error) => auditor.add_oddity("file", format!("cannot be replayed: {error}")),
    }
}

//! The dialog of an export: what it shows before it writes, and what keeps it from writing. No IO.

use ptc_workbench::export::{Format, Removal};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup};
use ptc_workbench::workbench::{ExportError, ExportPreview, ExportReport, ExportSpec, Secrets};

use super::pictures::text;
use super::sessions::{key, list, session};
use super::story::apply_message;
use super::{press, write};

const LARGE: (u16, u16) = (120, 40);

#[test]
fn a_file_that_ends_as_another_format_does_is_not_written() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "e");
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::ExportPreview(
            key("long"),
            vec!["secrets".to_owned()],
            Ok(ExportPreview::default()),
        )),
    );
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    write(&mut model, "page.html");
    assert_eq!(press(&mut model, "f5"), []);
    assert!(text(&mut model).contains("page.html has the extension of html: choose that format, or another name"));
}

/// A dialog of an export in which something looks like a secret.
pub(super) fn exporting(size: (u16, u16)) -> Model {
    let mut model = Model { size, ..list(vec![session("long")]) };
    export(&mut model);
    model
}

/// Opens the dialog, in which something looks like a secret.
fn export(model: &mut Model) {
    let rules = vec!["secrets".to_owned()];
    assert_eq!(press(model, "e"), [Effect::Archive(ArchiveRequest::PreviewExport(key("long"), rules.clone()))]);
    let removal = |address: &str, field: &str, rule: &str, excerpt: &str| Removal {
        address: address.into(),
        field: field.to_owned(),
        rule: rule.to_owned(),
        count: 1,
        excerpt: excerpt.to_owned(),
    };
    let removals = ExportPreview {
        removals: vec![removal("r0/t1", "message parts.0.text", "secrets", "ghp…(40)")],
        findings: vec![removal("r0/t2", "tool.end result.token", "known_secret", "sk-…(51)")],
    };
    apply_message(model, Msg::Archive(ArchiveResponse::ExportPreview(key("long"), rules, Ok(removals))));
}

#[test]
fn the_path_is_kept_but_not_the_consent_to_secrets() {
    let mut model = exporting(LARGE);
    for _ in 0..3 {
        press(&mut model, "tab");
    }
    write(&mut model, "report.md");
    press(&mut model, "tab");
    press(&mut model, "right");
    let open = |model: &Model| match model.popups.last() {
        Some(Popup::Form(form, _)) => (form.written("file").to_owned(), form.choice("secrets").to_owned()),
        _ => panic!("no dialog"),
    };
    assert_eq!(open(&model), ("report.md".to_owned(), "exported".to_owned()));
    press(&mut model, "esc");
    export(&mut model);
    assert_eq!(open(&model), ("report.md".to_owned(), "not exported".to_owned()));
}

#[test]
fn nothing_is_exported_while_something_looks_like_a_secret() {
    let mut model = exporting(LARGE);
    let seen = text(&mut model);
    assert!(seen.contains("1 place looks like a secret") && seen.contains("1 place omitted"), "{seen}");
    assert_eq!(press(&mut model, "f5"), []);
    assert!(text(&mut model).contains("nothing was written"));
    for _ in 0..4 {
        press(&mut model, "tab");
    }
    press(&mut model, "right");
    let export = |replace| ExportSpec {
        format: Format::from_name("md").unwrap(),
        rules: vec!["secrets".to_owned()],
        path: "long.md".into(),
        replace,
        secrets: Secrets::Allowed,
    };
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Export(key("long"), export(false)))]);
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Exported(Err(ExportError::Exists("long.md".into())))));
    assert!(text(&mut model).contains("long.md exists: export again to replace it"));
    assert_eq!(press(&mut model, "f5"), [Effect::Archive(ArchiveRequest::Export(key("long"), export(true)))]);
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::Exported(Ok(ExportReport { path: "long.md".into(), bytes: 7, places: 1 }))),
    );
    assert!(model.popups.is_empty() && text(&mut model).contains("✓ exported long.md, 7 B, 1 place omitted"));
}

#[test]
fn changed_rules_are_looked_at_again_one_look_at_a_time() {
    let mut model = list(vec![session("long")]);
    press(&mut model, "e");
    press(&mut model, "right");
    assert!(text(&mut model).contains("long.html"), "the name follows the format");
    press(&mut model, "tab");
    assert_eq!(press(&mut model, "right"), [], "the first look is still under way");
    let rules = |name: &str| vec![name.to_owned()];
    let shown = ArchiveResponse::ExportPreview(key("long"), rules("secrets"), Ok(ExportPreview::default()));
    let effects = apply_message(&mut model, Msg::Archive(shown));
    assert_eq!(effects, [Effect::Archive(ArchiveRequest::PreviewExport(key("long"), rules("summary")))]);
    assert_eq!(press(&mut model, "f5"), []);
    assert!(text(&mut model).contains("still checking what is omitted"));
    apply_message(
        &mut model,
        Msg::Archive(ArchiveResponse::ExportPreview(key("long"), rules("summary"), Ok(ExportPreview::default()))),
    );
    assert!(text(&mut model).contains("confirm again"));
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Archive(ArchiveRequest::Export(..))]));
}

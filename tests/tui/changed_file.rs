//! The agent's file that another program changes while the workbench is open: looked at, announced once, taken over as the user chooses.

use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup};
use ptc_workbench::workbench::AgentFile;

use super::pictures::text;
use super::story::{apply_message, fresh, sentiment};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (140, 40);

fn file(sha: &str) -> AgentFile {
    AgentFile { path: "a.toml".into(), sha: sha.to_owned() }
}

fn opened(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    model.workbench.file = Some(file("old"));
    let now_ms = model.now_ms;
    apply_message(&mut model, Msg::Clock(now_ms));
    model
}

/// Time passes until the file is looked at, and this is what the look finds.
fn looked(model: &mut Model, found: Option<&str>) {
    let known = model.workbench.file.clone().unwrap();
    let look = Effect::Archive(ArchiveRequest::LookAtFile(known.clone()));
    let looks = |model: &mut Model| {
        let due = model.deadline_ms().unwrap();
        apply_message(model, Msg::Clock(due)).contains(&look)
    };
    // Unsaved edits are kept, messages go away meanwhile.
    assert!((0..20).any(|_| looks(model)));
    let response = ArchiveResponse::FileLooked(known, found.map(ToOwned::to_owned));
    assert_eq!(apply_message(model, Msg::Archive(response)), []);
}

fn announced(model: &Model) -> bool {
    model.toast.as_ref().is_some_and(|toast| toast.text.contains("another program changed a.toml"))
}

#[test]
fn a_change_by_another_program_is_announced_once_and_saving_asks_what_to_do() {
    for size in [SMALL, WIDE] {
        let mut model = opened(size);
        looked(&mut model, None);
        looked(&mut model, Some("new"));
        assert!(!announced(&model), "a content that was found once may be half-written");
        looked(&mut model, Some("new"));
        assert!(announced(&model) && model.popups.is_empty());
        let shown = text(&mut model);
        assert!(
            shown.contains("changed on disk") && shown.contains("Ctrl-S reloads, merges or overwrites it"),
            "{shown}"
        );
        // Typing goes on; the message does not come again for the same content.
        write(&mut model, "Mine. ");
        looked(&mut model, Some("new"));
        assert!(!announced(&model) && model.workbench.texts().prompt.starts_with("Mine. "));
        assert_eq!(press(&mut model, "ctrl-s"), []);
        assert!(matches!(model.popups.last(), Some(Popup::Overwrite { path }) if path == "a.toml"));
        let shown = text(&mut model);
        for part in ["has changed since it was read", "merge", "reload", "overwrite", "Mine. Classify"] {
            assert!(shown.contains(part), "{part} is on the screen, the draft is not covered: {shown}");
        }
        press(&mut model, "esc");
        looked(&mut model, Some("new"));
        assert!(!announced(&model) && model.popups.is_empty(), "it was declined for this content");
        for _ in 0..2 {
            looked(&mut model, Some("newer"));
        }
        assert!(announced(&model), "another content is another change");
        for _ in 0..2 {
            looked(&mut model, None);
        }
        assert!(!text(&mut model).contains("changed on disk"), "it was changed back");
    }
}

#[test]
fn what_this_program_writes_itself_is_no_change() {
    let mut model = opened(SMALL);
    looked(&mut model, Some("own"));
    // The save that wrote it is reported between the two looks.
    apply_message(&mut model, Msg::Saved("a.toml".to_owned(), sentiment(), Ok(file("own"))));
    model.toast = None;
    looked(&mut model, None);
    looked(&mut model, None);
    assert!(!announced(&model) && !text(&mut model).contains("changed on disk"));
}

#[test]
fn a_change_is_announced_where_the_draft_is_and_at_once_when_the_terminal_gets_the_focus() {
    let mut model = opened(SMALL);
    press(&mut model, "f3");
    for _ in 0..2 {
        looked(&mut model, Some("new"));
    }
    assert!(!announced(&model), "not on another screen");
    press(&mut model, "f2");
    let now_ms = model.now_ms;
    apply_message(&mut model, Msg::FocusGained);
    assert_eq!(model.deadline_ms(), Some(now_ms));
    looked(&mut model, Some("new"));
    assert!(announced(&model));
}

#[test]
fn an_agent_without_a_file_is_not_looked_at() {
    let mut model = fresh(SMALL);
    let now_ms = model.now_ms;
    apply_message(&mut model, Msg::Clock(now_ms));
    assert_eq!(model.deadline_ms(), None);
}

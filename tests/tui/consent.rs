//! Questions that need consent: what matters first is on the first page, and consent needs the whole question to have
//! been visible.

use ptc_workbench::event::Decision;
use ptc_workbench::port::Question;
use ptc_workbench::tool::{NamedFile, Tool};
use ptc_workbench::tui::archive::{AgentSource, ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Phase};
use ptc_workbench::workbench::RunUpdate;

use super::pictures::{screens, text};
use super::press;
use super::story::{apply_message, fresh, ran, two_turns};
use crate::engine::parsed;

const SIZES: &[(u16, u16)] = &[(80, 24), (140, 40)];

/// A question about a command with 120 arguments, as the run asks it.
fn question() -> Question {
    let arguments: Vec<String> = (1..=120).map(|number| format!("\"--option-{number}=value\"")).collect();
    let definition = format!(
        r#"{{"kind": "command", "command": ["/bin/sh", {}], "folder": "/", "env": ["AWS_SECRET_ACCESS_KEY"]}}"#,
        arguments.join(", ")
    );
    let tool = Tool::from_table("deploy", &parsed(&definition)).unwrap();
    // The program that `/bin/sh` leads to differs between machines.
    let program = std::path::Path::new("/bin/sh").canonicalize().unwrap().display().to_string();
    let details = tool.consent_text().unwrap().replacen(&program, "/bin/sh", 1);
    Question {
        address: "r0/t1/c0/q0".into(),
        text: format!("May the tool deploy be called?\n{details}\nwith {{\"target\":\"production\"}}"),
        options: Decision::ALL.iter().map(|decision| decision.name().to_owned()).collect(),
        gate: None,
    }
}

fn asked(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), None);
    model.workbench.run.as_mut().unwrap().phase = Phase::Running;
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question())]));
    let later = model.now_ms + 1_000;
    apply_message(&mut model, Msg::Clock(later));
    model
}

#[cfg(unix)]
#[test]
fn the_first_page_of_a_question_of_consent_shows_program_folder_and_variables() {
    screens("consent", SIZES, asked);
    for size in SIZES {
        let shown = text(&mut asked(*size));
        for words in ["program    /bin/sh", "folder     /", "AWS_SECRET_ACCESS_KEY", "arguments  120"] {
            assert!(shown.contains(words), "{words}:\n{shown}");
        }
    }
}

#[cfg(unix)]
#[test]
fn consent_needs_every_row_of_the_question_to_have_been_visible() {
    for size in SIZES {
        let mut model = asked(*size);
        for key in ["o", "r", "a"] {
            text(&mut model);
            assert_eq!(press(&mut model, key), []);
            assert!(model.toast.as_ref().unwrap().text.contains("scroll to the end first"));
        }
        // A jump over the middle shows the last row, and does not count.
        press(&mut model, "ctrl-end");
        assert!(text(&mut model).contains("production"));
        assert_eq!(press(&mut model, "o"), []);
        press(&mut model, "ctrl-home");
        text(&mut model);
        while !text(&mut model).contains("production") {
            press(&mut model, "pagedown");
        }
        assert_eq!(press(&mut model, "o"), [Effect::Answer(question().address, "once".to_owned())]);
    }
}

#[cfg(unix)]
#[test]
fn refusing_needs_nothing_to_have_been_read() {
    let mut model = asked(SIZES[0]);
    text(&mut model);
    assert_eq!(press(&mut model, "d"), [Effect::Answer(question().address, "deny".to_owned())]);
}

#[test]
fn an_agent_that_names_a_file_outside_of_its_folder_is_opened_after_consent() {
    let named = NamedFile {
        key: "schema".to_owned(),
        path: "agents/../secrets/adc.json".into(),
        resolved: Some("/home/user/secrets/adc.json".into()),
        folder: "/home/user/agents".into(),
        has_other_names: false,
    };
    let source = AgentSource::Named("agents/a.toml".to_owned());
    let response = || ArchiveResponse::FileQuestion(source.clone(), Box::new(named.clone()));
    let opened = |size| {
        let mut model = fresh(size);
        apply_message(&mut model, Msg::Archive(response()));
        let later = model.now_ms + 1_000;
        apply_message(&mut model, Msg::Clock(later));
        model
    };
    screens("file_consent", SIZES, opened);
    for (key, decision) in [("o", Decision::Once), ("a", Decision::Always)] {
        let mut model = opened(SIZES[0]);
        text(&mut model);
        let allow = ArchiveRequest::AllowFile(source.clone(), Box::new(named.clone()), decision);
        assert_eq!(press(&mut model, key), [Effect::Archive(allow)]);
        assert!(model.popups.is_empty());
    }
    for key in ["d", "esc"] {
        let mut model = opened(SIZES[0]);
        text(&mut model);
        assert_eq!(press(&mut model, key), []);
        assert!(model.popups.is_empty() && model.toast.as_ref().unwrap().text.contains("not opened"));
    }
}

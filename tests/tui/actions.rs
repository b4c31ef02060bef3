//! The action table: complete, without duplicates and conflicts, remappable.

use ptc_workbench::tui::actions::{ACTIONS, Action, Context};
use ptc_workbench::tui::keys::{self, Chord, KeyError, Keymap};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::picture;

use super::press;
use super::story::fresh;

#[test]
fn every_action_has_a_title_a_help_and_a_name_of_its_own() {
    for (place, row) in ACTIONS.iter().enumerate() {
        assert!(!row.title.is_empty() && row.help.ends_with('.'), "{}", row.id);
        assert!(row.help.len() <= 90, "{} has a long help", row.id);
        assert!(ACTIONS[place + 1..].iter().all(|other| other.id != row.id), "{} appears twice", row.id);
        assert!(Context::ALL.iter().any(|(context, _)| *context == row.context), "{} is not in the help", row.id);
        assert!(row.chords.iter().all(|chord| Chord::read(chord).is_some()), "{} has a bad chord", row.id);
    }
}

#[test]
fn the_default_keys_do_not_conflict() {
    assert_eq!(Keymap::default().conflicts(), []);
}

#[test]
fn chords_are_read_and_named() {
    for (written, named) in [
        ("f5", "F5"),
        ("ctrl-s", "Ctrl-S"),
        ("alt-enter", "Alt-Enter"),
        ("backtab", "Shift-Tab"),
        ("shift-tab", "Shift-Tab"),
        ("shift-g", "G"),
        ("/", "/"),
        ("space", "Space"),
        ("ctrl-shift-left", "Ctrl-Shift-Left"),
        ("pageup", "PageUp"),
    ] {
        assert_eq!(keys::name(keys::read(written).unwrap()), named, "{written}");
    }
    assert!(keys::read("hyper-x").is_none());
}

#[test]
fn keys_are_remapped_by_action() {
    let keymap = Keymap::configured([("run.start", &["f13", "ctrl-g"][..])]).unwrap();
    assert_eq!(keymap.names(Action::Run), ["F13", "Ctrl-G"]);
    let mut model = Model { keymap, ..fresh((120, 40)) };
    press(&mut model, "f5");
    assert!(model.workbench.run.is_none());
    press(&mut model, "f13");
    assert!(model.workbench.run.is_some());
    let buffer = picture(&mut model, (120, 40));
    let text: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    assert!(text.contains("F13 stop"), "the footer follows");
}

#[test]
fn former_names_of_actions_still_bind_keys() {
    for (former, present) in [("sessions.go_on", "sessions.resume"), ("matrix.go_on", "matrix.resume")] {
        let keymap = Keymap::configured([(former, &["alt-q"][..])]).unwrap();
        let row = ACTIONS.iter().find(|row| row.id == present).unwrap();
        assert_eq!(keymap.names_of(row), ["Alt-Q"]);
    }
}

#[test]
fn conflicts_name_both_actions() {
    let errors = Keymap::configured([("help", &["f5"][..])]).unwrap_err();
    assert_eq!(errors, [KeyError::Conflict { chord: "F5".to_owned(), first: "help", second: "run.start" }]);
    assert!(errors[0].to_string().contains("help and run.start"));
    let errors =
        Keymap::configured([("rnu.start", &["f5"][..]), ("help", &["x"][..]), ("quit", &["hyper-q"][..])]).unwrap_err();
    let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(text[0].contains("did you mean \"run.start\""), "{text:?}");
    assert!(text[1].contains("\"hyper-q\" is not a key"), "{text:?}");
    assert!(text[2].contains("needed for typing"), "{text:?}");
}

#[test]
fn errors_of_the_keys_name_the_file_that_they_are_in() {
    use ptc_workbench::tui::{Colours, Setup};
    let keys = vec![("help".to_owned(), vec!["f5".to_owned()]), ("quit".to_owned(), vec!["hyper-q".to_owned()])];
    let built_in = ptc_workbench::config::Config::built_in().unwrap();
    let config = ptc_workbench::config::Config { file: Some("/home/me/config.toml".into()), keys, ..built_in };
    let shown = Setup::new(&config, std::path::Path::new(""), Colours::Off).unwrap_err();
    assert_eq!(shown.lines().count(), 2);
    assert!(shown.lines().all(|line| line.starts_with("/home/me/config.toml: [keys] ")), "{shown}");
}

#[test]
fn chords_of_two_strokes_are_read_named_and_conflict_with_their_own_start() {
    assert_eq!(Chord::read("alt-g p").unwrap().name(), "Alt-G p");
    assert_eq!(Chord::read("ctrl-s").unwrap().name(), "Ctrl-S");
    for wrong in ["", "alt-g hyper-x", "alt-g p q", "hyper-x p"] {
        assert_eq!(Chord::read(wrong), None, "{wrong}");
    }
    let errors = Keymap::configured([("help", &["alt-g"][..])]).unwrap_err();
    let conflict = |second| KeyError::Conflict { chord: "Alt-G".to_owned(), first: "help", second };
    assert_eq!(errors, [conflict("focus.prompt")]);
    let errors = Keymap::configured([("help", &["alt-g p"][..])]).unwrap_err();
    assert!(errors[0].to_string().contains("Alt-G p would mean both help and focus.prompt"), "{errors:?}");
    assert!(Keymap::configured([("help", &["alt-g h"][..])]).is_ok());
}

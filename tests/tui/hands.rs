//! Focus and attention: announced stops, the tour, room for the focus, panels that do not cover the run, changes by other programs.

use std::sync::Arc;

use ptc_workbench::agent::{Diagnostic, DraftTexts, Place};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::port::Question;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse, ChangedFileAction};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Pane, Popup};
use ptc_workbench::tui::{Colours, Setup};
use ptc_workbench::workbench::{AgentFile, DraftSummary, OpenAgent, Overwrite, RunEnding, RunUpdate, SaveError};

use super::pictures::text;
use super::story::{apply_message, asked, fresh, happened, ran, sentiment, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (140, 40);

fn archive(model: &mut Model, response: ArchiveResponse) -> Vec<Effect> {
    apply_message(model, Msg::Archive(response))
}

fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    apply_message(model, Msg::Paste(text.to_owned()))
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| toast.text.as_str())
}

fn running(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, asked().events(), None);
    model
}

fn checked(model: &mut Model, findings: Vec<Diagnostic>) {
    let version = model.workbench.version();
    apply_message(model, Msg::Checked(version, findings, Box::default()));
}

#[test]
fn no_key_stops_a_run_at_the_first_press() {
    for key in ["esc", "f5"] {
        let mut model = running(WIDE);
        press(&mut model, "alt-g");
        press(&mut model, "r");
        assert_eq!(press(&mut model, key), []);
        assert!(toast(&model).contains("again stops it"), "{}", toast(&model));
        press(&mut model, "down");
        assert_eq!(press(&mut model, key), [], "another key came between");
        assert_eq!(press(&mut model, key), [Effect::Cancel(Slot::Workbench)]);
    }
}

#[test]
fn a_second_press_counts_while_the_announcement_is_on_the_screen() {
    let mut model = running(WIDE);
    assert_eq!(press(&mut model, "f5"), []);
    let over = model.toast.as_ref().unwrap().until_ms;
    apply_message(&mut model, Msg::Clock(over));
    assert!(model.toast.is_none());
    assert_eq!(press(&mut model, "f5"), [Effect::Cancel(Slot::Workbench)], "no frame was drawn without it");
}

#[test]
fn leaving_asks_about_a_run_that_nobody_stopped_and_only_as_long_as_it_runs() {
    let mut model = running(WIDE);
    press(&mut model, "ctrl-q");
    assert!(text(&mut model).contains("Leaving stops it"));
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(RunEnding::Run)]));
    assert!(model.popups.is_empty() && !model.quitting);
    assert!(toast(&model).contains("nothing is in progress; Ctrl-Q quits"), "{}", toast(&model));
    let mut model = running(WIDE);
    press(&mut model, "f5");
    assert_eq!(press(&mut model, "f5"), [Effect::Cancel(Slot::Workbench)]);
    press(&mut model, "ctrl-q");
    assert!(model.quitting, "it is being stopped already");
}

#[test]
fn escape_in_an_editor_never_stops_a_run() {
    let mut model = running(WIDE);
    assert!(matches!(model.workbench.focus, Pane::Editor(_)));
    for _ in 0..5 {
        assert_eq!(press(&mut model, "esc"), []);
    }
    assert!(toast(&model).contains("the run continues"));
}

#[test]
fn an_announced_stop_ends_with_its_message() {
    let mut model = running(WIDE);
    assert_eq!(press(&mut model, "f5"), []);
    let later = model.toast.as_ref().unwrap().until_ms;
    apply_message(&mut model, Msg::Clock(later));
    // A frame was drawn.
    model.dirty = false;
    apply_message(&mut model, Msg::Clock(later + 1));
    assert_eq!(press(&mut model, "f5"), []);
    assert_eq!(press(&mut model, "f5"), [Effect::Cancel(Slot::Workbench)]);
}

#[test]
fn a_second_press_after_the_end_starts_no_other_run() {
    let mut model = running(WIDE);
    press(&mut model, "f5");
    happened(&mut model, Vec::new(), Some(RunEnding::Run));
    assert_eq!(press(&mut model, "f5"), []);
    assert!(toast(&model).contains("the run has ended"));
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Start(_)]));
}

#[test]
fn leaving_asks_while_a_run_is_in_progress() {
    let mut model = running(WIDE);
    assert_eq!(press(&mut model, "ctrl-q"), []);
    let shown = text(&mut model);
    assert!(shown.contains("A run is in progress") && shown.contains("d stop and leave"), "{shown}");
    press(&mut model, "s");
    press(&mut model, "esc");
    assert!(!model.quitting && model.popups.is_empty());
    press(&mut model, "ctrl-q");
    assert_eq!(press(&mut model, "ctrl-q").first(), Some(&Effect::Cancel(Slot::Workbench)));
    assert!(model.quitting);
}

#[test]
fn the_tour_ends_by_any_key_that_acts_and_the_key_acts() {
    let toured = || {
        let mut model = fresh(WIDE);
        model.popups.push(Popup::Tour(0));
        model
    };
    for (key, acts) in
        [("f5", "start"), ("f3", "sessions"), ("ctrl-p", "palette"), ("f1", "help"), ("tab", "focus"), ("x", "types")]
    {
        let mut model = toured();
        let effects = press(&mut model, key);
        assert_eq!(effects.first(), Some(&Effect::TourSeen), "{key}");
        assert!(!model.popups.iter().any(|popup| matches!(popup, Popup::Tour(_))), "{key}");
        let did = match acts {
            "start" => effects.iter().any(|effect| matches!(effect, Effect::Start(_))),
            "sessions" => effects.contains(&Effect::List),
            "palette" => matches!(model.popups.last(), Some(Popup::Palette { .. })),
            "help" => matches!(model.popups.last(), Some(Popup::Help { .. })),
            "focus" => model.workbench.focus == Pane::Editor(Place::Signature),
            _ => model.workbench.texts().prompt.starts_with('x'),
        };
        assert!(did, "{key} {acts}");
    }
    for key in ["enter", "right", "space"] {
        let mut model = toured();
        press(&mut model, key);
        assert!(matches!(model.popups.last(), Some(Popup::Tour(1))), "{key} is of the tour");
    }
    let mut model = toured();
    assert_eq!(paste(&mut model, "pasted").first(), Some(&Effect::TourSeen));
    assert!(model.workbench.texts().prompt.starts_with("pasted"));
}

#[test]
fn the_first_start_shows_a_finished_run_until_the_draft_runs() {
    let mut model = fresh(WIDE);
    let found = Some(("example".to_owned(), Arc::from(two_turns())));
    archive(&mut model, ArchiveResponse::ExampleRun(found));
    let shown = text(&mut model);
    assert!(shown.contains("Example run r0") && shown.contains("F5 runs the draft"), "{shown}");
    assert!(matches!(press(&mut model, "f5").as_slice(), [Effect::Start(_)]));
    assert!(!text(&mut model).contains("Example run"));
    archive(&mut model, ArchiveResponse::ExampleRun(Some(("late".to_owned(), Arc::from(two_turns())))));
    assert!(!text(&mut model).contains("Example run"), "it never takes the place of a run");
}

#[test]
fn on_a_small_screen_the_focused_editor_has_the_room_and_the_others_are_titles() {
    for (place, chord) in [(Place::Prompt, "p"), (Place::Signature, "s"), (Place::Options, "o")] {
        let mut model = fresh(SMALL);
        press(&mut model, "alt-g");
        press(&mut model, chord);
        let shown = text(&mut model);
        assert!(model.workbench.editor(place).area.height >= 12, "{shown}");
        for name in ["Prompt", "Signature", "Inputs", "Options"] {
            assert!(shown.contains(name), "{name}: {shown}");
        }
    }
}

#[test]
fn the_focused_editor_grows_on_a_large_screen_too() {
    let mut model = fresh(WIDE);
    text(&mut model);
    let before = model.workbench.editor(Place::Options).area.height;
    press(&mut model, "alt-g");
    press(&mut model, "o");
    text(&mut model);
    assert!(model.workbench.editor(Place::Options).area.height > before + 4);
}

#[test]
fn zoom_gives_the_focused_pane_the_whole_screen() {
    for size in [SMALL, WIDE] {
        let mut model = running(size);
        for (chord, pane) in [("p", "Prompt"), ("r", "Run r0")] {
            press(&mut model, "alt-g");
            press(&mut model, chord);
            press(&mut model, "alt-g");
            press(&mut model, "z");
            let shown = text(&mut model);
            let other = if pane == "Prompt" { "Run r0" } else { "Signature" };
            assert!(shown.contains(pane) && !shown.contains(&format!("─ {other}")), "{shown}");
            press(&mut model, "alt-g");
            press(&mut model, "z");
        }
    }
}

/// A run that asks for consent.
fn consenting(size: (u16, u16)) -> Model {
    let mut model = running(size);
    let options = ["once", "run", "always", "deny"].map(str::to_owned).into();
    let question = Question { address: "r0/t1/c0/q0".into(), text: "Run `rm`?".to_owned(), options, gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    model
}

#[test]
fn questions_about_a_run_do_not_cover_it() {
    for size in [SMALL, WIDE] {
        let shown = text(&mut consenting(size));
        assert!(shown.contains("Run `rm`?") && shown.contains("Turn 1"), "{shown}");
        let mut model = running(size);
        press(&mut model, "alt-g");
        press(&mut model, "r");
        press(&mut model, "ctrl-f7");
        let shown = text(&mut model);
        assert!(shown.contains("Breakpoints of programs") && shown.contains("Turn 1"), "{shown}");
    }
}

#[test]
fn the_focused_editor_and_the_status_line_are_visible_above_the_panel_of_breakpoints() {
    for place in ["p", "s", "c", "o"] {
        let mut model = running(SMALL);
        press(&mut model, "alt-g");
        press(&mut model, place);
        press(&mut model, "ctrl-f7");
        let shown = text(&mut model);
        let above: Vec<&str> = shown.lines().take_while(|row| !row.contains("Breakpoints of programs")).collect();
        let focused = above.iter().position(|row| row.contains('━')).unwrap_or_else(|| panic!("{place}: {shown}"));
        let rules = |row: &str| row.contains('─') || row.contains('━');
        assert!(!rules(above[focused + 1]), "{place}: a row of the text is visible: {shown}");
        // The status line is the last but one of the rows that the panel leaves.
        assert!(!rules(above[above.len() - 2]) && !rules(above[above.len() - 1]), "{place}: {shown}");
    }
}

#[test]
fn a_breakpoint_at_an_unknown_tool_is_refused_with_the_nearest_one() {
    let mut model = fresh(WIDE);
    let version = model.workbench.version();
    let preview =
        DraftSummary { tools: Some(vec!["orders".to_owned(), "refund".to_owned()]), ..DraftSummary::default() };
    apply_message(&mut model, Msg::Checked(version, Vec::new(), Box::new(preview)));
    press(&mut model, "ctrl-f7");
    write(&mut model, "tool:order, def:total");
    assert_eq!(press(&mut model, "enter"), []);
    assert!(text(&mut model).contains("did you mean `orders`?"));
    press(&mut model, "ctrl-a");
    write(&mut model, "tool:orders, def:total");
    assert!(matches!(press(&mut model, "enter").as_slice(), [Effect::StopAt(_)]));
}

#[test]
fn the_request_opens_at_the_task_and_pages_move_it() {
    let mut model = running(SMALL);
    let lines: Vec<String> = (0..80).map(|line| format!("card line {line}")).collect();
    let request = format!("[system]\n{}\n\n[user]\nThe task is here", lines.join("\n"));
    let question = Question { address: "r0/t1".into(), text: request, options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    assert!(text(&mut model).contains("The task is here"));
    press(&mut model, "alt-home");
    assert!(text(&mut model).contains("card line 0"));
    press(&mut model, "ctrl-pagedown");
    let shown = text(&mut model);
    assert!(!shown.contains("card line 0 ") && shown.contains("card line 8"), "{shown}");
    press(&mut model, "alt-end");
    assert!(text(&mut model).contains("The task is here"));
}

#[test]
fn gates_are_opened_and_closed_from_inside_of_one() {
    let mut model = running(WIDE);
    let question = Question {
        address: "r0/t1/q0".into(),
        text: "[]".to_owned(),
        options: Vec::new(),
        gate: Some(ptc_workbench::port::Gate::Send),
    };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    for (key, gate) in [("f7", "Send"), ("shift-f7", "Apply"), ("alt-f7", "Result")] {
        let effects = press(&mut model, key);
        assert!(matches!(effects.as_slice(), [Effect::Intercept(..)]), "{gate}: {effects:?}");
    }
}

/// A saved agent that was edited, and whose file another program changed.
fn changed_outside() -> Model {
    let mut model = fresh(WIDE);
    model.workbench.file = Some(AgentFile { path: "a.toml".into(), sha: "old".to_owned() });
    write(&mut model, "Please. ");
    press(&mut model, "ctrl-s");
    let saved = Msg::Saved("a.toml".to_owned(), sentiment(), Err(SaveError::Changed));
    apply_message(&mut model, saved);
    let later = model.now_ms + 1_000;
    apply_message(&mut model, Msg::Clock(later));
    model
}

fn changed_file(options: &str, prompt: &str) -> Box<OpenAgent> {
    let texts = DraftTexts { options: options.to_owned(), prompt: prompt.to_owned(), ..sentiment() };
    let file = Some(AgentFile { path: "a.toml".into(), sha: "new".to_owned() });
    Box::new(OpenAgent { texts, file, ..OpenAgent::default() })
}

#[test]
fn a_change_by_another_program_is_reloaded_merged_or_replaced() {
    let options = format!("{}max_tokens = 5\n", sentiment().options);
    let shown = text(&mut changed_outside());
    for word in ["has changed since it was read", "o overwrite", "m merge", "r reload"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }

    let mut model = changed_outside();
    let request = ArchiveRequest::ChangedFile("a.toml".to_owned(), ChangedFileAction::Merge);
    assert_eq!(press(&mut model, "m"), [Effect::Archive(request)]);
    let read = ArchiveResponse::ChangedFile(ChangedFileAction::Merge, Ok(changed_file(&options, &sentiment().prompt)));
    let effects = archive(&mut model, read);
    let both = model.workbench.texts();
    assert!(both.prompt.starts_with("Please. ") && both.options.contains("max_tokens"), "{both:?}");
    let saves = |effect: &Effect| matches!(effect, Effect::Save { known: Some(file), overwrite: Overwrite::Unchanged, .. } if file.sha == "new");
    assert!(effects.iter().any(saves), "{effects:?}");

    let mut model = changed_outside();
    press(&mut model, "r");
    archive(&mut model, ArchiveResponse::ChangedFile(ChangedFileAction::Reload, Ok(changed_file(&options, "Other"))));
    assert_eq!(model.workbench.texts().prompt, "Other");
    press(&mut model, "ctrl-u");
    assert!(model.workbench.texts().prompt.starts_with("Please. "), "undo brings the edits back");

    let mut model = changed_outside();
    press(&mut model, "m");
    archive(&mut model, ArchiveResponse::ChangedFile(ChangedFileAction::Merge, Ok(changed_file(&options, "Other"))));
    assert!(toast(&model).contains("prompt changed here and in the file"), "{}", toast(&model));
    assert!(model.workbench.texts().prompt.starts_with("Please. "));
}

#[test]
fn a_file_that_is_corrected_in_the_options_gets_its_editors() {
    let broken = "prompt = \"Go\nsignature = \"() -> :int\"\n";
    let texts = DraftTexts { options: broken.to_owned(), ..DraftTexts::default() };
    let mut model = Model::new(OpenAgent { texts, ..OpenAgent::default() }, WIDE, 0);
    press(&mut model, "alt-g");
    press(&mut model, "o");
    press(&mut model, "end");
    write(&mut model, "\"");
    checked(&mut model, Vec::new());
    let texts = model.workbench.texts();
    assert_eq!((texts.prompt.as_str(), texts.signature.as_str(), texts.options.as_str()), ("Go", "() -> :int", ""));
}

#[test]
fn the_question_mark_shows_the_keys_where_no_text_is_typed() {
    let mut model = running(WIDE);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    for screen in ["", "f3", "f4"] {
        if !screen.is_empty() {
            press(&mut model, screen);
        }
        press(&mut model, "?");
        assert!(matches!(model.popups.last(), Some(Popup::Help { .. })), "{screen}");
        press(&mut model, "?");
        assert!(model.popups.is_empty(), "{screen}");
    }
    let mut model = fresh(WIDE);
    press(&mut model, "?");
    assert!(model.workbench.texts().prompt.starts_with('?'));
}

#[test]
fn a_theme_lies_next_to_the_configuration_that_names_it_or_in_the_usual_folder() {
    let (own, usual) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |folder: &std::path::Path, name: &str| {
        std::fs::create_dir_all(folder.join("themes")).unwrap();
        std::fs::write(folder.join(format!("themes/{name}.toml")), "base = \"ansi\"\n").unwrap();
    };
    write(own.path(), "near");
    write(usual.path(), "far");
    let setup = |theme: &str| {
        let file = own.path().join("config.toml");
        std::fs::write(&file, format!("[interface]\ntheme = \"{theme}\"\n")).unwrap();
        let config = Config::load(Some(&file), &Folders::new(None), &|_| None).unwrap();
        Setup::new(&config, usual.path(), Colours::Off).map(drop)
    };
    assert_eq!((setup("near"), setup("far")), (Ok(()), Ok(())));
    assert!(setup("nowhere").is_err_and(|error| error.contains("unknown theme \"nowhere\"")));
}

#[test]
fn a_half_written_reply_survives_the_program_and_comes_back_with_its_question() {
    let ask = |model: &mut Model| {
        let question =
            Question { address: "r0/t1".into(), text: "[user]\nDo it.".to_owned(), options: Vec::new(), gate: None };
        apply_message(model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    };
    let mut model = running(WIDE);
    ask(&mut model);
    write(&mut model, "half a reply");
    let due = model.workbench.keep_at_ms.unwrap();
    let effects = apply_message(&mut model, Msg::Clock(due));
    let [Effect::Keep(kept)] = effects.as_slice() else { panic!("{effects:?}") };
    let mut read: ptc_workbench::tui::recovery::Recovery =
        serde_json::from_str(&serde_json::to_string(kept).unwrap()).unwrap();
    read.id = "old".to_owned();

    let mut next = fresh(WIDE);
    let effects = apply_message(&mut next, Msg::Recoveries(vec![read]));
    assert!(
        matches!(effects.as_slice(), [Effect::TakeOver(own, id)] if own.reply.is_some() && id == "old"),
        "{effects:?}"
    );
    assert!(next.popups.is_empty(), "nothing is to be restored: the texts are saved");
    ran(&mut next, asked().events(), None);
    ask(&mut next);
    assert!(text(&mut next).contains("half a reply"));
    press(&mut next, "f5");
    let due = next.workbench.keep_at_ms.unwrap();
    assert_eq!(apply_message(&mut next, Msg::Clock(due)), [Effect::Forget]);
}

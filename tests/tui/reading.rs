//! Searching a transcript, and selecting and copying parts of it.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ptc_workbench::tui::found::HitPlace;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::SessionKey;

use super::services::long_session;
use super::story::{NOW_MS, apply_message, fresh, ran, two_turns};
use super::{press, write};

/// The run page with a whole run.
fn reading(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), None);
    if !model.contexts().contains(&ptc_workbench::tui::actions::Context::Transcript) {
        press(&mut model, "f2");
    }
    model
}

/// The screen as text.
fn picture(model: &mut Model) -> String {
    let buffer = ptc_workbench::tui::picture(model, model.size);
    let columns = usize::from(buffer.area.width);
    let cells: Vec<&str> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    cells.chunks(columns).map(<[&str]>::concat).collect::<Vec<_>>().join("\n")
}

fn found(model: &Model) -> (usize, usize) {
    model.active_transcript().unwrap().found()
}

#[test]
fn a_search_finds_folded_cards_and_goes_through_them() {
    let mut model = reading((80, 24));
    press(&mut model, "/");
    write(&mut model, "love this");
    let (at, of) = found(&model);
    assert!(of >= 2 && at >= 1, "the context and the requests hold it: {at} of {of}");
    let shown = picture(&mut model);
    assert!(shown.contains(&format!("of {of} cards")), "{shown}");
    assert!(shown.contains("I love this product"), "the card with the match is unfolded:\n{shown}");
    press(&mut model, "esc");
    let before = found(&model).0;
    press(&mut model, "n");
    press(&mut model, "shift-n");
    assert_eq!(found(&model).0, before);
    press(&mut model, "esc");
    assert_eq!(found(&model).1, 0, "the second Escape takes the marks away");
}

#[test]
fn a_text_without_capitals_is_found_in_any_case() {
    let mut model = reading((80, 24));
    press(&mut model, "/");
    write(&mut model, "i love");
    assert!(found(&model).1 > 0);
    press(&mut model, "esc");
    press(&mut model, "/");
    write(&mut model, "I LOVE");
    assert_eq!(found(&model).1, 0);
}

#[test]
fn unread_turns_are_searched_by_who_reads_files() {
    let session = long_session(1_000);
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(80, 20, NOW_MS);
    transcript.look_for("\"number\": 777", NOW_MS);
    assert_eq!(transcript.found().1, 0, "nothing was read");
    let holds = |places: &std::ops::Range<usize>, turn: &_| {
        Transcript::turn_holds(turn, &session.turns.events(places.clone()), "\"number\": 777")
    };
    let turns: Vec<_> = transcript.all_unread().into_iter().filter(|(turn, places)| holds(places, turn)).collect();
    assert_eq!(turns.len(), 1);
    let addresses: Vec<_> = turns.iter().map(|(turn, _)| turn.clone()).collect();
    transcript.found_unread("\"number\": 777", &addresses, NOW_MS);
    transcript.prepare(80, 20, NOW_MS);
    for (turn, places) in transcript.unread() {
        transcript.read_turn(&turn, &session.turns.events(places), None);
    }
    transcript.prepare(80, 20, NOW_MS);
    let rows: Vec<String> = transcript.rows().map(|row| row.row.plain()).collect();
    assert!(rows.iter().any(|row| row.contains("777")), "{rows:#?}");
    assert_eq!(transcript.found(), (1, 1));
}

#[test]
fn a_search_in_an_opened_session_asks_for_its_unread_turns_once_per_text() {
    let mut model = fresh((80, 24));
    model.screen = Screen::Sessions;
    let session = long_session(50);
    let key = session.summary.key();
    apply_message(&mut model, Msg::Opened(Ok(session)));
    press(&mut model, "/");
    let effects = write(&mut model, "z");
    let asked = |effect: &&Effect| matches!(effect, Effect::FindUnread(of, text, turns) if *of == key && text == "z" && turns.len() == 50);
    assert_eq!(effects.iter().filter(asked).count(), 1, "{effects:?}");
    let other = SessionKey::Example("another".to_owned());
    apply_message(&mut model, Msg::FoundUnread(other, "z".to_owned(), vec!["r0/t1".into()]));
    assert_eq!(found(&model).1, 0, "what another session holds is not for this one");
}

#[test]
fn the_selected_card_is_copied_as_it_is() {
    let mut model = reading((80, 24));
    press(&mut model, "end");
    let effects = press(&mut model, "y");
    let [Effect::Clip(text)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text.contains("\"sentiment\": \"positive\""), "{text}");
    assert_eq!(model.clipboard, *text, "a field of this program can paste it");
}

fn mouse(model: &mut Model, kind: MouseEventKind, at: (u16, u16)) {
    let event = MouseEvent { kind, column: at.0, row: at.1, modifiers: KeyModifiers::NONE };
    apply_message(model, Msg::Mouse(event));
}

/// Returns the position of a text on the screen.
fn place(model: &mut Model, text: &str) -> (u16, u16) {
    let shown = picture(model);
    let found = shown.lines().enumerate().find_map(|(row, line)| {
        let byte = line.find(text)?;
        Some((u16::try_from(line[..byte].chars().count()).unwrap(), u16::try_from(row).unwrap()))
    });
    found.unwrap_or_else(|| panic!("{text:?} is not on the screen:\n{shown}"))
}

#[test]
fn dragging_selects_a_text_and_a_double_click_a_word() {
    let mut model = reading((80, 24));
    let (column, row) = place(&mut model, "feeling");
    let end = place(&mut model, "feeling").0 + 3;
    mouse(&mut model, MouseEventKind::Down(MouseButton::Left), (column, row));
    mouse(&mut model, MouseEventKind::Drag(MouseButton::Left), (end, row));
    mouse(&mut model, MouseEventKind::Up(MouseButton::Left), (end, row));
    let effects = press(&mut model, "y");
    assert_eq!(effects, [Effect::Clip("fee".to_owned())]);
    press(&mut model, "esc");

    apply_message(&mut model, Msg::Clock(NOW_MS + 60_000));
    mouse(&mut model, MouseEventKind::Down(MouseButton::Left), (column + 2, row));
    mouse(&mut model, MouseEventKind::Down(MouseButton::Left), (column + 2, row));
    let effects = press(&mut model, "ctrl-c");
    let [Effect::Clip(word)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(word == "feeling", "{word}");
}

#[test]
fn a_selection_that_leaves_the_pane_moves_the_text() {
    let mut model = reading((80, 12));
    press(&mut model, "home");
    picture(&mut model);
    let area = model.workbench.run_area;
    mouse(&mut model, MouseEventKind::Down(MouseButton::Left), (area.x + 4, area.y + 1));
    mouse(&mut model, MouseEventKind::Drag(MouseButton::Left), (area.x + 4, area.bottom() + 1));
    let below = |model: &Model| {
        let transcript = model.active_transcript().unwrap();
        let last = transcript.rows().last().map(|row| (row.cell, row.line));
        last.unwrap()
    };
    let before = below(&model);
    assert!(model.deadline_ms().is_some(), "the clock runs while the mouse is held");
    for step in 1..5 {
        apply_message(&mut model, Msg::Clock(NOW_MS + 10_000 + step * 100));
    }
    picture(&mut model);
    assert!(below(&model) > before);
    mouse(&mut model, MouseEventKind::Up(MouseButton::Left), (area.x + 4, area.bottom() + 1));
    let text = model.workbench.run.as_mut().unwrap().transcript.copied(NOW_MS).unwrap();
    assert!(text.lines().count() > usize::from(area.height), "{text}");
}

#[test]
fn what_was_sent_once_is_one_hit_however_often_it_was_sent() {
    let mut model = reading((120, 40));
    press(&mut model, "/");
    write(&mut model, "did not fit");
    assert_eq!(found(&model).1, 1, "the feedback is repeated by the next request");
    let turn = model.active_transcript().unwrap().selected_turn().unwrap();
    assert_eq!(turn.as_str(), "r0/t1", "what is done next is done with the turn of the hit");
    let shown = picture(&mut model);
    assert!(shown.contains("turn 1, feedback"), "{shown}");
    press(&mut model, "tab");
    assert!(found(&model).1 > 1, "requests are searched whole when that is asked for");
    press(&mut model, "tab");
    assert_eq!(found(&model).1, 1);
}

#[test]
fn cards_that_a_search_unfolded_are_folded_again() {
    let mut model = reading((120, 40));
    press(&mut model, "a");
    if model.active_transcript().unwrap().cells().iter().any(|cell| cell.open && cell.folds()) {
        press(&mut model, "a");
    }
    let open = |model: &Model| {
        model.active_transcript().unwrap().cells().iter().filter(|cell| cell.open && cell.folds()).count()
    };
    assert_eq!(open(&model), 0);
    press(&mut model, "/");
    write(&mut model, "positive");
    assert_eq!(open(&model), 1, "the card with the hit");
    press(&mut model, "enter");
    assert_eq!(open(&model), 1, "the one before is folded again");
    press(&mut model, "esc");
    press(&mut model, "esc");
    assert_eq!(open(&model), 0);
}

#[test]
fn errors_attempts_and_whole_results_are_found() {
    use ptc_workbench::event::{CallStatus, ToolCall, ToolEnd};
    let mut model = fresh((120, 40));
    ran(&mut model, super::story::failed(), None);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    for text in ["rate_limit", "429 Too Many", "discarded", "json_parse_error", "max_turns_exceeded", "slow down"] {
        press(&mut model, "/");
        write(&mut model, text);
        assert!(found(&model).1 > 0, "{text} is on the screen");
        press(&mut model, "esc");
        press(&mut model, "esc");
    }
    let long = format!("{:?}", format!("{}needle", "hay ".repeat(1_000)));
    let call =
        ToolCall { name: "fetch".to_owned(), kind: String::new(), args: super::story::text("{}"), effectful: false };
    let end = ToolEnd { status: CallStatus::Ok, result: Some(super::story::text(&long)), ms: 1, ..ToolEnd::default() };
    let events = super::story::asked().apply_message("r0/t1/c1", call).apply_message("r0/t1/c1", end).events();
    let mut model = fresh((120, 40));
    ran(&mut model, events, None);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    press(&mut model, "/");
    write(&mut model, "needle");
    assert_eq!(found(&model).1, 1, "the end of a result that the card shows in short");
    assert!(picture(&mut model).contains("tool result"));
}

#[test]
fn the_help_is_searched() {
    let mut model = reading((120, 40));
    press(&mut model, "f1");
    press(&mut model, "/");
    write(&mut model, "by number");
    let shown = picture(&mut model);
    assert!(shown.contains("A turn by number") && shown.contains("1 of "), "{shown}");
    press(&mut model, "esc");
    assert!(matches!(model.popups.last(), Some(ptc_workbench::tui::model::Popup::Help { .. })));
}

#[test]
fn matches_are_listed_by_turn_and_kind_and_enter_goes_to_one() {
    let mut model = reading((120, 40));
    press(&mut model, "/");
    write(&mut model, "sentiment");
    assert_eq!(press(&mut model, "alt-l"), []);
    let shown = picture(&mut model);
    assert!(shown.contains("Matches") && shown.contains(" of `sentiment`"), "{shown}");
    let transcript = model.active_transcript().unwrap().clone();
    let hits = transcript.hit_list();
    let turns: Vec<&str> = hits.iter().map(|hit| hit.at.as_str()).collect();
    assert!(turns.contains(&"turn 1") && turns.contains(&"turn 2"), "{turns:?}");
    let place = |hit: &ptc_workbench::tui::found::FoundText| match hit.place {
        HitPlace::Card(cell) => cell,
        HitPlace::Part(..) => panic!("no turn is open"),
    };
    assert!(hits.is_sorted_by_key(place), "in the order of the cards");
    let wanted = hits.iter().position(|hit| (hit.at.as_str(), hit.kind.as_str()) == ("turn 2", "reply")).unwrap();
    press(&mut model, "home");
    for _ in 0..wanted {
        press(&mut model, "down");
    }
    press(&mut model, "enter");
    picture(&mut model);
    let cell = HitPlace::Card(model.active_transcript().unwrap().looked_at().unwrap());
    assert_eq!(cell, hits[wanted].place, "the chosen match is looked at");
    press(&mut model, "shift-l");
    assert!(
        matches!(model.popups.last(), Some(Popup::Fixes { title: "Matches", .. })),
        "also after the search was typed"
    );
    press(&mut model, "esc");
    press(&mut model, "esc");
    press(&mut model, "shift-l");
    assert!(model.popups.is_empty(), "without a search there is no list");
}

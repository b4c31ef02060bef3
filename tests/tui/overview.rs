//! The overview of a run: its lines, filters and orders, the keys that lead to what failed, the rail next to a transcript.

use ptc_workbench::event::{Address, CallStatus, Envelope, ErrorRecord, RetryWait, Role, Source, ToolCall, ToolEnd};
use ptc_workbench::tui::actions::Context;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::update;
use ptc_workbench::workbench::RunEnding;
use ptc_workbench::workbench::overview::{Overview, TurnFilter, TurnOrder};

use super::services::saved;
use super::story::{Story, apply_message, fresh, ran, text};
use super::{press, write};

/// Turns of [`long_run`] whose tool fails.
const FAILING: [u32; 3] = [7, 18, 26];
const TURNS: u32 = 34;

/// A call of a tool in a turn, with its end.
fn call(story: Story, turn: &str, name: &str, error: Option<&str>) -> Story {
    called(story, &format!("{turn}/c1"), name, error)
}

fn called(story: Story, at: &str, name: &str, error: Option<&str>) -> Story {
    let call = ToolCall { name: name.to_owned(), kind: "snippet".to_owned(), args: text("{}"), effectful: false };
    let error = error.map(|message| ErrorRecord {
        reason: "not_found".to_owned(),
        message: message.to_owned(),
        ..ErrorRecord::default()
    });
    let status = if error.is_some() { CallStatus::Error } else { CallStatus::Ok };
    story.apply_message(at, call).wait(50).apply_message(at, ToolEnd { status, error, ms: 50, ..ToolEnd::default() })
}

/// A run of many turns; in some of them a tool fails and the run continues.
fn long_run() -> Vec<Envelope> {
    let story = (1..=TURNS).fold(Story::new().start(), |story, number| {
        let (turn, message) = (format!("r0/t{number}"), number - 1);
        let story =
            story.turn(&turn).message(&turn, message, Role::User, Source::Prompt, "task", "Fetch the next one.");
        let wait = if number == 20 { 5_000 } else { 100 };
        let reply = format!("{{\"number\": {number}}}");
        let tokens = (u64::from(number) * 100, 10);
        let story = story.request_of(&turn, (0, message)).wait(wait).reply(&turn, &reply, tokens);
        let error = FAILING.contains(&number).then_some("no such invoice");
        let story = call(story, &turn, if number % 2 == 0 { "fetch" } else { "rate" }, error);
        story.turn_end(&turn, None, tokens, (number, tokens.0, tokens.1))
    });
    story.run_end(Some("{}"), None, (TURNS, 1, 1)).events()
}

fn overview() -> Overview {
    long_run().into_iter().collect()
}

fn picture(model: &mut Model) -> String {
    let buffer = ptc_workbench::tui::picture(model, model.size);
    let columns = usize::from(buffer.area.width);
    let cells: Vec<&str> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    cells.chunks(columns).map(<[&str]>::concat).collect::<Vec<_>>().join("\n")
}

/// The run page after the whole run.
fn reading(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, long_run(), None);
    if !model.contexts().contains(&Context::Transcript) {
        press(&mut model, "f2");
    }
    model
}

fn selected(model: &Model) -> u32 {
    model.active_transcript().unwrap().selected_turn().unwrap().turn_number().unwrap()
}

#[test]
fn each_turn_is_one_line_with_its_tools_errors_and_times() {
    let overview = overview();
    let lines = overview.lines();
    assert_eq!(lines.len(), TURNS as usize);
    let failed: Vec<u32> =
        lines.iter().filter(|line| line.has_failed()).filter_map(|line| line.address.turn_number()).collect();
    assert_eq!(failed, FAILING, "a turn in which a tool failed counts, although the turn itself succeeded");
    let line = &lines[6];
    assert_eq!(line.tools(), [("rate", 1, 1)]);
    assert_eq!(line.error.as_deref(), Some("rate: not_found: no such invoice"));
    assert_eq!((line.prompt, line.is_counted), (700, true));
    assert_eq!((line.time.model, line.time.tools, line.time.total), (100, 50, 150));
    assert_eq!(lines[19].time.model, 5_000);
}

#[test]
fn lines_that_grow_with_each_event_are_those_of_the_whole_session() {
    let mut growing = Overview::default();
    for envelope in long_run() {
        growing.apply(&envelope);
        growing.refresh();
    }
    assert_eq!(growing.lines(), overview().lines());
}

#[test]
fn filters_and_orders_choose_turns() {
    let overview = overview();
    let lines = overview.lines();
    let turns = |filter: &str| -> Vec<u32> {
        let places = TurnFilter::parse(filter).unwrap().select(lines);
        places.into_iter().filter_map(|place| lines[place].address.turn_number()).collect()
    };
    for (filter, expected) in [
        ("failed", vec![7, 18, 26]),
        ("tool:fetch failed", vec![18, 26]),
        ("tool:RATE failed", vec![7]),
        ("tool:ra* turn<4", vec![1, 3]),
        ("slow", vec![20]),
        ("time>4s", vec![20]),
        ("time>=5050ms", vec![20]),
        ("prompt>3200", vec![33, 34]),
        ("tokens>3310", vec![34]),
        ("invoice turn>20", vec![26]),
        ("cost>0", vec![]),
        ("retried", vec![]),
        ("repaired", vec![]),
    ] {
        assert_eq!(turns(filter), expected, "{filter}");
    }
    assert_eq!(turns("").len(), TURNS as usize);
    let error = TurnFilter::parse("cost>much").unwrap_err();
    assert!(error.contains("`much`") && error.contains("cost>0.01"), "{error}");
    for (order, first) in [
        (TurnOrder::Run, 1),
        (TurnOrder::Time, 20),
        (TurnOrder::Prompt, 34),
        (TurnOrder::Failures, 7),
        (TurnOrder::Cost, 1),
    ] {
        let mut places: Vec<usize> = (0..lines.len()).collect();
        order.sort(lines, &mut places);
        assert_eq!(lines[places[0]].address.turn_number(), Some(first), "{order:?}");
    }
}

#[test]
fn the_failing_turn_of_a_long_run_is_one_key_away() {
    let mut model = reading((120, 40));
    for expected in [7, 18, 26, 7] {
        press(&mut model, "}");
        assert_eq!(selected(&model), expected);
        let shown = picture(&mut model);
        assert!(shown.contains("no such invoice"), "the error is on the screen:\n{shown}");
    }
    press(&mut model, "{");
    assert_eq!(selected(&model), 26, "back from the first failure is the last one");
    press(&mut model, "!");
    assert_eq!(selected(&model), 7);
}

#[test]
fn nothing_failed_is_reported() {
    let mut model = fresh((120, 40));
    let events = long_run().into_iter().filter(|envelope| !envelope.address.as_str().contains("/c")).collect();
    ran(&mut model, events, None);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    press(&mut model, "}");
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("nothing failed")));
}

#[test]
fn a_turn_is_reached_by_its_number() {
    let mut model = reading((120, 40));
    press(&mut model, ":");
    write(&mut model, "21");
    press(&mut model, "enter");
    assert_eq!(selected(&model), 21);
    press(&mut model, ":");
    write(&mut model, "99");
    press(&mut model, "enter");
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("1 to 34")));
    assert_eq!(selected(&model), 21);
}

#[test]
fn a_turn_that_is_gone_to_begins_in_the_first_row() {
    let mut model = reading((80, 24));
    for number in ["1", "20"] {
        press(&mut model, ":");
        write(&mut model, number);
        press(&mut model, "enter");
        picture(&mut model);
    }
    let top = model.active_transcript().unwrap().rows().next().unwrap().row.plain();
    assert!(top.contains("Turn 20"), "{top}");
}

#[test]
fn the_overview_counts_hidden_turns() {
    let mut model = reading((80, 24));
    press(&mut model, "u");
    press(&mut model, "home");
    let shown = picture(&mut model);
    let rule = shown.lines().find(|line| line.contains('▼')).expect("34 turns do not fit 24 rows");
    assert!(rule.contains(" turns"), "{rule}");
}

#[test]
fn the_overview_takes_the_place_of_the_transcript_and_leads_back_to_the_turn() {
    for size in [(80, 24), (140, 40), (200, 60)] {
        let mut model = reading(size);
        press(&mut model, "u");
        assert!(model.contexts().contains(&Context::Overview));
        let shown = picture(&mut model);
        assert!(shown.contains("34 turns") && shown.contains("3 failed"), "{shown}");
        press(&mut model, "/");
        write(&mut model, "tool:fetch failed");
        press(&mut model, "enter");
        let shown = picture(&mut model);
        assert!(shown.contains("2 of 34 turns"), "{shown}");
        assert!(shown.contains("✗ fetch: not_found"), "{shown}");
        assert_eq!(selected(&model), 18, "the first turn that fits is selected");
        press(&mut model, "down");
        assert_eq!(selected(&model), 26);
        press(&mut model, "enter");
        assert!(model.contexts().contains(&Context::Transcript));
        assert_eq!(selected(&model), 26);
        press(&mut model, "u");
        press(&mut model, "esc");
        let shown = picture(&mut model);
        assert!(shown.contains("34 turns") && !shown.contains("of 34 turns"), "Escape clears the filter first");
        press(&mut model, "esc");
        assert!(model.contexts().contains(&Context::Transcript));
    }
}

/// The same after the run has ended.
fn read_after_the_end(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, long_run(), Some(RunEnding::Run));
    if !model.contexts().contains(&Context::Transcript) {
        press(&mut model, "f2");
    }
    model
}

#[test]
fn escape_clears_the_filter_of_a_finished_run_and_then_leaves_the_overview() {
    for size in [(80, 24), (140, 40), (200, 60)] {
        let mut model = read_after_the_end(size);
        press(&mut model, "u");
        press(&mut model, "/");
        write(&mut model, "cost>0");
        press(&mut model, "enter");
        let shown = picture(&mut model);
        assert!(shown.contains("no turn matches `cost>0`") && shown.contains("Esc clears the filter"), "{shown}");
        assert!(shown.lines().last().unwrap().contains("Esc clear filter"), "{shown}");
        press(&mut model, "u");
        if size.0 == 200 {
            let shown = picture(&mut model);
            assert!(
                shown.contains("no turn matches `cost>0`"),
                "the list next to the transcript is not blank:\n{shown}"
            );
            assert!(shown.contains("u, then Esc clears the filter"), "{shown}");
        }
        press(&mut model, "u");
        press(&mut model, "esc");
        let shown = picture(&mut model);
        assert!(shown.contains("34 turns") && !shown.contains("of 34 turns"), "{shown}");
        press(&mut model, "esc");
        assert!(model.contexts().contains(&Context::Transcript));
    }
}

#[test]
fn the_list_next_to_a_transcript_names_its_filter() {
    let mut model = read_after_the_end((200, 60));
    press(&mut model, "u");
    press(&mut model, "/");
    write(&mut model, "failed");
    press(&mut model, "enter");
    press(&mut model, "u");
    let shown = picture(&mut model);
    assert!(shown.contains("3 of 34 turns · `failed`"), "{shown}");
}

#[test]
fn a_turn_selected_in_the_overview_takes_the_actions_of_a_turn() {
    let mut model = read_after_the_end((140, 40));
    press(&mut model, "u");
    for key in ["f", "shift-e", "shift-x", "alt-f", "b"] {
        press(&mut model, key);
        let message = model.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default();
        assert!(!message.contains("has no action here"), "{key}: {message}");
        for _ in 0..3 {
            if model.inspector.is_some() || !model.popups.is_empty() {
                press(&mut model, "esc");
            }
        }
        if !model.contexts().contains(&Context::Overview) {
            press(&mut model, "u");
        }
    }
}

#[test]
fn keys_to_failures_are_shown_where_something_failed() {
    let footer = |events: Vec<Envelope>| {
        let mut model = fresh((200, 60));
        ran(&mut model, events, Some(RunEnding::Run));
        press(&mut model, "f2");
        if !model.contexts().contains(&Context::Transcript) {
            press(&mut model, "f2");
        }
        press(&mut model, "u");
        picture(&mut model).lines().last().unwrap().to_owned()
    };
    assert!(footer(long_run()).contains("} next failure"));
    let whole =
        Story::new().start().turn("r0/t1").reply("r0/t1", "{}", (1, 1)).turn_end("r0/t1", None, (1, 1), (1, 1, 1));
    let events = whole.run_end(Some("{}"), None, (1, 1, 1)).events();
    assert!(!footer(events).contains("failure"), "a key that does nothing is not shown");
}

#[test]
fn the_column_of_tools_takes_no_more_than_its_widest_line() {
    let mut model = read_after_the_end((80, 24));
    press(&mut model, "u");
    press(&mut model, "home");
    let shown = picture(&mut model);
    let head = shown.lines().find(|line| line.contains("34 turns")).unwrap();
    let gap = head.split("tools").nth(1).unwrap().split("prompt").next().unwrap();
    assert!(gap.len() <= 5, "`fetch ✗` needs seven columns:\n{shown}");
}

#[test]
fn a_filter_that_cannot_be_read_is_reported_and_changes_nothing() {
    let mut model = reading((120, 40));
    press(&mut model, "u");
    press(&mut model, "/");
    write(&mut model, "time>x");
    let shown = picture(&mut model);
    assert!(shown.contains("is not a number"), "{shown}");
    press(&mut model, "enter");
    assert!(
        !model.popups.is_empty() && picture(&mut model).contains("is not a number"),
        "it is not taken for a filter"
    );
    press(&mut model, "esc");
    assert!(picture(&mut model).contains("34 turns"));
}

#[test]
fn the_description_of_a_turn_names_where_its_time_went() {
    let mut model = reading((140, 40));
    press(&mut model, "u");
    press(&mut model, "s");
    press(&mut model, "home");
    assert_eq!(selected(&model), 20, "the slowest turn is the first");
    let shown = picture(&mut model);
    assert!(shown.contains("model 5.0 s") && shown.contains("tools 50 ms"), "{shown}");
    assert!(shown.contains("(+100)"), "the prompt grew by this many tokens:\n{shown}");
}

#[test]
fn a_long_saved_session_is_read_once_and_shows_its_turns_next_to_the_transcript() {
    let dir = tempfile::tempdir().unwrap();
    let session = saved(dir.path(), &long_run());
    let key = session.summary.key();
    let mut model = fresh((140, 40));
    press(&mut model, "f3");
    let effects = apply_message(&mut model, Msg::Opened(Ok(session)));
    assert_eq!(effects, [Effect::ReadOverview(key.clone())]);
    press(&mut model, "}");
    let effects = apply_message(&mut model, Msg::OverviewRead(key, Ok(Box::new(overview()))));
    assert!(effects.is_empty());
    assert_eq!(selected(&model), 7, "the failure that was asked for while it was read");
    let shown = picture(&mut model);
    assert!(shown.contains("t34"), "the rail shows the turns:\n{shown}");
    assert!(shown.contains("! rate: not_found"), "{shown}");
    press(&mut model, "shift-u");
    let shown = picture(&mut model);
    assert!(!shown.contains("t34 "), "the list was switched off:\n{shown}");
    press(&mut model, "shift-u");
    assert!(picture(&mut model).contains("t34"), "and on again");
    model.size = (100, 40);
    let shown = picture(&mut model);
    assert!(!shown.contains("t34 "), "there is no room for a rail:\n{shown}");
}

#[test]
fn turns_of_child_runs_follow_the_turn_that_started_them_and_fold() {
    let child = |story: Story, run: &str, number: u32| {
        let turn = format!("{run}/t{number}");
        story.turn(&turn).wait(10).turn_end(&turn, None, (1, 1), (1, 1, 1))
    };
    let start = |story: Story, run: &str| {
        let begun = Story::new().start().events().remove(0).event;
        story.apply_message(run, begun)
    };
    // Two child runs at the same time.
    let story = Story::new().start().turn("r0/t1");
    let story = start(start(story, "r0/t1/c1"), "r0/t1/c2");
    let story = child(child(child(story, "r0/t1/c1", 1), "r0/t1/c2", 1), "r0/t1/c1", 2);
    let story = story.turn_end("r0/t1", None, (1, 1), (1, 1, 1));
    let events = child(story, "r0", 2).events();
    let overview: Overview = events.clone().into_iter().collect();
    let order: Vec<&str> = overview.lines().iter().map(|line| line.address.as_str()).collect();
    assert_eq!(order, ["r0/t1", "r0/t1/c1/t1", "r0/t1/c1/t2", "r0/t1/c2/t1", "r0/t2"]);
    for line in overview.lines() {
        assert_eq!(overview.place(&line.address), overview.lines().iter().position(|other| other == line));
    }
    let mut model = fresh((120, 40));
    ran(&mut model, events, None);
    for key in ["alt-g", "r", "u", "home", "space"] {
        press(&mut model, key);
    }
    let shown = picture(&mut model);
    assert!(shown.contains("3 child turns"), "{shown}");
    press(&mut model, "down");
    assert_eq!(model.active_transcript().unwrap().selected_turn(), Some(Address::from("r0/t2")));
}

#[test]
fn the_wheel_and_clicks_select_turns_in_the_overview() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut model = reading((140, 40));
    press(&mut model, "u");
    press(&mut model, "home");
    picture(&mut model);
    let area = model.workbench.run.as_ref().unwrap().overview.area;
    let at = |kind, row| Msg::Mouse(MouseEvent { kind, column: area.x + 20, row, modifiers: KeyModifiers::NONE });
    update(&mut model, at(MouseEventKind::Down(MouseButton::Left), area.y + 4));
    update(&mut model, at(MouseEventKind::Up(MouseButton::Left), area.y + 4));
    assert_eq!(selected(&model), 5);
    update(&mut model, at(MouseEventKind::ScrollDown, area.y + 4));
    assert_eq!(selected(&model), 6);
}

/// A turn with two attempts before its reply, in which the tool `rate` fails before `fetch` does.
fn retried() -> Vec<Envelope> {
    let turn = "r0/t1";
    let story = Story::new().start().turn(turn);
    let story = story.message(turn, 0, Role::User, Source::Prompt, "task", "Fetch it.").request_of(turn, (0, 0));
    let wait = |attempt: u32| RetryWait {
        attempt,
        wait_ms: 100,
        class: "rate_limit".to_owned(),
        retry_after: false,
        message: "too many requests".to_owned(),
        of: None,
    };
    let story = story.apply_message(turn, wait(1)).wait(100).apply_message(turn, wait(2)).wait(100);
    let story = story.reply(turn, "{}", (10, 1));
    let story = called(story, "r0/t1/c1", "rate", Some("too many"));
    let story = called(story, "r0/t1/c2", "fetch", Some("no such invoice"));
    story.turn_end(turn, None, (10, 1), (1, 10, 1)).run_end(Some("{}"), None, (1, 10, 1)).events()
}

#[test]
fn repeated_attempts_are_marked_at_every_width() {
    for (size, mark) in [((60, 20), "↻2 "), ((80, 24), "↻2 "), ((120, 40), "2 retries · "), ((200, 60), "")] {
        let mut model = fresh(size);
        ran(&mut model, retried(), Some(RunEnding::Run));
        if !model.contexts().contains(&Context::Transcript) {
            press(&mut model, "f2");
        }
        press(&mut model, "alt-g");
        press(&mut model, "z");
        press(&mut model, "u");
        let shown = picture(&mut model);
        // With room for columns, the number is below their heading.
        let is_marked = if mark.is_empty() { below(&shown, "repairs retries") == "2" } else { shown.contains(mark) };
        assert!(is_marked, "{size:?}: {shown}");
    }
}

/// The text in the columns of a heading, in the line below it.
fn below<'s>(shown: &'s str, heading: &str) -> &'s str {
    let mut lines = shown.lines().skip_while(|line| !line.contains(heading));
    let line = lines.next().unwrap_or_default();
    let column = line[..line.find(heading).unwrap_or_default()].chars().count();
    let row = lines.next().unwrap_or_default();
    let at = |column: usize| row.char_indices().nth(column).map_or(row.len(), |(at, _)| at);
    row[at(column)..at(column + heading.len())].trim()
}

#[test]
fn a_filter_for_the_failures_of_a_tool_shows_the_error_of_that_tool() {
    let overview: Overview = retried().into_iter().collect();
    let error = |filter: &str| TurnFilter::parse(filter).unwrap().error(&overview.lines()[0]).map(ToOwned::to_owned);
    assert_eq!(error("").as_deref(), Some("rate: not_found: too many"));
    assert_eq!(error("tool:fetch").as_deref(), Some("rate: not_found: too many"));
    assert_eq!(error("tool:fetch failed").as_deref(), Some("fetch: not_found: no such invoice"));
}

//! The inspector: a turn of an example session taken apart by the real backend, looked at and tried on.

use std::sync::Arc;

use ptc_workbench::agent::BundledExample;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Address;
use ptc_workbench::session::Session;
use ptc_workbench::tui::inspector::{Focus, Subject, Tab};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, RunView, Screen};
use ptc_workbench::tui::picture;
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::workbench::inspect::{Body, GROWTH_PART, Inspection, LazyBench};
use ptc_workbench::workbench::{SessionKey, Workbench};
use tokio::runtime::Runtime;

use super::pictures::{rows, screens};
use super::story::{apply_message, fresh};
use super::{press, write};

/// A session of sales in `ptc_lisp`: tools, definitions, two turns.
const SALES: &str = "2026-11-22T00-00-32Z-365950d7";
/// A session of `extract` in JSON: a repaired reply over HTTP.
const EXTRACT: &str = "2026-11-22T00-00-17Z-88ff48b4";

/// A backend with a runtime, and the model on an example session.
struct QuestionQueue {
    runtime: Runtime,
    live: Services,
    model: Model,
    trial: Option<Arc<LazyBench>>,
    dir: tempfile::TempDir,
}

impl QuestionQueue {
    fn on(session: &str, size: (u16, u16)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::at(dir.path().to_owned(), dir.path(), None);
        let agent = BundledExample::find("sentiment").unwrap().agent().unwrap();
        let live = Services::new(Workbench::new(Config::built_in().unwrap(), folders), &agent, None);
        let opened = live.workbench.open(&SessionKey::Example(session.to_owned())).unwrap();
        let mut model = fresh(size);
        model.screen = Screen::Sessions;
        model.sessions.viewer = Some(RunView::of_session(&opened));
        picture(&mut model, size);
        Self { runtime: Runtime::new().unwrap(), live, model, trial: None, dir }
    }

    /// Opens the turn of this number.
    fn open(session: &str, turn: u32, size: (u16, u16)) -> Self {
        let mut queue = Self::on(session, size);
        queue.press("home");
        for _ in 0..20 {
            let selected = queue.model.active_transcript().unwrap().selected_turn();
            if selected.and_then(|at| at.turn_number()) == Some(turn) {
                break;
            }
            queue.press("down");
            picture(&mut queue.model, size);
        }
        queue.press("enter");
        assert!(queue.model.inspector.is_some(), "the turn is open");
        queue
    }

    fn press(&mut self, chord: &str) {
        let effects = press(&mut self.model, chord);
        self.perform(effects);
    }

    fn keys(&mut self, chords: &[&str]) {
        let size = self.model.size;
        for chord in chords {
            self.press(chord);
            picture(&mut self.model, size);
        }
    }

    /// Does what the interface asks for, as its loop would.
    fn perform(&mut self, effects: Vec<Effect>) {
        let inside = self.runtime.enter();
        let mut shown = Vec::new();
        for effect in effects {
            let trial = || self.trial.clone().expect("the turn was read");
            shown.push(match effect {
                Effect::Inspect(subject, turn) => {
                    let Subject::Saved(key) = &subject else { panic!("{subject:?}") };
                    let session = self.live.workbench.open_found(key).unwrap();
                    let found = self.live.workbench.inspect(&session, &turn).unwrap();
                    self.trial = Some(Arc::new(LazyBench::new(session, turn.clone())));
                    Msg::Inspected(subject, turn, Ok(Box::new(found)))
                }
                Effect::Probe(turn, at) => Msg::Probed(turn, at, trial().probe(at)),
                Effect::Evaluate(turn, input) => Msg::Evaluated(turn, trial().evaluate(&input)),
                Effect::Clip(_) => continue,
                other => panic!("not asked for: {other:?}"),
            });
        }
        drop(inside);
        for msg in shown {
            let next = apply_message(&mut self.model, msg);
            self.perform(next);
        }
    }

    fn tab(mut self, tab: Tab) -> Self {
        while self.model.inspector.as_ref().unwrap().tab != tab {
            self.keys(&["tab"]);
        }
        self
    }

    fn screen(&mut self) -> String {
        assert!(self.dir.path().exists());
        rows(&mut self.model)
    }
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 12)];

#[test]
fn every_tab_of_a_program_turn() {
    let tabs = [
        (Tab::Request, "request"),
        (Tab::Reply, "reply"),
        (Tab::Extract, "extract"),
        (Tab::Program, "program"),
        (Tab::Calls, "calls"),
        (Tab::Memory, "memory"),
        (Tab::Wire, "wire"),
    ];
    for (tab, name) in tabs {
        screens(&format!("inspect_{name}"), &SIZES[..2], |size| QuestionQueue::open(SALES, 1, size).tab(tab).model);
    }
}

#[test]
fn the_request_against_the_one_before() {
    screens("inspect_difference", &SIZES, |size| {
        let mut queue = QuestionQueue::open(SALES, 2, size);
        queue.keys(&["d"]);
        queue.model
    });
}

#[test]
fn a_repaired_reply_side_by_side_and_its_value() {
    screens("inspect_repairs", &SIZES, |size| {
        let mut queue = QuestionQueue::open(EXTRACT, 1, size).tab(Tab::Extract);
        queue.keys(&["down"]);
        queue.model
    });
    screens("inspect_value", &SIZES[..2], |size| {
        let mut queue = QuestionQueue::open(EXTRACT, 1, size).tab(Tab::Extract);
        queue.keys(&["down", "down", "enter"]);
        queue.model
    });
}

#[test]
fn the_frames_of_the_wire_are_gone_through() {
    let mut queue = QuestionQueue::open(EXTRACT, 1, (120, 40)).tab(Tab::Wire);
    queue.keys(&["down", "down"]);
    let first = queue.screen();
    assert!(first.contains("1 of "), "{first}");
    queue.keys(&["right"]);
    let second = queue.screen();
    assert!(second.contains("2 of ") && second.contains("previous frames · "), "{second}");
    queue.keys(&["left"]);
    assert_eq!(queue.screen(), first);
}

#[test]
fn without_colours_nothing_is_reported_by_colour_alone() {
    let mut queue = QuestionQueue::open(EXTRACT, 1, (80, 24)).tab(Tab::Extract);
    queue.keys(&["down"]);
    queue.model.theme = Theme::plain();
    let text = ptc_workbench::tui::ansi(&picture(&mut queue.model, (80, 24)));
    assert!(!text.contains(";3"), "no colour is used: {text}");
    assert!(queue.screen().contains('~'), "lines that differ have a mark:\n{}", queue.screen());
}

#[test]
fn the_value_of_the_form_under_the_cursor_is_shown() {
    let mut queue = QuestionQueue::open(SALES, 1, (120, 40)).tab(Tab::Program);
    queue.keys(&["enter"]);
    let screen = queue.screen();
    assert!(screen.contains("value of "), "{screen}");
    let mut seen = Vec::new();
    for _ in 0..12 {
        queue.keys(&["right"]);
        let inspector = queue.model.inspector.as_ref().unwrap();
        let (_, shown) = inspector.probe.result.clone().unwrap();
        seen.extend(shown.unwrap().map(|probe| probe.values.join(" ")));
    }
    assert!(seen.len() > 6 && seen.iter().any(|value| value.len() > 2), "{seen:?}");
}

#[test]
fn the_hint_of_an_error_in_the_repl_is_printed_once() {
    let mut queue = QuestionQueue::open(SALES, 1, (120, 40));
    queue.press("i");
    write(&mut queue.model, "(/ 1 0)");
    queue.press("enter");
    let lines = &queue.model.inspector.as_ref().unwrap().repl.lines;
    let hints = lines.iter().filter(|line| line.text.contains("Test the divisor with zero?")).count();
    assert_eq!(hints, 1, "{lines:#?}");
}

#[test]
fn the_repl_runs_on_what_the_turn_left_in_a_copy() {
    let mut queue = QuestionQueue::open(SALES, 1, (120, 40)).tab(Tab::Memory);
    queue.keys(&["end", "down", "down", "down", "down", "down", "down", "enter"]);
    assert_eq!(queue.model.inspector.as_ref().unwrap().focus, Focus::Input);
    let say = |queue: &mut QuestionQueue, text: &str| {
        write(&mut queue.model, text);
        queue.keys(&["enter"]);
        queue.screen()
    };
    assert!(say(&mut queue, "(def mine 20)").contains("> (def mine 20)"));
    assert!(say(&mut queue, "(+ mine 22)").contains("42"));
    let refused = say(&mut queue, "(tool/orders {:region \"nowhere\"})");
    assert!(refused.contains("tools answer from the recording") || refused.contains('✗'), "{refused}");
    queue.keys(&["up"]);
    assert!(queue.screen().contains("> (tool/orders"));
    queue.keys(&["esc"]);
    assert_eq!(queue.model.inspector.as_ref().unwrap().focus, Focus::List);
    queue.keys(&["esc"]);
    assert!(queue.model.inspector.is_none(), "the second Escape closes the turn");
}

#[test]
fn turns_follow_each_other_and_what_cannot_be_done_says_why() {
    let mut queue = QuestionQueue::open(SALES, 1, (80, 24));
    queue.keys(&["p"]);
    assert!(queue.screen().contains("this is the first turn of the run"));
    queue.keys(&["n"]);
    assert!(queue.screen().contains("Turn 2 of 2"), "{}", queue.screen());
    queue.keys(&["n"]);
    assert!(queue.screen().contains("this is the last turn of the run"));
    queue.keys(&["y"]);
    assert!(!queue.model.clipboard.is_empty());
    queue.keys(&["f3"]);
    assert!(queue.model.inspector.is_none(), "what leads elsewhere leaves the turn");
}

/// The lines of the list of parts of a turn of an example session.
fn part_lines(session: &str, turn: u32) -> Vec<String> {
    let path = format!("{}/sessions/{session}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let session = Session::open(std::path::Path::new(&path)).unwrap();
    let found = Inspection::of(&session, &Address::run(0).turn(turn)).unwrap();
    let part = found.request.iter().find(|part| part.title == "parts as sent").unwrap();
    part.text().lines().map(str::to_owned).collect()
}

#[test]
fn sections_that_a_shortened_history_repeats_keep_their_first_origin() {
    for turn in [2, 3] {
        let lines = part_lines("2026-11-22T00-00-38Z-34f89148", turn);
        let cut = lines.iter().position(|line| line.contains("in this run and not sent")).unwrap();
        let origin = |name: &str| {
            let line = lines[..cut].iter().find(|line| line.contains(&format!(" {name} · "))).unwrap();
            line.rsplit(" · ").next().unwrap().to_owned()
        };
        for name in ["tools", "data", "task", "output"] {
            assert_eq!(origin(name), "agent", "{name}: {lines:#?}");
        }
        if turn == 3 {
            assert_eq!(origin("calls"), "summary of the turns before", "{lines:#?}");
        }
        // What is repeated is sent.
        let gone = &lines[cut..];
        assert!(
            gone.iter().all(|line| !line.ends_with("tools · agent") && !line.ends_with("task · agent")),
            "{gone:#?}"
        );
        assert!(gone.iter().any(|line| line.contains("reply of t1")), "{gone:#?}");
    }
}

/// The number in the tokens' column of a line.
fn tokens(line: &str) -> i64 {
    let number = line.split_whitespace().find(|word| word.trim_start_matches(['~', '-']).starts_with(char::is_numeric));
    let column = if line.starts_with(&" ".repeat(10)) { number } else { line.split_whitespace().nth(1) };
    column.unwrap().trim_start_matches('~').replace(',', "").parse().unwrap()
}

#[test]
fn the_sums_of_the_parts_add_up_to_what_the_provider_counted() {
    let lines = part_lines(EXTRACT, 1);
    let at =
        |text: &str| lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {lines:#?}"));
    let (sum, counted, rest) = (at("all parts, estimated"), at("counted by the provider"), at("not attributed"));
    let kinds: i64 = lines[1..sum].iter().map(|line| tokens(line)).sum();
    assert_eq!(kinds, tokens(&lines[sum]), "the kinds are the sum: {lines:#?}");
    assert_eq!(tokens(&lines[counted]), 331);
    assert_eq!(tokens(&lines[sum]) + tokens(&lines[rest]), 331, "{lines:#?}");
    let percent = tokens(&lines[rest]).abs() * 100 / 331;
    assert!(lines[rest].ends_with(&format!("({percent} %)")), "{}", lines[rest]);
    assert!(!part_lines(SALES, 1).iter().any(|line| line.contains("not attributed")), "a user counts no tokens");
}

#[test]
fn a_request_opens_whole_and_its_parts_share_no_line() {
    for (session, turn) in [(EXTRACT, 1), (SALES, 1), (SALES, 2)] {
        let path = format!("{}/sessions/{session}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let session = Session::open(std::path::Path::new(&path)).unwrap();
        let turn = Address::run(0).turn(turn);
        let sent: Vec<String> =
            session.request(&turn).unwrap().iter().map(ptc_workbench::event::SentMessage::text).collect();
        let found = Inspection::of(&session, &turn).unwrap();
        let whole = found.request[0].text();
        assert_eq!(found.request[0].title, "whole request");
        for line in sent.iter().flat_map(|text| text.lines()) {
            assert!(whole.lines().any(|known| known == line), "{line:?} is split:\n{whole}");
        }
        for part in &found.request[4..] {
            assert!(!part.text().is_empty(), "{} is empty", part.title);
        }
        let Body::Growth(turns, open) = &found.request[GROWTH_PART].body else { panic!("no chart") };
        assert!(turns.iter().any(|known| known.turn == *open));
        let now = turns.iter().find(|known| known.turn == turn).unwrap();
        assert_eq!(Some(now.sizes.tokens()), found.request[1].tokens, "chart and list count alike");
    }
}

#[test]
fn the_wire_tab_shows_the_body_exactly_as_sent() {
    let path = format!("{}/sessions/{EXTRACT}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let session = Session::open(std::path::Path::new(&path)).unwrap();
    let found = Inspection::of(&session, &Address::run(0).turn(1)).unwrap();
    let sent = found.wire.iter().find(|part| part.title == "→ sent 1").unwrap();
    assert_eq!(sent.text(), ptc_workbench::workbench::sent_body(&session, "r0/t1:1").unwrap());
    assert_eq!(sent.bytes, sent.text().len() as u64, "the size is that of the body");
}

#[test]
fn a_tree_folds_under_its_cursor() {
    let mut queue = QuestionQueue::open(EXTRACT, 1, (120, 40)).tab(Tab::Extract);
    queue.keys(&["down", "down", "enter"]);
    let open = queue.screen();
    queue.keys(&["left"]);
    let folded = queue.screen();
    assert!(open.contains('▾') && !folded.contains('▾'), "{open}\n{folded}");
    queue.keys(&["right"]);
    assert_eq!(queue.screen(), open);
}

/// A tab of a turn, in its second part.
pub(super) fn inside(tab: Tab) -> Model {
    let mut queue = QuestionQueue::open(if tab == Tab::Extract { EXTRACT } else { SALES }, 1, (120, 40)).tab(tab);
    queue.keys(&["down", "enter"]);
    queue.model
}

#[test]
fn a_search_goes_through_the_parts_of_every_tab() {
    let mut queue = QuestionQueue::open(SALES, 1, (120, 40));
    queue.press("/");
    for c in "region".chars() {
        let effects = write(&mut queue.model, &c.to_string());
        queue.perform(effects);
    }
    let open = queue.model.inspector.as_ref().unwrap();
    let (at, of) = open.found();
    assert!(at >= 1 && of > 1, "{at} of {of}");
    let shown = rows(&mut queue.model);
    assert!(shown.contains(&format!("{at} of {of} parts")), "{shown}");
    let mut tabs = Vec::new();
    for _ in 0..200 {
        let tab = queue.model.inspector.as_ref().unwrap().tab;
        if !tabs.contains(&tab) {
            tabs.push(tab);
        }
        queue.press("enter");
        picture(&mut queue.model, (120, 40));
    }
    assert!(tabs.contains(&Tab::Request) && tabs.contains(&Tab::Calls), "{tabs:?}");
    queue.press("esc");
    assert!(queue.model.inspector.is_some(), "the turn stays open");
}

#[test]
fn parts_with_matches_are_listed_and_enter_goes_to_one() {
    let mut queue = QuestionQueue::open(SALES, 1, (120, 40));
    queue.press("/");
    write(&mut queue.model, "region");
    queue.keys(&["esc", "shift-l"]);
    let hits = queue.model.inspector.as_ref().unwrap().hit_list();
    assert!(hits.len() > 2 && hits.iter().any(|hit| hit.at == "Program"), "{hits:?}");
    let at = hits.iter().position(|hit| hit.at == "Program").unwrap();
    queue.press("home");
    for _ in 0..at {
        queue.press("down");
    }
    queue.press("enter");
    let open = queue.model.inspector.as_ref().unwrap();
    assert_eq!((open.tab, open.found().0, queue.model.popups.len()), (Tab::Program, at + 1, 0));
}

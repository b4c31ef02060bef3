//! The transcript: what is laid out, where the reader stays, what a fold of events gives.

use proptest::prelude::*;
use ptc_workbench::event::{
    Address, Envelope, ErrorRecord, Event, Interrupt, InterruptReason, InterruptSource, ReplyEnd, ReplyStatus, Role,
    Source,
};
use ptc_workbench::tui::transcript::card::Card;
use ptc_workbench::tui::transcript::{HiddenAmount, Scroll, Transcript, View};
use ptc_workbench::workbench::OpenSession;

use super::services::long_session;
use super::story::{NOW_MS, asked, end, failed, missed, two_turns};

const NOW: i64 = NOW_MS + 1_000;

fn transcript_of(events: impl IntoIterator<Item = Envelope>) -> Transcript {
    let mut transcript = Transcript::default();
    for event in events {
        transcript.apply(&event);
    }
    transcript
}

fn rows(transcript: &mut Transcript, columns: usize, height: usize) -> Vec<String> {
    transcript.prepare(columns, height, NOW);
    transcript.rows().map(|row| " ".repeat(usize::from(row.indent)) + &row.row.plain()).collect()
}

#[test]
fn a_session_of_ten_thousand_turns_lays_out_what_is_seen() {
    let mut transcript = Transcript::of_session(&long_session(10_000));
    transcript.prepare(80, 40, NOW);
    assert!(transcript.laid_out() <= 90, "{} cells at the start", transcript.laid_out());
    let before = transcript.laid_out();
    transcript.follow();
    transcript.prepare(80, 40, NOW);
    assert!(transcript.laid_out() - before <= 180, "{} cells at the end", transcript.laid_out() - before);
    let before = transcript.laid_out();
    for _ in 0..50 {
        transcript.scroll(Scroll::Lines(-1), NOW);
        transcript.prepare(80, 40, NOW);
    }
    assert!(transcript.laid_out() - before <= 200, "{} cells while scrolling", transcript.laid_out() - before);
    let before = transcript.laid_out();
    transcript.prepare(80, 40, NOW);
    assert_eq!(transcript.laid_out(), before, "a frame without a change lays out nothing");
}

#[test]
fn only_the_seen_turns_of_a_session_are_asked_for_and_their_bodies_appear() {
    let session = long_session(1_000);
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(80, 12, NOW);
    let unread = transcript.unread();
    assert!(!unread.is_empty() && unread.len() <= 6, "{unread:?}");
    for (turn, places) in unread {
        let body = session.turns.read(&turn, places).unwrap();
        transcript.read_turn(&turn, &body.events, body.request);
    }
    let seen = rows(&mut transcript, 80, 12).join("\n");
    assert!(seen.contains("{\"number\": 1}"), "{seen}");
}

/// Reads the turns that are seen until nothing of what is seen is unread.
fn read_seen(transcript: &mut Transcript, session: &OpenSession, height: usize) {
    transcript.prepare(80, height, NOW);
    while let Some((turn, places)) = transcript.unread().pop() {
        let body = session.turns.read(&turn, places).unwrap();
        transcript.read_turn(&turn, &body.events, body.request);
        transcript.prepare(80, height, NOW);
    }
}

#[test]
fn a_turn_stays_selected_and_seen_while_those_around_it_are_read() {
    let session = long_session(1_000);
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(80, 20, NOW);
    let turn = Address::from("r0/t500");
    assert!(transcript.go_to(&turn));
    transcript.prepare(80, 20, NOW);
    for (unread, places) in transcript.all_unread() {
        transcript.read_turn(&unread, &session.turns.events(places), None);
        assert_eq!(transcript.selected_address().as_ref(), Some(&turn), "after {unread}");
    }
    let seen = rows(&mut transcript, 80, 20).join("\n");
    assert!(seen.contains("{\"number\": 500}"), "{seen}");
}

#[test]
fn a_selected_turn_that_is_read_at_the_bottom_comes_into_view_whole() {
    let session = long_session(100);
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(80, 20, NOW);
    for number in 1..40 {
        transcript.go_to(&Address::run(0).turn(number));
        read_seen(&mut transcript, &session, 20);
        let seen = rows(&mut transcript, 80, 20).join("\n");
        assert!(seen.contains(&format!("{{\"number\": {number}}}")), "{seen}");
    }
}

#[test]
fn turns_that_were_read_long_ago_are_read_again_when_they_are_seen() {
    let session = long_session(1_000);
    let mut transcript = Transcript::of_session(&session);
    let first = Address::from("r0/t1");
    transcript.go_to(&first);
    read_seen(&mut transcript, &session, 20);
    let is_unread = |transcript: &Transcript| transcript.all_unread().iter().any(|(turn, _)| *turn == first);
    assert!(!is_unread(&transcript));
    for number in (10..1_000).step_by(3) {
        transcript.go_to(&Address::run(0).turn(number));
        read_seen(&mut transcript, &session, 20);
    }
    assert!(is_unread(&transcript), "its body went back to the file");
    transcript.go_to(&first);
    read_seen(&mut transcript, &session, 20);
    let seen = rows(&mut transcript, 80, 20).join("\n");
    assert!(seen.contains("{\"number\": 1}"), "{seen}");
    assert_eq!(seen.matches("Request").count(), seen.matches("Turn ").count(), "{seen}");
}

#[test]
fn when_all_is_unfolded_what_is_read_later_is_unfolded_too() {
    let session = long_session(100);
    let mut transcript = Transcript::of_session(&session);
    transcript.go_to(&Address::from("r0/t1"));
    read_seen(&mut transcript, &session, 20);
    assert!(!rows(&mut transcript, 80, 20).join("\n").contains("the task of r0/t1"));
    transcript.toggle_all();
    transcript.toggle_all();
    transcript.go_to(&Address::from("r0/t50"));
    read_seen(&mut transcript, &session, 40);
    let seen = rows(&mut transcript, 80, 40).join("\n");
    assert!(seen.contains("the task of r0/t50"), "{seen}");
}

#[test]
fn the_end_is_followed_until_the_reader_leaves_it() {
    let mut transcript = transcript_of(missed().events());
    transcript.prepare(60, 6, NOW);
    assert!(transcript.follows());
    transcript.scroll(Scroll::Lines(-2), NOW);
    let before = rows(&mut transcript, 60, 6);
    for event in two_turns().into_iter().skip(missed().events().len()) {
        transcript.apply(&event);
    }
    assert_eq!(rows(&mut transcript, 60, 6), before, "what comes below does not move the reader");
    assert!(transcript.new_after() > 0);
    transcript.go_end();
    transcript.prepare(60, 6, NOW);
    assert_eq!(transcript.new_after(), 0);
    assert!(rows(&mut transcript, 60, 6).join("\n").contains("2 turns"));
}

#[test]
fn the_reader_stays_on_the_card_when_the_width_changes() {
    let mut transcript = transcript_of(two_turns());
    transcript.prepare(70, 8, NOW);
    transcript.go_top();
    transcript.scroll(Scroll::Lines(2), NOW);
    let wide = rows(&mut transcript, 70, 8);
    let narrow = rows(&mut transcript, 40, 8);
    assert_eq!(
        wide[0].split_whitespace().take(3).collect::<Vec<_>>(),
        narrow[0].split_whitespace().take(3).collect::<Vec<_>>()
    );
}

#[test]
fn folding_hides_the_body_and_nothing_else() {
    let mut transcript = transcript_of(two_turns());
    transcript.prepare(80, 60, NOW);
    let open = rows(&mut transcript, 80, 60);
    transcript.toggle_all();
    let folded = rows(&mut transcript, 80, 60);
    assert!(folded.len() < open.len());
    assert!(folded.iter().all(|row| row.contains('▸')), "{folded:#?}");
    transcript.toggle_all();
    assert!(rows(&mut transcript, 80, 60).len() > open.len(), "requests are unfolded as well");
}

#[test]
fn control_characters_vanish_in_the_rich_view_and_show_in_the_raw_one() {
    let mut transcript = transcript_of(asked().part("r0/t1", 1, "a\u{1b}[2Jb\u{202e}c").events());
    let rich = rows(&mut transcript, 80, 40).join("\n");
    assert!(rich.contains("abc"), "{rich}");
    transcript.set_view(View::Raw);
    let raw = rows(&mut transcript, 80, 40).join("\n");
    assert!(raw.contains("a␛[2Jb·U+202E·c"), "{raw}");
}

#[test]
fn a_discarded_attempt_stays_marked_and_a_wait_counts_down() {
    let all = failed();
    let mut transcript = transcript_of(all[..8].to_vec());
    let waiting = rows(&mut transcript, 100, 40).join("\n");
    assert!(waiting.contains("attempt 2 of 3 in ") && waiting.contains("as the server requested"), "{waiting}");
    let mut transcript = transcript_of(all);
    let ended = rows(&mut transcript, 100, 60).join("\n");
    assert!(ended.contains("attempt 1 discarded (rate_limit)"), "{ended}");
    assert!(ended.contains("json_parse_error") && ended.contains("line 1, column 20"), "{ended}");
    assert!(ended.contains("max_turns_exceeded") && ended.contains("Set max_turns = 6 in the options"), "{ended}");
}

#[test]
fn while_a_retry_is_under_way_the_attempt_before_is_discarded_and_not_the_end() {
    let all = failed();
    let parts = all.iter().position(|envelope| matches!(&envelope.event, Event::RetryWait(_))).unwrap();
    for (until, says) in
        [(parts, "attempt 2: waiting"), (parts + 1, "attempt 2 of 3 in"), (parts + 2, "attempt 2: 19 b")]
    {
        let now = rows(&mut transcript_of(all[..until].to_vec()), 100, 40).join("\n");
        assert!(now.contains("attempt 1 discarded (rate_limit)") && now.contains(says), "{now}");
        assert!(!now.contains("llm_error") && !now.contains('→'), "{now}");
    }
}

#[test]
fn an_attempt_that_broke_off_with_the_program_says_so() {
    let broken = || asked().part("r0/t1", 1, "{\"senti");
    for story in [broken(), broken().apply_message("r0/t1", end(1, ReplyStatus::Discarded, None))] {
        let story = story.part("r0/t1", 2, "{\"sentiment\"");
        let now = rows(&mut transcript_of(story.events()), 100, 40).join("\n");
        assert!(now.contains("attempt 1 broke off  the program ended before the reply did"), "{now}");
    }
}

#[test]
fn a_stop_is_reported_once_in_its_turn_and_once_at_the_end() {
    let fail = ErrorRecord { reason: "cancelled".to_owned(), message: "the end".to_owned(), ..ErrorRecord::default() };
    let interrupt = Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::User };
    let ended = ReplyEnd { error: Some(fail.clone()), ..end(1, ReplyStatus::Cancelled, None) };
    let story = asked().apply_message("r0/t1", interrupt).apply_message("r0/t1", ended).turn_end(
        "r0/t1",
        Some("cancelled"),
        (0, 0),
        (1, 0, 0),
    );
    let seen = rows(&mut transcript_of(story.run_end(None, Some(fail), (1, 0, 0)).events()), 100, 40).join("\n");
    assert_eq!(seen.matches("cancelled by user").count(), 1, "{seen}");
    assert_eq!(seen.matches("the end").count(), 1, "{seen}");
}

#[test]
fn sizes_of_a_request_are_reported_whole_or_not_at_all() {
    for columns in 24..90 {
        let seen = rows(&mut transcript_of(two_turns()), columns, 60);
        let request = seen.iter().rfind(|row| row.contains("Request")).unwrap();
        assert!(!request.contains('…'), "{request}");
        let (whole, kinds) = request.split_once(" tok").unwrap();
        let number = |text: &str| text.rsplit(['~', ' ']).next().unwrap().parse::<u64>().unwrap();
        let kinds = kinds.trim_end_matches("t2").trim();
        if let Some(kinds) = kinds.strip_prefix(':') {
            let sum: u64 = kinds.split(" · ").map(|kind| number(kind.trim())).sum();
            assert_eq!(sum, number(whole), "the kinds add up: {request}");
        }
    }
}

#[test]
fn the_raw_view_shows_what_was_sent_and_fed_back_exactly() {
    let story = asked().message("r0/t1", 2, Role::User, Source::Feedback, "feedback", "no\u{1b}[2J\u{202e}");
    let story = story.turn_end("r0/t1", Some("validation_error"), (1, 1), (1, 1, 1)).turn("r0/t2").request("r0/t2", 2);
    let mut transcript = transcript_of(story.events());
    transcript.toggle_all();
    transcript.toggle_all();
    let rich = rows(&mut transcript, 80, 200).join("\n");
    assert_eq!(rich.matches("no[2J").count() + rich.matches("␛").count(), 0, "{rich}");
    transcript.set_view(View::Raw);
    let raw = rows(&mut transcript, 80, 200).join("\n");
    assert_eq!(raw.matches("no␛[2J·U+202E·").count(), 2, "in the feedback and in the next request: {raw}");
}

proptest! {
    #[test]
    fn reply_parts_cut_anywhere_give_the_same_rows(
        cuts in prop::collection::vec(0_usize..60, 0..8),
        columns in 5_usize..60,
        seen_between in any::<bool>(),
    ) {
        let reply = "Here:\n```json\n{\"a\": [1, 2, \"日本 text\"],\n \"b\": null}\n```\n";
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| reply.is_char_boundary(*cut) && *cut <= reply.len()).collect();
        cuts.extend([0, reply.len()]);
        cuts.sort_unstable();
        let mut whole = transcript_of(asked().part("r0/t1", 1, reply).events());
        let mut parts = transcript_of(asked().events());
        for pair in cuts.windows(2) {
            let part = asked().part("r0/t1", 1, &reply[pair[0]..pair[1]]).events().pop().unwrap();
            parts.apply(&part);
            if seen_between {
                parts.prepare(columns, 20, NOW);
            }
        }
        prop_assert_eq!(rows(&mut parts, columns, 100), rows(&mut whole, columns, 100));
    }

    #[test]
    fn any_walk_keeps_the_pane_full_and_in_order(
        steps in prop::collection::vec(0_u8..9, 0..40),
        columns in 1_usize..90,
        height in 1_usize..30,
    ) {
        let mut transcript = transcript_of(two_turns());
        for step in steps {
            match step {
                0 => transcript.step_up(NOW),
                1 => transcript.step_down(NOW),
                2 => transcript.scroll(Scroll::Pages(-1), NOW),
                3 => transcript.scroll(Scroll::Pages(1), NOW),
                4 => transcript.go_top(),
                5 => transcript.go_end(),
                6 => transcript.toggle(),
                7 => transcript.toggle_all(),
                _ => transcript.set_view(transcript.view().next()),
            }
            transcript.prepare(columns, height, NOW);
            let seen: Vec<(usize, usize)> = transcript.rows().map(|row| (row.cell, row.line)).collect();
            prop_assert!(seen.len() <= height);
            prop_assert!(seen.is_sorted(), "{seen:?}");
            prop_assert!(!seen.is_empty());
        }
    }
}

/// The events of a run of many turns whose replies are of different length.
fn many_turns(turns: u32, lines: &[u8]) -> Vec<Envelope> {
    (2..=turns)
        .fold(asked(), |story, number| {
            let rows = usize::from(lines[number as usize % lines.len()]);
            let (before, turn) = (format!("r0/t{}", number - 1), format!("r0/t{number}"));
            let story = story.reply(&before, &"a line of the reply\n".repeat(rows), (59, 11));
            story.turn_end(&before, Some("validation_error"), (59, 11), (number, 59, 11)).turn(&turn).request(&turn, 1)
        })
        .events()
}

/// Counts the rows above and below from a layout of everything.
fn counted(transcript: &Transcript, columns: usize) -> (HiddenAmount, HiddenAmount) {
    let places = |transcript: &Transcript| transcript.rows().map(|row| (row.cell, row.line)).collect::<Vec<_>>();
    let seen = places(transcript);
    let mut whole = transcript.clone();
    whole.prepare(columns, usize::MAX / 4, NOW);
    let all = places(&whole);
    let first = all.iter().position(|place| Some(place) == seen.first()).unwrap();
    assert_eq!(all[first..first + seen.len()], seen);
    (HiddenAmount::Rows(first), HiddenAmount::Rows(all.len() - first - seen.len()))
}

/// The turns whose own cards are above and below.
fn counted_turns(transcript: &Transcript) -> (HiddenAmount, HiddenAmount) {
    let seen: Vec<usize> = transcript.rows().map(|row| row.cell).collect();
    let own = |cell: &usize| matches!(transcript.cells()[*cell].card, Card::Turn(_));
    let turns: Vec<usize> = (0..transcript.cells().len()).filter(own).collect();
    let above = turns.iter().filter(|cell| **cell < seen[0]).count();
    let below = turns.iter().filter(|cell| *cell > seen.last().unwrap()).count();
    (HiddenAmount::Turns(above), HiddenAmount::Turns(below))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_number_of_hidden_rows_or_turns_is_true_whatever_was_looked_at_before(
        steps in prop::collection::vec(0_u8..11, 1..40),
        turns in 1_u32..60,
        lines in prop::collection::vec(0_u8..40, 1..7),
        columns in 20_usize..90,
        height in 1_usize..40,
    ) {
        let mut transcript = Transcript::default();
        let mut events = many_turns(turns, &lines).into_iter();
        for step in steps {
            match step {
                0 => transcript.step_up(NOW),
                1 => transcript.step_down(NOW),
                2 => transcript.scroll(Scroll::Pages(-1), NOW),
                3 => transcript.scroll(Scroll::Pages(1), NOW),
                4 => transcript.go_top(),
                5 => transcript.go_end(),
                6 => transcript.toggle(),
                7 => transcript.toggle_all(),
                8 => transcript.set_view(transcript.view().next()),
                _ => events.by_ref().take(40).for_each(|event| transcript.apply(&event)),
            }
            transcript.prepare(columns, height, NOW);
            if transcript.is_empty() {
                continue;
            }
            let (rows, turns) = (counted(&transcript, columns), counted_turns(&transcript));
            let (above, below) = transcript.hidden();
            prop_assert!(
                above == rows.0 || above == turns.0 && rows.0 != HiddenAmount::NONE,
                "{above:?} {rows:?} {turns:?}"
            );
            prop_assert!(
                below == rows.1 || below == turns.1 && rows.1 != HiddenAmount::NONE,
                "{below:?} {rows:?} {turns:?}"
            );
            // Nothing that was laid out before counts: after another view the same place has the same number.
            let mut other = transcript.clone();
            other.set_view(transcript.view().next());
            other.prepare(columns, height, NOW);
            other.set_view(transcript.view());
            other.prepare(columns, height, NOW);
            let first = |transcript: &Transcript| transcript.rows().next().map(|row| (row.cell, row.line));
            if first(&other) == first(&transcript) {
                prop_assert_eq!(other.hidden(), transcript.hidden());
            }
        }
    }
}

#[test]
fn unread_turns_of_a_session_are_counted_as_turns() {
    let session = long_session(1_000);
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(80, 20, NOW);
    transcript.go_to(&Address::from("r0/t500"));
    read_seen(&mut transcript, &session, 20);
    let (above, below) = transcript.hidden();
    let (HiddenAmount::Turns(above), HiddenAmount::Turns(below)) = (above, below) else {
        panic!("{above:?} {below:?}")
    };
    let seen = transcript.turns_in_view().len();
    assert_eq!(above + below + seen, 1_000);
}

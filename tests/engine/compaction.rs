//! Shortened histories: what models and users learn about what was left out.

use ptc_workbench::event::{CompactionDone, CompactionReason};

use super::ptc::{p, ran};
use super::*;

/// The record of each shortened request: its turn, strategy and reason, and the counts as `name=number`.
fn compactions(ran: &Ran) -> Vec<(String, CompactionDone)> {
    let done = |envelope: &Envelope| match &envelope.event {
        Event::CompactionDone(done) => Some((envelope.address.as_str().to_owned(), done.clone())),
        _ => None,
    };
    ran.events.iter().filter_map(done).collect()
}

fn counts(done: &CompactionDone) -> String {
    done.counts.iter().map(|(name, count)| format!("{name}={count}")).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn trimming_shows_why_and_how_much_was_left_out() {
    let toml = "max_turns = 6\ncompaction = { trigger = { turns = 2 }, keep_recent_turns = 1 }";
    let (ran, _) = ran(toml, "{}", &[&p("1"), &p("2"), &p("3"), &p("(return 4)")]).await;
    let shown = compactions(&ran);
    let places: Vec<&str> = shown.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(places, ["r0/t3", "r0/t4"]);
    let (_, last) = &shown[1];
    assert_eq!((last.strategy.name(), last.reason.name()), ("trim", "turn_pressure"));
    // The system text, the first message, three turns of two messages; of these the system text, the first and the last stay.
    assert_eq!((last.messages_before, last.messages_after), (8, 3));
    assert!(last.tokens_after < last.tokens_before, "{last:?}");
    assert_eq!(counts(last), "kept_recent_turns=1 kept_initial_user=1 over_budget=0");
    assert_eq!(ran.step.turns[3].compaction.as_ref(), Some(last), "the turn of the Step knows it");
    assert_eq!(ran.step.messages.len(), 8, "only the request is shortened");
}

#[tokio::test]
async fn trimming_by_tokens_says_when_it_is_not_enough() {
    let toml =
        "max_turns = 4\ncompaction = { trigger = { tokens = 1 }, keep_recent_turns = 1, keep_initial_user = false }";
    let (ran, _) = ran(toml, "{}", &[&p("1"), &p("2"), &p("(return 3)")]).await;
    let (_, last) = compactions(&ran).pop().unwrap();
    assert_eq!(last.reason, CompactionReason::TokenPressure);
    assert_eq!(counts(&last), "kept_recent_turns=1 kept_initial_user=0 over_budget=1");
}

#[tokio::test]
async fn a_run_that_needs_no_shortening_reports_none() {
    let (long, _) = ran("max_turns = 9\ncompaction = true", "{}", &[&p("1"), &p("(return 2)")]).await;
    assert_eq!(compactions(&long), []);
    let (single, _) = ran("max_turns = 1\ncompaction = { trigger = { tokens = 1 } }", "{}", &[&p("1")]).await;
    assert_eq!(compactions(&single), []);
}

#[tokio::test]
async fn coalescing_counts_calls_prints_and_failed_turns() {
    let toml = "max_turns = 6\ncompression = { println_limit = 2, tool_call_limit = 1 }\n\
                [tools.t]\nkind = \"table\"\ndefault = 1\nsignature = \"(n :int) -> :int\"\n";
    let program = p("(println \"one\") (println \"two\") (println \"three\") (tool/t {:n 1}) (tool/t {:n 2})");
    let (ran, texts) = ran(toml, "{}", &[&program, &p("(foo)"), &p("(return 4)")]).await;
    let report_text = compactions(&ran);
    let places: Vec<&str> = report_text.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(places, ["r0/t2", "r0/t3"]);
    let (_, last) = &report_text[1];
    assert_eq!((last.strategy.name(), last.messages_after), ("coalesce", 2));
    assert_eq!(
        counts(last),
        "turns_compressed=2 tool_calls_total=2 tool_calls_shown=1 tool_calls_dropped=1 printlns_total=3 \
         printlns_shown=2 printlns_dropped=1 error_turns_collapsed=1"
    );
    let shown = &texts[2];
    assert!(shown.contains("{\"n\" 2}") && !shown.contains("{\"n\" 1}"), "{shown}");
    assert!(shown.contains("two\nthree") && !shown.contains("one\n"), "{shown}");
}

#[tokio::test]
async fn the_task_stays_where_an_earlier_conversation_is_before_it() {
    let replies = ["1", "2", "3", "(return 4)"].map(|program| crate::openai::server::answer(&p(program)));
    let server = crate::openai::server::Server::play(replies).await;
    let kit = crate::model::kit::ALL[0];
    let toml = "max_turns = 6\ncompaction = { trigger = { turns = 2 }, keep_recent_turns = 1 }\n\
        [[messages]]\nrole = \"user\"\ntext = \"an old question\"\n[[messages]]\nrole = \"assistant\"\ntext = \"an old answer\"\n";
    let ran = run(&super::ptc::agent(toml), "{}", &kit.model(&server)).await;
    assert_eq!(ran.outcome(), "4");
    let received = server.received();
    let sent = |place: usize| received[place].json()["messages"].to_string();
    assert!(sent(0).contains("an old question") && sent(0).contains("an old answer") && sent(0).contains("go"));
    assert!(sent(3).contains("go") && !sent(3).contains("an old question"), "{}", sent(3));
}

/// Many services demand that the roles alternate.
#[tokio::test]
async fn a_trimmed_history_is_sent_without_two_messages_of_the_user_in_a_row() {
    let replies = ["1", "2", "3", "(return 4)"].map(|program| crate::openai::server::answer(&p(program)));
    let server = crate::openai::server::Server::play(replies).await;
    let kit = crate::model::kit::ALL[0];
    let toml = "max_turns = 6\ncompaction = { trigger = { turns = 2 }, keep_recent_turns = 1 }";
    let ran = run(&super::ptc::agent(toml), "{}", &kit.model(&server)).await;
    assert_eq!(ran.outcome(), "4");
    let last = server.received().pop().unwrap().json();
    let roles: Vec<&str> =
        last["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user"], "the first message and what came back last are one: {last}");
    let shown = last["messages"][1]["content"].as_str().unwrap();
    assert!(shown.starts_with("go") || shown.contains("go\n"), "{shown}");
}

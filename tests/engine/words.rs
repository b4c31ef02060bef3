//! `completion = "answer_without_code"`: programs until a reply in words, and which block of a reply is the program. In: scripted
//! replies. Out: Steps and what went back.

use super::ptc::{p, ran};
use super::*;

const WORDS: &str = "completion = \"answer_without_code\"\nmax_turns = 4";

#[tokio::test]
async fn the_first_block_is_the_program_tagged_or_not() {
    let rows = [
        ("```\n(+ 1 1)\n```\nor\n```clojure\n(+ 2 2)\n```", "2", "first_of_several"),
        ("```clojure\n(+ 2 2)\n```\nor\n```\n(+ 1 1)\n```", "4", "first_of_several"),
        ("```\n(+ 1 2)\n```\n```\n(+ 4 4)\n```", "3", "first_of_several"),
        ("It is\n```\n42\n```", "42", ""),
        ("```clojure\n(+ 1 5)```", "6", "inline_fence"),
    ];
    for (reply, value, mend) in rows {
        let (ran, texts) = ran(WORDS, "{}", &[reply, "Done."]).await;
        assert_eq!(ran.outcome(), value, "{reply}");
        assert_eq!(ran.step.summary.as_deref(), Some("Done."), "{reply}");
        assert_eq!(ran.turns(), ["ok", "ok"], "{reply}");
        assert_eq!(ran.step.turns[0].fixes.join(" "), mend, "{reply}");
        assert!(texts[1].contains(&format!("user=> {value}")), "{}", texts[1]);
    }
}

#[tokio::test]
async fn several_untagged_blocks_stay_an_error_where_a_program_must_return() {
    let (ran, _) = ran("max_turns = 2", "{}", &["```\n(a)\n```\n```\n(b)\n```", &p("(return 1)")]).await;
    assert_eq!(ran.turns(), ["multiple_code_blocks", "ok"]);
}

#[tokio::test]
async fn an_answer_in_words_is_no_error() {
    let (ran, _) = ran(WORDS, "{}", &[&p("(+ 1 1)"), "There are two."]).await;
    let failed = |envelope: &Envelope| matches!(&envelope.event, Event::Extract(extract) if extract.error.is_some());
    assert!(!ran.events.iter().any(failed));
    let last = &ran.step.turns[1];
    assert!(last.success && last.error.is_none(), "{:?}", last.error);
    let view = ran.step.delegated().unwrap();
    assert_eq!((view.trace[1].answer.as_deref(), view.trace[1].error.as_deref()), (Some("There are two."), None));
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_corrected_in_the_words_of_its_policy() {
    let toml = format!("{WORDS}\nsignature = \"{{r :int}}\"");
    let (ran, texts) = ran(&toml, "{}", &[&p("\"x\""), "It is x.", &p("{:r 2}"), "It is two."]).await;
    assert_eq!(ran.outcome(), r#"{"r":2}"#);
    assert_eq!(ran.turns(), ["ok", "return_validation_failed", "ok", "ok"]);
    // What is expected is the value of a program, not a call of `return`.
    assert!(
        texts[0].contains("The value of the last program: {r :int}") && !texts[0].contains("(return"),
        "{}",
        texts[0]
    );
    assert!(texts[2].contains("reply with your answer as text") && !texts[2].contains("return again"), "{}", texts[2]);
    let toml = "signature = \"{r :int}\"\nmax_turns = 3";
    let (_, texts) = super::ptc::ran(toml, "{}", &[&p("(return 1)"), &p("(return {:r 2})")]).await;
    assert!(texts[1].contains("Expected: {r :int}") && texts[1].contains("return again"), "{}", texts[1]);
}

#[tokio::test]
async fn what_json_cannot_hold_is_named_where_any_value_may_be_returned() {
    let (ran, texts) = ran("max_turns = 3", "{}", &[&p("(return ##NaN)"), &p("(return 1)")]).await;
    assert_eq!(ran.turns(), ["return_validation_failed", "ok"]);
    assert!(texts[1].contains("Expected: any value that JSON can represent\n"), "{}", texts[1]);
}

#[tokio::test]
async fn a_fence_after_the_last_form_closes_the_block() {
    for completion in ["return_required", "explicit", "answer_without_code"] {
        let toml = format!("completion = \"{completion}\"\nmax_turns = 2");
        let (ran, _) = ran(&toml, "{}", &["So:\n```clojure\n(def a 2)\n(return (* a 21))```\nThat is all."]).await;
        assert_eq!((ran.outcome().as_str(), ran.turns().len()), ("42", 1), "{completion}");
        assert_eq!(ran.step.turns[0].fixes, ["inline_fence"], "{completion}");
    }
    let (ran, _) = ran("max_turns = 1\nrecovery = \"strict\"", "{}", &["```clojure\n(return 1)```"]).await;
    assert_eq!(ran.outcome(), "no_code_found");
}

//! No secret stays in any text of any event, and the scan finds each.

use super::samples::samples;
use super::*;
use crate::event::KINDS;
use crate::export::{Content, Format, render};

/// The shape of a key, put together so that no file holds one.
fn token() -> String {
    format!("ghp_{}", "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo")
}

/// Ways in which an event may hold the token.
fn spellings() -> Vec<String> {
    let token = token();
    let joined = token.chars().map(|c| c.to_string()).collect::<Vec<_>>().join("\u{200b}");
    vec![token.clone(), format!("x {joined} y"), format!("{{\"a\": \"\\u0067{}\"}}", &token[1..])]
}

/// One event of every kind and form after the start of a run, at addresses that hold the text as well.
fn events(text: &str) -> Vec<Envelope> {
    let mut out = Vec::new();
    let mut add = |address: &str, event: Event| {
        let seq = out.len() as u64 + 1;
        out.push(Envelope { seq, at_ms: 0, address: Address::from(address), event });
    };
    for form in samples("run.start", text) {
        add("r0", form.1);
    }
    for (kind, ..) in KINDS.iter().filter(|(kind, ..)| *kind != "run.start" && *kind != "run.end") {
        for (number, (_, event)) in samples(kind, text).into_iter().enumerate() {
            add(&format!("r0/t{}", number + 1), event.clone());
            add(&format!("r0/t1/{text}"), event);
        }
    }
    let data = RawValue::from_string(serde_json::json!({text: [text]}).to_string()).unwrap();
    add("r0", Event::Unknown(Unknown { kind: text.to_owned(), data }));
    for form in samples("run.end", text) {
        add("r0", form.1);
    }
    out
}

fn lines(events: &[Envelope]) -> String {
    events.iter().map(|envelope| envelope.to_line(None).unwrap() + "\n").collect()
}

/// Returns whether a text contains most of the token, as its readers decode it.
fn holds(text: &str) -> bool {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    letters(&text.replace("\\u200b", "")).contains(&letters(&token())[4..30])
}

#[test]
fn no_text_of_any_event_keeps_a_secret_in_any_format() {
    let rules = Rules::parse(&["secrets".to_owned()], Scrub::default()).unwrap();
    for text in spellings() {
        let events = events(&text);
        assert!(holds(&lines(&events)));
        let done = redact(events, &rules).unwrap();
        for line in lines(&done.events).lines() {
            assert!(!holds(line), "{line}");
        }
        for removal in &done.removals {
            assert!(!holds(&removal.to_string()), "{removal}");
        }
        let content = Content { session: "s".to_owned(), events: done.events, ..Content::default() };
        for format in Format::ALL {
            let shown = render(&content, *format).unwrap_or_default();
            assert!(!holds(&shown), "{}", format.name());
        }
    }
}

#[test]
fn the_scan_finds_a_secret_in_each_text_of_each_event() {
    // Bytes are in no export.
    for (kind, ..) in KINDS.iter().filter(|(kind, ..)| *kind != "wire" && !kind.starts_with("raw.")) {
        for (data, event) in samples(kind, &token()) {
            let places = data.to_string().matches(&token()).count();
            let envelope = Envelope { seq: 1, at_ms: 0, address: Address::from("r0/t1"), event };
            let found =
                remaining_secrets(std::slice::from_ref(&envelope), std::slice::from_ref(&envelope), Scrub::default())
                    .unwrap();
            let found: usize = found.iter().map(|removal| removal.count).sum();
            let kept = envelope.to_line(None).unwrap().matches(&token()).count();
            assert!(found >= kept && places >= kept, "{kind}: {found} of {kept}: {data}");
        }
    }
}

#[test]
fn every_policy_leaves_events_that_can_be_read() {
    for rule in REDACTIONS.iter().map(|redaction| redaction.name).chain(["regex:[a-z]{3,}", "field:a", "regex:text"]) {
        let rules = Rules::parse(&[rule.to_owned()], Scrub::default()).unwrap();
        let done = redact(events("a long text of somebody"), &rules).unwrap_or_else(|error| panic!("{rule}: {error}"));
        for envelope in &done.events {
            let line = envelope.to_line(None).unwrap();
            assert!(Envelope::from_line(&line).is_ok(), "{rule}: {line}");
        }
    }
}

#[test]
fn a_word_that_is_spelled_like_a_known_secret_does_not_spoil_an_event() {
    let rules = Rules::parse(&["secrets".to_owned()], Scrub::new([crate::model::Secret::new("assistant")])).unwrap();
    let text = r#"{"m":0,"role":"assistant","source":"prompt","parts":[{"section":"task","text":"the assistant"}]}"#;
    let event = Event::read("message", &RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    let done = redact(vec![Envelope { seq: 1, at_ms: 0, address: Address::from("r0/t1"), event }], &rules).unwrap();
    let line = done.events[0].to_line(None).unwrap();
    assert!(line.contains(r#""role":"assistant""#) && line.contains("the [removed: known_secret]"), "{line}");
}

//! Redaction: the parts that the rules name are missing from the events, and therefore from every format; the rest stays.

use ptc_workbench::event::{Address, Event, PartKind};
use ptc_workbench::export::{Content, Format, REDACTIONS, Rules, redact, remaining_secrets, render};
use ptc_workbench::model::Scrub;
use serde_json::json;

use super::{content, event, examples, redacted};

/// The shape of a key, put together so that no file holds one.
fn key() -> String {
    format!("sk-{}", "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1")
}

const EMAIL: &str = "ada.l@example.test";
const CARD: i64 = 4_111_111_111_111_111;

/// A run in which a user's data and a key are in many places, the key across parts of a reply.
fn session() -> Content {
    let key = key();
    let (front, back) = key.split_at(9);
    let part = |text: &str| {
        event(
            "r0/t1",
            "reply.part",
            &json!({"attempt": 1, "kind": "text", "text": text, "lens": [text.len()], "ms": [5]}),
        )
    };
    let reply = format!("{{\"mail\": \"{EMAIL}\", \"key\": \"{key}\"}}");
    content([
        event(
            "r0",
            "run.start",
            &json!({
                "agent": {"name": "a", "toml": "prompt = \"p\"", "sha": ""}, "mode": "json",
                "model": {"alias": "m", "provider": "p", "id": "m"}, "limits": [], "seed": 0,
                "context": {"user": {"email": EMAIL, "name": "Ada"}, "card": CARD, "note": "a plain note"},
            }),
        ),
        event("r0/t1", "turn.start", &json!({"now": 0, "remaining": {"turns": 1}})),
        event(
            "r0/t1",
            "message",
            &json!({"m": 0, "role": "user", "source": "prompt", "parts": [
            {"section": "task", "text": format!("Write to {EMAIL}, card {CARD}: :email \"x@y.test\" email=z@y.test")}]}),
        ),
        event("r0/t1", "request", &json!({"messages": [[0, 0]], "want": "json", "options": {}})),
        event("r0/t1", "wire", &json!({"attempt": 1, "frames": "c2VjcmV0", "bytes": 6})),
        part(&format!("{{\"mail\": \"{EMAIL}\", \"key\": \"{front}")),
        part(back),
        part("\"}"),
        event("r0/t1", "reply.end", &json!({"attempt": 1, "status": "ok"})),
        event("r0/t1", "extract", &json!({"kind": "json", "candidates": 1, "sha": "", "span": [0, reply.len()]})),
        event("r0/t1/c0", "tool.call", &json!({"name": "mail", "args": {"to": EMAIL, "auth": key}})),
        event(
            "r0/t1/c0",
            "tool.end",
            &json!({"status": "ok", "result": {"sent": true, "id": "message-1234"}, "ms": 1}),
        ),
        event("r0/t1", "notice", &json!({"level": "info", "text": "message-1234 was sent"})),
        event("r0/t1", "turn.end", &json!({"success": true, "totals": {"turns": 1, "requests": 1}})),
        event(
            "r0",
            "run.end",
            &json!({"return": {"ok": true}, "usage": {"turns": 1, "requests": 1, "schema_used": false}}),
        ),
    ])
}

/// All events as they would be in a file.
fn text(content: &Content) -> String {
    content.events.iter().map(|envelope| envelope.to_line(None).unwrap() + "\n").collect()
}

/// The reply's text, put together from its parts.
fn reply(content: &Content) -> String {
    let parts = content.events.iter().filter_map(|envelope| match &envelope.event {
        Event::ReplyPart(part) if part.kind == PartKind::Text => Some(part.text.as_str()),
        _ => None,
    });
    parts.collect()
}

#[test]
fn without_rules_nothing_changes() {
    for content in examples() {
        let (after, removals) = redacted(&content, &["none"], &["sk-known-secret"]);
        assert_eq!(after.events, content.events);
        assert!(removals.is_empty());
    }
}

#[test]
fn a_secret_is_gone_from_every_format_also_where_it_was_split() {
    let (content, removals) = redacted(&session(), &["secrets"], &[]);
    assert!(reply(&content).contains(r#""key": "[removed: openai_key]"}"#), "{}", reply(&content));
    for format in Format::ALL {
        let Some(text) = render(&content, *format) else { continue };
        assert!(!text.contains(&key()) && !text.contains(&key()[9..]), "{}", format.name());
        assert!(text.contains(EMAIL), "{}: the rest stays", format.name());
    }
    assert!(!text(&content).contains("\"wire\""), "nothing can be looked for in raw frames");
    let at: Vec<(&str, &str)> = removals.iter().map(|gone| (gone.address.as_str(), gone.field.as_str())).collect();
    assert_eq!(at, [("r0/t1", "reply.part text"), ("r0/t1", "extract repaired"), ("r0/t1/c0", "tool.call args.auth")]);
    assert!(removals.iter().all(|gone| gone.excerpt == format!("sk-… ({} characters)", key().len())), "{removals:?}");
}

#[test]
fn a_secret_that_was_found_in_one_place_is_gone_from_all_places() {
    // Only the name of the argument reveals it; elsewhere it is a text like any other.
    let secret = "hunter22-sekrit-value";
    let mut content = session();
    let mut put = |address: &str, kind: &str, data: serde_json::Value| {
        let (address, event) = event(address, kind, &data);
        let seq = content.events.len() as u64 + 1;
        content.events.push(ptc_workbench::event::Envelope { seq, at_ms: 0, address, event });
    };
    put("r0/t1/c1", "tool.call", json!({"name": "login", "args": {"key": secret}}));
    put("r0/t1/c1", "tool.end", json!({"status": "ok", "result": {"greeting": format!("welcome {secret}!")}, "ms": 1}));
    put("r0/t1", "notice", json!({"level": "info", "text": format!("quoted \"{secret}\"")}));
    put("r0/t2", "reply.part", json!({"attempt": 1, "kind": "text", "text": &secret[..9], "lens": [9], "ms": [5]}));
    put("r0/t2", "reply.part", json!({"attempt": 1, "kind": "text", "text": &secret[9..], "lens": [12], "ms": [5]}));
    put("r0/t2", "reply.end", json!({"attempt": 1, "status": "ok"}));
    assert_eq!(text(&content).matches(secret).count(), 3);
    let (after, removals) = redacted(&content, &["secrets"], &[]);
    assert!(!text(&after).contains(secret) && !reply(&after).contains("sekrit"), "{}", text(&after));
    for format in Format::ALL {
        let Some(text) = render(&after, *format) else { continue };
        assert!(!text.contains("sekrit"), "{}", format.name());
    }
    let of = |at: &str| removals.iter().rfind(|gone| gone.address.as_str() == at).map(|gone| gone.rule.as_str());
    assert_eq!([of("r0/t1/c1"), of("r0/t2")], [Some("repeated"); 2], "the preview counts them: {removals:#?}");
    // What is left by other rules is looked through for what was found before they were applied.
    let (without, _) = redacted(&content, &["arguments"], &[]);
    let found = remaining_secrets(&content.events, &without.events, Scrub::default()).unwrap();
    assert!(found.iter().any(|found| found.field == "tool.end result.greeting"), "{found:#?}");
}

#[test]
fn a_key_of_this_machine_is_known_whatever_it_looks_like() {
    let (content, removals) = redacted(&session(), &["secrets"], &["a plain note"]);
    assert!(text(&content).contains("[removed: known_secret]") && !text(&content).contains("a plain note"));
    assert_eq!(removals[0].rule, "known_secret");
}

#[test]
fn a_field_goes_with_its_repetitions_and_in_texts() {
    let (content, removals) = redacted(&session(), &["field:email"], &[]);
    let text = text(&content);
    for gone in [EMAIL, "x@y.test", "z@y.test"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert!(
        text.contains(r#""email":"[removed: field:email]""#)
            && text.contains("Ada")
            && text.contains(&CARD.to_string())
    );
    let repeated = removals.iter().filter(|gone| gone.rule == "repeated").count();
    assert!(repeated >= 4, "prompt, reply, what was read, call: {removals:#?}");
}

#[test]
fn a_path_names_only_what_ends_with_it() {
    let (content, _) = redacted(&session(), &["field:user.name"], &[]);
    assert!(text(&content).contains(r#""name":"[removed: field:user.name]""#));
    let (other, removals) = redacted(&session(), &["field:card.name"], &[]);
    assert!(text(&other).contains("Ada") && removals.is_empty());
}

#[test]
fn an_expression_finds_numbers_too() {
    let (content, removals) = redacted(&session(), &[r"regex:\d{16}"], &[]);
    assert!(!text(&content).contains(&CARD.to_string()));
    assert_eq!(removals[0].field, "run.start context.card");
    assert_eq!(removals[0].rule, r"regex:\d{16}");
}

#[test]
fn kinds_of_content_go_as_a_whole_and_their_texts_wherever_they_are_repeated() {
    let (content, _) = redacted(&session(), &["context"], &[]);
    let context = text(&content);
    assert!(
        !context.contains(EMAIL) && !context.contains("a plain note") && !context.contains(&CARD.to_string()),
        "{context}"
    );
    let (content, _) = redacted(&session(), &["results"], &[]);
    let results = text(&content);
    assert!(!results.contains("message-1234") && results.contains("a plain note"), "{results}");
    for word in REDACTIONS.iter().map(|redaction| redaction.name).filter(|name| *name != "none") {
        let (content, _) = redacted(&session(), &[word], &[]);
        assert_eq!(content.events.len(), session().events.len() - 1, "{word} keeps every event but raw frames");
    }
}

#[test]
fn full_leaves_no_text_and_summary_only_starts() {
    let long = "a long and telling sentence ".repeat(20);
    let mut session = session();
    let (address, notice) = event("r0/t1", "notice", &json!({"level": "info", "text": long}));
    session.events.push(ptc_workbench::event::Envelope { seq: 99, at_ms: 0, address, event: notice });
    let (full, _) = redacted(&session, &["full"], &[]);
    for gone in [EMAIL, &key(), "Ada", "a plain note", "telling", "message-1234", "Write to", r#"prompt = \"p"#] {
        assert!(!text(&full).contains(gone), "{gone}");
    }
    assert!(text(&full).contains("bytes]") && text(&full).contains(r#""name":"mail""#), "names stay");
    let (summary, _) = redacted(&session, &["summary"], &[]);
    let summary = text(&summary);
    assert!(
        summary.contains("a long and telling") && summary.contains("[removed: 500 bytes]") && !summary.contains(&key())
    );
}

#[test]
fn every_example_can_be_redacted_and_still_exported() {
    let rules = ["full", "summary", "context,results", "messages", "field:text", "regex:[a-z]{5,}"];
    for (number, content) in examples().into_iter().enumerate() {
        for (_, rule) in rules.into_iter().enumerate().filter(|(place, _)| crate::is_in_sample(place + number)) {
            let (after, _) = redacted(&content, &[rule], &[]);
            for format in Format::ALL {
                assert_ne!(render(&after, *format).as_deref(), Some(""), "{rule}");
            }
        }
    }
}

#[test]
fn no_example_looks_like_a_secret() {
    for content in examples() {
        let (_, found) = redacted(&content, &["secrets"], &[]);
        assert!(found.is_empty(), "{}: {found:#?}", content.session);
    }
}

#[test]
fn a_rule_that_cannot_be_read_says_what_can_be_written() {
    let parse = |rule: &str| Rules::parse(&[rule.to_owned()], Scrub::default()).unwrap_err();
    assert!(parse("secret").contains("did you mean `secrets`?"));
    assert!(parse("regex:(").contains("not a regular expression"));
    assert!(parse("regex:a*").contains("matches empty text"));
    assert!(parse("field:a..b").contains("field:user.email"));
    assert!(
        parse("field:first name results").contains("a comma before `results`"),
        "nothing stays in by a missing comma"
    );
    assert!(redact(Vec::new(), &Rules::default()).unwrap().events.is_empty());
}

#[test]
fn fields_are_those_of_data_and_not_those_of_events() {
    let (content, removals) = redacted(&session(), &["field:text,field:args,field:value"], &[]);
    assert_eq!(removals, []);
    assert!(text(&content).contains("Write to"));
}

#[test]
fn long_texts_that_are_kept_as_their_head_can_go() {
    let head = json!({"head": format!("{EMAIL} and more"), "bytes": 100_000, "sha": "0".repeat(64)});
    let content = content([
        event("r0/t1", "program.end", &json!({"status": "value", "value": head})),
        event("r0/t1", "memory", &json!({"set": [["name", head]], "bytes": 1})),
        event("r0/t1", "extract", &json!({"kind": "json", "candidates": 1, "sha": "", "repaired": head})),
    ]);
    for rule in ["full", "summary", "regex:[a-z.]+@[a-z.]+"] {
        let (after, _) = redacted(&content, &[rule], &[]);
        assert!(
            (rule == "full" || text(&after).contains("\"bytes\":100000"))
                && (rule == "summary" || !text(&after).contains(EMAIL)),
            "{rule}"
        );
    }
}

#[test]
fn names_of_members_are_content_too() {
    let content = content([event("r0/t1/c0", "tool.end", &json!({"status": "ok", "result": {EMAIL: 1}, "ms": 1}))]);
    let (after, removals) = redacted(&content, &["regex:[a-z.]+@[a-z.]+"], &[]);
    assert!(!text(&after).contains(EMAIL));
    assert_eq!(removals[0].address, Address::from("r0/t1/c0"));
}

/// A fork of a run that keeps a journal: everything that only such sessions contain has the same text.
fn forked(text: &str) -> Content {
    let agent = json!({"name": "a", "toml": "prompt = \"p\"", "sha": ""});
    let later = json!({"agent": {"name": "b", "toml": format!("prompt = \"{text}\""), "sha": ""}, "model": "m"});
    let edit = |at: &str, target: &str, after: serde_json::Value| {
        event(at, "edit", &json!({"target": target, "at": "r0/t1:request", "after": after, "by": "command"}))
    };
    content([
        event(
            "r0",
            "run.start",
            &json!({
                "agent": agent, "mode": "ptc_lisp", "model": {"alias": "m", "provider": "p", "id": "m"}, "limits": [],
                "seed": 0, "context": {}, "pipeline": {"name": "both", "then": [later]},
            }),
        ),
        edit("r0/t1", "prompt", json!(text)),
        edit("r0/t1", "context.email", json!(text)),
        edit("r0/t1", "context", json!({"email": text})),
        edit("r0/t1", "memory.x", json!(text)),
        edit("r0/t1", "reply", json!(text)),
        edit("r0/t1/c0", "result", json!({"mail": text})),
        event("r0/t1", "turn.start", &json!({"now": 0, "remaining": {"turns": 1}})),
        event("r0/t1", "tasks", &json!({"set": [["first", text]]})),
        event("r0/t1", "turn.end", &json!({"success": true, "totals": {"turns": 1, "requests": 1}})),
    ])
}

#[test]
fn edits_journals_and_later_steps_are_looked_at_like_everything_else() {
    let (clean, removals) = redacted(&forked(&key()), &["secrets"], &[]);
    assert!(!text(&clean).contains(&key()), "{}", text(&clean));
    assert_eq!(removals.iter().map(|gone| gone.count).sum::<usize>(), 8, "{removals:?}");
    let (clean, _) = redacted(&forked("nobody may read this"), &["full"], &[]);
    assert!(!text(&clean).contains("nobody may"), "{}", text(&clean));
    // What was put into the context is part of it, wherever it is repeated.
    for rule in ["context", "field:email", "results"] {
        let (clean, _) = redacted(&forked(EMAIL), &[rule], &[]);
        assert!(!text(&clean).contains(EMAIL), "{rule}: {}", text(&clean));
    }
    let (clean, removals) = redacted(&forked("plain words"), &["field:email"], &[]);
    assert!(removals.iter().any(|gone| gone.field == "edit after.email"), "{removals:?}");
    assert_eq!(clean.events.len(), forked("plain words").events.len());
}

//! Content that wants to be more than text: in no export does it act.

use ptc_workbench::event::{Address, Event};
use ptc_workbench::export::{Content, Format, Piece, asciicast, render};
use ptc_workbench::tui::session_screenshot;
use serde_json::json;

use super::{START_MS, content, event};

/// Sequences of terminals, characters that reorder and hide, markup, and ways out of blocks.
const HOSTILE: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}]8;;http://evil.test\u{1b}\\link \u{9b}2J\u{202e}bidi\u{2066}\u{200b} <script>alert(1)</script><img src=x onerror=alert(2)>\"'> ]]> --> </code></pre></style>\n```\n# heading [x](javascript:alert(3))\n``````\n~~~\n|a|b|\n&lt;\0\r\n";

/// A session in which every text is hostile.
fn session() -> Content {
    let h = HOSTILE;
    let error = json!({"reason": h, "message": h, "hint": h, "details": {h: h}});
    let run = |address: &str| {
        event(
            address,
            "run.start",
            &json!({
                "agent": {"name": h, "toml": h, "sha": "x"}, "mode": h, "model": {"alias": h, "provider": h, "id": h},
                "limits": [], "context": {h: [h]}, "seed": 0,
            }),
        )
    };
    let part = |kind: &str| {
        event("r0/t1", "reply.part", &json!({"attempt": 1, "kind": kind, "text": h, "lens": [1], "ms": [1]}))
    };
    let events: Vec<(Address, Event)> = vec![
        run("r0"),
        event("r0/t1", "turn.start", &json!({"now": START_MS, "kind": h, "remaining": {"turns": 1}})),
        event(
            "r0/t1",
            "message",
            &json!({"m": 0, "role": "system", "source": "prompt", "parts": [{"section": "card", "text": h}]}),
        ),
        event(
            "r0/t1",
            "message",
            &json!({"m": 1, "role": "user", "source": "prompt", "parts": [{"section": h, "text": h}]}),
        ),
        event(
            "r0/t1",
            "request",
            &json!({
                "messages": [[0, 1]], "want": "program", "options": {"stop": [h]},
                "tools": [{"name": h, "description": h, "parameters": {h: h}}],
            }),
        ),
        event("r0/t1", "sent", &json!({"attempt": 1, "provider": h, "url": h, "frame": {h: h}, "bytes": 1, "sha": ""})),
        event("r0/t1", "retry.wait", &json!({"attempt": 1, "wait_ms": 1, "class": h, "message": h})),
        part("reasoning"),
        part("text"),
        event(
            "r0/t1",
            "reply.end",
            &json!({
                "attempt": 1, "status": "ok", "finish": h, "model": h, "calls": [{"id": h, "name": h, "args": h}],
            }),
        ),
        event(
            "r0/t1",
            "extract",
            &json!({
                "kind": "program", "rule": h, "candidates": 1, "fixes": [[h, 0, 1]], "sha": "", "repaired": h,
            }),
        ),
        event("r0/t1/c0", "tool.call", &json!({"name": h, "kind": h, "args": {h: h}})),
        run("r0/t1/c0"),
        event(
            "r0/t1/c0",
            "run.end",
            &json!({"fail": error, "usage": {"turns": 0, "requests": 0, "schema_used": false}}),
        ),
        event("r0/t1/c0", "tool.end", &json!({"status": "error", "result": {h: h}, "error": error, "ms": 1})),
        event("r0/t1/q0", "question", &json!({"kind": h, "text": h, "options": [h]})),
        event("r0/t1/q0", "answer", &json!({"by": h, "value": h})),
        event(
            "r0/t1",
            "program.end",
            &json!({"status": h, "value": h, "prints": [h], "summaries": [[h, h]], "error": error, "warnings": [h]}),
        ),
        event("r0/t1", "memory", &json!({"set": [[h, h]], "del": [h], "bytes": 1})),
        event("r0/t1", "plan", &json!({"items": [[h, h, h]]})),
        event(
            "r0/t1",
            "check",
            &json!({"layer": h, "ok": false, "issues": [
            {"path": h, "severity": "error", "expected": h, "got": h, "message": h}]}),
        ),
        event("r0/t1", "notice", &json!({"level": h, "text": h})),
        event("r0", "notice", &json!({"level": h, "text": h})),
        event("r0/t1", h, &json!({h: h})),
        event("r0/t1", "turn.end", &json!({"success": false, "reason": h, "totals": {"turns": 1, "requests": 1}})),
        event(
            "r0",
            "run.end",
            &json!({
                "return": {h: h}, "summary": h, "refs": {h: h}, "usage": {"turns": 1, "requests": 1, "schema_used": false},
            }),
        ),
    ];
    let mut content = content(events);
    (content.session, content.program) = (h.to_owned(), h.to_owned());
    (content.imported, content.damage) = (Some(h.to_owned()), Some(h.to_owned()));
    content
}

/// Returns whether a terminal, or a reader of the text, would act on the character. Line feed (used by JSON and HTML) and tab (used by
/// Markdown and HTML) are allowed.
fn acts(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn every_export() -> Vec<(Format, String)> {
    let content = session();
    let mut all: Vec<(Format, String)> =
        Format::ALL.iter().filter_map(|format| Some((*format, render(&content, *format)?))).collect();
    all.push((Format::Svg, session_screenshot(&content.session, &content.events, (100, 200))));
    let pieces = [Piece { at_ms: START_MS, text: HOSTILE.to_owned() }];
    all.push((Format::Asciicast, asciicast(&content, &pieces, (80, 24))));
    // A bundle is no text; tests/hostile looks into it.
    assert_eq!(all.len(), Format::ALL.len() - 1);
    all
}

#[test]
fn no_export_holds_a_character_that_acts() {
    for (format, text) in every_export() {
        let found: Vec<char> = text.chars().filter(|c| acts(*c)).collect();
        assert!(found.is_empty(), "{}: {found:?}", format.name());
        assert!(text.contains("alert(1)") || text.contains("alert(1"), "{}: the content is there", format.name());
    }
}

#[test]
fn data_for_viewers_decodes_to_text_without_sequences() {
    for (format, text) in every_export() {
        let lines: Vec<&str> = match format {
            Format::Atif | Format::Otlp => vec![&text],
            Format::Asciicast => text.lines().collect(),
            _ => continue,
        };
        for line in lines {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut open = vec![&value];
            while let Some(value) = open.pop() {
                match value {
                    serde_json::Value::String(text) => {
                        let text = text.replace("\r\n", "\n");
                        assert!(!text.contains(acts), "{}: {text:?}", format.name());
                    }
                    serde_json::Value::Array(items) => open.extend(items),
                    serde_json::Value::Object(members) => {
                        assert!(!members.keys().any(|key| key.contains(acts)), "{}", format.name());
                        open.extend(members.values());
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn markup_of_a_page_is_the_program_s_own() {
    const OWN: [&str; 34] = [
        "!doctype", "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "h4", "h5", "h6", "p",
        "section", "details", "summary", "pre", "code", "dl", "div", "dt", "dd", "span", "svg", "rect", "text",
        "tspan", "g", "path", "defs", "a", "filter",
    ];
    for (format, text) in every_export() {
        if !matches!(format, Format::Html | Format::Svg) {
            continue;
        }
        for (at, _) in text.match_indices('<') {
            let rest = text[at + 1..].trim_start_matches('/');
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '!').collect();
            assert!(OWN.contains(&name.as_str()), "{}: <{name} at {at}", format.name());
        }
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("]]>"), "{}", format.name());
        assert!(!text.contains(" href=\"http://evil.test"), "{}", format.name());
    }
    let (_, page) = every_export().into_iter().find(|(format, _)| *format == Format::Html).unwrap();
    assert!(page.contains("default-src 'none'; style-src 'sha256-") && !page.contains("unsafe-inline"));
    assert_eq!(page.matches("<style>").count(), 1);
}

#[test]
fn in_markdown_content_stays_in_its_blocks() {
    let (_, page) = every_export().into_iter().find(|(format, _)| *format == Format::Markdown).unwrap();
    let mut fence: Option<usize> = None;
    for line in page.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match fence {
            Some(width) if ticks >= width && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 && !line[ticks..].contains('`') => fence = Some(ticks),
            None => {
                // Outside of blocks only code spans hold content: without them no markup of the content is left.
                let outside = without_spans(line);
                for way in ["<script", "<img", "](", "javascript", "|a|"] {
                    assert!(!outside.contains(way), "{line}");
                }
                assert!(!line.starts_with("# heading"), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "every block is closed");
}

/// A line without its code spans.
fn without_spans(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let width = rest[at..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[at + width..];
        let close = inside.match_indices('`').map(|(place, _)| place).find(|place| {
            let run = inside[*place..].chars().take_while(|c| *c == '`').count();
            run == width && (*place == 0 || !inside[..*place].ends_with('`'))
        });
        let close = close.unwrap_or_else(|| panic!("an open code span: {line}"));
        rest = &inside[close + width..];
    }
    out + rest
}

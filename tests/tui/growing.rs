//! A reply that grows by any pieces is drawn as if it had come whole: every split of the replies of the example sessions.

use ptc_workbench::event::{Event, PartKind};
use ptc_workbench::session::Session;
use ptc_workbench::tui::transcript::{Transcript, View};
use ptc_workbench::workbench::example_sessions;

use super::story::{NOW_MS, Story, asked};

/// Bytes of a reply that are tried.
const MOST_BYTES: usize = 300;

/// The replies of the example sessions, each once, and what is hard to cut.
fn fixtures() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![
        "```json\n{\"a\": \"日本 👩‍👩‍👧 e\u{301}\"}\n```\r\nand \u{1b}[31mred\u{1b}[0m\ttab".to_owned(),
        "I count:\n```clojure\n(def rows (tool/orders {:region \"north\"}))\n(count rows".to_owned(),
    ];
    for example in example_sessions() {
        let session = Session::open(&root.join(&example.path)).unwrap();
        let mut text = String::new();
        for envelope in session.events() {
            match envelope.event {
                Event::ReplyPart(part) if part.kind == PartKind::Text => text.push_str(&part.text),
                Event::ReplyEnd(_) if !text.is_empty() => found.push(std::mem::take(&mut text)),
                _ => {}
            }
        }
    }
    for text in &mut found {
        let mut end = MOST_BYTES.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    found.sort();
    found.dedup();
    found
}

fn told(story: Story) -> Transcript {
    let mut transcript = Transcript::default();
    story.events().iter().for_each(|event| transcript.apply(event));
    transcript
}

fn rows(transcript: &mut Transcript) -> Vec<String> {
    transcript.prepare(47, 60, NOW_MS);
    transcript.rows().map(|row| format!("{} {}", row.indent, row.row.plain())).collect()
}

#[test]
fn a_reply_in_pieces_is_drawn_like_the_whole() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 5, "there are replies to try");
    for view in [View::Rich, View::Raw] {
        for text in &fixtures {
            let mut growing = told(asked());
            growing.set_view(view);
            for (at, c) in text.char_indices() {
                let piece = asked().part("r0/t1", 1, &c.to_string()).events().pop().unwrap();
                growing.apply(&piece);
                let mut whole = told(asked().part("r0/t1", 1, &text[..at + c.len_utf8()]));
                whole.set_view(view);
                assert_eq!(rows(&mut growing), rows(&mut whole), "{view:?}, {at} bytes of {text:?}");
            }
        }
    }
}

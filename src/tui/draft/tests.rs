//! Tests of drafts: undo to every earlier text, moves by grapheme, fast pastes.

use proptest::prelude::*;

use super::*;

fn typed(text: &str) -> Draft {
    let mut draft = Draft::new("");
    for c in text.chars() {
        draft.insert(&c.to_string());
    }
    draft
}

#[test]
fn typed_words_are_undone_word_by_word() {
    let mut draft = typed("one two");
    assert!(draft.undo());
    assert_eq!(draft.text(), "one");
    assert!(draft.undo());
    assert_eq!(draft.text(), "");
    assert!(!draft.undo());
    assert!(draft.redo() && draft.redo());
    assert_eq!(draft.text(), "one two");
}

#[test]
fn undo_survives_a_programmatic_change() {
    let mut draft = typed("abc");
    draft.replace_all("something else from an editor");
    assert!(draft.undo());
    assert_eq!(draft.text(), "abc");
    assert!(draft.undo());
    assert_eq!(draft.text(), "");
}

#[test]
fn replacing_all_touches_only_what_differs() {
    let mut draft = Draft::new("größe: alt");
    draft.replace_all("größe: neu");
    assert_eq!(draft.text(), "größe: neu");
    assert_eq!(draft.cursor(), draft.text().len());
    let before = draft.version();
    draft.replace_all("größe: neu");
    assert_eq!(draft.version(), before);
}

#[test]
fn a_selection_is_replaced_by_what_is_typed() {
    let mut draft = Draft::new("hello world");
    draft.go(Motion::WordRight, Reach::Extend, 80);
    assert_eq!(draft.selected(), Some("hello"));
    draft.insert("X");
    assert_eq!(draft.text(), "X world");
    assert!(draft.undo());
    assert_eq!(draft.text(), "hello world");
}

#[test]
fn the_cursor_moves_by_grapheme() {
    let mut draft = Draft::new("e\u{301}👩‍👩‍👧‍👦日");
    draft.go(Motion::Right, Reach::Move, 80);
    assert_eq!(draft.cursor(), "e\u{301}".len());
    draft.go(Motion::Right, Reach::Move, 80);
    assert_eq!(draft.cursor(), "e\u{301}👩‍👩‍👧‍👦".len());
    draft.delete(Motion::Left, 80);
    assert_eq!(draft.text(), "e\u{301}日");
    draft.go(Motion::End, Reach::Move, 80);
    draft.go(Motion::Left, Reach::Move, 80);
    draft.delete(Motion::Left, 80);
    assert_eq!(draft.text(), "日");
}

#[test]
fn moves_up_and_down_follow_wrapped_rows() {
    // Rows at 6 columns: "alpha " / "beta" / "x"
    let mut draft = Draft::new("alpha beta\nx");
    draft.place(2, Reach::Move);
    draft.go(Motion::Down(1), Reach::Move, 6);
    assert_eq!(draft.cursor(), 8);
    draft.go(Motion::Down(1), Reach::Move, 6);
    assert_eq!(draft.cursor(), 12);
    draft.go(Motion::Down(1), Reach::Move, 6);
    assert_eq!(draft.cursor(), 12);
    draft.go(Motion::Up(9), Reach::Move, 6);
    assert_eq!(draft.cursor(), 0);
}

#[test]
fn words_are_found_in_both_directions() {
    let mut draft = Draft::new("one, {{two}} three");
    draft.go(Motion::WordRight, Reach::Move, 80);
    draft.go(Motion::WordRight, Reach::Move, 80);
    assert_eq!(&draft.text()[..draft.cursor()], "one, {{two");
    draft.delete(Motion::WordLeft, 80);
    assert_eq!(draft.text(), "one, {{}} three");
}

#[test]
fn a_paste_normalises_line_ends_and_is_one_step() {
    let mut draft = Draft::new("");
    draft.paste("a\r\nb\rc");
    assert_eq!(draft.text(), "a\nb\nc");
    assert_eq!(draft.line_count(), 3);
    assert!(draft.undo());
    assert_eq!(draft.text(), "");
}

#[test]
fn a_megabyte_is_pasted_and_typed_into() {
    let mut draft = Draft::new("");
    draft.paste(&"0123456789abcde\n".repeat(65_536));
    assert_eq!(draft.line_count(), 65_537);
    draft.place(500_000, Reach::Move);
    for _ in 0..100 {
        draft.insert("x");
    }
    assert_eq!(draft.text().len(), (1 << 20) + 100);
    assert!(draft.undo());
    assert_eq!(draft.text().len(), 1 << 20);
}

#[test]
fn a_stored_draft_comes_back_with_its_log_and_a_broken_one_is_refused() {
    let draft = typed("keep me");
    let kept = serde_json::to_string(&draft).unwrap();
    let mut back = serde_json::from_str::<Draft>(&kept).unwrap().restored().unwrap();
    assert_eq!(back.text(), "keep me");
    assert!(back.undo());
    assert_eq!(back.text(), "keep");
    let broken = kept.replace("\"cursor\":7", "\"cursor\":99");
    assert!(serde_json::from_str::<Draft>(&broken).unwrap().restored().is_none());
    let torn_log = kept.replace("\"text\":\"keep me\"", "\"text\":\"another\"");
    let mut torn = serde_json::from_str::<Draft>(&torn_log).unwrap().restored().unwrap();
    assert!(!torn.undo());
    assert_eq!(torn.text(), "another");
}

#[derive(Debug, Clone)]
enum Act {
    Insert(String),
    Delete(Motion),
    Go(Motion, Reach),
    Place(usize),
    Replace(String),
    Undo,
    Redo,
}

fn act() -> impl Strategy<Value = Act> {
    let text = prop::sample::select(vec!["a", " ", "\n", "日", "e\u{301}", "👩‍👩‍👧‍👦", "\t", "\u{202e}", "word and\nmore"]);
    let motion = prop::sample::select(vec![
        Motion::Left,
        Motion::Right,
        Motion::Up(1),
        Motion::Down(2),
        Motion::WordLeft,
        Motion::WordRight,
        Motion::LineStart,
        Motion::LineEnd,
        Motion::Start,
        Motion::End,
    ]);
    let reach = prop::sample::select(vec![Reach::Move, Reach::Extend]);
    prop_oneof![
        4 => text.clone().prop_map(|text| Act::Insert(text.to_owned())),
        2 => motion.clone().prop_map(Act::Delete),
        3 => (motion, reach).prop_map(|(motion, reach)| Act::Go(motion, reach)),
        1 => (0_usize..40).prop_map(Act::Place),
        1 => text.prop_map(|text| Act::Replace(text.repeat(3))),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
    ]
}

proptest! {
    #[test]
    fn any_edits_keep_the_index_true_and_undo_leads_back_to_the_start(
        acts in prop::collection::vec(act(), 0..60),
        columns in 0_usize..12,
    ) {
        let mut draft = Draft::new("start 日本\n text");
        for act in acts {
            match act {
                Act::Insert(text) => draft.insert(&text),
                Act::Delete(motion) => draft.delete(motion, columns),
                Act::Go(motion, reach) => draft.go(motion, reach, columns),
                Act::Place(at) => draft.place(at, Reach::Move),
                Act::Replace(text) => draft.replace_all(&text),
                Act::Undo => _ = draft.undo(),
                Act::Redo => _ = draft.redo(),
            }
            prop_assert!(draft.text().is_char_boundary(draft.cursor()));
            let lines: Vec<&str> = draft.text().split('\n').collect();
            prop_assert_eq!(draft.line_count(), lines.len());
            for (number, line) in lines.iter().enumerate() {
                prop_assert_eq!(draft.line(number), *line);
            }
        }
        let end = draft.text().to_owned();
        let mut steps = 0;
        while draft.undo() {
            steps += 1;
        }
        prop_assert_eq!(draft.text(), "start 日本\n text");
        for _ in 0..steps {
            prop_assert!(draft.redo());
        }
        prop_assert_eq!(draft.text(), end);
    }
}

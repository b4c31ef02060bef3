//! Tests of lexemes, colours and brackets of programs.

use proptest::prelude::*;

use super::*;
use crate::text::TokenKind::{self, *};

fn coloured(source: &str) -> Vec<(&str, TokenKind)> {
    lisp(source).into_iter().map(|(span, kind)| (span.text(source), kind)).filter(|(_, kind)| *kind != Plain).collect()
}

#[test]
fn programs_are_coloured() {
    let source = "(map #(f % nil) [:a -1.5 \"s\" #\"r\" \\a 'q #'v]) ; end";
    assert_eq!(
        coloured(source),
        [
            ("(", Bracket(1)),
            ("map", Symbol),
            ("#(", Bracket(2)),
            ("f", Symbol),
            ("%", Placeholder),
            ("nil", Literal),
            (")", Bracket(2)),
            ("[", Bracket(2)),
            (":a", Keyword),
            ("-1.5", Number),
            ("\"s\"", String),
            ("#\"r\"", Regex),
            ("\\a", Char),
            ("'q", Quote),
            ("#'v", Quote),
            ("]", Bracket(2)),
            (")", Bracket(1)),
            ("; end", Comment),
        ]
    );
}

#[test]
fn words_and_prefixes_are_coloured() {
    assert_eq!(
        coloured("[:order/id ::id 0x1F 1/2 @a '(b)]"),
        [
            ("[", Bracket(1)),
            (":order/id", Keyword),
            ("::id", Keyword),
            ("0x1F", Number),
            ("1/2", Number),
            ("@", Quote),
            ("a", Symbol),
            ("'", Quote),
            ("(", Bracket(2)),
            ("b", Symbol),
            (")", Bracket(2)),
            ("]", Bracket(1)),
        ]
    );
    assert!(Balance::of("(f ::id @a)").is_whole());
}

#[test]
fn broken_programs_are_marked_where_they_are_broken() {
    assert_eq!(
        coloured("(a] `b \"op\nen"),
        [("(", Bracket(1)), ("a", Symbol), ("]", Error), ("`", Error), ("b", Symbol), ("\"op\nen", String)]
    );
}

#[test]
fn brackets_find_their_partners() {
    let source = "(a #{\")\" \\) [b]} ; (\n) )";
    let pair = |at| matching(source, at).map(|(open, close)| (open.text(source), open.start, close.start));
    assert_eq!(pair(0), Some(("(", 0, 21)));
    assert_eq!(pair(21), Some(("(", 0, 21)));
    assert_eq!(pair(3), Some(("#{", 3, 15)));
    assert_eq!(pair(4), Some(("#{", 3, 15)));
    assert_eq!(pair(12), Some(("[", 12, 14)));
    assert_eq!(pair(14), Some(("[", 12, 14)));
    for alone in [1, 6, 10, 19, 23, 99] {
        assert_eq!(pair(alone), None, "{alone}");
    }
    assert_eq!(matching("(a]", 0), None);
}

#[test]
fn open_input_is_distinguished_from_complete_and_invalid_input() {
    let state = |source: &str| {
        let balance = Balance::of(source);
        (balance.is_open(), balance.is_whole())
    };
    for open in ["(", "(a [1", "\"a", "(a #\"b", "(f ; )", "#(", "(f \\)"] {
        assert_eq!(state(open), (true, false), "{open}");
    }
    for whole in ["", "(a)", "(a))", ") 1", "; (", "\"(\"", "\\("] {
        assert_eq!(state(whole), (false, true), "{whole}");
    }
    for broken in ["(a]", "(a ]", "(@", "(a] \"b", "é"] {
        assert_eq!(state(broken), (false, false), "{broken}");
    }
    assert_eq!(Balance::of("(a [").open.len(), 2);
}

proptest! {
    #[test]
    fn lexemes_cover_any_text_in_order(
        text in prop_oneof![any::<std::string::String>(), "[\\[\\](){}:,;\"'\\\\/*!#^%_@a1.eé \n\u{feff}-]{0,60}"],
    ) {
        let mut end = 0;
        for (span, _) in Lexemes::new(&text) {
            prop_assert_eq!(span.start, end);
            prop_assert!(span.end > span.start && text.is_char_boundary(span.end));
            end = span.end;
        }
        prop_assert_eq!(end, text.len());
    }
}

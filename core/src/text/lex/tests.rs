//! Tests of the lexers: tables of small texts, and the coverage of any text by tokens.

use proptest::prelude::*;

use super::TokenKind::*;
use super::*;

/// The tokens with their text, without white space.
fn read(lex: fn(&str) -> Vec<Token>, source: &str) -> Vec<(&str, TokenKind)> {
    lex(source)
        .into_iter()
        .map(|(span, kind)| (span.text(source), kind))
        .filter(|(text, _)| !text.trim().is_empty())
        .collect()
}

#[test]
fn json_distinguishes_keys_from_strings() {
    assert_eq!(
        read(json, r#"{"a\"b" : "x", "n": [-1.5e3, true, null]} // end"#),
        [
            ("{", Punct),
            (r#""a\"b""#, Key),
            (":", Punct),
            (r#""x""#, String),
            (",", Punct),
            (r#""n""#, Key),
            (":", Punct),
            ("[", Punct),
            ("-1.5e3", Number),
            (",", Punct),
            ("true", Literal),
            (",", Punct),
            ("null", Literal),
            ("]", Punct),
            ("}", Punct),
            ("// end", Comment),
        ]
    );
}

#[test]
fn broken_json_is_marked_where_it_is_broken() {
    assert_eq!(
        read(json, "[None, 1.2.3, 'x"),
        [("[", Punct), ("None", Error), (",", Punct), ("1.2.3", Error), (",", Punct), ("'x", Error)]
    );
    assert_eq!(read(json, "\"open\n1"), [("\"open", Error), ("1", Number)]);
    assert_eq!(read(json, "{\"still wri"), [("{", Punct), ("\"still wri", String)]);
    assert_eq!(read(json, "/* a\nb */ / /* c"), [("/* a\nb */", Comment), ("/", Error), ("/* c", Comment)]);
}

#[test]
fn signatures_distinguish_names_from_types() {
    assert_eq!(
        read(signature, r#"(city-name :string, n :int?) -> {s :enum[a "b"], t [:nope] "text"}"#),
        [
            ("(", Punct),
            ("city-name", Name),
            (":string", Type),
            (",", Punct),
            ("n", Name),
            (":int", Type),
            ("?", Punct),
            (")", Punct),
            ("->", Punct),
            ("{", Punct),
            ("s", Name),
            (":enum", Type),
            ("[", Punct),
            ("a", Literal),
            (r#""b""#, String),
            ("]", Punct),
            (",", Punct),
            ("t", Name),
            ("[", Punct),
            (":nope", Error),
            ("]", Punct),
            (r#""text""#, String),
            ("}", Punct),
        ]
    );
}

#[test]
fn templates_distinguish_tags_from_text() {
    assert_eq!(
        read(template, "Hi {{ name }}, {{#items}}{{.}}{{/items}}{{! note }} } {"),
        [
            ("Hi ", Plain),
            ("{{", Tag),
            ("name", Name),
            ("}}", Tag),
            (", ", Plain),
            ("{{#", Tag),
            ("items", Name),
            ("}}", Tag),
            ("{{", Tag),
            (".", Name),
            ("}}", Tag),
            ("{{/", Tag),
            ("items", Name),
            ("}}", Tag),
            ("{{! note }}", Comment),
            (" } {", Plain),
        ]
    );
    assert_eq!(
        read(template, "{{a {{b}} {{c\nd"),
        [("{{a ", Error), ("{{", Tag), ("b", Name), ("}}", Tag), ("{{c", Error), ("\nd", Plain)]
    );
    assert_eq!(read(template, "{{}}{{>p}}"), [("{{", Tag), ("}}", Error), ("{{", Tag), (">p", Error), ("}}", Tag)]);
}

proptest! {
    #[test]
    fn tokens_cover_any_text_in_order(
        text in prop_oneof![any::<std::string::String>(), "[\\[\\](){}:,;\"\'\\\\/*!#^a1.é \n\u{a0}-]{0,40}"],
    ) {
        for lex in [json, signature, template, lisp::lisp] {
            let mut end = 0;
            for (span, _) in lex(&text) {
                prop_assert_eq!(span.start, end);
                prop_assert!(span.end > span.start && text.is_char_boundary(span.end));
                end = span.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}

//! Tests of sanitizing: tables of attacks, properties of texts with many control characters.

use proptest::prelude::*;

use super::*;

fn multi(text: &str) -> String {
    SafeText::multi_line(text).into_string()
}

#[test]
fn terminal_sequences_vanish_from_rich_text() {
    let cases = [
        ("plain", "plain"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{9b}31mred\u{9b}0m", "red"),
        ("\u{1b}[?25l\u{1b}[1;2 qx", "x"),
        ("a\u{1b}]0;title\u{7}b", "ab"),
        ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
        ("a\u{9d}52;c;AAAA\u{9c}b", "ab"),
        ("a\u{1b}Pq#0\u{1b}\\b", "ab"),
        ("a\u{90}q#0\u{9c}b", "ab"),
        ("a\u{1b}_app\u{1b}\\b\u{1b}^pm\u{1b}\\c\u{1b}Xsos\u{1b}\\d", "abcd"),
        ("a\u{9f}app\u{9c}b\u{9e}pm\u{9c}c\u{98}sos\u{9c}d", "abcd"),
        ("a\u{1b}(Bb\u{1b}cc\u{1b}7d", "abcd"),
        ("a\u{1b}P one bell is \u{7} part of it \u{1b}\\b", "ab"),
    ];
    for (text, expected) in cases {
        assert_eq!(multi(text), expected, "{text:?}");
    }
}

#[test]
fn unfinished_sequences_lose_their_introducer_and_hide_no_text() {
    let cases = [
        ("a\u{1b}", "a"),
        ("a\u{1b}é", "aé"),
        ("a\u{1b}[31", "a"),
        ("a\u{1b}[31é", "aé"),
        ("a\u{1b}]0;title", "a0;title"),
        ("a\u{1b}]0;title\nb\u{7}", "a0;title\nb"),
        ("a\u{1b}P rest", "a rest"),
        ("a\u{1b}]0;one\u{1b}[31mtwo", "atwo"),
        ("a\u{1b}]0;one\u{18}two", "atwo"),
        ("a\u{1b}\u{1b}[1mb", "ab"),
    ];
    for (text, expected) in cases {
        assert_eq!(multi(text), expected, "{text:?}");
    }
}

#[test]
fn line_breaks_and_tabs_are_normalised() {
    assert_eq!(multi("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f\u{b}g\u{c}h"), "a\nb\nc\nd\ne\nf\ng\nh");
    assert_eq!(multi("a\tb\n\tc\né\td"), "a   b\n    c\né   d");
    assert_eq!(SafeText::single_line("a\r\nb\tc\n\nd").as_str(), "a b c  d");
}

#[test]
fn hidden_and_reordering_characters_vanish() {
    let hidden =
        ['\u{202e}', '\u{2066}', '\u{200b}', '\u{200e}', '\u{feff}', '\u{ad}', '\u{e0041}', '\u{e0100}', '\u{2060}'];
    for c in hidden {
        assert_eq!(multi(&format!("a{c}b")), "ab", "{c:?}");
        assert_eq!(SafeText::escape_controls(&format!("a{c}b")).as_str(), format!("a·U+{:04X}·b", c as u32));
    }
}

#[test]
fn emoji_keep_their_glue_and_nothing_else_has_any() {
    for emoji in
        ["👩\u{200d}👧", "❤\u{fe0f}", "👩\u{200d}❤\u{fe0f}\u{200d}👩", "1\u{fe0f}\u{20e3}", "👍🏽\u{200d}♂\u{fe0f}"]
    {
        assert_eq!(multi(emoji), emoji);
        assert_eq!(SafeText::escape_controls(emoji).as_str(), emoji);
    }
    assert_eq!(multi("a\u{200d}b 👩\u{200d}b a\u{fe0f} ❤\u{fe0f}\u{fe0f}"), "ab 👩b a ❤\u{fe0f}");
}

#[test]
fn raw_views_show_controls_as_pictures() {
    assert_eq!(
        SafeText::escape_controls("\u{1b}[31mred\ta\r\n\0\u{7f}\u{9b}1m\u{85}").as_str(),
        "␛[31mred␉a␍\n␀␡·U+009B·1m·U+0085·"
    );
}

#[test]
fn safe_texts_combine() {
    let mut text = SafeText::literal("turn ");
    text.push(&SafeText::single_line("\u{7}1"));
    assert_eq!(text.as_str(), "turn 1");
    let parts = [SafeText::literal("a"), SafeText::multi_line("b\nc")];
    let joined = SafeText::join(parts, ", ");
    assert_eq!(joined.as_str(), "a, b\nc");
    assert_eq!(joined.lines().map(SafeText::into_string).collect::<Vec<_>>(), ["a, b", "c"]);
    assert_eq!(joined.slice(3..4).as_str(), "b");
    assert_eq!(joined.slice(3..400).as_str(), "");
    assert_eq!(format!("{:>3}", SafeText::literal("x")), "  x");
}

/// Texts with many special characters.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ;0-9\\[\\]\\\\(]{0,4}".boxed(),
        3 => prop::sample::select(vec![
            "\u{1b}", "\u{1b}[", "\u{1b}]", "\u{1b}P", "\u{1b}\\", "\u{7}", "\u{18}", "\u{9b}", "\u{9d}", "\u{9c}", "\u{90}", "\n", "\r",
            "\r\n", "\t", "\u{202e}", "\u{200b}", "\u{200d}", "\u{fe0f}", "👩", "❤", "1", "\u{20e3}", "\u{2028}", "\u{85}", "日", "e\u{301}",
            "·U+202E·", "␛",
        ]).prop_map(str::to_owned).boxed(),
        1 => any::<char>().prop_map(String::from).boxed(),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_control_but_the_line_feed_survives(text in nasty()) {
        let all = [SafeText::multi_line(&text), SafeText::escape_controls(&text)];
        for safe in all {
            prop_assert!(safe.chars().all(|c| c == '\n' || !c.is_control()), "{safe:?}");
            let hidden = safe.contains(['\u{202e}', '\u{200b}', '\u{2028}', '\u{feff}']);
            prop_assert!(!hidden, "{safe:?}");
        }
        prop_assert!(!SafeText::single_line(&text).contains(char::is_control));
    }

    #[test]
    fn sanitising_twice_is_sanitising_once(text in nasty()) {
        for clean in [SafeText::multi_line, SafeText::single_line, SafeText::escape_controls] {
            let once = clean(&text);
            prop_assert_eq!(clean(&once), once);
        }
    }

    #[test]
    fn the_visible_form_loses_nothing(text in nasty()) {
        let shown = SafeText::escape_controls(&text).into_string();
        let mut rest = shown.as_str();
        for c in text.chars() {
            let mut picture = String::new();
            chars::push_picture(&mut picture, c);
            let after = rest.strip_prefix(c).or_else(|| rest.strip_prefix(picture.as_str()));
            prop_assert!(after.is_some(), "{c:?} is not shown in {shown:?}");
            rest = after.unwrap_or_default();
        }
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn harmless_text_is_not_changed(text in "[ -~äßé日本語\n]{0,60}") {
        prop_assert_eq!(SafeText::multi_line(&text).into_string(), text.clone());
        prop_assert_eq!(SafeText::escape_controls(&text).into_string(), text);
    }
}

//! Masks in texts, streams and bytes.

use super::*;

fn scrub() -> Scrub {
    Scrub::new([Secret::new("sk-12345678"), Secret::new("sk-1234567890"), Secret::new("none")])
}

#[test]
fn a_secret_is_masked_wherever_the_text_was_cut() {
    let text = "key sk-12345678, twice sk-1234567890. none sk-123";
    let expected = "key [secret], twice [secret]. none sk-123";
    assert_eq!(scrub().text(text), expected);
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let mut stream = Stream::default();
            let mut shown = String::new();
            for piece in [&text[..first], &text[first..second], &text[second..]] {
                shown += &stream.push(&scrub(), piece).text;
            }
            shown += &stream.finish(&scrub()).text;
            assert!(!shown.contains("sk-12345678"), "{shown} cut at {first} and {second}");
            assert!(shown.starts_with("key [secret]") && shown.ends_with("none sk-123"), "{shown}");
        }
    }
}

#[test]
fn braces_that_are_no_escape_hide_nothing() {
    for before in [r"\u{}", r"\u{XXXX} ", r"\\u{${h}}", r"\u{{:x}} ", r"\u{123456789} "] {
        let text = format!("{before}sk-12345678 end");
        assert_eq!(scrub().text(&text), format!("{before}[secret] end"));
        assert_eq!(Stream::default().push(&scrub(), &text).text, format!("{before}[secret] end"));
    }
}

#[test]
fn bytes_are_blotted_in_place() {
    let mut bytes = br"a sk-12345678 b \u0073k-12345678".to_vec();
    assert_eq!(scrub().blot(&mut bytes), 2);
    assert_eq!(bytes, b"a *********** b ****************");
}

#[test]
fn bytes_are_cut_where_no_secret_is() {
    let scrub = Scrub::new([Secret::new("sk-12345678")]);
    // The last place within what could become a secret, or within one, is none.
    assert_eq!(scrub.uncut(b"some words, and sk-1234", [5, 11, 18].into_iter()), (11, 0));
    assert_eq!(scrub.uncut(b"a sk-12345678 b c", [2, 6, 15].into_iter()), (15, 0));
    assert_eq!(scrub.uncut(b"a sk-12345678 b c", [2, 6].into_iter()), (2, 1));
    assert_eq!(scrub.uncut(b"sk-12345678", [4].into_iter()), (0, 1));
    assert_eq!(Scrub::default().uncut(b"sk-12345678", [4].into_iter()), (11, 0));
}

#[test]
fn a_secret_in_pieces_of_bytes_is_found_and_its_start_is_known() {
    let scrub = scrub();
    let mut scan = ByteScan::default();
    assert!(!scan.push(&scrub, b"some words, sk-123"));
    assert!(scan.is_growing());
    assert!(!scan.push(&scrub, b"99 and more words."));
    assert!(!scan.is_growing());
    assert!(!scan.push(&scrub, b"sk-1234"));
    assert!(scan.push(&scrub, b"5678 "));
}

#[test]
fn secrets_that_overlap_are_masked_as_one() {
    let scrub = Scrub::new([Secret::new("abcdefgh12"), Secret::new("gh12345678")]);
    assert_eq!(scrub.text("xabcdefgh12345678y"), "x[secret]y");
}

#[test]
fn a_secret_that_a_json_text_spells_in_escapes_is_masked_however_it_was_cut() {
    let text = r#"{"a":"sk-1234\u00356\u00378"} \u0073k"#;
    for cut in 0..=text.len() {
        let mut stream = Stream::default();
        let mut shown = stream.push(&scrub(), &text[..cut]).text;
        shown += &stream.push(&scrub(), &text[cut..]).text;
        shown += &stream.finish(&scrub()).text;
        assert_eq!(shown, r#"{"a":"[secret]"} \u0073k"#, "cut at {cut}");
    }
}

/// A key in the form that services issue.
const KEY: &str = "sk-live-0a1b2c3d4e5f6a7b8c9d";

/// Every form of a secret that is recognised.
fn forms(key: &str) -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    let joined = |by: &str| key.chars().map(|c| c.to_string()).collect::<Vec<_>>().join(by);
    let each = |write: &dyn Fn(u8) -> String| key.bytes().map(write).collect::<String>();
    let mut forms = vec![
        key.to_owned(),
        key.chars().rev().collect(),
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        each(&|byte| format!("{byte:02x} ")),
        each(&|byte| format!("\\x{byte:02x}")),
        each(&|byte| format!("\\u{byte:04x}")),
        each(&|byte| format!("%{byte:02X}")),
        each(&|byte| format!("&#{byte};")),
    ];
    for c in [
        "\u{200b}", "\u{feff}", "\u{ad}", "\u{2060}", "\u{fe0f}", "\u{202e}", "\u{3164}", "\u{7f}", "\u{9b}", "\u{1b}",
        "\n", " ", "-",
    ] {
        forms.push(joined(c));
    }
    forms.push(joined("\\u200b"));
    forms.push(joined("%E2%80%8B"));
    for before in ["", "x", "xy", "xyz"] {
        let bytes = format!("{before}{key} and more");
        forms.extend([STANDARD.encode(&bytes), STANDARD_NO_PAD.encode(&bytes)]);
        forms.extend([URL_SAFE.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]);
        let lines: Vec<String> = STANDARD
            .encode(&bytes)
            .as_bytes()
            .chunks(10)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        forms.push(lines.join("\r\n"));
    }
    let (first, second) = key.split_at(key.len() / 2);
    forms.push(format!("{second} and before it {first}"));
    forms
}

/// Returns whether a text contains most of a secret, as any reader decodes it.
fn holds(text: &str, form: &str) -> bool {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let (text, form) = (letters(text), letters(form));
    form.as_bytes().windows(16).any(|part| text.as_bytes().windows(16).any(|other| part == other))
}

#[test]
fn a_secret_is_recognised_in_every_form_however_it_was_cut() {
    for key in [KEY, "ghp_Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo", "_9f8e7d6c5b4a-3210-QWERTY89_"] {
        let scrub = Scrub::new([Secret::new(key)]);
        for form in forms(key) {
            let text = format!("start {form} end");
            assert!(!holds(&scrub.text(&text), &form), "{text:?}: {:?}", scrub.text(&text));
            for length in [1, 2, 3, 7, 11] {
                let (mut stream, mut shown) = (Stream::default(), String::new());
                let letters: Vec<char> = text.chars().collect();
                for piece in letters.chunks(length) {
                    shown += &stream.push(&scrub, &piece.iter().collect::<String>()).text;
                }
                shown += &stream.finish(&scrub).text;
                assert!(!holds(&shown, &form), "{text:?} in pieces of {length}: {shown:?}");
                assert!(shown.starts_with("start ") && shown.ends_with(" end"), "{shown:?}");
            }
            let mut bytes = text.clone().into_bytes();
            scrub.blot(&mut bytes);
            assert!(!holds(&String::from_utf8_lossy(&bytes), &form), "{text:?}");
        }
    }
}

#[test]
fn a_secret_that_adjacent_texts_of_data_make_together_is_masked() {
    let scrub = Scrub::new([Secret::new(KEY)]);
    let data = json::parse(r#"{"a":["it is","sk-live-","0a1b2c3d"],"b":{"c":"4e5f6a7b8c9d","d":"plain"}}"#).unwrap();
    let clean = scrub.json(&data).unwrap().to_text();
    assert_eq!(clean, r#"{"a":["it is","[secret]-","[secret]"],"b":{"c":"[secret]","d":"plain"}}"#);
    let named = json::parse(&format!(r#"{{"{KEY}":1}}"#)).unwrap();
    assert_eq!(scrub.json(&named).unwrap().to_text(), r#"{"[secret]":1}"#);
    assert_eq!(scrub.json(&json::parse(r#"{"a":["sk-live"]}"#).unwrap()), None);
}

#[test]
fn words_and_other_keys_stay() {
    let scrub = Scrub::new([Secret::new(KEY), Secret::new("correct horse"), Secret::new("/home/user/.ssh/id_ed25519")]);
    for text in [
        "keys begin with sk-live-",
        "sk-live-ffffffffffffffffffff",
        "correct, horse",
        "/home/user/.ssh/config and /home/user",
        "0a1b2c3d",
        "a long text without any secret, 1234567890 and 0x0a1b2c",
    ] {
        assert_eq!(scrub.text(text), text);
    }
    assert_eq!(scrub.text("it is correct horse"), "it is [secret]");
}

#[test]
fn a_stream_holds_back_only_what_could_become_a_secret() {
    let scrub = Scrub::new([Secret::new(KEY)]);
    let mut stream = Stream::default();
    assert_eq!(stream.push(&scrub, "Hello wor").text, "Hello wor");
    assert_eq!(stream.push(&scrub, "ld, sk-").text, "ld, ");
    assert_eq!(stream.push(&scrub, &"\u{200b}".repeat(HELD_MAX)).text.chars().count(), HELD_MAX + 3, "not for ever");
    assert_eq!(stream.finish(&scrub), CleanPiece::default());
}

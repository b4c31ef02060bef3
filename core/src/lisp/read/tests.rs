//! Tests of the reader: tables of texts and their forms, and the suite's cases of reading.

use proptest::prelude::*;

use super::*;
use crate::reasons::Reason;

/// Forms in a compact notation: `(f x)` for lists, `i1 f1.5 s"…" k:a` for literals, `#"…"`, `'x`, `#'x`, `#( … )`.
fn shown(forms: &[Form]) -> String {
    forms.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn one(form: &Form) -> String {
    match &form.shape {
        Shape::Literal(value) => {
            let kind = match value {
                Value::Int(_) => "i",
                Value::Big(_) => "I",
                Value::Float(_) => "f",
                _ => "",
            };
            format!("{kind}{value}")
        }
        Shape::Regex(source) => format!("#/{source}/"),
        Shape::Symbol(name) => name.name().to_owned(),
        Shape::Quoted(name) => format!("'{}", name.name()),
        Shape::Var(name) => format!("#'{}", name.name()),
        Shape::List(forms) => format!("({})", shown(forms)),
        Shape::Vector(forms) => format!("[{}]", shown(forms)),
        Shape::Map(forms) => format!("{{{}}}", shown(forms)),
        Shape::Set(forms) => format!("#{{{}}}", shown(forms)),
        Shape::Short(forms) => format!("#({})", shown(forms)),
    }
}

fn reads(source: &str) -> Result<Vec<Form>, Error> {
    read_reference(source, Budget::default())
}

/// Reads in the dialect `reference`.
fn read_reference(source: &str, budget: Budget) -> Result<Vec<Form>, Error> {
    read_watched(source, budget, Dialect::Reference, &Watch::none())
}

#[test]
fn texts_read_as_forms() {
    let table = [
        ("", ""),
        (" ,\t\r\n ; only a comment", ""),
        ("\u{feff}1", "i1"),
        ("(+ 1 -2)", "(+ i1 i-2)"),
        ("[1,2,,3]", "[i1 i2 i3]"),
        ("{:a 1, \"b\" [2]} #{} #{:x} ()", "{:a i1 \"b\" [i2]} #{} #{:x} ()"),
        ("#(+ % %2 %&)", "#(+ % %2 %&)"),
        ("nil true false nil? nilx true' false1", "nil true false nil? nilx true' false1"),
        ("017 -0 -0.0 1.50 1E5 1e-2 -2.5e+3", "i17 i0 f-0.0 f1.5 f100000.0 f0.01 f-2500.0"),
        ("9223372036854775807 9223372036854775808", "i9223372036854775807 I9223372036854775808"),
        ("-9223372036854775808 -9223372036854775809", "i-9223372036854775808 I-9223372036854775809"),
        ("##Inf ##-Inf ##NaN", "f##Inf f##-Inf f##NaN"),
        ("1/2 0x1F 1N 1.5M", "i1 /2 i0 x1F i1 N f1.5 M"),
        ("1. 1.x .5 1e 1.5e- 1.2.3", "i1 . i1 .x .5 i1 e f1.5 e- f1.2 .3"),
        ("+5 - -a --1 -> a-1 a.b/c-d", "+5 - -a --1 -> a-1 a.b/c-d"),
        (":a :a-b? :a/b :x.y :1", ":a :a-b? :a /b :x .y :1"),
        (r#""a\nb\t\r\"\\" "\d\u00e9\'""#, r#""a\nb\t\r\"\\" "\\d\\u00e9\\'""#),
        ("\"two\nlines\" \"; no comment\" \"a\"b", "\"two\\nlines\" \"; no comment\" \"a\" b"),
        (r#"#"\d+\.\\\"[(]" #"a;b""#, r#"#/\d+\.\"[(]/ #/a;b/"#),
        (r"\a \newline \space \tab \( \; \λ \\", r#""a" "\n" " " "\t" "(" ";" "λ" "\\""#),
        (r#"[\"]"#, r#"["\""]"#),
        (r"\u0041 \foo", r#""u" i41 "f" oo"#),
        ("'a 'a/b #'x +' (+' 1) [']", "!a quote must directly precede"),
        ("'a 'a/b #'x (+' 1)", "'a 'a/b #'x (+' i1)"),
        ("(+ 1 2)) ] } 3", "(+ i1 i2) i3"),
        (")", ""),
        ("(a ; )\n b)", "(a b)"),
    ];
    for (source, expected) in table {
        match reads(source) {
            Ok(forms) => assert_eq!(shown(&forms), expected, "{source}"),
            Err(error) => assert!(
                expected.strip_prefix('!').is_some_and(|start| error.problem.starts_with(start)),
                "{source}: {}",
                error.message()
            ),
        }
    }
}

/// Source, the text at the error's span, and a part of the message.
#[test]
fn errors_have_messages_and_spans() {
    let table = [
        ("(", "(", "1 closing parenthesis `)` is missing: the `(` of line 1, column 1 is never closed"),
        (
            "(a [b\n {c",
            "{",
            "1 closing parenthesis `)` and 1 closing bracket `]` and 1 closing brace `}` are missing: the `{` of line 2, column 2 is never closed, nor is the `(` of line 1, column 1",
        ),
        ("#{1 #(f", "#(", "1 closing parenthesis `)` and 1 closing brace `}` are missing"),
        ("((", "(", "2 closing parentheses `)` are missing"),
        (")(", "(", "1 closing parenthesis"),
        ("(+ 1\n  2]", "]", "found `]` where `)` must close the `(` of line 1, column 1"),
        ("(let [x 1} x)", "}", "found `}` where `]` must close the `[` of line 1, column 6"),
        ("(+ #{1 2)", ")", "must close the `#{` of"),
        ("{:a 1 :b}", "{:a 1 :b}", "got 3 forms between { and }"),
        ("{1}", "{1}", "got 1 form between"),
        ("(f \"abc)", "\"", "the string that begins here has no closing quote"),
        ("(f #\"abc)", "#", "the regular expression that begins here"),
        ("(f #_ x)", "#_", "(comment …)"),
        ("@x", "@", "Write the name alone"),
        ("^:k x", "^", "metadata"),
        ("`a", "`", "macros"),
        ("~x", "~", "macros"),
        ("::a", ":", "after one colon"),
        ("(f :)", ":", "after one colon"),
        ("{\"a\": 1}", ":", "no colon between key and value: {\"a\" 1}"),
        ("{\"a\" : 1}", ":", "no colon between key and value"),
        ("{a: 1}", ":", "no colon between key and value"),
        ("x \\", "\\", "after a backslash"),
        ("#!x", "#", "must begin one of"),
        ("##Foo", "#", "must begin one of"),
        ("'(1 2)", "'(", "only symbols"),
        ("'[1]", "'[", "only symbols"),
        ("(f +'(1))", "'(", "only symbols"),
        ("''a", "'", "directly precede a symbol"),
        ("(f ':a)", "'", "directly precede a symbol"),
        ("(f 'text')", "", ""),
        ("(f '5)", "'", "directly precede a symbol"),
        ("(let [é 1] é)", "é", "ASCII letters only"),
        ("(f “x”)", "“", "typographic"),
        ("(f\u{a0}1)", "\u{a0}", "U+00A0"),
        ("$x", "$", "does not begin a form"),
        ("1e400", "1e400", "##Inf"),
    ];
    for (source, place, message) in table {
        match reads(source) {
            Ok(_) => assert_eq!(message, "", "{source}"),
            Err(error) => {
                assert_eq!(error.reason, Reason::ParseError, "{source}");
                assert_eq!(error.span.unwrap_or_default().text(source), place, "{source}");
                assert!(error.message().contains(message), "{source}: {}", error.message());
            }
        }
    }
}

#[test]
fn places_cover_forms_with_their_brackets() {
    let source = " (a #{:b}) 'c";
    let forms = reads(source).unwrap_or_default();
    let texts: Vec<_> = forms.iter().map(|form| form.span.text(source)).collect();
    assert_eq!(texts, ["(a #{:b})", "'c"]);
    let inner = forms[0].list().unwrap_or_default();
    assert_eq!(inner[1].span.text(source), "#{:b}");
}

#[test]
fn the_limits_are_exact() {
    let reason = |source: &str, budget| read_reference(source, budget).map(|_| ()).map_err(|error| error.reason);
    let nested = |open: &str, close: &str, levels| open.repeat(levels) + &close.repeat(levels);
    for (open, close) in [("(", ")"), ("[", "]"), ("#{", "}"), ("#(", ")")] {
        assert_eq!(reason(&nested(open, close, 64), Budget::default()), Ok(()));
        assert_eq!(reason(&nested(open, close, 65), Budget::default()), Ok(()), "nothing is at level 65");
        assert_eq!(reason(&nested(open, close, 66), Budget::default()), Err(Reason::ParseError));
        let full = |levels| open.repeat(levels) + "1" + &close.repeat(levels);
        assert_eq!(reason(&full(64), Budget::default()), Ok(()));
        assert_eq!(reason(&full(65), Budget::default()), Err(Reason::ParseError));
    }
    assert_eq!(reason(&"9".repeat(100), Budget::default()), Ok(()));
    assert_eq!(reason(&format!("-{}", "9".repeat(100)), Budget::default()), Ok(()));
    assert_eq!(reason(&"9".repeat(101), Budget::default()), Err(Reason::ParseError));
    assert_eq!(reason(&"0".repeat(101), Budget::default()), Err(Reason::ParseError));
    let bytes = |bytes| Budget { bytes, ..Budget::default() };
    assert_eq!(reason("(+ 1 2)", bytes(7)), Ok(()));
    assert_eq!(reason("(+ 1 2)", bytes(6)), Err(Reason::ProgramTooLarge));
    assert_eq!(reason("((((", bytes(3)), Err(Reason::ProgramTooLarge), "size comes before all else");
    let symbols = |symbols| Budget { symbols, ..Budget::default() };
    assert_eq!(reason("(f :a a 'f #'a :a 1 nil \"x\")", symbols(3)), Ok(()), "f, :a and a");
    assert_eq!(reason("(f :a a 'f #'a :a 1 nil \"x\")", symbols(2)), Err(Reason::SymbolLimitExceeded));
    assert_eq!(reason("(f :a a 'f (", symbols(2)), Err(Reason::ParseError), "reading comes before counting");
    assert_eq!(reason("a:b:c", symbols(2)), Err(Reason::SymbolLimitExceeded));
}

#[test]
fn names_beyond_the_limit_are_not_interned() {
    let source = ":beyond-one :beyond-two :beyond-three :beyond-four";
    assert!(read(source, Budget { symbols: 2, ..Budget::default() }).is_err());
    assert_eq!(crate::value::Keyword::known("beyond-four"), None);
}

#[test]
fn the_default_dialect_reads_adjacent_atoms_as_one_token_and_prefixes() {
    let table = [
        ("1N -2N +5 +1.5 1.5M 10M", "i1 i-2 i5 f1.5 f1.5 i10"),
        ("1/2 6/3 -1/4 0x1F -0xf 2r101 36rZZ 1.", "f0.5 i2 f-0.25 i31 i-15 i5 i1295 f1.0"),
        (":a/b :a.b/c :a:b ::a :1.5", ":a/b :a.b/c :a:b :a :1.5"),
        ("a:b +a + +' -> a/b", "a:b +a + +' -> a/b"),
        ("\\u0041 \\u \\newline", "\"A\" \"u\" \"\\n\""),
        (
            "@a @@b '(1 a) '[x] 'x",
            "(clojure.core/deref a) (clojure.core/deref (clojure.core/deref b)) (quote (i1 a)) (quote [x]) 'x",
        ),
        ("^:k x ^{:a 1} [1] ^String y #_ #_ 1 2 3", "x [i1] y i3"),
        ("(a #_b) #_(c) d", "(a) d"),
        ("@#'a '#{1}", "(clojure.core/deref #'a) (quote #{i1})"),
    ];
    for (source, expected) in table {
        let forms = read(source, Budget::default()).unwrap_or_else(|error| panic!("{source}: {}", error.message()));
        assert_eq!(shown(&forms), expected, "{source}");
    }
    for prefix in ["'", "@", "#_", "^", "'(", "@("] {
        let source = format!("{}x", prefix.repeat(100_000));
        assert_eq!(read(&source, Budget::default()).expect_err(prefix).reason, Reason::ParseError, "{prefix}");
    }
    for source in ["2x", "0x", "1/0", "1/x", "40r1", "1.5.2", "#_", "(@)", "[#_]", "{:a #_ 1}", "\\u12"] {
        let error = read(source, Budget::default()).expect_err(source);
        assert_eq!(error.reason, Reason::ParseError, "{source}");
    }
}

#[test]
fn the_suite_reads_or_fails_as_recorded() {
    for line in include_str!("suite.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let mut budget = Budget::default();
        if let Some(bytes) = case["bytes"].as_u64() {
            budget.bytes = usize::try_from(bytes).unwrap_or_default();
        }
        let reason = read_reference(text("program"), budget).map_or_else(|error| error.reason.name(), |_| "");
        assert_eq!(reason, text("reason"), "{line}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in prop_oneof![any::<String>(), "[\\[\\](){}#'\"\\\\:;_@%a1.e \n-]{0,60}"]) {
        for error in [reads(&text).err(), read(&text, Budget::default()).err()].into_iter().flatten() {
            let span = error.span.unwrap_or_default();
            prop_assert!(text.get(span.start..span.end).is_some_and(|place| !place.is_empty()));
        }
    }
}

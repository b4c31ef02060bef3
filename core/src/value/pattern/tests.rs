//! Tests of the search: comparison with another engine on generated patterns and texts, and limits.

use proptest::prelude::*;

use super::{Captures, NonEmpty, Regex, RegexError, RegexRules, Search, SearchError};

fn perl(source: &str) -> Result<Regex, RegexError> {
    Regex::new(source, RegexRules::Perl)
}

fn find(pattern: &Regex, text: &str) -> Result<Option<Captures>, SearchError<()>> {
    Search::new(pattern.program(), text, |_| Ok(())).find(0, NonEmpty::Nowhere)
}

fn shown(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let pattern = perl(pattern).unwrap_or_else(|bad| panic!("{pattern}: {}", bad.problem));
    let found = find(&pattern, text).unwrap_or_else(|_| panic!("{text}: stuck"));
    found.map(|found| found.into_iter().map(|place| place.map(|(from, to)| text[from..to].to_owned())).collect())
}

#[test]
fn unmatched_groups_differ_from_empty_ones() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(shown("(a)|(b)", "b"), Some(vec![some("b"), None, some("b")]));
    assert_eq!(shown("(a*)b", "b"), Some(vec![some("b"), some("")]));
    assert_eq!(shown("(?:(a)|b){2}", "ab"), Some(vec![some("ab"), some("a")]));
    assert_eq!(shown("(?!(a)b)(.)", "ac"), Some(vec![some("a"), None, some("a")]));
    assert_eq!(shown("x", "abc"), None);
}

#[test]
fn what_comes_before_and_after_can_be_looked_at() {
    let whole = |pattern: &str, text: &str| shown(pattern, text).and_then(|groups| groups.into_iter().next().flatten());
    assert_eq!(whole(r"(?<=a+)b", "aab").as_deref(), Some("b"));
    assert_eq!(whole(r"(?<!\$)\b\d+", "$5 7").as_deref(), Some("7"));
    assert_eq!(whole(r"\d+(?= EUR)", "5 USD 7 EUR").as_deref(), Some("7"));
    assert_eq!(whole(r"foo\Kbar", "foobar").as_deref(), Some("bar"));
    assert_eq!(whole(r"(a)?b(?(1)c|d)", "abd").as_deref(), Some("bd"));
    assert_eq!(whole("b$", "ab\n").as_deref(), Some("b"));
    assert_eq!(whole(r"b\z", "ab\n"), None);
}

#[test]
fn backtracking_without_end_is_noticed() {
    let pattern = perl("^(a+)+$").unwrap_or_else(|bad| panic!("{}", bad.problem));
    assert!(matches!(find(&pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), Err(SearchError::TooComplex)));
    assert!(perl("((a{100}){100}){100}").is_err());
}

#[test]
fn a_search_ends_when_its_caller_stops_it() {
    let pattern = perl("(?=(a+))b").unwrap_or_else(|bad| panic!("{}", bad.problem));
    let mut reports = 0;
    let text = "a".repeat(30_000);
    let mut search = Search::new(pattern.program(), &text, |_| {
        reports += 1;
        if reports > 10 { Err(()) } else { Ok(()) }
    });
    assert!(matches!(search.find(0, NonEmpty::Nowhere), Err(SearchError::Stopped(()))));
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abé]",
        Just(".".to_owned()),
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just(r"\w".to_owned()),
        Just(r"\b".to_owned()),
        Just("^".to_owned()),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            inner.clone().prop_map(|part| format!("({part})")),
            (inner.clone(), prop::sample::select(vec!["*", "+", "?", "{2}", "{1,3}", "*?", "+?", "??"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            inner.clone().prop_map(|part| format!("(?={part})")),
            inner.clone().prop_map(|part| format!("(?!{part})")),
            inner.prop_map(|part| format!("(?>{part})")),
        ]
    })
}

proptest! {
    #[test]
    fn matches_are_those_of_another_engine(pattern in pattern(), text in "[abcé ]{0,12}") {
        let Ok(theirs) = fancy_regex::Regex::new(&pattern) else { return Ok(()) };
        let ours = perl(&pattern);
        prop_assert!(ours.is_ok(), "{}", pattern);
        let (Ok(ours), Ok(theirs)) = (ours, theirs.find(&text)) else { return Ok(()) };
        if let Ok(found) = find(&ours, &text) {
            let place = found.and_then(|found| found[0]);
            prop_assert_eq!(place, theirs.map(|found| (found.start(), found.end())), "{} in {:?}", pattern, text);
        }
    }

    #[test]
    fn no_text_is_a_pattern_that_panics(pattern in "[ab(){}\\[\\]?*+|\\\\^$.:=!<>0-9kgR]{0,14}", text in "[ab\n]{0,8}") {
        if let Ok(pattern) = perl(&pattern) {
            _ = find(&pattern, &text);
        }
    }
}

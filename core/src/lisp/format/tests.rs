//! Tests of the formatter: programs and values with their layouts, and properties of all texts.

use proptest::prelude::*;

use super::*;
use crate::lisp::{Form, Shape};
use crate::text::Span;
use crate::text::width::width;

/// Expected layouts at 40 columns.
const LAYOUTS: [&str; 16] = [
    "(+ 1 2)",
    "(def total 12) ; the sum\n\n; next\n(inc total)",
    "(let [prices (map :price data/orders)\n      total (reduce + prices)]\n  (return {:total total}))",
    "(defn area\n  \"Width times height.\"\n  [width height]\n  (* width height depth))",
    "(defn rectangle-area [width height]\n  (* width height))",
    "(if (> total 1000000)\n  (return {:big true :total total})\n  (return {:big false}))",
    "(cond\n  (> n 100) :large-number\n  (> n 10) :medium-sized-number\n  :else\n    (compute-the-size-of-a-number n 1))",
    "(->> data/orders\n     (filter :open)\n     (sort-by :date)\n     (take 10))",
    "{:name \"a rather long name\"\n :tags [\"one\" \"two\"]\n :nested {:a 1}}",
    "[1000000 2000000 3000000 4000000 5000000\n 6000000 7000000]",
    "(for [x (range 10)\n      :let [square-of-x (* x x)\n            double-of-x (+ x x)]\n      :when (even? square-of-x)]\n  [x square-of-x])",
    "(case status\n  \"open\" (handle-open-orders order)\n  \"closed\" nil\n  (fail \"unknown status\"))",
    "(do\n  (def a 1)\n\n  ; keep this\n  (def b 2) ; and this\n  )",
    "(def long-name\n  (some-function-of argument another))",
    "#(assoc %\n        :total\n        (* (:price %) (:count %))\n        :done\n        true)",
    "(clojure.string/starts-with?\n  text-of-the-document \"prefix\")",
];

#[test]
fn programs_are_laid_out_as_people_write_them() {
    for expected in LAYOUTS {
        let flat: String = expected
            .lines()
            .map(|line| {
                let stays = line.contains(';') || line.is_empty();
                if stays { format!("{line}\n") } else { format!("{} ", line.trim_start()) }
            })
            .collect();
        for source in [expected, flat.trim_end()] {
            let found = program(source, 40);
            let blank_kept = found.as_deref().map(|text| text.replace("\n\n", "\n"));
            let wanted = expected.replace("\n\n", "\n");
            assert_eq!(blank_kept.as_deref(), Some(wanted.as_str()), "{source}\n{}", found.unwrap_or_default());
        }
        assert_eq!(program(expected, 40).as_deref(), Some(expected));
    }
}

#[test]
fn invalid_text_is_unchanged() {
    for broken in ["(", "(a]", "#_", "{:a}", "\"x"] {
        assert_eq!(program(broken, 80), None);
    }
    assert_eq!(program("", 80).as_deref(), Some(""));
    assert_eq!(program(" (a)) \n", 80).as_deref(), Some("(a)\n"));
}

#[test]
fn values_are_broken_where_they_are_too_long() {
    let rows = Value::list((1..=2).map(|n| {
        Value::map([(Value::keyword("id"), Value::Int(n)), (Value::keyword("name"), Value::str("somebody"))])
    }));
    let all = Bounds::default();
    assert_eq!(value(&rows, 80, all), "[{:id 1 :name \"somebody\"} {:id 2 :name \"somebody\"}]");
    assert_eq!(value(&rows, 30, all), "[{:id 1 :name \"somebody\"}\n {:id 2 :name \"somebody\"}]");
    assert_eq!(value(&rows, 20, all), "[{:id 1\n  :name \"somebody\"}\n {:id 2\n  :name \"somebody\"}]");
    let numbers = Value::list((10..20).map(Value::Int));
    assert_eq!(value(&numbers, 12, all), "[10 11 12 13\n 14 15 16 17\n 18 19]");
    let few = Bounds { items: Some(3), chars: None };
    assert_eq!(value(&numbers, 9, few), "[10 11 12\n ...] (3/10)");
    assert_eq!(value(&Value::set([Value::Int(1)]), 1, all), "#{1}");
}

#[test]
fn values_may_be_nested_as_deep_as_they_like() {
    let deep = (0..1_000_000).fold(Value::Int(1), |inner, _| Value::list([inner]));
    assert!(value(&deep, 80, Bounds::default()).contains("..."));
}

#[test]
fn large_values_cost_linear_time() {
    let wide = Value::list((0..100_000).map(|n| Value::list([Value::Int(n), Value::list([Value::str("x")])])));
    assert_eq!(value(&wide, 40, Bounds::default()).lines().count(), 100_000);
    let program_text = format!("[{}]", "(a b) ".repeat(100_000));
    assert_eq!(program(&program_text, 40).map(|text| text.lines().count()), Some(100_000));
}

fn without_places<T: FromIterator<Form>>(forms: &[Form]) -> T {
    let bare = |form: &Form| {
        let shape = match &form.shape {
            Shape::List(parts) => Shape::List(without_places(parts)),
            Shape::Vector(parts) => Shape::Vector(without_places(parts)),
            Shape::Map(parts) => Shape::Map(without_places(parts)),
            Shape::Set(parts) => Shape::Set(without_places(parts)),
            Shape::Short(parts) => Shape::Short(without_places(parts)),
            other => other.clone(),
        };
        Form { shape, span: Span::default() }
    };
    forms.iter().map(bare).collect()
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find("; c").map(|at| &line[at..at + 3])).collect()
}

/// Programs with every kind of token, comments and blank lines.
fn programs() -> impl Strategy<Value = String> {
    let head = "let|fn|defn|cond|case|->|if|def|for|when|f|some-long-function-name";
    let atom = "a|:key|-1\\.5|\"text\"|\"two\nlines\"|#\"re\"|\\\\a|\\\\newline|'q|#'v|nil|%|long-name-of-a-thing";
    let gap = " |, |\n|\n\n|\n\n\n|; c\n|\n; c\n";
    let leaf = (atom, gap).prop_map(|(atom, gap)| format!("{atom}{gap}"));
    leaf.prop_recursive(5, 60, 6, move |inner| {
        (0..6_usize, head, gap, prop::collection::vec(inner, 0..6), gap).prop_map(|(kind, head, first, parts, last)| {
            let inside = parts.concat();
            let twice = parts.iter().flat_map(|part| [part.as_str(), " :k "]).collect::<String>();
            match kind {
                0 => format!("({head}{first}{inside}){last}"),
                1 => format!("[{first}{inside}]{last}"),
                2 => format!("{{{first}{twice}}}{last}"),
                3 => format!("#{{{inside}}}{last}"),
                4 => format!("#({head} {inside}){last}"),
                _ => format!("(let [{twice}]{first}{inside}){last}"),
            }
        })
    })
}

#[test]
fn prefixes_stay_at_their_forms() {
    for (source, formatted) in [
        ("(swap! a   assoc :n  @b)", "(swap! a assoc :n @b)"),
        ("[ '(1   2) #_ 3  #_(a  b) ^:k  x  0x1F  :a/b ]", "['(1 2) #_ 3 #_(a b) ^:k x 0x1F :a/b]"),
    ] {
        assert_eq!(program(source, 80).as_deref(), Some(formatted));
        assert_eq!(program(formatted, 80).as_deref(), Some(formatted));
    }
    assert_eq!(program("[#_\n1 2]", 80), None);
}

#[test]
fn a_carriage_return_as_a_character_gets_its_name() {
    let once = program("[eq\\\rd \"\"u 8]", 4).unwrap_or_default();
    assert!(once.contains("\\return") && !once.contains('\r'), "{once:?}");
    assert_eq!(program(&once, 4), Some(once));
}

proptest! {
    #[test]
    fn formatting_changes_no_forms_and_settles_at_once(source in programs(), columns in 1_usize..60) {
        let before = read(&source, Budget::default()).map(|forms| without_places::<Vec<Form>>(&forms));
        prop_assert!(before.is_ok(), "{source}");
        let once = program(&source, columns).unwrap_or_default();
        prop_assert_eq!(read(&once, Budget::default()).map(|forms| without_places::<Vec<Form>>(&forms)), before);
        prop_assert_eq!(comments(&once).len(), comments(&source).len());
        prop_assert_eq!(program(&once, columns), Some(once));
    }

    #[test]
    fn any_text_is_formatted_or_unchanged(text in "[\\[\\](){}#'\"\\\\:;a1.e \n\r-]{0,40}", columns in 0_usize..40) {
        if let Some(once) = program(&text, columns) {
            let forms = |text: &str| read(text, Budget::default()).map(|forms| without_places::<Vec<Form>>(&forms));
            prop_assert_eq!(forms(&once), forms(&text));
            prop_assert_eq!(program(&once, columns), Some(once));
        }
    }

    #[test]
    fn a_short_value_is_on_one_line(numbers in prop::collection::vec(any::<i64>(), 0..8)) {
        let list = Value::list(numbers.into_iter().map(Value::Int));
        let flat = list.to_string();
        prop_assert_eq!(value(&list, width(&flat), Bounds::default()), flat);
    }
}

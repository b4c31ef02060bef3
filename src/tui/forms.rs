//! The form under the cursor of a program that is typed.
//!
//! In: a text that may be unfinished, a place in it. Out: the bytes of the innermost brackets around it. Pure.

use std::ops::Range;

use ptc_core::text::lex::lisp::{Lexeme, Lexemes};

/// The innermost form in brackets that holds this byte or ends right before it.
fn form_at(source: &str, at: usize) -> Option<Range<usize>> {
    let mut open: Vec<usize> = Vec::new();
    for (span, lexeme) in Lexemes::new(source) {
        match lexeme {
            Lexeme::Open(_) => open.push(span.start),
            Lexeme::Close(_) => {
                let start = open.pop()?;
                if start <= at && at <= span.end {
                    return Some(start..span.end);
                }
            }
            _ => {}
        }
        if span.start > at && open.is_empty() {
            return None;
        }
    }
    None
}

/// The brackets of that form.
pub(super) fn brackets_at(source: &str, at: usize) -> Option<[Range<usize>; 2]> {
    let form = form_at(source, at)?;
    let first = source[form.clone()].find(['(', '[', '{'])?;
    Some([form.start..form.start + first + 1, form.end - 1..form.end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_form_is_found_also_where_others_are_open() {
        let source = "(def a (map #(inc %) [1 2]))";
        let form = |at| form_at(source, at).map(|form| &source[form]);
        assert_eq!(form(2), Some(source));
        assert_eq!(form(15), Some("#(inc %)"));
        assert_eq!(form(22), Some("[1 2]"));
        assert_eq!(form_at("(def a (inc 1)", 10), Some(7..14));
        assert_eq!(form_at("(def a (inc 1)", 2), None);
        assert_eq!(form_at("a (b)", 0), None);
        assert_eq!(brackets_at(source, 15), Some([12..14, 19..20]));
    }
}

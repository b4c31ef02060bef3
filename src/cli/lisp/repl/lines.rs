//! Is a text a whole program yet? Brackets are counted outside of strings, characters and comments.

/// Nothing is open at the end of the text. A closer too many completes it: the reader says what is wrong.
pub(super) fn is_complete(text: &str) -> bool {
    let mut depth = 0_i64;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' => {
                chars.by_ref().find(|c| *c == '\n');
            }
            '\\' => {
                chars.next();
            }
            '"' => {
                if !skip_string(&mut chars) {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth <= 0
}

/// Goes on behind the closing quote; `false` when there is none.
fn skip_string(chars: &mut std::str::Chars<'_>) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '"' => return true,
            '\\' => {
                chars.next();
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn open_brackets_and_strings_ask_for_more() {
        for open in ["(", "(a [b", "\"a", "(str \"a\\\"", "#{1", "(a ; )", "(a \\)", "#\"("] {
            assert!(!is_complete(open), "{open}");
        }
    }

    #[test]
    fn closed_ones_and_closers_too_many_do_not() {
        for whole in ["", "1", "(a [b] {})", "\"(\"", "(a) ; (", "\\(", "(a))", "#\"(\"", "(str \\\" \"b\")"] {
            assert!(is_complete(whole), "{whole}");
        }
    }
}

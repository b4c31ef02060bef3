//! Missing ends of texts: of a tag or section of a prompt, of the brackets of a signature, of the brackets and strings of a JSON text.
//!
//! In: a text that cannot be read, the place of its problem. Out: the insertion that solves the problem, if there is one. Pure.

use ptc_core::signature;
use ptc_core::template;
use ptc_core::text::Span;
use ptc_core::value::json;

/// An insertion: the byte and the text.
pub(super) type Insertion = (usize, String);

/// Returns the insertion that closes the tag or the section of a prompt at this place.
pub(super) fn of_prompt(text: &str, at: Span) -> Option<Insertion> {
    let rest = text.get(at.start..)?;
    let inner = rest.strip_prefix("{{")?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = inner.find(is_name)?;
    let length = inner.get(start..)?.find(|c| !is_name(c)).unwrap_or(inner.len() - start);
    let name = inner.get(start..start + length)?;
    let end = at.start + "{{".len() + start + length;
    let missing = if text.get(end..)?.starts_with('}') { "}" } else { "}}" };
    let tag = (end, missing.to_owned());
    let section = (text.len(), format!("{{{{/{name}}}}}"));
    [tag, section].into_iter().find(|insertion| {
        template::parse(&inserted(text, insertion)).map_or_else(|error| error.span.start > at.start, |_| true)
    })
}

/// Returns the insertion that closes the brackets of a signature.
pub(super) fn of_signature(text: &str) -> Option<Insertion> {
    closed(text, |text| signature::parse(text).is_ok())
}

/// Returns the insertion that closes the brackets and the string of a JSON text.
pub(super) fn of_json(text: &str) -> Option<Insertion> {
    closed(text, |text| json::parse(text).is_ok())
}

fn closed(text: &str, is_read: impl Fn(&str) -> bool) -> Option<Insertion> {
    let missing = missing(text)?;
    let insertion = (text.trim_end().len(), missing);
    is_read(&inserted(text, &insertion)).then_some(insertion)
}

/// The closing characters that are missing at the end; `None` if none is, or one is of another kind.
fn missing(text: &str) -> Option<String> {
    let (mut open, mut in_text, mut escaped) = (Vec::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' => _ = open.pop().filter(|wanted| *wanted == c)?,
            _ => {}
        }
    }
    let quote = in_text.then_some('"');
    let missing: String = quote.into_iter().chain(open.into_iter().rev()).collect();
    (!missing.is_empty()).then_some(missing)
}

fn inserted(text: &str, (at, more): &Insertion) -> String {
    let (before, after) = text.split_at(*at);
    format!("{before}{more}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Option<String> {
        let error = template::parse(text).err()?;
        of_prompt(text, error.span).map(|insertion| inserted(text, &insertion))
    }

    #[test]
    fn tags_and_sections_are_closed_after_their_name() {
        for (open, closed) in [
            ("Classify {{text", "Classify {{text}}"),
            ("Classify {{text please", "Classify {{text}} please"),
            ("Classify {{text} please\nnow", "Classify {{text}} please\nnow"),
            ("{{#items}}- {{name}}", "{{#items}}- {{name}}{{/items}}"),
            ("{{a and {{b}}", "{{a}} and {{b}}"),
        ] {
            assert_eq!(prompt(open).as_deref(), Some(closed));
        }
        assert_eq!(prompt("{{"), None);
    }

    #[test]
    fn brackets_are_closed_where_that_makes_the_text_readable() {
        let signature = |text| of_signature(text).map(|(_, more)| more);
        assert_eq!(signature("(a :string) -> {b :int").as_deref(), Some("}"));
        assert_eq!(signature("(a :string) -> {b [:int").as_deref(), Some("]}"));
        assert_eq!(signature("(a :strin) -> {b :int"), None);
        let json = |text| of_json(text).map(|(_, more)| more);
        assert_eq!(json("{\"a\": [1, {\"b\": \"c").as_deref(), Some("\"}]}"));
        assert_eq!(json("{\"a\": 1]"), None);
        assert_eq!(json("plain text"), None);
    }
}

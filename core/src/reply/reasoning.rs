//! Finds the reasoning parts of a reply: `<think>…</think>` and similar tags.
//!
//! In: reply text. Out: spans, tags included, in order. One pass. A tag after a bracket or a double quote on the same
//! line may be text inside of JSON or of a program; then it is ignored.

use crate::text::Span;

/// Names of reasoning tags, in lower case.
pub(super) const TAGS: [&str; 4] = ["think", "thinking", "reasoning", "thought"];

/// A reasoning tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Open,
    Close,
}

/// The reasoning parts of `reply`. An unclosed part extends to the end; a closing tag without an opening one (some chat
/// templates write the opening tag themselves) ends a part that began at the end of the previous one. A tag after a
/// bracket or a double quote on the same line is text.
pub(super) fn find(reply: &str) -> Vec<Span> {
    find_with(reply, &mut |_, _| true)
}

/// [`find`], with a decision about each tag after a bracket or a double quote on the same line. `is_text` gets the end
/// of the previous part and the offset of the tag; offsets never decrease.
pub(super) fn find_with(reply: &str, is_text: &mut dyn FnMut(usize, usize) -> bool) -> Vec<Span> {
    let bytes = reply.as_bytes();
    let mut parts: Vec<Span> = Vec::new();
    let mut at = 0;
    let mut after_json = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => after_json = false,
            b'"' | b'{' | b'[' => after_json = true,
            b'<' => {
                let last = parts.last().map_or(0, |part| part.end);
                if let Some((tag, tag_end)) = tag_at(reply, at)
                    && !(after_json && is_text(last, at))
                {
                    let part = match tag {
                        Tag::Open => Span::new(at, close_after(reply, tag_end).unwrap_or(reply.len())),
                        Tag::Close => Span::new(last, tag_end),
                    };
                    at = part.end;
                    match parts.last_mut() {
                        Some(before) if before.end == part.start => before.end = part.end,
                        _ => parts.push(part),
                    }
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    parts
}

/// The rest of `reply` without the reasoning parts; blank pieces are omitted.
pub(super) fn rest(reply: &str, parts: &[Span]) -> Vec<Span> {
    let starts = std::iter::once(0).chain(parts.iter().map(|part| part.end));
    let ends = parts.iter().map(|part| part.start).chain(std::iter::once(reply.len()));
    starts
        .zip(ends)
        .map(|(start, end)| trim(reply, Span::new(start, end)))
        .filter(|span| span.start < span.end)
        .collect()
}

/// The span without white space at both ends.
pub(super) fn trim(reply: &str, span: Span) -> Span {
    let text = span.text(reply);
    let start = span.start + (text.len() - text.trim_start().len());
    Span::new(start, start + text.trim().len())
}

/// The end of the next closing tag.
fn close_after(reply: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = reply.get(at..)?.find("</") {
        at += found;
        if let Some((Tag::Close, end)) = tag_at(reply, at) {
            return Some(end);
        }
        at += 2;
    }
    None
}

/// The reasoning tag at `at`, and its end.
fn tag_at(reply: &str, at: usize) -> Option<(Tag, usize)> {
    let rest = reply.as_bytes().get(at + 1..)?;
    let (tag, rest, before) = match rest.strip_prefix(b"/") {
        Some(rest) => (Tag::Close, rest, 2),
        None => (Tag::Open, rest, 1),
    };
    TAGS.iter()
        .find(|name| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
                && rest.get(name.len()) == Some(&b'>')
        })
        .map(|name| (tag, at + before + name.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(reply: &str) -> Vec<&str> {
        rest(reply, &find(reply)).into_iter().map(|span| span.text(reply)).collect()
    }

    #[test]
    fn parts_are_removed_anywhere() {
        assert_eq!(visible("<think>a {x}</think>{\"a\":1}"), ["{\"a\":1}"]);
        assert_eq!(visible("Hm.\n<Thinking>\na\n</Thinking>\nyes"), ["Hm.", "yes"]);
        assert_eq!(visible("<reasoning>a</reasoning><think>b</think> c"), ["c"]);
        assert_eq!(visible("<think>a <think>b</think> c</think> d"), ["d"]);
    }

    #[test]
    fn unclosed_and_unopened_parts_reach_to_the_end_and_from_the_start() {
        assert_eq!(visible("<think>never ends {\"a\":1}"), Vec::<&str>::new());
        assert_eq!(visible("so it is 1\n</think>\n{\"a\":1}"), ["{\"a\":1}"]);
    }

    #[test]
    fn tags_inside_json_and_other_tags_are_text() {
        let json = "{\"html\": \"<think>x</think>\",\n \"b\": \"</think>\"}";
        assert_eq!(visible(json), [json]);
        assert_eq!(visible("<thinker> <b>x</b>"), ["<thinker> <b>x</b>"]);
    }
}

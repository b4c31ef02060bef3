//! What a reply is so far, in words, while it still arrives.

/// The state of an unfinished JSON reply: open containers, and whether a string is unfinished.
pub fn describe(text: &str) -> String {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut string = false;
    let mut escaped = false;
    let mut begun = false;
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' if begun => string = !string,
            _ if string => {}
            '{' | '[' => {
                begun = true;
                open.push((c, 0));
            }
            '}' | ']' => _ = open.pop(),
            ':' | ',' => {
                if let Some((kind, count)) = open.last_mut()
                    && (c == ':') == (*kind == '{')
                {
                    *count += 1;
                }
            }
            _ => {}
        }
    }
    let Some((kind, count)) = open.first() else {
        return if begun { "JSON closed".to_owned() } else { "no JSON yet".to_owned() };
    };
    let outer = match kind {
        '{' => format!("object open, {} begun", super::format::plural(*count as u64, "field")),
        _ => format!("list open, {}", super::format::plural(*count as u64 + 1, "item")),
    };
    let depth = if open.len() > 1 { format!(", {} levels deep", open.len()) } else { String::new() };
    let tail = if string { ", string unfinished" } else { "" };
    format!("{outer}{depth}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_growing_reply_is_said_in_words() {
        for (text, said) in [
            ("Here it is", "no JSON yet"),
            ("{\"a\": \"x", "object open, 1 field begun, string unfinished"),
            ("{\"a\": [1, {\"b\"", "object open, 1 field begun, 3 levels deep"),
            ("[1, 2", "list open, 2 items"),
            ("{\"a\": \"\\\"}\", \"b\": 2}", "JSON closed"),
        ] {
            assert_eq!(describe(text), said, "{text}");
        }
    }
}

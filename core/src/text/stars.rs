//! Names in which `*` stands for any text.

/// Is the text what the pattern says? Parts between the stars must follow each other; a pattern without a star is the text itself.
pub fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("json", "json") && !fits("json", "json_loop") && !fits("json", "JSON"));
        assert!(fits("json*", "json_loop") && fits("*loop", "json_loop") && fits("j*n*p", "json_loop"));
        assert!(fits("*", "") && !fits("a*a", "a") && !fits("*x*", "json"));
    }
}

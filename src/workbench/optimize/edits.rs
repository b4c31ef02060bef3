//! A suggestion for texts in the editors: its changes, block by block.
//!
//! In: the current and the suggested texts. Out: [`Fix`]es, each of which can be applied alone. Pure.

use ptc_core::text::Span;

use crate::agent::{DraftTexts, Fix, Place};
use crate::workbench::line_diff::{LineChange, LineDiff};

/// A block of changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedEdit {
    /// The change.
    pub fix: Fix,
    /// Lines, each `-` or `+` followed by the text without its line end.
    pub lines: Vec<String>,
}

/// Returns the changes from the current to the suggested texts, in the order of the texts. Only the prompt, the tools and the options are
/// compared: a suggestion changes no other text.
pub fn edits(now: &DraftTexts, suggested: &DraftTexts) -> Vec<SuggestedEdit> {
    let places = [
        (Place::Prompt, "prompt", &now.prompt, &suggested.prompt),
        (Place::Tools, "tools", &now.tools, &suggested.tools),
        (Place::Options, "options", &now.options, &suggested.options),
    ];
    places.into_iter().flat_map(|(place, name, old, new)| edits_of(place, name, old, new)).collect()
}

fn edits_of(place: Place, name: &str, old: &str, new: &str) -> Vec<SuggestedEdit> {
    let diff = LineDiff::of(old, new);
    let edit = |change: LineChange| {
        let (bytes, text) = diff.replacement(&change);
        let title = format!("{name}, line {}", change.old.start + 1);
        let lines = diff.signed_lines(&change).collect();
        SuggestedEdit { lines, fix: Fix { title, place, span: Span::new(bytes.start, bytes.end), text } }
    };
    diff.changes().map(edit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(prompt: &str, options: &str) -> DraftTexts {
        DraftTexts { prompt: prompt.to_owned(), options: options.to_owned(), ..DraftTexts::default() }
    }

    #[test]
    fn each_edit_can_be_made_alone_and_all_of_them_lead_to_the_suggestion() {
        let (mut now, suggested) = (texts("a\nb\nc", "x = 1\n"), texts("new\na\nc\nd", "x = 1\ny = 2\n"));
        let mut made = 0;
        while let Some(SuggestedEdit { fix, .. }) = edits(&now, &suggested).pop() {
            let text = if fix.place == Place::Prompt { &mut now.prompt } else { &mut now.options };
            text.replace_range(fix.span.start..fix.span.end, &fix.text);
            made += 1;
        }
        assert_eq!((&now, made), (&suggested, 4));
    }

    #[test]
    fn a_last_line_without_a_line_end_does_not_change() {
        let lines = |old: &str, new: &str| -> Vec<String> {
            edits(&texts(old, ""), &texts(new, "")).into_iter().flat_map(|edit| edit.lines).collect()
        };
        assert_eq!(lines("a\nb", "a\nb\nc"), ["+c"]);
        assert_eq!(lines("a\nb\n", "X\na\nb"), ["+X"]);
        assert_eq!(lines("a\nb", "a\nb\n"), [""; 0]);
    }

    #[test]
    fn equal_texts_need_no_edit() {
        assert_eq!(edits(&texts("a", ""), &texts("a", "")), []);
    }
}

//! Prose that may stand for an answer: the lenient level's last resort (agent contract §26.5).

use crate::reply::reasoning;
use crate::text::Span;

/// Fewer visible characters than this are no answer.
const FEWEST_CHARS: usize = 24;

/// Ends that say that more was to come.
const UNFINISHED: [char; 5] = ['{', '[', ':', ',', '-'];

/// The reply as an answer, when it is plain prose: long enough, without braces, fence or tag at its start, and finished.
pub(super) fn answer(reply: &str) -> Option<String> {
    let parts = reasoning::find(reply);
    let rest: Vec<&str> = reasoning::rest(reply, &parts).into_iter().map(|span: Span| span.text(reply)).collect();
    let text = rest.join("\n");
    let visible = text.chars().filter(|c| !c.is_whitespace()).count();
    let is_plain = visible >= FEWEST_CHARS
        && !text.contains(['{', '}'])
        && !text.starts_with(['`', '~', '<'])
        && !text.ends_with(UNFINISHED);
    is_plain.then_some(text)
}

//! Questions with answers to choose from: one key is the answer.
//!
//! In: a typed character. Out: the answer, when the topmost popup asks such a question. A key that was on its way when the question
//! appeared is no answer.

use super::run::answer_with;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, STANDS_MS, Tone};

/// Answers the open question by the first letter of an option; `None` when no such question is open.
pub(super) fn choose(model: &mut Model, c: char) -> Option<Vec<Effect>> {
    let Some(Popup::Answer { question, .. }) = model.popups.last() else { return None };
    if question.options.is_empty() {
        return None;
    }
    let since = model.workbench.run.as_ref().map_or(0, |run| run.asked_ms);
    if model.now_ms.saturating_sub(since) < STANDS_MS {
        return Some(Vec::new());
    }
    let chosen = question.options.iter().find(|option| option.starts_with(c.to_ascii_lowercase())).cloned();
    let Some(option) = chosen else {
        let keys: Vec<&str> = question.options.iter().filter_map(|option| option.get(..1)).collect();
        let text = format!("press one of {}, or Esc to put the question aside", keys.join(", "));
        model.say(Tone::Info, text);
        return Some(Vec::new());
    };
    Some(answer_with(model, option))
}

//! Detection of replies by another model than the requested one: providers give one model several names, and only the name of another model
//! counts.
//!
//! In: an attempt as it was sent, and its end. Out: both names where they are those of different models. It must never claim a difference
//! if the name is unknown.

use std::fmt;

use ptc_core::value::Json;

use crate::event::{ReplyEnd, Sent};
use crate::record::TurnRecord;

/// Another model than the one that was asked has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// The id that was asked for.
    pub asked: String,
    /// The name that the answer gives.
    pub answered: String,
}

impl OtherModel {
    /// Of an attempt that was sent; the end of another one, which the user wrote, has no model.
    pub fn of(sent: &Sent, end: &ReplyEnd) -> Option<Self> {
        let answered = end.model.as_ref().filter(|_| end.attempt == sent.attempt)?;
        let other = Self { asked: asked(sent)?, answered: answered.clone() };
        Name::of(&other.asked).differs(&Name::of(&other.answered)).then_some(other)
    }
}

impl OtherModel {
    /// Of the last attempt of a turn that was sent and has ended.
    pub fn of_turn(turn: &TurnRecord) -> Option<Self> {
        let attempt = turn.last_sent()?;
        Self::of(attempt.sent.as_ref()?, attempt.end.as_ref()?)
    }
}

impl fmt::Display for OtherModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for the model {}, answered as {}", self.asked, self.answered)
    }
}

/// The model of the last request: a resumed session may use another model than it started with.
pub fn asked(sent: &Sent) -> Option<String> {
    let named = sent.frame.json().get("model").and_then(Json::as_str).map(str::to_owned);
    // One protocol names it in the address.
    named.or_else(|| Some(sent.url.rsplit_once("/models/")?.1.split([':', '?']).next()?.to_owned()))
}

/// Words of a name that distinguish editions of a model, not models.
const EDITIONS: [&str; 8] = ["latest", "preview", "exp", "experimental", "beta", "stable", "free", "gguf"];

/// A name taken apart: `vendor/Model-4.5-2026-01-31` is the model `model 4 5` of the date `2026 01 31`.
struct Name {
    model: Vec<String>,
    /// Numbers of a date or of a release; empty when the name leaves that open.
    date: Vec<String>,
}

impl Name {
    fn of(name: &str) -> Self {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_lowercase();
        let words: Vec<&str> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !EDITIONS.contains(word))
            .collect();
        let (mut model, mut date) = (Vec::new(), Vec::new());
        for (place, word) in words.iter().enumerate() {
            let beside = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
            let beside = beside.filter_map(|place| words.get(place)).any(|word| is_number(word) && word.len() > 1);
            let dated = is_number(word) && (word.len() > 2 || word.len() == 2 && beside);
            let kept = if dated { &mut date } else { &mut model };
            kept.push((*word).to_owned());
        }
        Self { model, date }
    }

    fn differs(&self, other: &Self) -> bool {
        let open = self.date.is_empty() || other.date.is_empty();
        self.model != other.model || !open && self.date != other.date
    }
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{JsonText, ReplyStatus};

    fn sent(model: &str) -> Sent {
        Sent { attempt: 1, frame: JsonText::of(&Json::empty().with("model", Json::str(model))), ..Sent::default() }
    }

    fn end(attempt: u32, model: Option<&str>) -> ReplyEnd {
        ReplyEnd { model: model.map(str::to_owned), ..ReplyEnd::new(attempt, ReplyStatus::Ok) }
    }

    fn other(asked: &str, answered: &str) -> Option<String> {
        OtherModel::of(&sent(asked), &end(1, Some(answered))).map(|other| other.to_string())
    }

    #[test]
    fn names_of_one_model_are_no_difference() {
        let same = [
            ("gpt-4o", "gpt-4o"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("gpt-4", "gpt-4-0613"),
            ("claude-sonnet-4.5", "anthropic/claude-sonnet-4-5-20250929"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("models/gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
            ("gemini-2.0-flash", "gemini-2.0-flash-001"),
            ("llama3.2", "llama3.2:latest"),
            ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
            ("command-r", "command-r-08-2024"),
            ("Llama-3.2-3B.gguf", "/models/llama-3.2-3b.gguf"),
        ];
        for (asked, answered) in same {
            assert_eq!(other(asked, answered), None, "{asked} {answered}");
        }
    }

    #[test]
    fn the_name_of_another_model_is_reported() {
        let different = [
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4", "gpt-4.1"),
            ("fake-1", "other-model-2026-01-01"),
            ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
            ("claude-opus-4", "claude-opus-4-1-20250805"),
            ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
            ("qwen3:8b", "qwen3:70b"),
        ];
        for (asked, answered) in different {
            let expected = format!("asked for the model {asked}, answered as {answered}");
            assert_eq!(other(asked, answered), Some(expected));
        }
    }

    #[test]
    fn who_answered_is_known_of_the_attempt_that_was_sent_only() {
        assert_eq!(OtherModel::of(&sent("m"), &end(1, None)), None);
        // The user changed the reply of the first attempt at a gate.
        assert_eq!(OtherModel::of(&sent("m"), &end(2, Some("edit"))), None);
        assert_eq!(OtherModel::of(&Sent { attempt: 1, ..Sent::default() }, &end(1, Some("m"))), None);
    }

    #[test]
    fn a_model_that_is_named_in_the_address_is_found_there() {
        let url = "https://example.com/v1beta/models/gemini-2.5-flash:streamGenerateContent".to_owned();
        let sent = Sent { attempt: 1, url, ..Sent::default() };
        assert_eq!(asked(&sent).as_deref(), Some("gemini-2.5-flash"));
        assert_eq!(OtherModel::of(&sent, &end(1, Some("gemini-2.5-flash-001"))), None);
        assert!(OtherModel::of(&sent, &end(1, Some("gemini-2.5-pro"))).is_some());
    }
}

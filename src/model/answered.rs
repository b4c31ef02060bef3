//! Which model answered: providers give one model several names, and only the name of another one counts.
//!
//! In: the model that was asked, the end of a reply. Out: both names where they are those of different models. It must never claim a
//! difference where nobody says who answered.

use std::fmt;

use crate::event::{ModelRecord, ReplyEnd};

/// Another model than the one that was asked has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// The id that was asked for.
    pub asked: String,
    /// The name that the answer gives.
    pub answered: String,
}

impl OtherModel {
    /// Of an attempt that was a request; what a person wrote, or a recording holds, has no name that counts.
    pub fn of(asked: &ModelRecord, end: &ReplyEnd) -> Option<Self> {
        let answered = end.model.as_ref().filter(|_| end.requests >= end.attempt)?;
        let other = Self { asked: asked.id.clone(), answered: answered.clone() };
        Name::of(&other.asked).differs(&Name::of(&other.answered)).then_some(other)
    }
}

impl fmt::Display for OtherModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for the model {}, answered as {}", self.asked, self.answered)
    }
}

/// Words of a name that say which edition of a model is meant, not which model.
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
    use crate::event::ReplyStatus;

    fn other(asked: &str, answered: &str) -> Option<String> {
        let model = ModelRecord { id: asked.to_owned(), ..ModelRecord::default() };
        let end = ReplyEnd { requests: 1, model: Some(answered.to_owned()), ..ReplyEnd::new(1, ReplyStatus::Ok) };
        OtherModel::of(&model, &end).map(|other| other.to_string())
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
    fn the_name_of_another_model_is_told() {
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
            let told = format!("asked for the model {asked}, answered as {answered}");
            assert_eq!(other(asked, answered), Some(told));
        }
    }

    #[test]
    fn only_what_came_as_a_request_has_a_name_that_counts() {
        let model = ModelRecord { id: "demo".to_owned(), ..ModelRecord::default() };
        let recorded = ReplyEnd { model: Some("gpt-4o".to_owned()), ..ReplyEnd::new(1, ReplyStatus::Ok) };
        assert_eq!(OtherModel::of(&model, &recorded), None);
        // A person changed the reply of the first attempt at a gate.
        let edited = ReplyEnd { requests: 1, model: Some("edit".to_owned()), ..ReplyEnd::new(2, ReplyStatus::Ok) };
        assert_eq!(OtherModel::of(&model, &edited), None);
        let silent = ReplyEnd { requests: 1, ..ReplyEnd::new(1, ReplyStatus::Ok) };
        assert_eq!(OtherModel::of(&model, &silent), None);
    }
}

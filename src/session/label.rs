//! Labels: grades that users give to runs, as `sessions label` and the interface write them.
//!
//! In: a word or a number, a note. Out: a [`Label`] of a mark. It must never be written by a program that judges: agreement with
//! labels is measured.

use serde::{Deserialize, Serialize};

/// The score from which a label counts as a pass.
const PASS: f64 = 0.5;

/// A grade that a user gave to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Pass, fail or a score.
    pub grade: Grade,
    /// Reason for the grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Pass, fail or a score from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// As it should be.
    Pass,
    /// Not as it should be.
    Fail,
    /// In part.
    #[serde(untagged)]
    Score(Share),
}

/// A score is never NaN.
impl Eq for Grade {}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&number) { Ok(Self(number)) } else { Err("a score is from 0 to 1".to_owned()) }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

impl std::str::FromStr for Grade {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pass" => Ok(Self::Pass),
            "fail" => Ok(Self::Fail),
            _ => {
                let share = text.parse().ok().and_then(|number: f64| Share::try_from(number).ok());
                share
                    .map(Self::Score)
                    .ok_or_else(|| format!("{text:?} is not a label: write pass, fail or a score from 0 to 1"))
            }
        }
    }
}

impl std::fmt::Display for Grade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Fail => f.write_str("fail"),
            Self::Score(share) => write!(f, "{}", share.0),
        }
    }
}

impl Grade {
    /// The grade as a number: 1 for a pass, 0 for a failure.
    pub fn score(self) -> f64 {
        match self {
            Self::Pass => 1.0,
            Self::Fail => 0.0,
            Self::Score(share) => share.0,
        }
    }

    /// Returns whether it counts as a pass: a score of at least one half does.
    pub fn is_pass(self) -> bool {
        self.score() >= PASS
    }
}

impl Label {
    /// A label as one line: the grade, then the note. Errors: the first word is not a grade.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (grade, note) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
        Ok(Self { grade: grade.parse()?, note })
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.grade.fmt(f)?;
        self.note.as_ref().map_or(Ok(()), |note| write!(f, " {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_grade_and_a_note() {
        for line in ["pass", "fail too long", "0.7", "0.25 half of it"] {
            let label = Label::parse(line).unwrap();
            assert_eq!(label.to_string(), line);
            let stored = serde_json::to_string(&label).unwrap();
            assert_eq!(serde_json::from_str::<Label>(&stored).unwrap(), label, "{stored}");
        }
        for wrong in ["", "good", "1.5", "-0.1", "NaN", "inf"] {
            assert!(Label::parse(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Label>(r#"{"grade":7}"#).is_err());
    }

    #[test]
    fn a_score_from_one_half_on_counts_as_a_pass() {
        let is_pass = |text: &str| text.parse::<Grade>().unwrap().is_pass();
        assert!(is_pass("pass") && is_pass("0.5") && !is_pass("0.49") && !is_pass("fail"));
    }
}

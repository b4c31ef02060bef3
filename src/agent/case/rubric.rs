//! Rubrics: expectations in words, which a model judges.
//!
//! In: the table of an expectation with the key `rubric`. Out: a [`Rubric`], the agent that judges by it, and its inputs. The judged answer
//! is an input of that agent, which its prompt marks as untrusted. Nothing is run here: a [`Ruling`] comes from the workbench.

use ptc_core::value::Json;
use ptc_core::value::json::Node;
use serde::{Deserialize, Serialize};

use super::expect::threshold;
use crate::agent::{Agent, Mode, Plan, Step};
use crate::config::document::{Entry, Problem};
use crate::event::{FromCache, Tokens, hex_sha};
use crate::tool::canonical;

/// The key that makes a table a rubric.
pub(super) const RUBRIC: &str = "rubric";
/// Keys of the table.
const KEYS: [&str; 7] = [RUBRIC, "model", "votes", "scale", "at_least", "prompt", "examples"];
/// Keys of an example.
const EXAMPLE_KEYS: [&str; 4] = ["inputs", "answer", "score", "reason"];
/// The mission of a judge whose rubric has none of its own.
const PROMPT: &str = include_str!("../../../assets/prompts/judge.md");
/// The score that passes without `at_least`.
const AT_LEAST: f64 = 0.7;
/// The highest number that a judge gives without `scale`.
const SCALE: u32 = 10;
/// Maximum number of votes of one model.
const MOST_VOTES: u64 = 100;
/// Highest scale.
const MOST_SCALE: u64 = 1_000;

/// The measure of an answer against the text of a rubric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A model judges that it fulfils the words.
    #[default]
    Judge,
    /// The embeddings of both are near each other.
    Embedding,
}

impl Measure {
    /// Returns whether a judge decides.
    pub fn is_judge(&self) -> bool {
        *self == Self::Judge
    }
}

/// An expectation in words that a model is needed for.
#[derive(Debug, Clone, PartialEq)]
pub struct Rubric {
    /// The words.
    pub text: String,
    /// The measure of an answer against them.
    pub measure: Measure,
    /// The judges, the configured model when empty; the model of the embeddings.
    pub models: Vec<String>,
    /// Runs of each judge.
    pub votes: u32,
    /// A judge gives whole numbers from 0 to this.
    pub scale: u32,
    /// The share of the scale that passes, from 0 to 1: of the mean of all votes.
    pub at_least: f64,
    /// The mission of the judge instead of the fixed one: a template over `rubric`, `scale`, `inputs`, `answer`, `examples`.
    pub prompt: Option<String>,
    /// Answers with the scores that they deserve.
    pub examples: Vec<RubricExample>,
}

/// An answer with the score that it deserves, such as one that a user labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct RubricExample {
    /// The inputs of its run, where they matter.
    pub inputs: Option<Json>,
    /// The answer.
    pub answer: Json,
    /// From 0 to 1.
    pub score: f64,
    /// The reason for the score.
    pub reason: Option<String>,
}

/// A rubric and the answer that is to be judged by it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The rubric.
    pub rubric: Rubric,
    /// The answer, or the part of it that the expectation is about.
    pub answer: Json,
}

/// The result of judging an answer by a rubric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// The rubric.
    pub rubric: String,
    /// The measure that was used.
    #[serde(default, skip_serializing_if = "Measure::is_judge")]
    pub measure: Measure,
    /// The mean of the votes, from 0 to 1.
    pub score: f64,
    /// The score that passes.
    pub at_least: f64,
    /// The score is high enough.
    pub passed: bool,
    /// The votes, in the order of the judges.
    pub votes: Vec<Vote>,
    /// SHA-256 of the judged answer as canonical JSON, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_sha: Option<String>,
}

/// The result of one run of one judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The judge's model.
    pub model: String,
    /// From 0 to 1.
    pub score: f64,
    /// The reason, in the judge's words.
    pub reason: String,
    /// The session of the judge's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Tokens of the judge's run, when counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Cost of the judge's run in the price table's unit, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The usage of the run that came from the cache.
    #[serde(default, skip_serializing_if = "FromCache::is_nothing")]
    pub from_cache: FromCache,
}

impl Question {
    /// The hash of the answer by which rulings on it are found: SHA-256 of its canonical JSON, hexadecimal.
    pub fn answer_sha(&self) -> String {
        hex_sha(canonical(&self.answer).to_text().as_bytes())
    }
}

impl Rubric {
    /// A rubric with nothing but its words, `None` when they are blank.
    pub fn new(text: &str) -> Option<Self> {
        Some(Self::of(text)).filter(|_| !text.trim().is_empty())
    }

    fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            measure: Measure::Judge,
            models: Vec::new(),
            votes: 1,
            scale: SCALE,
            at_least: AT_LEAST,
            prompt: None,
            examples: Vec::new(),
        }
    }

    /// A text to which the embedding of the answer must be near, by the vectors of this model.
    pub(super) fn of_embedding(text: &str, model: String, at_least: f64) -> Self {
        Self { measure: Measure::Embedding, models: vec![model], at_least, ..Self::of(text) }
    }

    /// Reads a table that has the key `rubric`.
    pub(super) fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let mut rubric = Self::of("");
        for entry in entry.entries()? {
            match entry.key {
                RUBRIC => rubric.text = entry.non_blank_text()?,
                "model" => rubric.models = entry.texts()?,
                "votes" => rubric.votes = within(&entry, MOST_VOTES)?,
                "scale" => rubric.scale = within(&entry, MOST_SCALE)?,
                "at_least" => rubric.at_least = threshold(&entry)?,
                "prompt" => rubric.prompt = Some(entry.non_blank_text()?),
                "examples" => rubric.examples = examples(&entry)?,
                _ => {
                    let found = entry.unknown(&KEYS);
                    let message =
                        format!("{}; where this table is the answer, write expect = {{ value = … }}", found.message);
                    return Err(Problem { message, ..found });
                }
            }
        }
        // A prompt that no judge could run with is reported here, not after the first run.
        match rubric.prompt.as_ref().map(|_| Plan::new(&rubric.judge())) {
            None | Some(Ok(_)) => Ok(rubric),
            Some(Err(found)) => {
                let why: Vec<_> = found.iter().filter(|one| one.is_error()).map(|one| one.message.as_str()).collect();
                Err(entry.problem(format!("`{}`: the judge cannot run: {}", entry.path, why.join("; "))))
            }
        }
    }

    /// The agent that judges: one run gives one vote.
    pub fn judge(&self) -> Agent {
        let examples = if self.examples.is_empty() { "" } else { ", examples [:any]" };
        let score = Json::empty()
            .with("type", Json::str("integer"))
            .with("minimum", Node::Int(0).into())
            .with("maximum", Node::Int(i64::from(self.scale)).into());
        let properties =
            Json::empty().with("reason", Json::empty().with("type", Json::str("string"))).with("score", score);
        let schema = Json::empty()
            .with("type", Json::str("object"))
            .with("properties", properties)
            .with("required", Json::list([Json::str("reason"), Json::str("score")]))
            .with("additionalProperties", Node::Bool(false).into());
        let described = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        Agent {
            name: "judge".to_owned(),
            description: Some("Judges an answer by a rubric.".to_owned()),
            mode: Mode::Json,
            prompt: self.prompt.clone().unwrap_or_else(|| PROMPT.trim_end().to_owned()),
            signature: Some(format!("(rubric :string, scale :int, inputs :any, answer :any{examples})")),
            schema: Some(schema),
            context_descriptions: vec![
                described("inputs", "what the assistant was given"),
                described("answer", "the answer to judge"),
                described("examples", "other answers with the scores that a user gave them"),
            ],
            ..Agent::default()
        }
    }

    /// The inputs of the judge's run about this answer of a run.
    pub fn inputs(&self, answer: &Json, step: &Step) -> Json {
        let given = Json::empty()
            .with("rubric", Json::str(&self.text))
            .with("scale", Node::Int(i64::from(self.scale)).into())
            .with("inputs", step.context.clone().unwrap_or_else(Json::empty))
            .with("answer", answer.clone());
        if self.examples.is_empty() {
            return given;
        }
        given.with("examples", Json::list(self.examples.iter().map(|example| self.example(example))))
    }

    /// An example as a judge reads it: its score on the judge's scale.
    fn example(&self, example: &RubricExample) -> Json {
        #[expect(clippy::cast_possible_truncation, reason = "from 0 to the scale")]
        let score = (example.score * f64::from(self.scale)).round() as i64;
        let mut json = Json::empty();
        if let Some(inputs) = &example.inputs {
            json = json.with("inputs", inputs.clone());
        }
        json = json.with("answer", example.answer.clone());
        if let Some(reason) = &example.reason {
            json = json.with("reason", Json::str(reason));
        }
        json.with("score", Node::Int(score).into())
    }

    /// Score and reason of a judge's answer: the score as a share of the scale. Errors: the judge failed, or did not answer as asked.
    pub fn vote(&self, step: &Step) -> Result<(f64, String), String> {
        if let Some(fail) = &step.fail {
            return Err(format!("{}: {}", fail.reason, fail.message));
        }
        let answer = step.answer.as_ref();
        let score = answer.and_then(|answer| answer.get("score")).and_then(|score| match score.node {
            Node::Int(score) => u32::try_from(score).ok().filter(|score| *score <= self.scale),
            _ => None,
        });
        let score = score.ok_or_else(|| format!("the judge gave no score from 0 to {}", self.scale))?;
        let reason = answer.and_then(|answer| answer.get("reason")).and_then(Json::as_str).unwrap_or_default();
        Ok((f64::from(score) / f64::from(self.scale), reason.trim().to_owned()))
    }

    /// The ruling of these votes.
    pub fn ruling(&self, votes: Vec<Vote>) -> Ruling {
        #[expect(clippy::cast_precision_loss, reason = "a count of votes")]
        let score = votes.iter().map(|vote| vote.score).sum::<f64>() / votes.len().max(1) as f64;
        let passed = score + super::judge::ROUNDING >= self.at_least;
        Ruling {
            rubric: self.text.clone(),
            measure: self.measure,
            score,
            at_least: self.at_least,
            passed,
            votes,
            answer_sha: None,
        }
    }

    /// The rubric in words.
    pub(super) fn outline(&self) -> String {
        if self.measure == Measure::Embedding {
            let (text, least, models) = (&self.text, self.at_least, self.models.join(", "));
            return format!("similarity to {text:?} of at least {least}, by embeddings of {models}");
        }
        let judges = if self.models.is_empty() { "a model".to_owned() } else { self.models.join(", ") };
        let votes = if self.votes > 1 { format!(", {} votes each", self.votes) } else { String::new() };
        format!("{}\njudged by {judges}{votes}: a score of at least {}", self.text, self.at_least)
    }
}

impl RubricExample {
    /// The example as an agent file holds it.
    pub fn to_json(&self) -> Json {
        let mut json = Json::empty();
        if let Some(inputs) = &self.inputs {
            json = json.with("inputs", inputs.clone());
        }
        json = json.with("answer", self.answer.clone()).with("score", Node::Float(self.score).into());
        match &self.reason {
            Some(reason) => json.with("reason", Json::str(reason)),
            None => json,
        }
    }
}

impl Ruling {
    /// The reasons of the votes, in one line; with several votes each with its judge and score.
    pub fn reasons(&self) -> String {
        match self.votes.as_slice() {
            [only] => only.reason.clone(),
            several => {
                let of = |vote: &Vote| format!("{} {:.2}: {}", vote.model, vote.score, vote.reason);
                several.iter().map(of).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The name of the score.
    fn score_name(&self) -> &'static str {
        if self.measure.is_judge() { "judged score" } else { "similarity" }
    }

    /// Score, threshold and reasons in one line.
    pub fn line(&self) -> String {
        format!("score {:.2}, at least {} passes: {}", self.score, self.at_least, self.reasons())
    }

    /// The message of a ruling that does not pass.
    pub(super) fn why(&self) -> String {
        let name = self.score_name();
        format!("the {name} is {:.2}, expected at least {}: {}", self.score, self.at_least, self.reasons())
    }

    /// The cost of its votes that was paid now, as far as it is known.
    pub fn spent(&self) -> f64 {
        self.votes.iter().map(|vote| vote.from_cache.spent(vote.cost)).sum()
    }

    /// The usage of its votes that came from the cache.
    pub fn from_cache(&self) -> FromCache {
        self.votes.iter().fold(FromCache::default(), |sum, vote| sum.plus(vote.from_cache))
    }
}

/// The usage of the judges of several rulings together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct JudgesUsage {
    /// Votes.
    pub votes: u64,
    /// Tokens, as far as they are counted.
    pub tokens: u64,
    /// Cost in the price table's unit, as far as it is known.
    pub cost: f64,
}

impl JudgesUsage {
    /// The sum over rulings; `None` where there are none.
    pub fn of<'r>(rulings: impl Iterator<Item = &'r Ruling>) -> Option<Self> {
        let votes = rulings.flat_map(|ruling| &ruling.votes);
        let add = |sum: Self, vote: &Vote| Self {
            votes: sum.votes + 1,
            tokens: sum.tokens + vote.tokens.map_or(0, |tokens| tokens.total()),
            cost: sum.cost + vote.cost.unwrap_or_default(),
        };
        Some(votes.fold(Self::default(), add)).filter(|sum| sum.votes > 0)
    }
}

/// A whole number from 1.
fn within(entry: &Entry<'_>, most: u64) -> Result<u32, Problem> {
    let count = entry.count()?;
    let number = u32::try_from(count).ok().filter(|_| (1..=most).contains(&count));
    number.ok_or_else(|| entry.problem(format!("`{}` must be between 1 and {most}, found {count}", entry.path)))
}

fn examples(entry: &Entry<'_>) -> Result<Vec<RubricExample>, Problem> {
    let items = entry.json.items().ok_or_else(|| entry.expected("a list of examples"))?;
    let example = |(place, json): (usize, &Json)| {
        let entry = Entry { path: format!("{}.{place}", entry.path), json, ..entry.clone() };
        let (mut inputs, mut answer, mut score, mut reason) = (None, None, None, None);
        for entry in entry.entries()? {
            match entry.key {
                "inputs" => inputs = Some(entry.json.clone()),
                "answer" => answer = Some(entry.json.clone()),
                "score" => score = Some(threshold(&entry)?),
                "reason" => reason = Some(entry.text()?),
                _ => return Err(entry.unknown(&EXAMPLE_KEYS)),
            }
        }
        let answer = answer.ok_or_else(|| entry.missing("answer"))?;
        Ok(RubricExample { inputs, answer, score: score.ok_or_else(|| entry.missing("score"))?, reason })
    };
    items.iter().enumerate().map(example).collect()
}

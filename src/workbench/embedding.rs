//! Similarity of answers by embeddings: the ruling on a rubric that is a text which the answer must be near to.
//!
//! In: a question, the run that is judged. Out: a ruling with one vote, whose score is the cosine of both embeddings and whose tokens and
//! cost are those of the requests that were needed. A text is embedded once by each model of a suite or a matrix. Recorded rulings are
//! reused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::reasons::Reason;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::judging::JudgedRun;
use super::{StartError, Workbench};
use crate::agent::{Question, Ruling, Vote};
use crate::config::ModelChoice;
use crate::event::{FromCache, Tokens};
use crate::model::{Embedding, Endpoint, cosine, embedded, has_embeddings, hashed};
use crate::port::Stop;

/// Vectors that are kept; all are forgotten when there are more.
const MAX_VECTORS: usize = 2_000;

/// A text of a model: its name and a hash.
type Key = (String, [u8; 32]);

/// The vector of a text, once it has come.
type PendingEmbedding = Arc<OnceCell<Arc<Embedding>>>;

/// Vectors by model and text. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Embeddings(Arc<Mutex<HashMap<Key, PendingEmbedding>>>);

impl Embeddings {
    fn of(&self, model: &str, text: &str) -> PendingEmbedding {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_VECTORS {
            known.clear();
        }
        let key = (model.to_owned(), Sha256::digest(text.as_bytes()).into());
        Arc::clone(known.entry(key).or_default())
    }
}

impl Workbench {
    /// Checks that this model can make embeddings. Errors: what is wrong with it and what to do.
    pub(super) fn check_embedding_model(&self, name: &str) -> Result<(), StartError> {
        match self.choose(name)? {
            ModelChoice::Http(model) if has_embeddings(model.kind) => Ok(()),
            ModelChoice::Sample(_) => Ok(()),
            _ => Err(StartError::Model {
                reason: Reason::LlmNotFound,
                message: format!(
                    "the model `{name}` makes no embeddings: name an embedding model of a provider with the protocol openai, gemini or \
                     ollama, or `sample`, which compares words without a model"
                ),
            }),
        }
    }

    /// Returns the ruling by embeddings; if there is none, a ruling without votes and the reason.
    pub(super) async fn similarity(
        &self,
        question: &Question,
        run: &JudgedRun,
        stop: &Stop,
    ) -> (Ruling, Option<String>) {
        let rubric = &question.rubric;
        let model = rubric.models.first().cloned().unwrap_or_default();
        let answer_sha = Some(question.answer_sha());
        let ruling = |vote: Vec<Vote>| Ruling { answer_sha: answer_sha.clone(), ..rubric.ruling(vote) };
        let is_known = |known: &&Ruling| {
            let asked = known.votes.first().map(|vote| vote.model.as_str());
            (known.measure, &known.rubric, &known.answer_sha) == (rubric.measure, &rubric.text, &answer_sha)
                && asked == Some(model.as_str())
        };
        if let Some(vote) = run.recorded.iter().rfind(is_known).and_then(|known| known.votes.first()) {
            let from_cache = FromCache { replies: 1, cost: vote.cost.unwrap_or_default() };
            return (ruling(vec![Vote { from_cache, ..vote.clone() }]), None);
        }
        let texts = [rubric.text.as_str(), question.answer.as_str().unwrap_or_default()];
        let asked = async {
            let (mut vectors, mut spent) = (Vec::new(), Spent::default());
            for text in texts {
                vectors.push(self.embedding(&model, text, &mut spent).await?);
            }
            let score = match vectors.as_slice() {
                [one, other] => cosine(&one.vector, &other.vector),
                _ => None,
            };
            score.map(|score| (score, spent)).ok_or_else(|| "the embeddings cannot be compared".to_owned())
        };
        let outcome = tokio::select! {
            biased;
            () = stop.token().cancelled() => Err("it was stopped".to_owned()),
            outcome = asked => outcome,
        };
        match outcome {
            Ok((score, spent)) => {
                let vote = Vote {
                    score,
                    reason: format!("embeddings of {model}"),
                    model,
                    session: None,
                    tokens: spent.tokens,
                    cost: spent.cost,
                    from_cache: FromCache::default(),
                };
                (ruling(vec![vote]), None)
            }
            Err(why) => (ruling(Vec::new()), Some(why)),
        }
    }

    /// The vector of a text. Adds what a request costs where one is needed.
    async fn embedding(&self, name: &str, text: &str, spent: &mut Spent) -> Result<Arc<Embedding>, String> {
        let pending = self.embeddings.of(name, text);
        let found = pending.get_or_try_init(|| async {
            match self.choose(name).map_err(|error| error.to_string())? {
                ModelChoice::Sample(_) => Ok(Arc::new(Embedding { vector: hashed(text), tokens: None })),
                ModelChoice::Http(model) => {
                    let gate = self.gates.of(&model.provider, &self.config);
                    let endpoint = Endpoint::from(*model);
                    let found = embedded(&endpoint, text, &gate).await;
                    let found = found.map_err(|error| {
                        let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                        format!("{}{hint}", error.message)
                    })?;
                    spent.add(&endpoint, found.tokens);
                    Ok(Arc::new(found))
                }
                _ => Err(format!("the model `{name}` makes no embeddings")),
            }
        });
        found.await.cloned()
    }
}

/// Usage of the requests of a ruling; `None` where nothing was counted or no price is known.
#[derive(Debug, Default)]
struct Spent {
    tokens: Option<Tokens>,
    cost: Option<f64>,
}

impl Spent {
    fn add(&mut self, endpoint: &Endpoint, tokens: Option<u64>) {
        let Some(input) = tokens else { return };
        let more = Tokens { input, ..Tokens::default() };
        self.tokens = Some(self.tokens.unwrap_or_default().plus(&more));
        if let Some(price) = endpoint.price {
            self.cost = Some(self.cost.unwrap_or_default() + price.cost(&more));
        }
    }
}

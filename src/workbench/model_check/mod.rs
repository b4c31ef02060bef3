//! A check of a provider's model: a few small requests show what it can do, and the user's catalogue keeps what it refused.
//!
//! In: the name of a model, and the user's consent to an estimate. Out: one row per capability, and a row of `catalog.toml`, so that
//! later requests do without what was refused. It must never send anything before the estimate was shown, nor store a reply.

mod observation;
mod probes;

use std::path::PathBuf;

use ptc_core::reasons::Reason;
use serde::Serialize;

use super::models::unusable_model;
use super::{StartError, Workbench};
use crate::config::{HttpModel, LearnedModel, LearnedModels, ModelChoice, Protocol, Restriction, without_query};
use crate::event::{Price, StructuredBy, Tokens};
use crate::model::{Adapter, ErrorClass, ModelError, Request, shown_address};
use observation::RequestObservation;
use probes::{History, PROBES, Probe};

/// Tokens that one reply of a check may have.
const REPLY_TOKENS: u64 = 1_024;
/// Requests for an answer that fits a schema: one for each way, as servers refuse them.
const SCHEMA_REQUESTS: usize = 4;

/// Reaction of a server to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// It does it.
    Yes,
    /// It does part of it, or does it in another way.
    Partly,
    /// It does not.
    No,
    /// It was not tried.
    Untried,
}

/// The result of one probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// The capability, by name.
    pub name: &'static str,
    /// The reaction of the server.
    pub ability: Ability,
    /// The answer in short, or the error.
    pub note: String,
    /// Refusals of the server before it answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
}

/// Estimated cost of a check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckEstimate {
    /// Requests, if none is refused.
    pub requests: u64,
    /// Estimated input tokens.
    pub input: u64,
    /// The most output tokens.
    pub output: u64,
    /// The most that these tokens cost, where prices are known.
    pub cost: Option<f64>,
}

/// A check that has not started.
#[derive(Debug)]
pub struct ModelCheck {
    model: HttpModel,
    /// Asks for replies at once.
    whole: Adapter,
    /// Asks for replies in pieces.
    streamed: Adapter,
    /// Asks for a model that does not exist.
    wrong: Adapter,
    catalogue: PathBuf,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub id: String,
    /// The protocol.
    pub kind: &'static str,
    /// The address, without query.
    pub url: String,
    /// One row per capability.
    pub abilities: Vec<CheckRow>,
    /// The way in which it takes a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<StructuredBy>,
    /// Features that it refused.
    pub refused: Vec<Restriction>,
    /// Requests that were sent.
    pub requests: u32,
    /// Tokens that the server counted.
    pub tokens: Tokens,
    /// Their cost, where prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Workbench {
    /// Prepares the check of a provider's model; nothing is sent. Errors: an unknown or built-in model, a missing key, unusable settings.
    pub fn check_of(&self, name: &str) -> Result<ModelCheck, StartError> {
        let ModelChoice::Http(model) = self.choose(name)? else {
            let message =
                format!("`{name}` is built in; only models of a provider can be checked, as in `openai:gpt-5.4`");
            return Err(StartError::Model { reason: Reason::LlmNotFound, message });
        };
        // The check begins without what an earlier one found out, and with every way of sending a schema.
        let known = self.config.facts(&model.provider, &model.id);
        let model = HttpModel { refused: Vec::new(), structured_output: None, known, ..*model };
        let adapter = |stream: bool, id: &str| {
            let gate = self.gates.of(&model.provider, &self.config);
            let asked = HttpModel { stream, id: id.to_owned(), ..model.clone() };
            Adapter::new(asked.into()).map(|adapter| adapter.gate(gate)).map_err(unusable_model)
        };
        let (whole, streamed) = (adapter(false, &model.id)?, adapter(true, &model.id)?);
        whole.check_key().map_err(unusable_model)?;
        let wrong = adapter(false, probes::UNKNOWN_MODEL)?;
        Ok(ModelCheck { whole, streamed, wrong, catalogue: LearnedModels::path(&self.folders), model })
    }
}

impl ModelCheck {
    /// The address that is asked, without query.
    pub fn url(&self) -> String {
        shown_address(&self.model.base_url)
    }

    /// Provider and id of the model.
    pub fn name(&self) -> String {
        format!("{}:{}", self.model.provider, self.model.id)
    }

    /// The protocol spoken.
    pub fn kind(&self) -> Protocol {
        self.model.kind
    }

    /// The file that gets the result.
    pub fn catalogue(&self) -> &std::path::Path {
        &self.catalogue
    }

    /// Returns the maximum cost of the check, if the server refuses nothing.
    pub fn estimate(&self) -> CheckEstimate {
        let history = History::example();
        let bytes = |probe: &Probe| self.whole.body(&probe.request(&self.model.options, &history)).to_text().len();
        let asked = |probe: &&Probe| **probe != Probe::StrictTools || self.model.kind.has_strict_tools();
        let probes: Vec<&Probe> = PROBES.iter().filter(asked).collect();
        let input = u64::try_from(probes.iter().copied().map(bytes).sum::<usize>() / 4).unwrap_or(u64::MAX);
        let requests = u64::try_from(probes.len()).unwrap_or(u64::MAX);
        let output = requests.saturating_mul(REPLY_TOKENS);
        let tokens = Tokens { input, output, ..Tokens::default() };
        CheckEstimate { requests, input, output, cost: self.model.price.map(|price| price.cost(&tokens)) }
    }

    /// Runs the check and reports each row as it is known. Error: the model does not answer a plain question, for this reason.
    pub async fn run(&self, mut report: impl FnMut(&CheckRow)) -> Result<CheckReport, ModelError> {
        let mut check = Progress::default();
        let mut history = History::example();
        let mut is_streamed = true;
        for probe in PROBES {
            let row = match probe {
                Probe::StrictTools if !self.model.kind.has_strict_tools() => {
                    probe.untried("not supported by the protocol")
                }
                Probe::ToolResults if !check.has_called => probe.untried("the model called no tool"),
                _ => {
                    let request = probe.request(&self.model.options, &history);
                    let adapter = match probe {
                        Probe::Text => &self.whole,
                        Probe::UnknownModel => &self.wrong,
                        _ if is_streamed => &self.streamed,
                        _ => &self.whole,
                    };
                    let mut seen = check.observe(adapter, &request).await;
                    if *probe == Probe::Schema {
                        seen = check.observe_schema(adapter, &request, seen).await;
                    }
                    if let (Probe::Text, Err(error)) = (probe, &seen.result) {
                        return Err(error.clone());
                    }
                    if let (Probe::Tools, Ok(reply)) = (probe, &seen.result)
                        && !reply.calls.is_empty()
                    {
                        check.has_called = true;
                        history = History::of(reply);
                    }
                    probe.judge(&seen)
                }
            };
            if *probe == Probe::Streaming {
                is_streamed = row.ability != Ability::No;
            }
            report(&row);
            check.rows.push(row);
        }
        let streaming = (!is_streamed).then_some(Restriction::Streaming);
        let learned = if is_streamed { self.streamed.learned() } else { self.whole.learned() };
        Ok(check.report(&self.model, streaming.into_iter().chain(learned).collect(), self.url()))
    }

    /// Writes the result into the user's catalogue.
    pub fn save(&self, report: &CheckReport) -> std::io::Result<()> {
        let model = LearnedModel {
            provider: self.model.provider.clone(),
            id: self.model.id.clone(),
            kind: self.model.kind.name().to_owned(),
            address: without_query(&self.model.base_url).to_owned(),
            checked: jiff::Zoned::now().date().to_string(),
            structured_output: report.structured_output,
            refused: report.refused.clone(),
        };
        LearnedModels::save(&self.catalogue, model)
    }
}

/// A check that is running.
#[derive(Default)]
struct Progress {
    rows: Vec<CheckRow>,
    requests: u32,
    tokens: Tokens,
    has_called: bool,
    structured_output: Option<StructuredBy>,
}

impl Progress {
    async fn observe(&mut self, adapter: &Adapter, request: &Request) -> RequestObservation {
        let seen = RequestObservation::of(adapter, request).await;
        self.requests = self.requests.saturating_add(seen.requests);
        self.tokens.input = self.tokens.input.saturating_add(seen.tokens.input);
        self.tokens.output = self.tokens.output.saturating_add(seen.tokens.output);
        seen
    }

    /// Asks again as long as the adapter learns from answers that do not fit the schema.
    async fn observe_schema(
        &mut self,
        adapter: &Adapter,
        request: &Request,
        first: RequestObservation,
    ) -> RequestObservation {
        let mut seen = first;
        for _ in 1..SCHEMA_REQUESTS {
            if seen.result.is_err() || probes::fits_schema(&seen) || !seen.has_notice() {
                break;
            }
            let next = self.observe(adapter, request).await;
            seen = RequestObservation { notices: [seen.notices, next.notices].concat(), ..next };
        }
        let fits = probes::fits_schema(&seen);
        self.structured_output = seen.result.as_ref().ok().and_then(|reply| reply.structured_by).filter(|_| fits);
        seen
    }

    fn report(self, model: &HttpModel, refused: Vec<Restriction>, url: String) -> CheckReport {
        let price: Option<Price> = model.price;
        CheckReport {
            provider: model.provider.clone(),
            id: model.id.clone(),
            kind: model.kind.name(),
            url,
            abilities: self.rows,
            structured_output: self.structured_output,
            refused,
            requests: self.requests,
            tokens: self.tokens,
            cost: price.map(|price| price.cost(&self.tokens)),
        }
    }
}

/// Returns whether an error is the service's response to the request, and not an error of the network or the program. Rate limits do not
/// count.
fn is_refusal(error: &ModelError) -> bool {
    error.status.is_some_and(|status| (400..500).contains(&status)) && error.class != ErrorClass::RateLimit
}

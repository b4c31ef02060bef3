//! A model service that counts: agents by the words in their prompts, faults as planned, and the tokens of every count that it sent.
//!
//! In: requests of the agents `boss` and `helper`. Out: replies, broken replies and refusals. It keeps what a provider would charge.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::openai::server::{Play, Received, Server, delta};

/// Price per million tokens, as configured.
pub(super) const PRICE: (f64, f64) = (1.0, 2.0);

/// Fault of the service on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing: a whole reply with its count.
    None,
    /// The stream is cut after the count.
    CutAfterCount,
    /// The stream is cut before the count.
    CutBeforeCount,
    /// Too many requests.
    TooMany,
    /// An error of the server.
    Internal,
}

/// Numbers that look like chance and are the same each time.
#[derive(Debug, Clone)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Counts of the service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) requests: u64,
    pub(super) input: u64,
    pub(super) output: u64,
}

impl Counted {
    pub(super) fn cost(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let cost = |count: u64, price: f64| count as f64 * price / 1e6;
        cost(self.input, PRICE.0) + cost(self.output, PRICE.1)
    }
}

/// A running service.
pub(super) struct Service {
    pub(super) server: Server,
    counted: Arc<Mutex<Vec<(bool, Counted)>>>,
}

/// A whole streamed reply: text and calls, the finish reason, and its count.
fn reply(text: &str, calls: &[(&str, Value)], (input, output): (u64, u64)) -> [String; 3] {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, args))| {
            let function = json!({"name": name, "arguments": args.to_string()});
            json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function})
        })
        .collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut words = delta(text);
    if !calls.is_empty() {
        let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
        words = format!("{words}data: {delta}\n\n");
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}});
    [words, format!("data: {last}\n\n"), format!("data: {usage}\n\n")]
}

impl Service {
    /// Starts the service. `script`: the text and the calls for the request with this number of an agent (true: `boss`), and the fault.
    pub(super) async fn start(
        script: impl Fn(usize, bool, &Received) -> (String, Vec<(&'static str, Value)>, Fault) + Send + Sync + 'static,
    ) -> Self {
        let counted: Arc<Mutex<Vec<(bool, Counted)>>> = Arc::default();
        let kept = Arc::clone(&counted);
        let server = Server::script(move |number, received| {
            let boss = received.body.contains("You are the boss");
            let (text, calls, fault) = script(number, boss, received);
            let (input, output) = (11 + number as u64, 5 + number as u64 % 3);
            let is_counted = matches!(fault, Fault::None | Fault::CutAfterCount);
            let of_request = if is_counted { (input, output) } else { (0, 0) };
            let entry = Counted { requests: 1, input: of_request.0, output: of_request.1 };
            kept.lock().unwrap().push((boss, entry));
            let [words, end, usage] = reply(&text, &calls, (input, output));
            match fault {
                Fault::None => Play::events([words, end, usage, "data: [DONE]\n\n".to_owned()]),
                Fault::CutAfterCount => Play::cut([words, usage]),
                Fault::CutBeforeCount => Play::cut([words]),
                Fault::TooMany => {
                    let body = json!({"error": {"message": "slow down", "type": "rate_limit"}});
                    Play::json("429 Too Many Requests", body.to_string())
                }
                Fault::Internal => Play::json("500 Internal Server Error", r#"{"error":{"message":"oh"}}"#),
            }
        })
        .await;
        Self { server, counted }
    }

    /// Returns the counts of an agent, or of all.
    pub(super) fn counted(&self, of: Option<bool>) -> Counted {
        let counted = self.counted.lock().unwrap();
        let of = counted.iter().filter(|(boss, _)| of.is_none_or(|of| of == *boss));
        of.fold(Counted::default(), |sum, (_, one)| Counted {
            requests: sum.requests + one.requests,
            input: sum.input + one.input,
            output: sum.output + one.output,
        })
    }

    /// The configuration that names it as the model `m`.
    pub(super) fn config(&self) -> String {
        format!(
            "default_model = \"m\"\n[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n[models.m]\nprovider = \"local\"\nid = \"m-1\"\n\
             price = {{ input = {:?}, output = {:?} }}\n",
            self.server.base_url, PRICE.0, PRICE.1
        )
    }
}

//! The body of a messages request.
//!
//! In: a question and what the server is known to accept. Out: the body.
//! Text blocks are never empty, results stand first in their message, and the roles alternate: the service demands all three.

use ptc_core::value::Json;

use super::takes_sampling;
use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::dialect::SchemaForm;
use crate::model::fields::Fields;
use crate::model::history::{Spoken, accepted, arguments, spoken};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::schema::{closed, written};

/// Tokens of an answer whose limit nobody set: the service demands one.
const MAX_TOKENS: u64 = 8_192;
/// What stands where nothing was said.
const NOTHING: &str = "(empty)";

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let effort = Effort::of(options.reasoning.as_deref(), dialect.effort_word);
    let room = options.max_tokens.or(endpoint.known.max_output).unwrap_or(MAX_TOKENS);
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling && takes_sampling(endpoint)).map(Json::from);
    let (tools, choice) = tools(draft);
    Fields::default()
        .with("model", Json::str(endpoint.id.as_str()))
        .with(
            "max_tokens",
            effort.budget().map_or(room, |budget| room.max(budget.saturating_add(room.min(MAX_TOKENS)))),
        )
        .maybe(
            "system",
            request.system.as_deref().filter(|text| !text.trim().is_empty()).map(|text| system(text, request.cache)),
        )
        .with("messages", messages(draft))
        .with("stream", endpoint.stream)
        .maybe("temperature", sampled(options.temperature))
        .maybe("top_p", sampled(options.top_p))
        .list("stop_sequences", options.stop.iter().map(|text| Json::str(text.as_str())).collect())
        .maybe("thinking", effort.thinking())
        .list("tools", tools)
        .maybe("tool_choice", choice)
        .maybe("output_config", output(draft, &effort))
        .into()
}

/// How much to reason.
enum Effort<'a> {
    Unsaid,
    Off,
    Word(&'a str),
    Tokens(u64),
}

impl<'a> Effort<'a> {
    /// A number is a number of tokens, anything else a word; where words are refused they become numbers.
    fn of(asked: Option<&'a str>, words: bool) -> Self {
        match asked {
            None => Self::Unsaid,
            Some("none" | "off" | "disabled" | "0") => Self::Off,
            Some(word) => match (word.parse(), words) {
                // Less than this is refused.
                (Ok(tokens), _) => Self::Tokens(u64::max(tokens, 1_024)),
                (Err(_), true) => Self::Word(word),
                (Err(_), false) => Self::Tokens(match word {
                    "minimal" | "low" => 2_048,
                    "high" | "xhigh" | "max" => 16_384,
                    _ => 8_192,
                }),
            },
        }
    }

    fn budget(&self) -> Option<u64> {
        if let Self::Tokens(tokens) = self { Some(*tokens) } else { None }
    }

    fn thinking(&self) -> Option<Json> {
        let typed = |name: &str| Fields::default().with("type", Json::str(name));
        Some(match self {
            Self::Unsaid => return None,
            Self::Off => typed("disabled").into(),
            Self::Word(_) => typed("adaptive").into(),
            Self::Tokens(tokens) => typed("enabled").with("budget_tokens", *tokens).into(),
        })
    }
}

fn output(draft: &Draft<'_>, effort: &Effort<'_>) -> Option<Json> {
    let word = if let Effort::Word(word) = effort { Some(*word) } else { None };
    let format = draft.schema(StructuredBy::JsonSchema).map(|schema| {
        let schema = match draft.dialect.form {
            SchemaForm::Strict => written(schema, SchemaForm::Strict),
            _ => closed(schema),
        };
        Fields::default().with("type", Json::str("json_schema")).with("schema", schema).into()
    });
    Fields::default().text("effort", word).maybe("format", format).filled()
}

fn block(kind: &str) -> Fields {
    Fields::default().with("type", Json::str(kind))
}

fn text(text: &str) -> Fields {
    block("text").with("text", Json::str(if text.trim().is_empty() { NOTHING } else { text }))
}

/// Everything up to here is to be cached.
fn cached(block: Fields, cache: bool) -> Json {
    block.maybe("cache_control", cache.then(|| self::block("ephemeral").into())).into()
}

/// The system text, in the form of a block only where it carries a mark.
fn system(said: &str, cache: bool) -> Json {
    if cache { Json::list([cached(text(said), true)]) } else { Json::str(said) }
}

fn tools(draft: &Draft<'_>) -> (Vec<Json>, Option<Json>) {
    let named = |name: &str, about: Option<&str>, schema: Json| -> Json {
        let tool = Fields::default().with("name", Json::str(name)).text("description", about);
        tool.with("input_schema", schema).into()
    };
    let mut all: Vec<Json> = draft
        .request
        .tools
        .iter()
        .map(|tool| named(&tool.name, tool.description.as_deref(), tool.parameters.json()))
        .collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = all.is_empty() && draft.dialect.named;
        let choice = if by_name { block("tool").with("name", Json::str(RESPOND)) } else { block("any") };
        all.push(named(RESPOND, Some(RESPOND_ABOUT), written(schema, draft.dialect.form)));
        choice.into()
    });
    (all, choice)
}

/// One message: who speaks, and its blocks.
struct Turn {
    role: &'static str,
    blocks: Vec<Fields>,
}

fn messages(draft: &Draft<'_>) -> Json {
    let mut turns: Vec<Turn> = Vec::new();
    for turn in spoken(draft.request, &draft.endpoint.provider) {
        let (role, blocks) = match turn {
            Spoken::System(said) if takes_sampling(draft.endpoint) => ("user", vec![text(&said)]),
            Spoken::System(said) => ("system", vec![text(&said)]),
            Spoken::User(said) => ("user", vec![text(&said)]),
            Spoken::Assistant { text, calls, opaque } => ("assistant", assistant(&text, &calls, opaque)),
            Spoken::Results(results) => {
                let result = |answer: &crate::model::history::Answered<'_>| {
                    block("tool_result")
                        .with("tool_use_id", Json::str(id(answer.id)))
                        .with("content", Json::str(answer.result))
                };
                ("user", results.iter().map(result).collect())
            }
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.blocks.extend(blocks),
            _ => turns.push(Turn { role, blocks }),
        }
    }
    let last = turns.len().saturating_sub(1);
    Json::list(turns.into_iter().enumerate().map(|(place, turn)| {
        // What was said so far is cached as well: the next turn begins with it.
        let cache = draft.request.cache && place == last;
        let count = turn.blocks.len();
        let blocks =
            turn.blocks.into_iter().enumerate().map(|(place, block)| cached(block, cache && place + 1 == count));
        Fields::default().with("role", Json::str(turn.role)).with("content", Json::list(blocks)).into()
    }))
}

/// Text, calls, and the reasoning between them at the places where it stood.
fn assistant(said: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Vec<Fields> {
    let own = if said.trim().is_empty() { None } else { Some(text(said)) };
    let calls = calls.iter().map(|call| {
        Some(
            block("tool_use")
                .with("id", Json::str(id(&call.id)))
                .with("name", Json::str(accepted(&call.name, "unknown")))
                .with("input", arguments(call)),
        )
    });
    let reasoning = opaque.map(JsonText::json).unwrap_or_default();
    let mut out = Vec::new();
    for (place, block) in [own].into_iter().chain(calls).enumerate() {
        let here =
            reasoning.items().unwrap_or_default().iter().filter(|part| part.get("place") == Some(&Json::from(place)));
        out.extend(here.filter_map(|part| part.get("block")).map(given_back));
        out.extend(block);
    }
    out
}

/// A reasoning block exactly as the service made it.
fn given_back(given: &Json) -> Fields {
    let text = |key: &str| given.get(key).and_then(Json::as_str);
    match text("type") {
        Some("redacted_thinking") => block("redacted_thinking").text("data", text("data")),
        _ => block("thinking").text("thinking", text("thinking")).text("signature", text("signature")),
    }
}

/// An id as the service accepts it; ids of other services may hold more kinds of characters.
fn id(id: &str) -> String {
    accepted(id, "tool")
}

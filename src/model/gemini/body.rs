//! The body of a generateContent request.
//!
//! In: a question and what the server is known to accept. Out: the body. The model stands in the address, not here.

use ptc_core::value::{Json, json};

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::dialect::SchemaForm;
use crate::model::fields::{Fields, flag, real, whole};
use crate::model::history::{Answered, Spoken, accepted, arguments, spoken};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::schema::open_api;

/// What stands where nothing was said.
const NOTHING: &str = "(empty)";

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let system = draft.request.system.as_deref().filter(|text| !text.is_empty());
    let (tools, choice) = tools(draft);
    Fields::default()
        .maybe("systemInstruction", system.map(|said| Fields::default().with("parts", Json::list([text(said)])).into()))
        .with("contents", contents(draft))
        .list("tools", tools)
        .maybe("toolConfig", choice)
        .maybe("generationConfig", config(draft))
        .into()
}

fn config(draft: &Draft<'_>) -> Option<Json> {
    let Draft { request, dialect, .. } = draft;
    let options = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling).map(real);
    let schema = draft.schema(StructuredBy::JsonSchema);
    let is_json = schema.is_some() || draft.asks_for_object();
    let fields = Fields::default()
        .maybe("temperature", sampled(options.temperature))
        .maybe("topP", sampled(options.top_p))
        .maybe("maxOutputTokens", options.max_tokens.map(whole))
        .list("stopSequences", options.stop.iter().map(|text| Json::str(text.as_str())).collect())
        .maybe("seed", options.seed.map(whole))
        .text("responseMimeType", is_json.then_some("application/json"));
    with_schema(fields, ["responseSchema", "responseJsonSchema"], schema, dialect.form)
        .maybe("thinkingConfig", options.reasoning.as_deref().map(|asked| thinking(asked, dialect.effort_word)))
        .filled()
}

/// A schema under the first name in its older form, or under the second one as it is when that form cannot say it.
fn with_schema(fields: Fields, names: [&'static str; 2], schema: Option<&Json>, form: SchemaForm) -> Fields {
    let older = schema.filter(|_| form == SchemaForm::OpenApi).and_then(open_api);
    match older {
        Some(older) => fields.with(names[0], older),
        None => fields.maybe(names[1], schema.cloned()),
    }
}

/// A number is a number of tokens, anything else a word; where words are refused they become numbers.
fn thinking(asked: &str, words: bool) -> Json {
    let shown = flag(true);
    let tokens = match (asked.parse().ok(), asked) {
        (Some(tokens), _) => Some(tokens),
        (None, "none" | "off" | "disabled") => Some(0),
        (None, _) if words => None,
        (None, "minimal" | "low") => Some(1_024),
        (None, "high" | "xhigh" | "max") => Some(16_384),
        (None, _) => Some(8_192),
    };
    let fields = Fields::default().text("thinkingLevel", tokens.is_none().then_some(asked));
    fields.maybe("thinkingBudget", tokens.map(whole)).with("includeThoughts", shown).into()
}

fn tools(draft: &Draft<'_>) -> (Vec<Json>, Option<Json>) {
    let form = draft.dialect.form;
    let named = |name: &str, about: Option<&str>, schema: &Json| -> Json {
        let tool = Fields::default().with("name", Json::str(name)).text("description", about);
        // An object without properties is refused: without parameters nothing is said of them.
        let is_empty = schema.get("properties").and_then(Json::members).is_some_and(<[_]>::is_empty);
        with_schema(tool, ["parameters", "parametersJsonSchema"], Some(schema).filter(|_| !is_empty), form).into()
    };
    let mut all: Vec<Json> = draft
        .request
        .tools
        .iter()
        .map(|tool| named(&tool.name, tool.description.as_deref(), &tool.parameters.json()))
        .collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let allowed = all.is_empty().then(|| Json::list([Json::str(RESPOND)]));
        all.push(named(RESPOND, Some(RESPOND_ABOUT), schema));
        let calling = Fields::default().with("mode", Json::str("ANY")).maybe("allowedFunctionNames", allowed);
        Fields::default().with("functionCallingConfig", calling).into()
    });
    let list = (!all.is_empty()).then(|| Fields::default().with("functionDeclarations", Json::list(all)).into());
    (list.into_iter().collect(), choice)
}

fn text(said: &str) -> Json {
    Fields::default().with("text", Json::str(if said.is_empty() { NOTHING } else { said })).into()
}

fn contents(draft: &Draft<'_>) -> Json {
    let turns = spoken(draft.request, &draft.endpoint.provider).into_iter().map(|turn| match turn {
        Spoken::System(said) | Spoken::User(said) => ("user", vec![text(&said)]),
        Spoken::Assistant { text, calls, opaque } => ("model", model(&text, &calls, opaque)),
        Spoken::Results(results) => ("user", results.iter().map(result).collect()),
    });
    let turns = turns.filter(|(_, parts)| !parts.is_empty());
    Json::list(
        turns.map(|(role, parts)| {
            Fields::default().with("role", Json::str(role)).with("parts", Json::list(parts)).into()
        }),
    )
}

/// Text and calls, each with the signature that the service gave it.
fn model(said: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Vec<Json> {
    let given = opaque.map(JsonText::json).unwrap_or_default();
    let signature = |place: usize| {
        let place = whole(u64::try_from(place).unwrap_or(u64::MAX));
        let part = given.items().unwrap_or_default().iter().find(|part| part.get("place") == Some(&place));
        part.and_then(|part| part.get("thoughtSignature")).cloned()
    };
    let own = (!said.is_empty())
        .then(|| Fields::default().with("text", Json::str(said)).maybe("thoughtSignature", signature(0)).into());
    let calls = calls.iter().enumerate().map(|(place, call)| {
        let function = Fields::default()
            .text("id", own_id(&call.id))
            .with("name", Json::str(accepted(&call.name, "unknown")))
            .with("args", arguments(call));
        Fields::default().with("functionCall", function).maybe("thoughtSignature", signature(place + 1)).into()
    });
    own.into_iter().chain(calls).collect()
}

/// Results are objects there.
fn result(answer: &Answered<'_>) -> Json {
    let value = json::parse(answer.result).unwrap_or_else(|_| Json::str(answer.result));
    let value = if value.members().is_some() { value } else { Json::object([("result", value)]) };
    let response = Fields::default()
        .text("id", own_id(answer.id))
        .with("name", Json::str(accepted(answer.name, "unknown")))
        .with("response", value);
    Fields::default().with("functionResponse", response).into()
}

/// Ids that were made up here are none of the service's: without one, calls and results are paired by their order.
fn own_id(id: &str) -> Option<&str> {
    Some(id).filter(|id| !id.starts_with("tc_"))
}

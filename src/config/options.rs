//! Model options: the same keys in `[model_options]` of an agent file and in `[models.NAME]` of the configuration.

use ptc_core::value::Json;

use super::document::{Entry, Key, KeyDoc, Problem, set};
use super::{NOT_SECRET, is_plain_secret};
use crate::event::{JsonText, Options};

/// The options of a model: `[model_options]` of an agent, or keys of a model in the configuration.
pub const OPTIONS: &[Key<Options>] = &[
    Key {
        name: "temperature",
        about: KeyDoc::Text("number from 0", "", "Sampling temperature; the allowed range depends on the service."),
        read: |entry, options, problems| set(&mut options.temperature, entry.amount().map(Some), problems),
    },
    Key {
        name: "max_tokens",
        about: KeyDoc::Text("whole number from 1", "", "Maximum tokens of a reply."),
        read: |entry, options, problems| set(&mut options.max_tokens, at_least_one(entry).map(Some), problems),
    },
    Key {
        name: "top_p",
        about: KeyDoc::Text("number from 0 to 1", "", "Nucleus sampling: the probability mass to sample from."),
        read: |entry, options, problems| set(&mut options.top_p, share(entry).map(Some), problems),
    },
    Key {
        name: "stop",
        about: KeyDoc::Text("list of strings", "", "Strings that end a reply."),
        read: |entry, options, problems| set(&mut options.stop, entry.texts(), problems),
    },
    Key {
        name: "seed",
        about: KeyDoc::Text("whole number", "", "Seed, for services with reproducible sampling."),
        read: |entry, options, problems| set(&mut options.seed, entry.count().map(Some), problems),
    },
    Key {
        name: "reasoning",
        about: KeyDoc::Text("text", "", "Reasoning effort in the terms of the service: `low`, `medium`, `high`."),
        read: |entry, options, problems| set(&mut options.reasoning, entry.non_blank_text().map(Some), problems),
    },
    Key {
        name: "strict_tools",
        about: KeyDoc::Text(
            "true or false",
            "",
            "The service enforces the schemas of the tools on native calls, where it can (docs/structured-output.md); the default is that of the shipped table: true for `openai` and `anthropic`.",
        ),
        read: |entry, options, problems| set(&mut options.strict_tools, entry.flag().map(Some), problems),
    },
    Key {
        name: "strict_schema",
        about: KeyDoc::Text(
            "true or false",
            "true",
            "The schema of the answer is sent in the strict form that the service requires to enforce it: all properties are required, optional ones may be null. `false` sends it as it is.",
        ),
        read: |entry, options, problems| set(&mut options.strict_schema, entry.flag().map(Some), problems),
    },
    Key {
        name: EXTRA_BODY.0,
        about: EXTRA_BODY.1,
        read: |entry, options, problems| set(&mut options.extra_body, extra_body(entry).map(Some), problems),
    },
];

/// Name and documentation of the key `extra_body`, of model options and of providers.
pub(super) const EXTRA_BODY: (&str, KeyDoc) = (
    "extra_body",
    KeyDoc::Text(
        "table",
        "",
        "Further members of the request's body, as the service documents them (`top_k`, routing, service tier); the agent's take precedence over the model's, those over the provider's. Members that this program sets are refused.",
    ),
);

/// Reads a table of further members; values that look like keys are refused, because they would be in every session.
pub(super) fn extra_body(entry: &Entry<'_>) -> Result<JsonText, Problem> {
    if entry.json.members().is_none() {
        return Err(entry.expected("a table"));
    }
    if let Some(name) = plain_secret(entry.json) {
        let message =
            format!("`{}` carries a key in `{name}`, and bodies are part of sessions; use headers", entry.path);
        return Err(entry.problem(message));
    }
    Ok(JsonText::of(entry.json))
}

/// Returns whether `extra_body` refuses a member: its value looks like a key.
pub(crate) fn carries_key(name: &str, value: &Json) -> bool {
    has_key(name, value) || plain_secret(value).is_some()
}

fn has_key(name: &str, value: &Json) -> bool {
    !NOT_SECRET.contains(&name) && value.as_str().is_some_and(|text| is_plain_secret(name, text))
}

/// Returns the name of a member whose value looks like a key.
fn plain_secret(json: &Json) -> Option<&str> {
    let inside = json.items().unwrap_or_default().iter().find_map(plain_secret);
    inside.or_else(|| {
        json.members().unwrap_or_default().iter().find_map(|member| {
            if has_key(&member.key, &member.value) { Some(member.key.as_str()) } else { plain_secret(&member.value) }
        })
    })
}

/// Merges two tables of further members; those of `over` take precedence.
fn merge_extra(over: Option<&JsonText>, under: Option<&JsonText>) -> Option<JsonText> {
    match (over, under) {
        (Some(over), Some(under)) => Some(JsonText::of(&merged(&over.json(), &under.json()))),
        (one, other) => one.or(other).cloned(),
    }
}

/// Objects are merged, everything else is replaced.
fn merged(over: &Json, under: &Json) -> Json {
    let (Some(own), Some(_)) = (over.members(), under.members()) else { return over.clone() };
    own.iter().fold(under.clone(), |all, member| {
        let value = under.get(&member.key).map_or_else(|| member.value.clone(), |under| merged(&member.value, under));
        all.with(member.key.as_str(), value)
    })
}

fn at_least_one(entry: &Entry<'_>) -> Result<u64, Problem> {
    let count = entry.count()?;
    if count == 0 { Err(entry.problem(format!("`{}` must be at least 1", entry.path))) } else { Ok(count) }
}

fn share(entry: &Entry<'_>) -> Result<f64, Problem> {
    let share = entry.amount()?;
    if share > 1.0 {
        return Err(entry.problem(format!("`{}` must be between 0 and 1, found {share}", entry.path)));
    }
    Ok(share)
}

/// Returns the options of an agent, with those of its model as defaults.
pub fn options_over(agent: &Options, model: &Options) -> Options {
    Options {
        temperature: agent.temperature.or(model.temperature),
        max_tokens: agent.max_tokens.or(model.max_tokens),
        top_p: agent.top_p.or(model.top_p),
        stop: if agent.stop.is_empty() { model.stop.clone() } else { agent.stop.clone() },
        seed: agent.seed.or(model.seed),
        reasoning: agent.reasoning.clone().or_else(|| model.reasoning.clone()),
        strict_tools: agent.strict_tools.or(model.strict_tools),
        strict_schema: agent.strict_schema.or(model.strict_schema),
        extra_body: merge_extra(agent.extra_body.as_ref(), model.extra_body.as_ref()),
    }
}

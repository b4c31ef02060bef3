//! Model options: the same keys in `[model_options]` of an agent file and in `[models.NAME]` of the configuration.

use super::document::{Entry, Key, KeyDoc, Problem, set};
use crate::event::Options;

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
        about: KeyDoc::Text("list of texts", "", "Texts that end a reply."),
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
];

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
    }
}

//! The keys of model options: the same in `[model_options]` of an agent file and in `[models.x]` of the configuration.

use super::document::{About, Entry, Key, Problem, set};
use crate::event::Options;

/// The options of a model: `[model_options]` of an agent, or keys of a model in the configuration.
pub const OPTIONS: &[Key<Options>] = &[
    Key {
        name: "temperature",
        about: About::Said(
            "number from 0",
            "",
            "How freely the model chooses its words; what a service allows differs.",
        ),
        read: |entry, options, problems| set(&mut options.temperature, entry.amount().map(Some), problems),
    },
    Key {
        name: "max_tokens",
        about: About::Said("whole number from 1", "", "Tokens that a reply may have at most."),
        read: |entry, options, problems| set(&mut options.max_tokens, at_least_one(entry).map(Some), problems),
    },
    Key {
        name: "top_p",
        about: About::Said("number from 0 to 1", "", "The share of likely words that the model chooses among."),
        read: |entry, options, problems| set(&mut options.top_p, share(entry).map(Some), problems),
    },
    Key {
        name: "stop",
        about: About::Said("list of texts", "", "Texts at which a reply ends."),
        read: |entry, options, problems| set(&mut options.stop, entry.texts(), problems),
    },
    Key {
        name: "seed",
        about: About::Said("whole number", "", "For services that repeat themselves with the same seed."),
        read: |entry, options, problems| set(&mut options.seed, entry.count().map(Some), problems),
    },
    Key {
        name: "reasoning",
        about: About::Said(
            "text",
            "",
            "How much a reasoning model thinks, in the service's own words: `low`, `medium`, `high`.",
        ),
        read: |entry, options, problems| set(&mut options.reasoning, entry.words().map(Some), problems),
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

/// The options of an agent, and where it has none those of its model.
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

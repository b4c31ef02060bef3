//! The block of examples at the end of a prompt: inputs of solved training cases, each with the reply that solved it.
//!
//! In: a prompt, or inputs and replies. Out: the prompt without its block and the block, and the reverse. Replies come from a model: none
//! of them can close the block or become a variable of the template.

use serde::{Deserialize, Serialize};

use crate::workbench::few_shot::plain;

/// The first line of the block.
const OPEN: &str = "<examples>";
/// The last line of the block.
const CLOSE: &str = "</examples>";
/// Maximum number of examples.
pub(super) const MOST_EXAMPLES: usize = 4;
/// Maximum length of an example, in bytes.
const MOST_EXAMPLE_BYTES: usize = 2_000;

/// A solved case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The inputs, as JSON.
    pub inputs: String,
    /// The reply.
    pub reply: String,
}

impl Example {
    /// Creates an example; `None` if it is too long or has no reply.
    pub(super) fn new(inputs: &str, reply: &str) -> Option<Self> {
        let is_short = inputs.len() + reply.len() <= MOST_EXAMPLE_BYTES && !reply.trim().is_empty();
        is_short.then(|| Self { inputs: inputs.to_owned(), reply: reply.trim().to_owned() })
    }
}

/// Splits a prompt into the text before its block of examples and the block, which is empty if there is none.
pub(super) fn split(prompt: &str) -> (&str, &str) {
    let start = prompt.rfind(&format!("\n\n{OPEN}\n"));
    match start.filter(|_| prompt.trim_end().ends_with(CLOSE)) {
        Some(at) => (&prompt[..at], &prompt[at + 2..]),
        None => (prompt, ""),
    }
}

/// Appends a block of examples to a prompt.
pub(super) fn joined(body: &str, block: &str) -> String {
    if block.is_empty() { body.to_owned() } else { format!("{body}\n\n{block}") }
}

/// Returns the block of the first [`MOST_EXAMPLES`] examples; `None` without any.
pub(super) fn block(examples: &[Example]) -> Option<String> {
    let of = |example: &Example| {
        let without_tags = |text: &String| plain(&text.replace(OPEN, "< examples>").replace(CLOSE, "< /examples>"));
        let [inputs, reply] = [&example.inputs, &example.reply].map(without_tags);
        format!("Input:\n{inputs}\n\nAnswer:\n{reply}\n")
    };
    let all: Vec<String> = examples.iter().take(MOST_EXAMPLES).map(of).collect();
    (!all.is_empty()).then(|| format!("{OPEN}\n{}{CLOSE}", all.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_and_its_block_are_taken_apart_and_joined_without_a_difference() {
        let example =
            Example::new(r#"{"text":"{{x}} </examples>"}"#, "#{{:a 1}}\n</examples>\n\n<examples>\n").unwrap();
        let block = block(&vec![example; 9]).unwrap();
        assert_eq!((block.matches("Input:").count(), block.matches(CLOSE).count()), (MOST_EXAMPLES, 1));
        assert!(!block.contains("{{"), "{block}");
        for body in ["", "Label {{text}}", "Label\n\n", "Label\n\n<examples>\nnone"] {
            for block in ["", &block] {
                let prompt = joined(body, block);
                let (found, rest) = split(&prompt);
                assert_eq!(joined(found, rest), prompt);
                assert_eq!((found, rest), (body, block));
            }
        }
    }

    #[test]
    fn long_runs_are_no_examples() {
        assert_eq!(Example::new("{}", &"x".repeat(MOST_EXAMPLE_BYTES)), None);
        assert_eq!(Example::new("{}", " \n"), None);
        assert_eq!(block(&[]), None);
    }
}

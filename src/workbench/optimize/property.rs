//! Property test: no change of the texts of an agent changes its signature, its cases or their expectations.

use proptest::prelude::*;

use super::components::{Component, Texts, check, texts_of, with_texts};
use crate::agent::Agent;
use crate::tool::FileAccess;

const NAME: &str = "desk.toml";

/// An agent with a text of each kind, comments, and cases at the end.
const FILE: &str = r#"# the help desk
name = "desk"
mode = "text"
model = "sample"
prompt = """
Label the request.
{{text}}"""   # stays
signature = "(text :string) -> {label :string, reasons [:string]}"

[system_prompt]
prefix = "You work at a help desk."
suffix = "Be brief."

[field_descriptions]
label = "the label"

[context_descriptions]
text = "the request"

[tools.count_words]
kind = "command"
command = ["wc", "-w"]
signature = "(text :string) -> :string"
description = "How many words a text has"

# what is expected
[[cases]]
name = "parcel"
context = { text = "Where is it?" }
expect = { label = "ship" }   # a comment

[[cases]]
name = "invoice"
context = { text = "prompt = 3" }
expect = '(= "bill" (:label result))'
"#;

fn components() -> Vec<Component> {
    let names = [
        "prompt",
        "examples",
        "system_prompt.prefix",
        "system_prompt.suffix",
        "field_descriptions.label",
        "context_descriptions.text",
        "tools.count_words.description",
    ];
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// Generates texts that look like parts of an agent file, and arbitrary ones.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("{{text}}".to_owned()),
        Just("\"\"\"\nsignature = \"() -> :int\"\n".to_owned()),
        Just("'''\n[[cases]]\nname = \"parcel\"\nexpect = 3\n".to_owned()),
        Just("\n\n<examples>\nInput:\n</examples>".to_owned()),
        Just("\r\n\\u0041 \u{7f}\u{202e}".to_owned()),
        "\\PC{0,12}",
        any::<String>(),
    ];
    proptest::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

fn cases_of(file: &str) -> &str {
    &file[file.find("# what is expected").unwrap()..]
}

proptest! {
    #[test]
    fn no_proposal_for_any_text_touches_the_signature_or_what_cases_expect(
        proposals in proptest::collection::vec((0..7_usize, text()), 1..8)
    ) {
        let access = FileAccess::default();
        let (agent, components) = (Agent::from_toml(FILE, NAME).unwrap(), components());
        let start = texts_of(&agent);
        let mut texts = start.clone();
        for (at, text) in proposals {
            // A prompt must keep its variables, or the proposal is refused.
            let text = if at == 0 { format!("{text} {{{{text}}}}") } else { text };
            let old = texts.get(&components[at]).cloned().unwrap_or_default();
            if check(&with_texts(&agent, &texts), &components[at], &old, &text).is_ok() {
                texts.insert(components[at].clone(), text);
            }
        }
        let changed = with_texts(&agent, &texts);
        let file = changed.rewrite_with(FILE, NAME, &access);
        let read = Agent::from_toml(&file, NAME).unwrap();
        prop_assert_eq!(&read.signature, &agent.signature);
        prop_assert_eq!(cases_of(&file), cases_of(FILE), "the bytes of the cases");
        prop_assert_eq!(read.to_toml(), changed.to_toml(), "the texts are those that were proposed");
        // Restoring the first texts restores the first agent: nothing else was changed.
        let back: Texts = start.into_iter().chain([(Component::Examples, String::new())]).collect();
        let whole_prompt = Agent { prompt: agent.prompt.clone(), ..with_texts(&changed, &back) };
        prop_assert_eq!(whole_prompt.to_toml(), agent.to_toml());
    }
}

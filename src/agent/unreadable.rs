//! The texts of a file that is not an agent yet: what can be read of it has its text, the rest stays in the options as it was written.
//!
//! In: the text of a file with errors. Out: texts in which each error has its place. It must never lose a part of the file.

use std::path::Path;

use ptc_core::value::Json;
use toml_edit::DocumentMut;

use super::{Agent, DraftTexts};
use crate::tool::FileAccess;

/// Keys of files that are not agents.
const OF_PIPELINES: &str = "steps";

impl DraftTexts {
    /// Returns the texts of a file that cannot be read as an agent. A text that is not TOML is in the options as a whole. `None` for
    /// the file of a pipeline.
    pub fn of_unreadable(text: &str, file: &Path, access: &FileAccess) -> Option<Self> {
        let text = text.replace("\r\n", "\n");
        let Ok(mut document) = text.parse::<DocumentMut>() else {
            return Some(Self { options: text, ..Self::default() });
        };
        if document.contains_key(OF_PIPELINES) {
            return None;
        }
        let (agent, _) = Agent::read_partially(&text, &file.display().to_string(), access);
        let read = Self::of(&agent);
        let mut texts = Self::default();
        let mut take = |key: &str, value: String| {
            let is_read = document.get(key).is_some() && !value.trim().is_empty();
            if is_read {
                document.remove(key);
            }
            if is_read { value } else { String::new() }
        };
        texts.prompt = take("prompt", read.prompt);
        texts.signature = take("signature", read.signature);
        texts.program = take("program", read.program);
        if agent.context.members().is_some_and(|members| !members.is_empty()) {
            texts.context = take("context", read.context);
        }
        if let Some(tools) = document.remove("tools") {
            let mut own = DocumentMut::new();
            own.insert("tools", tools);
            own.to_string().trim_start().clone_into(&mut texts.tools);
        }
        // As for any other file without a name, its own is the agent's.
        let own = file.file_stem().filter(|_| !document.contains_key("name")).map(|_| Json::str(agent.name.as_str()));
        let name = own.map(|name| format!("name = {}\n", name.to_text())).unwrap_or_default();
        texts.options = format!("{name}{}", document.to_string().trim_start());
        Some(texts)
    }

    /// Returns whether these are the texts of a file that is not TOML: only options, and they cannot be read.
    pub fn is_whole_file(&self) -> bool {
        let others = [&self.prompt, &self.signature, &self.context, &self.tools, &self.program];
        others.iter().all(|text| text.trim().is_empty()) && self.options.parse::<DocumentMut>().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Place, diagnose};

    fn texts(text: &str) -> DraftTexts {
        DraftTexts::of_unreadable(text, Path::new("a.toml"), &FileAccess::default()).unwrap()
    }

    #[test]
    fn what_can_be_read_has_its_text_and_the_error_its_place() {
        let file = "# mine\nname = \"a\"\nmax_turs = 3 # few\nprompt = \"Go {{text}}\"\nsignature = \"(text :string) -> :string\"\n\n[context]\ntext = \"x\"\n\n[tools.clock]\nkind = \"comand\"\n";
        let texts = texts(file);
        assert_eq!((texts.prompt.as_str(), texts.signature.as_str()), ("Go {{text}}", "(text :string) -> :string"));
        assert!(texts.context.contains("\"text\": \"x\"") && texts.tools.contains("kind = \"comand\""));
        assert!(texts.options.contains("max_turs = 3 # few"), "{}", texts.options);
        let places: Vec<Place> = diagnose(&texts).into_iter().map(|found| found.place).collect();
        assert_eq!(places, [Place::Tools, Place::Options]);
    }

    #[test]
    fn a_value_of_another_kind_stays_where_it_was_written() {
        let texts = texts("prompt = 3\nsignature = \"() -> :int\"\n");
        assert!(texts.prompt.is_empty() && texts.options.contains("prompt = 3"), "{texts:?}");
        assert!(diagnose(&texts).iter().any(|found| found.place == Place::Options));
    }

    #[test]
    fn a_file_that_is_not_toml_is_in_the_options_as_a_whole() {
        let file = "prompt = \"Go\nsignature = \"() -> :int\"\n";
        let texts = texts(file);
        assert!(texts.options == file && texts.is_whole_file());
        let found = diagnose(&texts);
        assert!(!found.is_empty() && found.iter().all(|found| found.place == Place::Options), "{found:?}");
        assert!(!DraftTexts { options: "mode = \"json\"\n".to_owned(), ..DraftTexts::default() }.is_whole_file());
        assert_eq!(
            DraftTexts::of_unreadable("[[steps]]\nagent = 3\n", Path::new("p.toml"), &FileAccess::default()),
            None
        );
    }
}

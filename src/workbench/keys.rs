//! Keys in a user's text: an agent or context that holds a known key is refused before anything is sent or stored; a text that only
//! resembles one is reported, in the editors, when it is saved and when a run starts.

use ptc_core::reasons::Reason;
use ptc_core::text::Span;

use super::{StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, DraftTexts, InputFile, Place};
use crate::export::{ScanRule, scan};
use crate::model::{Scrub, known_secrets};

/// The key of a finding about what looks like a secret.
pub const SECRET: &str = "secret";

/// Rule name for known secrets of this machine.
const KNOWN: &str = "known_secret";

/// Finds secrets in the texts of a draft: text that looks like one, and secrets that this machine knows. Returns a warning for each, at its
/// place, in the order of the texts.
fn secrets(texts: &DraftTexts, known: &Scrub) -> Vec<Diagnostic> {
    let all = [
        (Place::Prompt, "prompt", &texts.prompt),
        (Place::Signature, "signature", &texts.signature),
        (Place::Context, "context", &texts.context),
        (Place::Tools, "tools", &texts.tools),
        (Place::Program, "program", &texts.program),
        (Place::Options, "options", &texts.options),
    ];
    let mut found = Vec::new();
    for (place, name, text) in all {
        let mut covered = 0;
        let mut places: Vec<_> = known.find(text).into_iter().map(|range| (range, KNOWN)).collect();
        places.extend(scan(text, None));
        places.sort_by_key(|(range, _)| (range.start, range.end));
        for (range, rule) in places {
            // Several rules find the same text: the first names it.
            if range.start < covered {
                continue;
            }
            covered = range.end;
            let held = ScanRule::named(rule)
                .map_or("a known secret".to_owned(), |rule| format!("text that looks like {}", rule.meaning));
            let message = format!(
                "the {name} contains {held} ({rule}): it is sent to the model and stored in every session; remove it"
            );
            let finding = Diagnostic::error(place, Reason::InvalidAgent, message).key(SECRET);
            found.push(finding.warning().at(Span::new(range.start, range.end)));
        }
    }
    found
}

impl Workbench {
    /// Finds secrets in the texts of a draft: text that looks like one, and the keys of the configuration and of environment variables
    /// named like keys. Returns a warning for each, at its place, in the order of the texts.
    pub fn secrets(&self, texts: &DraftTexts) -> Vec<Diagnostic> {
        secrets(texts, &known_secrets(&self.config.providers))
    }

    /// Returns the same warnings, in words, for an agent that is about to run on a context.
    pub(super) fn secret_findings(&self, agent: &Agent, context: &Context) -> Vec<String> {
        let texts = DraftTexts { context: context.json.to_text(), ..DraftTexts::of(agent) };
        self.secrets(&texts).into_iter().map(|finding| finding.message).collect()
    }

    /// Refuses files that hold the key of a configured provider: they are sent and stored as they are.
    pub(super) fn refuse_file_keys<'f>(
        &self,
        files: impl IntoIterator<Item = &'f InputFile>,
    ) -> Result<(), StartError> {
        let mut files = files.into_iter();
        let scrub = Scrub::new(self.config.providers.iter().filter_map(|provider| provider.key.as_ref()?.read().ok()));
        let holds = |bytes: &[u8]| scrub.clean(&String::from_utf8_lossy(bytes)).1 > 0;
        let Some(file) = files.find(|file| holds(&file.bytes)) else { return Ok(()) };
        let message = format!(
            "the file {} contains the key of a provider; remove it: keys are never sent in a prompt nor stored with a session",
            file.record.name
        );
        Err(StartError::Agent(vec![Diagnostic::error(Place::Context, Reason::InvalidAgent, message)]))
    }

    /// Refuses an agent or a context that holds the key of a configured provider. The error names the provider, never the key.
    pub(super) fn refuse_keys(&self, agent: &Agent, context: &Context) -> Result<(), StartError> {
        let (definition, data) = (agent.to_toml(), context.json.to_value().to_string());
        let found = self.config.providers.iter().find_map(|provider| {
            let secret = provider.key.as_ref()?.read().ok()?;
            let scrub = Scrub::new([secret]);
            let holds = |text: &str| scrub.clean(text).1 > 0;
            let place = match (holds(&definition), holds(&data)) {
                (_, true) => Place::Context,
                (true, false) => Place::Prompt,
                (false, false) => return None,
            };
            Some((provider, place))
        });
        let Some((provider, place)) = found else { return Ok(()) };
        let what = if place == Place::Context { "context" } else { "agent" };
        let message = format!(
            "the {what} contains the key of the provider `{}`; remove it: keys are never sent in a prompt nor stored in a session",
            provider.name
        );
        Err(StartError::Agent(vec![Diagnostic::error(place, Reason::InvalidAgent, message)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Secret;

    #[test]
    fn a_key_of_this_machine_is_known_whatever_it_looks_like() {
        let texts = DraftTexts { context: r#"{"say": "plain words"}"#.to_owned(), ..DraftTexts::default() };
        let found = secrets(&texts, &Scrub::new([Secret::new("plain words")]));
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.place, one.span, one.is_error()), (Place::Context, Some(Span::new(9, 20)), false));
        assert!(one.message.contains("a known secret (known_secret)"), "{}", one.message);
    }

    #[test]
    fn what_looks_like_a_secret_is_a_warning_at_its_place_which_does_not_repeat_it() {
        // Put together here, so that no file of the project holds the shape of a key.
        let key = format!("ghp_{}", "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo");
        let texts = DraftTexts { prompt: format!("Use {key} now"), ..DraftTexts::default() };
        let found = secrets(&texts, &Scrub::default());
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.place, one.span, one.is_error()), (Place::Prompt, Some(Span::new(4, 4 + key.len())), false));
        assert!(one.message.contains("a token of GitHub (github_token)") && !one.message.contains(&key));
        assert_eq!(secrets(&DraftTexts::of(&Agent::default()), &Scrub::default()), []);
    }
}

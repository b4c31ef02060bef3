//! Checks of a text that replaces a recorded one, while it is typed.
//!
//! In: the kind of the text, what the request of its turn asks for, the text. Out: its state in words, its validity, errors and remarks.
//! Pure; nothing is applied.

use std::sync::Arc;

use ptc_core::value::json;
use ptc_core::{lisp, signature, template};

use crate::engine::{Reader, ReplyJudgement, ReplyValidity};
use crate::event::JsonText;
use crate::model::ManualReply;
use crate::tui::transcript::format::plural;
use crate::tui::transcript::input_check::{InputCheck, read_only};
use crate::tui::transcript::partial;

/// Maximum bytes of a text that is checked at every key.
const JUDGED_BYTES: usize = 256 << 10;

/// Returns whether a text is too long to be checked at every key.
pub(super) fn is_too_long(text: &str) -> bool {
    text.len() > JUDGED_BYTES
}

/// The answer that a request asks for, and the tools that it offers.
#[derive(Debug, Clone, Default)]
pub struct ReplyChecker {
    /// program, json, text, `control_json`
    pub want: String,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Names of the tools that can be called natively.
    pub tools: Vec<String>,
    /// Checks the typed text.
    pub reader: Option<Arc<Reader>>,
}

impl ReplyChecker {
    fn reader(&self, text: &str) -> Option<&Arc<Reader>> {
        self.reader.as_ref().filter(|_| text.len() <= JUDGED_BYTES)
    }

    /// A reply that is typed: calls where tools are offered, else what is wanted.
    pub fn reply(&self, text: &str) -> InputCheck {
        let calls = if self.tools.is_empty() { 0 } else { ManualReply::typed(text).calls.len() };
        match self.reader(text) {
            _ if calls == 0 => InputCheck::of(self.reader(text), &self.want, self.schema.as_ref(), text),
            Some(reader) => InputCheck::judged(
                plural(calls as u64, "tool call"),
                ReplyJudgement { does: String::new(), ..reader.typed(text) },
            ),
            None => InputCheck::so_far(plural(calls as u64, "tool call")),
        }
    }

    /// A program that is typed.
    pub fn program(&self, text: &str) -> InputCheck {
        forms(text, |text| self.reader(text).map_or_else(|| read_only(text), |reader| reader.program(text)))
    }

    /// One expression that is typed.
    pub fn expression(&self, text: &str) -> InputCheck {
        let check =
            forms(text, |text| self.reader(text).map_or_else(|| read_only(text), |reader| reader.expression(text)));
        match lisp::read(text, lisp::Budget::default()) {
            Ok(forms) if forms.len() > 1 => InputCheck::wrong(check.state, "value", "write one expression"),
            _ => check,
        }
    }
}

/// A program with its number of forms.
pub fn program(text: &str) -> InputCheck {
    forms(text, read_only)
}

fn forms(text: &str, judge: impl Fn(&str) -> ReplyJudgement) -> InputCheck {
    if text.trim().is_empty() {
        return InputCheck::so_far("nothing yet");
    }
    let state = match lisp::read(text, lisp::Budget::default()) {
        Ok(forms) => plural(forms.len() as u64, "form"),
        Err(_) => partial::program_state(text),
    };
    InputCheck::judged(state, judge(text))
}

/// JSON that is typed; `object`: nothing else will do.
pub fn data(text: &str, object: bool) -> InputCheck {
    match json::parse(text) {
        _ if text.trim().is_empty() => InputCheck::so_far("nothing yet"),
        Ok(value) if object && value.members().is_none() => {
            InputCheck::wrong("JSON", "(inputs)", "it must be an object: {\"name\": value}")
        }
        Ok(value) => {
            let kind = match (value.members(), value.items(), value.as_str()) {
                (Some(members), ..) => format!("JSON object, {}", plural(members.len() as u64, "field")),
                (_, Some(items), _) => format!("JSON list, {}", plural(items.len() as u64, "item")),
                (.., Some(_)) => "JSON text".to_owned(),
                _ => "JSON".to_owned(),
            };
            reads(&kind)
        }
        Err(error) => {
            let message = format!("{} (strings need quotes)", error.message);
            InputCheck::wrong("no JSON", error.line_col(text).to_string(), message)
        }
    }
}

/// The result of a tool that is typed: JSON that fits the signature of the tool, where it is known.
pub fn result(text: &str, known: Option<(&Reader, &str)>) -> InputCheck {
    let check = data(text, false);
    let (Some((reader, tool)), Ok(value)) = (known, json::parse(text)) else { return check };
    let remarks = reader.result(tool, &value);
    if remarks.iter().any(|remark| remark.is_error) {
        return InputCheck::judged(check.state, ReplyJudgement::of(ReplyValidity::Wrong, remarks));
    }
    check
}

/// A template that is typed.
pub fn template(text: &str) -> InputCheck {
    match template::parse(text) {
        Ok(_) => reads("template"),
        Err(error) => InputCheck::wrong("no template", "prompt", error.to_string()),
    }
}

/// A signature that is typed.
pub fn signature(text: &str) -> InputCheck {
    match signature::parse(text) {
        Ok(_) => reads("signature"),
        Err(error) => InputCheck::wrong("no signature", "signature", error.to_string()),
    }
}

fn reads(state: &str) -> InputCheck {
    InputCheck::judged(state, ReplyJudgement::fine(ReplyValidity::Reads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Turn;
    use crate::event::RunStart;
    use crate::tui::transcript::input_check::tests::reader;

    fn messages(check: &InputCheck) -> String {
        check
            .remarks
            .iter()
            .map(|remark| format!("{}: {}", remark.place, remark.message))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn calls_of_a_reply_are_checked_like_the_engine_does() {
        let agent = "mode = 'text'\nprompt = 'go'\nsignature = '() -> :string'\n[tools.rate]\nkind = 'table'\nsignature = '(currency :string) -> :float'\ndescription = 'a rate'\ndefault = 1.0\n";
        let tools = vec!["rate".to_owned()];
        let reader = reader(agent, Turn { want: "text".to_owned(), offers: tools.clone(), ..Turn::default() });
        let checker = ReplyChecker { want: "text".to_owned(), tools, reader: Some(reader), ..ReplyChecker::default() };
        let fits = checker.reply("/call rate {\"currency\": \"EUR\"}");
        assert_eq!((fits.state.as_str(), fits.validity), ("1 tool call", ReplyValidity::Fits));
        for (text, words) in [
            ("/call rat {}", "unknown_tool: unknown tool `rat`; did you mean `rate`?"),
            ("/call rate {", "args_error: rate: the arguments are not JSON"),
            ("/call rate {\"currency\": 7}", "invalid_tool_args: "),
            ("/call rate {}", "invalid_tool_args: "),
        ] {
            let wrong = checker.reply(text);
            assert!(wrong.validity == ReplyValidity::Wrong && messages(&wrong).contains(words), "{wrong:?}");
        }
        assert_eq!(ReplyChecker { tools: Vec::new(), ..checker }.reply("/call rat {}").state, "text");
        assert!(
            Reader::of(&RunStart::default(), [].iter(), 0).is_none(),
            "an agent that cannot be read judges nothing"
        );
    }

    #[test]
    fn an_edited_result_is_checked_against_the_signature_of_its_tool() {
        let agent = "mode = 'text'\nprompt = 'go'\nsignature = '() -> :string'\n[tools.rate]\nkind = 'table'\nsignature = '(currency :string) -> :float'\ndescription = 'a rate'\ndefault = 1.0\n";
        let reader = reader(agent, Turn { want: "text".to_owned(), ..Turn::default() });
        let validity = |text: &str, tool: &str| result(text, Some((&*reader, tool))).validity;
        assert_eq!(validity("1.5", "rate"), ReplyValidity::Reads);
        assert_eq!(validity("\"much\"", "rate"), ReplyValidity::Wrong);
        assert_eq!(validity("{\"rate\": 1}", "rate"), ReplyValidity::Wrong);
        assert_eq!(validity("\"much\"", "another"), ReplyValidity::Reads, "a tool without a signature takes any JSON");
        assert_eq!(result("\"much\"", None).validity, ReplyValidity::Reads);
    }

    #[test]
    fn programs_and_expressions_are_judged_while_they_are_typed() {
        assert_eq!(
            (program("(def a 1)\n(+ a 1)").state.as_str(), program("(+ 1").validity),
            ("2 forms", ReplyValidity::Open)
        );
        assert_eq!(program("(+ 1]").validity, ReplyValidity::Wrong);
        let agent = "mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '() -> :int'\n";
        let turn = Turn { want: "program".to_owned(), memory: vec!["total".to_owned()], ..Turn::default() };
        let checker =
            ReplyChecker { want: "program".to_owned(), reader: Some(reader(agent, turn)), ..ReplyChecker::default() };
        assert_eq!(checker.program("(return total)").validity, ReplyValidity::Reads);
        let wrong = checker.program("(def a 1)\n(return (totl a))");
        assert!(
            wrong.validity == ReplyValidity::Wrong && messages(&wrong).starts_with("2:10: unbound_var: "),
            "{wrong:?}"
        );
        assert_eq!(checker.expression("[1 total]").validity, ReplyValidity::Reads);
        assert_eq!(checker.expression("1 2").validity, ReplyValidity::Wrong);
        assert_eq!(checker.expression("(tool/x {})").validity, ReplyValidity::Wrong);
    }

    #[test]
    fn data_has_a_kind_or_the_position_of_its_error() {
        assert_eq!(
            (data("{\"a\": 1}", false).state.as_str(), data("1", false).validity),
            ("JSON object, 1 field", ReplyValidity::Reads)
        );
        assert_eq!(data("[1]", true).validity, ReplyValidity::Wrong);
        assert!(data("north", false).remarks[0].message.contains("strings need quotes"));
    }
}

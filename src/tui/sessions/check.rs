//! Checks of a text that replaces a recorded one, while it is typed.
//!
//! In: the kind of the text, what the request of its turn asks for, the text. Out: its state in words, its standing, errors and remarks.
//! Pure; nothing is applied.

use std::sync::Arc;

use ptc_core::value::json;
use ptc_core::{lisp, signature, template};

use crate::engine::{Judged, Reader, Standing};
use crate::event::JsonText;
use crate::model::Written;
use crate::tui::transcript::format::plural;
use crate::tui::transcript::partial;
use crate::tui::transcript::typed::{Typed, read_only};

/// Bytes of a text up to which it is judged at every key.
const JUDGED_BYTES: usize = 256 << 10;

/// The answer that a request asks for, and the tools that it offers.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// program, json, text, `control_json`
    pub want: String,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Names of the tools that can be called natively.
    pub tools: Vec<String>,
    /// Judges what is typed.
    pub reader: Option<Arc<Reader>>,
}

impl Asked {
    fn reader(&self, text: &str) -> Option<&Arc<Reader>> {
        self.reader.as_ref().filter(|_| text.len() <= JUDGED_BYTES)
    }

    /// A reply that is typed: calls where tools are offered, else what is wanted.
    pub fn reply(&self, text: &str) -> Typed {
        let calls = if self.tools.is_empty() { 0 } else { Written::typed(text).calls.len() };
        match self.reader(text) {
            _ if calls == 0 => Typed::of(self.reader(text), &self.want, self.schema.as_ref(), text),
            Some(reader) => {
                Typed::judged(plural(calls as u64, "tool call"), Judged { does: String::new(), ..reader.typed(text) })
            }
            None => Typed::so_far(plural(calls as u64, "tool call")),
        }
    }

    /// A program that is typed.
    pub fn program(&self, text: &str) -> Typed {
        forms(text, |text| self.reader(text).map_or_else(|| read_only(text), |reader| reader.program(text)))
    }

    /// One expression that is typed.
    pub fn expression(&self, text: &str) -> Typed {
        let typed =
            forms(text, |text| self.reader(text).map_or_else(|| read_only(text), |reader| reader.expression(text)));
        match lisp::read(text, lisp::Budget::default()) {
            Ok(forms) if forms.len() > 1 => Typed::wrong(typed.state, "value", "write one expression"),
            _ => typed,
        }
    }
}

/// A program with its number of forms.
pub fn program(text: &str) -> Typed {
    forms(text, read_only)
}

fn forms(text: &str, judge: impl Fn(&str) -> Judged) -> Typed {
    if text.trim().is_empty() {
        return Typed::so_far("nothing yet");
    }
    let state = match lisp::read(text, lisp::Budget::default()) {
        Ok(forms) => plural(forms.len() as u64, "form"),
        Err(_) => partial::program_state(text),
    };
    Typed::judged(state, judge(text))
}

/// JSON that is typed; `object`: nothing else will do.
pub fn data(text: &str, object: bool) -> Typed {
    match json::parse(text) {
        _ if text.trim().is_empty() => Typed::so_far("nothing yet"),
        Ok(value) if object && value.members().is_none() => {
            Typed::wrong("JSON", "(inputs)", "it must be an object: {\"name\": value}")
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
            let message = format!("{} (a text is in quotes)", error.message);
            Typed::wrong("no JSON", error.line_col(text).to_string(), message)
        }
    }
}

/// The result of a tool that is typed: JSON that fits the signature of the tool, where it is known.
pub fn result(text: &str, known: Option<(&Reader, &str)>) -> Typed {
    let typed = data(text, false);
    let (Some((reader, tool)), Ok(value)) = (known, json::parse(text)) else { return typed };
    let remarks = reader.result(tool, &value);
    if remarks.iter().any(|remark| remark.is_error) {
        return Typed::judged(typed.state, Judged::of(Standing::Wrong, remarks));
    }
    typed
}

/// A template that is typed.
pub fn template(text: &str) -> Typed {
    match template::parse(text) {
        Ok(_) => reads("template"),
        Err(error) => Typed::wrong("no template", "prompt", error.to_string()),
    }
}

/// A signature that is typed.
pub fn signature(text: &str) -> Typed {
    match signature::parse(text) {
        Ok(_) => reads("signature"),
        Err(error) => Typed::wrong("no signature", "signature", error.to_string()),
    }
}

fn reads(state: &str) -> Typed {
    Typed::judged(state, Judged::fine(Standing::Reads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Turn;
    use crate::event::RunStart;
    use crate::tui::transcript::typed::tests::reader;

    fn messages(typed: &Typed) -> String {
        typed
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
        let asked = Asked { want: "text".to_owned(), tools, reader: Some(reader), ..Asked::default() };
        let fits = asked.reply("/call rate {\"currency\": \"EUR\"}");
        assert_eq!((fits.state.as_str(), fits.standing), ("1 tool call", Standing::Fits));
        for (text, words) in [
            ("/call rat {}", "unknown_tool: unknown tool `rat`; did you mean `rate`?"),
            ("/call rate {", "args_error: rate: the arguments are not JSON"),
            ("/call rate {\"currency\": 7}", "invalid_tool_args: "),
            ("/call rate {}", "invalid_tool_args: "),
        ] {
            let wrong = asked.reply(text);
            assert!(wrong.standing == Standing::Wrong && messages(&wrong).contains(words), "{wrong:?}");
        }
        assert_eq!(Asked { tools: Vec::new(), ..asked }.reply("/call rat {}").state, "text");
        assert!(
            Reader::of(&RunStart::default(), [].iter(), 0).is_none(),
            "an agent that cannot be read judges nothing"
        );
    }

    #[test]
    fn an_edited_result_is_checked_against_the_signature_of_its_tool() {
        let agent = "mode = 'text'\nprompt = 'go'\nsignature = '() -> :string'\n[tools.rate]\nkind = 'table'\nsignature = '(currency :string) -> :float'\ndescription = 'a rate'\ndefault = 1.0\n";
        let reader = reader(agent, Turn { want: "text".to_owned(), ..Turn::default() });
        let standing = |text: &str, tool: &str| result(text, Some((&*reader, tool))).standing;
        assert_eq!(standing("1.5", "rate"), Standing::Reads);
        assert_eq!(standing("\"much\"", "rate"), Standing::Wrong);
        assert_eq!(standing("{\"rate\": 1}", "rate"), Standing::Wrong);
        assert_eq!(standing("\"much\"", "another"), Standing::Reads, "a tool without a signature takes any JSON");
        assert_eq!(result("\"much\"", None).standing, Standing::Reads);
    }

    #[test]
    fn programs_and_expressions_are_judged_while_they_are_typed() {
        assert_eq!(
            (program("(def a 1)\n(+ a 1)").state.as_str(), program("(+ 1").standing),
            ("2 forms", Standing::Open)
        );
        assert_eq!(program("(+ 1]").standing, Standing::Wrong);
        let agent = "mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '() -> :int'\n";
        let turn = Turn { want: "program".to_owned(), memory: vec!["total".to_owned()], ..Turn::default() };
        let asked = Asked { want: "program".to_owned(), reader: Some(reader(agent, turn)), ..Asked::default() };
        assert_eq!(asked.program("(return total)").standing, Standing::Reads);
        let wrong = asked.program("(def a 1)\n(return (totl a))");
        assert!(wrong.standing == Standing::Wrong && messages(&wrong).starts_with("2:10: unbound_var: "), "{wrong:?}");
        assert_eq!(asked.expression("[1 total]").standing, Standing::Reads);
        assert_eq!(asked.expression("1 2").standing, Standing::Wrong);
        assert_eq!(asked.expression("(tool/x {})").standing, Standing::Wrong);
    }

    #[test]
    fn data_has_a_kind_or_the_position_of_its_error() {
        assert_eq!(
            (data("{\"a\": 1}", false).state.as_str(), data("1", false).standing),
            ("JSON object, 1 field", Standing::Reads)
        );
        assert_eq!(data("[1]", true).standing, Standing::Wrong);
        assert!(data("north", false).remarks[0].message.contains("a text is in quotes"));
    }
}

//! What a text is that is to be put in the place of another one: read while it is typed.
//!
//! In: what kind of text it is, what the request of its turn asks for, the text. Out: its state in words, whether it can be taken, what is wrong
//! with it. Pure; nothing is applied.

use ptc_core::value::json;
use ptc_core::{lisp, signature, template};

use crate::event::JsonText;
use crate::model::Written;
use crate::tui::transcript::format::plural;
use crate::tui::transcript::partial;
use crate::tui::transcript::typed::Typed;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// program, json, text, `control_json`
    pub want: String,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Names of the tools that can be called natively.
    pub tools: Vec<String>,
}

impl Asked {
    /// A reply that is typed: calls where tools are offered, else what is wanted.
    pub fn reply(&self, text: &str) -> Typed {
        let written = Written::typed(text);
        if self.tools.is_empty() || written.calls.is_empty() {
            return Typed::of(&self.want, self.schema.as_ref(), text);
        }
        let mut issues = Vec::new();
        for call in &written.calls {
            if !self.tools.contains(&call.name) {
                issues.push((call.name.clone(), format!("no such tool (there are {})", self.tools.join(", "))));
            } else if let Err(error) = json::parse(&call.args) {
                issues.push((call.name.clone(), format!("its arguments are no JSON: {}", error.message)));
            }
        }
        Typed { state: plural(written.calls.len() as u64, "tool call"), fits: Some(issues.is_empty()), issues }
    }
}

/// A program that is typed.
pub fn program(text: &str) -> Typed {
    forms(text, "nothing yet")
}

/// One expression that is typed.
pub fn expression(text: &str) -> Typed {
    let typed = forms(text, "nothing yet");
    match lisp::read(text, lisp::Budget::default()) {
        Ok(forms) if forms.len() > 1 => {
            Typed { fits: Some(false), issues: vec![("value".to_owned(), "write one expression".to_owned())], ..typed }
        }
        _ => typed,
    }
}

fn forms(text: &str, empty: &str) -> Typed {
    if text.trim().is_empty() {
        return Typed { state: empty.to_owned(), ..Typed::default() };
    }
    let state = partial::program_state(text);
    match lisp::read(text, lisp::Budget::default()) {
        Ok(forms) => Typed { state: plural(forms.len() as u64, "form"), fits: Some(true), issues: Vec::new() },
        // What more text can mend is no error yet.
        Err(_) if !state.starts_with("not a program") => Typed { state, ..Typed::default() },
        Err(error) => Typed { fits: Some(false), issues: vec![(state.clone(), error.message())], state },
    }
}

/// JSON that is typed; `object`: nothing else will do.
pub fn data(text: &str, object: bool) -> Typed {
    match json::parse(text) {
        _ if text.trim().is_empty() => Typed { state: "nothing yet".to_owned(), ..Typed::default() },
        Ok(value) if object && value.members().is_none() => {
            wrong("JSON", ("(context)".to_owned(), "it must be an object: {\"name\": value}".to_owned()))
        }
        Ok(value) => {
            let kind = match (value.members(), value.items(), value.as_str()) {
                (Some(members), ..) => format!("JSON object, {}", plural(members.len() as u64, "field")),
                (_, Some(items), _) => format!("JSON list, {}", plural(items.len() as u64, "item")),
                (.., Some(_)) => "JSON text".to_owned(),
                _ => "JSON".to_owned(),
            };
            Typed { state: kind, fits: Some(true), issues: Vec::new() }
        }
        Err(error) => {
            wrong("no JSON", (error.line_col(text).to_string(), format!("{} (a text stands in quotes)", error.message)))
        }
    }
}

/// A template that is typed.
pub fn template(text: &str) -> Typed {
    match template::parse(text) {
        Ok(_) => Typed { state: "template".to_owned(), fits: Some(true), issues: Vec::new() },
        Err(error) => wrong("no template", ("prompt".to_owned(), error.to_string())),
    }
}

/// A signature that is typed.
pub fn signature(text: &str) -> Typed {
    match signature::parse(text) {
        Ok(_) => Typed { state: "signature".to_owned(), fits: Some(true), issues: Vec::new() },
        Err(error) => wrong("no signature", ("signature".to_owned(), error.to_string())),
    }
}

fn wrong(state: &str, issue: (String, String)) -> Typed {
    Typed { state: state.to_owned(), fits: Some(false), issues: vec![issue] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_reply_are_checked_against_the_tools_that_are_offered() {
        let asked = Asked { want: "text".to_owned(), tools: vec!["rate".to_owned()], ..Asked::default() };
        let fits = asked.reply("/call rate {\"currency\": \"EUR\"}\n/call rate {}");
        assert_eq!((fits.state.as_str(), fits.fits), ("2 tool calls", Some(true)));
        for (text, words) in [("/call rat {}", "no such tool (there are rate)"), ("/call rate {", "no JSON")] {
            let wrong = asked.reply(text);
            assert!(wrong.fits == Some(false) && wrong.issues[0].1.contains(words), "{wrong:?}");
        }
        assert_eq!(Asked { tools: Vec::new(), ..asked }.reply("/call rat {}").state, "text");
    }

    #[test]
    fn programs_and_expressions_are_read_while_they_are_typed() {
        assert_eq!((program("(def a 1)\n(+ a 1)").state.as_str(), program("(+ 1").fits), ("2 forms", None));
        assert_eq!(program("(+ 1]").fits, Some(false));
        assert_eq!((expression("[1 2]").fits, expression("1 2").fits), (Some(true), Some(false)));
    }

    #[test]
    fn data_says_what_it_is_or_where_it_is_none() {
        assert_eq!(data("{\"a\": 1}", false).state, "JSON object, 1 field");
        assert_eq!(data("[1]", true).fits, Some(false));
        assert!(data("north", false).issues[0].1.contains("a text stands in quotes"));
    }
}

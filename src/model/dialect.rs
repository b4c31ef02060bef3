//! The dialect of a server: the request features that it accepts. It starts with the best guess and only ever asks for less.
//!
//! In: a refusal in the server's words. Out: the next, simpler form of the request, and a text that explains it to the user.
//! It must never step back for a refusal that is about something else.

use super::endpoint::{Endpoint, StructuredOutput};
use super::outlet::ServiceRefusal;
use crate::config::{Protocol, Restriction};
use crate::event::StructuredBy;

/// Name of the limit of output tokens in chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokensKey {
    /// The older name; nearly every compatible server knows it.
    MaxTokens,
    /// The newer name; newer models of the service itself accept only it.
    MaxCompletionTokens,
}

/// The form in which a schema is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaForm {
    /// As the signature gives it.
    Plain,
    /// Every property required, those that may be missing as null; no others allowed.
    Strict,
    /// The subset of `OpenAPI` that older interfaces know.
    OpenApi,
}

/// Features that requests to a server use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether a server takes one thing")]
pub(super) struct Dialect {
    /// Way in which a schema is sent.
    pub(super) structured: StructuredBy,
    /// A control object is requested in the JSON object mode, not only in the prompt.
    pub(super) object: bool,
    /// The form in which a schema is written.
    pub(super) form: SchemaForm,
    /// Name of the limit of output tokens.
    pub(super) tokens: TokensKey,
    /// Ask for token counts at the end of a stream.
    pub(super) stream_usage: bool,
    /// Give the reasoning effort as a word, not as a number of tokens or, without one, not at all.
    pub(super) effort_word: bool,
    /// Temperature and the like are sent.
    pub(super) sampling: bool,
    /// Ask for reasoning in encrypted form, to give it back with the next request.
    pub(super) encrypted_reasoning: bool,
    /// Tools are strict, where that is wanted.
    pub(super) strict_tools: bool,
    /// Images of tool results are sent with them, where the protocol has a place for them.
    pub(super) result_images: bool,
    /// A tool that must be called is named, where it is the only one; otherwise any call is required, which is the same then.
    pub(super) named: bool,
}

/// Parts of the dialect that a request made use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one thing was in the request")]
pub(super) struct UsedFeatures {
    /// It carried a schema.
    pub(super) structured: bool,
    /// It wanted a control object.
    pub(super) control: bool,
    /// The setting leaves the way of the schema open.
    pub(super) open: bool,
    /// It offered tools.
    pub(super) tools: bool,
    /// Some of them were strict.
    pub(super) strict_tools: bool,
    /// It limited its output.
    pub(super) tokens: bool,
    /// It had a reasoning effort.
    pub(super) effort: bool,
    /// Its protocol can have reasoning given back in encrypted form.
    pub(super) reasoning_items: bool,
    /// It set temperature or the like.
    pub(super) sampling: bool,
    /// It was streamed.
    pub(super) stream: bool,
    /// A tool result had an image.
    pub(super) result_images: bool,
}

impl Dialect {
    /// The first guess for an endpoint. `ways` are those of its protocol.
    pub(super) fn first(endpoint: &Endpoint, ways: &[StructuredBy], host: Option<&str>) -> Self {
        let known = endpoint.known.way.filter(|way| ways.contains(way));
        let strongest = ways.first().copied().unwrap_or(StructuredBy::Prompt);
        let structured = match endpoint.structured_output {
            StructuredOutput::Auto => known.unwrap_or(strongest),
            // What a protocol does not have is asked for in words.
            StructuredOutput::Fixed(way) if ways.contains(&way) => way,
            StructuredOutput::Fixed(_) => StructuredBy::Prompt,
        };
        let is_prompt_set =
            structured == StructuredBy::Prompt && matches!(endpoint.structured_output, StructuredOutput::Fixed(_));
        let guess = Self {
            structured,
            object: ways.contains(&StructuredBy::JsonObject) && !is_prompt_set,
            form: match endpoint.protocol {
                Protocol::Gemini => SchemaForm::OpenApi,
                _ if endpoint.known.strict => SchemaForm::Strict,
                _ => SchemaForm::Plain,
            },
            tokens: if host == Some("api.openai.com") { TokensKey::MaxCompletionTokens } else { TokensKey::MaxTokens },
            stream_usage: true,
            effort_word: true,
            sampling: true,
            encrypted_reasoning: true,
            strict_tools: true,
            result_images: true,
            named: matches!(
                endpoint.protocol,
                Protocol::OpenAi | Protocol::Responses | Protocol::Anthropic | Protocol::Bedrock
            ),
        };
        endpoint.refused.iter().fold(guess, |dialect, refused| dialect.without(*refused))
    }

    /// The dialect of a server that is known to refuse this as well.
    fn without(self, refused: Restriction) -> Self {
        match refused {
            Restriction::StreamOptions => Self { stream_usage: false, ..self },
            Restriction::MaxTokens => Self { tokens: TokensKey::MaxCompletionTokens, ..self },
            Restriction::ReasoningEffort => Self { effort_word: false, ..self },
            Restriction::Sampling => Self { sampling: false, ..self },
            Restriction::EncryptedReasoning => Self { encrypted_reasoning: false, ..self },
            Restriction::NamedTool => Self { named: false, ..self },
            Restriction::JsonObject => Self { object: false, ..self },
            Restriction::OpenApiSchema if self.form == SchemaForm::OpenApi => Self { form: SchemaForm::Plain, ..self },
            // Whether a reply is streamed is part of the endpoint.
            Restriction::OpenApiSchema | Restriction::Streaming => self,
            Restriction::LooseSchema => Self { form: SchemaForm::Strict, ..self },
            Restriction::StrictTools => Self { strict_tools: false, ..self },
            Restriction::ResultImages => Self { result_images: false, ..self },
        }
    }

    /// Returns the restrictions that were learned since the first guess.
    pub(super) fn learned_since(self, first: Self) -> Vec<Restriction> {
        let is_learned = |refused: &Restriction| self.without(*refused) == self && first.without(*refused) != first;
        Restriction::ALL.into_iter().filter(is_learned).collect()
    }

    /// Returns the dialect for the next attempt after a refusal, and the change in words; `None` when the refusal is about something else.
    pub(super) fn concede(
        self,
        status: u16,
        refusal: &ServiceRefusal,
        used: UsedFeatures,
        ways: &[StructuredBy],
    ) -> Option<(Self, String)> {
        if !matches!(status, 400 | 404 | 405 | 422 | 501) {
            return None;
        }
        if used.result_images && self.result_images && names(refusal, &["image"]) {
            let next = Self { result_images: false, ..self };
            return Some((next, "accepts no images in tool results; sending their names instead".to_owned()));
        }
        if used.tokens && self.tokens == TokensKey::MaxTokens && refusal.body.contains("max_completion_tokens") {
            let next = Self { tokens: TokensKey::MaxCompletionTokens, ..self };
            return Some((next, "refuses max_tokens; using max_completion_tokens".to_owned()));
        }
        if used.stream && self.stream_usage && is_about(refusal, &["stream_options", "include_usage"]) {
            let next = Self { stream_usage: false, ..self };
            return Some((next, "refuses stream_options; requesting no token counts".to_owned()));
        }
        if self.encrypted_reasoning && used.reasoning_items && names(refusal, &["encrypted"]) {
            let next = Self { encrypted_reasoning: false, ..self };
            return Some((next, "has no encrypted reasoning; not requesting it".to_owned()));
        }
        if used.effort && self.effort_word && is_about(refusal, &EFFORT) {
            let next = Self { effort_word: false, ..self };
            return Some((
                next,
                "refuses this form of reasoning; requesting it as a number of tokens, or omitting it".to_owned(),
            ));
        }
        if used.sampling && self.sampling && is_about(refusal, &SAMPLING) && is_flat(refusal) {
            let next = Self { sampling: false, ..self };
            return Some((next, "accepts no temperature or top_p; omitting them".to_owned()));
        }
        if self.names_respond(used) && is_about(refusal, &["tool_choice"]) {
            return Some(self.unnamed());
        }
        if used.strict_tools && self.strict_tools && is_about_strict_tools(status, refusal, used) {
            let next = Self { strict_tools: false, ..self };
            return Some((next, "refuses strict tools; sending them without `strict`".to_owned()));
        }
        let less = self.other_form(refusal, used).or_else(|| self.other_way(status, refusal, used, ways));
        less.or_else(|| self.without_object(status, refusal, used))
    }

    /// Asks for a control object in the prompt alone, when the server refuses the JSON object mode.
    fn without_object(self, status: u16, refusal: &ServiceRefusal, used: UsedFeatures) -> Option<(Self, String)> {
        // One service demands the word in a message; a system text of the developer's own does not count.
        let is_refused = refuses(&STRUCTURE, status, refusal) || names(refusal, &["the word 'json'"]);
        (used.control && used.open && self.object && is_refused).then(|| self.in_prompt())
    }

    /// Returns the dialect that asks for a control object in the prompt alone, and the change in words.
    fn in_prompt(self) -> (Self, String) {
        let (object, prompt) = (StructuredBy::JsonObject.name(), StructuredBy::Prompt.name());
        (Self { object: false, ..self }, format!("refuses structured output by {object}; using {prompt}"))
    }

    /// Returns the dialect that requires a call without the name of the tool, and the change in words.
    fn unnamed(self) -> (Self, String) {
        (Self { named: false, ..self }, "refuses a named tool; requiring a call instead".to_owned())
    }

    /// Returns whether the tool that carries the schema is requested by its name.
    fn names_respond(self, used: UsedFeatures) -> bool {
        self.named && used.structured && self.structured == StructuredBy::Tool && !used.tools
    }

    /// Returns the dialect for the next attempt after a server accepted a schema and ignored it, and the change in words. `None` where the
    /// setting fixes the way, or the way guarantees no schema (`json_object`, `prompt`).
    pub(super) fn after_ignored(self, used: UsedFeatures, ways: &[StructuredBy]) -> Option<(Self, String)> {
        if self.names_respond(used) {
            let next = Self { named: false, ..self };
            return Some((next, "does not call the named tool; requiring any call instead".to_owned()));
        }
        let is_promise = matches!(self.structured, StructuredBy::JsonSchema | StructuredBy::Tool);
        let place = ways.iter().position(|way| *way == self.structured).filter(|_| is_promise && used.open)?;
        let step = *ways.get(place + 1)?;
        let words = format!(
            "accepts structured output by {} but does not follow it; using {}",
            self.structured.name(),
            step.name()
        );
        Some((Self { structured: step, ..self }, words))
    }

    /// The same schema in another form, when the form is what was refused.
    fn other_form(self, refusal: &ServiceRefusal, used: UsedFeatures) -> Option<(Self, String)> {
        let has_schema = used.structured && self.structured != StructuredBy::Prompt;
        if !has_schema && !used.tools {
            return None;
        }
        let to = |form, words: &str| Some((Self { form, ..self }, words.to_owned()));
        match self.form {
            SchemaForm::OpenApi if names(refusal, &["responseschema", "response_schema", "parameters", "schema"]) => {
                to(SchemaForm::Plain, "refuses the schema in its older form; sending JSON Schema")
            }
            SchemaForm::Plain
                if used.structured && names(refusal, &["additionalproperties", "'required' is required", "strict"]) =>
            {
                to(SchemaForm::Strict, "wants strict schemas; every property is required and may be null")
            }
            _ => None,
        }
    }

    fn other_way(
        self,
        status: u16,
        refusal: &ServiceRefusal,
        used: UsedFeatures,
        ways: &[StructuredBy],
    ) -> Option<(Self, String)> {
        let words: &[&str] = if self.structured == StructuredBy::Tool { &FORCED } else { &STRUCTURE };
        self.next_way(ways).filter(|_| used.structured && used.open && refuses(words, status, refusal))
    }

    /// Returns the dialect with the next weaker way in which a schema is sent, and the change in words.
    fn next_way(self, ways: &[StructuredBy]) -> Option<(Self, String)> {
        let place = ways.iter().position(|way| *way == self.structured)?;
        let step = *ways.get(place + 1)?;
        let words = format!("refuses structured output by {}; using {}", self.structured.name(), step.name());
        Some((Self { structured: step, ..self }, words))
    }

    /// Returns the dialect for the next attempt after a service failed with status 500 at a request for structured output, and the change
    /// in words: some servers fail where others refuse. A failure that names nothing counts only if it `is_last`: no attempt follows.
    pub(super) fn after_crash(
        self,
        refusal: &ServiceRefusal,
        is_last: bool,
        used: UsedFeatures,
        ways: &[StructuredBy],
    ) -> Option<(Self, String)> {
        let has_object = used.control && self.object;
        if !used.open || !(used.structured || has_object) {
            return None;
        }
        let is_tool = used.structured && self.structured == StructuredBy::Tool;
        let words: &[&str] = if is_tool { &CRASHED_TOOL } else { &STRUCTURE };
        let is_named = is_about(refusal, words) || is_about(refusal, &["schema", "grammar"]);
        if !(is_named || is_last && refusal.param.is_none()) {
            return None;
        }
        if has_object {
            return Some(self.in_prompt());
        }
        if self.names_respond(used) && is_about(refusal, &["tool_choice"]) {
            return Some(self.unnamed());
        }
        self.other_form(refusal, used).or_else(|| self.next_way(ways))
    }
}

/// Words by which servers name what this program calls structured output.
const STRUCTURE: [&str; 14] = [
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "json_object",
    "json mode",
    "structured",
    "grammar",
    "output_config",
    "output_format",
    "responseschema",
    "responsejsonschema",
    "responsemimetype",
    "invalid format",
];

/// Words by which servers name a tool that must be called.
const FORCED: [&str; 5] = ["tool", "function", "tool_choice", "toolconfig", "input_schema"];

/// Words by which servers that failed name a tool that must be called. `function` is no such word: traces of calls contain it.
const CRASHED_TOOL: [&str; 2] = ["tool", "input_schema"];

/// Words by which servers name the amount of reasoning.
const EFFORT: [&str; 8] = [
    "adaptive",
    "effort",
    "reasoning.summary",
    "reasoning summaries",
    "thinkinglevel",
    "thinking_level",
    "thinking level",
    "not support thinking",
];

const SAMPLING: [&str; 3] = ["temperature", "top_p", "topp"];

/// Returns whether the refusal is about one of these, or names nothing.
fn refuses(words: &[&str], status: u16, refusal: &ServiceRefusal) -> bool {
    is_about(refusal, words) || (refusal.param.is_none() && is_vague(status, refusal))
}

/// Returns whether the refusal is about strict tools. The service compiles their schemas and has limits of its own for that. A refusal that
/// does not name tools may also be about a schema for the answer, and counts only where none was sent.
fn is_about_strict_tools(status: u16, refusal: &ServiceRefusal, used: UsedFeatures) -> bool {
    let names_tools = is_about(refusal, &["tool", "function"]);
    if refusal.param.is_some() && !is_about(refusal, &["tool", "function", "strict"]) {
        return false;
    }
    let names_strict = names(refusal, &["strict", "additionalproperties", "'required' is required"]);
    let names_limit =
        names(refusal, &["too complex", "compiled grammar", "optional parameters", "invalid schema for function"]);
    let is_alone = !used.structured && !used.control;
    (names_tools && (names_strict || names_limit))
        || (is_alone && (names_strict || names_limit || (refusal.param.is_none() && is_vague(status, refusal))))
}

/// A named parameter decides alone; otherwise the words of the answer do.
fn is_about(refusal: &ServiceRefusal, words: &[&str]) -> bool {
    let place = refusal.param.as_deref().unwrap_or(&refusal.body);
    words.iter().any(|word| place.contains(word))
}

/// Returns whether the text of the refusal contains one of these words.
fn names(refusal: &ServiceRefusal, words: &[&str]) -> bool {
    let body = refusal.body.as_str();
    words.iter().any(|word| body.contains(word))
}

/// Returns whether the parameter is refused as such, not only its value.
fn is_flat(refusal: &ServiceRefusal) -> bool {
    let words = [
        "not supported",
        "unsupported",
        "does not support",
        "not allowed",
        "deprecated",
        "only the default",
        "not permitted",
    ];
    names(refusal, &words)
}

/// Something is refused, but the server does not name it.
fn is_vague(status: u16, refusal: &ServiceRefusal) -> bool {
    let unsupported =
        ["unsupported", "not supported", "does not support", "extra inputs", "unknown field", "unknown name"];
    status == 422 || (!matches!(status, 404 | 405) && unsupported.iter().any(|word| refusal.body.contains(word)))
}

#[cfg(test)]
mod tests;

//! The interface between the adapter and a wire protocol: addresses, headers, bodies, replies. One implementation per protocol folder.

use std::borrow::Cow;
use std::fmt;

use ptc_core::value::Json;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::assembly::{Assembly, ChunkError, Pieces};
use super::attached_file::AttachedFile;
use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::history::AnsweredCall;
use super::schema::{closed, is_strict, strict, written};
use super::{ModelError, Request, ToolChoice, Want};
use crate::config::Protocol;
use crate::event::{StructuredBy, ToolSchema};

/// The tool that a model is made to call when its parameters carry the schema.
pub(super) const RESPOND: &str = "respond";
/// The description of that tool.
pub(super) const RESPOND_ABOUT: &str = "Gives the answer.";

/// A question, and how it is to be put.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft<'a> {
    pub(super) request: &'a Request,
    pub(super) endpoint: &'a Endpoint,
    pub(super) dialect: Dialect,
}

impl<'a> Draft<'a> {
    /// Returns the way in which the schema is sent or, without a schema, a control object is requested; `None` for other requests.
    pub(super) fn structured_by(&self) -> Option<StructuredBy> {
        match (&self.request.schema, self.request.want) {
            (Some(_), _) => Some(self.dialect.structured),
            (None, Want::ControlJson) if self.asks_for_control() => Some(StructuredBy::JsonObject),
            (None, Want::ControlJson) => Some(StructuredBy::Prompt),
            (None, _) => None,
        }
    }

    /// Returns whether the request requires a JSON object without a schema.
    pub(super) fn asks_for_object(&self) -> bool {
        self.structured_by() == Some(StructuredBy::JsonObject)
    }

    /// Returns whether a control object may be requested as a JSON object: next to native tools only where that leaves the
    /// model free to call them.
    fn asks_for_control(&self) -> bool {
        let beside_tools = matches!(self.endpoint.protocol, Protocol::OpenAi | Protocol::Responses);
        self.dialect.object && (beside_tools || self.request.tools.is_empty())
    }

    /// The amount of reasoning as a word, unless the service refuses words. For protocols that have no number of tokens for it.
    pub(super) fn effort(&self) -> Option<&'a str> {
        let asked = self.request.options.reasoning.as_deref();
        asked.filter(|_| self.dialect.effort_word && !self.counts_reasoning())
    }

    /// Returns whether the amount of reasoning is a number of tokens.
    pub(super) fn counts_reasoning(&self) -> bool {
        self.request.options.reasoning.as_deref().is_some_and(|asked| asked.parse::<u64>().is_ok())
    }

    /// The restriction of tool calls, if there are tools and none of them carries the schema.
    pub(super) fn tool_choice(&self) -> Option<&'a ToolChoice> {
        let is_free = self.schema(StructuredBy::Tool).is_none() && !self.request.tools.is_empty();
        self.request.tool_choice.as_ref().filter(|_| is_free)
    }

    /// Returns whether tools are strict, where their schemas can be.
    pub(super) fn has_strict_tools(&self) -> bool {
        let is_wanted = self.request.options.strict_tools.unwrap_or(self.endpoint.known.strict_tools);
        is_wanted && self.dialect.strict_tools && self.endpoint.protocol.has_strict_tools()
    }

    /// The parameters of a tool as they are sent, and whether calls are kept to them. One protocol lets optional properties be absent,
    /// the others want null for them.
    pub(super) fn parameters(&self, tool: &ToolSchema) -> (Json, bool) {
        let plain = tool.parameters.json();
        match strict(&plain).filter(|_| self.has_strict_tools()) {
            Some(_) if self.endpoint.protocol == Protocol::Anthropic => (closed(&plain), true),
            Some(strict) => (strict, true),
            None => {
                // The Responses API takes every schema for a strict one unless the opposite is stated.
                let is_off = self.request.options.strict_tools == Some(false) || !self.dialect.strict_tools;
                let is_strict = self.endpoint.protocol == Protocol::Responses && !is_off && is_strict(&plain);
                (plain, is_strict)
            }
        }
    }

    /// A result of a call: its text, and its images unless the service refuses images there.
    pub(super) fn result_parts(&self, answer: &AnsweredCall<'a>) -> (Cow<'a, str>, Vec<AttachedFile<'a>>) {
        if self.dialect.result_images {
            (Cow::Borrowed(answer.result), AttachedFile::all(self.request, &answer.files))
        } else {
            (answer.text_without_images(), Vec::new())
        }
    }

    /// The schema, when it is sent in this way.
    pub(super) fn schema(&self, way: StructuredBy) -> Option<&'a Json> {
        self.request.schema.as_ref().filter(|_| self.dialect.structured == way)
    }

    /// The schema in the form that the service requires, and whether it is strict.
    pub(super) fn written_schema(&self, schema: &Json) -> (Json, bool) {
        if self.request.options.strict_schema == Some(false) {
            return (schema.clone(), false);
        }
        let schema = written(schema, self.dialect.form);
        let is_strict = is_strict(&schema);
        (schema, is_strict)
    }
}

impl Draft<'_> {
    /// Returns the body of the question with the further members that the options name. Error: the path of a member that
    /// this program sets itself.
    pub(super) fn body(&self, language: &dyn Language) -> Result<Json, String> {
        let body = language.body(self);
        match &self.request.options.extra_body {
            None => Ok(body),
            Some(extra) => {
                let extra = extra.json();
                let reserved = [language.messages_key(), "model", "stream"];
                let is_reserved = |name: &&str| extra.get(name).is_some();
                match reserved.iter().find(|name| is_reserved(name)) {
                    Some(name) => Err((*name).to_owned()),
                    None => with_members(&body, &extra, ""),
                }
            }
        }
    }
}

/// Adds the members of one object to another; objects inside are merged. Error: the path of a member that both have.
fn with_members(body: &Json, extra: &Json, path: &str) -> Result<Json, String> {
    extra.members().unwrap_or_default().iter().try_fold(body.clone(), |all, member| {
        let path = format!("{path}{}", member.key);
        let value = match body.get(&member.key) {
            None => member.value.clone(),
            Some(own) if own.members().is_some() && member.value.members().is_some() => {
                with_members(own, &member.value, &format!("{path}."))?
            }
            Some(_) => return Err(path),
        };
        Ok(all.with(member.key.as_str(), value))
    })
}

/// The protocol's path after the configured address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// Nothing.
    AsIs,
    /// This segment.
    Add(&'static str),
    /// One segment less.
    Parent,
}

/// Division of a streamed reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text a line.
    Lines,
    /// Binary frames of Amazon's event streams.
    Frames,
}

/// A wire protocol.
pub(super) trait Language: Send + Sync + fmt::Debug {
    /// Returns the root of the protocol, relative to an address whose path has these segments.
    fn root(&self, segments: &[&str]) -> Root {
        let _ = segments;
        Root::AsIs
    }

    /// Returns whether the protocol has custom tools, whose argument is a text.
    fn has_custom_tools(&self) -> bool {
        false
    }

    /// Path of a question to a model, below the root, and its query.
    fn question(&self, endpoint: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>);

    /// Path of the list of models, and where in its answer the list and each name are.
    fn list(&self) -> Listing;

    /// Name and scheme of the header that carries the key.
    fn key_header(&self, endpoint: &Endpoint) -> (&'static str, &'static str);

    /// The host that lists models, where it is not the one that runs them.
    fn list_host(&self, host: &str) -> Option<String> {
        let _ = host;
        None
    }

    /// Returns the name of the credentials that authenticate requests without a configured key, and advice on how to set them.
    fn account(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Adds the headers that authenticate a request without a configured key.
    fn sign(
        &self,
        endpoint: &Endpoint,
        request: &UnsignedRequest<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), ModelError> {
        let _ = (endpoint, request, headers);
        Ok(())
    }

    /// Further headers of the protocol itself.
    fn headers(&self, endpoint: &Endpoint, headers: &mut HeaderMap) {
        let _ = (endpoint, headers);
    }

    /// The ways in which a schema can be sent, the strongest first.
    fn ways(&self) -> &'static [StructuredBy];

    /// Returns the division of a streamed reply.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// The member of a body that holds the messages.
    fn messages_key(&self) -> &'static str {
        "messages"
    }

    /// The body of a question.
    fn body(&self, draft: &Draft<'_>) -> Json;

    /// Options that were asked for and cannot be sent.
    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        let _ = draft;
        Vec::new()
    }

    /// Reads one reply.
    fn reader(&self) -> Box<dyn Reader>;
}

/// A request before it is authenticated.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsignedRequest<'a> {
    pub(super) method: &'static str,
    pub(super) url: &'a Url,
    pub(super) body: &'a str,
}

/// Path of a server's list of models, and the members of its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing {
    /// Path.
    pub(super) path: &'static [&'static str],
    /// Query, to have the whole list at once.
    pub(super) query: Option<(&'static str, &'static str)>,
    /// The member that holds the list.
    pub(super) list: &'static str,
    /// The member that holds the name of an item.
    pub(super) name: &'static str,
    /// The prefix of each name, which is not part of it.
    pub(super) prefix: &'static str,
}

/// The state of reading one reply.
pub(super) trait Reader: Send {
    /// Takes the JSON of an event, of a line, or of a whole answer; returns the pieces in it.
    fn take(&mut self, json: &str, assembly: &mut Assembly) -> Result<Pieces, ChunkError>;
}

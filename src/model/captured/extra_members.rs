//! Members of a captured body for which this program has no option.
//!
//! In: the body without its messages, and the request that was read from it. Out: the members that a request repeats as `extra_body`, the
//! paths of those that it cannot repeat, and the functions among its tools. It must never repeat a member that a body of this program has.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::parts::kind_of;
use super::{CapturedRequest, custom_tool, gemini, is_true, texts, tool};
use crate::config::document::to_inline;
use crate::config::{Protocol, carries_key};
use crate::event::{Options, ToolSchema};

/// The members of a body for which this program has no option, and its tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtraMembers {
    /// The members that are repeated: an object.
    pub extra: Json,
    /// The paths of those that are not repeated.
    pub omitted: Vec<String>,
    /// The options that this program sets.
    pub options: Options,
    /// The functions that it offers; `None` without a list of tools.
    pub tools: Option<Vec<ToolSchema>>,
    /// All of these functions are strict.
    pub has_strict_tools: bool,
    /// Each reply must call a tool.
    pub forces_call: bool,
}

/// Members of tools that are sent, or have no meaning for other requests.
const TOOL_MEMBERS: [&str; 11] = [
    "name",
    "description",
    "type",
    "strict",
    "parameters",
    "input_schema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "cache_control",
    "custom",
    "format",
];

/// Members that options have, or that this program decides about.
fn option_members(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::OpenAi => &[
            "model",
            "stream",
            "stream_options",
            "temperature",
            "max_tokens",
            "max_completion_tokens",
            "top_p",
            "stop",
            "seed",
        ],
        Protocol::Responses => &[
            "model",
            "instructions",
            "stream",
            "stream_options",
            "temperature",
            "max_output_tokens",
            "top_p",
            "previous_response_id",
            "conversation",
            // Of messages of a WebSocket.
            "type",
            "stream_id",
            "generate",
        ],
        Protocol::Anthropic => {
            &["model", "system", "stream", "temperature", "max_tokens", "top_p", "stop_sequences", "thread"]
        }
        Protocol::Gemini => &[
            "model",
            "systemInstruction",
            "system_instruction",
            "generationConfig.temperature",
            "generationConfig.topP",
            "generationConfig.top_p",
            "generationConfig.maxOutputTokens",
            "generationConfig.max_output_tokens",
            "generationConfig.stopSequences",
            "generationConfig.stop_sequences",
            "generationConfig.seed",
        ],
        Protocol::Ollama => &[
            "model",
            "stream",
            "system",
            "options.temperature",
            "options.num_predict",
            "options.top_p",
            "options.stop",
            "options.seed",
        ],
        Protocol::Bedrock => &[],
    }
}

/// Returns whether the options have the value of a member of [`option_members`]; `true` for a member that is not an option.
fn has_value(options: &Options, path: &str, value: &Json) -> bool {
    let text = value.to_text();
    let is_whole = |option: Option<u64>| option.is_some() && text.parse::<u64>().ok() == option;
    let is_decimal = |option: Option<f64>| option.is_some() && text.parse::<f64>().ok() == option;
    match path.rsplit('.').next().unwrap_or_default() {
        "temperature" => is_decimal(options.temperature),
        "top_p" | "topP" => is_decimal(options.top_p),
        "max_tokens" | "max_completion_tokens" | "max_output_tokens" | "maxOutputTokens" | "num_predict" => {
            is_whole(options.max_tokens)
        }
        "seed" => is_whole(options.seed),
        "stop" | "stop_sequences" | "stopSequences" => {
            let count = value.items().map_or(1, <[Json]>::len);
            options.stop.len() == count && options.stop == texts(Some(value))
        }
        _ => true,
    }
}

/// Members that ask for the schema of the answer.
fn schema_members(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::OpenAi => &["response_format"],
        Protocol::Responses => &["text.format"],
        Protocol::Anthropic => &["output_format", "output_config.format"],
        Protocol::Gemini => &[
            "generationConfig.responseMimeType",
            "generationConfig.response_mime_type",
            "generationConfig.responseSchema",
            "generationConfig.response_schema",
            "generationConfig.responseJsonSchema",
            "generationConfig.response_json_schema",
        ],
        Protocol::Ollama => &["format"],
        Protocol::Bedrock => &[],
    }
}

/// Members that ask for an amount of reasoning.
fn reasoning_members(protocol: Protocol, frame: &Json) -> &'static [&'static str] {
    match protocol {
        Protocol::OpenAi => &["reasoning_effort"],
        Protocol::Responses => &["reasoning.effort"],
        Protocol::Anthropic if frame.at("thinking.budget_tokens").is_some() => {
            &["thinking.type", "thinking.budget_tokens"]
        }
        Protocol::Anthropic => &["thinking.type", "output_config.effort"],
        Protocol::Gemini => &["generationConfig.thinkingConfig", "generationConfig.thinking_config"],
        Protocol::Ollama => &["think"],
        Protocol::Bedrock => &[],
    }
}

/// Members that are never repeated, with the value that means the same as none.
pub(super) fn omitted_members(protocol: Protocol) -> &'static [(&'static str, &'static str)] {
    match protocol {
        Protocol::OpenAi => &[("n", "1")],
        Protocol::Responses => {
            &[("background", "false"), ("store", "false"), ("include", r#"["reasoning.encrypted_content"]"#)]
        }
        Protocol::Gemini => &[("generationConfig.candidateCount", "1"), ("generationConfig.candidate_count", "1")],
        Protocol::Ollama => &[("raw", "false"), ("template", r#""""#)],
        Protocol::Anthropic | Protocol::Bedrock => &[],
    }
}

/// Values that mean the same as an absent member.
pub(super) const DEFAULTS: [(&str, &str); 6] = [
    ("response_format", r#"{"type":"text"}"#),
    ("text.format", r#"{"type":"text"}"#),
    ("generationConfig.responseMimeType", r#""text/plain""#),
    ("tool_choice", r#""auto""#),
    ("tool_choice", r#"{"type":"auto"}"#),
    ("toolConfig.functionCallingConfig", r#"{"mode":"AUTO"}"#),
];

/// Returns the members of a body without its messages that no option has, and the functions that it offers.
pub fn extra_members(protocol: Protocol, frame: &Json, read: &CapturedRequest) -> ExtraMembers {
    let frame = with_camel_case_config(without_nulls(frame));
    let mut found = ExtraMembers { options: read.options.clone(), ..ExtraMembers::default() };
    // An effort alone does not ask for the kind of reasoning that the option asks for.
    if protocol == Protocol::Anthropic && frame.get("thinking").is_none() {
        found.options.reasoning = None;
    }
    let is_unread = |path: &&str| frame.at(path).is_some_and(|value| !has_value(&read.options, path, value));
    found.omitted.extend(option_members(protocol).iter().copied().filter(is_unread).map(str::to_owned));
    let mut rest = option_members(protocol).iter().fold(frame.clone(), |rest, path| without(rest, path));
    if read.schema.is_some() {
        rest = schema_members(protocol).iter().fold(rest, |rest, path| without(rest, path));
    }
    if found.options.reasoning.is_some() {
        rest = reasoning_members(protocol, &frame).iter().fold(rest, |rest, path| without(rest, path));
        // The option asks for summaries of its own.
        if protocol == Protocol::Responses {
            rest = found.omit(rest, "reasoning.summary", r#""auto""#);
        }
    }
    for (path, default) in omitted_members(protocol) {
        rest = found.omit(rest, path, default);
    }
    rest = with_tool_choice(rest);
    for (path, default) in DEFAULTS {
        if rest.at(path).is_some_and(|value| value.to_text() == default) {
            rest = without(rest, path);
        }
    }
    rest = found.take_tools(protocol, rest);
    let mut extra = Json::empty();
    for member in rest.members().unwrap_or_default() {
        if carries_key(&member.key, &member.value) || to_inline(&member.value).is_none() {
            found.omitted.push(member.key.clone());
        } else {
            extra = extra.with(&member.key, member.value.clone());
        }
    }
    found.forces_call = forces_call(&extra);
    found.extra = extra;
    found
}

impl ExtraMembers {
    /// Removes a member; its path is noted unless it has its default.
    fn omit(&mut self, rest: Json, path: &str, default: &str) -> Json {
        let Some(value) = rest.at(path) else { return rest };
        if value.to_text() != default {
            self.omitted.push(path.to_owned());
        }
        without(rest, path)
    }

    /// Removes the tools from a body and notes its functions. Tools of the service remain where there is no function: a body of this
    /// program has no other list of tools then.
    fn take_tools(&mut self, protocol: Protocol, rest: Json) -> Json {
        let lists = ["tools", "functions"].iter().filter_map(|key| rest.get(key)?.items());
        let items: Vec<&Json> = lists.flatten().collect();
        if items.is_empty() {
            return rest.without("tools").without("functions");
        }
        let (mut functions, mut others): (Vec<Json>, Vec<Json>) = Default::default();
        for item in items {
            let declared = ["functionDeclarations", "function_declarations"].iter().find_map(|key| item.get(key));
            if let Some(declared) = declared {
                functions.extend(declared.items().unwrap_or_default().iter().cloned());
                let group = item.clone().without("functionDeclarations").without("function_declarations");
                others.extend(Some(group).filter(|group| group.members().is_some_and(|members| !members.is_empty())));
            } else if let Some(function) = function(protocol, item).or_else(|| custom(protocol, item)) {
                functions.push(function.clone());
            } else {
                others.push(item.clone());
            }
        }
        let read = |item: &Json| match protocol {
            _ if custom(protocol, item).is_some() => custom_tool(item),
            Protocol::Gemini => gemini::function(item),
            Protocol::Anthropic => tool(item, &["input_schema"]),
            _ => tool(item, &["parameters"]),
        };
        self.tools = Some(functions.iter().filter_map(read).collect());
        let strict = functions.iter().filter(|item| is_true(item, "strict")).count();
        let all = functions.iter().filter(|item| custom(protocol, item).is_none()).count();
        self.has_strict_tools = strict > 0 && strict == all;
        if strict > 0 && !self.has_strict_tools {
            self.omitted.push("strict (of some tools)".to_owned());
        }
        let members = functions.iter().flat_map(|item| item.members().unwrap_or_default());
        for member in members.filter(|member| !TOOL_MEMBERS.contains(&member.key.as_str())) {
            let name = format!("{} (of tools)", member.key);
            if !self.omitted.contains(&name) {
                self.omitted.push(name);
            }
        }
        let rest = rest.without("tools").without("functions");
        if functions.is_empty() {
            return rest.with("tools", Json::list(others));
        }
        self.omitted.extend(others.iter().map(|other| format!("the tool {}", kind_of(other))));
        rest
    }
}

/// The function of an item of a list of tools; `None` for tools of the service and for those without a schema.
fn function(protocol: Protocol, item: &Json) -> Option<&Json> {
    let is_function = |item: &&Json| item.get("type").is_none_or(|kind| kind.as_str() == Some("function"));
    match protocol {
        Protocol::Anthropic => Some(item).filter(|item| item.get("input_schema").is_some()),
        _ => item.get("function").or_else(|| Some(item).filter(is_function).filter(|item| item.get("name").is_some())),
    }
}

/// The item of a custom tool, in the protocols that have them.
fn custom(protocol: Protocol, item: &Json) -> Option<&Json> {
    let is_custom = matches!(protocol, Protocol::OpenAi | Protocol::Responses) && custom_tool(item).is_some();
    is_custom.then_some(item)
}

/// The choice of a function in its older form becomes a choice of a tool.
pub(super) fn with_tool_choice(rest: Json) -> Json {
    let Some(older) = rest.get("function_call").cloned() else { return rest };
    let choice = match older.get("name") {
        Some(name) => {
            Json::empty().with("type", Json::str("function")).with("function", Json::empty().with("name", name.clone()))
        }
        None => older,
    };
    rest.without("function_call").with("tool_choice", choice)
}

/// Returns whether these members make the model call a tool in each reply.
fn forces_call(extra: &Json) -> bool {
    let choice = extra.get("tool_choice");
    let kind = choice.and_then(|choice| choice.as_str().or_else(|| choice.get("type")?.as_str()));
    let calling = ["toolConfig.functionCallingConfig.mode", "tool_config.function_calling_config.mode"];
    let is_any = |path: &&str| extra.at(path).and_then(Json::as_str).is_some_and(|mode| mode == "ANY");
    let allowed = ["tool_choice.mode", "tool_choice.allowed_tools.mode"];
    let is_required = |path: &&str| extra.at(path).and_then(Json::as_str).is_some_and(|mode| mode == "required");
    kind.is_some_and(|kind| !matches!(kind, "auto" | "none" | "allowed_tools"))
        || calling.iter().any(is_any)
        || allowed.iter().any(is_required)
}

/// The body with the spelling of its configuration that bodies of this program have: both would be the same member for the service.
fn with_camel_case_config(frame: Json) -> Json {
    match frame.get("generation_config").cloned() {
        Some(config) => frame.without("generation_config").with("generationConfig", config),
        None => frame,
    }
}

/// The object without the member at this path, and without the objects around it that are empty then.
pub(super) fn without(json: Json, path: &str) -> Json {
    let Some((first, below)) = path.split_once('.') else { return json.without(path) };
    let Some(inner) = json.get(first).filter(|inner| inner.members().is_some()).cloned() else { return json };
    let inner = without(inner, below);
    if inner.members().is_some_and(<[_]>::is_empty) { json.without(first) } else { json.with(first, inner) }
}

/// The value without members that are null: services take them for absent ones.
fn without_nulls(json: &Json) -> Json {
    let Some(members) = json.members() else { return json.clone() };
    let filled = members.iter().filter(|member| member.value.node != Node::Null);
    Json::object(filled.map(|member| (member.key.clone(), without_nulls(&member.value))))
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn members(protocol: Protocol, frame: &str) -> ExtraMembers {
        let read = CapturedRequest::read(protocol, "/v1/x", frame.as_bytes()).unwrap();
        extra_members(protocol, &json::parse(frame).unwrap(), &read)
    }

    #[test]
    fn members_without_an_option_are_repeated_and_those_of_options_are_not() {
        let rows = [
            (
                Protocol::OpenAi,
                r#"{"model":"m","temperature":1,"n":2,"user":null,"frequency_penalty":0.5,"response_format":{"type":"json_object"},"prompt_cache_key":"abc","api_key":"abc"}"#,
                r#"{"frequency_penalty":0.5,"response_format":{"type":"json_object"},"prompt_cache_key":"abc"}"#,
                vec!["n", "api_key"],
            ),
            (
                Protocol::Responses,
                r#"{"model":"m","store":true,"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"text"},"verbosity":"low"}}"#,
                r#"{"text":{"verbosity":"low"}}"#,
                vec!["store"],
            ),
            (
                Protocol::Anthropic,
                r#"{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":2048},"top_k":3}"#,
                r#"{"top_k":3}"#,
                vec![],
            ),
            (
                Protocol::Anthropic,
                r#"{"model":"m","max_tokens":9,"output_config":{"effort":"low"}}"#,
                r#"{"output_config":{"effort":"low"}}"#,
                vec![],
            ),
            (
                Protocol::Gemini,
                r#"{"generation_config":{"temperature":1,"topK":4,"thinking_config":{"thinking_budget":512}}}"#,
                r#"{"generationConfig":{"topK":4}}"#,
                vec![],
            ),
            (
                Protocol::Ollama,
                r#"{"model":"m","think":true,"options":{"seed":1,"num_ctx":8}}"#,
                r#"{"think":true,"options":{"num_ctx":8}}"#,
                vec![],
            ),
        ];
        for (protocol, frame, extra, omitted) in rows {
            let found = members(protocol, frame);
            assert_eq!((found.extra.to_text().as_str(), found.omitted), (extra, owned(&omitted)), "{frame}");
        }
        let budget = members(Protocol::Gemini, r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":512}}}"#);
        assert_eq!(budget.options.reasoning.as_deref(), Some("512"));
    }

    #[test]
    fn options_whose_values_cannot_be_read_are_listed() {
        let rows = [
            (
                Protocol::OpenAi,
                r#"{"seed":-1,"max_tokens":-1,"top_p":"x","stop":["a",5]}"#,
                "max_tokens, top_p, stop, seed",
            ),
            (Protocol::OpenAi, r#"{"max_completion_tokens":9,"max_tokens":5}"#, "max_tokens"),
            (Protocol::OpenAi, r#"{"seed":1,"max_tokens":9,"temperature":1,"top_p":0.50,"stop":"a"}"#, ""),
            (Protocol::OpenAi, r#"{"seed":null,"stop":[],"stream":true}"#, ""),
            (Protocol::Responses, r#"{"max_output_tokens":1.5,"temperature":0}"#, "max_output_tokens"),
            (Protocol::Anthropic, r#"{"max_tokens":9,"stop_sequences":["a","b"]}"#, ""),
            (Protocol::Ollama, r#"{"options":{"num_predict":-1,"seed":7}}"#, "options.num_predict"),
            (Protocol::Gemini, r#"{"generationConfig":{"seed":-5,"topP":0.5}}"#, "generationConfig.seed"),
            (
                Protocol::Gemini,
                r#"{"generation_config":{"max_output_tokens":-1}}"#,
                "generationConfig.max_output_tokens",
            ),
        ];
        for (protocol, frame, expected) in rows {
            let found = members(protocol, frame);
            assert_eq!(found.omitted.join(", "), expected, "{frame}");
            assert_eq!(found.extra, Json::empty(), "{frame}");
        }
    }

    #[test]
    fn a_choice_of_allowed_tools_forces_a_call_if_its_mode_requires_one() {
        let rows = [
            (Protocol::OpenAi, r#"{"tool_choice":"required"}"#, true),
            (Protocol::OpenAi, r#"{"tool_choice":"auto"}"#, false),
            (Protocol::OpenAi, r#"{"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}}"#, true),
            (Protocol::OpenAi, r#"{"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto"}}}"#, false),
            (Protocol::Responses, r#"{"tool_choice":{"type":"allowed_tools","mode":"required","tools":[]}}"#, true),
            (Protocol::Responses, r#"{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}}"#, false),
            (Protocol::Anthropic, r#"{"tool_choice":{"type":"any"}}"#, true),
            (Protocol::Gemini, r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}"#, true),
            (Protocol::Gemini, r#"{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}"#, false),
        ];
        for (protocol, frame, expected) in rows {
            assert_eq!(members(protocol, frame).forces_call, expected, "{frame}");
        }
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn functions_are_tools_and_tools_of_the_service_are_repeated_only_alone() {
        let function = r#"{"name":"f","parameters":{"type":"object"}}"#;
        let older =
            members(Protocol::OpenAi, &format!(r#"{{"functions":[{function}],"function_call":{{"name":"f"}}}}"#));
        assert_eq!(older.tools.unwrap()[0].name, "f");
        assert_eq!(older.extra.to_text(), r#"{"tool_choice":{"type":"function","function":{"name":"f"}}}"#);
        assert!(older.forces_call);
        let search = r#"{"type":"web_search"}"#;
        let alone = members(Protocol::Responses, &format!(r#"{{"tools":[{search}]}}"#));
        assert_eq!((alone.tools, alone.extra.to_text()), (Some(Vec::new()), format!(r#"{{"tools":[{search}]}}"#)));
        let strict = r#"{"type":"function","name":"f","strict":true,"defer_loading":true,"parameters":{}}"#;
        let both = members(Protocol::Responses, &format!(r#"{{"tool_choice":"auto","tools":[{search},{strict}]}}"#));
        assert_eq!(both.omitted, ["defer_loading (of tools)", "the tool web_search"]);
        assert!(both.has_strict_tools && !both.forces_call && both.extra == Json::empty());
        let groups = r#"{"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]}]}"#;
        let groups = members(Protocol::Gemini, groups);
        assert_eq!((groups.tools.unwrap().len(), groups.omitted), (1, owned(&["the tool googleSearch"])));
    }
}

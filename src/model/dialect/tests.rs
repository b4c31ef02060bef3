//! Refusals in the words of services, and what is asked for afterwards.

use super::*;

const USED: UsedFeatures = UsedFeatures {
    structured: true,
    control: false,
    open: true,
    tools: false,
    strict_tools: false,
    tokens: true,
    effort: true,
    reasoning_items: false,
    sampling: false,
    stream: true,
    result_images: false,
};
const WAYS: [StructuredBy; 4] =
    [StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt];

fn start() -> Dialect {
    Dialect::first(&Endpoint::new("local", "m", "http://127.0.0.1"), &WAYS, Some("127.0.0.1"))
}

fn next(from: Dialect, status: u16, param: Option<&str>, body: &str) -> Option<Dialect> {
    let refusal = ServiceRefusal { param: param.map(str::to_owned), body: body.to_lowercase() };
    from.concede(status, &refusal, USED, &WAYS).map(|(next, _)| next)
}

#[test]
fn a_refused_schema_steps_down_to_the_prompt_and_no_further() {
    let second = next(start(), 400, None, "response_format: json_schema is not available").unwrap();
    assert_eq!(second.structured, StructuredBy::Tool);
    assert_eq!(next(second, 400, Some("response_format"), "Invalid"), None);
    let unnamed = next(second, 400, Some("tool_choice"), "Invalid").unwrap();
    assert_eq!((unnamed.structured, unnamed.named), (StructuredBy::Tool, false));
    let third = next(unnamed, 400, Some("tool_choice"), "Invalid").unwrap();
    assert_eq!(third.structured, StructuredBy::JsonObject);
    let fourth = next(third, 400, Some("response_format"), "Invalid").unwrap();
    assert_eq!(fourth.structured, StructuredBy::Prompt);
    assert_eq!(next(fourth, 400, Some("response_format"), "Invalid"), None);
}

#[test]
fn a_refused_form_is_written_in_another_form_first() {
    let strict =
        next(start(), 400, None, "Invalid schema for response_format: 'additionalProperties' is required").unwrap();
    assert_eq!((strict.form, strict.structured), (SchemaForm::Strict, StructuredBy::JsonSchema));
    let older = Dialect { form: SchemaForm::OpenApi, ..start() };
    let plain = next(older, 400, None, "Unknown name \"responseSchema\"").unwrap();
    assert_eq!((plain.form, plain.structured), (SchemaForm::Plain, StructuredBy::JsonSchema));
}

#[test]
fn refusals_are_distinguished() {
    let structured = |by| Some(Dialect { structured: by, ..start() });
    let down = structured(StructuredBy::Tool);
    let cases = [
        (400, None, "JSON mode is not supported with this model", down),
        (400, None, "failed to parse grammar", down),
        (400, None, "this is unsupported", down),
        (422, None, "Unprocessable Entity", down),
        (422, Some("response_format.type"), "Input should be 'text'", down),
        (501, None, "structured output not implemented", down),
        (404, None, "the model `x` does not exist; it is not supported", None),
        (400, Some("temperature"), "Unsupported value; response_format is fine", None),
        (422, Some("stop"), "Input should be a list", None),
        (400, None, "This model's maximum context length is 8192 tokens", None),
        (500, None, "response_format crashed", None),
        (429, None, "unsupported", None),
        (
            400,
            Some("max_tokens"),
            "'max_tokens' is unsupported, use 'max_completion_tokens' instead",
            Some(Dialect { tokens: TokensKey::MaxCompletionTokens, ..start() }),
        ),
        (400, None, "stream_options: Extra inputs are not permitted", Some(Dialect { stream_usage: false, ..start() })),
    ];
    for (status, param, body, expected) in cases {
        assert_eq!(next(start(), status, param, body), expected, "{status} {param:?} {body}");
    }
}

#[test]
fn a_failure_steps_down_if_it_names_the_schema_or_is_the_last_one() {
    let after = |from: Dialect, param: Option<&str>, body: &str, is_last| {
        let refusal = ServiceRefusal { param: param.map(str::to_owned), body: body.to_owned() };
        from.after_crash(&refusal, is_last, USED, &WAYS).map(|(next, _)| next)
    };
    let with = |structured| Dialect { structured, ..start() };
    let (schema, tool) = (StructuredBy::JsonSchema, StructuredBy::Tool);
    let (object, prompt) = (StructuredBy::JsonObject, StructuredBy::Prompt);
    for (from, body, expected) in [
        (schema, "[{'loc': ('body', 'response_format', 'type')}]", Some(with(tool))),
        (schema, "failed to parse grammar", Some(with(tool))),
        (schema, "cannot convert this schema", Some(with(tool))),
        (schema, "internal server error", None),
        (schema, "in function main", None),
        (tool, "tools param requires --jinja flag", Some(with(object))),
        (tool, "tool_choice is no text", Some(Dialect { named: false, ..with(tool) })),
        (tool, "in function main", None),
        (object, "response_format", Some(with(prompt))),
        (prompt, "response_format", None),
    ] {
        assert_eq!(after(with(from), None, body, false), expected, "{from:?} {body}");
    }
    assert_eq!(after(start(), None, "internal server error", true), Some(with(tool)));
    assert_eq!(after(with(prompt), None, "internal server error", true), None);
    assert_eq!(after(start(), Some("temperature"), "response_format", true), None);
    let refusal = ServiceRefusal { param: None, body: "response_format".to_owned() };
    let control = UsedFeatures { structured: false, control: true, ..USED };
    let next = start().after_crash(&refusal, false, control, &WAYS).map(|(next, _)| next);
    assert_eq!(next, Some(Dialect { object: false, ..start() }));
    for used in [UsedFeatures { structured: false, ..USED }, UsedFeatures { open: false, ..USED }] {
        assert_eq!(start().after_crash(&refusal, true, used, &WAYS), None);
    }
}

#[test]
fn a_control_object_that_is_refused_is_asked_for_in_words_and_the_schema_keeps_its_way() {
    let control = UsedFeatures { structured: false, control: true, ..USED };
    let refusal = ServiceRefusal { param: None, body: "'response_format.type' must be 'json_schema' or 'text'".into() };
    let (next, _) = start().concede(400, &refusal, control, &WAYS).unwrap();
    assert_eq!(next, Dialect { object: false, ..start() });
    assert_eq!(next.concede(400, &refusal, control, &WAYS), None);
    assert_eq!(start().concede(400, &refusal, UsedFeatures { open: false, ..control }, &WAYS), None);
    let elsewhere = ServiceRefusal { param: Some("temperature".into()), body: "invalid value".into() };
    assert_eq!(start().concede(400, &elsewhere, control, &WAYS), None);
}

#[test]
fn strict_tools_are_the_first_to_go_where_a_refusal_is_about_them() {
    let alone = UsedFeatures { structured: false, tools: true, strict_tools: true, ..USED };
    let loose = Some(Dialect { strict_tools: false, ..start() });
    let with_schema = UsedFeatures { structured: true, ..alone };
    let cases = [
        (alone, None, "tools.0.custom.strict: extra inputs are not permitted", loose),
        (alone, Some("tools[0].function.parameters"), "invalid schema for function 'f': 'additionalproperties'", loose),
        (alone, None, "the compiled grammar is too large; reduce the number of strict tools", loose),
        (alone, None, "this is unsupported", loose),
        (with_schema, None, "strict tools are not supported with this model", loose),
        (
            with_schema,
            None,
            "response_format: json_schema is not available",
            Some(Dialect { structured: StructuredBy::Tool, ..start() }),
        ),
        (alone, Some("temperature"), "strict values only", None),
        (UsedFeatures { strict_tools: false, ..alone }, None, "tools.0.custom.strict: no", None),
    ];
    for (used, param, body, expected) in cases {
        let refusal = ServiceRefusal { param: param.map(str::to_owned), body: body.to_owned() };
        let next = start().concede(400, &refusal, used, &WAYS).map(|(next, _)| next);
        assert_eq!(next, expected, "{param:?} {body}");
    }
}

#[test]
fn images_in_results_are_named_where_they_are_refused() {
    let with_images = UsedFeatures { result_images: true, ..USED };
    let refusal = ServiceRefusal { param: None, body: "tool results must be text, got image".to_owned() };
    let (next, words) = start().concede(400, &refusal, with_images, &WAYS).unwrap();
    assert!(!next.result_images && next.structured == start().structured, "{words}");
    assert_eq!(next.concede(400, &refusal, with_images, &WAYS), None, "it is refused once");
    assert_eq!(start().concede(400, &refusal, USED, &WAYS), None, "there was no image");
}

#[test]
fn what_a_check_learned_makes_the_same_dialect_again() {
    for restriction in Restriction::ALL.into_iter().filter(|known| *known != Restriction::Streaming) {
        let older = Endpoint { protocol: Protocol::Gemini, ..Endpoint::new("local", "m", "http://127.0.0.1") };
        for endpoint in [older, Endpoint::new("local", "m", "http://127.0.0.1")] {
            let first = Dialect::first(&endpoint, &WAYS, None);
            let learned = first.without(restriction);
            let refused = learned.learned_since(first);
            let again = Dialect::first(&Endpoint { refused, ..endpoint }, &WAYS, None);
            assert_eq!(again, learned, "{restriction:?}");
        }
    }
}

#[test]
fn what_was_not_used_is_not_conceded() {
    let refusal = ServiceRefusal { param: None, body: "response_format is not supported".into() };
    let used = UsedFeatures { structured: false, tokens: false, stream: false, ..USED };
    assert_eq!(start().concede(400, &refusal, used, &WAYS), None);
    assert_eq!(start().concede(400, &refusal, UsedFeatures { open: false, ..USED }, &WAYS), None);
}

//! The property of the agent file: what is written reads back as an equal agent, and the same agent gives the same text.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ptc_core::value::Json;
use ptc_core::value::json::Node;
use ptc_workbench::agent::{Agent, Mode, SystemPrompt, Tool};
use ptc_workbench::event::Options;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~\n\r\t\"'\\\\]{0,20}", "[a-z_.-]{1,8}"]
}

/// Names that are not blank.
fn words() -> impl Strategy<Value = String> {
    text().prop_map(|text| if text.trim().is_empty() { format!("{text}x") } else { text })
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Node::Null.into()),
        any::<bool>().prop_map(|truth| Node::Bool(truth).into()),
        any::<i64>().prop_map(|int| Node::Int(int).into()),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(|float| Node::Float(float).into()),
        text().prop_map(Json::str),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Json::list), vec((text(), inner), 0..4).prop_map(Json::object)]
    })
}

fn object() -> impl Strategy<Value = Json> {
    vec((text(), json()), 0..4).prop_map(Json::object)
}

/// Tables whose values TOML can express.
fn plain_object() -> impl Strategy<Value = Json> {
    vec((text(), text().prop_map(Json::str)), 0..3).prop_map(Json::object)
}

fn descriptions() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..3).prop_map(|rows| {
        let object = Json::object(rows.into_iter().map(|(key, text)| (key, Json::str(text))));
        let members = object.members().unwrap_or_default().iter();
        members.map(|member| (member.key.clone(), member.value.as_str().unwrap_or_default().to_owned())).collect()
    })
}

fn options() -> impl Strategy<Value = Options> {
    let numbers = (option::of(0.0..2.0), option::of(1..10_000u64), option::of(0.0..=1.0), option::of(0..1_000_000u64));
    (numbers, vec(text(), 0..3), option::of(words())).prop_map(
        |((temperature, max_tokens, top_p, seed), stop, reasoning)| Options {
            temperature,
            max_tokens,
            top_p,
            stop,
            seed,
            reasoning,
            strict_tools: top_p.map(|share| share > 0.5),
            strict_schema: top_p.map(|share| share > 0.7),
            extra_body: None,
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    vec((text(), plain_object()), 0..3).prop_map(|rows| {
        let object = Json::object(rows);
        let members = object.members().unwrap_or_default().iter();
        members.map(|member| Tool { name: member.key.clone(), definition: member.value.clone() }).collect()
    })
}

prop_compose! {
    fn basics()(
        name in words(),
        description in option::of(words()),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        model in option::of(words()),
        prompt in text(),
        signature in option::of(text()),
        schema in option::of(object()),
        max_turns in 1..=10_000u32,
        recovery in option::of(prop::sample::select(vec!["strict", "standard", "lenient"])),
    ) -> Agent {
        let recovery = recovery.map(ToOwned::to_owned);
        Agent { name, description, mode, model, prompt, signature, schema, max_turns, recovery, ..Agent::default() }
    }
}

prop_compose! {
    fn agent()(
        basics in basics(),
        limits in (option::of(1..86_400_000u64), option::of(1..1_000_000u64)),
        cache in any::<bool>(),
        system_prompt in (option::of(text()), option::of(text()), option::of(text()), option::of(text()), option::of(text())),
        field_descriptions in descriptions(),
        context_descriptions in descriptions(),
        context in object(),
        model_options in options(),
        tools in tools(),
        overrides in option::of(text()),
        plan in option::of(vec(text(), 1..3)),
    ) -> Agent {
        let (mission_timeout_ms, token_limit) = limits;
        let (replace, prefix, language_spec, output_format, suffix) = system_prompt;
        let section = |prompt| (Mode::Json, Json::object([("prompt", Json::str(prompt))]));
        let plan = plan.map(|items| ("plan".to_owned(), Json::list(items.into_iter().map(Json::str))));
        Agent {
            mission_timeout_ms,
            token_limit,
            cache,
            system_prompt: SystemPrompt { replace, prefix, language_spec, output_format, suffix },
            field_descriptions,
            context_descriptions,
            context,
            model_options,
            tools,
            modes: overrides.map(section).into_iter().collect(),
            options: plan.into_iter().collect(),
            ..basics
        }
    }
}

proptest! {
    #[test]
    fn a_written_agent_reads_back_equal(agent in agent()) {
        let written = agent.to_toml();
        let again = Agent::from_toml(&written, "a.toml").map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(&again, &agent, "{}", written);
        prop_assert_eq!(again.to_toml(), written);
    }
}

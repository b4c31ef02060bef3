//! The probe file: one expression a line with what the reference gave, in readable form.
//!
//! In: `expression  =>  value   |prints=[…]   |memory={…}` lines. Out: [`Check`]s. The environment of all probes is
//! in the file's header and, as data, here.

use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use super::{Check, Expected};

/// The context, tools and history of every probe.
const ENVIRONMENT: &str = r#"{
    "context": {
        "n": null, "xs": [1, 2, 3], "m": {"a": 1, "b": {"c": 2}}, "s": "héllo", "user_id": 7, "order-total": 9,
        "people": [
            {"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "Bob", "age": 25}, {"name": "Cy", "age": null}
        ]
    },
    "tools": {
        "echo": "echo", "boom": {"raise": "boom"}, "err": {"error": "err"},
        "search": {"return": [{"id": 1, "t": "a"}, {"id": 2, "t": "b"}]}
    },
    "turn_history": [10, 20, 30]
}"#;

/// Programs that ended in the reference because they computed too long or too much for its speed.
const FOR_ITS_SPEED: &[&str] = &["(map (fn [x] (reduce + (range 100000))) (range 500))", "(fib 30)"];

/// All probes of a file that can be compared; their ids begin with `prefix`.
pub(crate) fn probes(text: &str, prefix: &str) -> Vec<Check> {
    let environment = json::parse(ENVIRONMENT).expect("the environment is JSON");
    let mut topic = "";
    let mut checks = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            topic = heading;
        } else if let Some((program, result)) = line.split_once("  =>  ").filter(|_| !line.starts_with("# ")) {
            checks.extend(expected(result).map(|expected| Check {
                id: format!("{prefix}{}", at + 1),
                category: topic.to_owned(),
                case: case(&environment, &program.replace("\\n", "\n")),
                expected,
            }));
        }
    }
    // A program or result that the file shows cut shows nothing.
    checks.retain(|check| {
        !check.program().contains(" …(") && !FOR_ITS_SPEED.iter().any(|end| check.program().ends_with(end))
    });
    checks
}

fn case(environment: &Json, program: &str) -> Json {
    let members = environment.members().unwrap_or_default();
    let members = members.iter().map(|member| (member.key.as_str(), member.value.clone()));
    Json::object(members.chain([("program", Json::str(program))]))
}

/// `None` when the result is not part of the language: the reference's internals, discovery data, texts cut short.
fn expected(result: &str) -> Option<Expected> {
    let mut parts = result.split("   |");
    let value = parts.next()?.trim_end();
    if let Some(reason) = value.strip_prefix('!') {
        return (!reason.contains(' ')).then(|| Expected::Reason(reason.to_owned()));
    }
    if value.starts_with("<host")
        || value.starts_with("<discovery")
        || value.starts_with("<current")
        || result.contains('…')
    {
        return None;
    }
    let (signal, prn) = ["return", "fail"]
        .iter()
        .find_map(|signal| Some((Some(*signal), value.strip_prefix(&format!("<{signal}> "))?)))
        .unwrap_or((None, value));
    let ok: Json = Node::Bool(true).into();
    let mut members = vec![("ok".to_owned(), ok), ("prn".to_owned(), Json::str(prn))];
    members.extend(signal.map(|signal| ("signal".to_owned(), Json::str(signal))));
    for part in parts {
        let (name, text) = part.split_once('=')?;
        let name = if name == "memory" { "memory_out" } else { name };
        members.push((name.to_owned(), json::parse(text).ok()?));
    }
    Some(Expected::Record(Json::object(members)))
}

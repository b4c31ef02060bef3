//! Messages of an earlier conversation that a run begins with: the options `messages` and `messages_after`.
//!
//! In: lists of tables as written. Out: messages, and findings about invalid items.

use std::sync::Arc;

use ptc_core::value::{Json, json};

use super::Settings;
use super::members::{CALL, MESSAGE, RESULT, check_members};
use crate::agent::{Agent, Diagnostic};
use crate::event::{NativeCall, Role};
use crate::model::{Content, Message};
use crate::tool::{RESERVED_NAMES, Tool, provider_name};

/// Reads the messages of an option. Invalid items are reported and skipped.
pub(in crate::agent) fn read_messages(agent: &Agent, key: &str, findings: &mut Vec<Diagnostic>) -> Vec<Arc<Message>> {
    let items = agent.option(key).and_then(Json::items).unwrap_or_default().iter().enumerate();
    items.filter_map(|(place, item)| read(item, key, place + 1, findings).map(Arc::new)).collect()
}

fn read(item: &Json, key: &str, number: usize, findings: &mut Vec<Diagnostic>) -> Option<Message> {
    check_members(item, key, MESSAGE, findings);
    let list = |name: &str| item.get(name).and_then(Json::items).unwrap_or_default();
    let (calls, results) = (list("calls"), list("results"));
    for (name, parts, members) in [("calls", calls, CALL), ("results", results, RESULT)] {
        for part in parts {
            check_members(part, &format!("{key}.{name}"), members, findings);
        }
    }
    let text_of = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let text = text_of(item, "text");
    let named = item.get("role").and_then(Json::as_str);
    let role = [Role::User, Role::Assistant, Role::Tool].into_iter().find(|role| named == Some(role.name()));
    let problem = match role {
        None if item.get("role").is_none() => Some("needs a `role`: user, assistant or tool"),
        // An unknown role was reported with the members.
        None => None,
        Some(role) if role != Role::Assistant && !calls.is_empty() => Some("has `calls`: only `assistant` calls tools"),
        Some(Role::Tool) if results.is_empty() || !text.is_empty() => Some("needs `results`, and no `text`"),
        Some(role) if role != Role::Tool && !results.is_empty() => {
            Some("has `results`: move them to a message with the role `tool`")
        }
        _ if calls.iter().any(|call| text_of(call, "name").is_empty()) => Some("has a call without `name`"),
        _ if text.is_empty() && calls.is_empty() && results.is_empty() => Some("is empty: write its `text`"),
        Some(_) => None,
    };
    if let Some(problem) = problem {
        findings.push(Diagnostic::option(key, format!("message {number} of `{key}` {problem}")));
    }
    let call = |call: &Json| {
        let args = call.get("args").and_then(Json::as_str).unwrap_or("{}").to_owned();
        Content::Call(NativeCall { id: text_of(call, "id"), name: text_of(call, "name"), args })
    };
    let result = |result: &Json| Content::Result {
        call: text_of(result, "id"),
        name: text_of(result, "name"),
        result: text_of(result, "result"),
    };
    let own = (!text.is_empty()).then(|| Content::Text(text.clone()));
    let parts = own.into_iter().chain(calls.iter().map(call)).chain(results.iter().map(result));
    role.filter(|_| problem.is_none()).map(|role| Message { role, parts: parts.collect() })
}

/// Checks that the calls and results of the earlier conversation fit each other and the tools: a provider may refuse others. With
/// `verbatim` the messages were sent like this before.
pub(in crate::agent) fn check_calls(settings: &Settings, tools: &[Tool]) -> Vec<Diagnostic> {
    if settings.verbatim {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut pending: Vec<(&str, usize, &str)> = Vec::new();
    let finding = |key: &str, number: usize, problem: String| {
        let message = format!("message {number} of `{key}` {problem}; a provider may refuse the request");
        Diagnostic::option(key, message).warning()
    };
    for (key, messages) in [("messages", &settings.messages), ("messages_after", &settings.messages_after)] {
        for (number, part) in
            (1..).zip(messages).flat_map(|(number, message)| message.parts.iter().map(move |part| (number, part)))
        {
            let problem = match part {
                Content::Call(call) => {
                    pending.push((key, number, &call.id));
                    problem_of_call(call, tools)
                }
                Content::Result { call, .. } => {
                    let known = pending.iter().position(|(.., id)| id == call);
                    known.map(|at| pending.remove(at)).is_none().then(|| {
                        format!(
                            "has a result with the id `{call}`, but no call before it has this id and no result yet"
                        )
                    })
                }
                _ => None,
            };
            findings.extend(problem.map(|problem| finding(key, number, problem)));
        }
    }
    let unanswered = pending.into_iter();
    findings.extend(
        unanswered.map(|(key, number, id)| finding(key, number, format!("has the call `{id}`, which has no result"))),
    );
    findings
}

fn problem_of_call(call: &NativeCall, tools: &[Tool]) -> Option<String> {
    let name = &call.name;
    if call.id.is_empty() {
        return Some(format!("has a call of `{name}` without `id`"));
    }
    if !json::parse(&call.args).is_ok_and(|args| args.members().is_some()) {
        return Some(format!("has a call of `{name}` whose `args` are not the text of a JSON object"));
    }
    let known = tools.iter().any(|tool| tool.provider_name() == provider_name(name));
    (!known && !RESERVED_NAMES.contains(&name.as_str()))
        .then(|| format!("calls `{name}`, which is not a tool of the agent"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Plan;

    /// The warnings about an agent with the tool `rain`, after a question of the user.
    fn warnings(messages: &str, more: &str) -> Vec<String> {
        let text = format!(
            "prompt = \"x\"\nmode = \"text\"\n{more}\n[[messages]]\nrole = \"user\"\ntext = \"Rain?\"\n{messages}\n\
             [tools.rain]\nkind = \"table\"\nsignature = \"(n :int) -> :string\"\ndescription = \"Rain\"\ndefault = \"no\"\n"
        );
        let plan = Plan::new(&Agent::from_toml(&text, "a.toml").unwrap()).unwrap();
        let found = plan.warnings.into_iter().filter(|found| found.key.starts_with("messages"));
        found.map(|found| format!("{}: {}", found.key, found.message)).collect()
    }

    #[test]
    fn calls_and_results_that_do_not_fit_are_worth_knowing() {
        let call = |call: &str| format!("[[messages]]\nrole = \"assistant\"\ncalls = [{{ {call} }}]\n");
        let result = |id: &str| {
            format!(
                "[[messages]]\nrole = \"tool\"\nresults = [{{ id = \"{id}\", name = \"rain\", result = \"no\" }}]\n"
            )
        };
        let cases = [
            (call("id = 'c1', name = 'rain', args = '{\"n\":1}'") + &result("c1"), &[][..]),
            (
                call("id = 'c1', name = 'rain', args = '{\"n\":'") + &result("c1"),
                &[
                    "messages: message 2 of `messages` has a call of `rain` whose `args` are not the text of a JSON object",
                ],
            ),
            (
                call("id = 'c1', name = 'snow'") + &result("c1"),
                &["messages: message 2 of `messages` calls `snow`, which is not a tool of the agent"],
            ),
            (
                call("name = 'rain'") + &result(""),
                &["messages: message 2 of `messages` has a call of `rain` without `id`"],
            ),
            (
                call("id = 'c1', name = 'rain'") + &result("c9"),
                &[
                    "messages: message 3 of `messages` has a result with the id `c9`",
                    "messages: message 2 of `messages` has the call `c1`, which has no result",
                ],
            ),
        ];
        for (messages, expected) in cases {
            let found = warnings(&messages, "");
            assert_eq!(found.len(), expected.len(), "{messages}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.starts_with(expected), "{found}");
            }
            assert_eq!(warnings(&messages, "verbatim = true"), [""; 0]);
        }
    }

    /// The messages of an agent file with these tables, as text, and the findings.
    fn messages(text: &str) -> (Vec<String>, Vec<String>) {
        let agent = Agent::from_toml(&format!("prompt = \"x\"\nmode = \"text\"\n{text}"), "a.toml").unwrap();
        let mut findings = Vec::new();
        let read = read_messages(&agent, "messages", &mut findings);
        let shown = read.iter().map(|message| format!("{} {}", message.role.name(), message.lines()));
        (shown.collect(), findings.into_iter().map(|finding| finding.message).collect())
    }

    #[test]
    fn messages_have_roles_texts_calls_and_results() {
        let text = r#"
[[messages]]
role = "user"
text = "Rain?"
[[messages]]
role = "assistant"
text = "I look."
calls = [{ id = "c1", name = "forecast", args = '{"-n":1}' }]
[[messages]]
role = "tool"
results = [{ id = "c1", name = "forecast", result = "no rain" }]
"#;
        let (read, findings) = messages(text);
        assert_eq!(read, ["user Rain?", "assistant I look.\nforecast {\"-n\":1}", "tool no rain"]);
        assert_eq!(findings, [""; 0]);
    }

    #[test]
    fn invalid_messages_are_reported_with_their_number() {
        for (table, expected) in [
            ("text = 'x'", "message 1 of `messages` needs a `role`"),
            ("role = 'user'", "message 1 of `messages` is empty"),
            ("role = 'user'\ncalls = [{ name = 'f' }]", "only `assistant` calls tools"),
            ("role = 'user'\nresults = [{ result = 'x' }]", "move them to a message with the role `tool`"),
            ("role = 'tool'\ntext = 'x'", "needs `results`"),
            ("role = 'assistant'\ncalls = [{ id = 'c' }]", "a call without `name`"),
            ("role = 'user'\ntext = 'x'\nrol = 1", "unknown key `rol`"),
        ] {
            let (read, findings) = messages(&format!("[[messages]]\n{table}\n"));
            assert!(findings.iter().any(|found| found.contains(expected)), "{table}: {findings:?}");
            assert!(read.is_empty() || expected.contains("unknown key"), "{table}: {read:?}");
        }
    }
}

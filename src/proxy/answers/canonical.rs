//! The canonical form of a JSON body: clients write the same request with other ids, and members and results in another order.
//!
//! In: a body. Out: the same body with members in the order of their names, ids of calls as numbers in the order of their appearance, results
//! of parallel calls in the order of the calls, and without the members that name a user or steer a cache. It must never change a text, or
//! the arguments and results of tools.

use std::collections::HashMap;

use ptc_core::value::Json;
use ptc_core::value::json::{Member, Node};

/// Members of a body that are not for the model: they name a user or steer a cache.
const NOT_FOR_MODELS: [&str; 4] = ["cache_control", "prompt_cache_key", "safety_identifier", "user"];

/// Members of a body that contain its conversation.
const CONVERSATIONS: [&str; 3] = ["contents", "input", "messages"];

/// Members of a conversation that hold the id of a call.
const CALL_IDS: [&str; 3] = ["call_id", "tool_call_id", "tool_use_id"];

/// Returns the canonical form of a body.
pub(super) fn canonical(body: Json) -> Json {
    let Node::Object(members) = body.node else { return Ids::default().rewritten(body) };
    let mut ids = Ids::default();
    let members = in_order(members).into_iter().filter(|member| !NOT_FOR_MODELS.contains(&member.key.as_str()));
    let members = members.map(|Member { key, value, .. }| {
        ids.is_counting = CONVERSATIONS.contains(&key.as_str());
        let is_metadata = key == "metadata" && value.members().is_some();
        let value = if is_metadata { value.without("user_id") } else { value };
        (key, ids.rewritten(value))
    });
    Json::object(members.collect::<Vec<_>>())
}

/// The ids of a body.
#[derive(Default)]
struct Ids {
    /// Numbers of those that have appeared.
    numbers: HashMap<String, usize>,
    /// The part that is read is a conversation.
    is_counting: bool,
}

impl Ids {
    fn rewritten(&mut self, part: Json) -> Json {
        match part.node {
            Node::List(items) => Json::list(self.list(items)),
            Node::Object(members) => self.object(members),
            node => node.into(),
        }
    }

    /// Items of a list. Results that follow each other come in the order of their calls.
    fn list(&mut self, items: Vec<Json>) -> Vec<Json> {
        let mut written = Vec::with_capacity(items.len());
        let mut results = Vec::new();
        for item in items {
            if self.is_counting && result_id(&item).is_some() {
                results.push(item);
            } else {
                self.end_results(&mut results, &mut written);
                written.push(self.rewritten(item));
            }
        }
        self.end_results(&mut results, &mut written);
        written
    }

    /// Writes results. Those of calls that the body does not have (the service keeps them) are in the order of their ids.
    fn end_results(&mut self, results: &mut Vec<Json>, written: &mut Vec<Json>) {
        results.sort_by_cached_key(|result| {
            let id = result_id(result).unwrap_or_default();
            (self.numbers.get(id).copied().unwrap_or(usize::MAX), id.to_owned())
        });
        for result in results.drain(..) {
            written.push(self.rewritten(result));
        }
    }

    fn object(&mut self, members: Vec<Member>) -> Json {
        // A reference names an item that the service keeps: it is the content.
        let is_reference =
            members.iter().any(|member| member.key == "type" && member.value.as_str() == Some("item_reference"));
        let members = in_order(members).into_iter().filter(|member| member.key != "cache_control");
        let members = members.map(|Member { key, value, .. }| {
            let is_id = CALL_IDS.contains(&key.as_str()) || key == "id" && !is_reference;
            let value = match value.as_str() {
                Some(id) if self.is_counting && is_id => Json::str(self.numbered(id)),
                _ if self.is_counting && is_data(&key, &value) => ordered(value),
                _ => self.rewritten(value),
            };
            (key, value)
        });
        Json::object(members.collect::<Vec<_>>())
    }

    fn numbered(&mut self, id: &str) -> String {
        let next = self.numbers.len() + 1;
        format!("ID{}", self.numbers.entry(id.to_owned()).or_insert(next))
    }
}

/// Returns whether a member of a conversation contains arguments or a result of a tool: ids in these are not ids of calls.
fn is_data(key: &str, value: &Json) -> bool {
    matches!(key, "args" | "arguments" | "response") || key == "input" && value.members().is_some()
}

/// The id of the call that an item of a conversation is the result of.
fn result_id(item: &Json) -> Option<&str> {
    let member = |key: &str| item.get(key);
    let of_gemini =
        member("functionResponse").or_else(|| member("function_response")).and_then(|result| result.get("id"));
    let is_output = member("type").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("_output"));
    let of_responses = member("call_id").filter(|_| is_output);
    of_gemini.or_else(|| member("tool_call_id")).or_else(|| member("tool_use_id")).or(of_responses)?.as_str()
}

/// Returns data with its members in the order of their names.
fn ordered(data: Json) -> Json {
    match data.node {
        Node::List(items) => Json::list(items.into_iter().map(ordered)),
        Node::Object(members) => {
            Json::object(in_order(members).into_iter().map(|member| (member.key, ordered(member.value))))
        }
        node => node.into(),
    }
}

/// Members in the order of their names: maps of clients have another order in each run.
fn in_order(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by(|one, other| one.key.cmp(&other.key));
    members
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn of(body: &str) -> String {
        canonical(json::parse(body).unwrap()).to_text()
    }

    /// A request of two parallel calls with these ids, whose results come in this order.
    fn two_calls(protocol: &str, ids: [&str; 2], order: [usize; 2]) -> String {
        let words = ["sun", "rain"];
        let call = |number: usize| match protocol {
            "openai" => format!(
                r#"{{"id":"{}","type":"function","function":{{"name":"weather","arguments":"{{}}"}}}}"#,
                ids[number]
            ),
            "anthropic" => format!(r#"{{"type":"tool_use","id":"{}","name":"weather","input":{{}}}}"#, ids[number]),
            "gemini" => format!(r#"{{"functionCall":{{"id":"{}","name":"weather","args":{{}}}}}}"#, ids[number]),
            _ => format!(
                r#"{{"type":"function_call","id":"fc_{number}","call_id":"{}","name":"weather","arguments":"{{}}"}}"#,
                ids[number]
            ),
        };
        let result = |number: usize| match protocol {
            "openai" => format!(r#"{{"role":"tool","tool_call_id":"{}","content":"{}"}}"#, ids[number], words[number]),
            "anthropic" => {
                format!(r#"{{"type":"tool_result","tool_use_id":"{}","content":"{}"}}"#, ids[number], words[number])
            }
            "gemini" => format!(
                r#"{{"functionResponse":{{"id":"{}","name":"weather","response":{{"output":"{}"}}}}}}"#,
                ids[number], words[number]
            ),
            _ => {
                format!(r#"{{"type":"function_call_output","call_id":"{}","output":"{}"}}"#, ids[number], words[number])
            }
        };
        let calls = [0, 1].map(call).join(",");
        let results = order.map(result).join(",");
        match protocol {
            "openai" => format!(r#"{{"messages":[{{"role":"assistant","tool_calls":[{calls}]}},{results}]}}"#),
            "anthropic" => format!(
                r#"{{"messages":[{{"role":"assistant","content":[{calls}]}},{{"role":"user","content":[{results}]}}]}}"#
            ),
            "gemini" => format!(
                r#"{{"contents":[{{"role":"model","parts":[{calls}]}},{{"role":"user","parts":[{results}]}}]}}"#
            ),
            _ => format!(r#"{{"input":[{calls},{results}]}}"#),
        }
    }

    #[test]
    fn ids_of_calls_count_by_their_order_and_results_by_their_calls() {
        for protocol in ["openai", "anthropic", "gemini", "responses"] {
            let recorded = of(&two_calls(protocol, ["HROpX02Q0OW9cZff", "b2a4zuxaApJeFn4z"], [0, 1]));
            let same = of(&two_calls(protocol, ["read_file_1796042470559_0", "read_file_1796042470559_1"], [0, 1]));
            assert_eq!(recorded, same, "{protocol}");
            assert_eq!(recorded, of(&two_calls(protocol, ["x", "y"], [1, 0])), "{protocol}: results in another order");
            // The same results of the other calls.
            let exchanged =
                two_calls(protocol, ["x", "y"], [0, 1]).replace("sun", "-").replace("rain", "sun").replace('-', "rain");
            assert_ne!(recorded, of(&exchanged), "{protocol}");
        }
    }

    #[test]
    fn results_of_calls_that_the_service_keeps_are_in_the_order_of_their_ids() {
        let body = |order: [&str; 2]| {
            let results =
                order.map(|id| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"of {id}"}}"#));
            format!(r#"{{"previous_response_id":"resp_1","input":[{}]}}"#, results.join(","))
        };
        assert_eq!(of(&body(["call_a", "call_b"])), of(&body(["call_b", "call_a"])));
    }

    #[test]
    fn the_order_of_messages_and_ids_in_arguments_count() {
        let message = |one: &str, other: &str| {
            of(&format!(
                r#"{{"messages":[{{"role":"user","content":"{one}"}},{{"role":"user","content":"{other}"}}]}}"#
            ))
        };
        assert_ne!(message("a", "b"), message("b", "a"));
        let arguments = |id: &str| {
            of(&format!(
                r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"f","input":{{"id":"{id}"}}}}]}}]}}"#
            ))
        };
        assert_ne!(arguments("order 1"), arguments("order 2"));
        let reference = |id: &str| of(&format!(r#"{{"input":[{{"type":"item_reference","id":"{id}"}}]}}"#));
        assert_ne!(reference("msg_1"), reference("msg_2"));
        assert_ne!(of(r#"{"input":["a","b"]}"#), of(r#"{"input":["b","a"]}"#));
    }

    #[test]
    fn members_that_name_a_user_or_a_cache_do_not_count() {
        let plain =
            of(r#"{"model":"m","metadata":{},"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#);
        let named = r#"{"model":"m","metadata":{"user_id":"{\"device_id\":\"730c\"}"},"prompt_cache_key":"ses_1","safety_identifier":"s",
            "user":"u","messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#;
        assert_eq!(of(named), plain);
        assert_ne!(of(&named.replace("\"hi\"", "\"ho\"")), plain);
        // In other places these names are content.
        assert_ne!(of(r#"{"a":{"user":"x"}}"#), of(r#"{"a":{"user":"y"}}"#));
    }
}

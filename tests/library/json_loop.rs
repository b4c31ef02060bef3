//! Examples of the JSON loop.

use ptc_core::value::Json;
use ptc_workbench::agent::{Agent, AgentBuilder, Mode};
use ptc_workbench::model::{Want, script};
use ptc_workbench::run;

use super::{last, outcome, scripted};

fn looping() -> AgentBuilder {
    Agent::builder().mode(Mode::JsonLoop).prompt("What does tea cost?").tool_fn(
        "price",
        "(item :string) -> :float",
        "The price of an item",
        |_| Ok(super::value("3.5")),
    )
}

const CALL: &str =
    r#"{"thought":"I need the price.","tool_call":{"name":"price","arguments":{"item":"tea"}},"final_answer":null}"#;
const DONE: &str = r#"{"thought":"I know it.","tool_call":null,"final_answer":"Tea costs 3.5."}"#;

/// Execution flow: a call, its result, the answer; the history holds the object, the answer does not.
#[tokio::test]
async fn a_call_its_result_and_the_answer() {
    let (model, requests) = scripted([CALL, DONE]);
    let step = run(looping()).model(model).await;
    assert_eq!(outcome(&step), r#""Tea costs 3.5.""#);
    let requests = requests.lock().unwrap();
    assert_eq!((requests[0].want, requests[0].tools.len()), (Want::ControlJson, 0));
    let system = requests[0].system.clone().unwrap();
    assert!(system.contains("price") || last(&requests[0]).contains("price"), "tools are listed in the prompt");
    assert!(last(&requests[1]).contains("3.5"));
    assert_eq!(requests[1].messages[1].joined(), CALL, "the object as it was sent");
}

/// Malformed objects go back for correction, and the run continues.
#[tokio::test]
async fn a_broken_object_is_corrected_by_the_model() {
    for broken in [r#"{"thought":"say "hi"","final_answer":"x"}"#, "<tool>price</tool>", r#"{"thought":"nothing"}"#] {
        let (model, requests) = scripted([broken, DONE]);
        let step = run(looping()).model(model).await;
        assert_eq!((outcome(&step).as_str(), step.turns.len()), (r#""Tea costs 3.5.""#, 2), "{broken}");
        assert!(last(&requests.lock().unwrap()[1]).contains(broken), "the reply is shown as data");
    }
}

/// Call and answer exclude each other.
#[tokio::test]
async fn call_and_answer_exclude_each_other() {
    let both = r#"{"thought":"t","tool_call":{"name":"price","arguments":{"item":"tea"}},"final_answer":"x"}"#;
    let one = ptc_core::value::json::Node::Int(1).into();
    let step = run(looping().set("max_protocol_failures", one)).model(script([both])).await;
    assert_eq!((outcome(&step).as_str(), step.calls.len()), ("protocol_error", 0));
}

/// Native schemas instead of a list in the prompt.
#[tokio::test]
async fn tools_may_travel_as_native_schemas() {
    let (model, requests) = scripted([CALL, DONE]);
    let step = run(looping().set("tools_in", Json::str("native"))).model(model).await;
    assert_eq!(outcome(&step), r#""Tea costs 3.5.""#);
    assert_eq!(requests.lock().unwrap()[0].tools.len(), 1);
}

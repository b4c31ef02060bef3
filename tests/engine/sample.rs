//! The model `sample` in every mode: each tool is called once, the answer fits, and faults end like those of real models.

use ptc_workbench::agent::Mode;
use ptc_workbench::model::{FAULTS, Sample};

use super::*;

/// An agent with a tool for each way to run.
fn ways() -> Vec<(&'static str, Agent)> {
    let tool = "[tools.look-up]\nkind = \"table\"\nsignature = \"(id :int) -> {name :string}\"\ndefault = { name = \"Ada\" }\n";
    let made = |mode: &str, output: &str, rest: &str| {
        let text = format!(
            "name = \"a\"\nmode = \"{mode}\"\nprompt = \"Count.\"\nsignature = \"() -> {output}\"\n{rest}{tool}"
        );
        Agent::from_toml(&text, "a.toml").unwrap()
    };
    let record = "{n :int, at :datetime, words [:string]}";
    vec![
        ("text to text", made("text", ":string", "")),
        ("text to json", made("text", record, "")),
        ("json loop", made("json_loop", record, "")),
        ("json loop to text", made("json_loop", ":string", "")),
        ("json loop, native", made("json_loop", record, "tools_in = \"native\"\n")),
        ("programs", made("ptc_lisp", record, "")),
        ("programs by call", made("ptc_lisp", record, "transport = \"tool_call\"\n")),
        ("one program", made("ptc_lisp", ":int", "max_turns = 1\n")),
    ]
}

async fn run_sample(agent: &Agent, model: &str) -> Ran {
    let ran = run(agent, "{}", &Sample::parse(model).unwrap()).await;
    replays(&ran.events).await;
    ran
}

#[tokio::test(start_paused = true)]
async fn every_mode_gets_an_answer_after_one_call_of_the_tool() {
    for (way, agent) in ways() {
        let ran = run_sample(&agent, "").await;
        assert!(ran.step.is_ok(), "{way}: {:?}", ran.step.fail);
        let called: Vec<_> = ran.step.calls.iter().map(|call| (call.name.as_str(), call.error.clone())).collect();
        assert_eq!(called, [("look-up", None)], "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_fault_does_not_end_a_run_of_several_turns() {
    for (way, agent) in ways() {
        let several = agent.max_turns > 1;
        for (_, fault, _) in FAULTS {
            let ran = run_sample(&agent, fault).await;
            let fail = ran.step.fail.as_ref().map(|fail| format!("{}: {}", fail.reason, fail.message));
            assert!(!several || fail.is_none(), "{way}, {fault}: {fail:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn faults_in_every_turn_end_with_a_reason() {
    for (way, agent) in ways() {
        for (_, fault, _) in FAULTS {
            let ran = run_sample(&agent, &format!("{fault},every")).await;
            let harmless = ["slow", "prose", "two_blocks"].contains(fault)
                || (agent.mode != Mode::PtcLisp && agent.signature.as_deref() == Some("() -> :string"));
            assert!(harmless || ran.step.fail.is_some(), "{way}, {fault}: {:?}", ran.step.answer);
        }
    }
}

//! Tools that ask a model (kind `llm`, `llm-query`): what is made of the answer before it is a result.

use ptc_workbench::engine::ModelList;
use ptc_workbench::model::{Reply, script};

use super::ptc::{agent, p};
use super::*;

/// Runs a program with such a tool; `answers` are the replies of the model `judge`.
async fn asked(tool: &str, program: &str, answers: &[&str]) -> Ran {
    let agent = agent(&format!("max_turns = 1\n{tool}"));
    let plan = Plan::new(&agent).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let models = ModelList::default().with("judge", script(answers.iter().map(|text| Reply::from(*text))));
    let (root, sink) = (script([p(program)]), Memory::default());
    let ports = Ports { models: &models, ..Ports::new(&root, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let ran = Ran { step, events: sink.events() };
    replays(&ran.events).await;
    ran
}

const JUDGE: &str = r#"
[tools.judge]
kind = "llm"
model = "judge"
description = "Judges"
prompt = "Judge {{text}}."
signature = "(text :string) -> {urgent :bool, words :int}"
json_signature = "{urgency :float, note :string}"
response_template = "{:urgent (> {{urgency}} 0.5) :words (count (split {{note}} \" \"))}"
"#;
const CALL: &str = "(tool/judge {:text \"it\"})";

#[tokio::test]
async fn the_model_answers_by_one_signature_and_the_tool_by_another() {
    let ran = asked(JUDGE, CALL, &[r#"{"urgency":0.9,"note":"do \") it now"}"#]).await;
    assert_eq!(ran.outcome(), r#"{"urgent":true,"words":4}"#, "{:?}", ran.step.fail);
    let child = &ran.step.children[0];
    assert_eq!(child.signature.as_deref(), Some("(text :string) -> {urgency :float, note :string}"));
    assert_eq!(child.answer.as_ref().unwrap().to_text(), r#"{"urgency":0.9,"note":"do \") it now"}"#);
}

#[tokio::test]
async fn what_the_template_gives_must_fit_the_tool() {
    let wrong = JUDGE.replace("(count (split {{note}} \\\" \\\"))", "{{note}}");
    assert_ne!(wrong, JUDGE);
    let ran = asked(&wrong, CALL, &[r#"{"urgency":0.9,"note":"n"}"#]).await;
    assert_eq!(ran.turns(), ["tool_error"]);
    let text = &ran.step.calls[0].error.as_ref().unwrap().message;
    assert!(text.contains("response_template") && text.contains("words"), "{text}");
}

#[tokio::test]
async fn a_validator_refuses_a_result() {
    let checked = "[tools.judge]\nkind = \"llm\"\nmodel = \"judge\"\ndescription = \"Counts\"\nprompt = \"Count.\"\n\
                   signature = \"() -> :int\"\nvalidator = \"(if (pos? result) true \\\"it must be positive\\\")\"\n";
    assert_eq!(asked(checked, "(tool/judge)", &["3"]).await.outcome(), "3");
    let refused = asked(checked, "(tool/judge)", &["-3"]).await;
    assert_eq!(refused.turns(), ["tool_error"]);
    assert_eq!(refused.step.calls[0].error.as_ref().unwrap().message, "validator: it must be positive");
}

#[tokio::test]
async fn a_question_may_have_tools_of_its_own() {
    let with_tool = "[tools.judge]\nkind = \"llm\"\nmodel = \"judge\"\ndescription = \"Looks\"\nprompt = \"Look.\"\n\
                     signature = \"() -> :string\"\n[tools.judge.tools.look]\nkind = \"table\"\ndefault = \"blue\"\n";
    let agent = agent(&format!("max_turns = 1\n{with_tool}"));
    let plan = Plan::new(&agent).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let replies = [Reply::calling([("look", "{}")]), Reply::from("It is blue.")];
    let models = ModelList::default().with("judge", script(replies));
    let (root, sink) = (script([p("(tool/judge)")]), Memory::default());
    let ports = Ports { models: &models, ..Ports::new(&root, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    replays(&sink.events()).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("It is blue."), "{:?}", step.fail);
    assert_eq!(step.children[0].calls[0].name, "look");
}

#[tokio::test]
async fn a_query_may_bring_its_own_template() {
    let program = "(tool/llm-query {:prompt \"Rate {{x}}.\" :x 4 :llm \"judge\" :signature \"{n :int}\" \
                   :response_template \"(* 10 {{n}})\" :validator \"(> result 30)\"})";
    assert_eq!(asked("llm_query = true", program, &[r#"{"n":4}"#]).await.outcome(), "40");
    assert_eq!(asked("llm_query = true", program, &[r#"{"n":3}"#]).await.turns(), ["tool_error"]);
}

#[test]
fn what_cannot_be_is_reported_before_the_run() {
    let refused = |tool: &str| {
        let found = Plan::new(&agent(tool)).unwrap_err();
        found.iter().map(|finding| format!("{}: {}", finding.key, finding.message)).collect::<Vec<_>>().join("\n")
    };
    let quoted = refused(&JUDGE.replace("(count (split {{note}} \\\" \\\"))", "\\\"{{note}}\\\""));
    assert!(quoted.starts_with("tools.judge.response_template") && quoted.contains("without them"), "{quoted}");
    let signature = refused(&JUDGE.replace("{urgency :float, note :string}", "{urgency"));
    assert!(signature.starts_with("tools.judge.json_signature"), "{signature}");
}

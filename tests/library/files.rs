//! Session files of the library: recording to a file, and replaying an agent on it.

use ptc_workbench::model::{Reply, script};
use ptc_workbench::{AgentBuilder, Run, run};

use super::outcome;

fn greeter(prompt: &str) -> AgentBuilder {
    AgentBuilder::from(prompt).typed_tool("capital", "(country :string) -> :string", "Returns a capital", capital)
}

#[expect(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]
fn capital(country: std::collections::BTreeMap<String, String>) -> Result<String, String> {
    match country.get("country").map(String::as_str) {
        Some("France") => Ok("Paris".to_owned()),
        _ => Err("unknown country".to_owned()),
    }
}

/// A run with a tool call and a question.
fn asking(prompt: &str) -> Run {
    let tool = Reply::calling([("capital", r#"{"country": "France"}"#)]);
    let question = Reply::calling([("ask_user", r#"{"question": "Whom?"}"#)]);
    run(greeter(prompt).builtin_tool("ask_user"))
        .model(script([tool, question, Reply::from("Hello Ann from Paris")]))
        .on_question(|_| Some("Ann".to_owned()))
}

#[tokio::test]
async fn a_recorded_run_is_replayed_without_model_tools_and_user() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greeting.jsonl");
    let recorded = asking("Greet").record_to(&file).unwrap().await;
    assert_eq!(recorded.questions.len(), 1, "{:?}", recorded.fail);
    let bytes = std::fs::read(&file).unwrap();

    let agent = AgentBuilder::from("Greet")
        .typed_tool("capital", "(country :string) -> :string", "Returns a capital", |(): ()| -> Result<(), String> {
            panic!("a replay calls no tool")
        })
        .builtin_tool("ask_user");
    let step = run(agent).on_question(|_| panic!("a replay asks nobody")).replay(&file).await.unwrap();
    assert_eq!((outcome(&step), step.calls.len()), (r#""Hello Ann from Paris""#.to_owned(), 2));
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[tokio::test]
async fn a_changed_agent_is_not_as_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greeting.jsonl");
    asking("Greet").record_to(&file).unwrap().await;
    let error = asking("Insult").replay(&file).await.unwrap_err();
    assert!(error.message.starts_with("not as recorded: r0/t1 (turn 1, layer prompt"), "{error}");
    let error = asking("Greet").max_turns(0).replay(&file).await.unwrap_err();
    assert!(error.message.contains("max_turns"), "an agent with errors: {error}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greeting.jsonl");
    assert!(asking("Greet").replay(&file).await.unwrap_err().message.contains("greeting.jsonl"));
    asking("Greet").record_to(&file).unwrap().await;
    let Err(error) = asking("Greet").record_to(&file) else { panic!("a session file is never overwritten") };
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("greeting.jsonl"), "{error}");
    // A run that waits is no regression test.
    let waiting = folder.path().join("waiting.jsonl");
    let step = asking("Greet").on_question(|_| None).record_to(&waiting).unwrap().await;
    assert_eq!(outcome(&step), "suspended");
    assert!(asking("Greet").replay(&waiting).await.unwrap_err().message.contains("has not ended"));
}

#[tokio::test]
async fn the_errors_of_a_typed_tool_are_results_of_its_calls() {
    let call = |args: &'static str| [Reply::calling([("capital", args)]), Reply::from("done")];
    let unknown = run(greeter("Go")).model(script(call(r#"{"country": "Atlantis"}"#))).await;
    assert_eq!(unknown.calls[0].error.as_ref().unwrap().message, "unknown country");
    let unchecked = AgentBuilder::from("Go").typed_tool("half", "", "Halves", |n: f64| Ok(n / 2.0));
    let step = run(unchecked).model(script([Reply::calling([("half", r#"{"n": 1}"#)]), Reply::from("done")])).await;
    let message = &step.calls[0].error.as_ref().unwrap().message;
    assert!(message.contains("expected f64"), "{message}");
}

#[tokio::test]
async fn an_answer_is_read_as_text_and_as_a_type() {
    let count = || run("Count").signature("{n :int}").model(script([r#"{"n": 3}"#]));
    assert_eq!(count().await.into_text().unwrap(), r#"{"n":3}"#);
    let typed: std::collections::BTreeMap<String, u8> = count().await.into_typed().unwrap();
    assert_eq!(typed["n"], 3);
    let error = count().await.into_typed::<Vec<u8>>().unwrap_err();
    assert_eq!(error.reason, "validation_error");
    assert!(error.to_string().contains("the answer does not fit"), "{error}");
    let error = run("Count").await.into_text().unwrap_err();
    assert!(error.to_string().starts_with("llm_required: no model was given"), "{error}");
}

/// A handler may block: the runtime of this test has one thread, which continues meanwhile.
#[tokio::test]
async fn a_blocking_handler_does_not_block_the_run() {
    let (sender, receiver) = std::sync::mpsc::channel::<String>();
    let receiver = std::sync::Mutex::new(receiver);
    let run = asking("Greet").on_question(move |_| receiver.lock().unwrap().recv().ok());
    let answer = async {
        tokio::task::yield_now().await;
        sender.send("Ann".to_owned()).unwrap();
    };
    let (step, ()) = futures::join!(run.into_future(), answer);
    assert_eq!(outcome(&step), r#""Hello Ann from Paris""#);
}

//! Records a run to a session file and replays the agent on it without a model, as a test does.

use ptc_workbench::model::script;
use ptc_workbench::{AgentBuilder, Mode, run};
use serde_json::json;

fn classifier() -> AgentBuilder {
    AgentBuilder::default()
        .mode(Mode::Json)
        .prompt("Classify: {{text}}")
        .signature("(text :string) -> {sentiment :enum[positive negative]}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("classifier.jsonl");

    // Once, with a live model in the place of this script. The file is committed next to the test.
    let model = script([r#"{"sentiment": "positive"}"#]);
    run(classifier()).context(json!({"text": "I love it"})).model(model).record_to(&file)?.await.into_answer()?;

    // In the test. It fails if the agent sends something else, or reads the reply in another way.
    let step = run(classifier()).replay(&file).await?;
    assert_eq!(step.into_answer()?.to_text(), r#"{"sentiment":"positive"}"#);
    Ok(())
}

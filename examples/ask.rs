//! Runs an agent that asks the user a question.

use ptc_workbench::model::{Reply, script};
use ptc_workbench::run;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let call = Reply::calling([("ask_user", r#"{"question": "Which city?", "options": ["Lyon", "Nantes"]}"#)]);
    let step = run("Book a hotel.")
        .builtin_tool("ask_user")
        .on_question(|question| question.text.starts_with("Which city?").then(|| "Lyon".to_owned()))
        .model(script([call, Reply::from("Booked in Lyon.")]))
        .await;
    assert_eq!(step.questions[0].text, "Which city?");
    assert_eq!(step.into_text()?, "Booked in Lyon.");
    Ok(())
}

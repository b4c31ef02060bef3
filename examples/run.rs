//! Runs an agent with a live provider and prints its answer.

use ptc_workbench::{resolve_model, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let step = run("Name three rivers of France.").model(resolve_model("openai:gpt-5-mini")?).await;
    println!("{}", step.into_text()?);
    Ok(())
}

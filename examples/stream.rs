//! Prints the reply of a model as it arrives.

use ptc_workbench::event::Event;
use ptc_workbench::model::script;
use ptc_workbench::run;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut events = run("Name three rivers of France.").model(script(["Loire, Rhône, Seine"])).stream();
    let mut text = String::new();
    while let Some(envelope) = events.next().await {
        match envelope.event {
            Event::ReplyPart(part) => text.push_str(&part.text),
            Event::TurnEnd(_) => text.push('\n'),
            _ => {}
        }
    }
    assert_eq!(text, "Loire, Rhône, Seine\n");
    assert_eq!(events.step().await.into_text()?, "Loire, Rhône, Seine");
    Ok(())
}

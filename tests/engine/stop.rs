//! Stopping: a cancelled run ends with its reason, its turn recorded, whatever the model does.

use super::*;
use futures::future::pending;
use ptc_workbench::event::ModelRecord;
use ptc_workbench::model::{Call, ModelError, Reply};

/// Sends a little text and then never ends, not even when it is told to.
struct Deaf;

impl Model for Deaf {
    fn info(&self) -> ModelRecord {
        ModelRecord::default()
    }

    fn answer<'a>(&'a self, _: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            call.text(1, "{\"a\":").await;
            pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_soon_after_a_stop_even_when_the_model_does_not_listen() {
    let stop = Stop::default();
    let stopper = stop.clone();
    let task = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        stopper.by_person();
    });
    let ran = run_with(&agent("go", "{a :int}"), "{}", &Deaf, &Ticks(1), stop).await;
    task.await.unwrap();
    assert_eq!(ran.outcome(), "cancelled");
    assert_eq!(ran.turns(), ["cancelled"]);
    assert_eq!(ran.step.turns[0].raw_response, "{\"a\":");
    assert!(ran.events.iter().any(|envelope| matches!(&envelope.event, Event::Interrupt(by) if by.by == "person")));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_takes_longer_than_the_mission_is_ended() {
    let mut limited = agent("go", "{a :int}");
    limited.mission_timeout_ms = Some(200);
    let ran = run_with(&limited, "{}", &Deaf, &Ticks(0), Stop::default()).await;
    assert_eq!(ran.outcome(), "mission_timeout");
}

//! A fork of an old recording, or a run that was continued days later, takes as long as it ran: nothing counts the time between.

use ptc_workbench::agent::StepFold;
use ptc_workbench::event::{Edit, Envelope, Resume, RunWait};
use ptc_workbench::session::Skeleton;
use ptc_workbench::tui::transcript::Transcript;

use super::story::{Story, text};

const DAY_MS: i64 = 86_400_000;

/// 300 ms of a recorded turn, then, a day later, 500 ms more of it.
fn forked(marker: impl FnOnce(Story) -> Story) -> Vec<Envelope> {
    let story = Story::new().start().wait(100).turn("r0/t1").wait(200).part("r0/t1", 1, "{");
    marker(story)
        .wait(500)
        .reply("r0/t1", "{}", (1, 1))
        .turn_end("r0/t1", None, (1, 1), (1, 1, 1))
        .run_end(Some("{}"), None, (1, 1, 1))
        .events()
}

#[test]
fn no_fold_counts_the_time_between_the_recording_and_who_continues() {
    let resumed = |story: Story| story.wait(DAY_MS).apply_message("r0", Resume { after: 2 });
    let edited = |story: Story| {
        let edit = Edit {
            target: "reply".to_owned(),
            at: "r0/t1:reply".to_owned(),
            before_sha: None,
            after: text("1"),
            by: "me".into(),
        };
        story.apply_message("r0/t1", edit).wait(DAY_MS).apply_message("r0", Resume { after: 3 })
    };
    let waited = |story: Story| {
        story
            .apply_message("r0", RunWait { question: "r0/t1/q0".to_owned() })
            .wait(DAY_MS)
            .apply_message("r0", Resume { after: 3 })
    };
    for events in [forked(resumed), forked(edited), forked(waited)] {
        let mut fold = StepFold::default();
        for envelope in &events {
            fold.apply(envelope);
        }
        let step = fold.step();
        assert_eq!((step.usage.duration_ms, step.turns[0].latency_ms), (800, 700));
        let skeleton = Skeleton::of(events.clone());
        assert_eq!((skeleton.runs[0].elapsed_ms(), skeleton.runs[0].turns[0].elapsed_ms()), (800, 700));
        let mut transcript = Transcript::default();
        for envelope in &events {
            transcript.apply(envelope);
        }
        assert_eq!(transcript.facts.elapsed_ms(0), 800);
    }
}

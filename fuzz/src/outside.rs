//! Targets for text from outside other than programs: definitions, replies, streams, sessions, schemas, messages of servers.
//!
//! In: any text. A panic, a broken invariant, or more time than [`LONGEST`](super::LONGEST) is a find. No target opens a file.

use std::path::Path;
use std::time::Instant;

use ptc_core::reply::{self, AnswerShape, Finish, Recovery, control, program};
use ptc_core::signature;
use ptc_core::template;
use ptc_core::value::{Json, json};
use ptc_workbench::agent::{Agent, Plan, RawSchema, StepFold};
use ptc_workbench::config::Protocol;
use ptc_workbench::model::read_frames;
use ptc_workbench::session::Session;
use ptc_workbench::tool::{FileAccess, read_listing, read_result};
use ptc_workbench::workbench::Pipeline;

use super::LONGEST;

/// A target: its name and what it does with a text.
pub type Target = (&'static str, fn(&str));

/// All targets of this file.
pub const TARGETS: [Target; 8] = [
    ("signature", signature),
    ("template", template),
    ("reply", reply),
    ("stream", stream),
    ("session", session),
    ("agent", agent),
    ("schema", schema),
    ("mcp", mcp),
];

/// Runs it and fails when it took too long.
fn timed(run: impl FnOnce()) {
    let started = Instant::now();
    run();
    assert!(started.elapsed() < LONGEST, "it took {:?}", started.elapsed());
}

/// Reads a signature; the canonical form is read as the same, and a sample of it fits.
pub fn signature(text: &str) {
    timed(|| {
        let Ok(read) = signature::parse(text) else { return };
        let canonical = read.render();
        let again = signature::parse(&canonical).expect("the canonical form is a signature");
        assert_eq!(again.render(), canonical, "rendered twice");
        if let Some(output) = &read.output {
            let sample = signature::sample(output, 1, "answer");
            let issues: Vec<_> =
                signature::check(output, &sample.to_value()).into_iter().filter(|issue| issue.is_error()).collect();
            assert!(issues.is_empty(), "{canonical}: {issues:?}");
        }
    });
}

/// Reads a template and renders it with and without its names.
pub fn template(text: &str) {
    timed(|| {
        let Ok(read) = template::parse(text) else { return };
        let names = template::variables(&read);
        let context = Json::object(
            names
                .iter()
                .take(100)
                .map(|name| (name.path.segments().first().cloned().unwrap_or_default(), Json::str("x"))),
        );
        for context in [Json::empty(), context] {
            for missing in [template::MissingPolicy::Keep, template::MissingPolicy::Empty] {
                // Errors are values.
                drop(template::render(&read, &context.to_value(), missing));
            }
        }
    });
}

/// Extracts the answer, the control object and the program of a reply, at every level.
pub fn reply(text: &str) {
    timed(|| {
        for recovery in Recovery::ALL {
            for finish in [Finish::Complete, Finish::Truncated] {
                for shape in [AnswerShape::Object, AnswerShape::List, AnswerShape::Any] {
                    let mut accept = |_: &Json| Ok(());
                    let extracted = reply::extract(text, &shape, recovery, finish, &mut accept);
                    drop(format!("{extracted:?}"));
                }
                drop(control::read(text, control::AnswerType::Json, recovery, finish));
                drop(program::program(text, recovery, finish));
                drop(program::first_program(text, recovery, finish));
            }
        }
    });
}

/// Reads a streamed reply in every protocol, in pieces of several sizes: the pieces make no difference.
pub fn stream(text: &str) {
    timed(|| {
        for protocol in [Protocol::OpenAi, Protocol::Anthropic, Protocol::Gemini, Protocol::Ollama] {
            let whole = read_frames(protocol, text.as_bytes(), usize::MAX);
            for size in [1, 7] {
                assert_eq!(read_frames(protocol, text.as_bytes(), size), whole, "{protocol:?} in pieces of {size}");
            }
        }
    });
}

/// Reads a session: all lines, events and Steps.
pub fn session(text: &str) {
    timed(|| {
        let Ok(session) = Session::from_bytes(Path::new("fuzz.jsonl"), text.as_bytes().to_vec()) else { return };
        let mut fold = StepFold::default();
        for (index, envelope) in session.events().enumerate() {
            fold.apply(&envelope);
            drop(session.line(index));
        }
        drop(fold.step());
        drop(session.damage_report());
        drop(ptc_workbench::replay::Recording::of(&session));
    });
}

/// Reads an agent file and a pipeline; an agent is written and read as the same.
pub fn agent(text: &str) {
    timed(|| {
        drop(Pipeline::from_toml(text, "p.toml", &FileAccess::nowhere()));
        let Ok(agent) = Agent::from_toml_with(text, "a.toml", &FileAccess::nowhere()) else { return };
        let written = agent.to_toml();
        let again =
            Agent::from_toml_with(&written, "a.toml", &FileAccess::nowhere()).expect("what was written is read");
        assert_eq!(again.to_toml(), written, "written twice");
        drop(Plan::new(&agent));
        drop(agent.cases());
        drop(agent.rewrite_with(text, "a.toml", &FileAccess::nowhere()));
    });
}

/// Compiles a schema and checks an answer: the text is both, or holds both in a list.
pub fn schema(text: &str) {
    timed(|| {
        let Ok(json) = json::parse(text) else { return };
        let (schema, answer) = match json.items() {
            Some([schema, answer, ..]) => (schema.clone(), answer.clone()),
            _ => (json.clone(), json.clone()),
        };
        drop(signature::from_json_schema(&schema));
        if let Ok(schema) = RawSchema::compile(&schema) {
            drop(schema.check(&answer));
            drop(schema.fit(&answer));
        }
    });
}

/// Converts a listed tool and a result.
pub fn mcp(text: &str) {
    timed(|| {
        if let Some(listing) = read_listing(text) {
            assert!(signature::parse(&listing.signature).is_ok(), "{}", listing.signature);
        }
        drop(read_result(text));
    });
}

//! Cost of the engine itself: runs of many turns with a scripted model, recorded to a file.
//!
//! `cargo bench --bench overhead -- [TURNS]` prints time, processor time, memory and size of the session for each mode. The time includes
//! waits for the disk: a turn has ended when its lines are on it.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::sync::Arc;
use std::time::Instant;

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::model::{ClosureModel, Request};
use ptc_workbench::port::{Stop, SystemClock};
use ptc_workbench::replay::{Recording, ReplayOutcome, replay};
use ptc_workbench::session::{Header, Recorder, Session, SessionId};

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

/// An agent that needs all its turns, and the reply that never ends it.
const CASES: [(&str, &str, &str); 3] = [
    (
        "ptc_lisp",
        "mode = \"ptc_lisp\"\nsignature = \"{r :int}\"",
        "```clojure\n(def n (inc (or n 0)))\n(println n)\n```",
    ),
    (
        "ptc_lisp, trim",
        "mode = \"ptc_lisp\"\nsignature = \"{r :int}\"\ncompaction = true",
        "```clojure\n(def n (inc (or n 0)))\n(println n)\n```",
    ),
    ("json", "mode = \"json\"\nsignature = \"{r :int}\"", "{\"r\": \"no number\"}"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turns = arguments().next().map_or(Ok(1_000), |text| text.parse::<u32>())?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!("{turns} turns            run ms   processor ms   per turn us   resident kB   session kB   replay ms");
    for (name, toml, reply) in CASES {
        let toml = format!("prompt = \"go\"\nmax_turns = {turns}\n{toml}\n");
        let agent = Agent::from_toml(&toml, "overhead.toml")?;
        let plan = Plan::new(&agent).map_err(|findings| format!("{findings:?}"))?;
        let folder = tempfile::tempdir()?;
        let header = Header::new(SessionId::new(0, 1), 0);
        let recorder = Recorder::create(folder.path(), &header, Arc::new(SystemClock))?;
        let path = recorder.path().to_owned();
        let model = ClosureModel::new(move |_: &Request| reply);
        let (started, before) = (Instant::now(), processor_ms());
        let ports = Ports::new(&model, &SystemClock, &recorder, Stop::default());
        let step = runtime.block_on(engine::run(&plan, Input::new(json::parse("{}").unwrap_or_default()), &ports));
        let ms = started.elapsed().as_millis();
        drop(recorder);
        let cpu_ms = processor_ms() - before;
        assert_eq!(step.turns.len(), turns as usize, "{:?}", step.fail);
        let session = Session::open(&path)?;
        let recording = Arc::new(Recording::of(&session)?);
        let started = Instant::now();
        let report = runtime.block_on(replay(&recording, None))?;
        assert_eq!(report.outcome, ReplayOutcome::Identical);
        println!(
            "{name:<18} {ms:>12} {cpu_ms:>14} {:>13} {:>13} {:>12} {:>11}",
            per_turn_us(cpu_ms, turns),
            resident_kb(),
            std::fs::metadata(&path)?.len() / 1024,
            started.elapsed().as_millis(),
        );
    }
    Ok(())
}

/// Returns the arguments without the `--bench` that `cargo bench` adds.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| word != "--bench")
}

fn per_turn_us(ms: u64, turns: u32) -> u64 {
    ms * 1_000 / u64::from(turns.max(1))
}

/// Processor time of this process so far, where the system reports it.
fn processor_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    10 * fields.take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()
}

/// Resident memory, where the system reports it.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4
}

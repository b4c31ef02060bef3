//! Cost of the interface: a transcript of 100,000 lines with a reply streaming at 2,000 deltas a second, keys meanwhile, then nothing;
//! typing in a prompt of 1 MB, in lines and in one; the start with 1,000 saved sessions; 10,000 cases.
//!
//! `cargo bench --bench interface -- [SECONDS]` runs the real loop on a screen of 120×40 in memory, prints its figures next to their
//! limits, and fails when an event was not drawn, or when a figure exceeds its limit by half.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod run;
mod screen;

mod views;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::agent::{BundledExample, Place};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Address;
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::Input;
use ptc_workbench::tui::update;
use ptc_workbench::workbench::{Workbench, example_sessions};
use tokio::sync::mpsc::UnboundedSender;

use run::{LINES, Reply, Run, TURNS};
use screen::{SIZE, Screen, Seen};

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const DELTAS_A_SECOND: u64 = 2_000;
const SESSIONS: usize = 1_000;
/// Bytes of the prompt that is typed into.
const PROMPT: usize = 1_000_000;
/// Repeated pieces of such a prompt, by name.
const LARGE: [(&str, &str); 2] = [
    ("in lines", "a line of a long prompt with {{text}} in it, and some more words behind it\n"),
    ("in one line", "{\"id\": 12, \"name\": \"row\", \"tags\": [1, 2]}, "),
];
/// A figure that is so many times what it may be is a failure; less can be the load of the machine.
const CLEARLY: f64 = 1.5;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Returns the arguments without the `--bench` that `cargo bench` adds.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| word != "--bench")
}

fn main() -> Result<(), Failure> {
    let seconds = arguments().next().map_or(Ok(10), |text| text.parse::<u64>())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut figures = Figures::default();
    println!("load {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());

    many_sessions(&folder.path().join("sessions"))?;
    for reply in [Reply::Text, Reply::Json, Reply::Program] {
        println!("\n{reply:?}: {DELTAS_A_SECOND} deltas a second below {} lines", u64::try_from(LINES)? * TURNS);
        let started = Instant::now();
        let stage = Scene::new(folder.path())?;
        let (played, first_ms) = runtime.block_on(stream(stage, reply, started, seconds))?;
        figures.check("start to first frame, 1,000 saved sessions", first_ms, 50.0, "ms");
        figures.played(&played, seconds)?;
        figures.check("frames in two idle seconds", played.idle_frames, 0.0, "");
        figures.check("processor time in two idle seconds", played.idle_ms, 20.0, "ms");
        println!("{:<52} {:>9.1} MB", "memory at the end", played.memory_mb);
    }

    println!("\nwhole runs at once, {} lines each", u64::try_from(LINES)? * TURNS);
    let services = Scene::new(folder.path())?.services;
    for (what, size) in [("120×40", SIZE), ("200×60", (200, 60))] {
        let frames = views::overview(&services, size);
        figures.check(&format!("overview, {what}: frame p99"), percentile(&frames, 0.99), 8.0, "ms");
        let frames = views::side_by_side(&services, size);
        figures.check(&format!("four runs side by side, {what}: frame p99"), percentile(&frames, 0.99), 8.0, "ms");
    }
    println!("\nwhat fills the requests of {} turns", views::CHARTED);
    for (what, size) in [("120×40", SIZE), ("200×60", (200, 60))] {
        let frames = views::growth(&services, size).ok_or("no recording has a request")?;
        figures.check(&format!("growth chart, {what}: frame p99"), percentile(&frames, 0.99), 8.0, "ms");
    }
    println!("\ntests screen, {} cases", views::CASES);
    for (what, size) in [("120×40", SIZE), ("200×60", (200, 60))] {
        let frames = views::tests(&services, size);
        figures.check(&format!("cases, {what}: frame p99"), percentile(&frames, 0.99), 8.0, "ms");
        let frames = views::tests_running(&services, size);
        figures.check(&format!("cases that run, {what}: result to frame p99"), percentile(&frames, 0.99), 8.0, "ms");
    }
    for (what, piece) in LARGE {
        println!("\npasting {PROMPT} bytes, {what}, then typing");
        let played = runtime.block_on(type_much(Scene::new(folder.path())?, piece, seconds))?;
        println!("{:<52} {:>9.2} ms", "paste to frame", played.paste_ms);
        figures.played(&played, seconds)?;
        println!("{:<52} {:>9}", "checks begun", played.checks);
    }
    match figures.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} figures are clearly too large").into()),
    }
}

/// Prints figures, and counts what is clearly too large.
#[derive(Default)]
struct Figures {
    failed: usize,
}

impl Figures {
    fn check(&mut self, what: &str, value: f64, most: f64, unit: &str) {
        let verdict = if value <= most {
            "ok"
        } else if value <= most * CLEARLY {
            "over"
        } else {
            self.failed += 1;
            "TOO MUCH"
        };
        println!("{what:<52} {value:>9.2} {unit:<4} at most {most:>6} {verdict}");
    }

    /// Errors: an event was not drawn.
    fn played(&mut self, played: &Played, seconds: u64) -> Result<(), Failure> {
        // Far below what is drawn when all is well, far above what keys and messages alone would draw.
        if number(played.seen.frames.len()) < number(usize::try_from(seconds)?) * 8.0 {
            return Err(format!("only {} frames were drawn", played.seen.frames.len()).into());
        }
        if played.seen.keys.len() * 2 < played.pressed {
            return Err(format!("{} of {} keys were drawn", played.seen.keys.len(), played.pressed).into());
        }
        self.check("frame p99", percentile(&played.seen.frames, 0.99), 8.0, "ms");
        println!("{:<52} {:>9.2} ms", "frame p50", percentile(&played.seen.frames, 0.5));
        self.check("key to frame p99", percentile(&played.seen.keys, 0.99), 16.0, "ms");
        println!("{:<52} {:>9.2} ms", "key to frame p50", percentile(&played.seen.keys, 0.5));
        self.check("frames in the busiest second", number(busiest(&played.seen.at)), 61.0, "");
        println!(
            "{:<52} {:>9.1}",
            "processor time, percent of one",
            played.processor_ms / number(usize::try_from(seconds)?) / 10.0
        );
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn number(value: usize) -> f64 {
    value as f64
}

fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
    let place = (number(sorted.len().saturating_sub(1)) * part).round() as usize;
    sorted.get(place).copied().unwrap_or_default()
}

/// The most frames within any second.
fn busiest(at: &[Instant]) -> usize {
    let within =
        |from: &Instant| at.iter().filter(|one| **one >= *from && **one < *from + Duration::from_secs(1)).count();
    at.iter().map(within).max().unwrap_or_default()
}

/// Copies of an example session.
fn many_sessions(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)?;
    let example = &example_sessions()[0];
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&example.path))?;
    for number in 0..SESSIONS {
        std::fs::write(dir.join(format!("2026-01-01T00-00-00Z-{number:08x}.jsonl")), &text)?;
    }
    Ok(())
}

/// A fresh interface on a screen in memory.
struct Scene {
    services: Arc<Services>,
    screen: Screen,
    keys: Keys,
    seen: Arc<Mutex<Seen>>,
}

impl Scene {
    fn new(dir: &Path) -> Result<Self, Failure> {
        let agent = BundledExample::find("sentiment").ok_or("there is no such agent")?.agent()?;
        let folders = Folders::at(dir.to_owned(), dir, None);
        let services = Arc::new(Services::new(Workbench::new(Config::built_in()?, folders), &agent, None));
        let (screen, inputs, seen) = Screen::new();
        Ok(Self { services, screen, keys: Keys { inputs, seen: seen.clone(), pressed: 0 }, seen })
    }
}

/// Source of typed keys.
struct Keys {
    inputs: UnboundedSender<Input>,
    seen: Arc<Mutex<Seen>>,
    pressed: usize,
}

impl Keys {
    fn send(&self, code: KeyCode, modifiers: KeyModifiers) {
        self.input(TerminalEvent::Key(KeyEvent::new(code, modifiers)));
    }

    fn input(&self, event: TerminalEvent) {
        // The loop is gone only when it failed; its error is reported.
        drop(self.inputs.send(Input::Terminal(event)));
    }

    /// Presses a key and notes when.
    fn timed(&mut self, code: KeyCode) {
        lock(&self.seen).pressed.get_or_insert_with(Instant::now);
        self.pressed += 1;
        self.send(code, KeyModifiers::NONE);
    }

    /// From here on it is measured.
    fn begin(&mut self) {
        let first = lock(&self.seen).first;
        *lock(&self.seen) = Seen { first, ..Seen::default() };
        self.pressed = 0;
    }

    fn leave(&self) {
        self.send(KeyCode::Char('q'), KeyModifiers::CONTROL);
        // Unsaved edits are asked about.
        self.send(KeyCode::Char('d'), KeyModifiers::NONE);
    }
}

/// Measurements of a run of the loop.
#[derive(Default)]
struct Played {
    seen: Seen,
    pressed: usize,
    /// Processor time of all threads while it was measured.
    processor_ms: f64,
    idle_frames: f64,
    idle_ms: f64,
    memory_mb: f64,
    /// Number of text checks that started, the first ones included.
    checks: u64,
    paste_ms: f64,
}

/// A reply streams below a long transcript while a user pages through it.
async fn stream(scene: Scene, reply: Reply, started: Instant, seconds: u64) -> Result<(Played, f64), Failure> {
    let Scene { services, mut screen, mut keys, seen } = scene;
    let (run, handle) = Run::new();
    let mut model = Model::new(services.opened(), SIZE, 0);
    let mut driver = Driver::new(services, Clock::starting_at(0));
    // As if the key had started it.
    drop(update(&mut model, Msg::Key(KeyEvent::new(KeyCode::F(5), KeyModifiers::NONE))));
    drop(update(&mut model, Msg::Started(Ok(None))));
    driver.follow(Slot::Workbench, Arc::new(handle));
    let player = tokio::spawn(async move {
        let played = stream_into(&mut keys, run, &seen, reply, seconds).await;
        keys.leave();
        played
    });
    driver.run(&mut model, &mut screen, None).await?;
    let (played, sent) = player.await??;
    let first = played.seen.first.ok_or("nothing was drawn")?;
    let run = model.workbench.run.as_ref().ok_or("no run was started")?;
    let card =
        run.transcript.turn_card(&Address::from(run::last_turn().as_str())).ok_or("the last turn is not there")?;
    if !card.reply().ends_with(&reply.delta(sent - 1)) {
        return Err("the last piece of the reply did not arrive".into());
    }
    if !played.seen.text.contains(&reply.last(sent)) {
        return Err(format!("the last frame does not show {}", reply.last(sent)).into());
    }
    Ok((played, ms(first.duration_since(started))))
}

async fn stream_into(
    keys: &mut Keys,
    run: Run,
    seen: &Mutex<Seen>,
    reply: Reply,
    seconds: u64,
) -> Result<(Played, u64), Failure> {
    tokio::time::sleep(Duration::from_millis(300)).await;
    keys.send(KeyCode::Char('g'), KeyModifiers::ALT);
    keys.send(KeyCode::Char('r'), KeyModifiers::NONE);
    run.push(reply.long_run());
    tokio::time::sleep(Duration::from_secs(1)).await;
    keys.begin();
    let (begun, processor) = (Instant::now(), processor_ms());
    let (mut sent, mut turn) = (0, 0);
    while begun.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = elapsed_ms * DELTAS_A_SECOND / 1_000;
        if due > sent {
            run.push((sent..due).map(|number| reply.event(number)));
            sent = due;
        }
        if elapsed_ms / 90 > turn {
            turn = elapsed_ms / 90;
            let codes = [KeyCode::PageUp, KeyCode::PageUp, KeyCode::PageDown, KeyCode::End];
            keys.timed(codes[usize::try_from(turn % 4).unwrap_or_default()]);
        }
    }
    keys.send(KeyCode::End, KeyModifiers::NONE);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let busy = lock(seen).clone();
    let processor = processor_ms() - processor;
    run.end();
    // Messages in the footer go away by themselves; then nothing moves.
    tokio::time::sleep(Duration::from_secs(7)).await;
    let (frames, idle) = (lock(seen).frames.len(), processor_ms());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let played = Played {
        pressed: keys.pressed,
        processor_ms: processor,
        idle_frames: number(lock(seen).frames.len() - frames),
        idle_ms: processor_ms() - idle,
        memory_mb: memory_mb(),
        seen: busy,
        ..Played::default()
    };
    Ok((played, sent))
}

/// Keys are typed into a large prompt.
async fn type_much(scene: Scene, piece: &'static str, seconds: u64) -> Result<Played, Failure> {
    let Scene { services, mut screen, mut keys, seen } = scene;
    let mut model = Model::new(services.opened(), SIZE, 0);
    let mut driver = Driver::new(services, Clock::starting_at(0));
    let player = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        lock(&seen).pressed = Some(Instant::now());
        keys.input(TerminalEvent::Paste(piece.repeat(PROMPT / piece.len())));
        tokio::time::sleep(Duration::from_secs(2)).await;
        let paste_ms = lock(&seen).keys.last().copied().ok_or("the paste was not drawn")?;
        keys.begin();
        let (begun, processor) = (Instant::now(), processor_ms());
        while begun.elapsed() < Duration::from_secs(seconds) {
            keys.timed(KeyCode::Char('x'));
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let played = Played {
            seen: lock(&seen).clone(),
            pressed: keys.pressed,
            processor_ms: processor_ms() - processor,
            paste_ms,
            ..Played::default()
        };
        // The newest text is the one that counts: it is checked in the end.
        tokio::time::sleep(Duration::from_secs(2)).await;
        keys.leave();
        Ok::<_, Failure>(played)
    });
    driver.run(&mut model, &mut screen, None).await?;
    let checks = driver.counts.checks;
    let played = Played { checks, ..player.await?? };
    let text = model.workbench.editor(Place::Prompt).draft.text();
    if !text.contains(&"x".repeat(played.pressed)) {
        return Err("what was typed is not in the prompt".into());
    }
    if model.workbench.checked != Some(model.workbench.version()) {
        return Err("the last text was not checked".into());
    }
    Ok(played)
}

/// Processor time of this process so far, in ms; 0 where the system does not report it.
fn processor_ms() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    // User and system time in hundredths of a second.
    (ticks(11) + ticks(12)) * 10.0
}

/// Memory of this process, in MB; 0 where the system does not report it.
fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kb.unwrap_or_default() / 1_024.0
}

//! What the interface costs: a transcript of 100,000 lines with a reply streaming at 2,000 deltas a second, keys meanwhile, then nothing; the start
//! with 1,000 saved sessions.
//!
//! `cargo run --release --example interface [SECONDS]` runs the real loop on a screen of 120×40 in memory, prints its figures beside what they
//! may be, and fails when one is larger.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod scripted;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_workbench::agent::{Bundled, Place};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::{
    Address, Envelope, Event, PartKind, ReplyEnd, ReplyPart, ReplyStatus, RunEnd, RunStart, TurnEnd, TurnStart,
};
use ptc_workbench::tui::backend::{Backend as _, Ended, Happening, Run};
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::live::Live;
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::stage::{Input, Stage};
use ptc_workbench::tui::{draw, layout};
use ptc_workbench::workbench::{Workbench, example_sessions};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::{Notify, mpsc};

use scripted::Scripted;

type Failure = Box<dyn std::error::Error>;

const SIZE: (u16, u16) = (120, 40);
const TURNS: u64 = 2_000;
const LINES: usize = 50;
const DELTAS_A_SECOND: u64 = 2_000;
const SESSIONS: usize = 1_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn main() -> Result<(), Failure> {
    let seconds = std::env::args().nth(1).map_or(Ok(10), |text| text.parse::<u64>())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut over = 0;
    let mut tell = |what: &str, value: f64, most: f64, unit: &str| {
        let verdict = if value <= most { "ok" } else { "TOO MUCH" };
        over += usize::from(value > most);
        println!("{what:<52} {value:>9.2} {unit:<4} at most {most:>6} {verdict}");
    };

    let sessions = folder.path().join("sessions");
    many_sessions(&sessions)?;
    let started = Instant::now();
    let backend = Arc::new(Scripted { live: live(folder.path())?, run: Arc::default() });
    let (screen, inputs, seen) = Screen::new();
    let played = runtime.block_on(play(backend, screen, inputs, seen, started, seconds))?;

    tell("start to first frame, 1,000 saved sessions", played.first_ms, 50.0, "ms");
    tell("frame p99 while 2,000 deltas a second arrive", percentile(&played.frames, 0.99), 8.0, "ms");
    println!("{:<52} {:>9.2} ms", "frame p50", percentile(&played.frames, 0.5));
    tell("key to frame p99", percentile(&played.keys, 0.99), 16.0, "ms");
    tell("frames in the busiest second", played.busiest, 61.0, "");
    tell("frames in two idle seconds", played.idle_frames, 0.0, "");
    tell("processor time in two idle seconds", played.idle_ms, 20.0, "ms");
    println!("{:<52} {:>9}", "lines of the transcript", u64::try_from(LINES)? * TURNS);
    println!("{:<52} {:>9.1} MB", "memory at the end", played.memory_mb);
    if over > 0 {
        return Err(format!("{over} figures are too large").into());
    }
    Ok(())
}

fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
    let place = ((sorted.len().saturating_sub(1)) as f64 * part).round() as usize;
    sorted.get(place).copied().unwrap_or_default()
}

fn live(dir: &Path) -> Result<Live, Failure> {
    let agent = Bundled::find("sentiment").ok_or("there is no such agent")?.agent()?;
    let folders = Folders::at(dir.to_owned(), dir, None);
    Ok(Live::new(Workbench::new(Config::built_in()?, folders), &agent, None))
}

/// Copies of an example session.
fn many_sessions(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)?;
    let example = example_sessions().remove(0);
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&example.path))?;
    for number in 0..SESSIONS {
        std::fs::write(dir.join(format!("2026-01-01T00-00-00Z-{number:08x}.jsonl")), &text)?;
    }
    Ok(())
}

/// What was measured.
struct Played {
    first_ms: f64,
    frames: Vec<f64>,
    keys: Vec<f64>,
    busiest: f64,
    idle_frames: f64,
    idle_ms: f64,
    memory_mb: f64,
}

async fn play(
    backend: Arc<Scripted>,
    mut screen: Screen,
    inputs: mpsc::UnboundedSender<Input>,
    seen: Arc<Mutex<Seen>>,
    started: Instant,
    seconds: u64,
) -> Result<Played, Failure> {
    let run = backend.run.clone();
    let mut model = Model::new(backend.opening(), SIZE, 0);
    let mut driver = Driver::new(backend, Clock::starting_at(0));
    let watched = seen.clone();
    let player = tokio::spawn(async move {
        let key = |code, modifiers| Input::Terminal(TerminalEvent::Key(KeyEvent::new(code, modifiers)));
        let send = |input| _ = inputs.send(input);
        tokio::time::sleep(Duration::from_millis(300)).await;
        send(key(KeyCode::F(5), KeyModifiers::NONE));
        send(key(KeyCode::F(2), KeyModifiers::NONE));
        tokio::time::sleep(Duration::from_millis(100)).await;
        run.tell(long_run().into_iter().map(|event| Happening::Event(Box::new(event))).collect());
        tokio::time::sleep(Duration::from_millis(700)).await;
        let first = lock(&watched).first;
        *lock(&watched) = Seen { first, ..Seen::default() };
        let begun = Instant::now();
        let (mut told, mut keys) = (0, 0);
        while begun.elapsed() < Duration::from_secs(seconds) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let due = elapsed_ms * DELTAS_A_SECOND / 1_000;
            run.tell((told..due).map(|number| Happening::Event(Box::new(delta(number)))).collect());
            told = due;
            if elapsed_ms / 90 > keys {
                keys = elapsed_ms / 90;
                let code = [KeyCode::PageUp, KeyCode::PageUp, KeyCode::PageDown, KeyCode::End]
                    [usize::try_from(keys % 4).unwrap_or(0)];
                lock(&watched).pressed = Some(Instant::now());
                send(key(code, KeyModifiers::NONE));
            }
        }
        let busy = lock(&watched).clone();
        run.tell(vec![Happening::Event(Box::new(run_end())), Happening::Ended(Ended::Run)]);
        // Messages in the footer go away by themselves; then nothing moves.
        tokio::time::sleep(Duration::from_secs(7)).await;
        let (before, processor) = (lock(&watched).frames.len(), processor_ms());
        tokio::time::sleep(Duration::from_secs(2)).await;
        let idle = (lock(&watched).frames.len() - before, processor_ms() - processor);
        let memory = memory_mb();
        send(key(KeyCode::Char('q'), KeyModifiers::CONTROL));
        (busy, idle, memory)
    });
    driver.run(&mut model, &mut screen, None).await?;
    let (busy, (idle_frames, idle_ms), memory_mb) = player.await?;
    let first = busy.first.ok_or("nothing was drawn")?;
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let number = |value: usize| value as f64;
    Ok(Played {
        first_ms: ms(first.duration_since(started)),
        busiest: number(busiest(&busy.at)),
        frames: busy.frames,
        keys: busy.keys,
        idle_frames: number(idle_frames),
        idle_ms: number(idle_ms),
        memory_mb,
    })
}

/// The most frames within any second.
fn busiest(at: &[Instant]) -> usize {
    let within =
        |from: &Instant| at.iter().filter(|one| **one >= *from && **one < *from + Duration::from_secs(1)).count();
    at.iter().map(within).max().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn envelope(address: &str, event: impl Into<Event>) -> Envelope {
    Envelope { seq: 1, at_ms: 0, address: Address::from(address), event: event.into() }
}

fn part(turn: &str, text: String) -> Envelope {
    let lens = vec![u32::try_from(text.len()).unwrap_or(u32::MAX)];
    envelope(turn, ReplyPart { attempt: 1, kind: PartKind::Text, text, lens, ms: vec![0] })
}

fn turn_start() -> TurnStart {
    TurnStart { now: 0, kind: String::new(), left: ptc_workbench::event::Left::default(), waited: 0, stop: None }
}

/// A run whose finished turns hold 100,000 lines, and one more turn that is being answered.
fn long_run() -> Vec<Envelope> {
    let mut events = vec![envelope("r0", RunStart { mode: "text".to_owned(), ..RunStart::default() })];
    for number in 1..=TURNS {
        let turn = format!("r0/t{number}");
        let lines =
            (0..LINES).map(|line| format!("line {line} of turn {number}: {{\"key\": \"value\", \"n\": {line}}}"));
        let text = lines.collect::<Vec<_>>().join("\n");
        events.push(envelope(&turn, turn_start()));
        events.push(part(&turn, text));
        events.push(envelope(&turn, ReplyEnd::new(1, ReplyStatus::Ok)));
        events.push(envelope(&turn, TurnEnd { success: true, ..TurnEnd::default() }));
    }
    events.push(envelope(&format!("r0/t{}", TURNS + 1), turn_start()));
    events
}

fn delta(number: u64) -> Envelope {
    let end = if number % 12 == 11 { "\n" } else { " " };
    part(&format!("r0/t{}", TURNS + 1), format!("word{number}{end}"))
}

fn run_end() -> Envelope {
    envelope("r0", RunEnd::default())
}

/// What the screen saw.
#[derive(Default, Clone)]
struct Seen {
    first: Option<Instant>,
    pressed: Option<Instant>,
    /// How long each frame took, in ms.
    frames: Vec<f64>,
    /// When each frame was drawn.
    at: Vec<Instant>,
    /// From a key to its frame, in ms.
    keys: Vec<f64>,
}

/// A screen in memory.
struct Screen {
    inputs: mpsc::UnboundedReceiver<Input>,
    seen: Arc<Mutex<Seen>>,
    before: Buffer,
    /// A key was taken and not drawn yet.
    taken: bool,
}

impl Screen {
    fn new() -> (Self, mpsc::UnboundedSender<Input>, Arc<Mutex<Seen>>) {
        let (sender, inputs) = mpsc::unbounded_channel();
        let seen = Arc::<Mutex<Seen>>::default();
        let before = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        (Self { inputs, seen: seen.clone(), before, taken: false }, sender, seen)
    }
}

impl Stage for Screen {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let begun = Instant::now();
        let mut buffer = Buffer::empty(self.before.area);
        layout(model);
        draw(model, &mut buffer);
        let changed = self.before.diff(&buffer).len();
        self.before = buffer;
        let mut seen = lock(&self.seen);
        let now = Instant::now();
        seen.first.get_or_insert(now);
        if changed > 0 || !seen.frames.is_empty() {
            seen.frames.push(ms(now.duration_since(begun)));
            seen.at.push(now);
        }
        if std::mem::take(&mut self.taken)
            && let Some(pressed) = seen.pressed.take()
        {
            seen.keys.push(ms(now.duration_since(pressed)));
        }
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        futures::future::ready(Err("there is no editor".to_owned())).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("it cannot be suspended".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        async move {
            let input = self.inputs.recv().await;
            self.taken = true;
            input
        }
        .boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        let input = self.inputs.try_recv().ok();
        self.taken |= input.is_some();
        input
    }
}

/// A run that tells what it is given.
#[derive(Default)]
struct Told {
    queue: Mutex<VecDeque<Happening>>,
    changed: Notify,
}

impl Told {
    fn tell(&self, happenings: Vec<Happening>) {
        lock(&self.queue).extend(happenings);
        self.changed.notify_one();
    }
}

impl Run for Told {
    fn session(&self) -> Option<String> {
        None
    }

    fn drain(&self) -> Vec<Happening> {
        lock(&self.queue).drain(..).collect()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.changed.notified().boxed()
    }

    fn cancel(&self) {
        self.tell(vec![Happening::Ended(Ended::Run)]);
    }

    fn save_to(&self, _: Option<PathBuf>) {}

    fn answer(&self, _: &Address, _: String) {}

    fn put_down(&self) {}
}

/// Processor time of this process so far, in ms; 0 where the system does not tell it.
fn processor_ms() -> usize {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    // User and system time in hundredths of a second.
    (ticks(11) + ticks(12)) * 10
}

/// Memory of this process, in MB; 0 where the system does not tell it.
fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kb.unwrap_or_default() / 1_024.0
}

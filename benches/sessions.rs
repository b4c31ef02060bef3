//! Scaling with sessions: large ones opened at their end, many listed and searched, long ones replayed.
//!
//! `cargo bench --bench sessions -- [COUNT]` makes them in a folder for temporary files (about 1.6 GB), prints time and memory, and removes
//! them. `… sessions make DIR COUNT` only makes a folder of small ones, `… sessions large FILE MB TURN_BYTES` one large one.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::model::{ClosureModel, Request};
use ptc_workbench::port::{Stop, SystemClock};
use ptc_workbench::replay::{Recording, ReplayOutcome, replay};
use ptc_workbench::session::index::{Catalogue, Query, TermSyntax};
use ptc_workbench::session::{Header, Marks, Recorder, Session, SessionId};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::{SessionKey, Workbench, example_sessions};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["open", file] => open(Path::new(file)),
        ["list", dir] => {
            list(Path::new(dir));
            Ok(())
        }
        ["search", dir, query] => search(Path::new(dir), query),
        ["make", dir, count] => make_many(Path::new(dir), count.parse()?),
        ["large", file, megabytes, turn_bytes] => make_large(Path::new(file), megabytes.parse()?, turn_bytes.parse()?),
        [] => figures(10_000),
        [count] => figures(count.parse()?),
        _ => {
            Err("usage: sessions [COUNT] | make DIR COUNT | large FILE MB TURN_BYTES | open FILE | list DIR | search DIR QUERY"
                .into())
        }
    }
}

fn figures(count: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    println!("opening the last screen                   ms   peak MB   file MB");
    for (megabytes, turn_bytes) in [(100, 50_000), (100, 2_000), (1_000, 50_000), (1_000, 2_000)] {
        let file = folder.path().join("2026-01-01T00-00-00Z-00000001.jsonl");
        make_large(&file, megabytes, turn_bytes)?;
        print!("  {megabytes:>5} MB, turns of {:>2} KB         ", turn_bytes / 1_000);
        again(&["open", &file.to_string_lossy()])?;
        std::fs::remove_file(&file)?;
    }
    println!("replaying                                 ms");
    let program = (0..28).fold(String::new(), |mut text, line| {
        _ = writeln!(text, "(def v{line} (reduce + (map (fn [x] (* x {line})) (range 20))))");
        text
    });
    let program = format!("```clojure\n{program}(def n (inc (or n 0)))\n(println n v27)\n```");
    replayed("1,000 json turns", 1_000, "mode = \"json\"\n", "{\"r\": \"no number\"}".to_owned())?;
    replayed("200 ptc_lisp turns of 30 lines", 200, "mode = \"ptc_lisp\"\n", program)?;
    let dir = folder.path().join("many");
    make_many(&dir, count)?;
    let dir = dir.to_string_lossy().into_owned();
    println!("{count} sessions                          ms   peak MB");
    for (what, words) in [
        ("list, nothing known", ["list", &dir, ""]),
        ("list", ["list", &dir, ""]),
        ("search: a rare word", ["search", &dir, "needle77"]),
        ("search: a word of many", ["search", &dir, "positive"]),
        ("search: two words and filters", ["search", &dir, "score needle mode:json turns<3 -tag:slow"]),
        ("search: a pattern", ["search", &dir, r"/needle\d+7\b.*sentiment/"]),
        ("search: filters alone", ["search", &dir, "mode:ptc_lisp status:ok"]),
    ] {
        print!("  {what:<32}");
        again(if words[2].is_empty() { &words[..2] } else { &words })?;
    }
    std::fs::remove_dir_all(Path::new(&dir).join("index"))?;
    print!("  {:<32}", "search, nothing known");
    again(&["search", &dir, "needle77"])
}

/// Does one thing in a process of its own, so that its memory is its own.
fn again(words: &[&str]) -> Result<()> {
    std::io::stdout().flush()?;
    let done = std::process::Command::new(std::env::current_exe()?).args(words).status()?;
    if done.success() { Ok(()) } else { Err(format!("{words:?} failed").into()) }
}

fn open(file: &Path) -> Result<()> {
    let bytes = std::fs::metadata(file)?.len();
    let started = Instant::now();
    let folders = Folders::at("none".into(), Path::new("none"), None);
    let opened = Workbench::new(Config::built_in()?, folders).open(&SessionKey::File(file.to_owned()))?;
    let mut transcript = Transcript::of_session(&opened);
    transcript.go_end();
    transcript.prepare(120, 40, 0);
    let mut read = 0;
    while let Some((turn, places)) = transcript.unread().pop() {
        let body = opened.turns.read(&turn, places).map_err(|error| error.message)?;
        transcript.read_turn(&turn, &body.events, body.request);
        transcript.prepare(120, 40, 0);
        read += 1;
    }
    let rows = transcript.rows().count();
    println!(
        "{:>6} {:>9} {:>9}   ({rows} rows, {read} turns read)",
        started.elapsed().as_millis(),
        peak_mb(),
        bytes / 1_000_000
    );
    Ok(())
}

fn list(dir: &Path) {
    let started = Instant::now();
    let all = Catalogue::open(dir).summaries();
    println!("{:>6} {:>9}   ({} sessions)", started.elapsed().as_millis(), peak_mb(), all.len());
}

fn search(dir: &Path, query: &str) -> Result<()> {
    let started = Instant::now();
    let query = Query::parse(query, TermSyntax::Plain, SystemClock.now())?;
    let found = Catalogue::open(dir).find(&query, &Marks::read(dir)?);
    let places: usize = found.iter().map(|found| found.count).sum();
    println!("{:>6} {:>9}   ({} sessions, {places} places)", started.elapsed().as_millis(), peak_mb(), found.len());
    Ok(())
}

fn replayed(what: &str, turns: u32, mode: &str, reply: String) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let toml = format!("prompt = \"go\"\nmax_turns = {turns}\nsignature = \"{{r :int}}\"\n{mode}");
    let plan = Plan::new(&Agent::from_toml(&toml, "sessions.toml")?).map_err(|findings| format!("{findings:?}"))?;
    let folder = tempfile::tempdir()?;
    let recorder = Recorder::create(folder.path(), &Header::new(SessionId::new(0, 1), 0), Arc::new(SystemClock))?;
    let path = recorder.path().to_owned();
    let model = ClosureModel::new(move |_: &Request| reply.clone());
    let ports = Ports::new(&model, &SystemClock, &recorder, Stop::default());
    let step = runtime.block_on(engine::run(&plan, Input::new(json::parse("{}").unwrap_or_default()), &ports));
    drop(recorder);
    assert_eq!(step.turns.len(), turns as usize, "{:?}", step.fail);
    let started = Instant::now();
    let recording = Arc::new(Recording::of(&Session::open(&path)?)?);
    let report = runtime.block_on(replay(&recording, None))?;
    assert_eq!(report.outcome, ReplayOutcome::Identical);
    println!(
        "  {what:<32}{:>6}   (file {} KB)",
        started.elapsed().as_millis(),
        std::fs::metadata(&path)?.len() / 1_000
    );
    Ok(())
}

/// Sessions like the examples, each with texts of its own: what the user wrote and what the model replied.
fn make_many(dir: &Path, count: u32) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let examples: Vec<Vec<String>> = example_sessions()
        .iter()
        .map(|session| (0..session.len()).filter_map(|place| session.line(place)).collect())
        .collect();
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..count {
        let made_ms = 1_760_000_000_000 + i64::from(number) * 61_000;
        let header = Header::new(SessionId::new(made_ms, number), made_ms);
        let mut file = BufWriter::new(File::create(dir.join(header.id.file_name()))?);
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
        let example = &examples[number as usize % examples.len()];
        for line in example {
            let mut words = format!("needle{number}");
            for _ in 0..30 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                _ = write!(words, " w{:x}", random % 50_000);
            }
            let own = [
                "\"section\":\"task\",\"text\":\"",
                "\"section\":\"context\",\"text\":\"",
                "\"kind\":\"text\",\"text\":\"",
            ]
            .iter()
            .fold(line.clone(), |line, start| line.replace(start, &format!("{start}{words} ")));
            writeln!(file, "{own}")?;
        }
    }
    Ok(())
}

/// One run of many turns, as a provider with a long context would make it: each request sends the last messages.
fn make_large(path: &Path, megabytes: u64, turn_bytes: usize) -> Result<()> {
    let id = SessionId::new(1_760_000_000_000, 1);
    let mut out = Out { file: BufWriter::new(File::create(path)?), at: 0, seq: 0, last_turn_end: None };
    out.text(&serde_json::to_string(&Header::new(id, 1_760_000_000_000))?)?;
    out.event(
        "r0",
        "run.start",
        &json!({"agent": {"name": "large", "toml": "prompt = \"go\"", "sha": ""}, "mode": "ptc_lisp",
        "model": {"alias": "sample", "provider": "sample", "id": "sample"}, "limits": [["max_turns", 10_000]],
        "context": {}, "seed": 0}),
    )?;
    let part = "(def total (reduce + (map :price rows))) ; what the model said, with a \\\"quote\\\"\n".repeat(200);
    let mut turn = 0;
    while out.at < megabytes * 1_000_000 {
        turn += 1;
        let at = format!("r0/t{turn}");
        out.event(&at, "turn.start", &json!({"now": 0, "remaining": {"turns": 10}}))?;
        let text = format!("What turn {turn} is about. ");
        out.event(
            &at,
            "message",
            &json!({"m": turn - 1, "role": "user", "source": "prompt",
            "parts": [{"section": "task", "text": text}]}),
        )?;
        out.event(
            &at,
            "request",
            &json!({"messages": [[(turn - 1_i32).max(4) - 4, turn - 1]], "want": "program", "options": {}}),
        )?;
        let mut left = turn_bytes;
        while left > 0 {
            let text = &part[..left.min(part.len())];
            out.event(
                &at,
                "reply.part",
                &json!({"attempt": 1, "kind": "text", "text": text, "lens": [text.len()], "ms": [5]}),
            )?;
            left -= text.len();
        }
        out.event(&at, "reply.end", &json!({"attempt": 1, "status": "ok", "usage": {"input": 100, "output": 50}}))?;
        out.event(
            &at,
            "program.end",
            &json!({"status": "value", "value": "nil", "prints": ["a line that was printed"]}),
        )?;
        out.event(&at, "turn.end", &json!({"success": true, "totals": {"turns": turn, "requests": turn}}))?;
    }
    out.event(
        "r0",
        "run.end",
        &json!({"return": 1, "usage": {"turns": turn, "requests": turn, "schema_used": false}}),
    )?;
    Ok(out.file.flush()?)
}

struct Out {
    file: BufWriter<File>,
    at: u64,
    seq: u64,
    last_turn_end: Option<u64>,
}

impl Out {
    fn text(&mut self, line: &str) -> Result<()> {
        self.at += line.len() as u64 + 1;
        Ok(writeln!(self.file, "{line}")?)
    }

    fn event(&mut self, at: &str, kind: &str, data: &serde_json::Value) -> Result<()> {
        self.seq += 1;
        let back = self.last_turn_end.filter(|_| kind == "turn.end").map(|last| format!(",\"b\":{}", self.at - last));
        if kind == "turn.end" {
            self.last_turn_end = Some(self.at);
        }
        let seq = self.seq;
        self.text(&format!(
            "{{\"s\":{seq},\"t\":1760000000000,\"r\":\"{at}\",\"k\":\"{kind}\",\"d\":{data}{}}}",
            back.unwrap_or_default()
        ))
    }
}

/// The most memory that was resident, where the system reports it.
fn peak_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() / 1_000
}

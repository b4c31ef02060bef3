//! Times the programs of a folder: `cargo bench -p ptc-core --bench perf -- [FOLDER [NAME…]]` prints the median time of
//! each `*.clj`, once from its text (reading, analysis, compilation, execution) and once prepared. Programs whose names
//! contain `500` read `rows500.json` as data, all others `rows10k.json`. The default folder is `benches/perf`.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::path::Path;
use std::time::{Duration, Instant};

use ptc_core::lisp::Limits;
use ptc_core::lisp::{CallAddress, Error, Failure, Host, Input, Memory, Stack, prepare};
use ptc_core::value::{Value, json};

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

/// The default folder.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/perf");

struct NoHost;

impl Host for NoHost {
    fn call(&self, _: &CallAddress, _: &str, _: &Value) -> Result<Value, Failure> {
        Ok(Value::Nil)
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

fn median(mut once: impl FnMut()) -> Duration {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 9 || (begun.elapsed() < Duration::from_millis(400) && times.len() < 5_000) {
        let start = Instant::now();
        once();
        times.push(start.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

fn main() {
    // `cargo bench` adds `--bench`.
    let mut args = std::env::args().skip(1).filter(|word| word != "--bench");
    let folder = args.next().unwrap_or_else(|| PROGRAMS.to_owned());
    let wanted: Vec<String> = args.collect();
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap_or_default();
    let rows = |name: &str| json::parse(&read(name)).unwrap_or_default().to_value();
    let (few, many) = (rows("rows500.json"), rows("rows10k.json"));
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    files.retain(|name| std::path::Path::new(name).extension().is_some_and(|end| end == "clj"));
    files.retain(|name| wanted.is_empty() || wanted.iter().any(|part| name.starts_with(part.as_str())));
    files.sort();
    let limits = Limits { memory_bytes: 1_000_000_000, loop_jumps: 10_000_000, ..Limits::default() };
    let memory = Memory::new();
    let timed = Stack::with(|stack| {
        for name in &files {
            let source = read(name);
            let input = Input {
                context: if name.contains("500") { &few } else { &many },
                memory: &memory,
                ..Input::new(&source, &limits)
            };
            match prepare(&input, &NoHost, stack) {
                Err(error) => println!("{name:32} {}", error.message()),
                Ok(prepared) => {
                    let outcome = prepared.run(&input, &NoHost, stack);
                    let value = match outcome.result {
                        Ok((_, value)) => value.to_string(),
                        Err(error) => format!("{} {}", error.reason, error.message()),
                    };
                    let run = median(|| drop(prepared.run(&input, &NoHost, stack)));
                    let whole = median(|| {
                        if let Ok(prepared) = prepare(&input, &NoHost, stack) {
                            drop(prepared.run(&input, &NoHost, stack));
                        }
                    });
                    let value: String = value.chars().take(60).collect();
                    println!("{name:32} {run:>12.2?} {whole:>12.2?}  {value}");
                }
            }
        }
    });
    if let Err(error) = timed {
        println!("{}", error.message());
    }
}

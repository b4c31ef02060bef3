//! Other embeddable languages on the tasks of PTC-Lisp's speed targets, measured in turns in one process.
//!
//! In: `--json`, and words that name tasks (a–i) or languages. Out: a table of the fastest runs in µs and how many
//! times longer than PTC-Lisp each took. Every language must give the same answer, or the program ends with an error.
//!
//! Programs are compiled once and run many times, except for e and f. Tasks: **a** reduce over map over a range of 100 000 · **b** 10 000 rows: filter, group, sum, sort · **c** a million
//! jumps · **d** fib(25) · **e** compiling 200 lines in 40 functions · **f** making an engine and computing 1 + 2 · **g** a transducer of three steps that ends early, over a range
//! of 100 000 · **h** 100 000 updates of a map in an atom · **i** 20 000 calls of which each tenth throws and is caught. Where a language has no transducers, g composes
//! functions that wrap each other; where it has no atoms, h updates one place through a function; Starlark has no exceptions.

mod clock;
mod lua;
mod ptc;
mod rhai;
mod source;
mod starlark;

use clock::Bench;

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

/// Languages in the order of the table; the first is the measure.
const PEERS: &[(&str, fn(&mut Bench))] =
    &[("ptc-lisp", ptc::tasks), ("lua", lua::tasks), ("starlark", starlark::tasks), ("rhai", rhai::tasks)];

/// Rounds over all languages.
const ROUNDS: usize = 3;

fn main() {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let (tasks, peers): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word.len() == 1);
    let wanted = |words: &[String], name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let mut bench = Bench::new(move |task| wanted(&tasks, task));
    for round in 0..ROUNDS {
        for (name, run) in PEERS {
            if wanted(&peers, name) {
                eprintln!("round {} of {ROUNDS}: {name}", round + 1);
                bench.language(name);
                on_large_stack(|| run(&mut bench));
            }
        }
    }
    println!("{}", if flags.iter().any(|flag| flag == "--json") { bench.json() } else { bench.table() });
}

/// All languages get the same large stack.
fn on_large_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 20);
        thread.spawn_scoped(scope, work).expect("a thread").join().expect("the tasks end");
    });
}

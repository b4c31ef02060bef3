//! The fastest run of each task by language.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Time for which each task is repeated; it runs `LEAST_RUNS` times at least.
const BUDGET: Duration = Duration::from_millis(500);
const LEAST_RUNS: usize = 5;

/// Measures tasks and keeps the fastest run of each.
pub(crate) struct Bench {
    wanted: Box<dyn Fn(&str) -> bool + Send>,
    language: &'static str,
    languages: Vec<&'static str>,
    /// Microseconds by task and language.
    best: BTreeMap<&'static str, BTreeMap<&'static str, f64>>,
    answers: BTreeMap<&'static str, i64>,
}

impl Bench {
    pub(crate) fn new(wanted: impl Fn(&str) -> bool + Send + 'static) -> Self {
        let (best, answers) = (BTreeMap::new(), BTreeMap::new());
        Self { wanted: Box::new(wanted), language: "", languages: Vec::new(), best, answers }
    }

    /// The tasks that follow are of this language.
    pub(crate) fn language(&mut self, name: &'static str) {
        self.language = name;
        if !self.languages.contains(&name) {
            self.languages.push(name);
        }
    }

    /// Measures a task, unless it is not wanted. Its answer must be that of all languages.
    pub(crate) fn task(&mut self, name: &'static str, mut run: impl FnMut() -> i64) {
        if !(self.wanted)(name) {
            return;
        }
        let answer = run();
        let expected = *self.answers.entry(name).or_insert(answer);
        assert_eq!(answer, expected, "task {name} in {}", self.language);
        let best = self.best.entry(name).or_default().entry(self.language).or_insert(f64::INFINITY);
        let (started, mut runs) = (Instant::now(), 0);
        while runs < LEAST_RUNS || started.elapsed() < BUDGET {
            let begun = Instant::now();
            std::hint::black_box(run());
            *best = best.min(begun.elapsed().as_secs_f64() * 1e6);
            runs += 1;
        }
    }

    fn fastest(&self, task: &str, language: &str) -> Option<f64> {
        self.best.get(task)?.get(language).copied()
    }

    /// A row a language: µs of each task, and in brackets how many times longer than the first language.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("{:<10}", "µs");
        for task in self.best.keys() {
            _ = write!(text, "{task:>22}");
        }
        for language in &self.languages {
            _ = write!(text, "\n{language:<10}");
            for task in self.best.keys() {
                let first = self.languages.first().and_then(|first| self.fastest(task, first));
                let cell = match (self.fastest(task, language), first) {
                    (Some(time), Some(first)) => format!("{time:.1} ({:.2})", time / first),
                    (Some(time), None) => format!("{time:.1}"),
                    (None, _) => "–".to_owned(),
                };
                _ = write!(text, "{cell:>22}");
            }
        }
        text
    }

    /// `{"task": {"language": µs}}`
    pub(crate) fn json(&self) -> String {
        let row = |times: &BTreeMap<&str, f64>| {
            let cells: Vec<String> = times.iter().map(|(name, time)| format!("\"{name}\":{time:.2}")).collect();
            format!("{{{}}}", cells.join(","))
        };
        let rows: Vec<String> = self.best.iter().map(|(task, times)| format!("\"{task}\":{}", row(times))).collect();
        format!("{{{}}}", rows.join(","))
    }
}

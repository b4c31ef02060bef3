//! Medians of tasks by language.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// How long each task is repeated, and at least how often.
const BUDGET: Duration = Duration::from_millis(500);
const LEAST_RUNS: usize = 5;

/// Measures tasks and keeps the best median of each.
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
        let mut times = Vec::new();
        let started = Instant::now();
        while times.len() < LEAST_RUNS || started.elapsed() < BUDGET {
            let begun = Instant::now();
            std::hint::black_box(run());
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let median = times[times.len() / 2].as_secs_f64() * 1e6;
        let best = self.best.entry(name).or_default().entry(self.language).or_insert(median);
        *best = best.min(median);
    }

    fn median(&self, task: &str, language: &str) -> Option<f64> {
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
                let first = self.languages.first().and_then(|first| self.median(task, first));
                let cell = match (self.median(task, language), first) {
                    (Some(median), Some(first)) => format!("{median:.1} ({:.2})", median / first),
                    (Some(median), None) => format!("{median:.1}"),
                    (None, _) => "–".to_owned(),
                };
                _ = write!(text, "{cell:>22}");
            }
        }
        text
    }

    /// `{"task": {"language": µs}}`
    pub(crate) fn json(&self) -> String {
        let row = |medians: &BTreeMap<&str, f64>| {
            let cells: Vec<String> = medians.iter().map(|(name, median)| format!("\"{name}\":{median:.2}")).collect();
            format!("{{{}}}", cells.join(","))
        };
        let rows: Vec<String> =
            self.best.iter().map(|(task, medians)| format!("\"{task}\":{}", row(medians))).collect();
        format!("{{{}}}", rows.join(","))
    }
}

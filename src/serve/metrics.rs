//! Counters of the runs that a server started, as Prometheus reads them.
//!
//! In: starts and ends of runs. Out: the text format 0.0.4. It must never contain a text of a request, a model or a tool.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::agent::Step;
use crate::event::TotalUsage;

/// Upper ends of the buckets of run times, in seconds.
const BUCKETS: [f64; 9] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Counters of one agent.
#[derive(Debug, Clone, Default)]
struct AgentCounters {
    active: u64,
    /// Runs by how they ended: `returned`, or the reason.
    ended: BTreeMap<String, u64>,
    buckets: [u64; BUCKETS.len()],
    seconds: f64,
    input_tokens: u64,
    output_tokens: u64,
    cost: f64,
}

/// Usage of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    input_tokens: u64,
    output_tokens: u64,
    /// As far as prices are known.
    cost: f64,
}

impl From<&TotalUsage> for Spent {
    fn from(usage: &TotalUsage) -> Self {
        let tokens = usage.tokens.unwrap_or_default();
        Self { input_tokens: tokens.input, output_tokens: tokens.output, cost: usage.known_cost() }
    }
}

/// All counters.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<BTreeMap<String, AgentCounters>>);

impl Metrics {
    fn change(&self, agent: &str, change: impl FnOnce(&mut AgentCounters)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry(agent.to_owned()).or_default());
    }

    /// Counts a run that begins.
    pub(super) fn begin(&self, agent: &str) {
        self.change(agent, |counters| counters.active += 1);
    }

    /// Counts a run that has ended; `before` is what it had used before it was resumed.
    pub(super) fn end(&self, agent: &str, step: &Step, before: &Spent, time: Duration) {
        let outcome = step.fail.as_ref().map_or("returned", |fail| fail.reason.as_str()).to_owned();
        let spent = Spent::from(&step.usage.total);
        self.change(agent, |counters| {
            counters.active = counters.active.saturating_sub(1);
            *counters.ended.entry(outcome).or_default() += 1;
            let seconds = time.as_secs_f64();
            for (count, end) in counters.buckets.iter_mut().zip(BUCKETS) {
                *count += u64::from(seconds <= end);
            }
            counters.seconds += seconds;
            counters.input_tokens += spent.input_tokens.saturating_sub(before.input_tokens);
            counters.output_tokens += spent.output_tokens.saturating_sub(before.output_tokens);
            counters.cost += (spent.cost - before.cost).max(0.0);
        });
    }

    /// The text that Prometheus reads.
    pub(super) fn render(&self) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: &mut dyn Iterator<Item = (String, String)>| {
            _ = writeln!(out, "# HELP ptc_workbench_{name} {help}\n# TYPE ptc_workbench_{name} {kind}");
            rows.for_each(|(labels, value)| _ = writeln!(out, "ptc_workbench_{labels} {value}"));
        };
        let labelled = |name: &str, labels: &[(&str, &str)]| {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            format!("{name}{{{}}}", labels.join(","))
        };
        family(
            "runs_active",
            "gauge",
            "Runs that have not ended.",
            &mut all.iter().map(|(agent, one)| (labelled("runs_active", &[("agent", agent)]), one.active.to_string())),
        );
        let mut ended = all.iter().flat_map(|(agent, one)| {
            let row = |(outcome, count): (&String, &u64)| {
                (labelled("runs_total", &[("agent", agent), ("outcome", outcome)]), count.to_string())
            };
            one.ended.iter().map(row).collect::<Vec<_>>()
        });
        family("runs_total", "counter", "Runs that ended, by outcome: returned or the error reason.", &mut ended);
        let mut times = all.iter().flat_map(|(agent, one)| {
            let bucket = |(end, count): (f64, &u64)| {
                (labelled("run_seconds_bucket", &[("agent", agent), ("le", &end.to_string())]), count.to_string())
            };
            let runs: u64 = one.ended.values().sum();
            let mut rows: Vec<_> = BUCKETS.into_iter().zip(&one.buckets).map(bucket).collect();
            rows.push((labelled("run_seconds_bucket", &[("agent", agent), ("le", "+Inf")]), runs.to_string()));
            rows.push((labelled("run_seconds_sum", &[("agent", agent)]), one.seconds.to_string()));
            rows.push((labelled("run_seconds_count", &[("agent", agent)]), runs.to_string()));
            rows
        });
        family("run_seconds", "histogram", "Time of the runs that ended.", &mut times);
        let mut tokens = all.iter().flat_map(|(agent, one)| {
            [("input", one.input_tokens), ("output", one.output_tokens)]
                .map(|(kind, count)| (labelled("tokens_total", &[("agent", agent), ("kind", kind)]), count.to_string()))
        });
        family("tokens_total", "counter", "Tokens of all attempts, child runs included.", &mut tokens);
        family(
            "cost_total",
            "counter",
            "Cost of all attempts in the currency of the price table.",
            &mut all.iter().map(|(agent, one)| (labelled("cost_total", &[("agent", agent)]), one.cost.to_string())),
        );
        out
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;
    use crate::event::{OwnUsage, Price, Spending, Tokens};

    #[test]
    fn a_name_cannot_leave_its_label() {
        let metrics = Metrics::default();
        metrics.begin("a\"} 1\nother{x=\"");
        metrics.end("plain", &Step::default(), &Spent::default(), Duration::from_millis(700));
        let text = metrics.render();
        assert!(text.contains(r#"runs_active{agent="a\"} 1\nother{x=\""} 1"#), "{text}");
        assert!(text.contains("ptc_workbench_run_seconds_bucket{agent=\"plain\",le=\"0.5\"} 0\n"), "{text}");
        assert!(text.contains("ptc_workbench_run_seconds_bucket{agent=\"plain\",le=\"1\"} 1\n"), "{text}");
        assert!(text.contains("ptc_workbench_runs_total{agent=\"plain\",outcome=\"returned\"} 1\n"), "{text}");
    }

    #[test]
    fn a_resumed_run_counts_what_it_used_since() {
        let price = Price { input: 2.0, ..Price::default() };
        let usage = |input: u64| {
            let tokens = Tokens { input, output: input / 2, ..Tokens::default() };
            TotalUsage::of_runs([OwnUsage::new(Spending::of_tokens(Some(price), tokens))])
        };
        let metrics = Metrics::default();
        let mut before = Spent::default();
        for input in [1_000_000, 3_000_000] {
            metrics.begin("one");
            let step = Step { usage: Usage { total: usage(input), ..Usage::default() }, ..Step::default() };
            metrics.end("one", &step, &before, Duration::from_secs(1));
            before = Spent::from(&step.usage.total);
        }
        let text = metrics.render();
        for line in [
            "tokens_total{agent=\"one\",kind=\"input\"} 3000000",
            "tokens_total{agent=\"one\",kind=\"output\"} 1500000",
            "cost_total{agent=\"one\"} 6",
            "run_seconds_sum{agent=\"one\"} 2",
            "runs_active{agent=\"one\"} 0",
        ] {
            assert!(text.contains(&format!("ptc_workbench_{line}\n")), "{line}: {text}");
        }
    }
}

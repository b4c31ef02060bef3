//! A report as `JUnit` XML, the format that CI systems read.
//!
//! `testsuites` > a `testsuite` per agent > a `testcase` per trial, with `failure` (not as expected), `error` (could not be tried) or
//! `skipped` (marked `skip`, or stopped before it started); times in seconds. Text from models is data: characters that XML cannot contain are replaced.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::{AgentReport, CaseReport, Counts, SuiteReport, TrialReport};
use crate::agent::Verdict;

/// Maximum length of the attribute `message`, in characters.
const MESSAGE: usize = 300;

/// Renders a report as an XML document.
pub fn junit(report: &SuiteReport) -> io::Result<String> {
    let mut page = Page(Writer::new_with_indent(Vec::new(), b' ', 2));
    page.write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let skipped: u64 = report.agents.iter().map(skipped).sum();
    let mut top = vec![("name", "ptc-workbench".to_owned())];
    top.extend(counted(report.counts(), skipped, report.duration_ms));
    page.open("testsuites", &top)?;
    for agent in &report.agents {
        page.suite(agent)?;
    }
    page.close("testsuites")?;
    let mut bytes = page.0.into_inner();
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}

struct Page(Writer<Vec<u8>>);

impl Page {
    fn write(&mut self, event: Event<'_>) -> io::Result<()> {
        self.0.write_event(event)
    }

    fn start<'n>(name: &'n str, attributes: &[(&str, String)]) -> BytesStart<'n> {
        let attributes: Vec<(&str, String)> =
            attributes.iter().map(|(name, value)| (*name, allowed(value).replace('\n', " "))).collect();
        let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
        BytesStart::new(name).with_attributes(attributes)
    }

    fn open(&mut self, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
        self.write(Event::Start(Self::start(name, attributes)))
    }

    fn close(&mut self, name: &str) -> io::Result<()> {
        self.write(Event::End(BytesEnd::new(name)))
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
        self.write(Event::Empty(Self::start(name, attributes)))
    }

    fn text(&mut self, name: &str, attributes: &[(&str, String)], text: &str) -> io::Result<()> {
        self.open(name, attributes)?;
        self.write(Event::Text(BytesText::new(&allowed(text))))?;
        self.close(name)
    }

    fn suite(&mut self, agent: &AgentReport) -> io::Result<()> {
        let begun = jiff::Timestamp::from_millisecond(agent.started_ms).unwrap_or_default();
        let duration_ms = agent.cases.iter().flat_map(|case| &case.trials).map(|trial| trial.duration_ms).sum();
        let mut attributes = vec![("name", agent.name.clone())];
        attributes.extend(counted(agent.counts(), skipped(agent), duration_ms));
        attributes.push(("timestamp", begun.strftime("%Y-%m-%dT%H:%M:%S").to_string()));
        attributes.push(("file", agent.label.clone()));
        self.open("testsuite", &attributes)?;
        let taken = agent.from_cache();
        let cached = (!taken.is_nothing()).then(|| ("replies_from_cache", taken.replies.to_string()));
        self.open("properties", &[])?;
        let facts = [("mode", agent.mode.name().to_owned()), ("model", agent.model.clone())];
        for (name, value) in facts.into_iter().chain(cached) {
            self.empty("property", &[("name", name.to_owned()), ("value", value)])?;
        }
        self.close("properties")?;
        for case in &agent.cases {
            for trial in &case.trials {
                self.trial(agent, case, trial)?;
            }
            if case.trials.is_empty() {
                self.skipped(agent, &case.name, "stopped before it began")?;
            }
        }
        for name in &agent.skipped {
            self.skipped(agent, name, "marked skip")?;
        }
        self.close("testsuite")
    }

    fn skipped(&mut self, agent: &AgentReport, case: &str, why: &str) -> io::Result<()> {
        self.open("testcase", &named(agent, case, 0))?;
        self.empty("skipped", &[("message", why.to_owned())])?;
        self.close("testcase")
    }

    fn trial(&mut self, agent: &AgentReport, case: &CaseReport, trial: &TrialReport) -> io::Result<()> {
        let several = case.trials.len() > 1;
        let name = if several { format!("{} [{}]", case.name, trial.number) } else { case.name.clone() };
        self.open("testcase", &named(agent, &name, trial.duration_ms))?;
        if !trial.rulings.is_empty() || (trial.score > 0.0 && trial.score < 1.0) {
            self.open("properties", &[])?;
            let score = [("name", "score".to_owned()), ("value", format!("{:.4}", trial.score))];
            self.empty("property", &score)?;
            self.close("properties")?;
        }
        let lines = trial.verdict.lines();
        let kind = match &trial.verdict {
            Verdict::Pass => None,
            Verdict::Fail(_) => Some("failure"),
            Verdict::Error(_) => Some("error"),
        };
        if let Some(kind) = kind {
            let message: String = lines.first().into_iter().flat_map(|line| line.chars()).take(MESSAGE).collect();
            self.text(kind, &[("message", message), ("type", trial.verdict.name().to_owned())], &lines.join("\n"))?;
        }
        let session = trial.session.iter().map(|session| format!("session {session}"));
        let rulings = trial.rulings.iter().map(|ruling| format!("rubric {}: {}", ruling.rubric, ruling.line()));
        let lines: Vec<String> = session.chain(rulings).collect();
        if !lines.is_empty() {
            self.text("system-out", &[], &lines.join("\n"))?;
        }
        self.close("testcase")
    }
}

fn named(agent: &AgentReport, name: &str, duration_ms: u64) -> Vec<(&'static str, String)> {
    vec![("name", name.to_owned()), ("classname", agent.name.clone()), ("time", seconds(duration_ms))]
}

/// Returns the number of cases without a trial: not chosen, or stopped before it.
fn skipped(agent: &AgentReport) -> u64 {
    (agent.cases.iter().filter(|case| case.trials.is_empty()).count() + agent.skipped.len()) as u64
}

fn counted(counts: Counts, skipped: u64, duration_ms: u64) -> Vec<(&'static str, String)> {
    vec![
        ("tests", (counts.trials + skipped).to_string()),
        ("failures", counts.failed.to_string()),
        ("errors", counts.errors.to_string()),
        ("skipped", skipped.to_string()),
        ("time", seconds(duration_ms)),
    ]
}

/// Formats seconds with three decimals.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

/// Replaces the characters that XML 1.0 cannot contain, not even escaped.
fn allowed(text: &str) -> String {
    let holds = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if holds(c) { c } else { '\u{fffd}' }).collect()
}

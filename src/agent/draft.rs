//! Drafts: the six texts a developer edits, as one agent and back, and what is wrong with them while they are typed.
//!
//! In: texts of any content. Out: an [`Agent`], or diagnostics with their place in the text they are about. Fast enough for every key.

use std::path::Path;

use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_core::value::Json;

use super::checks::{ParsedAgent, check};
use super::context::{self, not_an_object};
use super::file::{read_from, write};
use super::inline::Source;
use super::{Agent, Diagnostic, Mode, Place, Plan, Settings};
use crate::config::document::{Problems, parse_json_text};
use crate::tool::FileAccess;

/// The texts of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DraftTexts {
    /// The prompt template.
    pub prompt: String,
    /// The signature; blank for none.
    pub signature: String,
    /// The context as JSON; blank for an empty object.
    pub context: String,
    /// The tools, as TOML: sections `[tools.name]`.
    pub tools: String,
    /// The program that answers instead of a model; blank for none.
    pub program: String,
    /// Everything else, as TOML with the keys of an agent file.
    pub options: String,
}

/// Keys that have a text of their own.
const APART: [&str; 3] = ["prompt", "signature", "context"];

/// The key of the tools; while their own text is blank it may be in the options.
const TOOLS: &str = "tools";
/// The key of the pinned program, to which the same applies.
const PROGRAM: &str = "program";

impl DraftTexts {
    /// The texts of an agent.
    pub fn of(agent: &Agent) -> Self {
        Self {
            prompt: agent.prompt.clone(),
            signature: agent.signature.clone().unwrap_or_default(),
            context: agent.context.to_pretty(),
            tools: write(agent, |key| key == TOOLS),
            program: agent.program().unwrap_or_default().to_owned(),
            options: write(agent, |key| !APART.contains(&key) && ![TOOLS, PROGRAM].contains(&key)),
        }
    }

    /// The agent of these texts. Keys that the options do not name have their defaults; the name is then that of `base`.
    /// `@file` starts from the current folder. Only the texts are read here; [`diagnose`] and
    /// [`Plan::new`](super::Plan::new) check their meaning.
    ///
    /// Errors: what cannot be read in the options or the context.
    pub fn to_agent(&self, base: &Agent) -> Result<Agent, Vec<Diagnostic>> {
        self.to_agent_with(base, &FileAccess::default())
    }

    /// Like `to_agent`, with this access to files.
    pub fn to_agent_with(&self, base: &Agent, access: &FileAccess) -> Result<Agent, Vec<Diagnostic>> {
        let (agent, findings) = self.read(base, access);
        if findings.is_empty() { Ok(agent) } else { Err(findings) }
    }

    /// The modes in which a run of these texts could start.
    pub fn runnable_modes(&self) -> Vec<Mode> {
        let (agent, _) = self.read(&Agent::default(), &FileAccess::default());
        let runs = |mode: &Mode| agent.for_mode(*mode).and_then(|agent| Plan::new(&agent)).is_ok();
        Mode::ALL.into_iter().filter(runs).collect()
    }

    /// Reads the texts: the agent as far as they can be read, and the findings.
    fn read(&self, base: &Agent, access: &FileAccess) -> (Agent, Vec<Diagnostic>) {
        let mut problems = Problems::default();
        let source = Source::folder(Path::new(""), access);
        let start = Agent { name: base.name.clone(), ..Agent::default() };
        let mut agent = read_from(start, &self.options, &source, &mut problems);
        let mut findings: Vec<Diagnostic> = problems.sorted().into_iter().map(Diagnostic::from).collect();
        let here = [(TOOLS, &self.tools), (PROGRAM, &self.program)];
        let own = here.into_iter().filter(|(_, text)| !text.trim().is_empty()).map(|(key, _)| key);
        findings.extend(apart(&self.options, &APART.into_iter().chain(own).collect::<Vec<_>>()));
        agent = self.read_tools(agent, &source, &mut findings);
        if !self.program.trim().is_empty() {
            agent = agent.without_program().with_option(PROGRAM, Json::str(self.program.as_str()));
        }
        agent.prompt.clone_from(&self.prompt);
        agent.signature = (!self.signature.trim().is_empty()).then(|| self.signature.clone());
        match read_context(&self.context) {
            Ok(json) => agent.context = json,
            Err(found) => findings.push(found),
        }
        (agent, findings)
    }
}

impl DraftTexts {
    /// Reads the text of the tools onto an agent.
    fn read_tools(&self, agent: Agent, source: &Source, findings: &mut Vec<Diagnostic>) -> Agent {
        if self.tools.trim().is_empty() {
            return agent;
        }
        let mut problems = Problems::default();
        let only_tools = crate::config::document::parse(&self.tools).ok().and_then(|document| {
            let other = document.members()?.iter().find(|member| member.key != TOOLS)?;
            let message = format!(
                "`{}` is not a tool; write a section such as [tools.name], or move it to the options",
                other.key
            );
            Some(Diagnostic::error(Place::Tools, Reason::InvalidAgent, message).key(&other.key).at(other.key_span))
        });
        if let Some(found) = only_tools {
            findings.push(found);
            return agent;
        }
        let agent = read_from(agent, &self.tools, source, &mut problems);
        let placed = |problem| Diagnostic { place: Place::Tools, ..Diagnostic::from(problem) };
        findings.extend(problems.sorted().into_iter().map(placed));
        agent
    }
}

/// Finds keys in the options that belong in another editor.
fn apart(options: &str, own: &[&str]) -> Vec<Diagnostic> {
    let Ok(document) = crate::config::document::parse(options) else { return Vec::new() };
    let members = document.members().unwrap_or_default().iter();
    members
        .filter(|member| own.contains(&member.key.as_str()))
        .map(|member| {
            let message = format!("`{}` has its own editor; write it there and remove it here", member.key);
            let found = Diagnostic::error(Place::Options, Reason::InvalidAgent, message);
            found.key(&member.key).at(member.key_span)
        })
        .collect()
}

/// The context of a text. Spans are those of the text.
pub(super) fn read_context(text: &str) -> Result<Json, Diagnostic> {
    if text.trim().is_empty() {
        return Ok(Json::empty());
    }
    let json = parse_json_text(text).map_err(|error| {
        let offset = error.offset();
        let end = text[offset.min(text.len())..].chars().next().map_or(0, char::len_utf8);
        let found = Diagnostic::error(Place::Context, Reason::InvalidContext, format!("the inputs are {error}"));
        found.at(Span::new(offset, offset + end))
    })?;
    if json.members().is_some() { Ok(json) } else { Err(not_an_object(&json)) }
}

/// Returns the findings about a draft, each with its place in its text: the order is prompt, signature, context, tools,
/// program, options, then the place in the text. Findings that a key can correct have [`Fix`](super::Fix)es.
pub fn diagnose(texts: &DraftTexts) -> Vec<Diagnostic> {
    diagnose_knowing(texts, &FileAccess::default(), Ok)
}

/// Like `diagnose`, with this access to files and known facts about the tools; invalid values are reported as findings.
pub fn diagnose_knowing(
    texts: &DraftTexts,
    access: &FileAccess,
    known: impl FnOnce(Agent) -> Result<Agent, Vec<Diagnostic>>,
) -> Vec<Diagnostic> {
    let (agent, mut findings) = texts.read(&Agent::default(), access);
    let context_is_read = findings.iter().all(|found| found.place != Place::Context);
    let ParsedAgent { signature, template, findings: found, .. } = check(&agent);
    let read = (signature.clone(), template.clone());
    findings.extend(found);
    let settings = Settings::of(&agent, &mut findings);
    let with_known = known(agent.clone()).unwrap_or_else(|found| {
        findings.extend(found);
        agent.clone()
    });
    let (tools, _) = super::toolbox::open(&with_known, &mut findings);
    findings.extend(super::pinned::check(&agent, &tools, &settings));
    if let (Some(template), true) = (&template, context_is_read) {
        let signature = signature.unwrap_or(ptc_core::signature::Signature { params: None, output: None });
        let (_, found) = context::check(&agent, &signature, template, &agent.context);
        let unknown: Vec<Option<Span>> =
            findings.iter().filter(|found| found.place == Place::Prompt).map(|found| found.span).collect();
        // A name that is not a parameter is one finding, not a second one for its missing value.
        findings
            .extend(found.into_iter().filter(|found| found.place != Place::Prompt || !unknown.contains(&found.span)));
    }
    locate(texts, &mut findings);
    if texts.is_whole_file() {
        // What the other texts would lack may be in the file.
        findings.retain(|found| found.place == Place::Options);
    }
    super::fixes::propose(texts, &agent, (read.0.as_ref(), read.1.as_ref()), &mut findings);
    findings.sort_by_key(|found| (found.place, found.span.map_or(0, |span| span.start)));
    findings
}

/// Places findings about a key of the agent that have no position: in the text of the tools or in that of the options.
pub fn locate(texts: &DraftTexts, findings: &mut [Diagnostic]) {
    for found in findings.iter_mut().filter(|found| found.place == Place::Options && found.span.is_none()) {
        let in_tools = found.key.split('.').next() == Some(TOOLS) && !texts.tools.trim().is_empty();
        if in_tools {
            found.place = Place::Tools;
        }
        found.span = key_span(if in_tools { &texts.tools } else { &texts.options }, &found.key);
    }
}

/// The position of a key in the options, or of the last of its tables that is there.
fn key_span(options: &str, key: &str) -> Option<Span> {
    let document = crate::config::document::parse(options).ok()?;
    let mut at = &document;
    let mut span = None;
    for step in key.split('.') {
        let Some(member) = at.members().unwrap_or_default().iter().find(|member| member.key == step) else { break };
        span = Some(member.key_span);
        at = &member.value;
    }
    span
}

//! The places in which the inputs of an agent reach the model: for each input, where it appears in the first request.
//!
//! In: a plan, the names that a context gives. Out: one place per input, and a finding about those without one. Nothing is rendered.

use ptc_core::reasons::Reason;
use ptc_core::signature::{Field, Signature, underscored};
use ptc_core::template::{self, Template};
use ptc_core::value::Json;

use super::checks::is_combined;
use super::{Agent, Diagnostic, Mode, Place, Plan};

/// The name of an answer without names of its own, where the next agent has no parameter and its prompt names nothing.
pub const INPUT: &str = "input";

/// The place in which an input reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The prompt names it.
    Prompt,
    /// A block below or above the prompt shows it.
    Context,
    /// Programs read it as `data/NAME`.
    Data,
    /// It is sent as a file.
    File,
    /// Nowhere.
    Nowhere,
}

impl Reach {
    /// Its name on screens and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Context => "context block",
            Self::Data => "data",
            Self::File => "file",
            Self::Nowhere => "nowhere",
        }
    }
}

/// An input and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReach {
    /// Its name.
    pub name: String,
    /// The place in which it reaches the model.
    pub reach: Reach,
}

/// The parts of an agent that the checks of inputs read.
#[derive(Clone, Copy)]
pub(super) struct Receiver<'a> {
    pub(super) mode: Mode,
    pub(super) params: &'a [Field],
    pub(super) template: &'a Template,
    /// Programs run next to native tools.
    pub(super) is_combined: bool,
    /// The messages are sent as the agent has them.
    pub(super) is_verbatim: bool,
    /// The option because of which `{{` has no meaning in the prompt.
    pub(super) plain_text: Option<&'static str>,
}

impl<'a> Receiver<'a> {
    /// Of an agent with this signature and prompt.
    pub(super) fn of(agent: &Agent, signature: &'a Signature, template: &'a Template) -> Self {
        let params = signature.params.as_deref().unwrap_or_default();
        let plain_text = agent.plain_text_option();
        let is_verbatim = agent.asks("verbatim");
        Self { mode: agent.mode, params, template, is_combined: is_combined(agent), is_verbatim, plain_text }
    }

    /// The place of an input of this name.
    pub(super) fn reach(self, name: &str) -> Reach {
        let declared = self.params.iter().find(|field| same(&field.name, name));
        let is_file = declared.is_some_and(|field| field.ty.is_file());
        match self.mode {
            _ if named(self.template).is_none_or(|names| names.iter().any(|known| same(known, name))) => Reach::Prompt,
            Mode::PtcLisp => Reach::Data,
            _ if is_file => Reach::File,
            Mode::JsonLoop => Reach::Context,
            Mode::Json if !self.is_verbatim && (declared.is_some() || self.params.is_empty()) => Reach::Context,
            Mode::Text if self.is_combined => Reach::Data,
            Mode::Json | Mode::Text => Reach::Nowhere,
        }
    }

    /// The name under which an answer without names of its own arrives: that of the only parameter; without parameters the only name of
    /// the prompt that nothing else fills.
    pub(super) fn only_name(self, own: &Json) -> Option<String> {
        let is_filled = |name: &str| {
            let members = own.members().unwrap_or_default().iter();
            members.into_iter().any(|member| same(&member.key, name))
        };
        match self.params {
            [only] => Some(only.name.clone()),
            [] => {
                let names = named(self.template).unwrap_or_default();
                let mut open = names.into_iter().filter(|name| !is_filled(name));
                let only = open.next().filter(|_| open.next().is_none());
                Some(only.unwrap_or_else(|| INPUT.to_owned()))
            }
            _ => None,
        }
    }

    /// The way in which inputs of these names get into the prompt.
    pub(super) fn advice<'n>(self, names: impl Iterator<Item = &'n str>) -> String {
        match self.plain_text {
            Some(option) => format!("it is plain text (`{option}`), so write the value there"),
            None => {
                format!("write {}", names.map(|name| format!("`{{{{{name}}}}}`")).collect::<Vec<_>>().join(" and "))
            }
        }
    }

    /// A finding about the inputs that reach the model nowhere, or where their author did not put them. `place`: where it is reported.
    pub(super) fn finding(self, names: &[String], place: Place) -> Option<Diagnostic> {
        let with = |wanted: Reach| {
            let found = names.iter().filter(move |name| self.reach(name) == wanted);
            found.map(|name| format!("`{name}`")).collect::<Vec<_>>()
        };
        let (lost, added) = (with(Reach::Nowhere), with(Reach::Context));
        let undeclared_only = self.mode == Mode::Json && self.params.is_empty();
        let (first, message) = match (lost.first(), added.first()) {
            (Some(first), _) => {
                let all = lost.join(", ");
                let (do_not, them) = if lost.len() == 1 { ("does", "it") } else { ("do", "them") };
                let advice = self.advice(lost.iter().map(|name| name.trim_matches('`')));
                (first, format!("{all} {do_not} not reach the model: the prompt does not use {them}; {advice}"))
            }
            (None, Some(first)) if undeclared_only => {
                let all = added.join(", ");
                (first, format!("the prompt does not use {all}; the value is added below the prompt"))
            }
            _ => return None,
        };
        let found = Diagnostic::error(place, Reason::InvalidContext, message).key(first.trim_matches('`'));
        Some(found.warning())
    }
}

impl Plan {
    /// Returns the places in which the parameters, and further inputs of `given`, reach the model.
    pub fn reach(&self, given: &Json) -> Vec<InputReach> {
        let receiver = self.receiver();
        let mut names: Vec<String> = receiver.params.iter().map(|field| field.name.clone()).collect();
        for member in given.members().unwrap_or_default() {
            if !names.iter().any(|known| same(known, &member.key)) {
                names.push(member.key.clone());
            }
        }
        let reach = |name: String| {
            let is_given = given.members().unwrap_or_default().iter().any(|member| same(&member.key, &name));
            let reach = match receiver.reach(&name) {
                // An optional file that is absent is not sent.
                Reach::File if !is_given => Reach::Nowhere,
                reach => reach,
            };
            InputReach { name, reach }
        };
        names.into_iter().map(reach).collect()
    }

    /// The names of an earlier answer that reach the model of this agent nowhere.
    pub fn lost(&self, names: &[String]) -> Option<Diagnostic> {
        let receiver = self.receiver();
        let is_lost = |name: &String| receiver.reach(name) == Reach::Nowhere;
        // Of an answer with several fields an agent takes those that it needs.
        let all = names.iter().all(is_lost) || receiver.params.is_empty();
        let finding = receiver.finding(names, Place::Signature);
        finding.filter(|_| all && names.iter().any(is_lost))
    }

    /// The name under which an answer without names of its own arrives; `None` with several parameters.
    pub fn input_name(&self) -> Option<String> {
        self.receiver().only_name(&self.agent.context)
    }

    pub(super) fn receiver(&self) -> Receiver<'_> {
        Receiver::of(&self.agent, &self.signature, &self.template)
    }
}

/// The first parts of the names that a prompt uses, each once; `None` if it shows the whole context.
pub(super) fn named(template: &Template) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    let uses = template::variables(template);
    let has_sections = uses.iter().any(|variable| variable.section);
    for variable in &uses {
        match variable.path.split_first() {
            Some((first, _)) if names.iter().any(|known| known == first) => {}
            Some((first, _)) => names.push(first.to_owned()),
            None if has_sections => {}
            None => return None,
        }
    }
    Some(names)
}

pub(super) fn same(one: &str, other: &str) -> bool {
    underscored(one) == underscored(other)
}

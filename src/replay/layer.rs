//! Layers of the engine, and the rules of a replay: what is done about a difference, and what is left out of the comparison.

use ptc_core::text::did_you_mean;

use crate::event::{Event, Source};

/// Which part of the engine a difference belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The text of a message built from the agent.
    Prompt,
    /// Which messages, schema and options a request holds.
    Request,
    /// What was found in a reply.
    Extraction,
    /// What a program gave: value, prints, error, definitions, checklist.
    Program,
    /// What a tool is called with, and what a person is asked.
    ToolArguments,
    /// The check of inputs or answers.
    Check,
    /// What went back to the model.
    Feedback,
    /// The end of a turn or run.
    Step,
}

impl Layer {
    /// Every layer, in the order in which a turn passes them.
    pub const ALL: [Self; 8] = [
        Self::Prompt,
        Self::Request,
        Self::Extraction,
        Self::Program,
        Self::ToolArguments,
        Self::Check,
        Self::Feedback,
        Self::Step,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Request => "request",
            Self::Extraction => "extraction",
            Self::Program => "program",
            Self::ToolArguments => "tool arguments",
            Self::Check => "check",
            Self::Feedback => "feedback",
            Self::Step => "step",
        }
    }

    /// The layer of a name; `-` and `_` count as spaces.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace(['-', '_'], " ");
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }

    pub(super) fn of(event: &Event) -> Self {
        match event {
            // The reply quoted as a message goes back together with the feedback.
            Event::Message(message) if message.source != Source::Prompt => Self::Feedback,
            Event::Message(_) => Self::Prompt,
            Event::RequestMade(_) | Event::CompactionDone(_) => Self::Request,
            Event::Extract(_) => Self::Extraction,
            Event::ProgramEnd(_) | Event::MemoryChange(_) | Event::PlanState(_) => Self::Program,
            Event::ToolCall(_) | Event::QuestionAsked(_) => Self::ToolArguments,
            Event::Check(_) => Self::Check,
            // The ends of a turn and of a run, then inputs and notes: a replay takes or skips those and finds no difference in them.
            Event::RunStart(_)
            | Event::TurnStart(_)
            | Event::TurnEnd(_)
            | Event::RunEnd(_)
            | Event::Sent(_)
            | Event::Wire(_)
            | Event::RetryWait(_)
            | Event::ReplyPart(_)
            | Event::ReplyEnd(_)
            | Event::ToolEnd(_)
            | Event::AnswerGiven(_)
            | Event::TasksKept(_)
            | Event::Edit(_)
            | Event::Interrupt(_)
            | Event::RunWait(_)
            | Event::Resume(_)
            | Event::Notice(_)
            | Event::Unknown(_) => Self::Step,
        }
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a replay does about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// It stops.
    #[default]
    Strict,
    /// It notes it, keeps the recorded messages and replies as truth, and goes on.
    Lenient,
}

/// A part of the comparison that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    layer: Option<Layer>,
    path: Option<String>,
}

impl Ignored {
    /// Reads `LAYER`, `LAYER:PATH` or `:PATH`; a `*` in a path stands for one key or number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (layer, path) = text.split_once(':').unwrap_or((text, ""));
        let layer = match layer.trim() {
            "" => None,
            name => Some(Layer::from_name(name).ok_or_else(|| unknown(name))?),
        };
        let path = Some(path.trim()).filter(|path| !path.is_empty()).map(ToOwned::to_owned);
        if layer.is_none() && path.is_none() {
            return Err("name a layer, a path, or both: `request:options.seed`".to_owned());
        }
        Ok(Self { layer, path })
    }

    fn is_of(&self, layer: Layer) -> bool {
        self.layer.is_none_or(|own| own == layer)
    }

    fn leads_to(&self, path: &str) -> bool {
        let Some(own) = &self.path else { return true };
        let mut steps = path.split('.');
        own.split('.').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || wanted == step))
    }
}

fn unknown(name: &str) -> String {
    let names = || Layer::ALL.map(Layer::name);
    let near = did_you_mean(name, names());
    format!("there is no layer {name:?}{near} (layers: {})", names().join(", "))
}

/// The rules of a replay.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// What is done about a difference.
    pub policy: Policy,
    /// What is left out of the comparison.
    pub ignored: Vec<Ignored>,
}

impl Rules {
    /// Stops at the first difference of any kind.
    pub fn strict() -> Self {
        Self::default()
    }

    /// Is this place left out?
    pub(super) fn leaves_out(&self, layer: Layer, path: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored.is_of(layer) && ignored.leads_to(path))
    }

    /// Is everything of this layer left out?
    pub(super) fn leaves_out_all(&self, layer: Layer) -> bool {
        self.ignored.iter().any(|ignored| ignored.is_of(layer) && ignored.path.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_a_layer_a_path_or_both() {
        let rules = |text: &str| Rules { ignored: vec![Ignored::parse(text).unwrap()], ..Rules::strict() };
        assert!(rules("request").leaves_out_all(Layer::Request));
        assert!(rules("tool_arguments").leaves_out(Layer::ToolArguments, "args.x"));
        let seed = rules("request:options.seed");
        assert!(seed.leaves_out(Layer::Request, "options.seed") && !seed.leaves_out(Layer::Request, "options"));
        assert!(!seed.leaves_out(Layer::Step, "options.seed") && !seed.leaves_out_all(Layer::Request));
        assert!(rules(":issues.*.message").leaves_out(Layer::Check, "issues.3.message"));
        assert!(Ignored::parse("feedbak").unwrap_err().contains("feedback"));
        assert!(Ignored::parse(":").is_err());
    }
}

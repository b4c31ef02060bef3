//! Layers of the engine, and the rules of a replay: what to do about a difference, and what to ignore.

use ptc_core::text::did_you_mean;

use crate::event::{Event, Source};

/// The part of the engine that a difference belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The text of a prompt message.
    Prompt,
    /// Messages, schema and options of a request.
    Request,
    /// Extraction from a reply.
    Extraction,
    /// Result of a program: value, prints, error, definitions, checklist.
    Program,
    /// Arguments of a tool call, or a question to the user.
    ToolArguments,
    /// Validation of inputs or answers.
    Check,
    /// Feedback to the model.
    Feedback,
    /// End of a turn or run.
    Step,
    /// A recorded input: one that the run does not use at that place, or a field of it that is computed.
    Input,
}

impl Layer {
    /// All layers, in the order in which a turn passes them.
    pub const ALL: [Self; 9] = [
        Self::Prompt,
        Self::Request,
        Self::Extraction,
        Self::Program,
        Self::ToolArguments,
        Self::Check,
        Self::Feedback,
        Self::Step,
        Self::Input,
    ];

    /// Returns the name in reports.
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
            Self::Input => "input",
        }
    }

    /// Parses a layer name; `-` and `_` count as spaces.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace(['-', '_'], " ");
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }

    pub(super) fn of(event: &Event) -> Self {
        match event {
            // The reply repeated as a message is sent together with the feedback.
            Event::MessageAdded(message) if message.source != Source::Prompt => Self::Feedback,
            Event::MessageAdded(_) => Self::Prompt,
            Event::RequestMade(_) | Event::CompactionDone(_) => Self::Request,
            Event::Extract(_) => Self::Extraction,
            Event::ProgramEnd(_) | Event::MemoryChange(_) | Event::PlanState(_) => Self::Program,
            Event::ToolCall(_) | Event::QuestionAsked(_) => Self::ToolArguments,
            Event::Check(_) => Self::Check,
            Event::RunStart(_)
            | Event::TurnStart(_)
            | Event::ReplyPart(_)
            | Event::ReplyEnd(_)
            | Event::ToolEnd(_)
            | Event::AnswerGiven(_)
            | Event::Edit(_)
            | Event::Interrupt(_) => Self::Input,
            // The end of a turn or run. Notes never differ.
            Event::TurnEnd(_)
            | Event::RunEnd(_)
            | Event::Sent(_)
            | Event::Wire(_)
            | Event::RawRequest(_)
            | Event::RawReply(_)
            | Event::RetryWait(_)
            | Event::TasksKept(_)
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

/// Reaction of a replay to a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Stop.
    #[default]
    Strict,
    /// Record the difference and continue with the recorded messages and replies.
    Lenient,
}

/// A part of the comparison that is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreRule {
    layer: Option<Layer>,
    path: Option<String>,
}

impl IgnoreRule {
    /// Parses `LAYER`, `LAYER:PATH` or `:PATH`; `*` in a path matches one key or index.
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

    fn matches_layer(&self, layer: Layer) -> bool {
        self.layer.is_none_or(|own| own == layer)
    }

    fn matches_path(&self, path: &str) -> bool {
        let Some(own) = &self.path else { return true };
        let mut steps = path.split('.');
        own.split('.').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || wanted == step))
    }
}

fn unknown(name: &str) -> String {
    let names = || Layer::ALL.map(Layer::name);
    let near = did_you_mean(name, names());
    format!("unknown layer {name:?}{near} (layers: {})", names().join(", "))
}

/// The rules of a replay.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Reaction to differences.
    pub policy: Policy,
    /// The parts that are not compared.
    pub ignored: Vec<IgnoreRule>,
}

impl Rules {
    /// Returns rules that stop at the first difference.
    pub fn strict() -> Self {
        Self::default()
    }

    /// Returns whether this path is ignored.
    pub(super) fn ignores(&self, layer: Layer, path: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored.matches_layer(layer) && ignored.matches_path(path))
    }

    /// Returns whether the whole layer is ignored.
    pub(super) fn ignores_layer(&self, layer: Layer) -> bool {
        self.ignored.iter().any(|ignored| ignored.matches_layer(layer) && ignored.path.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_a_layer_a_path_or_both() {
        let rules = |text: &str| Rules { ignored: vec![IgnoreRule::parse(text).unwrap()], ..Rules::strict() };
        assert!(rules("request").ignores_layer(Layer::Request));
        assert!(rules("tool_arguments").ignores(Layer::ToolArguments, "args.x"));
        let seed = rules("request:options.seed");
        assert!(seed.ignores(Layer::Request, "options.seed") && !seed.ignores(Layer::Request, "options"));
        assert!(!seed.ignores(Layer::Step, "options.seed") && !seed.ignores_layer(Layer::Request));
        assert!(rules(":issues.*.message").ignores(Layer::Check, "issues.3.message"));
        assert!(IgnoreRule::parse("feedbak").unwrap_err().contains("feedback"));
        assert!(IgnoreRule::parse(":").is_err());
    }
}

//! Output modes: the table of names, and the variants of the mode `text`.

use ptc_core::signature::Type;

/// An output mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The model writes PTC-Lisp programs.
    PtcLisp,
    /// The model answers with JSON that fits the signature.
    Json,
    /// Text, with four variants.
    Text,
    /// Every reply is one control object.
    JsonLoop,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::PtcLisp, Self::Json, Self::Text, Self::JsonLoop];

    /// The name in files and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Self::PtcLisp => "ptc_lisp",
            Self::Json => "json",
            Self::Text => "text",
            Self::JsonLoop => "json_loop",
        }
    }

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns whether the model writes programs in this mode.
    pub fn is_program(self) -> bool {
        self == Self::PtcLisp
    }

    /// Returns whether the model answers with data in this mode.
    pub fn is_data(self) -> bool {
        !self.is_program()
    }
}

/// The variants of the mode `text`: with or without tools, text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One call, the text is the answer.
    Plain,
    /// A JSON value, corrected until it fits.
    Json,
    /// Native tool calls, then text.
    ToolsText,
    /// Native tool calls, then JSON.
    ToolsJson,
}

impl Variant {
    /// The variant of an agent. `declared`: its output is declared at all.
    pub fn of(tools: bool, output: &Type, declared: bool) -> Self {
        match (tools, declared && *output != Type::String) {
            (false, false) => Self::Plain,
            (false, true) => Self::Json,
            (true, false) => Self::ToolsText,
            (true, true) => Self::ToolsJson,
        }
    }

    /// Returns whether the answer is JSON.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::ToolsJson)
    }

    /// The name in files and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Json => "json",
            Self::ToolsText => "tools + text",
            Self::ToolsJson => "tools + json",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

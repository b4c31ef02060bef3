//! Output modes: the table of names, and which of them this build can run.

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

    /// Can this build run it?
    pub fn is_built(self) -> bool {
        self == Self::Json
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

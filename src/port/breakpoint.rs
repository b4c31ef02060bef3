//! Breakpoints: where a run stops so that the user can inspect it.
//!
//! Text form: `tool:NAME`, `def:NAME` or `error`.

use std::fmt;
use std::str::FromStr;

use ptc_core::signature::underscored;

/// A breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breakpoint {
    /// Before the tool of this name is called.
    Tool(String),
    /// After a program defined this name.
    Def(String),
    /// After a program failed.
    Error,
}

impl Breakpoint {
    /// The text forms, for messages and hints.
    pub const SYNTAX: &str = "tool:NAME, def:NAME or error";

    /// Parses breakpoints separated by commas or spaces.
    ///
    /// Errors: one of them is invalid.
    pub fn all(text: &str) -> Result<Vec<Self>, String> {
        text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::parse).collect()
    }

    /// Returns whether both are the same point; in tool names `-` equals `_`.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tool(one), Self::Tool(other)) => underscored(one) == underscored(other),
            (one, other) => one == other,
        }
    }
}

impl FromStr for Breakpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |kind: &str| text.strip_prefix(kind).filter(|name| !name.is_empty()).map(str::to_owned);
        match (named("tool:"), named("def:"), text) {
            (Some(name), ..) => Ok(Self::Tool(name.strip_prefix("tool/").unwrap_or(&name).to_owned())),
            (_, Some(name), _) => Ok(Self::Def(name)),
            (_, _, "error") => Ok(Self::Error),
            _ => Err(format!("`{text}` is not a breakpoint: write {}", Self::SYNTAX)),
        }
    }
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Def(name) => write!(f, "def:{name}"),
            Self::Error => f.write_str("error"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let all = Breakpoint::all("tool:look-up, def:total,error").unwrap();
        let written: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["tool:look-up", "def:total", "error"]);
        assert_eq!(Breakpoint::all(" ").unwrap(), []);
        assert_eq!(Breakpoint::all("tool:tool/find").unwrap(), [Breakpoint::Tool("find".to_owned())]);
        for wrong in ["tool:", "find", "error:x", "def"] {
            assert!(Breakpoint::all(wrong).unwrap_err().contains("write tool:NAME, def:NAME or error"), "{wrong}");
        }
        let tool = |name: &str| Breakpoint::Tool(name.to_owned());
        assert!(tool("look_up").meets(&tool("look-up")) && !tool("look").meets(&Breakpoint::Def("look".to_owned())));
    }
}

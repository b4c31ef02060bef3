//! Breakpoints: where a run stops because of what its programs and its model do, so that the user can inspect it.
//!
//! In and out: the text `tool:NAME`, `def:NAME` or `error`.

use std::fmt;
use std::str::FromStr;

use ptc_core::signature::underscored;

/// What a run stops at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breakpoint {
    /// Before the tool of this name is called.
    Tool(String),
    /// When a program has defined this name.
    Def(String),
    /// When a program has ended with an error or failed.
    Error,
}

impl Breakpoint {
    /// What can be written, for messages and hints.
    pub const WRITTEN: &str = "tool:NAME, def:NAME or error";

    /// Breakpoints of a text, with commas or spaces between them; none of an empty one.
    ///
    /// Errors: one cannot be read.
    pub fn all(text: &str) -> Result<Vec<Self>, String> {
        text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::parse).collect()
    }

    /// Does a run stop here when it stops at the other one? Names of tools may be written with `-` or `_`.
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
            _ => Err(format!("`{text}` is no breakpoint: write {}", Self::WRITTEN)),
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
    fn what_is_written_is_what_is_read() {
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

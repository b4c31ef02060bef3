//! Addresses: where in a session something happened. Run `r0`, turn `r0/t3`, call `r0/t3/c2`, question `r0/t3/q0`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An address such as `r0/t3`. Runs, calls and questions count from 0, turns from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

impl Address {
    /// A root run.
    pub fn run(number: usize) -> Self {
        Self(format!("r{number}"))
    }

    /// A turn of this run.
    #[must_use]
    pub fn turn(&self, number: u32) -> Self {
        Self(format!("{}/t{number}", self.0))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The run this address lies in: everything before the last turn, or itself.
    #[must_use]
    pub fn run_part(&self) -> Self {
        self.0.rfind("/t").map_or_else(|| self.clone(), |at| Self(self.0[..at].to_owned()))
    }

    /// The number of the innermost turn, if the address lies in one.
    pub fn turn_number(&self) -> Option<u32> {
        let at = self.0.rfind("/t")?;
        self.0[at + 2..].split('/').next()?.parse().ok()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_knows_its_run_and_turn() {
        let turn = Address::run(0).turn(3);
        assert_eq!(turn.as_str(), "r0/t3");
        assert_eq!(turn.run_part(), Address::run(0));
        assert_eq!(turn.turn_number(), Some(3));
        assert_eq!(Address::run(1).turn_number(), None);
        assert_eq!(Address::from("r0/t2/c1").turn_number(), Some(2));
    }
}

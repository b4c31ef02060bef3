//! Addresses: where in a session something happened. Run `r0`, turn `r0/t3`, call `r0/t3/c2`, question `r0/t3/q0`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;

use compact_str::{CompactString, format_compact};
use serde::{Deserialize, Serialize};

/// An address such as `r0/t3`. Runs, calls and questions count from 0, turns from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Address(#[cfg_attr(test, schemars(with = "String"))] CompactString);

impl Address {
    /// Largest length that readers accept, in bytes: far beyond any nesting of agents and branches.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// A root run.
    pub fn run(number: usize) -> Self {
        Self(format_compact!("r{number}"))
    }

    /// A turn of this run.
    #[must_use]
    pub fn turn(&self, number: u32) -> Self {
        Self(format_compact!("{}/t{number}", self.0))
    }

    /// A tool call at this turn or branch.
    #[must_use]
    pub fn call(&self, number: u32) -> Self {
        Self(format_compact!("{}/c{number}", self.0))
    }

    /// A branch of a parallel form at this turn or branch: the form's number from 1, the branch's from 0.
    #[must_use]
    pub fn branch(&self, form: u32, branch: u32) -> Self {
        Self(format_compact!("{}/p{form}.{branch}", self.0))
    }

    /// A question at this turn or call.
    #[must_use]
    pub fn question(&self, number: u32) -> Self {
        Self(format_compact!("{}/q{number}", self.0))
    }

    /// Returns whether a text has the form of an address.
    pub fn is_form(text: &str) -> bool {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut parts = text.split('/');
        let run = parts.next().and_then(|run| run.strip_prefix('r'));
        run.is_some_and(number)
            && parts.all(|part| match part.split_at_checked(1) {
                Some(("p", form)) => form.split_once('.').is_some_and(|(form, branch)| number(form) && number(branch)),
                Some(("t" | "c" | "q", rest)) => number(rest),
                _ => false,
            })
    }

    /// Returns whether it is the address of a tool call (and of the run that the call may start).
    pub fn is_call(&self) -> bool {
        self.0.rsplit('/').next().is_some_and(|last| last.starts_with('c'))
    }

    /// Returns whether it is the address of a question to the user.
    pub fn is_question(&self) -> bool {
        self.0.rsplit('/').next().is_some_and(|last| last.starts_with('q'))
    }

    /// The turn or call at which this question is asked.
    #[must_use]
    pub fn asker(&self) -> Self {
        Self::from(self.0.rsplit_once('/').map_or("", |(asker, _)| asker))
    }

    /// Returns whether it is in a branch of a parallel form, of its own turn or of a turn of a parent run.
    pub fn is_in_branch(&self) -> bool {
        self.0.split('/').any(|part| part.starts_with('p'))
    }

    /// Number of runs above the run of an event at this address of that run: 0 for a root run.
    pub fn depth(&self) -> usize {
        self.0.split('/').filter(|part| part.starts_with('c')).count()
    }

    /// Returns whether it equals the other address or is inside it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The root run it lies in.
    #[must_use]
    pub fn root(&self) -> Self {
        Self::from(self.0.split('/').next().unwrap_or_default())
    }

    /// The run right below `run` that this address lies in, or is; `None` for addresses of `run` itself and of others.
    pub fn child_of(&self, run: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(run.as_str())?.strip_prefix('/')?;
        let mut end = run.0.len();
        for part in rest.split('/') {
            end += 1 + part.len();
            if part.starts_with('c') {
                return Some(Self::from(&self.0[..end]));
            }
        }
        None
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is in another branch of the same parallel form.
    pub fn is_parallel_to(&self, other: &Self) -> bool {
        let mut parts = self.0.split('/').zip(other.0.split('/'));
        let form =
            |part: &str| part.strip_prefix('p').and_then(|part| part.split_once('.')).map(|(form, _)| form.to_owned());
        parts
            .find(|(own, others)| own != others)
            .is_some_and(|(own, others)| form(own).is_some_and(|own| Some(own) == form(others)))
    }

    /// The run this address lies in: everything before the last turn, or itself.
    #[must_use]
    pub fn run_part(&self) -> Self {
        self.0.rfind("/t").map_or_else(|| self.clone(), |at| Self::from(&self.0[..at]))
    }

    /// The innermost turn this address lies in, or itself.
    #[must_use]
    pub fn turn_part(&self) -> Self {
        let Some(at) = self.0.rfind("/t") else { return self.clone() };
        let end = self.0[at + 1..].find('/').map_or(self.0.len(), |more| at + 1 + more);
        Self::from(&self.0[..end])
    }

    /// The number of the innermost turn, if the address lies in one.
    pub fn turn_number(&self) -> Option<u32> {
        let at = self.0.rfind("/t")?;
        self.0[at + 2..].split('/').next()?.parse().ok()
    }
}

/// The order of a run: by numbers, not by digits (`t2` before `t10`).
impl Ord for Address {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = |text: &str| -> Vec<(char, Vec<u64>)> {
            let numbers = |part: &str| part.split('.').map(|number| number.parse().unwrap_or_default()).collect();
            let letter = |part: &str| part.chars().next().unwrap_or_default();
            text.split('/').map(|part| (letter(part), numbers(part.trim_start_matches(char::is_alphabetic)))).collect()
        };
        parts(&self.0).cmp(&parts(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Borrow<str> for Address {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.into())
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

    #[test]
    fn addresses_are_in_the_order_of_the_run() {
        let sorted = ["r0", "r0/t2", "r0/t2/c1", "r0/t2/p1.2/c0", "r0/t2/p1.10/c0", "r0/t10", "r1"];
        assert!(sorted.windows(2).all(|pair| Address::from(pair[0]) < Address::from(pair[1])));
    }

    #[test]
    fn an_address_knows_the_runs_it_lies_in() {
        let root = Address::run(0);
        let child = root.turn(3).branch(1, 4).call(0);
        assert_eq!(child.as_str(), "r0/t3/p1.4/c0");
        assert!(child.is_call() && !child.turn(1).is_call());
        assert_eq!(child.turn(1).call(2).question(0).root(), root);
        assert_eq!(child.turn(1).child_of(&root), Some(child.clone()));
        assert_eq!(child.turn(1).run_part(), child);
        assert_eq!(root.turn(1).child_of(&root), None);
        assert_eq!(Address::from("r01/t1/c0").child_of(&root), None);
        assert!(child.turn(1).question(0).is_question() && !child.is_question());
        assert_eq!((root.turn(1).depth(), child.depth(), child.turn(2).depth()), (0, 1, 1));
        assert!(child.is_within(&root) && child.is_within(&child) && !Address::from("r01").is_within(&root));
    }
}

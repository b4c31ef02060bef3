//! Building the member list of an object: order kept, of equal keys the first wins, linear in the number of members.

use std::collections::HashSet;

use super::Member;

/// Up to this many members a key is looked for by going through all of them.
const FEW: usize = 16;

/// The members of an object under construction.
#[derive(Debug, Clone, Default)]
pub struct Members {
    list: Vec<Member>,
    /// The keys of `list`, once there are more than a few.
    keys: HashSet<String>,
}

impl Members {
    /// Adds a member unless one with its key is there already.
    pub fn push(&mut self, member: Member) {
        if self.list.len() < FEW {
            if self.list.iter().all(|have| have.key != member.key) {
                self.list.push(member);
            }
            return;
        }
        if self.keys.is_empty() {
            self.keys.extend(self.list.iter().map(|have| have.key.clone()));
        }
        if !self.keys.contains(&member.key) {
            self.keys.insert(member.key.clone());
            self.list.push(member);
        }
    }

    /// The members so far.
    pub fn as_slice(&self) -> &[Member] {
        &self.list
    }

    /// The finished list.
    pub fn finish(self) -> Vec<Member> {
        self.list
    }
}

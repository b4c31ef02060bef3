//! Keywords: names interned process-wide, compared by identity. Never used for keys of external data.

use hashbrown::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{OnceLock, PoisonError, RwLock};

use crate::heap::uncounted;

/// An interned name. One word, copied freely; reading its name takes no lock.
#[derive(Clone, Copy)]
pub struct Keyword(&'static &'static str);

type Table = HashMap<&'static str, Keyword>;

fn table() -> &'static RwLock<Table> {
    static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
    TABLE.get_or_init(RwLock::default)
}

impl Keyword {
    /// The keyword of this name. A new name lives until the process ends.
    pub fn intern(name: &str) -> Self {
        if let Some(known) = Self::known(name) {
            return known;
        }
        let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.get(name) {
            return *known;
        }
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let keyword = Self(Box::leak(Box::new(name)));
        // The table grows by doubling: no program pays for the names of others.
        uncounted(|| table.insert(name, keyword));
        keyword
    }

    /// The keyword of this name if it is already interned.
    pub fn known(name: &str) -> Option<Self> {
        table().read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Its name, without the colon.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl PartialEq for Keyword {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Keyword {}

impl Hash for Keyword {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

/// Orders by name.
impl Ord for Keyword {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if self == other { std::cmp::Ordering::Equal } else { self.name().cmp(other.name()) }
    }
}

impl PartialOrd for Keyword {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Debug for Keyword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ":{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_keyword() {
        assert_eq!(Keyword::intern("same"), Keyword::intern("same"));
        assert_ne!(Keyword::intern("same"), Keyword::intern("other"));
        assert_eq!(Keyword::intern("same").name(), "same");
    }

    #[test]
    fn asking_for_a_name_does_not_intern_it() {
        assert_eq!(Keyword::known("never used anywhere"), None);
        assert_eq!(Keyword::known("never used anywhere"), None);
    }

    #[test]
    fn threads_agree_on_keywords() {
        let names: Vec<String> = (0..200).map(|n| format!("thread-name-{n}")).collect();
        let intern = || names.iter().map(|name| Keyword::intern(name)).collect::<Vec<_>>();
        let (one, two) = std::thread::scope(|scope| {
            let (one, two) = (scope.spawn(intern), scope.spawn(intern));
            (one.join().unwrap_or_default(), two.join().unwrap_or_default())
        });
        assert_eq!(one.len(), 200);
        assert_eq!(one, two);
    }
}

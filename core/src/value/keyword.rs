//! Keywords: names interned process-wide, compared by id. Never used for keys of data from outside.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Keyword(u32);

#[derive(Default)]
struct Table {
    ids: HashMap<&'static str, u32>,
    names: Vec<&'static str>,
}

fn table() -> &'static RwLock<Table> {
    static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
    TABLE.get_or_init(RwLock::default)
}

impl Keyword {
    /// The keyword of this name.
    pub fn intern(name: &str) -> Self {
        if let Some(id) = table().read().unwrap_or_else(std::sync::PoisonError::into_inner).ids.get(name) {
            return Self(*id);
        }
        let mut table = table().write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(id) = table.ids.get(name) {
            return Self(*id);
        }
        let id = u32::try_from(table.names.len()).unwrap_or(u32::MAX);
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        table.names.push(name);
        table.ids.insert(name, id);
        Self(id)
    }

    /// Its name, without the colon.
    pub fn name(self) -> &'static str {
        table().read().unwrap_or_else(std::sync::PoisonError::into_inner).names[self.0 as usize]
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
}

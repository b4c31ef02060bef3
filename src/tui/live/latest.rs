//! The last thing that was made of a text, kept until the text is another one.

use std::sync::{Mutex, PoisonError};

/// What was made of a text last, with the text.
#[derive(Debug)]
pub(super) struct Latest<V>(Mutex<Option<(String, V)>>);

impl<V> Default for Latest<V> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<V: Clone> Latest<V> {
    /// What `make` gives for this text; it is asked only when the text before was another one.
    pub(super) fn of(&self, text: &str, make: impl FnOnce() -> V) -> V {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((same, value)) if same == text => value.clone(),
            _ => known.insert((text.to_owned(), make())).1.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_at_again_only_when_it_is_another_one() {
        let (latest, mut made) = (Latest::default(), Vec::new());
        for text in ["a", "a", "b", "b", "a"] {
            let length = latest.of(text, || {
                made.push(text);
                made.len()
            });
            assert_eq!(length, made.len());
        }
        assert_eq!(made, ["a", "b", "a"]);
    }
}

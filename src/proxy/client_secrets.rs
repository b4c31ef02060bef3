//! The secrets to remove from the record of a request: those of this machine, and the keys that the client sent.
//!
//! In: headers and paths of requests. Out: a scrub for each. Clients send the same keys again and again, so the scrubs are stored: making an
//! index of all forms of all secrets takes longer than passing a request. It must never store more than a few.

use std::sync::{Mutex, PoisonError};

use hyper::header::HeaderMap;

use super::headers;
use crate::model::{Scrub, Secret};

/// The most scrubs that are stored; the one that was used least recently goes first.
const RECENT_MAX: usize = 32;

/// Scrubs by the keys of requests.
pub(super) struct ClientSecrets {
    /// The secrets of this machine.
    known: Scrub,
    /// Scrubs that know the keys of a client as well, the last used last.
    recent: Mutex<Vec<(Vec<Secret>, Scrub)>>,
}

impl ClientSecrets {
    pub(super) fn new(known: Scrub) -> Self {
        Self { known, recent: Mutex::default() }
    }

    /// The scrub for a request with these headers, path and query.
    pub(super) fn of_request(&self, headers: &HeaderMap, path_and_query: &str) -> Scrub {
        let keys = headers::keys(headers, path_and_query);
        if keys.is_empty() {
            return self.known.clone();
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = if let Some(at) = recent.iter().position(|(known, _)| *known == keys) {
            recent.remove(at)
        } else {
            let scrub = self.known.clone().knowing(keys.iter().cloned());
            (keys, scrub)
        };
        let scrub = entry.1.clone();
        if recent.len() == RECENT_MAX {
            recent.remove(0);
        }
        recent.push(entry);
        scrub
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys without a long part in common, which would be masked too.
    fn key(number: u32) -> String {
        format!("{number:04}-").repeat(4)
    }

    fn headers(key: &str) -> HeaderMap {
        let value = format!("Bearer {key}").parse().expect("a header");
        [(hyper::header::AUTHORIZATION, value)].into_iter().collect()
    }

    #[test]
    fn each_request_knows_its_own_key_and_the_secrets_of_the_machine_only() {
        let secrets = ClientSecrets::new(Scrub::new([Secret::new("machine-secret-1")]));
        for number in [1, 2, 1, 40] {
            let scrub = secrets.of_request(&headers(&key(number)), "/v1/messages");
            let text = format!("{} {} machine-secret-1", key(number), key(3));
            assert_eq!(scrub.text(&text), format!("[secret] {} [secret]", key(3)));
        }
        for number in 0..100 {
            secrets.of_request(&headers(&key(number)), "/v1/messages");
        }
        assert_eq!(secrets.recent.lock().expect("no panic").len(), RECENT_MAX);
        assert_eq!(secrets.of_request(&HeaderMap::new(), "/v1/x").text(&key(1)), key(1));
    }
}

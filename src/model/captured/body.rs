//! Bodies of captured requests as they are stored: what differs from an earlier body, compressed.
//!
//! In: a body and an earlier one. Out: a [`RawBody`], and the body again from one. The requests of a conversation repeat everything before
//! them; stored like this, a conversation grows with its length and not with the square of it. It must never return another body.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::event::{Address, RawBody, hex_sha};

/// Maximum bytes of an unpacked body. Deflated text of a few bytes may be gigabytes long.
const MAX_BYTES: u64 = 1 << 30;

/// Packs a body. `base` is the body of an earlier turn, with its address.
pub fn pack_body(body: &[u8], base: Option<(&Address, &[u8])>, masked: u64) -> RawBody {
    let (head, tail) = base.map_or((0, 0), |(_, base)| shared(body, base));
    let between = body.get(head..body.len() - tail).unwrap_or_default();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let data = encoder.write_all(between).and_then(|()| encoder.finish()).unwrap_or_default();
    RawBody {
        bytes: body.len() as u64,
        sha: hex_sha(body),
        base: base.filter(|_| head + tail > 0).map(|(address, _)| address.clone()),
        head: head as u64,
        tail: tail as u64,
        data: STANDARD.encode(data),
        masked,
    }
}

/// Lengths of the common beginning and of the common end, which do not overlap.
fn shared(body: &[u8], base: &[u8]) -> (usize, usize) {
    let equal = |(a, b): &(&u8, &u8)| a == b;
    let head = body.iter().zip(base).take_while(equal).count();
    let most = body.len().min(base.len()) - head;
    let tail = body.iter().rev().zip(base.iter().rev()).take(most).take_while(equal).count();
    (head, tail)
}

/// Returns the body again. Errors: what is wrong with the recorded bytes.
pub fn unpack_body(raw: &RawBody, base: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let packed = STANDARD.decode(&raw.data).map_err(|error| format!("the recorded bytes are not base64: {error}"))?;
    let mut between = Vec::new();
    DeflateDecoder::new(packed.as_slice())
        .take(MAX_BYTES)
        .read_to_end(&mut between)
        .map_err(|error| format!("the recorded bytes are not deflated: {error}"))?;
    let missing = || "the body that its recorded bytes refer to is missing or shorter".to_owned();
    let base = match (&raw.base, base) {
        (None, _) => &[][..],
        (Some(_), Some(base)) => base,
        (Some(_), None) => return Err(missing()),
    };
    let (head, tail) = (usize::try_from(raw.head), usize::try_from(raw.tail));
    let (Ok(head), Ok(tail)) = (head, tail) else { return Err(missing()) };
    let start = base.get(..head).ok_or_else(missing)?;
    let end = base.len().checked_sub(tail).and_then(|from| base.get(from..)).ok_or_else(missing)?;
    let body = [start, &between, end].concat();
    let sha = hex_sha(&body);
    if sha == raw.sha { Ok(body) } else { Err(format!("the recorded bytes have the SHA-256 {sha}, not {}", raw.sha)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_body_comes_back_whatever_was_before_it(
            words in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..30), 1..6)
        ) {
            let mut before: Option<(Address, Vec<u8>)> = None;
            for (number, body) in words.into_iter().enumerate() {
                let base = before.as_ref().map(|(address, body)| (address, body.as_slice()));
                let raw = pack_body(&body, base, 0);
                prop_assert_eq!(unpack_body(&raw, base.map(|(_, body)| body)), Ok(body.clone()));
                before = Some((Address::from(format!("r0/t{number}").as_str()), body));
            }
        }
    }

    #[test]
    fn a_conversation_is_stored_once() {
        let turn = |count: usize| {
            let messages: Vec<String> =
                (0..count).map(|n| format!("{{\"role\":\"user\",\"content\":\"{n} words\"}}")).collect();
            format!("{{\"messages\":[{}],\"model\":\"m\",\"stream\":true}}", messages.join(",")).into_bytes()
        };
        let (first, second) = (turn(200), turn(201));
        let raw = pack_body(&second, Some((&Address::from("r0/t1"), &first)), 0);
        assert!(raw.data.len() < 100, "{}", raw.data.len());
        assert!(unpack_body(&raw, None).unwrap_err().contains("missing"));
        assert!(unpack_body(&raw, Some(b"short")).is_err());
        assert!(unpack_body(&RawBody { sha: "0".into(), ..raw.clone() }, Some(&first)).is_err());
        assert!(unpack_body(&RawBody { data: "!".into(), ..raw }, Some(&first)).is_err());
    }
}

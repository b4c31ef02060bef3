//! Compression of the bodies of requests and replies.
//!
//! In: the header `Content-Encoding`, and a body in pieces as they come, or as a whole. Out: the body before it was compressed. It must
//! never panic on bytes that are not compressed in the way of their header.

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};

use flate2::{read, write};

use super::body_json;

/// Maximum bytes of a compressed body, decoded as a whole; a longer one stays compressed.
pub const DECODED_MAX_BYTES: u64 = 16 << 20;

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not compressed.
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`.
    Deflate,
    /// A coding that is not supported.
    Unknown,
}

impl Coding {
    /// Reads the header `Content-Encoding`.
    pub fn of(header: Option<&str>) -> Self {
        match header.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            _ => Self::Unknown,
        }
    }

    /// Reads the coding of a body from its recorded headers.
    pub fn of_headers(headers: &[(String, String)]) -> Self {
        let header = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        Self::of(header.map(|(_, value)| value.as_str()))
    }

    /// The body as it was before it was compressed. JSON stays as it is, because a body that was changed or masked is plain under the
    /// header of the compressed one; so does a body that cannot be decoded or is too long.
    pub fn plain(self, body: &[u8]) -> Cow<'_, [u8]> {
        let is_json = || body_json(body).is_ok();
        if matches!(self, Self::Identity | Self::Unknown) || is_json() {
            return Cow::Borrowed(body);
        }
        match self.decoded(body, DECODED_MAX_BYTES) {
            Some(decoded) if !decoded.is_empty() && (decoded.len() as u64) < DECODED_MAX_BYTES => Cow::Owned(decoded),
            Some(_) | None => Cow::Borrowed(body),
        }
    }

    /// The body before it was compressed, as far as it can be read, and at most `max_bytes` of it. `None` when it is not compressed, or in
    /// a way that is not read here.
    pub fn decoded(self, body: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        // Bytes before a broken one are read, and no reader gets further.
        _ = match self {
            Self::Identity | Self::Unknown => return None,
            Self::Gzip => read::MultiGzDecoder::new(body).take(max_bytes).read_to_end(&mut out),
            Self::Deflate if body.first().is_some_and(|first| is_zlib(*first)) => {
                read::ZlibDecoder::new(body).take(max_bytes).read_to_end(&mut out)
            }
            Self::Deflate => read::DeflateDecoder::new(body).take(max_bytes).read_to_end(&mut out),
        };
        Some(out)
    }
}

/// The first byte of gzip.
const GZIP: u8 = 0x1f;

/// Returns whether this is the first byte of a zlib header. Some services send `deflate` without one.
fn is_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

/// Decodes a body that comes in pieces.
pub(super) enum Decoder {
    Plain,
    /// Before the first byte.
    Unopened(Coding),
    Gzip(Box<GzipDecoder>),
    Zlib(Box<write::ZlibDecoder<Vec<u8>>>),
    /// `deflate` without the header of zlib.
    Raw(Box<write::DeflateDecoder<Vec<u8>>>),
    /// The bytes cannot be read.
    Blind,
}

impl Decoder {
    pub(super) fn new(coding: Coding) -> Self {
        match coding {
            Coding::Identity => Self::Plain,
            Coding::Gzip | Coding::Deflate => Self::Unopened(coding),
            Coding::Unknown => Self::Blind,
        }
    }

    /// Returns whether the bytes are compressed and decoded here.
    pub(super) fn is_packed(&self) -> bool {
        matches!(self, Self::Gzip(_) | Self::Zlib(_) | Self::Raw(_))
    }

    /// Decodes the next bytes. Errors: they are not compressed in the way of the header.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let broken = |error: io::Error| format!("the body is not compressed as its header says: {error}");
        if let (Self::Unopened(coding), Some(first)) = (&*self, bytes.first()) {
            *self = match coding {
                Coding::Gzip if *first == GZIP => Self::Gzip(Box::default()),
                Coding::Deflate if is_zlib(*first) => Self::Zlib(Box::new(write::ZlibDecoder::new(Vec::new()))),
                Coding::Deflate => Self::Raw(Box::new(write::DeflateDecoder::new(Vec::new()))),
                _ => return Err("the body is not compressed as its header says".to_owned()),
            };
        }
        match self {
            Self::Plain => Ok(bytes.to_vec()),
            Self::Gzip(decoder) => decoder.decode(bytes).map_err(broken),
            Self::Zlib(decoder) => {
                decoder.write_all(bytes).and_then(|()| decoder.flush()).map_err(broken)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Raw(decoder) => {
                decoder.write_all(bytes).and_then(|()| decoder.flush()).map_err(broken)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Unopened(_) | Self::Blind => Ok(Vec::new()),
        }
    }
}

/// Decodes gzip: one member or more, and zero bytes after the last one, with which some programs pad.
pub(super) struct GzipDecoder {
    member: write::GzDecoder<Vec<u8>>,
    /// Zero bytes have followed the last member.
    is_padding: bool,
}

impl Default for GzipDecoder {
    fn default() -> Self {
        Self { member: write::GzDecoder::new(Vec::new()), is_padding: false }
    }
}

impl GzipDecoder {
    fn decode(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        while !bytes.is_empty() && !self.is_padding {
            match self.member.write(bytes)? {
                // The end of the member.
                0 => {
                    self.member.try_finish()?;
                    out.append(self.member.get_mut());
                    self.is_padding = bytes.first() == Some(&0);
                    if !self.is_padding {
                        self.member = write::GzDecoder::new(Vec::new());
                    }
                }
                taken => bytes = bytes.get(taken..).unwrap_or_default(),
            }
        }
        if !self.is_padding {
            self.member.flush()?;
            out.append(self.member.get_mut());
        } else if bytes.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow its end"));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = write::ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = write::GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn raw(text: &[u8]) -> Vec<u8> {
        let mut encoder = write::DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_json_with_a_byte_order_mark_is_not_decoded() {
        let body = "\u{feff}{\"a\":1}".as_bytes();
        assert_eq!(Coding::Deflate.plain(body), body);
    }

    #[test]
    fn compressed_bodies_are_read_whole_and_in_pieces() {
        let text = b"{\"a\": \"some text, some text\"}";
        for (coding, packed) in
            [(Coding::Gzip, gzip(text)), (Coding::Deflate, zlib(text)), (Coding::Deflate, raw(text))]
        {
            assert_eq!(coding.decoded(&packed, 1000).as_deref(), Some(text.as_slice()));
            assert_eq!(coding.decoded(&packed, 5).as_deref(), Some(&text[..5]));
            let mut decoder = Decoder::new(coding);
            let pieces: Vec<u8> = packed.chunks(3).flat_map(|piece| decoder.decode(piece).unwrap()).collect();
            assert_eq!(pieces, text);
            assert!(decoder.is_packed());
        }
        assert_eq!(Coding::of(Some("br")).decoded(text, 1000), None);
        assert_eq!(Coding::Gzip.decoded(text, 1000), Some(Vec::new()));
        let mut plain = Decoder::new(Coding::Gzip);
        assert!(plain.decode(text).unwrap_err().contains("not compressed as its header says"));
        assert!(!plain.is_packed());
    }

    #[test]
    fn a_body_that_is_plain_under_the_header_of_a_compressed_one_stays_as_it_is() {
        let text = b"{\"a\": \"some text, some text\"}";
        for (coding, packed) in
            [(Coding::Gzip, gzip(text)), (Coding::Deflate, zlib(text)), (Coding::Deflate, raw(text))]
        {
            assert_eq!(coding.plain(&packed), text.as_slice());
            assert_eq!(coding.plain(text), text.as_slice());
        }
        for (coding, body) in
            [(Coding::Gzip, &b"no JSON"[..]), (Coding::Gzip, &b""[..]), (Coding::Unknown, &b"no JSON"[..])]
        {
            assert_eq!(coding.plain(body), body);
        }
        let headers = |name: &str| [(name.to_owned(), "gzip".to_owned())];
        assert_eq!(Coding::of_headers(&headers("Content-Encoding")), Coding::Gzip);
        assert_eq!(Coding::of_headers(&headers("accept-encoding")), Coding::Identity);
    }

    #[test]
    fn zero_bytes_may_follow_gzip_and_nothing_else() {
        let members = [gzip(b"one, "), gzip(b"two")].concat();
        for zeros in [0, 1, 9, 10, 600] {
            let padded = [members.clone(), vec![0; zeros]].concat();
            assert_eq!(Coding::Gzip.decoded(&padded, 1000).as_deref(), Some(b"one, two".as_slice()));
            for length in [1, 7, padded.len()] {
                let mut decoder = Decoder::new(Coding::Gzip);
                let pieces: Vec<u8> = padded.chunks(length).flat_map(|piece| decoder.decode(piece).unwrap()).collect();
                assert_eq!(pieces, b"one, two", "{zeros} zeros, {length} bytes at once");
            }
        }
        for rest in [b"x".repeat(20), [vec![0; 20], b"x".to_vec()].concat(), [vec![0; 20], members.clone()].concat()] {
            for length in [1, members.len() + rest.len()] {
                let mut decoder = Decoder::new(Coding::Gzip);
                let all = [members.clone(), rest.clone()].concat();
                assert!(all.chunks(length).any(|piece| decoder.decode(piece).is_err()), "{rest:?}");
            }
        }
    }
}

//! Files in requests: their media types, and which protocols take which kinds of them.
//!
//! In: bytes, or the record of a file in a message. Out: a media type found by the content, or the file as protocols need it. A file that a
//! protocol cannot carry is an error before anything is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::endpoint::Endpoint;
use super::{Content, ErrorClass, ModelError, Request};
use crate::config::Protocol;
use crate::event::FileRecord;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Image,
    Pdf,
    Audio,
    Text,
}

/// A type of files: its media type, its kind, and the test of its first bytes.
struct FileType {
    media_type: &'static str,
    kind: FileKind,
    is_begun: fn(&[u8]) -> bool,
}

/// All types; the first one whose test holds counts.
const TYPES: &[FileType] = &[
    FileType {
        media_type: "image/png",
        kind: FileKind::Image,
        is_begun: |bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
    },
    FileType { media_type: "image/jpeg", kind: FileKind::Image, is_begun: |bytes| bytes.starts_with(b"\xff\xd8\xff") },
    FileType {
        media_type: "image/gif",
        kind: FileKind::Image,
        is_begun: |bytes| bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
    },
    FileType { media_type: "image/webp", kind: FileKind::Image, is_begun: |bytes| is_riff(bytes, b"WEBP") },
    FileType { media_type: "application/pdf", kind: FileKind::Pdf, is_begun: |bytes| bytes.starts_with(b"%PDF-") },
    FileType { media_type: "audio/wav", kind: FileKind::Audio, is_begun: |bytes| is_riff(bytes, b"WAVE") },
    FileType {
        media_type: "audio/mp3",
        kind: FileKind::Audio,
        is_begun: |bytes| bytes.starts_with(b"ID3") || matches!(bytes, [0xff, 0xfb | 0xfa | 0xf3 | 0xf2, ..]),
    },
    FileType {
        media_type: "text/plain",
        kind: FileKind::Text,
        is_begun: |bytes| std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')),
    },
];

fn is_riff(bytes: &[u8], form: &[u8]) -> bool {
    bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(form)
}

/// The media type of a file by its content; `None` for a type that no service takes.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    TYPES.iter().find(|known| (known.is_begun)(bytes)).map(|known| known.media_type)
}

/// The media types that can be inputs, for messages.
pub fn supported_types() -> String {
    TYPES.iter().map(|known| known.media_type).collect::<Vec<_>>().join(", ")
}

impl FileKind {
    fn of(media_type: &str) -> Option<Self> {
        TYPES.iter().find(|known| known.media_type == media_type).map(|known| known.kind)
    }

    /// Returns whether a request of this protocol can carry files of this kind. Texts are sent as texts.
    fn is_taken(self, protocol: Protocol) -> bool {
        match self {
            Self::Text | Self::Image => true,
            Self::Pdf => protocol != Protocol::Ollama,
            Self::Audio => matches!(protocol, Protocol::OpenAi | Protocol::Gemini),
        }
    }
}

/// A file with its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttachedFile<'a> {
    pub(super) record: &'a FileRecord,
    pub(super) kind: FileKind,
    bytes: &'a [u8],
}

impl<'a> AttachedFile<'a> {
    /// The file of a record, if the request has its bytes.
    pub(super) fn of(request: &'a Request, record: &'a FileRecord) -> Option<Self> {
        let bytes = request.files.get(&record.sha256)?;
        Some(Self { record, kind: FileKind::of(&record.media_type)?, bytes })
    }

    /// The files of these records.
    pub(super) fn all(request: &'a Request, records: &[&'a FileRecord]) -> Vec<Self> {
        records.iter().filter_map(|record| Self::of(request, record)).collect()
    }

    /// The bytes in Base64.
    pub(super) fn base64(&self) -> String {
        STANDARD.encode(self.bytes)
    }

    /// The bytes as a `data:` URL.
    pub(super) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.record.media_type, self.base64())
    }

    /// The second part of the media type: `png`, `wav`.
    pub(super) fn format(&self) -> &'a str {
        self.record.media_type.split_once('/').map_or("", |(_, format)| format)
    }

    /// The text of a text file inside a tag that it cannot close.
    pub(super) fn tagged_text(&self) -> String {
        let text = String::from_utf8_lossy(self.bytes).replace("</file", "<\\/file");
        let name: String = self.record.name.chars().filter(|c| !matches!(c, '"' | '<' | '>' | '\n')).collect();
        format!("<file name=\"{name}\">\n{text}\n</file>\n")
    }
}

/// The first file that cannot be sent to this endpoint, and why.
pub(super) fn refused_file(request: &Request, endpoint: &Endpoint) -> Option<ModelError> {
    let files = request.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Content::File(file) => Some(file),
        _ => None,
    });
    let (provider, protocol) = (&endpoint.provider, endpoint.protocol);
    files.into_iter().find_map(|file| {
        let refused =
            |message: String, hint: &str| Some(ModelError::new(ErrorClass::Configuration, message).hint(hint));
        match (FileKind::of(&file.media_type), request.files.get(&file.sha256)) {
            (Some(kind), _) if !kind.is_taken(protocol) => refused(
                format!(
                    "{provider} ({}) does not accept files of type {}: {}",
                    protocol.name(),
                    file.media_type,
                    file.name
                ),
                "docs/files.md lists what each protocol takes; convert the file, or choose another model",
            ),
            (None, _) => refused(
                format!("the file {} has the unknown type {}", file.name, file.media_type),
                "name the file again to detect its type from its content",
            ),
            (Some(_), None) => refused(
                format!("the bytes of the file {} are missing (SHA-256 {})", file.name, file.sha256),
                "they belong in the folder `files` next to the session; put them back, or name the file again",
            ),
            (Some(_), Some(_)) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_file_is_that_of_its_content() {
        let cases: [(&[u8], Option<&str>); 13] = [
            (b"\x89PNG\r\n\x1a\nrest", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x01\x02\x03\x04WAVEfmt ", Some("audio/wav")),
            (b"%PDF-1.7", Some("application/pdf")),
            (b"ID3\x04", Some("audio/mp3")),
            (b"\xff\xfb\x90", Some("audio/mp3")),
            ("Grüße".as_bytes(), Some("text/plain")),
            (b"", Some("text/plain")),
            (b"a\0b", None),
            (b"\x7fELF\x02", Some("text/plain")),
            (b"PK\x03\x04\xff", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(media_type(bytes), expected, "{bytes:?}");
        }
    }
}

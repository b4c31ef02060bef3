//! Exports: a session as a document, as data for other tools, and as a recording of a terminal.
//!
//! In: the events of a session, after redaction (`redact`). Out: one text per format. It must never read or write a file, and
//! nothing from a model, a tool or a file may reach an export in a form that its reader could act on.
//!
//! The way back, for traces of another program, is [`trace`].

mod asciicast;
mod atif;
mod html;
mod json;
mod markdown;
mod otlp;
mod redact;
mod scan;
mod step;
mod story;
mod text;
pub mod trace;

pub use asciicast::{Piece, asciicast};
pub(crate) use html::{document, escape};
pub use otlp::{LiveSpans, SpanDetail};
pub use redact::{REDACTIONS, RedactedEvents, Redaction, Removal, Rules, redact, redact_text, remaining_secrets};
pub(crate) use scan::scan;
pub use scan::{SCAN_RULES, ScanRule};
pub use step::{StepJson, step};
pub use story::Content;
pub use text::printable;

macro_rules! formats {
    ($($variant:ident $name:literal $file:literal $meaning:literal;)*) => {
        /// A format of exports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format {
            $(#[doc = $meaning] $variant,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the usual extension of its files.
            pub fn ending(self) -> &'static str {
                match self {
                    $(Self::$variant => $file,)*
                }
            }

            /// Returns its description.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }
        }
    };
}

formats! {
    Markdown "md" "md" "a document to read, in Markdown";
    Html "html" "html" "one self-contained HTML file, for light and dark screens";
    Json "json" "json" "the Steps of all runs with every turn, as JSON";
    Atif "atif" "json" "a trajectory in the Agent Trajectory Interchange Format, version 1.7";
    Otlp "otlp" "json" "spans by the conventions of OpenTelemetry for generative AI, as OTLP JSON";
    Svg "svg" "svg" "a picture of the session on the screen";
    Asciicast "asciicast" "cast" "the session line by line at its recorded speed, as asciicast version 3";
    Bundle "bundle" "bundle" "a folder for a bug report: the session, its agent, the machine, how to replay it";
}

impl Format {
    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|format| format.name() == name).copied()
    }
}

/// The text of an export; `None` for the formats that draw a screen ([`Format::Svg`], [`Format::Asciicast`]): an interface makes those
/// from the same events; and for the folder ([`Format::Bundle`]).
pub fn render(content: &Content, format: Format) -> Option<String> {
    Some(match format {
        Format::Markdown => markdown::markdown(content),
        Format::Html => html::html(content),
        Format::Json => json::json(content),
        Format::Atif => atif::atif(content),
        Format::Otlp => otlp::otlp(content),
        Format::Svg | Format::Asciicast | Format::Bundle => return None,
    })
}

/// A time as ISO 8601 in UTC with milliseconds.
fn iso(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

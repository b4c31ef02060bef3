//! The proxy between other programs and model services: their traffic passes unchanged and becomes sessions.
//!
//! In: requests of clients, upstreams or recordings that answer them. Out: the replies as they came, and captured sessions. It must never
//! change a byte that no rule names, never record a key, and never keep a reply back because it is recorded, unless the
//! recorder's memory is full.

mod answers;
mod background;
mod body_secrets;
mod capture;
mod client_secrets;
mod conversations;
mod digest;
mod exchange;
mod headers;
mod held;
mod hold;
mod import;
mod late_line;
mod live;
mod message_list;
mod program;
mod recorder;
mod reply;
mod reply_body;
mod request_body;
mod retention;
mod rule_text;
mod rules;
mod service;
mod session;
mod start;
mod unrecorded;
mod upstreams;
mod websocket;
mod written;

pub use answers::{Answers, Miss};
pub use capture::{Capture, CaptureOptions, IDLE, Prices, Report};
pub use conversations::Conversations;
pub use exchange::{ExchangeEnd, ExchangeLine};
pub use hold::{HeldExchange, HeldForm, HeldSide, Holds, Verdict};
pub use import::{ImportedTraffic, TrafficFormat, import_traffic};
pub use live::{ConversationLine, ConversationState, LiveTraffic, TrafficUpdate};
pub use program::{allow_many_files, run_program};
pub use retention::Retention;
pub use rules::{Rules, RulesError};
pub use service::{ProxyService, Replies};
pub use start::{Audience, ProxySpec, RunningProxy};
pub use unrecorded::{UnrecordedReport, UnrecordedRequest};
pub use upstreams::{Upstream, UpstreamError, Upstreams};

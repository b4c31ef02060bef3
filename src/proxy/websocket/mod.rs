//! WebSockets of the Responses API: their messages, and the replies that they belong to.

pub(super) mod messages;
pub(super) mod replies;

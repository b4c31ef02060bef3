//! WebSockets of the Responses API: their messages, what is to be sent, and the replies that have not ended.

pub(super) mod messages;
pub(super) mod outbox;
pub(super) mod replies;

//! Records the notifications of a server: progress, log messages and changes of its tools.
//!
//! In: a transport to the server. Out: the same messages, after each notification was passed to the [`Log`]. It must
//! not wait: rmcp handles notifications in separate tasks, so that a reply could overtake earlier progress.

#![expect(deprecated, reason = "the protocol will drop log messages; servers of today still send them")]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{
    JsonRpcMessage, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ServerNotification,
    SetLevelRequestParams,
};
use rmcp::service::{Peer, RoleClient, RxJsonRpcMessage, ServiceError, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::log::Log;

/// Asks a server for log messages of this severity at least; a name that is none asks for nothing.
pub(super) async fn request_log_level(peer: &Peer<RoleClient>, level: &str) -> Result<(), ServiceError> {
    match serde_json::from_value::<LoggingLevel>(serde_json::Value::from(level)) {
        Ok(level) => peer.set_level(SetLevelRequestParams::new(level)).await,
        Err(_) => Ok(()),
    }
}

/// A transport that records notifications in the order in which they arrive, before the messages that follow them.
pub(super) struct RecordedTransport<T> {
    pub(super) transport: T,
    pub(super) server: String,
    pub(super) log: Arc<Log>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RecordedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        if let JsonRpcMessage::Notification(notification) = &message {
            self.record(&notification.notification);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

impl<T> RecordedTransport<T> {
    fn record(&self, notification: &ServerNotification) {
        match notification {
            ServerNotification::ProgressNotification(progress) => self.record_progress(&progress.params),
            ServerNotification::LoggingMessageNotification(message) => self.record_message(&message.params),
            ServerNotification::ToolListChangedNotification(_) => self.log.changed.store(true, Ordering::SeqCst),
            _ => {}
        }
    }

    fn record_progress(&self, progress: &ProgressNotificationParam) {
        let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = progress.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        let text = format!("the server {}: {}{total}{message}", self.server, progress.progress);
        self.log.progress(&progress.progress_token, &text);
    }

    fn record_message(&self, message: &LoggingMessageNotificationParam) {
        let text = message.data.as_str().map_or_else(|| message.data.to_string(), ToOwned::to_owned);
        let line = format!("{}: {text}", format!("{:?}", message.level).to_lowercase());
        self.log.push_line(&line);
        if !matches!(message.level, LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice) {
            self.log.broadcast(&format!("the server {} logged: {line}", self.server));
        }
    }
}

//! Connections that leave HTTP after a reply with status 101.
//!
//! In: such a reply, with what is done on its connection. Out: the same, when the connection has left HTTP. The work counts as a request of
//! the listener until it ends.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt as _};

use super::Reply;

/// Work on a connection after its reply. Clones share it; the first one that takes it does it.
#[derive(Clone, Default)]
pub(super) struct Upgrade(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Upgrade {
    /// Takes the work of a reply.
    pub(super) fn of(reply: &mut Reply) -> Option<BoxFuture<'static, ()>> {
        reply.extensions_mut().remove::<Self>()?.take()
    }

    /// Sets the work.
    pub(super) fn set(&self, work: BoxFuture<'static, ()>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }

    /// Takes the work.
    pub(super) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Adds to a reply with status 101 what is done on its connection afterwards. It is dropped when the listener is aborted, and should end when
/// the listener closes.
pub fn upgrading(mut reply: Reply, work: impl Future<Output = ()> + Send + 'static) -> Reply {
    let upgrade = Upgrade::default();
    upgrade.set(work.boxed());
    reply.extensions_mut().insert(upgrade);
    reply
}

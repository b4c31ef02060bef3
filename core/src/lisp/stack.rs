//! Threads that programs run on: a large native stack of their own, so that neither deep programs nor deep data can
//! overflow it, and panics that end a program but not the process.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::{Error, EvalResult};
use crate::heap;
use crate::reasons::Reason;

/// Native stack of a thread that runs programs. Only the part that is used becomes memory: about 0.5 to 2 kB per call.
const STACK_BYTES: usize = 96 << 20;
/// Native stack reserved for what runs between two depth checks: nested expressions and builtins.
const STACK_MARGIN: usize = 4 << 20;

/// The stack of a thread that may run programs.
#[derive(Debug)]
pub struct Stack {
    /// The lowest address that it may reach; it grows downwards.
    pub(crate) end: usize,
    /// Keeps the stack on its thread.
    not_send: PhantomData<*const ()>,
}

impl Stack {
    /// Runs `work` on a new thread with a large stack and waits for it. Fails with `internal_error` if the thread
    /// cannot be started or the work panics.
    pub fn with<T: Send>(work: impl FnOnce(&Stack) -> T + Send) -> Result<T, Error> {
        thread::scope(|scope| {
            let builder = thread::Builder::new().name("program".to_owned()).stack_size(STACK_BYTES);
            let worker = builder.spawn_scoped(scope, || {
                let _cache = heap::cache_blocks();
                work(&Self::here())
            });
            let worker = worker
                .map_err(|error| Error::new(Reason::InternalError, format!("no thread could be started: {error}")))?;
            worker.join().map_err(|_| panicked())
        })
    }

    /// The stack of this thread, which has just been started with [`STACK_BYTES`].
    fn here() -> Self {
        let top = 0_u8;
        Self::until(std::ptr::from_ref(&top).addr().saturating_sub(STACK_BYTES - STACK_MARGIN))
    }

    /// The rest of a stack that ends at this address.
    pub(crate) fn until(end: usize) -> Self {
        Self { end, not_send: PhantomData }
    }

    /// Starts a thread for a branch of a parallel form; an error if the system has no thread left.
    pub(crate) fn branch<'scope>(
        scope: &'scope thread::Scope<'scope, '_>,
        work: impl FnOnce(&Stack) + Send + 'scope,
    ) -> std::io::Result<()> {
        let builder = thread::Builder::new().name("branch".to_owned()).stack_size(STACK_BYTES);
        let work = || {
            let _cache = heap::cache_blocks();
            work(&Self::here());
        };
        builder.spawn_scoped(scope, work).map(|_| ())
    }
}

/// Runs `work`; a panic in it becomes an `internal_error`. Earlier effects persist.
pub(crate) fn catch_panic(work: impl FnOnce() -> EvalResult) -> EvalResult {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panicked().halt())
}

#[cold]
fn panicked() -> Error {
    Error::new(Reason::InternalError, "the program stopped because of an internal error")
}

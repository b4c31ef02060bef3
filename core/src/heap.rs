//! The counting allocator: how many bytes each thread has live.
//!
//! In: every allocation of the process. Out: the balance of the thread that asks. It must never fail an allocation by
//! itself: limits are looked at by the machine, between steps. This is the one file with `unsafe`; it only forwards.

#![expect(
    unsafe_code,
    reason = "GlobalAlloc is an unsafe trait; measured beside a build that does not count: 1 to 6 % of a task"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // No destructor and no lazy set-up, so it can be used at any time of a thread's life.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

/// Bytes this thread has allocated minus bytes it has freed, whoever freed or allocated the other half.
#[inline]
pub fn live() -> i64 {
    LIVE.with(Cell::get)
}

/// Corrects the balance of this thread: takes over `bytes` from a thread that has ended, or gives them away.
#[inline]
pub fn adopt(bytes: i64) {
    LIVE.with(|live| live.set(live.get().wrapping_add(bytes)));
}

fn size(bytes: usize) -> i64 {
    // A layout is never larger than isize::MAX.
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every method hands its arguments unchanged to the system's allocator and returns what that returned.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        adopt(size(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        adopt(-size(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        adopt(size(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        adopt(size(bytes) - size(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_what_it_holds() {
        let before = live();
        let held = vec![0_u8; 100_000];
        assert!(live() - before >= 100_000);
        drop(held);
        assert!(live() - before < 100_000);
    }

    #[test]
    fn other_threads_do_not_count() {
        let before = live();
        let held = std::thread::scope(|scope| scope.spawn(|| vec![0_u8; 1_000_000]).join());
        assert!(live() - before < 500_000);
        drop(held);
    }
}

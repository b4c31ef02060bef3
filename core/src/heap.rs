//! The counting allocator: live bytes per thread, and a cache of small blocks for threads that run programs.
//!
//! In: every allocation of a process that installs it. Out: the balance of the calling thread. It must never fail an
//! allocation itself: the machine checks limits between steps. This is the only file with `unsafe`.
//!
//! A library must not choose the allocator of a process, so the binary installs it. In a process without it nothing is
//! counted: the default memory limit is then off, and a limit that a caller sets is refused ([`is_counting`]).
//!
//! Programs allocate and drop small values constantly, thousands at once; the system's allocator caches seven blocks
//! per size and takes its slow path for the rest. Threads that run programs cache more. Every block is allocated
//! separately by the system's allocator, so that any thread may free it. Measured: lists made in `for` 28 % faster,
//! text 18 %.

#![expect(
    unsafe_code,
    reason = "GlobalAlloc is an unsafe trait; counting costs 1 to 6 % of a task, the block cache saves more: see above"
)]
#![expect(clippy::cast_ptr_alignment, reason = "cached blocks are aligned to 16 bytes")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// Number of cached sizes. Size `n` is `16 n + 8` bytes, which glibc's allocator serves without waste.
const SIZES: usize = 8;
/// Maximum bytes that a thread caches.
const CACHE_BYTES: usize = 4 << 20;

thread_local! {
    // These need no destructor and no lazy initialization, so they may be used at any time of a thread's life.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static CACHE: BlockCache = const { BlockCache { first: [const { Cell::new(null_mut()) }; SIZES], room: Cell::new(0) } };
}

/// The free blocks of a thread, one list per size: the first block, which holds the address of the next.
struct BlockCache {
    first: [Cell<*mut u8>; SIZES],
    /// Bytes that may still be cached; 0 on threads without a cache.
    room: Cell<usize>,
}

/// One of the cached sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size(usize);

impl Size {
    /// The size class of a small layout. All blocks of a class have the same layout, whatever was requested.
    #[inline]
    fn of(layout: Layout) -> Option<Self> {
        let class = layout.size().saturating_sub(9) / 16;
        (class < SIZES && layout.align() <= 16).then_some(Self(class))
    }

    #[inline]
    fn bytes(self) -> usize {
        self.0 * 16 + 24
    }

    #[inline]
    fn layout(self) -> Layout {
        // SAFETY: 16 is a power of two, and the size is far below the maximum.
        unsafe { Layout::from_size_align_unchecked(self.bytes(), 16) }
    }
}

impl BlockCache {
    /// Takes a cached block of this size.
    #[inline]
    fn take(&self, size: Size) -> Option<*mut u8> {
        let first = self.first[size.0].get();
        if first.is_null() {
            return None;
        }
        // SAFETY: a cached block has no other owner, has room for a pointer, and `put` wrote one there.
        self.first[size.0].set(unsafe { first.cast::<*mut u8>().read() });
        self.room.set(self.room.get() + size.bytes());
        Some(first)
    }

    /// Caches a block of this size; false if the cache is full.
    #[inline]
    fn put(&self, size: Size, block: *mut u8) -> bool {
        let Some(room) = self.room.get().checked_sub(size.bytes()) else { return false };
        self.room.set(room);
        // SAFETY: the block has been freed by its owner, has at least 24 bytes and is aligned to 16.
        unsafe { block.cast::<*mut u8>().write(self.first[size.0].get()) };
        self.first[size.0].set(block);
        true
    }
}

/// Guard: the thread caches small blocks while it lives.
pub(crate) struct BlockCacheGuard(PhantomData<*const ()>);

/// Starts to cache small blocks on this thread.
pub(crate) fn cache_blocks() -> BlockCacheGuard {
    CACHE.with(|kept| kept.room.set(CACHE_BYTES));
    BlockCacheGuard(PhantomData)
}

impl Drop for BlockCacheGuard {
    fn drop(&mut self) {
        CACHE.with(|kept| {
            for size in (0..SIZES).map(Size) {
                while let Some(block) = kept.take(size) {
                    // SAFETY: all blocks of a size class were allocated with its layout.
                    unsafe { System.dealloc(block, size.layout()) };
                }
            }
            kept.room.set(0);
        });
    }
}

/// An allocator that counts the bytes of each thread, which the memory limit of programs needs. A binary installs it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;
///
/// # fn main() {
/// assert!(ptc_core::heap::is_counting());
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// The statement that installs the allocator, for error messages.
pub const INSTALLATION: &str =
    "#[global_allocator] static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;";

/// Reports whether this process counts its allocations, by making one. Counting needs no flag this way, and an
/// allocator that wraps [`CountingAllocator`] is recognized too.
pub fn is_counting() -> bool {
    let before = live();
    let probe = black_box(Box::new(0_u64));
    let counted = live() != before;
    drop(probe);
    counted
}

/// Bytes that this thread has allocated minus bytes it has freed, whichever thread did the other half.
#[inline]
pub fn live() -> i64 {
    LIVE.with(Cell::get)
}

/// Corrects the balance of this thread: takes over `bytes` from a thread that has ended, or gives them away if
/// negative.
#[inline]
pub fn adopt(bytes: i64) {
    LIVE.with(|live| live.set(live.get().wrapping_add(bytes)));
}

/// Runs `work` and keeps the balance of this thread: for tables of the process, which live on after the program that
/// happens to need them first.
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let before = live();
    let made = work();
    adopt(before - live());
    made
}

fn size(bytes: usize) -> i64 {
    // A layout is never larger than isize::MAX.
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: small blocks come from the system's allocator, always with the layout of their size class, whichever thread
// allocates or frees them, and each has one owner at a time. All other requests are forwarded unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        adopt(size(layout.size()));
        let Some(small) = Size::of(layout) else {
            // SAFETY: forwards the caller's guarantees.
            return unsafe { System.alloc(layout) };
        };
        match CACHE.with(|kept| kept.take(small)) {
            Some(block) => block,
            // SAFETY: the layout of a size class is not empty.
            None => unsafe { System.alloc(small.layout()) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        adopt(-size(layout.size()));
        let Some(small) = Size::of(layout) else {
            // SAFETY: as above.
            return unsafe { System.dealloc(at, layout) };
        };
        if !CACHE.with(|kept| kept.put(small, at)) {
            // SAFETY: `alloc` allocated it with this layout.
            unsafe { System.dealloc(at, small.layout()) };
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Size::of(layout).is_some() {
            // SAFETY: forwards the caller's guarantees.
            let at = unsafe { self.alloc(layout) };
            if !at.is_null() {
                // SAFETY: the block has at least as many bytes as requested.
                unsafe { at.write_bytes(0, layout.size()) };
            }
            return at;
        }
        adopt(size(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size is valid for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        match (Size::of(layout), Size::of(wanted)) {
            (None, None) => {
                adopt(size(bytes) - size(layout.size()));
                // SAFETY: as above.
                unsafe { System.realloc(at, layout, bytes) }
            }
            (old, new) if old == new => {
                adopt(size(bytes) - size(layout.size()));
                at
            }
            _ => {
                // SAFETY: the new block does not overlap the old one; both have at least the bytes that are copied.
                unsafe {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(at, layout.size().min(bytes));
                        self.dealloc(at, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_allocator_is_recognized() {
        let before = live();
        assert!(is_counting());
        assert_eq!(live(), before, "the probe is freed");
    }

    #[test]
    fn a_thread_counts_what_it_holds() {
        let before = live();
        let held = vec![0_u8; 100_000];
        assert!(live() - before >= 100_000);
        drop(held);
        assert!(live() - before < 100_000);
    }

    #[test]
    fn what_is_made_uncounted_leaves_the_balance_as_it_was() {
        let before = live();
        let held = uncounted(|| vec![0_u8; 100_000]);
        assert_eq!(live(), before);
        // It is freed here, so that other tests on this thread start from the true balance.
        uncounted(|| drop(held));
        assert_eq!(live(), before);
    }

    #[test]
    fn cached_blocks_are_reused_and_freed() {
        let keeping = cache_blocks();
        let room = || CACHE.with(|kept| kept.room.get());
        let before = room();
        let mut held: Vec<Vec<u8>> = (1..200_u8).map(|n| vec![n; usize::from(n)]).collect();
        for block in &mut held {
            block.extend([7; 50]);
        }
        assert!(held.iter().zip(1..).all(|(block, n)| block[..usize::from(n)].iter().all(|byte| *byte == n)));
        let at = |blocks: &[Vec<u8>]| blocks.iter().map(|block| block.as_ptr().addr()).collect::<Vec<_>>();
        let places = at(&held[..50]);
        drop(held);
        assert!(room() < before);
        let again: Vec<Vec<u8>> = (1..51).map(|n| vec![1; n + 50]).collect();
        assert!(at(&again).iter().any(|place| places.contains(place)));
        drop(keeping);
        assert_eq!(room(), 0);
        drop(again);
        assert!(CACHE.with(|kept| kept.first.iter().all(|first| first.get().is_null())));
    }

    #[test]
    fn blocks_may_be_freed_on_another_thread() {
        let made: Vec<Box<[u64; 4]>> = std::thread::scope(|scope| {
            let make = || {
                let _keeping = cache_blocks();
                (0..10_000).map(|n| Box::new([n; 4])).collect()
            };
            scope.spawn(make).join().unwrap_or_default()
        });
        assert_eq!(made.len(), 10_000);
        let _keeping = cache_blocks();
        assert!(made.into_iter().zip(0..).all(|(block, n)| *block == [n; 4]));
    }

    #[test]
    fn other_threads_do_not_count() {
        let before = live();
        let held = std::thread::scope(|scope| scope.spawn(|| vec![0_u8; 1_000_000]).join());
        assert!(live() - before < 500_000);
        drop(held);
    }
}

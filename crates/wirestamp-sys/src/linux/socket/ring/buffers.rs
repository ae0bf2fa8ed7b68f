//! The memory that the kernel receives into: a ring of buffers, lent out and given back
//! one by one. Knows nothing of what is in them.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU16, Ordering};

/// The one group of buffers of a ring.
pub(super) const GROUP: u16 = 0;
/// As many as help: more fall out of the cache.
const MOST: u16 = 128;
const LEAST: u16 = 8;
/// Above it there are fewer buffers.
const MOST_BYTES: usize = 1 << 20;
/// Of the processor's caches.
const CACHE_LINE: usize = 64;

/// Memory of whole pages, zeroed.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: memory that belongs to nobody else; whoever has the value has the memory.
unsafe impl Send for Pages {}

impl Pages {
    fn new(length: usize) -> io::Result<Self> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: asks for new memory anywhere.
        let start = unsafe { libc::mmap(null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { start, length })
    }

    /// The address `at` bytes from the start. Panics outside.
    fn at(&self, at: usize) -> *mut u8 {
        assert!(at < self.length, "within the memory");
        // SAFETY: within the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(at) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and lent to nobody any more: the ring was
        // closed before (see the order of the fields in `ReceiveRing`).
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// An odd number of cache lines: a power of two would put the beginnings of all buffers, which is where short
/// packets are, into few sets of the cache.
fn size_for(longest: usize) -> usize {
    (longest.div_ceil(CACHE_LINE) | 1) * CACHE_LINE
}

/// Buffers, and the ring by which they are given to the kernel.
#[derive(Debug)]
pub(super) struct Buffers {
    /// First the ring's entries, then the buffers.
    pages: Pages,
    count: u16,
    size: usize,
    /// How many were ever given, as the kernel counts them.
    given: u16,
}

impl Buffers {
    /// For messages of up to `longest` bytes, headers included: as many as stay in the cache.
    pub(super) fn new(longest: usize) -> io::Result<Self> {
        let fitting = MOST_BYTES / size_for(longest);
        Self::with(longest, fitting.clamp(LEAST.into(), MOST.into()))
    }

    /// The same, with at most `most` buffers: the next power of two below. The kernel takes no more than 2¹⁵.
    pub(super) fn with(longest: usize, most: usize) -> io::Result<Self> {
        let size = size_for(longest);
        let count = 1 << most.clamp(1, 1 << 15).ilog2();
        let pages = Pages::new(Self::entries_bytes(count) + usize::from(count) * size)?;
        let mut buffers = Self {
            pages,
            count,
            size,
            given: 0,
        };
        (0..count).for_each(|id| buffers.give_back(id));
        buffers.publish();
        Ok(buffers)
    }

    fn entries_bytes(count: u16) -> usize {
        usize::from(count) * size_of::<BufRingEntry>()
    }

    pub(super) fn register(&self, ring: &IoUring) -> io::Result<()> {
        let address = self.pages.start.as_ptr() as u64;
        // SAFETY: the memory begins with `count` entries and stays mapped until after the ring is closed.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, self.count, GROUP, 0)
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count.into()
    }

    fn start_of(&self, id: u16) -> *mut u8 {
        self.pages
            .at(Self::entries_bytes(self.count) + usize::from(id) * self.size)
    }

    /// What the kernel wrote into the buffer that it gave us with a completion; to be asked
    /// before it is given back.
    pub(super) fn filled(&self, id: u16, length: usize) -> &[u8] {
        assert!(id < self.count, "a buffer of this ring");
        // SAFETY: within the mapping; the kernel has given this buffer up, and gets it again
        // by `give_back`, which takes `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.start_of(id), length.min(self.size)) }
    }

    /// Gives a buffer to the kernel, which sees it after [`publish`](Self::publish).
    pub(super) fn give_back(&mut self, id: u16) {
        let place = usize::from(self.given & (self.count - 1));
        let (address, length) = (self.start_of(id) as u64, self.size as u32);
        let entry = self
            .pages
            .at(place * size_of::<BufRingEntry>())
            .cast::<BufRingEntry>();
        // SAFETY: one of `count` entries at the start of the mapping, aligned and zeroed; the
        // kernel does not read it before `publish`.
        let entry = unsafe { &mut *entry };
        entry.set_addr(address);
        entry.set_len(length);
        entry.set_bid(id);
        self.given = self.given.wrapping_add(1);
    }

    pub(super) fn publish(&mut self) {
        let start = self.pages.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the first entry of the ring, in which its tail is.
        let tail = unsafe { BufRingEntry::tail(start) };
        // SAFETY: two aligned bytes of the mapping, which we write only here, and the kernel never.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.given, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_whatever_is_asked_for() {
        for (longest, count, size) in [(1_728, 128, 1_728), (9_256, 64, 9_280), (65_791, 8, 65_856)]
        {
            let buffers = Buffers::new(longest).expect("memory");
            assert_eq!((buffers.count, buffers.size), (count, size), "{longest}");
            assert!(usize::from(buffers.count) * buffers.size <= MOST_BYTES);
        }
    }
}

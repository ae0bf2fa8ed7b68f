//! The memory that a packet socket shares with the kernel. All that is unsafe about captures, but for libpcap, is here.

use super::super::wire::packet_ring::{OURS, STATUS};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring of blocks: each is either the kernel's, which fills it, or ours.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    block: usize,
    blocks: usize,
}

// SAFETY: the memory belongs to this value alone until it is dropped; no thread owns it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring that the socket was asked to have: `blocks` of `block` bytes, a multiple of the page size.
    pub(super) fn map(fd: BorrowedFd<'_>, block: usize, blocks: usize) -> io::Result<Self> {
        let length = block
            .checked_mul(blocks)
            .filter(|length| *length > 0)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: the kernel chooses an address where nothing is; nothing else refers to it.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                access,
                shared,
                fd.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(mapped.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            memory,
            block,
            blocks,
        })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Whether a block is ours: what the kernel wrote before it said so is then seen.
    #[inline]
    pub(super) fn is_ours(&self, place: usize) -> bool {
        self.status(place).load(Ordering::Acquire) & OURS != 0
    }

    /// The bytes of a block that [is ours](Self::is_ours). The caller gives it back once nothing refers to them.
    #[inline]
    pub(super) fn bytes(&self, place: usize) -> &[u8] {
        assert!(self.is_ours(place), "the kernel writes into this block");
        let start = self.start(place);
        // SAFETY: the block lies within the mapping, is initialised by the kernel, and is not written by it while it is ours.
        // It is given back by `&mut self`, when no reference to it is left.
        unsafe { std::slice::from_raw_parts(start, self.block) }
    }

    /// Gives a block back to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self, place: usize) {
        self.status(place).store(0, Ordering::Release);
    }

    #[inline]
    fn start(&self, place: usize) -> *mut u8 {
        assert!(place < self.blocks, "there is no such block");
        // SAFETY: `place` is less than the number of blocks in the mapping.
        unsafe { self.memory.as_ptr().add(place * self.block) }
    }

    #[inline]
    fn status(&self, place: usize) -> &AtomicU32 {
        // SAFETY: blocks are longer than their header.
        let status = unsafe { self.start(place).add(STATUS) };
        // SAFETY: blocks are aligned to pages, so the word is aligned; both sides access it as an atomic word.
        unsafe { AtomicU32::from_ptr(status.cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping as it was made, and nothing refers to it any more.
        let _ = unsafe { libc::munmap(self.memory.as_ptr().cast(), self.block * self.blocks) };
    }
}

//! The loop that a program without us would write, for the bench: follows the kernel's pointers and believes them.

use super::Capture;
use std::ptr;

impl Capture {
    /// Reads everything that waits: how many packets, and the sum of what was read of each (timestamp, length, first octet).
    #[doc(hidden)]
    pub fn drain_bare(&mut self) -> (u64, u64) {
        let (mut packets, mut sum) = (0, 0);
        while self.ring.is_ours(self.next) {
            let block = self.ring.bytes(self.next).as_ptr();
            let mut left = word(block, 12);
            let mut at = word(block, 16) as usize;
            while left > 0 {
                let packet = step(block, at);
                let octet = u64::from(*byte(packet, short(packet, 24) as usize));
                sum += u64::from(word(packet, 4)) + u64::from(word(packet, 8));
                sum += u64::from(word(packet, 16)) + octet;
                at += word(packet, 0) as usize;
                left -= 1;
                packets += 1;
            }
            self.ring.give_back(self.next);
            self.next = (self.next + 1) % self.ring.blocks();
        }
        (packets, sum)
    }
}

#[inline(always)]
fn step(from: *const u8, at: usize) -> *const u8 {
    // SAFETY: `at` is where the kernel says that a packet begins, within the block.
    unsafe { from.add(at) }
}

#[inline(always)]
fn word(from: *const u8, at: usize) -> u32 {
    let place = step(from, at).cast();
    // SAFETY: a word of a header that the kernel has written, within the block.
    unsafe { ptr::read_unaligned(place) }
}

#[inline(always)]
fn short(from: *const u8, at: usize) -> u16 {
    let place = step(from, at).cast();
    // SAFETY: likewise.
    unsafe { ptr::read_unaligned(place) }
}

#[inline(always)]
fn byte<'a>(from: *const u8, at: usize) -> &'a u8 {
    // SAFETY: the first octet of a packet, within the block, which is not given back before it was read.
    unsafe { &*step(from, at) }
}

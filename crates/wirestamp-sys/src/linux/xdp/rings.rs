//! The memory that an AF_XDP socket shares with the kernel: frames, the rings of those that are free and of those that came, the rings of
//! those to be sent and of those that were. All that is unsafe about AF_XDP, but for bpf(2), is here.
//!
//! Source: the kernel's `Documentation/networking/af_xdp.rst`, `linux/if_xdp.h`.

use super::super::call;
use super::metadata::{self, DESCRIPTOR, METADATA, PACKET};
use super::program::NOTE;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Bytes of `xdp_mmap_offsets`.
const OFFSETS: usize = 128;
/// Bytes at the end of a note that show it to be one.
const MARK: usize = 4;
/// `XDP_RING_NEED_WAKEUP`.
const ASLEEP: u32 = 1;
/// Where the rings begin in the socket's address space.
const RECEIVED: i64 = 0;
const TO_SEND: i64 = 0x8000_0000;
const FREE: i64 = 0x1_0000_0000;
const COMPLETED: i64 = 0x1_8000_0000;

/// A part of the address space.
#[derive(Debug)]
struct Mapping {
    memory: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone until it is dropped; no thread owns it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(fd: Option<(BorrowedFd<'_>, i64)>, length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (fd, at, flags) = match fd {
            Some((fd, at)) => (fd.as_raw_fd(), at, libc::MAP_SHARED | libc::MAP_POPULATE),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        // SAFETY: the kernel chooses an address where nothing is; nothing else refers to it.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                access,
                flags,
                fd,
                at as libc::off_t,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(mapped.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { memory, length })
    }

    /// The place of `bytes` bytes.
    fn place(&self, at: usize, bytes: usize) -> *mut u8 {
        let end = at.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.length),
            "beyond the mapping"
        );
        // SAFETY: within the mapping, as was just checked.
        unsafe { self.memory.as_ptr().add(at) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping as it was made, and nothing refers to it any more.
        let _ = unsafe { libc::munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// The frames that packets are written into.
#[derive(Debug)]
pub(super) struct Frames {
    mapping: Mapping,
    size: usize,
}

impl Frames {
    pub(super) fn new(count: u32, size: usize) -> io::Result<Self> {
        let mapping = Mapping::new(None, count as usize * size)?;
        Ok(Self { mapping, size })
    }

    /// `xdp_umem_reg`; `metadata`: so many bytes in front of each packet that is sent.
    pub(super) fn registration(&self, metadata: u32) -> [u8; metadata::REGISTRATION] {
        let address = self.mapping.memory.as_ptr() as usize as u64;
        metadata::registration(
            address,
            self.mapping.length as u64,
            self.size as u32,
            metadata,
        )
    }

    /// The bytes of a packet that the kernel has handed over, and of the note in front of it. `None`: it does not lie within its frame.
    pub(super) fn packet(&self, came: Came) -> Option<(&[u8; NOTE], &[u8])> {
        let at = usize::try_from(came.at).ok()?;
        let length = came.length as usize;
        let frame = at / self.size * self.size;
        let start = at.checked_sub(NOTE).filter(|start| *start >= frame)?;
        let end = at
            .checked_add(length)
            .filter(|end| *end <= frame + self.size)?;
        if end > self.mapping.length {
            return None;
        }
        let place = self.mapping.place(start, end - start);
        // SAFETY: within the mapping, which is initialised. The kernel has handed the frame over and does not write it until it is given back, which
        // takes the socket by `&mut`, when no reference to it is left.
        let bytes = unsafe { std::slice::from_raw_parts(place, end - start) };
        let (note, data) = bytes.split_first_chunk()?;
        Some((note, data))
    }

    /// Wipes the end of the note in front of a packet, without which it is none: the frame's next packet has its own or no note, never this one.
    pub(super) fn forget_note(&mut self, came: Came) {
        if self.packet(came).is_none() {
            return;
        }
        let place = self.mapping.place(came.at as usize - MARK, MARK);
        // SAFETY: within the frame, as was just checked; the kernel has handed it over, and `&mut` shows that no reference to it is left.
        unsafe { place.write_bytes(0, MARK) };
    }

    /// The room for a packet to be sent by a frame, of `bytes` bytes at most. The kernel must not have the frame.
    pub(super) fn room(&mut self, frame: u32, bytes: usize) -> &mut [u8] {
        let bytes = bytes.min(self.size - PACKET);
        let place = self
            .mapping
            .place(frame as usize * self.size + PACKET, bytes);
        // SAFETY: within the mapping, which is initialised; the kernel does not have the frame, and `&mut` shows that no other reference to it is left.
        unsafe { std::slice::from_raw_parts_mut(place, bytes) }
    }

    /// Writes what the kernel is asked about a packet to be sent by a frame. The kernel must not have the frame.
    pub(super) fn set_metadata(&mut self, frame: u32, metadata: [u8; METADATA]) {
        let at = frame as usize * self.size + PACKET - METADATA;
        let place = self.mapping.place(at, METADATA);
        // SAFETY: within the mapping; the kernel does not have the frame, and `&mut` shows that no reference to it is left.
        unsafe { place.cast::<[u8; METADATA]>().write(metadata) };
    }

    /// What the kernel answered, once it has completed the frame.
    pub(super) fn metadata(&self, frame: u32) -> [u8; METADATA] {
        let at = frame as usize * self.size + PACKET - METADATA;
        let place = self.mapping.place(at, METADATA);
        // SAFETY: within the mapping, which is initialised; the kernel has completed the frame and does not write it any more.
        unsafe { place.cast::<[u8; METADATA]>().read() }
    }

    /// Where in the memory a frame's packet to be sent begins.
    pub(super) fn to_send(&self, frame: u32) -> u64 {
        (frame as usize * self.size + PACKET) as u64
    }

    /// The frame whose packet to be sent begins there; `None`: no packet does.
    pub(super) fn sent(&self, at: u64) -> Option<u32> {
        let frame = u32::try_from(at / self.size as u64).ok()?;
        (self.to_send(frame) == at).then_some(frame)
    }

    /// Where the frame begins that holds a packet.
    pub(super) fn frame(&self, came: Came) -> u64 {
        let size = self.size as u64;
        came.at / size * size
    }
}

/// `xdp_desc`: a packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Came {
    at: u64,
    length: u32,
}

/// `xdp_mmap_offsets`: where in the rings their parts are.
///
/// # Errors
/// `EOPNOTSUPP` on kernels before 5.4.
pub(super) fn offsets(fd: BorrowedFd<'_>) -> io::Result<[u8; OFFSETS]> {
    let mut offsets = [0; OFFSETS];
    if call::option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)? < OFFSETS {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    Ok(offsets)
}

/// A ring with one end here and one in the kernel.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    flags: usize,
    count: u32,
}

impl Ring {
    /// Maps the ring of frames that are free.
    pub(super) fn free(
        fd: BorrowedFd<'_>,
        offsets: &[u8; OFFSETS],
        count: u32,
    ) -> io::Result<Self> {
        Self::map(fd, FREE, &offsets[64..96], count, 8)
    }

    /// Maps the ring of packets that came.
    pub(super) fn received(
        fd: BorrowedFd<'_>,
        offsets: &[u8; OFFSETS],
        count: u32,
    ) -> io::Result<Self> {
        Self::map(fd, RECEIVED, &offsets[..32], count, 16)
    }

    /// Maps the ring of packets to be sent.
    pub(super) fn to_send(
        fd: BorrowedFd<'_>,
        offsets: &[u8; OFFSETS],
        count: u32,
    ) -> io::Result<Self> {
        Self::map(fd, TO_SEND, &offsets[32..64], count, DESCRIPTOR)
    }

    /// Maps the ring of packets that were sent.
    pub(super) fn completed(
        fd: BorrowedFd<'_>,
        offsets: &[u8; OFFSETS],
        count: u32,
    ) -> io::Result<Self> {
        Self::map(fd, COMPLETED, &offsets[96..], count, 8)
    }

    fn map(
        fd: BorrowedFd<'_>,
        at: i64,
        offsets: &[u8],
        count: u32,
        entry: usize,
    ) -> io::Result<Self> {
        let offset = |place: usize| {
            let eight = offsets.get(place..)?.first_chunk()?;
            usize::try_from(u64::from_ne_bytes(*eight)).ok()
        };
        let all = (offset(0), offset(8), offset(16), offset(24));
        let (Some(producer), Some(consumer), Some(entries), Some(flags)) = all else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let aligned = [producer, consumer, entries, flags]
            .iter()
            .all(|at| at % 4 == 0);
        let length = entries.checked_add(count as usize * entry);
        let fits = [producer, consumer, flags].iter().all(|at| *at < entries);
        let length = length.filter(|_| aligned && fits && entries % 8 == 0);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            mapping: Mapping::new(Some((fd, at)), length)?,
            producer,
            consumer,
            entries,
            flags,
            count,
        })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let place = self.mapping.place(at, 4);
        // SAFETY: within the mapping and aligned, as was checked when it was made; both sides access it as an atomic word.
        unsafe { AtomicU32::from_ptr(place.cast()) }
    }

    /// How many entries the kernel has filled that were not yet consumed.
    pub(super) fn waiting(&self) -> u32 {
        let produced = self.word(self.producer).load(Ordering::Acquire);
        let consumed = self.word(self.consumer).load(Ordering::Relaxed);
        produced.wrapping_sub(consumed).min(self.count)
    }

    /// The packet that comes in this place behind the last consumed one: less than [`waiting`](Self::waiting).
    pub(super) fn came(&self, behind: u32) -> Came {
        let at = self.word(self.consumer).load(Ordering::Relaxed);
        let entry = at.wrapping_add(behind) & (self.count - 1);
        let place = self.mapping.place(self.entries + entry as usize * 16, 16);
        // SAFETY: an entry of 16 aligned bytes, which the kernel has written before it moved its end past it.
        let bytes: [u8; 16] = unsafe { place.cast::<[u8; 16]>().read() };
        let [a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, ..] = bytes;
        Came {
            at: u64::from_ne_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            length: u32::from_ne_bytes([l0, l1, l2, l3]),
        }
    }

    /// Where the packet begins that was sent, in this place behind the last consumed one: less than [`waiting`](Self::waiting).
    pub(super) fn sent(&self, behind: u32) -> u64 {
        let at = self.word(self.consumer).load(Ordering::Relaxed);
        let entry = at.wrapping_add(behind) & (self.count - 1);
        let place = self.mapping.place(self.entries + entry as usize * 8, 8);
        // SAFETY: an aligned entry, which the kernel has written before it moved its end past it.
        unsafe { place.cast::<u64>().read() }
    }

    /// Consumes entries.
    pub(super) fn consume(&mut self, count: u32) {
        let consumer = self.word(self.consumer);
        let at = consumer.load(Ordering::Relaxed);
        consumer.store(at.wrapping_add(count), Ordering::Release);
    }

    /// Gives free frames to the kernel: no more than the ring has entries, over all.
    pub(super) fn give(&mut self, frames: impl Iterator<Item = u64>) {
        let producer = self.word(self.producer);
        let mut at = producer.load(Ordering::Relaxed);
        for frame in frames {
            let entry = (at & (self.count - 1)) as usize;
            let place = self.mapping.place(self.entries + entry * 8, 8);
            // SAFETY: an aligned entry that the kernel has consumed: there are as many frames as entries, and this frame is in none.
            unsafe { place.cast::<u64>().write(frame) };
            at = at.wrapping_add(1);
        }
        producer.store(at, Ordering::Release);
    }

    /// Writes a packet to be sent, in this place behind the last one that the kernel was given. Fewer than [`unread`](Self::unread) leaves room for.
    pub(super) fn prepare(&mut self, behind: u32, descriptor: [u8; DESCRIPTOR]) {
        let at = self.word(self.producer).load(Ordering::Relaxed);
        let entry = at.wrapping_add(behind) & (self.count - 1);
        let place = self.entries + entry as usize * DESCRIPTOR;
        let place = self.mapping.place(place, DESCRIPTOR);
        // SAFETY: an aligned entry that the kernel has consumed: there are as many frames as entries, and this frame is in none.
        unsafe { place.cast::<[u8; DESCRIPTOR]>().write(descriptor) };
    }

    /// Gives prepared packets to the kernel.
    pub(super) fn hand_over(&mut self, count: u32) {
        let producer = self.word(self.producer);
        let at = producer.load(Ordering::Relaxed);
        producer.store(at.wrapping_add(count), Ordering::Release);
        // the kernel says that it sleeps, and looks once more: one of both must see the other's
        fence(Ordering::SeqCst);
    }

    /// How many entries the kernel was given and has not read yet.
    pub(super) fn unread(&self) -> u32 {
        let produced = self.word(self.producer).load(Ordering::Relaxed);
        let consumed = self.word(self.consumer).load(Ordering::Acquire);
        produced.wrapping_sub(consumed).min(self.count)
    }

    /// Whether the kernel waits for a call that reports frames that are free, or to be sent.
    pub(super) fn is_asleep(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & ASLEEP != 0
    }
}

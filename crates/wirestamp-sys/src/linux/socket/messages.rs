//! Message headers for the kernel and the four calls that take them. Each group of
//! headers points into buffers that live as long as it does, so that the calls are safe.

use crate::cmsg::ControlBuffer;
use crate::native::wire::address::{AddressBytes, LENGTH};
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use wirestamp_core::backend::{Incoming, Transport};

/// What stands before a payload, in a buffer of its own.
pub trait Header: Copy + AsRef<[u8]> + AsMut<[u8]> {
    /// Nothing written yet.
    const BLANK: Self;
}

impl<const LENGTH: usize> Header for [u8; LENGTH] {
    const BLANK: Self = [0; LENGTH];
}

/// Of one message: what stands before its payload, and the payload.
type Vectors = [MaybeUninit<libc::iovec>; 2];

/// Which of its [`Vectors`] a message has: no header, no vector for it.
fn first_vector<H: Header>() -> usize {
    usize::from(size_of::<H>() == 0)
}

/// Most messages in one call.
pub(crate) const CHUNK: usize = 64;
/// Room for control data of one received message. The most that was measured is 200 bytes.
const CONTROL: usize = 256;
/// Room for the two control messages of a timestamped send, and for the address that it comes from.
pub(crate) const SEND_CONTROL: usize = 88;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

fn empty_header() -> libc::mmsghdr {
    // SAFETY: integers and null pointers are all valid when zero.
    unsafe { std::mem::zeroed() }
}

/// Up to `N` messages to be received, and what came. Nothing is set before it is needed.
pub(crate) struct ReceiveMessages<const N: usize, H = [u8; 0]> {
    headers: [MaybeUninit<libc::mmsghdr>; N],
    before: [H; N],
    vectors: [Vectors; N],
    names: [MaybeUninit<[u8; LENGTH]>; N],
    controls: [MaybeUninit<Control>; N],
    filled: usize,
}

impl<const N: usize, H: Header> ReceiveMessages<N, H> {
    pub(crate) fn new() -> Self {
        Self {
            headers: [const { MaybeUninit::uninit() }; N],
            before: [H::BLANK; N],
            vectors: [const { [MaybeUninit::uninit(); 2] }; N],
            names: [const { MaybeUninit::uninit() }; N],
            controls: [const { MaybeUninit::uninit() }; N],
            filled: 0,
        }
    }

    /// recvmsg(2) or recvmmsg(2), never waiting, into the callers' buffers.
    pub(crate) fn receive<T: Transport>(
        &mut self,
        fd: BorrowedFd<'_>,
        incoming: &mut [Incoming<'_, T>],
    ) -> io::Result<usize> {
        let count = incoming.len().min(N);
        let rooms = self.vectors.iter_mut().zip(&mut self.before);
        for ((vectors, before), slot) in rooms.zip(&mut *incoming) {
            let both = vectors.iter_mut().zip([before.as_mut(), slot.buffer_mut()]);
            for (vector, room) in both.skip(first_vector::<H>()) {
                vector.write(libc::iovec {
                    iov_base: room.as_mut_ptr().cast(),
                    iov_len: room.len(),
                });
            }
        }
        self.call(fd, count, 2 - first_vector::<H>(), 0)
    }

    /// The same for the error queue, without the packets.
    pub(crate) fn receive_errors(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.call(fd, N, 0, libc::MSG_ERRQUEUE)
    }

    fn call(
        &mut self,
        fd: BorrowedFd<'_>,
        count: usize,
        vectors: usize,
        flags: i32,
    ) -> io::Result<usize> {
        self.filled = 0;
        for index in 0..count {
            let message = self.headers[index].write(empty_header());
            let header = &mut message.msg_hdr;
            header.msg_name = self.names[index].as_mut_ptr().cast();
            header.msg_namelen = LENGTH as libc::socklen_t;
            header.msg_iov = self.vectors[index][first_vector::<H>()].as_mut_ptr();
            header.msg_iovlen = vectors as _;
            header.msg_control = self.controls[index].as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        self.filled = match count {
            0 => 0,
            1 => self.call_one(fd, flags | libc::MSG_DONTWAIT)?,
            _ => self.call_many(fd, count, flags | libc::MSG_DONTWAIT)?,
        };
        Ok(self.filled)
    }

    fn call_one(&mut self, fd: BorrowedFd<'_>, flags: i32) -> io::Result<usize> {
        let message = self.headers[0].as_mut_ptr();
        // SAFETY: within `headers`.
        let header = unsafe { &raw mut (*message).msg_hdr };
        // SAFETY: `call` has just pointed the header at buffers of `self` and of the borrowed
        // `incoming`, with their true lengths; all outlive this call.
        let length = unsafe { libc::recvmsg(fd.as_raw_fd(), header, flags) };
        let length = u32::try_from(length).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: within `headers`, and `call` has just written it.
        unsafe { (*message).msg_len = length };
        Ok(1)
    }

    fn call_many(&mut self, fd: BorrowedFd<'_>, count: usize, flags: i32) -> io::Result<usize> {
        let headers = self.headers.as_mut_ptr().cast();
        // SAFETY: `call` has just pointed `count` headers at buffers of `self` and of the
        // borrowed `incoming`, with their true lengths; all outlive this call.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                headers,
                count as _,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    fn header(&self, index: usize) -> &libc::mmsghdr {
        assert!(index < self.filled, "only received messages can be read");
        // SAFETY: `call` writes the header of every message that is received (checked above).
        unsafe { self.headers[index].assume_init_ref() }
    }

    /// Returns the header in front of the payload. Bytes that were not received are zero.
    pub(crate) fn before(&self, index: usize) -> &[u8] {
        self.before[index].as_ref()
    }

    /// Bytes received, with what stood before the payload.
    pub(crate) fn length(&self, index: usize) -> usize {
        self.header(index).msg_len as usize
    }

    /// `MSG_TRUNC`, `MSG_CTRUNC`.
    pub(crate) fn flags(&self, index: usize) -> i32 {
        self.header(index).msg_hdr.msg_flags
    }

    /// The peer's address as bytes.
    pub(crate) fn name(&self, index: usize) -> &[u8] {
        let length = self.header(index).msg_hdr.msg_namelen as usize;
        let start = self.names[index].as_ptr().cast::<u8>();
        // SAFETY: the kernel filled `msg_namelen` bytes of this buffer for a message that was
        // received (checked above), and the buffer lives in `self`.
        unsafe { std::slice::from_raw_parts(start, length.min(LENGTH)) }
    }

    /// The control messages.
    pub(crate) fn control(&self, index: usize) -> &[u8] {
        let length: usize = self.header(index).msg_hdr.msg_controllen as _;
        let start = self.controls[index].as_ptr().cast::<u8>();
        // SAFETY: the kernel filled `msg_controllen` bytes of this buffer for a message that
        // was received (checked above), and the buffer lives in `self`.
        unsafe { std::slice::from_raw_parts(start, length.min(CONTROL)) }
    }
}

/// Up to `N` messages to be sent. Nothing is set before it is needed.
pub(crate) struct SendMessages<'a, const N: usize, H = [u8; 0]> {
    headers: [MaybeUninit<libc::mmsghdr>; N],
    before: [MaybeUninit<H>; N],
    vectors: [Vectors; N],
    names: [MaybeUninit<AddressBytes>; N],
    controls: [MaybeUninit<ControlBuffer<SEND_CONTROL>>; N],
    used: usize,
    payloads: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize, H: Header> SendMessages<'a, N, H> {
    pub(crate) fn new() -> Self {
        Self {
            headers: [const { MaybeUninit::uninit() }; N],
            before: [const { MaybeUninit::uninit() }; N],
            vectors: [const { [MaybeUninit::uninit(); 2] }; N],
            names: [const { MaybeUninit::uninit() }; N],
            controls: [const { MaybeUninit::uninit() }; N],
            used: 0,
            payloads: PhantomData,
        }
    }

    /// Adds a message; returns where its control messages go. Panics beyond `N`.
    #[inline]
    pub(crate) fn push(
        &mut self,
        payload: &'a [u8],
        (to, before): (AddressBytes, H),
    ) -> &mut ControlBuffer<SEND_CONTROL> {
        let index = self.used;
        let start = payload.as_ptr().cast_mut().cast();
        self.before[index].write(before);
        self.vectors[index][1].write(libc::iovec {
            iov_base: start,
            iov_len: payload.len(),
        });
        self.names[index].write(to);
        self.used += 1;
        self.controls[index].write(ControlBuffer::new())
    }

    /// sendmsg(2) or sendmmsg(2), never waiting; returns how many went.
    pub(crate) fn send(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        for index in 0..self.used {
            // SAFETY: `push` writes the name of every message that is in use.
            let name = unsafe { self.names[index].assume_init_ref() }.bytes();
            // SAFETY: `push` writes the control buffer of every message that is in use.
            let control = unsafe { self.controls[index].assume_init_ref() }.written();
            if first_vector::<H>() == 0 {
                // SAFETY: `push` writes what stands before the payload of every message that is in use.
                let before = unsafe { self.before[index].assume_init_ref() }.as_ref();
                self.vectors[index][0].write(libc::iovec {
                    iov_base: before.as_ptr().cast_mut().cast(),
                    iov_len: before.len(),
                });
            }
            let header = &mut self.headers[index].write(empty_header()).msg_hdr;
            if !name.is_empty() {
                header.msg_name = name.as_ptr().cast_mut().cast();
                header.msg_namelen = name.len() as libc::socklen_t;
            }
            header.msg_iov = self.vectors[index][first_vector::<H>()].as_mut_ptr();
            header.msg_iovlen = (2 - first_vector::<H>()) as _;
            if !control.is_empty() {
                header.msg_control = control.as_ptr().cast_mut().cast();
                header.msg_controllen = control.len() as _;
            }
        }
        match self.used {
            0 => Ok(0),
            1 => self.send_one(fd),
            _ => self.send_many(fd),
        }
    }

    fn send_one(&self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let message = self.headers[0].as_ptr();
        // SAFETY: within `headers`.
        let header = unsafe { &raw const (*message).msg_hdr };
        // SAFETY: `send` has just pointed the header at buffers of `self` and at a payload
        // that outlives `self`; the kernel only reads them.
        let length = unsafe { libc::sendmsg(fd.as_raw_fd(), header, libc::MSG_DONTWAIT) };
        if length < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(1)
        }
    }

    fn send_many(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let headers = self.headers.as_mut_ptr().cast();
        // SAFETY: `send` has just pointed `used` headers at buffers of `self` and at payloads
        // that outlive `self`; the kernel only reads those and writes the headers' lengths.
        let sent = unsafe {
            libc::sendmmsg(
                fd.as_raw_fd(),
                headers,
                self.used as _,
                libc::MSG_DONTWAIT as _,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// send(2) or sendto(2), never waiting.
pub(crate) fn send_plain(fd: BorrowedFd<'_>, payload: &[u8], to: &AddressBytes) -> io::Result<()> {
    let name = to.bytes();
    let (start, length) = (payload.as_ptr().cast(), payload.len());
    let address = if name.is_empty() {
        std::ptr::null()
    } else {
        name.as_ptr().cast()
    };
    // SAFETY: payload and address outlive the call and have the given lengths; no address is null.
    let sent = unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            start,
            length,
            libc::MSG_DONTWAIT,
            address,
            name.len() as libc::socklen_t,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

//! The exported functions that wait for several sockets: `select` and `WSAPoll`.
//!
//! A datagram socket can be written to at any time, and nothing about it is exceptional.

use crate::abi::codes::{NO_ERROR, WSAEFAULT, WSAEINVAL, WSAENOTSOCK};
use crate::abi::numbers::{POLLNVAL, POLLPRI, POLLRDBAND, POLLRDNORM, POLLWRBAND, POLLWRNORM};
use crate::abi::winsock::{SOCKET_ERROR, SocketHandle};
use crate::adapter::wire;
use crate::memory::{self, Plain};
use crate::system::{clock, last_error};
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use std::ffi::c_long;
use std::sync::Arc;
use wirestamp_core::time::{MonotonicTime, Span};

/// No more sockets are open in a process.
const MOST: u32 = 1 << 17;

/// `fd_set`, whose array has as many places as the program wants.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SocketSet {
    count: u32,
    sockets: [SocketHandle; 1],
}

/// `WSAPOLLFD`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Polled {
    /// Negative: the entry is left out.
    pub socket: SocketHandle,
    /// The events to wait for.
    pub events: i16,
    /// The events that came.
    pub returned: i16,
}
// SAFETY: integers; the padding is never read as a value.
unsafe impl Plain for Polled {}

/// `struct timeval`, the C library's.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TimeValue {
    seconds: c_long,
    microseconds: c_long,
}
// SAFETY: integers.
unsafe impl Plain for TimeValue {}

impl TimeValue {
    /// No time: a wait only looks.
    pub const ZERO: Self = Self {
        seconds: 0,
        microseconds: 0,
    };
}

/// Waits until one of `sockets` has something to receive; returns which have. None at all: waits for the time.
///
/// # Errors
/// `WSAENOTSOCK` if one is closed meanwhile.
pub(super) fn readable(sockets: &[Arc<Socket>], until: MonotonicTime) -> Result<Vec<bool>, i32> {
    loop {
        let seen = wire::activity(sockets.iter().filter_map(|socket| socket.wire()));
        let ready: Vec<bool> = sockets
            .iter()
            .map(|socket| socket.can_be_read())
            .collect::<Result<_, _>>()?;
        if ready.contains(&true) || clock::now() >= until {
            return Ok(ready);
        }
        let wires: Vec<_> = sockets.iter().filter_map(|socket| socket.wire()).collect();
        wire::wait_any(&wires, seen, until)?;
    }
}

impl Socket {
    /// Whether a receive would end at once.
    fn can_be_read(&self) -> Result<bool, i32> {
        if self.is_closed() {
            return Err(WSAENOTSOCK);
        }
        if !self.is_bound() {
            return Ok(false);
        }
        self.receive_would_end()
    }
}

/// # Safety
/// `set` is null or a set with as many sockets as it says.
unsafe fn read_set(set: *const SocketSet) -> Result<Vec<SocketHandle>, i32> {
    // SAFETY: the caller's promise; null gives none.
    let count = unsafe { memory::read(set.cast::<u32>()) }.unwrap_or(0);
    if count > MOST {
        return Err(WSAEINVAL);
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: not null; the place is in the structure.
    let first = unsafe { &raw const (*set).sockets };
    // SAFETY: the caller's promise.
    unsafe { memory::array(first.cast(), count as usize) }.ok_or(WSAEFAULT)
}

/// # Safety
/// `set` is null or a set with room for these sockets.
unsafe fn write_set(set: *mut SocketSet, sockets: &[SocketHandle]) {
    if set.is_null() {
        return;
    }
    // SAFETY: not null; the place is in the structure.
    let first = unsafe { &raw mut (*set).sockets }.cast::<SocketHandle>();
    for (place, socket) in sockets.iter().enumerate() {
        // SAFETY: the caller's promise: no more than were in it.
        let _in_the_set = unsafe { memory::write(first.wrapping_add(place), *socket) };
    }
    // SAFETY: the caller's promise.
    let _in_the_set = unsafe { memory::write(set.cast::<u32>(), sockets.len() as u32) };
}

fn after(time: Option<TimeValue>) -> Result<MonotonicTime, i32> {
    let Some(time) = time else {
        return Ok(MonotonicTime::MAX);
    };
    if time.seconds < 0 || time.microseconds < 0 {
        return Err(WSAEINVAL);
    }
    #[allow(clippy::useless_conversion, reason = "32 bits on Windows")]
    let (seconds, microseconds) = (i64::from(time.seconds), i64::from(time.microseconds));
    let span = Span::from_seconds(seconds.min(1 << 31))
        + Span::from_microseconds(microseconds.min(1 << 40));
    Ok(clock::now() + span)
}

/// # Safety
/// As [`select`].
unsafe fn select_sets(sets: [*mut SocketSet; 3], time: *const TimeValue) -> Result<usize, i32> {
    startup::check()?;
    // SAFETY: the caller's promise.
    let until = after(unsafe { memory::read(time) })?;
    let mut handles = Vec::with_capacity(sets.len());
    for set in sets {
        // SAFETY: the caller's promise.
        handles.push(unsafe { read_set(set) }?);
    }
    if handles.iter().all(Vec::is_empty) {
        return Err(WSAEINVAL);
    }
    for handle in handles.iter().flatten() {
        startup::find(*handle)?;
    }
    let [read, write, _] = &handles[..] else {
        return Err(WSAEINVAL);
    };
    let readers: Vec<_> = read
        .iter()
        .map(|handle| startup::find(*handle))
        .collect::<Result<_, _>>()?;
    let until = if write.is_empty() {
        until
    } else {
        MonotonicTime::MIN
    };
    let ready = readable(&readers, until)?;
    let read: Vec<_> = read
        .iter()
        .zip(ready)
        .filter_map(|(handle, is_ready)| is_ready.then_some(*handle))
        .collect();
    for (set, left) in sets.into_iter().zip([&read[..], write, &[]]) {
        // SAFETY: the caller's promise; no more than were in it.
        unsafe { write_set(set, left) };
    }
    Ok(read.len() + write.len())
}

/// # Safety
/// As [`WSAPoll`].
unsafe fn poll_array(at: *mut Polled, count: u32, timeout: i32) -> Result<usize, i32> {
    startup::check()?;
    if count == 0 || count > MOST {
        return Err(WSAEINVAL);
    }
    // SAFETY: the caller's promise.
    let mut polled = unsafe { memory::array(at.cast_const(), count as usize) }.ok_or(WSAEFAULT)?;
    let allowed = POLLRDNORM | POLLRDBAND | POLLWRNORM;
    if polled
        .iter()
        .any(|one| one.events & (POLLPRI | POLLWRBAND | !allowed) != 0)
    {
        return Err(WSAEINVAL);
    }
    let mut at_once = false;
    let (mut readers, mut places) = (Vec::new(), Vec::new());
    for (place, one) in polled.iter_mut().enumerate() {
        one.returned = 0;
        match startup::find(one.socket) {
            _ if (one.socket as isize) < 0 => continue,
            Err(_) => one.returned = POLLNVAL,
            Ok(socket) => {
                one.returned = one.events & POLLWRNORM;
                if one.events & POLLRDNORM != 0 {
                    readers.push(socket);
                    places.push(place);
                }
            }
        }
        at_once |= one.returned != 0;
    }
    let until = match u32::try_from(timeout) {
        _ if at_once => MonotonicTime::MIN,
        Ok(milliseconds) => clock::now() + Span::from_milliseconds(milliseconds.into()),
        Err(_) => MonotonicTime::MAX,
    };
    for (place, is_ready) in places.into_iter().zip(readable(&readers, until)?) {
        if is_ready {
            polled[place].returned |= POLLRDNORM;
        }
    }
    for (place, one) in polled.iter().enumerate() {
        // SAFETY: the caller's promise: the array has this place.
        let _in_the_array = unsafe { memory::write(at.wrapping_add(place), *one) };
    }
    Ok(polled.iter().filter(|one| one.returned != 0).count())
}

fn counted(result: Result<usize, i32>) -> i32 {
    match result {
        Ok(count) => {
            last_error::set(NO_ERROR);
            i32::try_from(count).unwrap_or(i32::MAX)
        }
        Err(code) => {
            last_error::set(code.unsigned_abs());
            SOCKET_ERROR
        }
    }
}

export_prefixed! {
    /// Waits until sockets can be read; those that can be written to can be at once. Leaves in each set those that are
    /// ready.
    ///
    /// # Safety
    /// Each set is null or has as many sockets as it says; `time` is null or readable.
    fn select(
        count: i32,
        read: *mut SocketSet,
        write: *mut SocketSet,
        except: *mut SocketSet,
        time: *const TimeValue,
    ) -> i32 {
        let _ignored_as_on_windows = count;
        // SAFETY: the caller's promise.
        counted(unsafe { select_sets([read, write, except], time) })
    }
}

export! {
    /// Waits until one of several sockets is as its entry asks.
    ///
    /// # Safety
    /// `sockets` is null or points to `count` writable entries.
    fn WSAPoll(sockets: *mut Polled, count: u32, timeout: i32) -> i32 {
        // SAFETY: the caller's promise.
        counted(unsafe { poll_array(sockets, count, timeout) })
    }
}

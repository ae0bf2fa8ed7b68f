//! `select` and `WSAPoll`: by the shadows where all sockets have one, by the system where none has. Where some have, both
//! are asked in turn, every millisecond.

use crate::sockets::failed;
use crate::{real, shadow};
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};
use wirestamp_win32::abi::codes::{WSAEINVAL, WSAENOTSOCK};
use wirestamp_win32::abi::numbers::POLLNVAL;
use wirestamp_win32::abi::winsock::SocketHandle;
use wirestamp_win32::winsock::exports;
use wirestamp_win32::winsock::waiting::{self, Polled, SocketSet, TimeValue};

/// As many sockets as a set has in the programs that run here.
const MOST: usize = 64;
const TURN: Duration = Duration::from_millis(1);

/// A set of the program's, or one of the shadows of its sockets.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Set {
    count: u32,
    sockets: [SocketHandle; MOST],
}

impl Set {
    /// # Safety
    /// `from` is null or a set.
    unsafe fn read(from: *const Set) -> Self {
        let mut set = Self {
            count: 0,
            sockets: [0; MOST],
        };
        if from.is_null() {
            return set;
        }
        // SAFETY: not null: a set, which begins with its count.
        let count = unsafe { &raw const (*from).count };
        // SAFETY: the caller's promise.
        let count = unsafe { count.read_unaligned() };
        set.count = count.min(MOST as u32);
        for place in 0..set.count as usize {
            // SAFETY: not null, and the place is in the array.
            let socket = unsafe { &raw const (*from).sockets[place] };
            // SAFETY: the caller's promise: so many sockets are in it.
            set.sockets[place] = unsafe { socket.read_unaligned() };
        }
        set
    }

    fn sockets(&self) -> &[SocketHandle] {
        &self.sockets[..self.count as usize]
    }

    /// Those of its sockets for which `wanted` holds, by another number.
    fn map(&self, number: impl Fn(SocketHandle) -> Option<SocketHandle>) -> Self {
        let mut mapped = Self {
            count: 0,
            sockets: [0; MOST],
        };
        for found in self.sockets().iter().filter_map(|socket| number(*socket)) {
            mapped.sockets[mapped.count as usize] = found;
            mapped.count += 1;
        }
        mapped
    }

    /// # Safety
    /// `to` is null or a set with room for these.
    unsafe fn write(&self, to: *mut Set) {
        if to.is_null() {
            return;
        }
        for (place, socket) in self.sockets().iter().enumerate() {
            // SAFETY: not null, and the place is in the array.
            let there = unsafe { &raw mut (*to).sockets[place] };
            // SAFETY: the caller's promise: there is room for these.
            unsafe { there.write_unaligned(*socket) };
        }
        // SAFETY: not null: a set, which begins with its count.
        let count = unsafe { &raw mut (*to).count };
        // SAFETY: the caller's promise.
        unsafe { count.write_unaligned(self.count) };
    }
}

/// One look at the shadows of `sets`; which are left, and how many these are.
fn look_at_shadows(sets: &[Set; 3]) -> (i32, [Set; 3]) {
    let mut left = sets.map(|set| set.map(shadow::of));
    if left.iter().all(|set| set.count == 0) {
        return (0, left);
    }
    let places = left
        .each_mut()
        .map(|set| ptr::from_mut(set).cast::<SocketSet>());
    let none = TimeValue::ZERO;
    // SAFETY: three sets of ours, and a time.
    let found = unsafe { waiting::select(0, places[0], places[1], places[2], &raw const none) };
    let back = |shadow| shadow::owner(shadow);
    (found, left.map(|set| set.map(back)))
}

/// One look at the system's own sockets of `sets`.
fn look_at_system(sets: &[Set; 3]) -> (i32, [Set; 3]) {
    let mut left = sets.map(|set| set.map(|socket| shadow::of(socket).is_none().then_some(socket)));
    if left.iter().all(|set| set.count == 0) {
        return (0, left);
    }
    let places = left
        .each_mut()
        .map(|set| ptr::from_mut(set).cast::<c_void>());
    let none = [0i32; 2]; // seconds and microseconds have 32 bits on Windows
    // SAFETY: three sets of ours, and a time.
    let found = unsafe { real::select(0, places[0], places[1], places[2], none.as_ptr().cast()) };
    (found, left)
}

/// When a wait ends; `None`: never.
///
/// # Errors
/// `WSAEINVAL` for a negative time.
///
/// # Safety
/// `time` is null or readable.
unsafe fn deadline(time: *const i32) -> Result<Option<Instant>, i32> {
    if time.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let seconds = unsafe { time.read_unaligned() };
    // SAFETY: the caller's promise: a time is two numbers.
    let second = unsafe { time.add(1) };
    // SAFETY: the caller's promise.
    let microseconds = unsafe { second.read_unaligned() };
    let [seconds, microseconds] =
        [seconds, microseconds].map(|number| u64::try_from(number).map_err(|_| WSAEINVAL));
    let span = Duration::from_secs(seconds?) + Duration::from_micros(microseconds?);
    Ok(Some(Instant::now() + span))
}

/// One look at a socket of the system's; a negative number is left out, and what is no socket is found as that.
fn look_at_one(one: &mut Polled) -> i32 {
    one.returned = 0;
    if one.socket.cast_signed() < 0 {
        return 0;
    }
    // SAFETY: one descriptor of ours.
    let answer = unsafe { real::WSAPoll(ptr::from_mut(one).cast(), 1, 0) };
    // SAFETY: takes nothing.
    if answer < 0 && unsafe { exports::WSAGetLastError() } == WSAENOTSOCK {
        one.returned = POLLNVAL;
        return 1;
    }
    answer
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

export_forward! {
    fn select(count: i32, read: *mut Set, write: *mut Set, except: *mut Set, time: *const i32) -> i32 {
        let given = [read, write, except];
        // SAFETY: the caller's promise.
        let sets = given.map(|set| unsafe { Set::read(set) });
        if !sets.iter().any(|set| set.sockets().iter().any(|socket| shadow::of(*socket).is_some())) {
            // SAFETY: the caller's promise.
            return unsafe { real::select(count, read.cast(), write.cast(), except.cast(), time.cast()) };
        }
        // SAFETY: the caller's promise.
        let until = match unsafe { deadline(time) } {
            Ok(until) => until,
            Err(code) => return failed(code),
        };
        loop {
            let (ours, shadows) = look_at_shadows(&sets);
            if ours < 0 {
                return ours; // the sets stay, and the last error too
            }
            let (own, systems) = look_at_system(&sets);
            if own < 0 {
                return own;
            }
            if ours + own > 0 || is_over(until) {
                for (place, to) in given.into_iter().enumerate() {
                    let mut left = shadows[place];
                    for socket in systems[place].sockets() {
                        left.sockets[left.count as usize] = *socket;
                        left.count += 1;
                    }
                    // SAFETY: the caller's promise; no more than were in it.
                    unsafe { left.write(to) };
                }
                return ours + own;
            }
            std::thread::sleep(TURN);
        }
    }

    fn WSAPoll(sockets: *mut Polled, count: u32, milliseconds: i32) -> i32 {
        let until = u32::try_from(milliseconds).ok();
        let until = until.map(|time| Instant::now() + Duration::from_millis(time.into()));
        let entries = (0..count as usize).map(|place| sockets.wrapping_add(place));
        // SAFETY: the caller's promise: so many descriptors.
        let read = |place: *mut Polled| unsafe { place.read_unaligned() };
        if sockets.is_null() || !entries.clone().any(|place| shadow::of(read(place).socket).is_some()) {
            // SAFETY: the caller's promise.
            return unsafe { real::WSAPoll(sockets.cast(), count, milliseconds) };
        }
        loop {
            let mut found = 0;
            for place in entries.clone() {
                let mut one = read(place);
                let answer = match shadow::of(one.socket) {
                    Some(shadow) => {
                        let mut other = Polled { socket: shadow, ..one };
                        // SAFETY: one descriptor of ours.
                        let answer = unsafe { waiting::WSAPoll(&raw mut other, 1, 0) };
                        one.returned = other.returned;
                        answer
                    }
                    None => look_at_one(&mut one),
                };
                if answer < 0 {
                    return answer;
                }
                found += answer;
                // SAFETY: the caller's promise.
                unsafe { place.write_unaligned(one) };
            }
            if found > 0 || is_over(until) {
                return found;
            }
            std::thread::sleep(TURN);
        }
    }
}

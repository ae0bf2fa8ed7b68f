//! Readings of a NIC's clock (PHC) against the system clock. Fits nothing.
//!
//! Source: `linux/ptp_clock.h`; the methods are tried best first: PRECISE, EXTENDED, basic.

use super::call::{self, ClockRequest};
use super::capability::{asking_socket, hardware_clock};
use super::clock;
use super::error::system_error;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use wirestamp_core::backend::HardwareClock;
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{HardwareTicks, MonotonicTime, Span, UtcModel, UtcTime};
use wirestamp_core::{Error, ErrorKind, Result};

/// `PTP_MAX_SAMPLES`.
const MOST_READINGS: usize = 25;
/// How far two ways to read the same clock differ.
const ROUNDING: Span = Span::from_nanoseconds(10);

/// An open hardware clock.
#[derive(Debug)]
pub struct Clock {
    device: File,
    /// For asking whether it is still behind its interface: kept, because a socket costs ten times what the question does.
    asking: OwnedFd,
    name: String,
    method: Method,
    /// Of the real-time clock, for readings that are on it.
    offset: UtcModel,
}

/// How to read, and on which system clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Precise,
    /// Linux 6.12 and later give the monotonic clock itself.
    ExtendedMonotonic,
    ExtendedUtc,
    Basic,
}

impl Method {
    /// The method to try if this one does not work.
    fn next(self) -> Option<Self> {
        match self {
            Self::Precise => Some(Self::ExtendedMonotonic),
            Self::ExtendedMonotonic => Some(Self::ExtendedUtc),
            Self::ExtendedUtc => Some(Self::Basic),
            Self::Basic => None,
        }
    }
}

impl Clock {
    /// Opens `/dev/ptp{number}`.
    pub(super) fn open(number: u32) -> Result<Self> {
        let name = format!("/dev/ptp{number}");
        let device = File::open(&name).map_err(|error| {
            let opened = system_error("open the hardware clock", &name, &error);
            match opened.kind() {
                ErrorKind::NotPermitted => {
                    opened.with_remedy("run as root, or give your group read access to the device")
                }
                ErrorKind::NoSuchDevice => opened.with_remedy("in a container, pass the device in"),
                _ => opened,
            }
        })?;
        let asking = asking_socket()
            .map_err(|error| system_error("open the hardware clock", &name, &error))?;
        Ok(Self {
            device,
            asking,
            name,
            method: Method::Precise,
            offset: clock::offset(),
        })
    }

    fn request<T: ClockRequest>(&self, argument: &mut T) -> io::Result<()> {
        call::clock_request(self.device.as_fd(), argument)
    }

    fn read(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        match self.method {
            Method::Precise => self.read_precise(readings),
            Method::ExtendedMonotonic => self.read_extended(count, libc::CLOCK_MONOTONIC, readings),
            Method::ExtendedUtc => self.read_extended(count, libc::CLOCK_REALTIME, readings),
            Method::Basic => self.read_basic(count, readings),
        }
    }

    /// The same where the answer is on the real-time clock; returns whether that was not stepped while
    /// the answer was made. Steps before are no matter.
    fn request_utc<T: ClockRequest>(&mut self, argument: &mut T) -> io::Result<bool> {
        clock::observe(&mut self.offset);
        self.request(argument)?;
        Ok(clock::observe(&mut self.offset).is_none())
    }

    /// One instant of both clocks, latched by hardware.
    fn read_precise(&mut self, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset_precise>();
        if self.request_utc(&mut argument)? {
            let system = argument.sys_realtime;
            self.add_utc(
                (system, argument.device, system),
                CrossMethod::Precise,
                readings,
            );
        }
        Ok(())
    }

    fn read_extended(
        &mut self,
        count: usize,
        clockid: i32,
        readings: &mut Vec<CrossTimestamp>,
    ) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset_extended>();
        argument.n_samples = count.clamp(1, MOST_READINGS) as u32;
        argument.clockid = clockid;
        if clockid == libc::CLOCK_MONOTONIC {
            let before = clock::now();
            self.request(&mut argument)?;
            return take_monotonic(&argument, before, clock::now(), readings);
        }
        if !self.request_utc(&mut argument)? {
            return Ok(());
        }
        for [before, hardware, after] in &argument.ts[..argument.n_samples as usize] {
            self.add_utc(
                (*before, *hardware, *after),
                CrossMethod::Extended,
                readings,
            );
        }
        Ok(())
    }

    fn read_basic(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset>();
        argument.n_samples = count.clamp(1, MOST_READINGS) as u32;
        if !self.request_utc(&mut argument)? {
            return Ok(());
        }
        let taken = 2 * argument.n_samples as usize + 1;
        for window in argument.ts[..taken].windows(3).step_by(2) {
            self.add_utc(
                (window[0], window[1], window[2]),
                CrossMethod::Basic,
                readings,
            );
        }
        Ok(())
    }

    /// A reading on the real-time clock, placed on the monotonic clock; an invalid one is dropped.
    fn add_utc(
        &self,
        (before, hardware, after): (
            libc::ptp_clock_time,
            libc::ptp_clock_time,
            libc::ptp_clock_time,
        ),
        method: CrossMethod,
        readings: &mut Vec<CrossTimestamp>,
    ) {
        let (Some(before), Some(hardware), Some(after)) =
            (utc(before), ticks(hardware), utc(after))
        else {
            return;
        };
        readings.extend(CrossTimestamp::in_utc(
            &self.offset,
            before,
            hardware,
            after,
            method,
        ));
    }
}

fn ticks(time: libc::ptp_clock_time) -> Option<HardwareTicks> {
    utc(time).map(|time| HardwareTicks::new(time.nanoseconds() as u64))
}

fn utc(time: libc::ptp_clock_time) -> Option<UtcTime> {
    UtcTime::from_seconds_and_nanoseconds(time.sec, time.nsec).ok()
}

fn monotonic(time: libc::ptp_clock_time) -> Option<MonotonicTime> {
    MonotonicTime::from_seconds_and_nanoseconds(time.sec, time.nsec).ok()
}

/// Takes what an EXTENDED request on `CLOCK_MONOTONIC` gave, made between these two readings of our own.
///
/// # Errors
/// `EINVAL` if it does not lie between them. In a time namespace (time_namespaces(7)) the kernel answers
/// with the host's monotonic clock, and this process reads the namespace's. The real-time clock is the
/// same in both, so the next method gives the right answer.
fn take_monotonic(
    argument: &libc::ptp_sys_offset_extended,
    before: MonotonicTime,
    after: MonotonicTime,
    readings: &mut Vec<CrossTimestamp>,
) -> io::Result<()> {
    let already = readings.len();
    for [first, hardware, last] in &argument.ts[..argument.n_samples as usize] {
        add(
            monotonic(*first),
            *hardware,
            monotonic(*last),
            CrossMethod::Extended,
            readings,
        );
    }
    let is_ours = |reading: &CrossTimestamp| {
        reading.monotonic_before() + ROUNDING >= before
            && reading.monotonic_after() - ROUNDING <= after
    };
    if readings[already..].iter().all(is_ours) {
        return Ok(());
    }
    readings.truncate(already);
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

/// Appends what is valid; an invalid reading is dropped.
fn add(
    before: Option<MonotonicTime>,
    hardware: libc::ptp_clock_time,
    after: Option<MonotonicTime>,
    method: CrossMethod,
    readings: &mut Vec<CrossTimestamp>,
) {
    let (Some(before), Some(hardware), Some(after)) = (before, ticks(hardware), after) else {
        return;
    };
    readings.extend(CrossTimestamp::new(before, hardware, after, method));
}

impl HardwareClock for Clock {
    fn behind(&self, interface: &InterfaceDescription) -> Result<Option<u32>> {
        hardware_clock(&self.asking, interface)
    }

    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        let already = readings.len();
        while readings.len() < already + count {
            let before = readings.len();
            match self.read(already + count - before, readings) {
                Ok(()) if readings.len() > before => {}
                Ok(()) if before > already => break,
                Ok(()) => {
                    let cause = "every reading was invalid (zero, backwards, or over a step of the real-time clock)";
                    return Err(Error::new(
                        ErrorKind::Io,
                        "take cross timestamps",
                        &self.name,
                        cause,
                    ));
                }
                // Not implemented, or a clock id that this kernel does not take.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTTY)
                    ) =>
                {
                    let Some(next) = self.method.next() else {
                        return Err(system_error("take cross timestamps", &self.name, &error));
                    };
                    self.method = next;
                }
                Err(error) => {
                    return Err(system_error("take cross timestamps", &self.name, &error));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel answers to one who asks between 1,000 s and 1,001 s of the namespace's clock.
    #[test]
    fn a_reading_on_the_monotonic_clock_of_another_time_namespace_is_not_taken() {
        let second = |seconds: i64| MonotonicTime::from_nanoseconds(seconds * 1_000_000_000);
        let at = |seconds, nanoseconds| {
            let mut time = call::zeroed::<libc::ptp_sys_offset_extended>().ts[0][0];
            (time.sec, time.nsec) = (seconds, nanoseconds);
            time
        };
        let mut argument = call::zeroed::<libc::ptp_sys_offset_extended>();
        argument.n_samples = 2;
        for (host, is_taken) in [(1_000, true), (0, false), (5_000, false)] {
            for (place, reading) in argument.ts[..2].iter_mut().enumerate() {
                let nanoseconds = 1_000 * place as u32;
                *reading = [
                    at(host, nanoseconds + 1),
                    at(77, nanoseconds + 1),
                    at(host, nanoseconds + 500),
                ];
            }
            let mut readings = Vec::new();
            let taken = take_monotonic(&argument, second(1_000), second(1_001), &mut readings);
            assert_eq!(
                taken.map_err(|error| error.raw_os_error()),
                if is_taken {
                    Ok(())
                } else {
                    Err(Some(libc::EINVAL))
                }
            );
            assert_eq!(readings.len(), if is_taken { 2 } else { 0 }, "{host}");
        }
    }

    /// The same UTC times are shown again, and a reading is of now all the same.
    #[test]
    fn after_a_step_back_a_reading_in_utc_is_placed() {
        let (device, offset) = (
            File::open("/dev/null").expect("it is there"),
            clock::an_hour_back(),
        );
        let clock = Clock {
            device,
            asking: asking_socket().expect("made"),
            name: String::from("none"),
            method: Method::Basic,
            offset,
        };
        let (reading, mut readings) = (clock::utc(), Vec::new());
        let nanoseconds = reading.utc.nanoseconds();
        let mut time = call::zeroed::<libc::ptp_sys_offset>().ts[0];
        (time.sec, time.nsec) = (
            nanoseconds / 1_000_000_000,
            (nanoseconds % 1_000_000_000) as u32,
        );
        clock.add_utc((time, time, time), CrossMethod::Basic, &mut readings);
        let [placed] = readings[..] else {
            panic!("{readings:?}")
        };
        let slack = Span::from_nanoseconds(2);
        assert!(
            placed.monotonic_after() + slack >= reading.before,
            "{placed:?} and not {reading:?}"
        );
        assert!(
            placed.monotonic_before() - slack <= reading.after,
            "{placed:?} and not {reading:?}"
        );
        assert!(
            placed.monotonic_after() - placed.monotonic_before() <= slack,
            "{placed:?}"
        );
    }

    /// On a machine with such a clock each way to read it gives the same; elsewhere it says so.
    #[test]
    fn every_method_reads_the_clock_between_two_instants() {
        let mut clock = match Clock::open(0) {
            Ok(clock) => clock,
            Err(error) => {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::NoSuchDevice | ErrorKind::NotPermitted
                    ),
                    "{error}"
                );
                return;
            }
        };
        let mut last = None;
        for method in [
            Method::Basic,
            Method::ExtendedUtc,
            Method::ExtendedMonotonic,
            Method::Precise,
        ] {
            clock.method = method;
            let (mut readings, before) = (Vec::new(), clock::now());
            clock
                .cross_timestamps(5, &mut readings)
                .unwrap_or_else(|error| panic!("{method:?}: {error}"));
            let (after, slack) = (clock::now(), Span::from_nanoseconds(2));
            for reading in &readings {
                let inside = reading.monotonic_before() + slack >= before
                    && reading.monotonic_after() - slack <= after;
                assert!(
                    inside,
                    "{method:?}: {reading:?} from {before:?} to {after:?}"
                );
                assert!(
                    last.is_none_or(|last| reading.hardware().since(last) > 0),
                    "{method:?}: {readings:?}"
                );
                last = Some(reading.hardware());
            }
        }
    }
}

//! Owns readings of an adapter's clock (PHC) against the system clock. Fits nothing.
//!
//! Source: `linux/ptp_clock.h`; the methods are tried best first: PRECISE, EXTENDED, basic.

use super::call::{self, ClockRequest};
use super::clock;
use super::error::system_error;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use wirestamp_core::backend::HardwareClock;
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::time::{HardwareTicks, Span, SystemTime, WallOffset, WallResolution, WallTime};
use wirestamp_core::{Error, ErrorKind, Result};

/// `PTP_MAX_SAMPLES`.
const MOST_READINGS: usize = 25;

/// An open hardware clock.
#[derive(Debug)]
pub struct Clock {
    device: File,
    name: String,
    method: Method,
    offset: WallOffset,
}

/// How to read, and on which system clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Precise,
    /// Linux 6.12 and later give the steady clock itself.
    ExtendedSteady,
    ExtendedCivil,
    Basic,
}

impl Method {
    /// The method to try if this one does not work.
    fn next(self) -> Option<Self> {
        match self {
            Self::Precise => Some(Self::ExtendedSteady),
            Self::ExtendedSteady => Some(Self::ExtendedCivil),
            Self::ExtendedCivil => Some(Self::Basic),
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
        Ok(Self { device, name, method: Method::Precise, offset: WallOffset::new(clock::close_wall()) })
    }

    fn request<T: ClockRequest>(&self, argument: &mut T) -> io::Result<()> {
        call::clock_request(self.device.as_fd(), argument)
    }

    fn read(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        match self.method {
            Method::Precise => self.read_precise(readings),
            Method::ExtendedSteady => self.read_extended(count, libc::CLOCK_MONOTONIC, readings),
            Method::ExtendedCivil => self.read_extended(count, libc::CLOCK_REALTIME, readings),
            Method::Basic => self.read_basic(count, readings),
        }
    }

    /// One instant of both clocks, latched by hardware.
    fn read_precise(&mut self, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset_precise>();
        self.request(&mut argument)?;
        self.offset.observe(clock::wall());
        let system = argument.sys_realtime;
        self.add_civil((system, argument.device, system), CrossMethod::Precise, readings);
        Ok(())
    }

    fn read_extended(&mut self, count: usize, clockid: i32, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset_extended>();
        argument.n_samples = count.clamp(1, MOST_READINGS) as u32;
        argument.clockid = clockid;
        self.request(&mut argument)?;
        self.offset.observe(clock::wall());
        for [before, hardware, after] in &argument.ts[..argument.n_samples as usize] {
            let triple = (*before, *hardware, *after);
            if clockid == libc::CLOCK_MONOTONIC {
                add(steady(triple.0), triple.1, steady(triple.2), CrossMethod::Extended, readings);
            } else {
                self.add_civil(triple, CrossMethod::Extended, readings);
            }
        }
        Ok(())
    }

    fn read_basic(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> io::Result<()> {
        let mut argument = call::zeroed::<libc::ptp_sys_offset>();
        argument.n_samples = count.clamp(1, MOST_READINGS) as u32;
        self.request(&mut argument)?;
        self.offset.observe(clock::wall());
        let taken = 2 * argument.n_samples as usize + 1;
        for window in argument.ts[..taken].windows(3).step_by(2) {
            self.add_civil((window[0], window[1], window[2]), CrossMethod::Basic, readings);
        }
        Ok(())
    }

    /// A reading on the civil clock, placed on the steady one; the cost of placing widens it.
    fn add_civil(
        &self,
        (before, hardware, after): (libc::ptp_clock_time, libc::ptp_clock_time, libc::ptp_clock_time),
        method: CrossMethod,
        readings: &mut Vec<CrossTimestamp>,
    ) {
        let now = clock::now();
        let place = |time, side: i128| match self.offset.resolve(civil(time)?, now) {
            WallResolution::At { at, bound, stepped: false } => {
                Some(at + Span::from_nanoseconds(bound.nanoseconds() * side))
            }
            _ => None,
        };
        // A latched pair keeps its width of zero: its meaning is that there is no bracket.
        let widen = i128::from(method != CrossMethod::Precise);
        add(place(before, -widen), hardware, place(after, widen), method, readings);
    }
}

fn civil(time: libc::ptp_clock_time) -> Option<WallTime> {
    WallTime::from_seconds_and_nanoseconds(time.sec, time.nsec).ok()
}

fn steady(time: libc::ptp_clock_time) -> Option<SystemTime> {
    SystemTime::from_seconds_and_nanoseconds(time.sec, time.nsec).ok()
}

/// Appends what is valid; an invalid reading is dropped.
fn add(
    before: Option<SystemTime>,
    hardware: libc::ptp_clock_time,
    after: Option<SystemTime>,
    method: CrossMethod,
    readings: &mut Vec<CrossTimestamp>,
) {
    let (Some(before), Some(after), Some(hardware)) = (before, after, civil(hardware)) else { return };
    let ticks = HardwareTicks::new(hardware.nanoseconds().cast_unsigned());
    readings.extend(CrossTimestamp::new(before, ticks, after, method));
}

impl HardwareClock for Clock {
    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        let already = readings.len();
        while readings.len() < already + count {
            let before = readings.len();
            match self.read(already + count - before, readings) {
                Ok(()) if readings.len() > before => {}
                Ok(()) if before > already => break,
                Ok(()) => {
                    let cause = "every reading was invalid (zero, backwards, or over a step of the civil clock)";
                    return Err(Error::new(ErrorKind::Io, "take cross timestamps", &self.name, cause));
                }
                // Not implemented, or a clock id that this kernel does not take.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTTY)) => {
                    let Some(next) = self.method.next() else {
                        return Err(system_error("take cross timestamps", &self.name, &error));
                    };
                    self.method = next;
                }
                Err(error) => return Err(system_error("take cross timestamps", &self.name, &error)),
            }
        }
        Ok(())
    }
}

//! The clocks that can be steered on Linux, and the detection of other programs that steer them.

use super::{ClockStatus, Leap, SteeredClock};
use crate::configuration::Clock;
use crate::owner;
use std::fs;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Interface, Result, Span};
use wirestamp_sys::steered::{self, SteeredClock as LinuxClock};

/// Programs that steer the system clock, by their names in the kernel (15 octets).
const SYSTEM_OWNERS: [&str; 8] = [
    "chronyd",
    "ntpd",
    "ntp-daemon",
    "systemd-timesyn",
    "openntpd",
    "phc2sys",
    "timemaster",
    "statime",
];

/// The kernel's unit of frequency adjustments is 2^-16 ppm,
const SYSTEM_RATE_STEP: f64 = 1e-4;
/// and the coarsest known NIC (82574) has a resolution of 0.095 ppm.
const ADAPTER_RATE_STEP: f64 = 0.048;

/// Opens the clock, unless another program that steers it is running.
pub(super) fn open(interface: &Interface, which: Clock) -> Result<Box<dyn SteeredClock>> {
    if which == Clock::Nic {
        open_hardware(interface)
    } else {
        open_system()
    }
}

fn open_system() -> Result<Box<dyn SteeredClock>> {
    refuse_owner("the system clock", owner::one_of(&SYSTEM_OWNERS))?;
    Ok(Box::new(LinuxClock::system()?))
}

fn open_hardware(interface: &Interface) -> Result<Box<dyn SteeredClock>> {
    const OPERATION: &str = "steer the clock";
    let number = interface.description().hardware_clock.ok_or_else(|| {
        Error::new(
            ErrorKind::NotSupported,
            OPERATION,
            interface.name(),
            "the NIC has no clock",
        )
        .with_remedy("steer the system clock, or only measure")
    })?;
    let name = format!("/dev/ptp{number}");
    if has_virtual_clocks(number) {
        return Err(
            Error::new(ErrorKind::Busy, OPERATION, name, "virtual clocks run on it")
                .with_remedy("write 0 to n_vclocks of /sys/class/ptp, or only measure"),
        );
    }
    refuse_owner(&name, owner::has_open_for_writing(Path::new(&name)))?;
    Ok(Box::new(LinuxClock::hardware(number)?))
}

fn refuse_owner(name: &str, owner: Option<String>) -> Result<()> {
    let Some(owner) = owner else { return Ok(()) };
    let cause = format!("{owner} runs, which may steer it too");
    Err(Error::new(ErrorKind::Busy, "steer the clock", name, cause)
        .with_remedy("end it first: a clock has one master; or only measure"))
}

impl SteeredClock for LinuxClock {
    fn now(&self) -> Result<i64> {
        Self::now(self)
    }

    fn step(&mut self, by: Span) -> Result<()> {
        Self::step(self, by)
    }

    fn set_rate(&mut self, ppm: f64) -> Result<()> {
        self.set_frequency(ppm)
    }

    fn rate(&self) -> Result<f64> {
        self.frequency()
    }

    fn rate_step(&self) -> f64 {
        if self.is_system() {
            SYSTEM_RATE_STEP
        } else {
            ADAPTER_RATE_STEP
        }
    }

    fn max_frequency_adjustment(&self) -> f64 {
        self.max_frequency()
    }

    fn slews_by_itself(&self) -> bool {
        self.is_system()
    }

    fn slew(&mut self, microseconds: i64) -> Result<()> {
        Self::slew(self, microseconds)
    }

    fn tell(&mut self, status: ClockStatus) -> Result<()> {
        if !self.is_system() {
            return Ok(());
        }
        let Some(error_bound) = status.error_bound else {
            return self.tell_unsynchronised();
        };
        let leap = match status.leap {
            Leap::None => steered::Leap::None,
            Leap::Insert => steered::Leap::Insert,
            Leap::Delete => steered::Leap::Delete,
        };
        self.tell_errors(status.offset, error_bound, leap)
    }
}

fn has_virtual_clocks(number: u32) -> bool {
    let count = fs::read_to_string(format!("/sys/class/ptp/ptp{number}/n_vclocks"));
    count.is_ok_and(|count| count.trim() != "0")
}

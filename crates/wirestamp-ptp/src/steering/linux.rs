//! Owns Linux's clocks that can be steered, through the `clock-steering` crate, and the look
//! for other programs that steer them.

use super::SteeredClock;
use crate::configuration::Clock;
use crate::owner;
use clock_steering::unix::UnixClock;
use clock_steering::{Clock as _, TimeOffset};
use std::fs;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Interface, Result, Span};

/// Programs that steer the system clock, as the kernel calls them (15 octets).
const SYSTEM_OWNERS: [&str; 8] =
    ["chronyd", "ntpd", "ntp-daemon", "systemd-timesyn", "openntpd", "phc2sys", "timemaster", "statime"];

/// The kernel takes rates in units of 2^-16 millionths,
const SYSTEM_RATE_STEP: f64 = 1e-4;
/// and hands them to adapters, of which the coarsest known (82574) takes every 0.095.
const ADAPTER_RATE_STEP: f64 = 0.048;

#[derive(Debug)]
struct LinuxClock {
    clock: UnixClock,
    is_system: bool,
    name: String,
}

/// Opens the clock, unless another program that steers it runs.
pub(super) fn open(interface: &Interface, which: Clock) -> Result<Box<dyn SteeredClock>> {
    const OPERATION: &str = "steer the clock";
    let (name, owner) = match which {
        Clock::Adapter => {
            let number = interface.description().hardware_clock.ok_or_else(|| {
                Error::new(ErrorKind::NotSupported, OPERATION, interface.name(), "the adapter has no clock")
                    .with_remedy("steer the system clock, or only measure")
            })?;
            let name = format!("/dev/ptp{number}");
            let owner = owner::has_open_for_writing(Path::new(&name));
            (name, owner)
        }
        _ => ("the system clock".to_owned(), owner::one_of(&SYSTEM_OWNERS)),
    };
    if which == Clock::Adapter && has_virtual_clocks(interface) {
        // the kernel says EBUSY to every change, which `clock-steering` does not expect
        return Err(Error::new(ErrorKind::Busy, OPERATION, name, "virtual clocks run on it")
            .with_remedy("write 0 to n_vclocks of /sys/class/ptp, or only measure"));
    }
    if let Some(owner) = owner {
        let cause = format!("{owner} runs, which may steer it too");
        return Err(Error::new(ErrorKind::Busy, OPERATION, name, cause)
            .with_remedy("end it first: a clock has one master; or only measure"));
    }
    let clock = match which {
        Clock::Adapter => UnixClock::open(&name).map_err(|error| {
            let kind = if error.kind() == std::io::ErrorKind::PermissionDenied {
                ErrorKind::NotPermitted
            } else {
                ErrorKind::Io
            };
            Error::new(kind, OPERATION, &name, error.to_string())
                .with_remedy("run as root, or give your group write access")
        })?,
        _ => UnixClock::CLOCK_REALTIME,
    };
    let opened = LinuxClock { clock, is_system: which == Clock::System, name };
    if which == Clock::System {
        opened.clock.disable_kernel_ntp_algorithm().map_err(|error| opened.refused(OPERATION, error))?;
    }
    Ok(Box::new(opened))
}

impl LinuxClock {
    fn refused(&self, operation: &'static str, error: clock_steering::unix::Error) -> Error {
        use clock_steering::unix::Error as Told;
        let (kind, remedy) = match error {
            Told::NoPermission | Told::NoAccess => (ErrorKind::NotPermitted, "run as root or grant CAP_SYS_TIME"),
            Told::NotSupported => (ErrorKind::NotSupported, "only measure"),
            Told::NoDevice => (ErrorKind::NoSuchDevice, "see whether the adapter is still there"),
            _ => (ErrorKind::Io, ""),
        };
        Error::new(kind, operation, &self.name, error.to_string()).with_remedy(remedy)
    }
}

impl SteeredClock for LinuxClock {
    fn now(&self) -> Result<i64> {
        let shown = self.clock.now().map_err(|error| self.refused("read the clock", error))?;
        #[allow(clippy::useless_conversion, reason = "it is as wide as the system's time_t")]
        let seconds = i64::from(shown.seconds);
        Ok(seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(shown.nanos)))
    }

    fn step(&mut self, by: Span) -> Result<()> {
        let (seconds, nanoseconds) =
            (by.nanoseconds().div_euclid(1_000_000_000), by.nanoseconds().rem_euclid(1_000_000_000));
        let offset = TimeOffset { seconds: i64::try_from(seconds).unwrap_or(0), nanos: nanoseconds as u32 };
        self.clock.step_clock(offset).map(drop).map_err(|error| self.refused("step the clock", error))
    }

    fn set_rate(&mut self, ppm: f64) -> Result<()> {
        self.clock.set_frequency(ppm).map(drop).map_err(|error| self.refused("set the clock's rate", error))
    }

    fn rate(&self) -> Result<f64> {
        self.clock.get_frequency().map_err(|error| self.refused("read the clock's rate", error))
    }

    fn rate_step(&self) -> f64 {
        if self.is_system { SYSTEM_RATE_STEP } else { ADAPTER_RATE_STEP }
    }
}

fn has_virtual_clocks(interface: &Interface) -> bool {
    let number = interface.description().hardware_clock.unwrap_or_default();
    let count = fs::read_to_string(format!("/sys/class/ptp/ptp{number}/n_vclocks"));
    count.is_ok_and(|count| count.trim() != "0")
}

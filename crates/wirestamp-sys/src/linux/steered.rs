//! Clocks that can be moved: the system's real-time clock and PTP hardware clocks, by clock_adjtime(2). Decides
//! not when to move them.
//!
//! Source: `linux/timex.h`, `linux/ptp_clock.h`, clock_adjtime(2). What the two kinds of clock have in common is the step and the
//! frequency; the status, and slews that end by themselves, are the real-time clock's alone.

use super::call;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// `timex.freq` counts 2^-16 ppm.
const UNITS: f64 = 65_536.0;
/// The kernel takes no larger frequency adjustment of the real-time clock, and cuts it off without saying so.
const SYSTEM_MOST: f64 = 500.0;
/// The status bits that say who disciplines the real-time clock inside of the kernel.
const KERNEL_DISCIPLINE: i32 =
    libc::STA_PLL | libc::STA_FLL | libc::STA_PPSTIME | libc::STA_PPSFREQ;
const LEAP: i32 = libc::STA_INS | libc::STA_DEL;

/// A leap second at the end of the UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leap {
    /// None.
    #[default]
    None,
    /// The last minute has 61 seconds.
    Insert,
    /// The last minute has 59 seconds.
    Delete,
}

/// Returns the largest error of the real-time clock against UTC, as the time daemon reported it to the kernel, which lets
/// it grow until the next report. `None` if the clock is not synchronised.
pub fn utc_error_bound() -> Option<Span> {
    let mut request = call::no_adjustment();
    call::adjust_clock(libc::CLOCK_REALTIME, &mut request).ok()?;
    let synchronized = request.status & libc::STA_UNSYNC == 0;
    synchronized.then(|| Span::from_microseconds(request.maxerror))
}

/// A clock that can be moved.
#[derive(Debug)]
pub struct SteeredClock {
    id: libc::clockid_t,
    /// Open as long as `id` is used.
    device: Option<File>,
    name: String,
    most: f64,
}

impl SteeredClock {
    /// The real-time clock, without the kernel's own discipline.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_SYS_TIME.
    pub fn system() -> Result<Self> {
        let clock = Self {
            id: libc::CLOCK_REALTIME,
            device: None,
            name: "the system clock".to_owned(),
            most: SYSTEM_MOST,
        };
        clock.set_status(KERNEL_DISCIPLINE, 0, "steer the clock")?;
        Ok(clock)
    }

    /// A PTP hardware clock, `/dev/ptp{number}`.
    ///
    /// # Errors
    /// `NotPermitted` without write access; `NoSuchDevice`; `NotSupported` if its frequency can't be adjusted.
    pub fn hardware(number: u32) -> Result<Self> {
        const OPERATION: &str = "steer the clock";
        let name = format!("/dev/ptp{number}");
        let device = File::options().read(true).write(true).open(&name);
        let device = device.map_err(|error| {
            let refused = refused(OPERATION, &name, &error);
            match refused.kind() {
                ErrorKind::NotPermitted => {
                    refused.with_remedy("run as root, or give your group write access")
                }
                _ => refused,
            }
        })?;
        let mut capabilities = call::zeroed::<libc::ptp_clock_caps>();
        call::clock_request(device.as_fd(), &mut capabilities)
            .map_err(|error| refused(OPERATION, &name, &error))?;
        if capabilities.max_adj <= 0 {
            let cause = "its driver can't adjust its frequency";
            return Err(Error::new(ErrorKind::NotSupported, OPERATION, name, cause)
                .with_remedy("only measure"));
        }
        // the kernel's number for the clock behind a descriptor
        let id = (!device.as_raw_fd() << 3) | 3;
        Ok(Self {
            id,
            device: Some(device),
            name,
            most: f64::from(capabilities.max_adj) / 1e3,
        })
    }

    /// Whether it is the system's.
    pub fn is_system(&self) -> bool {
        self.device.is_none()
    }

    /// What it shows, in nanoseconds.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone.
    pub fn now(&self) -> Result<i64> {
        let (seconds, nanoseconds) =
            call::try_clock(self.id).map_err(|error| self.failed("read the clock", &error))?;
        Ok(seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds))
    }

    /// Sets it forward by `by`, or back.
    ///
    /// # Errors
    /// `NotPermitted`; `NoSuchDevice`; `InvalidInput` for a time that the clock can't show.
    pub fn step(&self, by: Span) -> Result<()> {
        let mut request = call::no_adjustment();
        request.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
        let by = by.saturating_nanoseconds();
        request.time.tv_sec = by.div_euclid(1_000_000_000);
        // nanoseconds, as the mode says
        request.time.tv_usec = by.rem_euclid(1_000_000_000);
        self.adjust(&mut request, "step the clock")
    }

    /// The frequency adjustment in force, in ppm. A hardware clock says what it was asked for last.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone.
    pub fn frequency(&self) -> Result<f64> {
        let mut request = call::no_adjustment();
        self.adjust(&mut request, "read the clock's frequency")?;
        Ok(request.freq as f64 / UNITS)
    }

    /// Makes it run faster by `ppm`, or slower. It stays so.
    ///
    /// # Errors
    /// `InvalidInput` beyond [`max_frequency`](Self::max_frequency); `NotPermitted`; `NoSuchDevice`.
    pub fn set_frequency(&self, ppm: f64) -> Result<()> {
        const OPERATION: &str = "set the clock's frequency";
        if ppm.is_nan() || ppm.abs() > self.most {
            let cause = format!("{ppm:.3} ppm is beyond the {} ppm that it takes", self.most);
            return Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                &self.name,
                cause,
            ));
        }
        let mut request = call::no_adjustment();
        request.modes = libc::ADJ_FREQUENCY;
        request.freq = (ppm * UNITS).round() as libc::c_long;
        self.adjust(&mut request, OPERATION)
    }

    /// The largest frequency adjustment that it takes, in ppm: what its driver says, and 500 for the system's.
    pub fn max_frequency(&self) -> f64 {
        self.most
    }

    /// Slews the system clock by `microseconds`, beginning with its next whole second, 500 in each second at most; the rest of
    /// an earlier slew is dropped. It ends by itself.
    ///
    /// # Errors
    /// `NotPermitted`; `NotSupported` for a hardware clock.
    pub fn slew(&self, microseconds: i64) -> Result<()> {
        let mut request = call::no_adjustment();
        request.modes = libc::ADJ_OFFSET_SINGLESHOT;
        request.offset = microseconds;
        self.adjust(&mut request, "slew the clock")
    }

    /// Says that the system clock is synchronised: it may be off by `most`, and probably is by `estimated`.
    ///
    /// # Errors
    /// `NotPermitted`.
    pub fn tell_errors(&self, estimated: Span, most: Span, leap: Leap) -> Result<()> {
        const OPERATION: &str = "tell that the clock is synchronised";
        let mut request = call::no_adjustment();
        let microseconds =
            |span: Span| span.abs().saturating_nanoseconds().saturating_add(999) / 1_000;
        request.modes = libc::ADJ_MAXERROR | libc::ADJ_ESTERROR;
        (request.maxerror, request.esterror) = (microseconds(most), microseconds(estimated));
        self.adjust(&mut request, OPERATION)?;
        let leap = match leap {
            Leap::None => 0,
            Leap::Insert => libc::STA_INS,
            Leap::Delete => libc::STA_DEL,
        };
        self.set_status(KERNEL_DISCIPLINE | LEAP | libc::STA_UNSYNC, leap, OPERATION)
    }

    /// Says that the system clock is not synchronised, and takes back a leap second.
    ///
    /// # Errors
    /// `NotPermitted`.
    pub fn tell_unsynchronised(&self) -> Result<()> {
        self.set_status(
            LEAP,
            libc::STA_UNSYNC,
            "tell that the clock is not synchronised",
        )
    }

    /// Clears status bits and sets others, if that changes anything.
    fn set_status(&self, clear: i32, set: i32, operation: &'static str) -> Result<()> {
        let mut request = call::no_adjustment();
        self.adjust(&mut request, operation)?;
        let status = (request.status & !clear | set) & !libc::STA_RONLY;
        let mut request = call::no_adjustment();
        (request.modes, request.status) = (libc::ADJ_STATUS, status);
        self.adjust(&mut request, operation)
    }

    fn adjust(&self, request: &mut libc::timex, operation: &'static str) -> Result<()> {
        call::adjust_clock(self.id, request).map_err(|error| self.failed(operation, &error))
    }

    fn failed(&self, operation: &'static str, error: &io::Error) -> Error {
        refused(operation, &self.name, error)
    }
}

fn refused(operation: &'static str, name: &str, error: &io::Error) -> Error {
    let (kind, remedy) = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            (ErrorKind::NotPermitted, "run as root or grant CAP_SYS_TIME")
        }
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => (ErrorKind::NotSupported, "only measure"),
        Some(libc::ENODEV | libc::ENOENT | libc::ENXIO) => (
            ErrorKind::NoSuchDevice,
            "see whether the NIC is still there",
        ),
        Some(libc::EBUSY) => (
            ErrorKind::Busy,
            "end what else uses it, such as virtual clocks on it; or only measure",
        ),
        Some(libc::ERANGE | libc::EINVAL) => (
            ErrorKind::InvalidInput,
            "the clock does not take this value",
        ),
        _ => (ErrorKind::Io, ""),
    };
    let text = error.to_string();
    let text = text
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase();
    Error::new(kind, operation, name, text)
        .with_system(error)
        .with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is changed here: the clock is everybody's.
    fn looked_at() -> SteeredClock {
        SteeredClock {
            id: libc::CLOCK_REALTIME,
            device: None,
            name: "the system clock".into(),
            most: SYSTEM_MOST,
        }
    }

    #[test]
    fn the_real_time_clock_says_what_it_shows_and_how_it_is_adjusted() {
        let clock = looked_at();
        let std = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970");
        let shown = i128::from(clock.now().expect("readable"));
        assert!(
            (shown - std.as_nanos() as i128).abs() < 10_000_000_000,
            "{shown}"
        );
        assert!(clock.frequency().expect("readable").abs() <= SYSTEM_MOST);
    }

    #[test]
    fn what_the_kernel_would_cut_off_is_refused_with_the_limit() {
        for ppm in [500.1, -500.1, f64::NAN] {
            let error = looked_at().set_frequency(ppm).expect_err("too much");
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("500 ppm"), "{error}");
        }
    }

    #[test]
    fn a_clock_that_is_not_there_is_named() {
        let error = SteeredClock::hardware(9_999).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice);
        assert!(error.to_string().contains("/dev/ptp9999"), "{error}");
    }
}

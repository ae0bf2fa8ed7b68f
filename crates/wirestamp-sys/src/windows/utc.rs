//! The real-time clock as a clock that can be steered: its frequency, steps, and other programs that
//! may steer it; and the user of this process.
//!
//! Source: `sysinfoapi.h`. `SetSystemTimeAdjustmentPrecise` takes the time to add to the clock in a
//! second, in ticks; `GetSystemTimeAdjustmentPrecise` returns the ticks of a nominal second. Both
//! came with Windows 10 and are looked up at run time, because Wine lacks them.

use super::call::{self, GetAdjustment, SetAdjustment};
use super::error::system_error;
use super::{api, clock};
use crate::abi::codes::ERROR_PROC_NOT_FOUND;
use crate::windows_wire::utc::{adjustment_of, ppm_of, sid_text};
use std::{hint, io};
use wirestamp_core::time::{Span, UtcTime};
use wirestamp_core::{Error, ErrorKind, Result};

const TARGET: &str = "the system clock";
/// In the 100 ns of a FILETIME.
const MILLISECOND: i64 = 10_000;
/// Services that steer the real-time clock: Windows' own, and ntpd as it is commonly installed.
const OWNERS: [&str; 2] = ["W32Time", "NTP"];

/// The real-time clock, to be moved.
#[derive(Debug)]
pub struct RealTimeClock {
    get: GetAdjustment,
    set: SetAdjustment,
    nominal: u64,
}

impl RealTimeClock {
    /// Gets the privilege to move it.
    ///
    /// # Errors
    /// `NotSupported` before Windows 10; `Busy` if a service that steers it runs; `NotPermitted`
    /// without the privilege (`SeSystemtimePrivilege`, which administrators have).
    pub fn open() -> Result<Self> {
        const OPERATION: &str = "steer the clock";
        let missing = || {
            let cause = "this Windows has no SetSystemTimeAdjustmentPrecise";
            Error::new(ErrorKind::NotSupported, OPERATION, TARGET, cause)
                .with_code(ERROR_PROC_NOT_FOUND as i32)
                .with_remedy("it came with Windows 10 and Server 2016; only measure")
        };
        let (get, set) = api::adjustment_functions().ok_or_else(missing)?;
        let encoded = |name: &str| name.encode_utf16().chain([0]).collect::<Vec<_>>();
        if let Some(owner) = OWNERS
            .into_iter()
            .find(|name| call::is_service_running(&encoded(name)))
        {
            let cause = format!("the service {owner} runs, which steers it too");
            return Err(Error::new(ErrorKind::Busy, OPERATION, TARGET, cause)
                .with_remedy(format!("stop it first: net stop {owner}; or only measure")));
        }
        call::enable_privilege(&encoded("SeSystemtimePrivilege")).map_err(|error| {
            Error::new(
                ErrorKind::NotPermitted,
                OPERATION,
                TARGET,
                "SeSystemtimePrivilege is not granted",
            )
            .with_system(&error)
            .with_remedy("run from an elevated prompt")
        })?;
        let (_, nominal, _) =
            call::adjustment(get).map_err(|error| system_error(OPERATION, TARGET, &error))?;
        if nominal == 0 {
            return Err(Error::new(
                ErrorKind::NotSupported,
                OPERATION,
                TARGET,
                "its nominal rate is told as zero",
            )
            .with_remedy("only measure"));
        }
        Ok(Self { get, set, nominal })
    }

    /// What it shows.
    pub fn now(&self) -> UtcTime {
        clock::close_wall().utc
    }

    /// How much faster than by itself it runs, in millionths.
    ///
    /// # Errors
    /// `Io` if the system does not say.
    pub fn rate(&self) -> Result<f64> {
        let (in_force, nominal, disabled) = call::adjustment(self.get)
            .map_err(|error| system_error("read the clock's rate", TARGET, &error))?;
        Ok(if disabled {
            0.0
        } else {
            ppm_of(in_force, nominal)
        })
    }

    /// Makes it run faster than by itself, in millionths; negative: slower. It stays so.
    ///
    /// # Errors
    /// `NotPermitted` if the privilege was taken away.
    pub fn set_rate(&self, ppm: f64) -> Result<()> {
        call::set_adjustment(self.set, adjustment_of(ppm, self.nominal))
            .map_err(|error| system_error("set the clock's rate", TARGET, &error))
    }

    /// Half of the smallest change of the rate, in millionths.
    pub fn rate_step(&self) -> f64 {
        ppm_of(self.nominal + 1, self.nominal) / 2.0
    }

    /// Sets it forward by `by`, or back. The call takes whole milliseconds, so this waits, busily
    /// and less than one, for the moment that becomes one.
    ///
    /// # Errors
    /// `NotPermitted` if the privilege was taken away; `InvalidInput` for a time that Windows does
    /// not have.
    pub fn step(&self, by: Span) -> Result<()> {
        const OPERATION: &str = "step the clock";
        let failed = |error: io::Error| system_error(OPERATION, TARGET, &error);
        let by = by.saturating_nanoseconds() / 100;
        let stepped = || call::system_time().saturating_add(by);
        let whole = stepped()
            .div_euclid(MILLISECOND)
            .saturating_add(1)
            .saturating_mul(MILLISECOND);
        let time = call::calendar(whole.max(0) as u64).map_err(failed)?;
        while stepped() < whole {
            hint::spin_loop();
        }
        call::set_system_time(&time).map_err(failed)
    }
}

/// The security identifier of the user that this process belongs to, as text.
///
/// # Errors
/// `Io` if the system does not say.
pub fn user() -> Result<String> {
    const OPERATION: &str = "find this user";
    let sid = call::user().map_err(|error| system_error(OPERATION, "this process", &error))?;
    sid_text(&sid).ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            OPERATION,
            "this process",
            "its identifier is malformed",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_user_has_an_identifier() {
        assert!(user().expect("told").starts_with("S-1-5-"));
    }

    #[test]
    fn it_opens_or_says_why_not() {
        match RealTimeClock::open() {
            Ok(clock) => assert!(clock.rate().expect("told").abs() < 1e6),
            Err(error) => assert!(!error.remedy().is_empty(), "{error}"),
        }
    }
}

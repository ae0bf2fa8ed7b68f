//! How far this system's real-time clock may be from UTC, by its own account.

use wirestamp_core::time::Span;

/// Returns how far the real-time clock may be from UTC at most, as the daemon that synchronises it has reported to the kernel (`maxerror` of
/// adjtimex(2)). `None` if it is not synchronised, or if the system does not say.
///
/// The daemon's word, not a measurement: chrony and ntpd tell their root distance, and most PTP daemons tell nothing. Populated on: Linux.
pub fn utc_error_bound() -> Option<Span> {
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    return wirestamp_sys::steered::utc_error_bound();
    #[cfg(not(all(target_os = "linux", not(wirestamp_unsupported))))]
    None
}

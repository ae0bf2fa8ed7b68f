//! The real-time clock's maximum error relative to UTC, as reported by the time daemon.

use wirestamp_core::time::Span;

/// Returns the error bound of the real-time clock relative to UTC, as the daemon that synchronises
/// it reports to the kernel (`maxerror` of adjtimex(2)). `None` if the clock is not synchronised,
/// or the system does not report it.
///
/// The value is the daemon's claim, not a measurement: chrony and ntpd report their root distance,
/// most PTP daemons report nothing. Linux only.
pub fn utc_error_bound() -> Option<Span> {
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    return wirestamp_sys::steered::utc_error_bound();
    #[cfg(not(all(target_os = "linux", not(wirestamp_unsupported))))]
    None
}

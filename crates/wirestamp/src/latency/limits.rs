//! Checks of the options, and the memory that a measurement needs for its packets in flight.

use super::LatencyOptions;
use super::ends::invalid;
use super::packet::HEADER;
use super::run::STEP;
use wirestamp_core::Result;
use wirestamp_core::latency::{Flight, GRACE, InFlight};
use wirestamp_core::time::Span;

/// The largest UDP payload over IPv4, in bytes; IPv6 allows 20 more.
const LARGEST: usize = 65_507;
/// The smallest capacity for transmit timestamps; it costs little.
const LEAST_CAPACITY: u16 = 1024;

/// The smallest limit of packets that wait until their times are final.
const LEAST_WAITING: u32 = 1 << 16;

/// The largest number of packets that wait until their times are final: those of one second, in
/// which the clocks are read five times.
pub(super) fn most_waiting(options: &LatencyOptions) -> usize {
    let second = Span::from_seconds(1).nanoseconds();
    let in_a_second = options
        .apart()
        .map_or(0, |apart| second / apart.nanoseconds().max(1));
    let in_a_second = u32::try_from(in_a_second).unwrap_or(u32::MAX);
    options.max_in_flight.max(in_a_second).max(LEAST_WAITING) as usize
}

/// Returns an error for options that are invalid on every system.
pub(super) fn check(target: &str, options: &LatencyOptions) -> Result<()> {
    if options.count == 0 {
        return Err(invalid(target, "no datagram is to be sent")
            .with_remedy("ask for a count of at least 1"));
    }
    if !(HEADER..=LARGEST).contains(&options.size) {
        let error = invalid(
            target,
            format!("a payload of {} bytes is not possible", options.size),
        );
        return Err(error.with_remedy(format!("ask for a size from {HEADER} to {LARGEST} bytes")));
    }
    check_pace(target, options)?;
    if options.timeout.is_zero() {
        let error = invalid(target, "every datagram exceeds a timeout of zero");
        return Err(error.with_remedy("ask for a timeout that is longer than the path takes"));
    }
    let needed = most_in_flight(options);
    if needed > options.max_in_flight.into() {
        let cause = format!(
            "up to {needed} datagrams can be in flight ({}, timeout {}), and the limit is {}",
            pace(options),
            Span::from(options.timeout),
            options.max_in_flight,
        );
        let megabytes = (needed * size_of::<Flight>() as u64).div_ceil(1_000_000);
        return Err(invalid(target, cause).with_remedy(format!(
            "lower the rate or the timeout, or raise the limit of datagrams in flight ({needed} take up to {megabytes} MB)"
        )));
    }
    Ok(())
}

fn check_pace(target: &str, options: &LatencyOptions) -> Result<()> {
    if options.rate == Some(0) {
        let error = invalid(target, "a rate of 0 datagrams per second never ends");
        return Err(error.with_remedy("ask for a rate of at least 1, or for none"));
    }
    if options.interval.is_some_and(|interval| interval.is_zero()) {
        let error = invalid(target, "an interval of zero is no pace");
        return Err(error.with_remedy("ask for an interval of at least 1 ns, or for none"));
    }
    if options.rate.is_some() && options.interval.is_some() {
        let error = invalid(target, "a rate and an interval are two paces");
        return Err(error.with_remedy("ask for one of them"));
    }
    Ok(())
}

fn pace(options: &LatencyOptions) -> String {
    match (options.rate, options.interval) {
        (Some(rate), _) => format!("{rate} per second"),
        (None, Some(interval)) => format!("one every {}", Span::from(interval)),
        (None, None) => "one after another".to_owned(),
    }
}

/// Creates the table of packets in flight, with all memory that `options` can require.
pub(super) fn table(target: &str, options: &LatencyOptions) -> Result<InFlight> {
    let mut table = InFlight::new(options.max_in_flight as usize, options.timeout.into());
    let needed = most_in_flight(options);
    let reserved = usize::try_from(needed).map(|needed| table.reserve(needed));
    if !matches!(reserved, Ok(Ok(()))) {
        let error = invalid(
            target,
            format!("there is no memory for {needed} datagrams in flight"),
        );
        return Err(error.with_remedy("lower the rate or the timeout"));
    }
    Ok(table)
}

/// The capacity for transmit timestamps that the sender needs.
pub(super) fn transmit_capacity(options: &LatencyOptions) -> u16 {
    u16::try_from(most_in_flight(options))
        .unwrap_or(u16::MAX)
        .max(LEAST_CAPACITY)
}

/// The largest number of packets that are sent while the oldest is in flight.
fn most_in_flight(options: &LatencyOptions) -> u64 {
    let longest = (Span::from(options.timeout) + GRACE)
        .nanoseconds()
        .unsigned_abs();
    // without a rate, a packet waits at least one step for the previous one to arrive
    let apart = options.apart().unwrap_or(Span::from(STEP));
    let apart = apart.nanoseconds().unsigned_abs().max(1);
    u64::try_from(longest.div_ceil(apart))
        .map_or(u64::MAX, |in_time| in_time.saturating_add(1))
        .min(options.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use wirestamp_core::ErrorKind;

    fn at(rate: Option<u32>, timeout: Duration) -> LatencyOptions {
        LatencyOptions {
            rate,
            timeout,
            count: u64::MAX,
            ..LatencyOptions::default()
        }
    }

    #[test]
    fn the_room_follows_from_rate_and_timeout() {
        let second = Duration::from_secs(1);
        assert_eq!(most_in_flight(&at(Some(100_000), second)), 102_001);
        assert_eq!(most_in_flight(&at(None, second)), 52);
        let interval = Some(Duration::from_micros(10));
        let each = LatencyOptions {
            interval,
            ..at(None, second)
        };
        assert_eq!(most_in_flight(&each), 102_001);
        assert_eq!(
            most_in_flight(&LatencyOptions {
                count: 7,
                ..at(Some(100_000), second)
            }),
            7
        );
        assert_eq!(
            most_in_flight(&LatencyOptions {
                count: 7,
                ..at(Some(u32::MAX), Duration::MAX)
            }),
            7
        );
        assert_eq!(transmit_capacity(&at(None, second)), 1_024);
        assert_eq!(transmit_capacity(&at(Some(10_000), second)), 10_201);
        assert_eq!(transmit_capacity(&at(Some(100_000), second)), u16::MAX);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        let options = LatencyOptions {
            max_in_flight: 1_000,
            ..at(Some(10_000), Duration::from_secs(1))
        };
        let error = check("eth0", &options).expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.cause().contains("10201 datagrams") && error.cause().contains("limit is 1000"),
            "{error}"
        );
        assert!(error.remedy().contains("raise the limit"), "{error}");
        check(
            "eth0",
            &LatencyOptions {
                max_in_flight: 10_201,
                ..options
            },
        )
        .expect("fits");
        check(
            "eth0",
            &LatencyOptions {
                timeout: Duration::ZERO,
                ..options
            },
        )
        .expect_err("a timeout of zero");
        for (rate, interval) in [(None, Duration::ZERO), (Some(1), Duration::from_secs(1))] {
            let interval = Some(interval);
            let error = check(
                "eth0",
                &LatencyOptions {
                    rate,
                    interval,
                    ..options
                },
            );
            assert!(error.is_err(), "{rate:?} {interval:?}");
        }
    }
}

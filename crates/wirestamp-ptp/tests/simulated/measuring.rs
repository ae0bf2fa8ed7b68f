//! A receiver and a transmitter: the receiver's measurements, and whether their bounds hold.

use crate::pair::{Cable, quick, run};
use wirestamp::{Span, TimestampSource};
use wirestamp_ptp::{
    Configuration, DelayMechanism, Lost, PortState, Role, Source, Timescale, Transport,
};

/// Runs both for ten seconds and checks every sample against the truth. Returns the number of
/// samples, the largest bound after the first three seconds, and the last frequency offset.
pub(crate) fn measured(toml: &str, change: impl Fn(&mut Configuration)) -> (usize, i64, f64) {
    let cable = Cable::new(toml);
    let [transmitter, receiver] = [Role::TimeTransmitter, Role::TimeReceiver].map(|role| {
        let mut configuration = quick(role);
        change(&mut configuration);
        configuration
    });
    let engines = [cable.engine(0, transmitter), cable.engine(1, receiver)];
    let (mut first, mut second) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let begun = first.now();
    let (mut samples, mut widest, mut rate) = (0, 0, 0.0);
    run(
        &mut [&mut first, &mut second],
        Span::from_seconds(10),
        |place, sample, now| {
            assert_eq!((place, sample.state), (1, PortState::TimeReceiver));
            let truth = match sample.source {
                TimestampSource::Hardware => cable.true_offset(now),
                TimestampSource::Software => 0, // both ends read the same clock
            };
            // read a little after the Sync: by then the clocks have advanced
            let drifted = 200;
            let error = sample.offset.value.saturating_nanoseconds() - truth;
            assert!(
                error.abs() <= sample.offset.bound.saturating_nanoseconds() + drifted,
                "{sample:?} is off by {error}"
            );
            if sample.source == TimestampSource::Hardware {
                let error = cable.system_error(&sample, now);
                assert!(
                    error <= drifted,
                    "{sample:?}: the system clock's offset is {error} ns beyond its bound"
                );
            } else {
                assert_eq!(sample.system_offset, Some(sample.offset));
            }
            samples += 1;
            if now - begun > Span::from_seconds(3) {
                widest = widest.max(sample.offset.bound.saturating_nanoseconds());
                rate = sample.frequency_ppb.expect("known by now");
            }
        },
    );
    let status = second.status();
    assert_eq!(status.ports[0].state, PortState::TimeReceiver);
    assert_eq!(
        status.time_transmitter,
        Some(first.status().identity).map(|mut identity| {
            identity.port = 1;
            identity
        })
    );
    assert_eq!(first.status().ports[0].state, PortState::TimeTransmitter);
    // one or two messages may arrive before the NIC's clock was read often enough
    let counts = second.counts();
    assert_eq!(
        counts.lost_in_all(),
        counts.lost_for(Lost::Unrelated),
        "{counts:?}"
    );
    assert!(counts.lost_in_all() <= 4, "{counts:?}");
    (samples, widest, rate)
}

pub(crate) const DRIFTING: &str =
    "[sim1.clock]\nfrequency_error_ppb = 30_000\nstart = 1_600_000_000_000_000_000";

#[test]
fn hardware_timestamps_over_ipv4_to_the_transmitter() {
    let (samples, widest, rate) = measured(DRIFTING, |_| {});
    assert!(samples > 50, "{samples}");
    assert!((100..3_000).contains(&widest), "{widest}");
    assert!(
        (rate - 30_000.0 + 12_345.0).abs() < 1_000.0 || (rate - 30_000.0).abs() < 1_000.0,
        "{rate}"
    );
}

#[test]
fn hardware_timestamps_over_ipv6_to_the_neighbour() {
    let (samples, widest, _) = measured(DRIFTING, |configuration| {
        configuration.transport = Transport::Udp6;
        configuration.delay_mechanism = DelayMechanism::P2p;
        configuration.domain = 3;
    });
    assert!(samples > 50, "{samples}");
    assert!((100..3_000).contains(&widest), "{widest}");
}

#[test]
fn software_timestamps() {
    for mechanism in [DelayMechanism::E2e, DelayMechanism::P2p] {
        let (samples, widest, rate) = measured("", |configuration| {
            configuration.source = Source::Software;
            configuration.delay_mechanism = mechanism;
        });
        assert!(samples > 50, "{samples}");
        assert!(widest < 5_000, "{widest}");
        assert!(rate.abs() < 1_000.0, "{rate}");
    }
}

#[test]
fn a_transmitter_of_ptp_time_is_not_37_seconds_ahead() {
    let (samples, ..) = measured("", |configuration| {
        configuration.source = Source::Software;
        configuration.timescale = Timescale::Ptp;
        configuration.utc_valid = true;
    });
    assert!(samples > 50, "{samples}");
}

#[test]
fn a_timestamp_of_the_other_clock_is_none() {
    // another program switches off the NIC's receive timestamps: the kernel's still arrive
    let cable = Cable::new(
        "[[event]]\naction = \"reconfigure\"\nat = \"8s\"\nnic = \"sim1\"\ntransmit = true\nreceive = \"none\"",
    );
    let engines = [
        cable.engine(0, quick(Role::TimeTransmitter)),
        cable.engine(1, quick(Role::TimeReceiver)),
    ];
    let (mut first, mut second) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let begun = first.now();
    let mut late = 0;
    run(
        &mut [&mut first, &mut second],
        Span::from_seconds(16),
        |_, sample, now| {
            assert_eq!(sample.source, TimestampSource::Hardware);
            late += usize::from(now - begun > Span::from_milliseconds(8_200));
        },
    );
    assert_eq!(late, 0, "samples without hardware timestamps");
    assert!(
        second.counts().lost_for(Lost::ReceiveTimestamp) > 30,
        "{:?}",
        second.counts()
    );
}

/// A program that was suspended reads Windows' timestamps late, while the real-time clock is slewed.
#[test]
fn software_timestamps_that_are_read_late_on_a_slewed_clock() {
    let cable =
        Cable::new("platform = \"windows\"\n[host]\ntick = \"100ns\"\n[nic]\nconfigurable = false");
    let engines = [Role::TimeTransmitter, Role::TimeReceiver].map(|role| {
        let mut configuration = quick(role);
        configuration.source = Source::Software;
        cable.engine(usize::from(role == Role::TimeReceiver), configuration)
    });
    let (mut first, mut second) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let (world, mut samples) = (cable.world(), 0);
    for slew in [0, 1_000_000, -1_000_000, 600_000] {
        world.slew_real_time_clock(slew);
        for turn in 0..2_000 {
            world.advance(Span::from_milliseconds(2));
            first.serve();
            if turn % 37 > 0 {
                continue;
            }
            second.serve();
            for sample in second.samples() {
                // both ends read the same clock
                let zero = Span::from_nanoseconds(0);
                assert!(sample.offset.contains(zero), "{slew} ppb: {sample:?}");
                samples += 1;
            }
        }
    }
    let counts = second.counts();
    assert!(
        samples > 50,
        "{samples}: {counts:?} {:?} {:?}",
        second.status(),
        first.counts()
    );
    for lost in [Lost::ClockGeneration, Lost::Contradiction] {
        assert_eq!(counts.lost_for(lost), 0, "{counts:?}");
    }
}

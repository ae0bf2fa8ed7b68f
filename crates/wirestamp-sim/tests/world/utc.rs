//! Software timestamps around steps of the real-time clock: on a simulated Linux placed as on a real one, on
//! a simulated Windows not concerned.

use crate::station::{Station, custom};
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{MissingReason, SoftwareTimestamp, TransmitId};

/// Sends, steps, reads; and some more afterwards. Returns how many timestamps had a place.
fn around_a_step(station: &mut Station, first_id: u32, by: Span) -> usize {
    let mut placed = 0;
    for id in first_id..first_id + 10 {
        station.send(id, b"x").expect("sent");
        station.world.advance(Span::from_microseconds(100));
        if id == first_id {
            station.world.step_real_time_clock(by);
        }
        let received = station.receive().expect("received").0.timestamps.software;
        let lost = station.collect().lost.len();
        assert!(
            station
                .collected
                .lost
                .drain(..)
                .all(|(_, reason)| reason == MissingReason::ClockStepped)
        );
        let sent = station
            .collected
            .timestamped
            .pop()
            .and_then(|(_, timestamps)| timestamps.software);
        assert_eq!(usize::from(sent.is_some()) + lost, 1, "{id} ends once");
        let way = station
            .world
            .truth()
            .datagram_with_id(TransmitId(id))
            .expect("it was sent");
        for (timestamp, truly) in [
            (sent, Some(way.transmit_software_at)),
            (received, way.receive_software_at),
        ] {
            placed += usize::from(timestamp.is_some());
            check(timestamp, truly, by);
        }
        station.world.advance(Span::from_milliseconds(200));
    }
    placed
}

#[track_caller]
fn check(timestamp: Option<SoftwareTimestamp>, truly: Option<MonotonicTime>, by: Span) {
    let Some(timestamp) = timestamp else { return };
    let off = (timestamp.at.value - truly.expect("it was timestamped")).abs();
    assert!(
        off <= timestamp.at.bound,
        "stepped by {by}: off by {off}, {timestamp:?}"
    );
    assert!(
        timestamp.at.bound < Span::from_microseconds(1) && timestamp.utc.is_some(),
        "{timestamp:?}"
    );
}

#[test]
fn no_timestamp_lies_beyond_its_bound_whatever_the_clock_is_read_and_stepped_by() {
    // clocks whose ticks are not in step, and readings that lie apart
    for clocks in [
        "",
        "tick = '100ns'\nstart = '1000000000033ns'",
        "utc_forward = '90ns'\nutc_back = { base = '10ns', jitter = '30ns' }",
        "tick = '100ns'\nstart = '1000000000033ns'\nutc_forward = '70ns'\nutc_back = '30ns'",
    ] {
        let world = custom(&format!("preset = 'software-only'\n[host]\n{clocks}"));
        let mut station = Station::of(world).timestamping(Source::Software);
        let read_apart = clocks.contains("utc_back");
        // a step shorter than a reading shows in none
        let least = if read_apart { 1_000 } else { 2 };
        for (number, by) in [
            least,
            -least,
            50_000,
            -1_500_000_000,
            100_000_000_000,
            -86_400_000_000_000,
        ]
        .into_iter()
        .enumerate()
        {
            let placed = around_a_step(
                &mut station,
                100 * number as u32,
                Span::from_nanoseconds(by),
            );
            assert!(
                placed >= 8,
                "{clocks:?}, stepped by {by} ns: {placed} of 20 have a place"
            );
        }
    }
}

#[test]
fn a_real_time_clock_at_the_end_of_its_scale_harms_nobody() {
    for (far, back) in [(i64::MIN, 0), (i64::MAX, 0), (i64::MIN, 40), (i64::MAX, 40)] {
        let far = Span::from_nanoseconds(far.into());
        let world = custom(&format!(
            "preset = 'software-only'\n[host]\ntick = '100ns'\nutc_back = '{back}ns'"
        ));
        let mut station = Station::of(world).timestamping(Source::Software);
        for id in 0..80 {
            station.send(id, b"x").expect("sent");
            let by = if id % 5 == 4 { -far } else { far };
            station.world.step_real_time_clock(by);
            station.world.step_real_time_clock(by);
            station.receive().expect("received");
            station.collect();
            station.world.advance(Span::from_milliseconds(700));
        }
        assert_eq!(
            station.collected.timestamped.len() + station.collected.lost.len(),
            80
        );
    }
}

#[test]
fn on_windows_no_step_concerns_a_timestamp() {
    let world = custom("preset = 'software-only'\nplatform = 'windows'");
    let mut station = Station::of(world);
    station
        .configure(Timestamping::OFF.transmit(8).receive())
        .expect("on");
    station.send(1, b"x").expect("sent");
    station
        .world
        .step_real_time_clock(Span::from_milliseconds(-3));
    station.collected.awaited = vec![TransmitId(1)];
    let sent = station.collect().timestamped[0]
        .1
        .software
        .expect("a timestamp");
    let way = station
        .world
        .truth()
        .datagram_with_id(TransmitId(1))
        .expect("it was sent");
    assert_eq!(
        (sent.at.value, sent.utc, sent.clock_stepped),
        (way.transmit_software_at, None, false)
    );
}

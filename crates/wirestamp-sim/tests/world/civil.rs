//! Software stamps around steps of the civil clock: on a simulated Linux placed as on a real one, on
//! a simulated Windows not concerned.

use crate::station::{Station, custom};
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::stamp::{LossReason, SoftwareStamp, TransmitId};
use wirestamp_core::time::{Span, SystemTime};

/// Sends, steps, reads; and some more afterwards. Returns how many stamps had a place.
fn around_a_step(station: &mut Station, first_id: u32, by: Span) -> usize {
    let mut placed = 0;
    for id in first_id..first_id + 10 {
        station.send(id, b"x").expect("sent");
        station.world.advance(Span::from_microseconds(100));
        if id == first_id {
            station.world.step_civil_clock(by);
        }
        let received = station.receive().expect("received").0.stamps.software;
        let lost = station.collect().lost.len();
        assert!(
            station
                .collected
                .lost
                .drain(..)
                .all(|(_, reason)| reason == LossReason::ClockStepped)
        );
        let sent = station
            .collected
            .stamped
            .pop()
            .and_then(|(_, stamps)| stamps.software);
        assert_eq!(usize::from(sent.is_some()) + lost, 1, "{id} ends once");
        let way = station
            .world
            .truth()
            .datagram_with_id(TransmitId(id))
            .expect("it was sent");
        for (stamp, truly) in [
            (sent, Some(way.transmit_software_at)),
            (received, way.receive_software_at),
        ] {
            placed += usize::from(stamp.is_some());
            check(stamp, truly, by);
        }
        station.world.advance(Span::from_milliseconds(200));
    }
    placed
}

#[track_caller]
fn check(stamp: Option<SoftwareStamp>, truly: Option<SystemTime>, by: Span) {
    let Some(stamp) = stamp else { return };
    let off = (stamp.at - truly.expect("it was stamped")).abs();
    assert!(
        off <= stamp.bound,
        "stepped by {by}: off by {off}, {stamp:?}"
    );
    assert!(
        stamp.bound < Span::from_microseconds(1) && stamp.wall.is_some(),
        "{stamp:?}"
    );
}

#[test]
fn no_stamp_lies_beyond_its_bound_whatever_the_clock_is_read_and_stepped_by() {
    // clocks whose ticks are not in step, and readings that lie apart
    for clocks in [
        "",
        "tick = '100ns'\nstart = '1000000000033ns'",
        "civil_forward = '90ns'\ncivil_back = { base = '10ns', jitter = '30ns' }",
        "tick = '100ns'\nstart = '1000000000033ns'\ncivil_forward = '70ns'\ncivil_back = '30ns'",
    ] {
        let world = custom(&format!("preset = 'software-only'\n[host]\n{clocks}"));
        let mut station = Station::of(world).stamping(Source::Software);
        let read_apart = clocks.contains("civil_back");
        // what is less than a reading takes shows in none
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
fn a_civil_clock_at_the_end_of_its_scale_harms_nobody() {
    for (far, back) in [(i64::MIN, 0), (i64::MAX, 0), (i64::MIN, 40), (i64::MAX, 40)] {
        let far = Span::from_nanoseconds(far.into());
        let world = custom(&format!(
            "preset = 'software-only'\n[host]\ntick = '100ns'\ncivil_back = '{back}ns'"
        ));
        let mut station = Station::of(world).stamping(Source::Software);
        for id in 0..80 {
            station.send(id, b"x").expect("sent");
            let by = if id % 5 == 4 { -far } else { far };
            station.world.step_civil_clock(by);
            station.world.step_civil_clock(by);
            station.receive().expect("received");
            station.collect();
            station.world.advance(Span::from_milliseconds(700));
        }
        assert_eq!(
            station.collected.stamped.len() + station.collected.lost.len(),
            80
        );
    }
}

#[test]
fn on_windows_no_step_concerns_a_stamp() {
    let world = custom("preset = 'software-only'\nplatform = 'windows'");
    let mut station = Station::of(world);
    station
        .configure(Timestamping::OFF.transmit(8).receive())
        .expect("on");
    station.send(1, b"x").expect("sent");
    station.world.step_civil_clock(Span::from_milliseconds(-3));
    station.collected.awaited = vec![TransmitId(1)];
    let sent = station.collect().stamped[0].1.software.expect("a stamp");
    let way = station
        .world
        .truth()
        .datagram_with_id(TransmitId(1))
        .expect("it was sent");
    assert_eq!(
        (sent.at, sent.wall, sent.clock_stepped),
        (way.transmit_software_at, None, false)
    );
}

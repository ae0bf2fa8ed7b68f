//! Each fault of transmit timestamps, of the receive path and of the cable, one by one.

use crate::station::{Station, custom};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::configuration::Source;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{MissingReason, Notice};
use wirestamp_sim::{Fate, NicName};

fn faulty(table: &str, fault: &str) -> Station {
    let world = custom(&format!("preset = 'ideal'\n[{table}]\n{fault}"));
    Station::of(world)
        .with_hardware()
        .timestamping(Source::Hardware)
}

const SECOND: Span = Span::from_seconds(1);
const GAP: Span = Span::from_microseconds(100);

#[test]
fn lost_timestamps_leave_no_trace() {
    let mut station = faulty("nic.faults", "lost = 0.25");
    station.send_many(200, GAP);
    let collected = station.collect_after(SECOND);
    assert!(
        (120..180).contains(&collected.timestamped.len()),
        "{}",
        collected.timestamped.len()
    );
    assert!(collected.lost.is_empty());
    assert_eq!(
        station.receive_all().len(),
        200,
        "the datagrams went all the same"
    );
}

#[test]
fn zero_timestamps_end_their_ids() {
    let mut station = faulty("nic.faults", "zero = 1.0");
    station.send_many(3, GAP);
    let collected = station.collect_after(SECOND);
    assert!(collected.timestamped.is_empty());
    assert!(
        collected
            .lost
            .iter()
            .all(|(_, reason)| *reason == MissingReason::NeverGenerated)
    );
    assert_eq!(collected.lost.len(), 3);
}

#[test]
fn late_timestamps_come_between_a_microsecond_and_a_second_later() {
    let mut station = faulty(
        "nic.faults",
        "late = 1.0\nlate_from = '1ms'\nlate_to = '1s'",
    );
    station.send_many(100, Span::ZERO);
    assert!(station.collect().timestamped.is_empty());
    let half = station
        .collect_after(Span::from_milliseconds(500))
        .timestamped
        .len();
    assert!((30..70).contains(&half), "{half}");
    assert_eq!(
        station
            .collect_after(Span::from_milliseconds(510))
            .timestamped
            .len(),
        100
    );
}

#[test]
fn reordered_timestamps_keep_their_ids() {
    let mut station = faulty("nic.faults", "reordered = 0.2\nreordered_by = '500us'");
    station.send_many(100, GAP);
    let mut ids = station.collect_after(SECOND).ids();
    assert!(!ids.is_sorted());
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
}

#[test]
fn doubled_timestamps_come_twice() {
    let mut station = faulty("nic.faults", "duplicated = 1.0");
    station.send_many(3, GAP);
    assert_eq!(station.collect_after(SECOND).ids(), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_timestamp_may_come_for_a_send_that_failed() {
    let station = faulty("nic.faults", "not_permitted = 0.5\nfor_failed_send = 1.0");
    let mut station = station.timestamping(Source::Software);
    let failed: Vec<u32> = (0..50)
        .filter(|id| station.send(*id, b"x").is_err())
        .collect();
    assert!((10..40).contains(&failed.len()));
    let collected = station.collect_after(SECOND);
    assert!(failed.iter().all(|id| collected.ids().contains(id)));
}

#[test]
fn ambiguous_failures_have_their_numbers() {
    for (fault, kind, code) in [
        ("not_permitted = 1.0", ErrorKind::NotPermitted, 1),
        ("no_buffers = 1.0", ErrorKind::Busy, 105),
    ] {
        let error = faulty("nic.faults", fault)
            .send(1, b"x")
            .expect_err("fails");
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
    }
}

#[test]
fn a_miscounting_kernel_gives_a_datagram_its_neighbours_timestamp() {
    let mut station = Station::new("miscounted-ids")
        .with_hardware()
        .timestamping(Source::Hardware);
    station.send_many(3, Span::ZERO);
    assert_eq!(
        station.collect_after(SECOND).ids(),
        [1, 2],
        "the last has no neighbour"
    );
}

#[test]
fn zero_copy_notices_are_no_timestamps() {
    let mut station = faulty("nic.faults", "zero_copy_notice = 1.0");
    station.send_many(2, GAP);
    let collected = station.collect_after(SECOND);
    assert_eq!(collected.ids(), [0, 1]);
    assert_eq!(
        collected.notices,
        [
            Notice::ZeroCopy { first: 0, last: 0 },
            Notice::ZeroCopy { first: 1, last: 1 }
        ]
    );
}

#[test]
fn silent_hardware_takes_its_slot_for_ever() {
    let mut hardware_only = Station::new("e1000e-silent")
        .with_hardware()
        .timestamping(Source::Hardware);
    hardware_only.send_many(40, GAP);
    assert!(hardware_only.collect_after(SECOND).timestamped.is_empty());
    assert!(
        hardware_only
            .receive()
            .expect("received")
            .0
            .timestamps
            .is_none()
    );
    let mut either = Station::new("e1000e-silent")
        .with_hardware()
        .timestamping(Source::HardwareElseSoftware);
    either.send_many(40, GAP);
    let collected = either.collect_after(SECOND);
    assert_eq!(
        (collected.hardware(), collected.software()),
        (0, 39),
        "the one that reserved the unit loses both"
    );
}

#[test]
fn receive_timestamps_may_be_zero_or_cut_and_the_datagram_comes_all_the_same() {
    let mut zero = faulty("nic.faults", "receive_zero = 0.5");
    zero.send_many(100, GAP);
    let received = zero.receive_all();
    let without_timestamp = received
        .iter()
        .filter(|(received, _)| received.timestamps.is_none())
        .count();
    assert_eq!(received.len(), 100);
    assert!((30..70).contains(&without_timestamp));
    let mut cut = faulty("nic.faults", "control_truncated = 0.5");
    cut.send_many(100, GAP);
    let received = cut.receive_all();
    let truncated = received
        .iter()
        .filter(|(received, _)| received.control_truncated)
        .count();
    assert!((30..70).contains(&truncated) && received.len() == 100);
    assert!(
        received
            .iter()
            .all(|(received, _)| received.control_truncated == received.timestamps.is_none())
    );
}

#[test]
fn receive_queues_may_reorder() {
    let mut station = faulty(
        "nic.faults",
        "receive_reordered = 0.2\nreceive_reordered_by = '500us'",
    );
    station.send_many(100, GAP);
    let order: Vec<Vec<u8>> = station
        .receive_all()
        .into_iter()
        .map(|(_, payload)| payload)
        .collect();
    assert!(!order.is_sorted());
    assert_eq!(order.len(), 100);
}

#[test]
fn the_cable_loses_and_doubles() {
    let mut lossy = faulty("link", "lost = 0.25");
    lossy.send_many(200, GAP);
    let arrived = lossy.receive_all().len() as u64;
    assert!((120..180).contains(&arrived), "{arrived}");
    let truth = lossy.world.truth();
    let lost = (0..200)
        .filter_map(|sequence| truth.datagram(sequence))
        .filter(|sent| sent.fate == Fate::LostOnTheWire);
    assert_eq!(lost.count() as u64, 200 - arrived);
    assert_eq!(
        lossy.collect().hardware(),
        200,
        "they were timestamped before"
    );
    let mut doubling = faulty("link", "duplicated = 1.0");
    doubling.send_many(3, GAP);
    assert_eq!(doubling.receive_all().len(), 6);
    let mut full = faulty("link", "duplicated = 1.0\n[host]\nreceive_buffer = 1000");
    full.send_many(1, GAP);
    assert_eq!((full.receive_all().len(), full.receiver.dropped()), (1, 1));
    let fate = full.world.truth().datagram(0).expect("known").fate;
    assert_eq!(fate, Fate::Delivered, "one of the two was");
}

#[test]
fn the_cable_may_be_slower_one_way() {
    let flight = |station: &Station, sequence| {
        let sent = station.world.truth().datagram(sequence).expect("known");
        sent.receive_hardware_at.expect("arrived") - sent.transmit_hardware_at.expect("left")
    };
    let mut there = faulty("link", "asymmetry = '40ns'");
    there.send_many(1, GAP);
    assert_eq!(flight(&there, 0), Span::from_nanoseconds(120));
    let mut back = Station::on_port(
        custom("preset = 'ideal'\n[link]\nasymmetry = '40ns'"),
        "192.0.2.2:0",
        "192.0.2.1:0",
    );
    back.send_many(1, GAP);
    assert_eq!(flight(&back, 0), Span::from_nanoseconds(160));
}

#[test]
fn routes_can_become_longer_one_way() {
    let mut station = faulty("link", "asymmetry = '0ns'");
    let extra = [0, 500, 0].map(Span::from_nanoseconds);
    for (id, extra) in (0..).zip(extra) {
        station.world.set_extra_delay(NicName::Sim0, extra);
        station
            .world
            .set_extra_delay(NicName::Sim1, Span::from_seconds(1));
        station.send(id, b"on its way").expect("sent");
        station.world.advance(GAP);
    }
    for (sequence, extra) in (0..).zip(extra) {
        let sent = station.world.truth().datagram(sequence).expect("known");
        let flight =
            sent.receive_hardware_at.expect("arrived") - sent.transmit_hardware_at.expect("left");
        assert_eq!(flight, Span::from_nanoseconds(120) + extra);
    }
}

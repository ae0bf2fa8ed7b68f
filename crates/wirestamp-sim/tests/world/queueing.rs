//! When datagrams enter the queueing discipline: as Linux makes and reports it.

use crate::station::{Station, address, custom};
use wirestamp_core::ErrorKind;
use wirestamp_core::configuration::{Identification, Source, Timestamping};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{Timestamps, TransmitId};

const QUEUEING: Timestamping = Timestamping::OFF.transmit(64).queueing();

#[test]
fn it_is_the_true_time_and_lies_before_the_driver() {
    for identification in [Identification::Carried, Identification::Counter] {
        let mut station = Station::new("i225");
        let wanted = QUEUEING.identification(identification);
        station.configure(wanted).expect("on");
        for id in 0..20 {
            station.send(id, b"x").expect("sent");
        }
        let truth = station.world.truth();
        let collected = station.collect();
        assert_eq!((collected.queued.len(), collected.software()), (20, 20));
        for ((id, queued), expected) in collected.queued.iter().zip(0..) {
            let sent = truth.datagram_with_id(*id).expect("known");
            assert_eq!((*id, *queued), (TransmitId(expected), sent.queued_at));
            assert!(sent.sent_at < *queued && *queued < sent.transmit_software_at);
        }
    }
}

#[test]
fn beside_hardware_timestamps_it_is_reported_and_received_packets_stay_without_software() {
    let mut station = Station::new("i225")
        .with_hardware()
        .timestamping(Source::Hardware);
    let wanted = QUEUEING.source(Source::Hardware);
    station.configure(wanted).expect("on");
    station.send(7, b"x").expect("sent");
    let received = station.receive().expect("received").0.timestamps;
    assert!(received.software.is_none() && received.hardware.is_some());
    let collected = station.collect_after(Span::from_milliseconds(1));
    assert_eq!((collected.queued.len(), collected.hardware()), (1, 1));
}

#[test]
fn without_a_driver_that_answers_it_comes_and_without_a_way_it_does_not() {
    let mut silent = Station::new("tx-never");
    silent.configure(QUEUEING).expect("on");
    silent.send(1, b"x").expect("sent");
    let collected = silent.collect_after(Span::from_milliseconds(1));
    assert_eq!(
        (collected.queued.len(), collected.timestamped.len()),
        (1, 0)
    );

    let mut nowhere = Station::new("ideal");
    nowhere.configure(QUEUEING).expect("on");
    nowhere.to = address("192.0.2.99:9");
    nowhere
        .send(1, b"x")
        .expect("sent: the neighbour is asked for");
    let collected = nowhere.collect_after(Span::from_milliseconds(1));
    assert_eq!(
        (collected.queued.len(), collected.timestamped.len()),
        (0, 0)
    );
}

#[test]
fn a_send_without_delay_has_none_in_the_queue() {
    let text = "preset = \"ideal\"\n[nic.path]\nsend = \"0ns\"\n";
    let mut station = Station::of(custom(text));
    station.configure(QUEUEING).expect("on");
    station.send(1, b"x").expect("sent");
    let sent = station.world.truth().datagram_with_id(TransmitId(1));
    let sent = sent.expect("known");
    assert_eq!(sent.queued_at, sent.transmit_software_at);
    assert_eq!(station.collect().queued, [(TransmitId(1), sent.queued_at)]);
}

#[test]
fn windows_refuses_it_and_timestamps_nothing_then() {
    let mut station = Station::new("windows-modern").timestamping(Source::Both);
    let error = station.configure(QUEUEING.receive()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.remedy().contains("Timestamping::queueing"), "{error}");
    let refused = Timestamping::OFF.receive().queueing();
    let error = station.configure_receiver(refused).expect_err("refused");
    assert!(error.target().contains("192.0.2.2"), "{error}");
    station.send(1, b"x").expect("sent");
    let received = station.receive().expect("received").0.timestamps;
    assert_eq!(received, Timestamps::NONE);
}

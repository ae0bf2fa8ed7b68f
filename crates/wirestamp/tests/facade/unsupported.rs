//! A Windows without the timestamping API, such as Wine: everything that requires the API names it
//! in the error, and packets still flow. With the API there is nothing to test here.

use crate::pair::bound;
use std::time::Duration;
use wirestamp::latency::{LatencyOptions, LatencyRun};
use wirestamp::{
    ErrorKind, HardwareRequest, Interface, Timestamping, Timestamps, TransmitAnswer, TransmitId,
    Watch,
};

/// The loopback interface, unless this Windows has the API.
fn without_the_interface() -> Option<Interface> {
    let loopback = Interface::loopback().expect("every system has one");
    let missing = loopback
        .supported()
        .is_err_and(|error| error.code() == Some(127));
    missing.then_some(loopback)
}

#[test]
fn every_feature_says_by_name_that_the_interface_is_missing() {
    let Some(loopback) = without_the_interface() else {
        return;
    };
    let socket = bound(&loopback);
    let refusals = [
        loopback.supported().map(drop),
        loopback.active().map(drop),
        loopback.configuration().map(drop),
        loopback.enable_hardware(HardwareRequest::Ptp).map(drop),
        loopback.hardware_clock().map(drop),
        socket.configure(Timestamping::OFF.receive()).map(drop),
        socket.configure(Timestamping::OFF.transmit(8)).map(drop),
        LatencyRun::on(&loopback, LatencyOptions::default())
            .and_then(|run| run.run(|_| {}))
            .map(drop),
    ];
    for (place, refusal) in refusals.into_iter().enumerate() {
        let error = refusal.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{place}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("no packet timestamping interface (build "),
            "{place}: {text}"
        );
        assert!(error.remedy().contains("20348"), "{place}: {text}");
    }
}

#[test]
fn packets_flow_without_timestamps_and_ids_are_told_as_not_enabled() {
    let Some(loopback) = without_the_interface() else {
        return;
    };
    let (sender, receiver) = (bound(&loopback), bound(&loopback));
    let to = receiver.local_address().expect("an address");
    for id in 0..100 {
        sender
            .send_to(b"plain", to, Some(TransmitId(id)))
            .expect("sent");
        let received = receiver
            .receive(&mut [0; 8], Duration::from_secs(10))
            .expect("received")
            .expect("it arrives");
        assert_eq!(
            (received.length, received.timestamps),
            (5, Timestamps::NONE)
        );
    }
    assert_eq!(
        sender.transmit_timestamp(TransmitId(1)).expect("an answer"),
        TransmitAnswer::NotEnabled
    );
    assert_eq!(receiver.receive_counters().without_timestamp, 100);
}

#[test]
fn interfaces_are_listed_and_watched_all_the_same() {
    let listed = Interface::list().expect("a list");
    assert!(
        listed
            .iter()
            .any(|interface| interface.description().loopback)
    );
    let name = listed[0].name().to_uppercase();
    assert_eq!(
        Interface::find(&name).expect("names have no case").index(),
        listed[0].index()
    );
    let watch = Watch::register(|_| {}).expect("registered");
    drop(watch);
}

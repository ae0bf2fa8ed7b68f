//! Receiving: timestamps, counting, timing out.

use crate::pair::{LONG, Pair, lacking, pass, processor_time, simulation};
use std::time::Duration;
use wirestamp::interface::Observed;
use wirestamp::{Incoming, Span, Timestamping};

#[test]
fn received_datagrams_are_timestamped_counted_and_observed() {
    let simulation = simulation("ideal");
    let pair = Pair::over_the_cable(&simulation);
    let mut buffer = [0; 4];

    pair.send(1);
    let first = pair
        .receiver
        .receive(&mut buffer, LONG)
        .expect("received")
        .expect("it comes");
    assert!(first.timestamps.is_none(), "timestamping is off");
    assert!(first.truncated && first.length == 4);

    pair.receiver
        .configure(Timestamping::OFF.receive())
        .expect("granted");
    pair.send(2);
    let second = pair
        .receiver
        .receive(&mut buffer, LONG)
        .expect("received")
        .expect("it comes");
    let timestamp = second.timestamps.software.expect("a timestamp");
    let truth = simulation.world().truth().datagram(1).expect("sent");
    let error = timestamp.at.value - truth.receive_software_at.expect("it arrived");
    assert!(
        error.abs() <= timestamp.at.bound,
        "{error} beyond {}",
        timestamp.at.bound
    );

    let counters = pair.receiver.receive_counters();
    assert_eq!(
        (
            counters.datagrams,
            counters.timestamped,
            counters.without_timestamp,
            counters.truncated
        ),
        (2, 1, 1, 2)
    );
    let observed = simulation.interface("sim1").expect("a NIC").observed();
    assert_eq!(
        observed,
        Observed {
            receive_software: true,
            ..Observed::default()
        }
    );
}

#[test]
fn a_wait_for_a_datagram_lasts_as_long_as_asked_and_no_longer() {
    let pair = Pair::over_the_cable(&simulation("i225"));
    let before = pair.receiver.now();
    let none = pair
        .receiver
        .receive(&mut [0; 64], Duration::from_millis(250))
        .expect("no error");
    let waited = pair.receiver.now() - before;
    assert_eq!(none, None);
    assert!(
        waited >= Span::from_milliseconds(250) && waited < Span::from_milliseconds(251),
        "{waited}"
    );
}

#[test]
fn a_batch_takes_what_waits_and_does_not_wait_for_more() {
    let simulation = simulation("i225");
    let pair = Pair::over_the_cable(&simulation);
    for id in 0..5 {
        pair.send(id);
    }
    pass(simulation.world(), Duration::from_millis(1));
    let mut buffers = [[0; 64]; 8];
    let mut batch: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| Incoming::new(buffer))
        .collect();
    let until = pair.receiver.now() + Span::from_seconds(1);
    assert_eq!(
        pair.receiver
            .receive_batch(&mut batch, until)
            .expect("received"),
        5
    );
    assert!(pair.receiver.now() < until);
    assert_eq!(batch[4].payload(), b"timestamped");
    assert_eq!(
        pair.receiver
            .try_receive_batch(&mut batch)
            .expect("nothing left"),
        0
    );
    assert_eq!(
        pair.receiver
            .receive_batch(&mut [], until)
            .expect("no room"),
        0
    );
}

#[test]
fn waiting_for_a_datagram_while_timestamps_wait_costs_no_busy_loop() {
    let Some(pair) = Pair::on_loopback() else {
        return;
    };
    pair.sender
        .configure(Timestamping::OFF.transmit(64))
        .expect("granted");
    let Some(before) = processor_time() else {
        lacking("this system does not tell a thread's processor time");
        return;
    };
    for id in 0..4 {
        pair.send(id); // its timestamp waits in the system's queue
        assert_eq!(
            pair.sender
                .receive(&mut [0; 64], Duration::from_millis(50))
                .expect("no error"),
            None
        );
    }
    let spent = processor_time().expect("as before") - before;
    // a quarter: a busy loop takes nearly all of it, and a sanitizer makes normal work ten times
    // slower
    assert!(spent < 50_000_000, "{spent} ns of 200 ms");
}

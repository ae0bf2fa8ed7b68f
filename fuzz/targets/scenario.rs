//! Descriptions of simulations: any text is read, or refused with an error that says where;
//! what is read runs, and runs a second time to the bit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fmt::Write;
use std::net::SocketAddr;
use wirestamp_core::backend::{Backend, DatagramSocket, HardwareClock, Incoming, Outgoing};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter, Source, Timestamping};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{Matcher, TransmitId, TransmitRecord, TransmitTracker};
use wirestamp_core::{ErrorKind, Result};
use wirestamp_sim::{Scenario, SimulatedSocket, World};

fuzz_target!(|text: &str| match Scenario::from_toml(text) {
    Ok(scenario) => {
        assert!(!scenario.name().is_empty());
        assert_eq!(
            run(&scenario),
            run(&scenario),
            "two runs of one seed differ"
        );
    }
    Err(error) => {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(!error.cause().is_empty() && !error.operation().is_empty());
    }
});

/// What an application saw, and what was true.
fn run(scenario: &Scenario) -> String {
    let world = World::new(scenario, 7);
    let mut seen = String::new();
    let ended = application(&world, &mut seen).map_err(|error| error.to_string());
    let truth = world.truth();
    let datagrams: Vec<_> = (0..truth.datagrams())
        .map(|sequence| truth.datagram(sequence))
        .collect();
    write!(seen, "{ended:?} {:?} {datagrams:?}", truth.now()).expect("a string takes everything");
    seen
}

/// Timestamps a few datagrams from one NIC to the other, and reads a clock.
fn application(world: &World, seen: &mut String) -> Result<()> {
    let interfaces = world.interfaces()?;
    let [first, second] = [0, 1].map(|place| interfaces.get(place).or(interfaces.first()));
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(());
    };
    let wanted = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::All,
    };
    write!(
        seen,
        "{:?} {:?} ",
        world.supported(first),
        world.configure(first, wanted)
    )
    .expect("as above");

    let address = |interface: &wirestamp_core::interface::InterfaceDescription| {
        interface
            .addresses
            .first()
            .map(|own| SocketAddr::new(own.address, 319))
    };
    let (Some(from), Some(to)) = (address(first), address(second)) else {
        return Ok(());
    };
    let (sender, receiver) = (
        world.bind(from, Some(first))?,
        world.bind(to, Some(second))?,
    );
    let timestamping = Timestamping::OFF.source(Source::Both).transmit(4);
    let (mut matcher, mut tracker) = (Matcher::new(), sender.tracker());
    matcher.configure(&timestamping, world.now());
    write!(
        seen,
        "{:?} {:?} ",
        sender.configure(&timestamping, &mut tracker),
        receiver.configure(&timestamping.receive(), &mut receiver.tracker())
    )
    .expect("as above");

    for id in (0..8).map(TransmitId) {
        let began = matcher.begin(id, world.now());
        let datagram = Outgoing::new(b"datagram")
            .to(to)
            .id(began.is_ok().then_some(id));
        let sent = sender.send_counted(&[datagram], &mut tracker);
        if !matches!(sent, Ok(1)) {
            matcher.cancel(id);
        }
        world.advance(Span::from_milliseconds(1));
        let mut buffer = [0; 16];
        let mut incoming = [Incoming::new(&mut buffer)];
        let count = receiver.receive(&mut incoming);
        matcher.advance(world.now());
        let collected = collect(&sender, &mut tracker, &mut matcher);
        write!(
            seen,
            "{sent:?} {count:?} {:?} {collected:?} ",
            incoming[0].received
        )
        .expect("as above");
    }
    world.advance(Span::from_seconds(3));
    let collected = collect(&sender, &mut tracker, &mut matcher);
    let mut outcomes = [TransmitRecord::EMPTY; 8];
    let count = matcher.fetch_batch(world.now(), &mut outcomes);
    assert_eq!(
        matcher.counters().pending,
        0,
        "three seconds is longer than any deadline"
    );
    let observed = [TimestampSource::Software, TimestampSource::Hardware]
        .map(|source| matcher.observed(source));
    write!(
        seen,
        "{collected:?} {:?} {observed:?} {:?} ",
        &outcomes[..count],
        matcher.counters()
    )
    .expect("as above");

    let mut readings = Vec::new();
    let read = world
        .open_clock(first)
        .and_then(|mut clock| clock.cross_timestamps(4, &mut readings));
    write!(seen, "{read:?} {readings:?} ").expect("as above");
    Ok(())
}

/// All that came gets into the matcher.
fn collect(
    socket: &SimulatedSocket,
    tracker: &mut TransmitTracker,
    matcher: &mut Matcher,
) -> Result<usize> {
    let mut count = 0;
    loop {
        let more = if socket.is_asked_by_id() {
            let ids: Vec<_> = matcher.open_ids().collect();
            socket.ask_for_timestamps(tracker, &ids)?;
            false
        } else {
            socket.read_transmit_timestamps(tracker, matcher.awaited())?
        };
        tracker.take(|arrival| {
            matcher.arrived(arrival);
            count += 1;
        });
        if !more {
            return Ok(count);
        }
    }
}

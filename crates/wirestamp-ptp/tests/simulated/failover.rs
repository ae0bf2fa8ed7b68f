//! Transmitters that go away and come back, and a receiver that is left alone.

use crate::pair::{Cable, quick, run};
use wirestamp::Span;
use wirestamp::sim::{NicName, World};
use wirestamp_ptp::{PortState, Role, Source};

#[test]
fn a_receiver_that_is_left_alone_listens_and_finds_the_transmitter_again() {
    let cable = Cable::new("");
    let transmitters = [0, 0].map(|end| cable.engine(end, quick(Role::TimeTransmitter)));
    let engine = cable.engine(1, quick(Role::TimeReceiver));
    let mut receiver = cable.node(&engine, 1);
    for engine in &transmitters {
        let mut transmitter = cable.node(engine, 0);
        run(
            &mut [&mut transmitter, &mut receiver],
            Span::from_seconds(4),
            |_, _, _| {},
        );
        assert_eq!(receiver.status().ports[0].state, PortState::TimeReceiver);
        let bound = receiver.status().ports[0]
            .estimate
            .expect("measured")
            .error_bound_ns;
        drop(transmitter);
        run(
            &mut [&mut receiver],
            Span::from_milliseconds(200),
            |_, _, _| {},
        );
        let held = receiver.status().ports[0]
            .estimate
            .expect("held")
            .error_bound_ns;
        assert!(
            held > bound,
            "without messages the bound grows: {held}, {bound}"
        );
        run(
            &mut [&mut receiver],
            Span::from_seconds(2),
            |_, sample, _| panic!("from nobody: {sample:?}"),
        );
        let status = receiver.status();
        assert_eq!(
            (status.ports[0].state, status.time_transmitter),
            (PortState::Listening, None)
        );
    }
    // and all that time it sent nothing that only a transmitter sends
    let sent = cable.world().truth().datagrams();
    run(&mut [&mut receiver], Span::from_seconds(3), |_, _, _| {});
    assert_eq!(cable.world().truth().datagrams(), sent);
}

#[test]
fn the_better_of_two_transmitters_is_followed() {
    let cable = Cable::new("");
    let mut worse = quick(Role::TimeTransmitter);
    worse.priority1 = 200;
    let engines = [
        cable.engine(0, quick(Role::TimeTransmitter)),
        cable.engine(1, worse),
    ];
    let (mut better, mut worse) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    run(
        &mut [&mut better, &mut worse],
        Span::from_seconds(3),
        |_, _, _| {},
    );
    assert_eq!(better.status().ports[0].state, PortState::TimeTransmitter);
    assert_eq!(worse.status().ports[0].state, PortState::TimeReceiver);
    drop(better);
    run(&mut [&mut worse], Span::from_seconds(2), |_, _, _| {});
    assert_eq!(worse.status().ports[0].state, PortState::TimeTransmitter);
}

#[test]
fn an_interface_that_vanishes_and_returns_under_another_number_is_used_again() {
    for source in [Source::Software, Source::Hardware] {
        vanishes_and_returns(source);
    }
}

#[test]
fn time_passes_for_a_clock_whose_only_interface_is_gone() {
    let cable = Cable::new("");
    let engine = cable.engine(0, quick(Role::TimeReceiver));
    let mut node = cable.node(&engine, 0);
    cable.world().remove_nic(NicName::Sim0);
    let until = node.now() + Span::from_seconds(3);
    let mut turns = 0;
    while node.now() < until {
        node.run(until).expect("it waits");
        turns += 1;
        assert!(turns < 1_000, "virtual time stands still");
    }
}

fn vanishes_and_returns(source: Source) {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    configuration.source = source;
    configuration.enable_hardware = source == Source::Hardware;
    let mut theirs = quick(Role::TimeTransmitter);
    theirs.source = source;
    let engines = [cable.engine(0, theirs), cable.engine(1, configuration)];
    let (mut transmitter, mut receiver) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    run(
        &mut [&mut transmitter, &mut receiver],
        Span::from_seconds(4),
        |_, _, _| {},
    );
    assert_eq!(receiver.status().ports[0].state, PortState::TimeReceiver);
    for again in [
        |world: &World| {
            world.remove_nic(NicName::Sim1);
            world.advance(Span::from_seconds(2));
            world.add_nic(NicName::Sim1);
        },
        |world: &World| {
            world.set_link(false);
            world.advance(Span::from_seconds(2));
            world.set_link(true);
        },
    ] {
        again(cable.world());
        let mut samples = 0;
        run(
            &mut [&mut transmitter, &mut receiver],
            Span::from_seconds(6),
            |_, sample, _| {
                assert_eq!(
                    sample.source.name(),
                    if source == Source::Hardware {
                        "hardware"
                    } else {
                        "software"
                    }
                );
                samples += 1;
            },
        );
        assert!(
            samples > 10,
            "{samples} samples of {source:?} timestamps, {:?}",
            receiver.status()
        );
    }
}

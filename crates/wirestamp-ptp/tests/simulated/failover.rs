//! Transmitters that disappear and return, and a receiver without a transmitter.

use crate::pair::{Cable, quick, run};
use crate::steered::SimulatedClock;
use std::cell::RefCell;
use std::rc::Rc;
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};
use wirestamp::sim::{NicName, World};
use wirestamp::{Error, ErrorKind, Span};
use wirestamp_ptp::{
    Clock, Configuration, Held, Lost, Node, PortState, Role, Source, SteeredClock,
};

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
            .offset
            .bound;
        drop(transmitter);
        run(
            &mut [&mut receiver],
            Span::from_milliseconds(200),
            |_, _, _| {},
        );
        let held = receiver.status().ports[0].estimate.expect("held");
        assert!(!held.holdover && held.age_ns > 190_000_000, "{held:?}");
        run(
            &mut [&mut receiver],
            Span::from_seconds(2),
            |_, sample, _| panic!("from nobody: {sample:?}"),
        );
        let held = receiver.status().ports[0].estimate.expect("held");
        assert!(
            held.holdover && held.offset.bound > bound,
            "without messages the bound grows: {held:?}, {bound:?}"
        );
        let status = receiver.status();
        assert_eq!(
            (status.ports[0].state, status.time_transmitter),
            (PortState::Listening, None)
        );
    }
    // and in all that time it sent no message that only a transmitter sends
    let sent = cable.world().truth().datagrams();
    run(&mut [&mut receiver], Span::from_seconds(3), |_, _, _| {});
    assert_eq!(cable.world().truth().datagrams(), sent);
}

/// A receiver that has followed a transmitter for some seconds and lost it; returns its report.
fn in_holdover(cable: &Cable, ends: impl FnOnce(&Cable), then: impl FnOnce(&mut Node<'_>)) {
    let engines = [(0, Role::TimeTransmitter), (1, Role::TimeReceiver)]
        .map(|(end, role)| cable.engine(end, quick(role)));
    let mut receiver = cable.node(&engines[1], 1);
    let mut transmitter = cable.node(&engines[0], 0);
    let time = Span::from_seconds(4);
    run(&mut [&mut transmitter, &mut receiver], time, |_, _, _| {});
    ends(cable);
    drop(transmitter);
    alone(&mut receiver, 2);
    assert!(held(&receiver).is_some_and(|held| held.holdover));
    then(&mut receiver);
}

fn alone(receiver: &mut Node<'_>, seconds: i64) {
    run(&mut [receiver], Span::from_seconds(seconds), |_, _, _| {});
}

fn held(receiver: &Node<'_>) -> Option<Held> {
    receiver.status().ports[0].estimate
}

/// Eight seconds apart although an eighth is configured: a sample is shown unchanged until the next
/// one is final.
#[test]
fn syncs_further_apart_than_expected_leave_the_offset_as_it_was() {
    let cable = Cable::new("");
    let mut seldom = quick(Role::TimeTransmitter);
    seldom.log_sync_interval = 3;
    let engines = [seldom, quick(Role::TimeReceiver)];
    let [transmitting, receiving] = [0, 1].map(|end| cable.engine(end, engines[end].clone()));
    let mut transmitter = cable.node(&transmitting, 0);
    let mut receiver = cable.node(&receiving, 1);
    let (mut bounds, mut oldest) = (Vec::new(), 0);
    for second in 0..90 {
        let nodes = &mut [&mut transmitter, &mut receiver];
        run(nodes, Span::from_seconds(1), |_, sample, _| {
            bounds.push(sample.offset);
        });
        if second > 30 {
            let held = held(&receiver).expect("it was measured");
            assert!(bounds.contains(&held.offset), "{held:?} at {second} s");
            oldest = oldest.max(held.age_ns);
        }
    }
    assert!(oldest > 6_000_000_000, "{oldest}");
}

/// The interface reports that its link is down, as after a reset of the NIC: the clock is read and
/// continues.
#[test]
fn a_cable_that_is_pulled_leaves_the_offset_known() {
    let cable = Cable::new("");
    let pulled = |cable: &Cable| cable.world().set_link(false);
    in_holdover(&cable, pulled, |receiver| {
        alone(receiver, 30);
        let held = held(receiver).expect("held");
        assert!(held.holdover && held.age_ns > 29_000_000_000, "{held:?}");
        let truth = Span::from_nanoseconds(cable.true_offset(receiver.now()).into());
        assert!(held.offset.contains(truth), "{held:?}, {truth} is true");
    });
}

#[test]
fn a_step_in_holdover_makes_the_offset_unknown() {
    let cable = Cable::new("");
    in_holdover(
        &cable,
        |_| {},
        |receiver| {
            cable.world().step_hardware_clock(NicName::Sim1, 50_000_000);
            assert_eq!(held(receiver), None, "at once");
            alone(receiver, 5);
            assert_eq!(held(receiver), None, "once the correlator has noticed");
        },
    );
}

/// Like a failover of a bond or of a timestamp provider: without a notification.
#[test]
fn another_clock_behind_the_interface_in_holdover_makes_the_offset_unknown() {
    let cable = Cable::new("");
    in_holdover(
        &cable,
        |_| {},
        |receiver| {
            let ahead = Span::from_milliseconds(-5);
            cable
                .world()
                .change_clock_silently(NicName::Sim1, 10, ahead);
            alone(receiver, 10);
            let truth = Span::from_nanoseconds(cable.true_offset(receiver.now()).into());
            let held = held(receiver);
            let is_right = held.is_none_or(|held| held.offset.contains(truth));
            assert!(is_right, "{held:?}, {truth} is true");
        },
    );
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
    assert_time_passes(&mut node);
}

/// It gave up its role, and an attempt to get a timestamp is always due.
#[test]
fn time_passes_for_a_clock_without_timestamps_whose_only_interface_is_gone() {
    let cable = Cable::new("");
    let engine = cable.engine(0, in_hardware(Role::TimeTransmitter));
    let mut node = cable.node(&engine, 0);
    let mut pass = |seconds| {
        run(&mut [&mut node], Span::from_seconds(seconds), |_, _, _| {});
        node.status().ports[0].state
    };
    assert_eq!(pass(4), PortState::TimeTransmitter);
    let receive = ReceiveFilter::All;
    let wanted = HardwareConfiguration {
        transmit: false,
        receive,
    };
    cable.world().reconfigure_by_another(NicName::Sim0, wanted);
    assert_eq!(pass(3), PortState::Faulty);
    cable.world().remove_nic(NicName::Sim0);
    assert_time_passes(&mut node);
}

fn assert_time_passes(node: &mut Node<'_>) {
    let until = node.now() + Span::from_seconds(3);
    let mut turns = 0;
    while node.now() < until {
        node.run(until).expect("it waits");
        turns += 1;
        assert!(turns < 1_000, "virtual time stands still");
    }
}

#[test]
fn time_passes_for_a_clock_that_compares_and_whose_only_interface_is_gone() {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    let pin = "020000.0000.000001".to_owned();
    configuration.trust.timetransmitters.push(pin);
    configuration.trust.compare_domains.push(7);
    let mut theirs = quick(Role::TimeTransmitter);
    theirs.domain = 7;
    let engines = [cable.engine(0, theirs), cable.engine(1, configuration)];
    let (mut transmitter, mut node) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let second = Span::from_seconds(1);
    run(&mut [&mut transmitter, &mut node], second, |_, _, _| {});
    cable.world().remove_nic(NicName::Sim1);
    assert_time_passes(&mut node);
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

fn in_hardware(role: Role) -> Configuration {
    let mut configuration = quick(role);
    configuration.source = Source::Hardware;
    configuration
}

/// Like a port of ptp4l, which becomes faulty: others take over instead of following useless Syncs.
#[test]
fn a_transmitter_whose_timestamps_do_not_come_gives_its_role_up_and_takes_it_again() {
    let cable = Cable::new("");
    let (engine, engine_1) = (
        cable.engine(0, in_hardware(Role::TimeTransmitter)),
        cable.engine(1, in_hardware(Role::TimeReceiver)),
    );
    let (mut transmitter, mut receiver) = (cable.node(&engine, 0), cable.node(&engine_1, 1));
    let mut pass = |milliseconds| {
        run(
            &mut [&mut transmitter, &mut receiver],
            Span::from_milliseconds(milliseconds),
            |_, _, _| {},
        );
        let sent = cable.world().truth().datagrams();
        let state = |status: wirestamp_ptp::Status| status.ports[0].state;
        (state(transmitter.status()), state(receiver.status()), sent)
    };
    let switched = |transmit| {
        let receive = ReceiveFilter::All;
        let wanted = HardwareConfiguration { transmit, receive };
        cable.world().reconfigure_by_another(NicName::Sim0, wanted);
    };
    let works = (PortState::TimeTransmitter, PortState::TimeReceiver);
    for _ in 0..2 {
        let (transmits, receives, _) = pass(4_000);
        assert_eq!((transmits, receives), works);
        switched(false);
        let (transmits, receives, before) = pass(3_000);
        assert_eq!(
            (transmits, receives),
            (PortState::Faulty, PortState::Listening)
        );
        let (.., after) = pass(5_000);
        assert!(
            after - before <= 6,
            "nothing but attempts, one a second: {}",
            after - before
        );
        switched(true);
    }
    let (transmits, receives, _) = pass(4_000);
    assert_eq!((transmits, receives), works);
    assert!(
        transmitter.counts().lost_in_all() >= 6,
        "{:?}",
        transmitter.counts()
    );
}

#[test]
fn one_lost_timestamp_now_and_then_costs_no_role() {
    let cable = Cable::new("[nic.faults]\nlost = 0.3");
    let engine = cable.engine(0, in_hardware(Role::TimeTransmitter));
    let mut transmitter = cable.node(&engine, 0);
    for _ in 0..40 {
        run(
            &mut [&mut transmitter],
            Span::from_milliseconds(500),
            |_, _, _| {},
        );
        let state = transmitter.status().ports[0].state;
        assert_ne!(state, PortState::Faulty, "{:?}", transmitter.counts());
    }
    assert!(transmitter.counts().lost_in_all() > 10);
}

/// A bond fails over to a NIC whose clock is decades away: its time is transmitted, and the change
/// of clock is counted.
#[test]
fn another_clock_behind_the_interface_is_measured_and_transmitted_with() {
    let cable = Cable::new("");
    let decades = Span::from_seconds(40 * 365 * 86_400);
    let (engine, engine_1) = (
        cable.engine(0, in_hardware(Role::TimeTransmitter)),
        cable.engine(1, in_hardware(Role::TimeReceiver)),
    );
    let (mut transmitter, mut receiver) = (cable.node(&engine, 0), cable.node(&engine_1, 1));
    for (end, clock) in [(0, 10), (1, 11), (0, 0), (1, 1)] {
        let name = [NicName::Sim0, NicName::Sim1][end];
        let mut samples = Vec::new();
        run(
            &mut [&mut transmitter, &mut receiver],
            Span::from_seconds(4),
            |_, sample, now| samples.push((sample, now)),
        );
        let (sample, now) = samples.last().expect("measured");
        let error = (sample.offset.value.saturating_nanoseconds() - cable.true_offset(*now)).abs();
        assert!(
            error <= sample.offset.bound.saturating_nanoseconds() + 1_000,
            "{error}: {sample:?}"
        );
        cable.world().change_clock(name, clock, decades);
    }
    let replaced =
        [&transmitter, &receiver].map(|node| node.counts().lost_for(Lost::ClockReplaced));
    assert_eq!(replaced, [2, 1], "the last change is not seen yet");
}

/// The steered clock of `sim1`, and its state once the interface has another clock.
#[derive(Debug)]
struct Left {
    clock: SimulatedClock,
    after: Rc<RefCell<After>>,
}

#[derive(Debug, Default)]
struct After {
    is_left: bool,
    is_gone: bool,
    /// The frequency adjustment in force at the end, in ppm, and the number of commands.
    ppm: f64,
    commands: u32,
}

impl Left {
    /// `None`: it is still behind the interface.
    fn after<T>(&self, then: impl FnOnce(&mut After) -> T) -> Option<wirestamp::Result<T>> {
        let mut after = self.after.borrow_mut();
        let gone = || Error::new(ErrorKind::NoSuchDevice, "use", "a clock", "it is gone");
        after.is_left.then(|| {
            if after.is_gone {
                Err(gone())
            } else {
                Ok(then(&mut after))
            }
        })
    }
}

impl SteeredClock for Left {
    fn now(&self) -> wirestamp::Result<i64> {
        self.after(|_| 7_000_000_000)
            .unwrap_or_else(|| self.clock.now())
    }

    fn step(&mut self, by: Span) -> wirestamp::Result<()> {
        self.after(|_| panic!("it is stepped"))
            .unwrap_or_else(|| self.clock.step(by))
    }

    fn set_rate(&mut self, ppm: f64) -> wirestamp::Result<()> {
        let set = |after: &mut After| {
            after.commands += 1;
            after.ppm = ppm;
        };
        match self.after(set) {
            Some(done) => done,
            None => {
                self.after.borrow_mut().ppm = ppm;
                self.clock.set_rate(ppm)
            }
        }
    }

    fn rate(&self) -> wirestamp::Result<f64> {
        self.after(|after| after.ppm)
            .unwrap_or_else(|| self.clock.rate())
    }

    fn rate_step(&self) -> f64 {
        self.clock.rate_step()
    }
}

/// Lets seconds pass, in which the bounds hold; returns the number of samples.
fn pass(cable: &Cable, nodes: &mut [Node<'_>; 2], seconds: i64) -> usize {
    let mut samples = 0;
    let [transmitter, receiver] = nodes;
    run(
        &mut [transmitter, receiver],
        Span::from_seconds(seconds),
        |_, sample, now| {
            let error =
                (sample.offset.value.saturating_nanoseconds() - cable.true_offset(now)).abs();
            // it may have been moved since
            assert!(
                error <= sample.offset.bound.saturating_nanoseconds() + 2_000,
                "{error}: {sample:?}"
            );
            samples += 1;
        },
    );
    samples
}

/// After a failover, the correction of the old clock is ended and that clock is no longer steered,
/// while the new one is measured.
#[test]
fn a_steered_clock_that_another_has_replaced_is_left_alone() {
    for is_gone in [false, true] {
        let cable = Cable::new("[sim1.clock]\nfrequency_error_ppb = 20_000\nwander_ppb = 0.0");
        let mut configuration = in_hardware(Role::TimeReceiver);
        configuration.clock = Clock::Nic;
        let engines = [
            cable.engine(0, in_hardware(Role::TimeTransmitter)),
            cable.engine(1, configuration),
        ];
        let mut nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let after = Rc::<RefCell<After>>::default();
        let clock = SimulatedClock::new(&cable, 20_000.0);
        nodes[1]
            .steer_with(Box::new(Left {
                clock,
                after: Rc::clone(&after),
            }))
            .expect("a rate");
        let before = pass(&cable, &mut nodes, 20);
        after.borrow_mut().is_left = true;
        after.borrow_mut().is_gone = is_gone;
        cable
            .world()
            .change_clock(NicName::Sim1, 11, Span::from_seconds(40));
        pass(&cable, &mut nodes, 1);
        assert!(
            (after.borrow().ppm + 20.0).abs() < 1.0 || is_gone,
            "{:?}",
            after.borrow()
        );
        assert!(after.borrow().commands <= 1, "{:?}", after.borrow());
        // another program steers it now
        let mut samples = 0;
        for second in 0..20 {
            after.borrow_mut().ppm = f64::from(second);
            samples += pass(&cable, &mut nodes, 1);
            assert!(
                (after.borrow().ppm - f64::from(second)).abs() < 1e-9,
                "{:?}",
                after.borrow()
            );
        }
        assert!(after.borrow().commands <= 1, "{:?}", after.borrow());
        assert!(samples * 10 > before * 9, "{samples} after {before}");
        let error = nodes[1].steering_error().map(Error::kind);
        assert_eq!(error, Some(ErrorKind::NoSuchDevice));
        // it is back
        after.borrow_mut().is_left = false;
        cable
            .world()
            .change_clock(NicName::Sim1, 1, Span::from_seconds(-40));
        pass(&cable, &mut nodes, 30);
        let off = cable.true_offset(nodes[1].now()).abs();
        assert!(off < 2_000, "{off} ns off");
        assert!(
            nodes[1].steering_error().is_none(),
            "{:?}",
            nodes[1].steering_error()
        );
    }
}

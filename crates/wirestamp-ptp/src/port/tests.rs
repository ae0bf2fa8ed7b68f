//! A port whose interface is checked again, step by step.

use super::*;
use crate::configuration::{Configuration, Role, Source};
use wirestamp::Simulation;
use wirestamp::interface::ChangeKind;
use wirestamp::sim::NicName;

/// The failure precedes the notification, and the interface keeps its number.
#[test]
fn a_clock_that_changed_when_a_send_failed_is_noticed_once() {
    let simulation = Simulation::from_toml("preset = \"ideal\"", 7).expect("a scenario");
    let interface = simulation.interface("sim0").expect("a NIC");
    let chosen = Configuration {
        role: Role::TimeReceiver,
        source: Source::Hardware,
        enable_hardware: true,
        ..Default::default()
    };
    let engine = Engine::new(chosen, [2, 0, 0, 0, 0, 0, 0, 1]).expect("valid");
    let commands = SharedCommands::default();
    let mut port = Port::open(&engine, &interface, 1, 0, &commands).expect("opened");
    let world = simulation.world();
    world.change_clock_silently(NicName::Sim0, 10, Span::from_seconds(5));
    port.reopen(port.now());
    assert_eq!(port.reopen_at, None);
    assert_eq!(port.hardware_clock(), Some(10));
    assert_eq!(port.counts().lost_for(Lost::ClockReplaced), 1);
    world.advance(Span::from_seconds(2));
    assert_eq!(port.changes.take(), Some(false), "reported");
    port.look_again(false, port.now());
    assert_eq!(port.counts().lost_for(Lost::ClockReplaced), 1);
}

/// It keeps its index, and nothing else shows that the sockets have lost it.
#[test]
fn an_interface_that_went_and_came_back_at_once_is_opened_again() {
    let simulation = Simulation::from_toml("preset = \"ideal\"", 7).expect("a scenario");
    let interface = simulation.interface("sim0").expect("a NIC");
    for transport in [Transport::Udp4, Transport::Ethernet] {
        let chosen = Configuration {
            transport,
            source: Source::Software,
            ..Default::default()
        };
        let engine = Engine::new(chosen, [2, 0, 0, 0, 0, 0, 0, 1]).expect("valid");
        let commands = SharedCommands::default();
        let mut port = Port::open(&engine, &interface, 1, 0, &commands).expect("opened");
        let now = port.now();
        for (kinds, reopens) in [
            (&[ChangeKind::Link, ChangeKind::Added][..], false),
            (&[ChangeKind::Removed, ChangeKind::Added], true),
            (&[ChangeKind::Unspecified], true),
            (&[ChangeKind::Configuration], false),
        ] {
            kinds.iter().for_each(|kind| port.changes.note(*kind));
            let went = port.changes.take().expect("changed");
            port.look_again(went, now);
            assert_eq!(port.reopen_at, reopens.then_some(now), "{kinds:?}");
            assert_eq!(port.changes.take(), None);
            if reopens {
                port.reopen(now);
                assert_eq!(port.reopen_at, None, "{transport:?}");
            }
        }
    }
}

fn sent(port: &mut Port<'_>) {
    let (now, request) = (port.now(), Timer::DelayRequest);
    port.goes_off(request, now);
}

/// Changes that were lost or combined may be any: sockets that still have their interface stay, and with
/// them the timestamps that are to come.
#[test]
fn a_change_of_anything_does_not_cost_awaited_timestamps() {
    for transport in [Transport::Udp4, Transport::Ethernet] {
        let (simulation, engine) = of_peers(transport);
        let interface = simulation.interface("sim0").expect("a NIC");
        let commands = SharedCommands::default();
        let mut port = Port::open(&engine, &interface, 1, 0, &commands).expect("opened");
        sent(&mut port);
        assert_eq!(port.outlet.awaited.len(), 1);
        port.changes.note(ChangeKind::Unspecified);
        let went = port.changes.take().expect("changed");
        port.look_again(went, port.now());
        port.reopen(port.now());
        assert_eq!(port.outlet.awaited.len(), 1, "{transport:?}");
        assert_eq!(port.counts().lost_in_all(), 0, "{transport:?}");
    }
}

#[test]
fn timestamps_that_a_closed_socket_or_a_step_takes_away_are_counted() {
    for transport in [Transport::Udp4, Transport::Ethernet] {
        let (simulation, engine) = of_peers(transport);
        let [interface, another] =
            ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
        let commands = SharedCommands::default();
        let mut port = Port::open(&engine, &interface, 1, 0, &commands).expect("opened");
        sent(&mut port);
        let attempt = port.outlet.send_beside(&[1; 44]);
        port.outlet.vigil.attempted(attempt);
        port.interface = another;
        port.reopen(port.now());
        assert!(port.outlet.awaited.is_empty());
        let closed = Lost::TransmitTimestamp(MissingReason::SocketClosed);
        assert_eq!(port.counts().lost_for(closed), 2, "{transport:?}");
        sent(&mut port);
        port.restarted();
        assert!(port.outlet.awaited.is_empty());
        assert_eq!(port.counts().lost_for(Lost::ClockGeneration), 1);
    }
}

fn of_peers(transport: Transport) -> (Simulation, Engine) {
    let chosen = Configuration {
        transport,
        source: Source::Software,
        delay_mechanism: DelayMechanism::P2p,
        ..Default::default()
    };
    let simulation = Simulation::from_toml("preset = \"ideal\"", 7).expect("a scenario");
    let engine = Engine::new(chosen, [2, 0, 0, 0, 0, 0, 0, 1]).expect("valid");
    (simulation, engine)
}

/// `eth1=ethernet` names a port by what its interface is called when it is opened.
#[test]
fn a_port_keeps_its_transport_when_its_interface_has_another_name() {
    let simulation = Simulation::from_toml("preset = \"ideal\"", 7).expect("a scenario");
    let [interface, renamed] =
        ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let chosen = Configuration {
        transports: vec!["sim0=ethernet".to_owned()],
        source: Source::Software,
        ..Default::default()
    };
    let engine = Engine::new(chosen, [2, 0, 0, 0, 0, 0, 0, 1]).expect("valid");
    let commands = SharedCommands::default();
    let mut port = Port::open(&engine, &interface, 1, 0, &commands).expect("opened");
    port.interface = renamed;
    port.reopen(port.now());
    assert_eq!(port.reopen_at, None);
    assert_eq!(port.outlet.sockets.interface(), port.interface.index());
    assert!(matches!(port.outlet.sockets.event, PortSocket::Ethernet(_)));
}

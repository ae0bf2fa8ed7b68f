//! A port whose interface is checked again, step by step.

use super::*;
use crate::configuration::{Configuration, Role, Source};
use wirestamp::Simulation;
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
    assert!(port.changed.swap(false, Ordering::AcqRel), "reported");
    port.look_again(port.now());
    assert_eq!(port.counts().lost_for(Lost::ClockReplaced), 1);
}

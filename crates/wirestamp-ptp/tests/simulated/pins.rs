//! Pinned timeTransmitters and addresses: other ones are counted and have no effect.

use crate::forge::Forged;
use crate::pair::{Cable, quick};
use crate::rig::{Rig, WHO};
use std::net::IpAddr;
use wirestamp_ptp::{Configuration, Engine, Fault, PortState, Role, Trust};

const BETTER: u8 = 9;

fn pinned(cable: &Cable, change: impl Fn(&mut Trust)) -> Engine {
    let mut configuration = quick(Role::TimeReceiver);
    change(&mut configuration.trust);
    cable.engine(1, configuration)
}

fn identity(who: u8) -> String {
    format!("020000.0000.0000{who:02x}-1")
}

/// A timeTransmitter that announces a better clock than the other one's.
fn usurp(rig: &mut Rig<'_>) {
    for round in 0..10 {
        rig.attacker
            .send(&Forged::new(0xb, BETTER, round).with(47, &[1]));
        rig.attacker.send(&Forged::new(0, BETTER, round));
        rig.attacker
            .send(&Forged::new(8, BETTER, round).at(1_000_000_000));
        rig.exchange();
    }
}

fn follows(rig: &Rig<'_>) -> Option<u8> {
    let status = rig.receiver.status();
    (status.ports[0].state == PortState::TimeReceiver)
        .then(|| status.time_transmitter.expect("followed").clock[7])
}

#[test]
fn a_better_clock_that_is_not_pinned_is_ignored_and_counted() {
    for (pin, followed, counted) in [(false, BETTER, 0), (true, WHO, 30)] {
        let cable = Cable::new("");
        let engine = pinned(&cable, |trust| {
            trust.timetransmitters.extend(pin.then(|| identity(WHO)));
        });
        let mut rig = Rig::new(&cable, &engine);
        usurp(&mut rig);
        assert_eq!(
            (follows(&rig), rig.ignored(Fault::Identity)),
            (Some(followed), counted),
            "pinned: {pin}"
        );
    }
}

#[test]
fn a_clock_at_an_address_that_is_not_pinned_is_ignored_and_counted() {
    let cable = Cable::new("");
    let v4 = |address: &IpAddr| address.is_ipv4();
    let theirs = cable.ends[0]
        .description()
        .addresses
        .iter()
        .map(|known| known.address)
        .find(v4)
        .expect("has one");
    let engine = pinned(&cable, |trust| trust.addresses.push(theirs));
    let mut rig = Rig::new(&cable, &engine);
    usurp(&mut rig);
    assert_eq!(
        (follows(&rig), rig.ignored(Fault::Address)),
        (Some(BETTER), 0)
    );

    let cable = Cable::new("");
    let engine = pinned(&cable, |trust| trust.addresses.push([192, 0, 2, 77].into()));
    let mut rig = Rig::unheard(&cable, &engine);
    for _ in 0..10 {
        rig.exchange();
    }
    assert_eq!((follows(&rig), rig.ignored(Fault::Address)), (None, 30));
}

#[test]
fn pins_are_read_from_a_file_and_wrong_ones_are_named() {
    let text = "[trust]\ntimetransmitters = [\"020000.0000.000001-1\"]\naddresses = [\"192.0.2.1\", \"fe80::1\"]";
    let read = Configuration::from_toml(text).expect("valid");
    assert_eq!(
        (
            read.trust.timetransmitters.len(),
            read.trust.addresses.len()
        ),
        (1, 2)
    );
    let error = Configuration::from_toml("[trust]\ntimetransmitters = [\"eth0\"]")
        .expect_err("no identity");
    assert!(
        error
            .to_string()
            .contains("trust.timetransmitters: cannot read the PTP configuration: eth0 is no clock or port identity"),
        "{error}"
    );
    assert!(Configuration::from_toml("[trust]\naddresses = [\"here\"]").is_err());
}

//! Finding interfaces and describing them.

use crate::pair::{Pair, simulation};
use wirestamp::interface::PtpVerdict;
use wirestamp::{ErrorKind, Interface, Timestamping};

#[test]
fn an_unknown_name_is_answered_with_the_nearest_ones() {
    let error = simulation("i225")
        .interface("sim9")
        .expect_err("no such NIC");
    assert_eq!(error.kind(), ErrorKind::NoSuchDevice);
    assert_eq!(error.target(), "sim9");
    assert_eq!(
        error.remedy(),
        "did you mean sim0 or sim1? The interfaces are: sim0, sim1"
    );
}

/// They exist on every system, but a user who mistypes the name of a NIC does not mean them.
#[test]
fn an_unknown_name_is_not_answered_with_simulated_ones() {
    let real = |interface: &Interface| !interface.description().simulated;
    if !Interface::list().expect("listed").iter().any(real) {
        return; // simulated ones are all that there is
    }
    let error = Interface::find("etho").expect_err("no such NIC");
    assert!(!error.remedy().contains("sim"), "{error}");
    let error = Interface::find("sim9").expect_err("no such NIC");
    assert!(error.remedy().contains("sim0"), "{error}");
}

#[test]
fn alternative_names_find_the_same_interface() {
    let simulation = simulation("i225");
    let described = simulation
        .interface("sim1")
        .expect("a NIC")
        .description()
        .clone();
    let alternative = &described.alternative_names[0];
    assert_eq!(
        simulation.interface(alternative).expect("the same").index(),
        described.index
    );
}

#[test]
fn simulated_interfaces_are_found_beside_the_real_ones() {
    let found = Interface::find("sim0").expect("sim0 is everywhere");
    assert!(found.description().simulated);
    assert_eq!(
        Interface::by_index(found.index())
            .expect("by its number")
            .name(),
        "sim0"
    );
    let listed = Interface::list().expect("listed");
    assert!(listed.iter().any(|interface| interface.name() == "sim0"));
}

#[test]
fn refreshing_follows_a_nic_to_its_new_number_and_tells_when_it_is_gone() {
    let simulation = simulation("i225");
    let mut nic = simulation.interface("sim0").expect("a NIC");
    let before = nic.index();
    simulation.world().remove_nic(wirestamp::sim::NicName::Sim0);
    let error = nic.refresh().expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::NoSuchDevice);
    assert_eq!(nic.index(), before, "the old description stays");
    simulation.world().add_nic(wirestamp::sim::NicName::Sim0);
    nic.refresh().expect("back");
    assert_ne!(nic.index(), before);
    assert_eq!(nic.name(), "sim0");
}

#[test]
fn supported_active_and_observed_are_three_answers() {
    let simulation = simulation("i225");
    let nic = simulation.interface("sim0").expect("a NIC");
    assert!(nic.supported().expect("told").hardware.any());
    assert!(
        !nic.active().expect("told").hardware.any(),
        "off by default"
    );
    assert_eq!(
        nic.ptp_verdict().expect("told"),
        PtpVerdict::Software,
        "of what is active"
    );
    assert_eq!(nic.observed(), wirestamp::interface::Observed::default());

    let pair = Pair::over_the_cable(&simulation);
    pair.sender
        .configure(Timestamping::OFF.transmit(8))
        .expect("on");
    pair.receiver
        .configure(Timestamping::OFF.receive())
        .expect("on");
    pair.send(1);
    pair.wait_for(1);
    let observed = nic.observed();
    assert!(
        observed.transmit_software && !observed.transmit_hardware && !observed.receive_software
    );
}

use super::*;
use crate::nts::{answer, association};
use crate::place::Place;
use wirestamp::Simulation;

/// Anybody who sees the request can say that the keys are forgotten (NTS NAK, RFC 8915, section 5.7).
#[test]
fn an_authentic_response_disproves_that_the_keys_are_forgotten() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let nic = simulation.interface("sim1").expect("it has one");
    let address = (nic.description().addresses[0].address, 123).into();
    let host = Host::new(Place::Simulation(simulation));
    let found = Found {
        address,
        association: Some(association(8)),
    };
    let opened = Dialogue::open(&Ntp::of("sim1"), found, &host);
    let mut dialogue = opened.expect("opened");
    let sealing = dialogue.association.as_mut().expect("given");
    let request = sealing.protect(&[0x23; HEADER]).expect("it has cookies");
    let response = answer(&request, &[2; 32], 1);
    // header and identifier, nothing else
    assert_eq!(dialogue.authentic(&response[..HEADER + 36]), None);
    assert!(!dialogue.has_keys(), "it may be true");
    assert_eq!(dialogue.authentic(&response), Some(HEADER));
    assert!(dialogue.has_keys(), "it was not");
}

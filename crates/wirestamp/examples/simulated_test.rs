//! A deterministic test of your own code: a function that measures the delay of a datagram runs on
//! simulated NICs with known true times. In your project, `wirestamp` with feature `sim` is a
//! dev-dependency, and the code of `main` is a `#[test]`.
//!
//! `cargo run --all-features --example simulated_test`

use std::io::{self, Write};
use std::time::Duration;
use wirestamp::sim::Scenario;
use wirestamp::{Simulation, Span, Timestamping, TransmitOutcome, UdpSocket};

const PATIENCE: Duration = Duration::from_secs(1);

/// The code under test, which does not know about simulations.
fn time_on_the_wire(from: &UdpSocket, to: &UdpSocket) -> wirestamp::Result<Option<Span>> {
    let sent = from.send_to_timestamped(b"how long?", to.local_address()?, PATIENCE)?;
    let received = to.receive(&mut [0; 64], PATIENCE)?;
    let TransmitOutcome::Timestamped(sent) = sent else {
        return Ok(None);
    };
    let arrived = received.and_then(|received| received.timestamps.software);
    Ok(sent
        .software
        .zip(arrived)
        .map(|(left, arrived)| arrived.at.value - left.at.value))
}

/// Returns a simulated world, with a socket at each end of its cable.
fn world(toml: &str) -> wirestamp::Result<(Simulation, UdpSocket, UdpSocket)> {
    let simulation = Simulation::start(&Scenario::from_toml(toml)?, 1);
    let end = |name| {
        let nic = simulation.interface(name)?;
        nic.bind((nic.description().addresses[0].address, 0).into())
    };
    let (from, to) = (end("sim0")?, end("sim1")?);
    from.configure(Timestamping::new().transmit(64))?;
    to.configure(Timestamping::new().receive())?;
    Ok((simulation, from, to))
}

fn main() -> wirestamp::Result<()> {
    // A good network: the result is the true delay.
    let (simulation, from, to) = world("preset = \"ideal\"")?;
    let measured = time_on_the_wire(&from, &to)?.expect("both timestamps");
    let truth = simulation.world().truth().datagram(0).expect("it was sent");
    let arrived = truth.receive_software_at.expect("it arrived");
    assert_eq!(measured, arrived - truth.transmit_software_at);
    writeln!(io::stdout(), "measured {measured}, which is the truth").expect("printed");

    // The same seed gives the same bits in every run and on every machine.
    let (_again, from, to) = world("preset = \"ideal\"")?;
    assert_eq!(time_on_the_wire(&from, &to)?, Some(measured));

    // A NIC without transmit timestamps: no result, at once, because time is virtual.
    let (_silent, from, to) = world("preset = \"tx-never\"")?;
    assert_eq!(time_on_the_wire(&from, &to)?, None);
    writeln!(io::stdout(), "no transmit timestamp, no answer").expect("printed");
    Ok(())
}

//! Hardware timestamps in UTC: sends datagrams that the NIC timestamps with its clock (the PHC on
//! Linux), and prints when each left in UTC, with an error bound.
//!
//! `cargo run --all-features --example phc_to_utc` on a simulated NIC, or as root on a real one,
//! with a destination: `… --example phc_to_utc -- eth0 192.0.2.7:9`

use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::{
    CorrelatorOptions, HardwareRequest, Interface, Source, Timestamping, TransmitOutcome,
};

const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = env::args().nth(1).unwrap_or_else(|| "sim0".to_owned());
    let nic = Interface::find(&name)?;
    let address = nic
        .description()
        .addresses
        .first()
        .ok_or("no address")?
        .address;
    let to: SocketAddr = match env::args().nth(2) {
        Some(to) => to.parse()?,
        None => (address, 9).into(),
    };

    // The NIC timestamps while this guard lives.
    let _hardware = nic.enable_hardware(HardwareRequest::AllPackets)?;
    let correlator = nic.correlator(CorrelatorOptions::default())?;
    correlator.wait_until_ready(PATIENCE)?;

    let socket = nic.bind((address, 0).into())?;
    socket.configure(Timestamping::new().transmit(64).source(Source::Hardware))?;
    let mut out = io::stdout();
    for number in 0..5u8 {
        let timestamps = match socket.send_to_timestamped(&[number], to, PATIENCE)? {
            TransmitOutcome::Timestamped(timestamps) => timestamps,
            TransmitOutcome::Missing(reason) => return Err(reason.to_string().into()),
        };
        let timestamp = timestamps.hardware.ok_or("no hardware timestamp")?;
        match correlator.to_utc(&timestamp) {
            Ok(utc) => writeln!(out, "{number}: ticks {} are {utc}", timestamp.ticks.raw())?,
            Err(why) => writeln!(out, "{number}: no UTC: {why}")?,
        }
    }
    Ok(())
}

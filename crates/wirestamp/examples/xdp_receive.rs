//! Receives PTP messages over Ethernet through AF_XDP, and prints when each came. The host does not
//! get them while this runs.
//!
//! As root, on Linux: `cargo run --all-features --example xdp_receive -- eth0`. Many drivers
//! restart the NIC for this, and the link is down for seconds.

use std::io::{self, Write};
use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn receive(name: &str, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Duration;
    use wirestamp::Interface;
    use wirestamp::ethernet::Ethertype;
    use wirestamp::xdp::{XdpFilter, XdpOptions};

    let options = XdpOptions::new(XdpFilter::Ethertype(Ethertype::PTP));
    let mut receiver = Interface::find(name)?.receive_xdp(&options)?;
    writeln!(out, "{:?}", receiver.way())?;
    for (way, error) in receiver.tried() {
        writeln!(out, "not {way:?}: {error}")?;
    }
    while let Some(batch) = receiver.next_batch(Duration::from_secs(10))? {
        for packet in batch.packets() {
            let (length, timestamps) = (packet.data().len(), packet.timestamps());
            let software = timestamps.software.map(|made| made.at.value);
            let hardware = timestamps.hardware.map(|made| made.ticks);
            writeln!(
                out,
                "{length} bytes: software {software:?}, hardware {hardware:?}"
            )?;
        }
    }
    writeln!(out, "{:?}", receiver.statistics()?)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn receive(_: &str, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "AF_XDP is Linux's")?;
    Ok(())
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "eth0".into());
    let mut out = io::stdout();
    match receive(&name, &mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(out, "{error}");
            ExitCode::FAILURE
        }
    }
}

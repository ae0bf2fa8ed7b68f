//! Sends frames through AF_XDP, and prints when each left by the NIC's clock, if driver and kernel
//! support that, or else why there is no timestamp. The frames have an experimental ethertype and
//! go to the broadcast address.
//!
//! As root, on Linux: `cargo run --all-features --example xdp_send -- eth0`. For the NIC's
//! timestamps: `wirestamp enable eth0` before. `zero-copy` after the name requests zero copy even
//! if frames then get no timestamp: many drivers restart the NIC for it, and the link is down for
//! seconds.

use std::io::{self, Write};
use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn send(
    name: &str,
    zero_copy: bool,
    out: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Duration;
    use wirestamp::ethernet::{Ethertype, MacAddress};
    use wirestamp::xdp::XdpSendOptions;
    use wirestamp::{Interface, TransmitId, TransmitOutcome, TransmitRecord};

    let interface = Interface::find(name)?;
    let own = interface
        .open_ethernet(Ethertype::EXPERIMENTAL)?
        .local_address()?;
    let mut packet = Vec::new();
    packet.extend(MacAddress::BROADCAST.octets());
    packet.extend(own.octets());
    packet.extend(Ethertype::EXPERIMENTAL.get().to_be_bytes());
    packet.extend(b"wirestamp");
    packet.resize(60, 0); // the minimum of Ethernet

    let mut options = XdpSendOptions::new();
    if zero_copy {
        options = options.zero_copy(true);
    }
    let mut sender = interface.send_xdp(&options)?;
    writeln!(out, "{:?}", sender.way())?;
    for (way, error) in sender.tried() {
        writeln!(out, "not {way:?}: {error}")?;
    }
    for id in 0..10 {
        let frame = sender.frame(Duration::from_secs(1));
        let mut frame = frame.ok_or("the interface does not send")?;
        frame.data()[..packet.len()].copy_from_slice(&packet);
        frame.queue(packet.len(), TransmitId(id))?;
    }
    sender.flush()?;
    let mut records = [TransmitRecord::EMPTY; 10];
    loop {
        let count = sender.wait_transmit_timestamps(&mut records, Duration::from_secs(10));
        for record in &records[..count] {
            match record.outcome {
                TransmitOutcome::Timestamped(made) => {
                    let ticks = made.hardware.map(|made| made.ticks);
                    writeln!(out, "{}: left at {ticks:?} of the NIC's clock", record.id)?;
                }
                TransmitOutcome::Missing(reason) => writeln!(out, "{}: {reason}", record.id)?,
            }
        }
        if count == 0 {
            break;
        }
    }
    writeln!(out, "{:?}", sender.statistics()?)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn send(_: &str, _: bool, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "AF_XDP is Linux's")?;
    Ok(())
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "eth0".into());
    let zero_copy = std::env::args()
        .nth(2)
        .is_some_and(|word| word == "zero-copy");
    let mut out = io::stdout();
    match send(&name, zero_copy, &mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(out, "{error}");
            ExitCode::FAILURE
        }
    }
}

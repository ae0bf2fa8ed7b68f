//! The first step of PTP over Ethernet: sends Sync messages to PTP's multicast group, and prints
//! when each left and arrived. The two interfaces are connected by a cable, are a veth pair, or are
//! simulated.
//!
//! `cargo run --all-features --example ethernet` (simulated), or with two interfaces as root:
//! `cargo run --all-features --example ethernet -- eth0 eth1`

use std::env;
use std::io::{self, Write};
use std::time::Duration;
use wirestamp::ethernet::{Ethertype, MacAddress};
use wirestamp::{HardwareRequest, Interface, Source, Timestamping, TransmitOutcome};

const PATIENCE: Duration = Duration::from_secs(1);
/// A PTPv2 Sync message of domain 0 without a timestamp: message type, version, length.
const SYNC: [u8; 44] = {
    let mut message = [0; 44];
    (message[0], message[1], message[3]) = (0x00, 0x02, 44);
    message
};

fn main() -> wirestamp::Result<()> {
    let mut names = env::args().skip(1);
    let near = Interface::find(&names.next().unwrap_or_else(|| "sim0".into()))?;
    let far = Interface::find(&names.next().unwrap_or_else(|| "sim1".into()))?;

    // The NICs timestamp PTP while the guards live; without them only the kernel does.
    let guards = [&near, &far].map(|nic| nic.enable_hardware(HardwareRequest::PtpOverEthernet));
    let source = if guards.iter().all(Result::is_ok) {
        Source::Hardware
    } else {
        Source::Software
    };
    let sender = near.open_ethernet(Ethertype::PTP)?;
    let receiver = far.open_ethernet(Ethertype::PTP)?;
    sender.configure(Timestamping::new().transmit(16).source(source))?;
    receiver.configure(Timestamping::new().receive().source(source))?;
    receiver.join_group(MacAddress::PTP_PRIMARY)?;

    let mut out = io::stdout();
    let mut frame = [0; 1_500];
    for sequence in 0..3 {
        let mut message = SYNC;
        message[31] = sequence;
        let sent = sender.send_to_timestamped(&message, MacAddress::PTP_PRIMARY, PATIENCE)?;
        let left = match sent {
            TransmitOutcome::Timestamped(timestamps) => format!("{timestamps:?}"),
            TransmitOutcome::Missing(reason) => format!("without a timestamp: {reason}"),
        };
        let text = match receiver.receive(&mut frame, PATIENCE)? {
            Some(received) => format!(
                "{} from {:?}\n  left    {left}\n  arrived {:?}",
                frame[31], received.source, received.timestamps
            ),
            None => format!("{sequence} did not arrive\n  left    {left}"),
        };
        writeln!(out, "{text}").expect("printed");
    }
    Ok(())
}

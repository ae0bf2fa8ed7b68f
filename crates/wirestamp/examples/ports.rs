//! Shows which NIC's clock converts each packet of an interface above several NICs: a bridge, a
//! bond or a VLAN. Sends PTP messages to each address, and frames from each of the named senders to
//! the interface.
//!
//! `cargo run --example ports -- br0 192.0.2.7:319,192.0.2.8:319 eth0,eth1 eth0,eth1`: as root

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress};
use wirestamp::{
    ConversionError, CorrelatorOptions, HardwareRequest, HostClock, Interface, MonotonicTime,
    Source, TimestampPolicy, Timestamping, Timestamps, TransmitOutcome, UdpSocket,
};

type Failure = Box<dyn std::error::Error>;

/// Of each address and each sender.
const PACKETS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(30);
/// A PTP Sync, padded: some NICs timestamp only PTP messages.
const SYNC: [u8; 46] = {
    let mut message = [0; 46];
    (message[1], message[3]) = (2, 44);
    message
};

/// A NIC and its clock.
struct Nic {
    name: String,
    clock: HostClock,
}

/// The outcome of a packet.
enum Seen {
    /// It was timestamped between the two times.
    Between(Timestamps, Option<MonotonicTime>, MonotonicTime),
    Without(String),
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, to, nics, senders] = &arguments[..] else {
        return Err("usage: ports INTERFACE ADDRESS:PORT,... NIC,... SENDER,...".into());
    };
    let (mut guards, mut clocks) = (Vec::new(), Vec::new());
    for name in listed(nics) {
        let nic = Interface::find(name)?;
        guards.push(nic.enable_hardware(HardwareRequest::Ptp)?);
        let correlator = nic.correlator(CorrelatorOptions::default())?;
        correlator.wait_until_ready(PATIENCE * 5)?;
        clocks.push(Nic {
            name: name.to_owned(),
            clock: HostClock::hardware(Arc::new(correlator)),
        });
    }
    let interface = Interface::find(name)?;
    let mut all = Vec::new();
    let bound = interface.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let unbound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    for (socket, which) in [(bound, "bound"), (unbound, "unbound")] {
        socket.configure(Timestamping::new().transmit(64).source(Source::Both))?;
        for to in listed(to) {
            all.push((format!("{which}, sent to {to}"), sent(&socket, to.parse()?)));
        }
    }
    let frames = interface.open_ethernet(Ethertype::PTP)?;
    frames.configure(
        Timestamping::new()
            .receive()
            .transmit(64)
            .source(Source::Both),
    )?;
    for sender in listed(senders) {
        let sender = Interface::find(sender)?;
        let seen = received(&frames, &sender.open_ethernet(Ethertype::PTP)?)?;
        all.push((format!("sent by {}", sender.name()), seen));
    }
    all.push(("frames, sent".to_owned(), frames_sent(&frames)));
    confirm(&all, &clocks)?;
    let mut out = io::stdout();
    for (group, seen) in &all {
        writeln!(out, "{group}: {}", counted(seen, &clocks))?;
    }
    Ok(())
}

fn listed(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter(|name| !name.is_empty())
}

/// Confirms the last timestamps, and all before them.
fn confirm(all: &[(String, Vec<Seen>)], nics: &[Nic]) -> Result<(), Failure> {
    let packets = all.iter().flat_map(|(_, seen)| seen).rev();
    let last = packets.filter_map(|seen| match seen {
        Seen::Between(timestamps, ..) if timestamps.hardware.is_some() => Some(timestamps),
        _ => None,
    });
    for timestamps in last.take(1) {
        for nic in nics {
            nic.clock.confirm(timestamps)?;
        }
    }
    Ok(())
}

/// The number of each outcome.
fn counted(seen: &[Seen], nics: &[Nic]) -> String {
    let mut counts = BTreeMap::new();
    for one in seen {
        let what = match one {
            Seen::Between(timestamps, from, until) => converted(timestamps, nics, *from, *until),
            Seen::Without(why) => why.clone(),
        };
        *counts.entry(what).or_insert(0) += 1;
    }
    let counts = counts.iter().map(|(what, count)| format!("{count} {what}"));
    counts.collect::<Vec<_>>().join("; ")
}

fn sent(socket: &UdpSocket, to: SocketAddr) -> Vec<Seen> {
    let each = (0..PACKETS).map(|_| {
        thread::sleep(PAUSE);
        let outcome = socket.send_to_timestamped(&SYNC[..44], to, PATIENCE);
        left(outcome, socket.now())
    });
    each.collect()
}

fn frames_sent(socket: &EthernetSocket) -> Vec<Seen> {
    let each = (0..PACKETS).map(|_| {
        thread::sleep(PAUSE);
        let outcome = socket.send_to_timestamped(&SYNC, MacAddress::PTP_PRIMARY, PATIENCE);
        left(outcome, socket.now())
    });
    each.collect()
}

/// It left after the kernel passed it to the driver, and before its timestamp was fetched.
fn left(outcome: wirestamp::Result<TransmitOutcome>, fetched: MonotonicTime) -> Seen {
    match outcome {
        Ok(TransmitOutcome::Timestamped(timestamps)) => {
            let given = timestamps.software.map(|given| given.at);
            let given = given.map(|given| given.value - given.bound);
            Seen::Between(timestamps, given, fetched)
        }
        Ok(TransmitOutcome::Missing(reason)) => Seen::Without(format!("missing: {reason}")),
        Err(error) => Seen::Without(format!("not sent: {error}")),
    }
}

/// It arrived after it was sent, and before the kernel received it.
fn received(frames: &EthernetSocket, sender: &EthernetSocket) -> Result<Vec<Seen>, Failure> {
    let mut seen = Vec::new();
    for _ in 0..PACKETS {
        thread::sleep(PAUSE);
        let (before, mut buffer) = (frames.now(), [0; 64]);
        sender.send_to(&SYNC, frames.local_address()?, None)?;
        seen.push(match frames.receive(&mut buffer, PATIENCE)? {
            None => Seen::Without("missing: it did not come".to_owned()),
            Some(received) => {
                let had = received.timestamps.software.map(|had| had.at);
                let until = had.map_or(frames.now(), |had| had.value + had.bound);
                Seen::Between(received.timestamps, Some(before), until)
            }
        });
    }
    Ok(seen)
}

/// The NICs whose clocks convert it, and whether the result is between the two times.
fn converted(
    timestamps: &Timestamps,
    nics: &[Nic],
    from: Option<MonotonicTime>,
    until: MonotonicTime,
) -> String {
    if timestamps.hardware.is_none() {
        return "without a hardware timestamp".to_owned();
    }
    let mut found = Vec::new();
    for Nic { name, clock } in nics {
        match clock.place(timestamps, TimestampPolicy::OnlyHardware) {
            Err(ConversionError::OtherClock) => {}
            Err(ConversionError::UnknownDevice) => return "of an unknown device".to_owned(),
            Err(error) => found.push(format!("not by {name}: {error}")),
            Ok(time) => {
                let at = time.monotonic.at;
                let is_right = from.is_none_or(|from| at.value >= from - at.bound)
                    && at.value <= until + at.bound;
                let is = if is_right { "right" } else { "WRONG" };
                found.push(format!("{is} by {name}"));
            }
        }
    }
    if found.is_empty() {
        return "of none of these NICs".to_owned();
    }
    found.join(" and ")
}

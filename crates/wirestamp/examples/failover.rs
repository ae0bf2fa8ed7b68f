//! Follows the clock behind an interface, which a bond's failover replaces: sends packets that the NIC and the kernel
//! timestamp, and prints whenever what came of them changes.
//!
//! `cargo run --example failover -- bond0 192.0.2.7:319 60`: as root, to a host there, for 60 s

use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{
    CorrelatorOptions, HardwareRequest, HostClock, Interface, Source, Span, TimestampPolicy,
    Timestamping, Timestamps, TransmitOutcome,
};

const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);
/// From the kernel's timestamp to the NIC's: less than this if both are right.
const LEAVES_WITHIN: Span = Span::from_milliseconds(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [name, to, seconds] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: failover INTERFACE ADDRESS:PORT SECONDS")?;
    let (to, seconds): (SocketAddr, u64) = (to.parse()?, seconds.parse()?);
    let nic = Interface::find(&name)?;
    // A PTP event message, because some NICs timestamp no others.
    let _hardware = nic.enable_hardware(HardwareRequest::Ptp)?;
    let correlator = Arc::new(nic.correlator(CorrelatorOptions::default())?);
    let clock = HostClock::hardware(Arc::clone(&correlator));
    correlator.wait_until_ready(PATIENCE * 5)?;
    let socket = nic.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    socket.configure(Timestamping::new().transmit(64).source(Source::Both))?;
    let (begun, mut out, mut last) = (Instant::now(), io::stdout(), String::new());
    while begun.elapsed() < Duration::from_secs(seconds) {
        let seen = match socket.send_to_timestamped(b"\0\x02", to, PATIENCE) {
            Ok(TransmitOutcome::Timestamped(timestamps)) => compared(&clock, &timestamps),
            Ok(TransmitOutcome::Missing(reason)) => format!("missing: {reason}"),
            Err(error) => format!("not sent: {error}"),
        };
        if seen != last {
            writeln!(out, "{:7.2} s  {seen}", begun.elapsed().as_secs_f64())?;
            last = seen;
        }
        thread::sleep(PAUSE);
    }
    let status = correlator.status();
    writeln!(
        out,
        "generation {:?}, cause {:?}",
        status.generation, status.cause
    )?;
    Ok(())
}

/// The NIC's timestamp on the monotonic clock, once that is final, beside the kernel's.
fn compared(clock: &HostClock, timestamps: &Timestamps) -> String {
    let Some(software) = timestamps.software else {
        return "missing: no software timestamp".to_owned();
    };
    if let Err(error) = clock.confirm(timestamps) {
        return format!("not confirmed: {error}");
    }
    match clock.place(timestamps, TimestampPolicy::OnlyHardware) {
        Err(why) => format!("not placed: {why}"),
        Ok(time) => {
            let apart = time.monotonic.at - software.at;
            if apart.abs() <= LEAVES_WITHIN + time.monotonic.bound {
                "right".to_owned()
            } else {
                format!("WRONG by {apart}, bound {}", time.monotonic.bound)
            }
        }
    }
}

//! Follows the clock of a bond across failovers: sends packets that the NIC and the kernel
//! timestamp, and prints a line whenever their outcome changes.
//!
//! `cargo run --example failover -- bond0 192.0.2.7:319 60`: as root, to a host there, for 60 s

use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{
    CorrelatorOptions, HardwareRequest, HostClock, Interface, MonotonicTime, Source,
    TimestampPolicy, Timestamping, Timestamps, TransmitOutcome,
};

const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [name, to, seconds] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: failover INTERFACE ADDRESS:PORT SECONDS")?;
    let (to, seconds): (SocketAddr, u64) = (to.parse()?, seconds.parse()?);
    let nic = Interface::find(&name)?;
    // A PTP event message, because some NICs timestamp only these.
    let _hardware = nic.enable_hardware(HardwareRequest::Ptp)?;
    let correlator = Arc::new(nic.correlator(CorrelatorOptions::default())?);
    let clock = HostClock::hardware(Arc::clone(&correlator));
    correlator.wait_until_ready(PATIENCE * 5)?;
    let socket = nic.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    socket.configure(Timestamping::new().transmit(64).source(Source::Both))?;
    let (begun, mut out, mut last) = (Instant::now(), io::stdout(), String::new());
    while begun.elapsed() < Duration::from_secs(seconds) {
        let outcome = socket.send_to_timestamped(b"\0\x02", to, PATIENCE);
        let fetched = socket.now();
        let seen = match outcome {
            Ok(TransmitOutcome::Timestamped(timestamps)) => compared(&clock, &timestamps, fetched),
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

/// The NIC's timestamp on the monotonic clock, once it is final. A packet leaves after the kernel
/// passed it to the driver, and before its timestamp was `fetched`, however long the driver or an
/// emulator takes.
fn compared(clock: &HostClock, timestamps: &Timestamps, fetched: MonotonicTime) -> String {
    let Ok(kernels) = clock.place(timestamps, TimestampPolicy::OnlySoftware) else {
        return "missing: no software timestamp".to_owned();
    };
    if let Err(error) = clock.confirm(timestamps) {
        return format!("not confirmed: {error}");
    }
    match clock.place(timestamps, TimestampPolicy::OnlyHardware) {
        Err(why) => format!("not placed: {why}"),
        Ok(nics) => {
            let (given, left) = (kernels.monotonic, nics.monotonic);
            let after = left.at.value - given.at.value;
            if after >= -(given.at.bound + left.at.bound)
                && left.at.value <= fetched + left.at.bound
            {
                return "right".to_owned();
            }
            let before = fetched - left.at.value;
            format!("WRONG: {after} after the kernel's, {before} before it was fetched: {left}")
        }
    }
}

//! The checks of the system as a whole: kernel, sockets, privilege, clock devices.
//! Checks no NIC, except that sockets are tried on the loopback interface.

use super::check::{Check, Status};
use super::{driver, facts, remedy};
use crate::output::plural;
use crate::probe::{self, Probe};
use std::net::Ipv4Addr;
use wirestamp::interface::{Direction, Observed};
use wirestamp::socket::{Engine, Identification, IoUringState};
use wirestamp::{Error, ErrorKind, Interface, Timestamping};

/// As many timestamps as the library's own measurements keep under way.
const QUEUE_WANTED: u32 = 1_024;
const RING: Engine = Engine::Ring { longest: 1_472 };

/// Checks the system that this program runs on.
pub(super) fn native(checks: &mut Vec<Check>) {
    checks.extend(kernel());
    checks.extend(driver::system());
    match Interface::loopback() {
        Ok(loopback) => {
            sockets(&loopback, checks);
            checks.extend(rings(&loopback));
        }
        Err(error) => checks.push(failed("sockets", &error)),
    }
    checks.push(privilege());
    checks.extend(clock_devices());
}

/// Checks a simulated system.
pub(super) fn simulated(nic: &Interface, checks: &mut Vec<Check>) {
    sockets(nic, checks);
}

/// A check that could not be made.
pub(super) fn failed(name: &'static str, error: &Error) -> Check {
    let status = if error.kind() == ErrorKind::NotSupported {
        Status::Skip
    } else {
        Status::Fail
    };
    Check::new(name, status, error.to_string())
}

/// `None`: this is no Linux.
fn kernel() -> Option<Check> {
    let release = facts::kernel()?;
    let lacks = |features: &[((u32, u32), &str)]| -> Vec<String> {
        let version = facts::version(&release);
        let newer = features
            .iter()
            .filter(|(since, _)| version.is_some_and(|version| version < *since));
        newer
            .map(|((major, minor), feature)| format!("{feature} ({major}.{minor})"))
            .collect()
    };
    let (status, lacking) = match lacks(&[((5, 1), "64-bit timestamps, SO_TIMESTAMPING_NEW")]) {
        old if !old.is_empty() => (Status::Warn, old),
        _ => (
            Status::Ok,
            lacks(&[
                ((6, 12), "cross timestamps on the monotonic clock"),
                ((6, 13), "ids carried with each packet, SCM_TS_OPT_ID"),
                ((6, 14), "configuration over netlink, TSCONFIG"),
            ]),
        ),
    };
    let lacking = if lacking.is_empty() {
        "has everything that wirestamp uses".to_owned()
    } else {
        format!("works without {}", lacking.join("; "))
    };
    Some(Check::new(
        "kernel",
        status,
        format!("Linux {release} {lacking}"),
    ))
}

/// What sockets are granted, and whether their timestamps come.
fn sockets(interface: &Interface, checks: &mut Vec<Check>) {
    let probe = match probe::itself(interface) {
        Ok(probe) => probe,
        Err(error) => {
            return checks.push(Check::new("timestamps", Status::Fail, error.to_string()));
        }
    };
    checks.extend([
        timestamps(interface, &probe),
        cold_start(&probe),
        ids(interface, &probe),
        queue(&probe),
    ]);
}

fn timestamps(interface: &Interface, probe: &Probe) -> Check {
    let Observed {
        transmit_software,
        transmit_hardware,
        receive_software,
        receive_hardware,
        ..
    } = probe.observed;
    let kinds = |software, hardware| match (software, hardware) {
        (true, true) => "timestamps of both clocks",
        (true, false) => "software timestamps",
        (false, true) => "hardware timestamps",
        (false, false) => "no timestamps",
    };
    let (transmit, receive) = (
        kinds(transmit_software, transmit_hardware),
        kinds(receive_software, receive_hardware),
    );
    let (name, datagrams) = (interface.name(), plural(u64::from(probe.sent), "datagram"));
    let arrived = probe.arrived;
    let text = format!(
        "{arrived} of {datagrams} arrived on {name}: {transmit} for sent ones, {receive} for received ones"
    );
    let promised = |direction| {
        interface.supported().is_ok_and(|it| {
            it.software.timestamps(direction) || it.hardware.timestamps_any_datagram(direction)
        })
    };
    let missing = |direction, came: bool| !came && promised(direction);
    let (sent, received) = (
        transmit_software || transmit_hardware,
        receive_software || receive_hardware,
    );
    if sent && received {
        Check::new("timestamps", Status::Ok, text)
    } else if missing(Direction::Transmit, sent) || missing(Direction::Receive, received) {
        Check::new("timestamps", Status::Fail, text).changed_by(remedy::enable_software(name))
    } else {
        Check::new(
            "timestamps",
            Status::Warn,
            format!("{text}, as the NIC says of itself"),
        )
    }
}

fn cold_start(probe: &Probe) -> Check {
    match probe.cold_start {
        Some(span) => {
            let text = format!(
                "the first timestamp on receive came after {span}; wirestamp waits that out"
            );
            Check::new("cold_start", Status::Ok, text)
        }
        None => Check::new(
            "cold_start",
            Status::Skip,
            "no received datagram was timestamped",
        ),
    }
}

fn ids(interface: &Interface, probe: &Probe) -> Check {
    // Windows' interfaces have a LUID.
    let message = if interface.description().luid.is_some() {
        "SO_TIMESTAMP_ID"
    } else {
        "SCM_TS_OPT_ID"
    };
    match probe.granted.timestamping.identification {
        Identification::Carried => Check::new(
            "transmit_ids",
            Status::Ok,
            format!("the system carries the caller's ids ({message})"),
        ),
        _ => Check::new(
            "transmit_ids",
            Status::Warn,
            "the kernel counts timestamped sends and wirestamp maps its count to the caller's ids: right, but sends that \
             fail must be reconciled; Linux 6.13 carries the ids",
        ),
    }
}

fn queue(probe: &Probe) -> Check {
    let Some(holds) = probe.granted.system_queue else {
        return Check::new(
            "timestamp_queue",
            Status::Skip,
            "the system does not say how many timestamps it can hold",
        );
    };
    let limit = facts::largest_buffer().map_or_else(String::new, |bytes| {
        format!(" (net.core.rmem_max is {bytes})")
    });
    let text = format!(
        "a socket holds {} that wait to be fetched",
        plural(u64::from(holds), "timestamp")
    );
    if holds >= QUEUE_WANTED {
        return Check::new("timestamp_queue", Status::Ok, text);
    }
    let text =
        format!("{text}{limit}: more at once are fetched in parts, and lost if nobody fetches");
    Check::new("timestamp_queue", Status::Warn, text).changed_by(remedy::larger_queue())
}

/// `None`: this is no Linux.
fn rings(interface: &Interface) -> Option<Check> {
    facts::kernel()?;
    let granted = interface
        .bind((Ipv4Addr::LOCALHOST, 0).into())
        .and_then(|socket| socket.configure(Timestamping::OFF.receive().transmit(64).engine(RING)));
    Some(match granted {
        Ok(granted) => rings_granted(granted.receive_ring, granted.transmit_ring),
        Err(error) => failed("io_uring", &error),
    })
}

/// Calls do the same: nothing is amiss without rings.
fn rings_granted(receive: IoUringState, transmit: IoUringState) -> Check {
    match (receive, transmit) {
        (IoUringState::InForce, IoUringState::InForce) => {
            let text = "io_uring receives, and gives transmit timestamps, where it is asked for (WIRESTAMP_ENGINE=ring)";
            Check::new("io_uring", Status::Ok, text)
        }
        (IoUringState::InForce, IoUringState::Refused(refusal)) => {
            let text = format!(
                "io_uring receives where it is asked for; transmit timestamps by calls: {refusal}"
            );
            Check::new("io_uring", Status::Ok, text)
        }
        (IoUringState::Refused(refusal), _) => {
            Check::new("io_uring", Status::Skip, format!("calls only: {refusal}"))
        }
        (receive, transmit) => Check::new(
            "io_uring",
            Status::Skip,
            format!("calls only: {receive:?}, {transmit:?}"),
        ),
    }
}

fn privilege() -> Check {
    match facts::may_configure() {
        Some(true) => Check::new(
            "privilege",
            Status::Ok,
            "this process may configure NICs (CAP_NET_ADMIN)",
        ),
        Some(false) => Check::new(
            "privilege",
            Status::Warn,
            "this process may not configure NICs; timestamping on sockets needs no privilege",
        )
        .changed_by(remedy::grant()),
        None => Check::new(
            "privilege",
            Status::Skip,
            "not Linux: NICs are configured by the administrator",
        ),
    }
}

/// `None`: this is no Linux.
fn clock_devices() -> Option<Check> {
    let devices = facts::clock_devices()?;
    if devices.is_empty() {
        let text = "no /dev/ptp device: no NIC here has a hardware clock that programs may read";
        return Some(Check::new("clock_devices", Status::Skip, text));
    }
    let closed: Vec<_> = devices
        .iter()
        .filter(|(_, opened)| opened.is_err())
        .map(|(path, _)| path.as_str())
        .collect();
    if closed.is_empty() {
        let paths: Vec<_> = devices.iter().map(|(path, _)| path.as_str()).collect();
        return Some(Check::new(
            "clock_devices",
            Status::Ok,
            format!("{} can be read", paths.join(", ")),
        ));
    }
    let text = format!("{} can't be opened by this user", closed.join(", "));
    Some(Check::new("clock_devices", Status::Warn, text).changed_by(remedy::open_clock(None)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::socket::IoUringUnavailable;

    #[test]
    fn who_refuses_rings_is_told() {
        let refused = IoUringState::Refused(IoUringUnavailable::new("forbidden here", Some(1)));
        let cases = [
            (
                IoUringState::InForce,
                IoUringState::InForce,
                Status::Ok,
                "gives transmit timestamps",
            ),
            (
                IoUringState::InForce,
                refused,
                Status::Ok,
                "by calls: forbidden here (code 1)",
            ),
            (
                refused,
                refused,
                Status::Skip,
                "calls only: forbidden here (code 1)",
            ),
        ];
        for (receive, transmit, status, text) in cases {
            let check = rings_granted(receive, transmit);
            assert_eq!(check.status, status);
            assert!(check.explanation.contains(text), "{}", check.explanation);
        }
    }
}

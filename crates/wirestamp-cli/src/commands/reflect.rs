//! `reflect`: runs the reflector of `wirestamp-probe` on sockets, and gives up privilege.

use super::stamp::{clock, format, key};
use crate::arguments::{ClockBound, Reflect};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, plural};
use crate::sandbox::{Needs, Sandbox};
use crate::session::Session;
use crate::signals::Unrestored;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Interface, Span, UdpSocket, utc_error_bound};
use wirestamp_probe::endpoint::ReflectorService;
use wirestamp_probe::reflector::{Dropped, Reflector, ReflectorConfiguration, ReflectorCounters};
use wirestamp_probe::tlv::SyncSource;

const OPERATION: &str = "reflect";
/// How soon a signal is noticed while nothing happens.
const STEP: Duration = Duration::from_millis(100);
/// How often the kernel is asked what the clock may be off.
const ASK: Span = Span::from_seconds(1);

/// A line when the sockets are open: from then on requests are answered.
#[derive(Serialize)]
struct Ready {
    listening: Vec<SocketAddr>,
    authenticated: bool,
}

/// A line for each part of the sandbox that this system lacks.
#[derive(Serialize)]
struct Unconfined<'a> {
    sandbox_warning: &'a str,
}

#[derive(Serialize)]
struct Summary {
    replies: u64,
    dropped: Reasons,
    not_sent: u64,
    missing_transmit_reasons: BTreeMap<&'static str, u64>,
    sessions: usize,
}

struct Reasons(ReflectorCounters);

impl Serialize for Reasons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = Dropped::ALL.map(|reason| (reason.name(), self.0.dropped_for(reason)));
        serializer.collect_map(counts)
    }
}

pub(super) fn run(
    arguments: &Reflect,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.use_lines();
    let named = arguments
        .interface
        .as_deref()
        .map(Interface::find)
        .transpose()?;
    if named
        .as_ref()
        .is_some_and(|interface| interface.description().simulated)
    {
        let cause = "nobody can reach a simulated NIC from outside";
        return Err(invalid("a simulated interface", cause, "name one of this system").into());
    }
    let key = key(arguments.key_file.as_deref())?;
    let (clock, hardware) = clock(arguments.source, named.as_ref())?;
    // a NIC is switched back before a second signal ends the program
    let _unrestored = Unrestored::new();
    let authenticated = key.is_some();
    let reflector = Reflector::new(ReflectorConfiguration {
        stateful: !arguments.stateless,
        key,
        format: format(arguments.format),
        tai_offset: arguments.tai_offset,
        source: match arguments.clock_bound {
            ClockBound::Kernel if utc_error_bound().is_some() => SyncSource::Ntp,
            ClockBound::At(_) => SyncSource::Ntp,
            ClockBound::Kernel | ClockBound::None => SyncSource::Local,
        },
        grant_dscp: arguments.grant_dscp,
        answer_short: arguments.answer_short,
        sessions: arguments.sessions as usize,
        rate: arguments.rate,
    });
    let sockets = sockets(arguments, named.as_ref())?;
    let mut service = ReflectorService::new(reflector, sockets, clock)?;
    let sandbox = (!arguments.no_sandbox).then(|| confine(arguments, hardware.is_some()));
    session.listen_to_interrupts();
    if let Some((sandbox, missing)) = &sandbox {
        for missing in missing.iter().chain(sandbox.close().iter()) {
            output.line(&Unconfined {
                sandbox_warning: missing,
            })?;
            output.now(|page| page.line(&format!("sandbox: {missing}")))?;
        }
    }
    let ready = Ready {
        listening: service.addresses().collect(),
        authenticated,
    };
    output.line(&ready)?;
    output.now(|page| ready.print(page))?;
    serve(&mut service, arguments, session)?;
    let summary = Summary {
        replies: service.counters().replies,
        dropped: Reasons(service.counters()),
        not_sent: service.counters().not_sent,
        missing_transmit_reasons: service
            .counters()
            .missing_transmit_timestamps
            .reasons()
            .map(|(reason, count)| (reason.name(), count))
            .collect(),
        sessions: service.sessions(),
    };
    output.sample(&summary)?;
    output.now(|page| summary.print(page))?;
    Ok(Exit::Success)
}

fn serve(
    service: &mut ReflectorService,
    arguments: &Reflect,
    session: &Session,
) -> Result<(), Error> {
    let begun = std::time::Instant::now();
    let mut asked: Option<std::time::Instant> = None;
    let is_over = || {
        arguments
            .duration
            .is_some_and(|duration| begun.elapsed() >= duration)
    };
    while !session.is_interrupted() && !is_over() {
        if asked.is_none_or(|asked| asked.elapsed() >= ASK.to_duration()) {
            asked = Some(std::time::Instant::now());
            service.set_clock_bound(match arguments.clock_bound {
                ClockBound::Kernel => utc_error_bound(),
                ClockBound::None => None,
                ClockBound::At(bound) => Some(bound.into()),
            });
        }
        service.serve(STEP)?;
    }
    Ok(())
}

/// The sockets that systemd passes, or those of the addresses that are asked for.
fn sockets(arguments: &Reflect, interface: Option<&Interface>) -> Result<Vec<UdpSocket>, Error> {
    let passed = passed()?;
    if !passed.is_empty() {
        return Ok(passed);
    }
    let mut addresses = arguments.listen.clone();
    if addresses.is_empty() {
        addresses = match interface {
            Some(interface) => of_interface(interface),
            None => {
                let own = Interface::list()?;
                let own = own.iter().filter(|own| !own.description().simulated);
                own.flat_map(of_interface).collect()
            }
        };
    }
    if addresses.is_empty() {
        let cause = "there is no address to answer on";
        let shown = interface.map_or("this system", Interface::name).to_owned();
        return Err(invalid(
            shown,
            cause,
            "give the interface one, or name one with --listen",
        ));
    }
    for address in &mut addresses {
        if address.port() == 0 {
            address.set_port(arguments.port);
        }
    }
    let bind = |address: SocketAddr| match interface {
        Some(interface) => interface.bind(address),
        None => UdpSocket::bind(address),
    };
    let bound = addresses.into_iter().map(bind);
    if !arguments.listen.is_empty() {
        return bound.collect();
    }
    // an IPv6 address that is not yet known to be unique, or was just removed, does not hinder the others
    let (mut sockets, mut missing) = (Vec::new(), None);
    for socket in bound {
        match socket {
            Ok(socket) => sockets.push(socket),
            Err(error) if error.kind() == ErrorKind::NoSuchDevice => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) if sockets.is_empty() => Err(error),
        _ => Ok(sockets),
    }
}

/// A link-local address means nothing without its interface.
fn of_interface(interface: &Interface) -> Vec<SocketAddr> {
    let description = interface.description();
    let address = |ip: IpAddr| match ip {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            SocketAddrV6::new(v6, 0, 0, interface.index().get()).into()
        }
        ip => SocketAddr::new(ip, 0),
    };
    description
        .addresses
        .iter()
        .map(|own| address(own.address))
        .collect()
}

/// Source: sd_listen_fds(3).
#[cfg(unix)]
fn passed() -> Result<Vec<UdpSocket>, Error> {
    let mut from = listenfd::ListenFd::from_env();
    let mut passed = Vec::new();
    for place in 0..from.len() {
        let taken = from.take_udp_socket(place).map_err(|error| {
            let cause = error.to_string();
            invalid(
                "the passed sockets",
                cause,
                "pass datagram sockets alone (ListenDatagram=)",
            )
        })?;
        if let Some(socket) = taken {
            passed.push(UdpSocket::adopt(socket)?);
        }
    }
    Ok(passed)
}

#[cfg(not(unix))]
fn passed() -> Result<Vec<UdpSocket>, Error> {
    Ok(Vec::new())
}

/// Gives up what a reflector with open sockets does not need.
///
/// `hardware`: the NIC timestamps, and is switched back at the end.
fn confine(arguments: &Reflect, hardware: bool) -> (Sandbox, Vec<String>) {
    Sandbox::enter(Needs {
        reads_clock_status: arguments.clock_bound == ClockBound::Kernel,
        has_its_ports: true,
        reads_hardware_clock: hardware,
        switches_hardware: hardware,
        ..Needs::default()
    })
}

fn invalid(
    target: impl Into<String>,
    cause: impl Into<std::borrow::Cow<'static, str>>,
    remedy: &'static str,
) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target.into(), cause).with_remedy(remedy)
}

impl Report for Ready {
    fn print(&self, page: &mut Page) {
        let addresses: Vec<_> = self.listening.iter().map(ToString::to_string).collect();
        let mode = if self.authenticated {
            "authenticated"
        } else {
            "unauthenticated"
        };
        page.line(&format!(
            "answering {mode} STAMP packets on {}",
            addresses.join(", ")
        ));
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}

impl Report for Summary {
    fn print(&self, page: &mut Page) {
        let sessions = plural(self.sessions as u64, "session");
        page.line(&format!(
            "{}, {sessions}",
            plural(self.replies, "packet") + " answered"
        ));
        for (reason, count) in &self.missing_transmit_reasons {
            let packets = plural(*count, "packet");
            page.field(
                "no timestamp",
                &format!("{packets} answered without a transmit timestamp: {reason}"),
            );
        }
        for reason in Dropped::ALL {
            let count = self.dropped.0.dropped_for(reason);
            if count > 0 {
                page.field(
                    reason.name(),
                    &format!("{} dropped", plural(count, "packet")),
                );
            }
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}

//! The two ends of a measurement: their sockets, NICs, timestamping and clocks.

use super::LatencyOptions;
use super::limits;
use super::tally::Clocks;
use crate::correlator::{Correlator, CorrelatorOptions};
use crate::hardware::HardwareGuard;
use crate::host_clock::{HostClock, TimestampPolicy};
use crate::interface::Interface;
use crate::socket::UdpSocket;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;
use wirestamp_core::capability::{AddressFamily, TimestampSource};
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::{Error, ErrorKind, Result};

/// The schedule of a measurement's correlators. A measurement is short, so the clocks are read
/// often, regardless of cost: the frequency is known from the first packets on, and a delayed batch
/// does not postpone the next.
const READING: CorrelatorOptions = CorrelatorOptions {
    period: Duration::from_millis(200),
    ..CorrelatorOptions::FIXED
};
pub(super) const OPERATION: &str = "measure latency";

/// One end of a measurement.
#[derive(Debug)]
pub struct Endpoint {
    /// A bound socket. The measurement configures its timestamping.
    pub socket: Arc<UdpSocket>,
    /// The converter of hardware timestamps. Required if these are measured.
    pub correlator: Option<Arc<Correlator>>,
}

/// Both ends of a measurement, ready to send.
#[derive(Debug)]
pub(super) struct Ends {
    /// Their name in messages.
    pub(super) name: String,
    pub(super) sender: Arc<UdpSocket>,
    pub(super) receiver: Arc<UdpSocket>,
    /// The destination; `None` if the sender is connected.
    pub(super) to: Option<SocketAddr>,
    pub(super) clocks: Clocks,
    /// Why no reply reaches the interface, if that is known.
    pub(super) diverted: Option<String>,
    _hardware: Vec<HardwareGuard>,
}

impl Ends {
    /// Creates two ends on this host: on loopback, or at both ends of a simulated cable.
    pub(super) fn within(interface: &Interface, options: &LatencyOptions) -> Result<Self> {
        let far = far_end(interface)?;
        let sender = Arc::new(interface.bind(address_of(interface, options.family)?)?);
        let receiver = Arc::new(far.bind(address_of(&far, options.family)?)?);
        sender.connect(receiver.local_address()?)?;
        let ends = Self::on(&[interface, &far], sender, receiver, options)?;
        ends.timestamping(options)
    }

    /// Creates one socket on this host for a peer that returns all datagrams.
    pub(super) fn with_peer(
        interface: &Interface,
        peer: SocketAddr,
        options: &LatencyOptions,
    ) -> Result<Self> {
        let family = if peer.is_ipv4() {
            AddressFamily::Ipv4
        } else {
            AddressFamily::Ipv6
        };
        let socket = Arc::new(interface.bind(address_of(interface, family)?)?);
        let ends = Self::on(&[interface], Arc::clone(&socket), socket, options)?;
        Self {
            to: Some(peer),
            diverted: interface.diverted(),
            ..ends
        }
        .timestamping(options)
    }

    /// Uses sockets that the caller provides.
    pub(super) fn given(
        sender: Endpoint,
        receiver: Endpoint,
        to: SocketAddr,
        options: &LatencyOptions,
    ) -> Result<Self> {
        let clocks = Clocks {
            sender: sender
                .correlator
                .map_or_else(HostClock::software, HostClock::hardware),
            receiver: receiver
                .correlator
                .map_or_else(HostClock::software, HostClock::hardware),
            policy: policy(options),
        };
        let name = format!("{:?} to {to}", sender.socket);
        if options.source == TimestampSource::Hardware
            && !(clocks.sender.has_hardware() && clocks.receiver.has_hardware())
        {
            let error = invalid(
                &name,
                "hardware timestamps are asked for without correlators to convert them",
            );
            return Err(error.with_remedy("give both endpoints their interface's correlator"));
        }
        let (sender, receiver) = (sender.socket, receiver.socket);
        Self {
            name,
            sender,
            receiver,
            to: Some(to),
            clocks,
            diverted: None,
            _hardware: Vec::new(),
        }
        .timestamping(options)
    }

    /// Adds hardware timestamping and correlators if they are requested. The first interface sends,
    /// the last receives.
    fn on(
        interfaces: &[&Interface],
        sender: Arc<UdpSocket>,
        receiver: Arc<UdpSocket>,
        options: &LatencyOptions,
    ) -> Result<Self> {
        let (mut hardware, mut clocks) = (
            Vec::new(),
            Clocks {
                sender: HostClock::software(),
                receiver: HostClock::software(),
                policy: policy(options),
            },
        );
        if options.source == TimestampSource::Hardware {
            for (place, interface) in interfaces.iter().enumerate() {
                if place > 0 && interface.index() == interfaces[0].index() {
                    break; // one NIC, one clock
                }
                hardware.extend(interface.enable_datagram_hardware()?);
                let clock = HostClock::hardware(Arc::new(interface.correlator(READING)?));
                if place == 0 {
                    clocks.sender = clock.clone();
                }
                clocks.receiver = clock;
            }
        }
        let name = interfaces
            .first()
            .map_or_else(String::new, |interface| interface.name().to_owned());
        Ok(Self {
            name,
            sender,
            receiver,
            to: None,
            clocks,
            diverted: None,
            _hardware: hardware,
        })
    }

    fn timestamping(self, options: &LatencyOptions) -> Result<Self> {
        let source = match options.source {
            TimestampSource::Software => Source::Software,
            TimestampSource::Hardware => Source::Hardware,
        };
        let mut transmit = Timestamping::new()
            .source(source)
            .transmit(limits::transmit_capacity(options));
        if options.apart().is_some() {
            // packets that wait in a queue get their timestamps late, and that time is measured
            transmit = transmit.transmit_deadline(options.timeout);
        }
        if options.queueing {
            transmit = transmit.queueing();
        }
        if Arc::ptr_eq(&self.sender, &self.receiver) {
            self.sender.configure(transmit.receive())?;
        } else {
            self.sender.configure(transmit)?;
            self.receiver
                .configure(Timestamping::new().source(source).receive())?;
        }
        Ok(self)
    }
}

/// Only timestamps of the requested source are used.
fn policy(options: &LatencyOptions) -> TimestampPolicy {
    match options.source {
        TimestampSource::Software => TimestampPolicy::OnlySoftware,
        TimestampSource::Hardware => TimestampPolicy::OnlyHardware,
    }
}

pub(super) fn invalid(target: &str, cause: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target, cause)
}

/// The interface on this host at which datagrams sent through `interface` arrive.
fn far_end(interface: &Interface) -> Result<Interface> {
    let description = interface.description();
    if description.loopback {
        return Ok(interface.clone());
    }
    if !description.simulated {
        let cause = "the system delivers datagrams to its own addresses without this NIC";
        return Err(invalid(interface.name(), cause).with_remedy(
            "name a peer that returns datagrams (a UDP echo service), or measure on the loopback interface",
        ));
    }
    let all = Interface::all_of(interface.host())?;
    let other = all
        .into_iter()
        .find(|other| other.index() != interface.index());
    Ok(other.unwrap_or_else(|| interface.clone()))
}

/// An address of the interface, with any port.
fn address_of(interface: &Interface, family: AddressFamily) -> Result<SocketAddr> {
    let of_family = |address: &IpAddr| address.is_ipv4() == (family == AddressFamily::Ipv4);
    let addresses = interface
        .description()
        .addresses
        .iter()
        .map(|own| own.address)
        .filter(of_family);
    let is_local =
        |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    match addresses.min_by_key(is_local) {
        Some(IpAddr::V6(address)) => Ok(scoped(address, interface).into()),
        Some(IpAddr::V4(address)) => Ok((address, 0).into()),
        None => {
            let family = if family == AddressFamily::Ipv4 {
                "IPv4"
            } else {
                "IPv6"
            };
            let error = invalid(
                interface.name(),
                format!("the interface has no {family} address"),
            );
            Err(error.with_remedy("give it one, or measure over the other family"))
        }
    }
}

/// Adds the interface to a link-local address, which is ambiguous without it.
fn scoped(address: Ipv6Addr, interface: &Interface) -> SocketAddrV6 {
    let scope = if address.is_unicast_link_local() {
        interface.index().get()
    } else {
        0
    };
    SocketAddrV6::new(address, 0, 0, scope)
}

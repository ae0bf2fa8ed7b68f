//! The place of measurements: this system, or a simulation.

use crate::address::check_zone;
use crate::goal::{Goal, host_and_port, literal, unresolved};
use crate::options::{Family, Reflector};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use wirestamp::interface::ChangeEvent;
use wirestamp::{Error, ErrorKind, Interface, Result, Simulation, UdpSocket, Watch};

/// The place where an engine measures.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Place {
    /// The interfaces of this system.
    System,
    /// Those of a simulation, in virtual time.
    Simulation(Simulation),
}

impl Place {
    /// Returns whether the interfaces are simulated.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulation(_))
    }

    pub(crate) fn interfaces(&self) -> Result<Vec<Interface>> {
        match self {
            Self::System => {
                let mut found = Interface::list()?;
                found.retain(|interface| !interface.description().simulated);
                Ok(found)
            }
            Self::Simulation(simulation) => simulation.interfaces(),
        }
    }

    pub(crate) fn interface(&self, name: &str) -> Result<Interface> {
        match self {
            Self::System => Interface::find(name),
            Self::Simulation(simulation) => simulation.interface(name),
        }
    }

    /// Returns the address of a host that is given as a name or as in `192.0.2.1:862`; without a port, the given one is
    /// used. Resolving a name may take long.
    ///
    /// # Errors
    /// `Unreachable` if there is no such host, or none of this family. The hosts of a simulation are its interfaces.
    pub fn host(&self, host: &str, port: u16, family: Option<Family>) -> Result<SocketAddr> {
        let goal = Goal::of(host, port);
        let goal = Goal { family, ..goal };
        let found = || Ok(goal.find()?.address);
        self.find(&goal).unwrap_or_else(found)
    }

    /// Where a host is: in a simulation, an address is meant, or the interface that has it. `None`: the system's resolver knows.
    pub(crate) fn find(&self, goal: &Goal) -> Option<Result<SocketAddr>> {
        let Self::Simulation(simulation) = self else {
            return None;
        };
        let number = |zone: &str| {
            let interface = simulation.interface(zone).ok()?;
            Some(interface.index().get())
        };
        let known = || {
            let (name, port) = host_and_port(&goal.host)?;
            let interface = simulation.interface(&name).ok()?;
            let own = interface.description().addresses.iter();
            let mut own = own.map(|own| own.address.to_string());
            let port = port.unwrap_or(goal.port);
            own.find_map(|address| {
                let host = Goal {
                    host: address,
                    port,
                    ..goal.clone()
                };
                literal(&host, number)
            })
        };
        let unknown = || {
            let hosts = self.interfaces().unwrap_or_default();
            let hosts = hosts.iter().map(Interface::name).collect::<Vec<_>>();
            let cause = match goal.nts {
                Some(_) => "no host of the simulation agrees upon keys",
                None => "the simulation has no such host",
            };
            let unknown = unresolved(&goal.host, cause.to_owned());
            unknown.with_remedy(format!("name one of {}, or an address", hosts.join(", ")))
        };
        let found = literal(goal, number).or_else(known);
        Some(found.unwrap_or_else(|| Err(unknown())))
    }

    /// The interface that has an address.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<Interface> {
        let has = |interface: &Interface| {
            let mut own = interface.description().addresses.iter();
            own.any(|own| own.address == address)
        };
        self.interfaces().ok()?.into_iter().find(has)
    }

    pub(crate) fn watch(
        &self,
        callback: impl FnMut(&ChangeEvent) + Send + 'static,
    ) -> Result<Watch> {
        match self {
            Self::System => Watch::register(callback),
            Self::Simulation(simulation) => simulation.watch(callback),
        }
    }

    /// A socket of an interface, or of any.
    pub(crate) fn bind(&self, interface: Option<&str>, mut local: SocketAddr) -> Result<UdpSocket> {
        let interface = match (interface, self) {
            (Some(name), _) => self.interface(name)?,
            (None, Self::System) => return UdpSocket::bind(local),
            (None, Self::Simulation(_)) => {
                let mut all = self.interfaces()?;
                if all.is_empty() {
                    return Err(nothing("the simulation", "it has no interface"));
                }
                all.remove(0)
            }
        };
        if self.is_simulated() && local.ip().is_unspecified() {
            let own = interface
                .description()
                .addresses
                .iter()
                .map(|own| own.address);
            if let Some(own) = own.into_iter().find(|own| own.is_ipv4() == local.is_ipv4()) {
                local.set_ip(own);
            }
        }
        interface.bind(local)
    }

    /// The sockets of a reflector: those that systemd passes, else those of the addresses that are asked for, else of all addresses that this host has
    /// now and ever will have.
    pub(crate) fn reflector_sockets(&self, wanted: &Reflector) -> Result<Vec<UdpSocket>> {
        if !self.is_simulated() {
            let passed = passed(wanted.alone)?;
            if !passed.is_empty() {
                return Ok(passed);
            }
        }
        let port = |mut address: SocketAddr| {
            if address.port() == 0 {
                address.set_port(wanted.port);
            }
            address
        };
        if !wanted.listen.is_empty() {
            let listen = wanted.listen.iter().copied().map(port);
            if !self.is_simulated() {
                let named = wanted.interface.as_deref();
                let mut each = listen.clone();
                each.try_for_each(|address| check_zone("answer packets", address, named))?;
            }
            return listen
                .map(|address| self.bind_own(wanted.interface.as_deref(), address))
                .collect();
        }
        #[cfg(unix)]
        if let (None, Self::System) = (&wanted.interface, self) {
            return wildcards(wanted.port);
        }
        let interfaces = match &wanted.interface {
            Some(name) => vec![self.interface(name)?],
            None => self.interfaces()?,
        };
        let own = interfaces.iter().flat_map(addresses);
        some(own.map(|(name, address)| {
            let interface = wanted.interface.as_ref().or(Some(&name));
            self.bind(interface.map(String::as_str), port(address))
        }))
    }

    /// A socket of the interface that is named; in a simulation, of the one that has the address.
    pub(crate) fn bind_own(
        &self,
        interface: Option<&str>,
        address: SocketAddr,
    ) -> Result<UdpSocket> {
        if interface.is_some() || !self.is_simulated() {
            return self.bind(interface, address);
        }
        let owner = self.owner(address.ip());
        self.bind(owner.as_ref().map(Interface::name), address)
    }
}

/// Those that can be bound: an IPv6 address that is not yet known to be unique, or was just removed, does not hinder the others.
fn some(bound: impl Iterator<Item = Result<UdpSocket>>) -> Result<Vec<UdpSocket>> {
    let (mut sockets, mut missing) = (Vec::new(), None);
    for socket in bound {
        match socket {
            Ok(socket) => sockets.push(socket),
            Err(error) if error.kind() == ErrorKind::NoSuchDevice => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    match missing {
        _ if !sockets.is_empty() => Ok(sockets),
        Some(error) => Err(error),
        None => Err(nothing("this host", "it has no address to answer on")),
    }
}

/// A socket for all addresses of each family: those that come later are answered on as well. On hosts without IPv6, of IPv4 alone.
#[cfg(unix)]
fn wildcards(port: u16) -> Result<Vec<UdpSocket>> {
    use std::net::Ipv4Addr;

    let mut sockets = vec![UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?];
    sockets.extend(ipv6_alone(port)?);
    Ok(sockets)
}

/// `None`: this host has no IPv6.
#[cfg(unix)]
fn ipv6_alone(port: u16) -> Result<Option<UdpSocket>> {
    use socket2::{Domain, Protocol, Socket, Type};
    use std::net::Ipv6Addr;

    let failed = |error: std::io::Error| {
        let target = format!("[::]:{port}");
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::NotPermitted,
            std::io::ErrorKind::AddrInUse => ErrorKind::Busy,
            _ => ErrorKind::Io,
        };
        let failed = Error::new(kind, "open a socket", target, error.to_string());
        failed.with_remedy("name the addresses to answer on with --listen")
    };
    let socket = match Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)) {
        Ok(socket) => socket,
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    socket.set_only_v6(true).map_err(failed)?;
    let wildcard = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match socket.bind(&wildcard.into()) {
        Ok(()) => UdpSocket::adopt(std::net::UdpSocket::from(socket)).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// A link-local address means nothing without its interface.
fn addresses(interface: &Interface) -> Vec<(String, SocketAddr)> {
    let address = |ip: IpAddr| match ip {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            SocketAddrV6::new(v6, 0, 0, interface.index().get()).into()
        }
        ip => SocketAddr::new(ip, 0),
    };
    let own = interface.description().addresses.iter();
    own.map(|own| (interface.name().to_owned(), address(own.address)))
        .collect()
}

/// Datagram sockets that systemd passes. Source: sd_listen_fds(3). They are taken once and kept, for a reflector that is opened again: by then their numbers
/// may be those of other files.
#[cfg(unix)]
fn passed(all: bool) -> Result<Vec<UdpSocket>> {
    static PASSED: std::sync::OnceLock<(usize, Vec<std::net::UdpSocket>)> =
        std::sync::OnceLock::new();
    let take = || {
        let mut from = listenfd::ListenFd::from_env();
        // a stream socket is the page's
        let datagrams = (0..from.len()).filter_map(|place| from.take_udp_socket(place).ok()?);
        let datagrams: Vec<_> = datagrams.collect();
        (from.len() - datagrams.len(), datagrams)
    };
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Io,
            "open a socket",
            "that systemd passed",
            error.to_string(),
        )
    };
    let (others, passed) = PASSED.get_or_init(take);
    if all && *others > 0 {
        let cause = "not all of them are datagram sockets";
        let (kind, operation) = (ErrorKind::InvalidInput, "open a socket");
        let refused = Error::new(kind, operation, "the passed sockets", cause);
        return Err(refused.with_remedy("pass datagram sockets alone (ListenDatagram=)"));
    }
    passed
        .iter()
        .map(|socket| UdpSocket::adopt(socket.try_clone().map_err(failed)?))
        .collect()
}

#[cfg(not(unix))]
fn passed(_all: bool) -> Result<Vec<UdpSocket>> {
    Ok(Vec::new())
}

fn nothing(target: &str, cause: &'static str) -> Error {
    Error::new(
        ErrorKind::NoSuchDevice,
        "open a socket",
        target.to_owned(),
        cause,
    )
    .with_remedy("give an interface an address, or name one with listen")
}

//! Where it is measured: this system, or a simulation.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use wirestamp::{ChangeEvent, Error, ErrorKind, Interface, Result, Simulation, UdpSocket, Watch};

/// The port of STAMP (RFC 8762, section 4.1).
const STAMP_PORT: u16 = 862;

/// Where it is measured.
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

    /// The sockets of a reflector: those that systemd passes, else those of the addresses that are asked for, else of all.
    pub(crate) fn reflector_sockets(&self, listen: &[SocketAddr]) -> Result<Vec<UdpSocket>> {
        if !self.is_simulated() {
            let passed = passed()?;
            if !passed.is_empty() {
                return Ok(passed);
            }
        }
        let own: Vec<_> = self.interfaces()?.iter().flat_map(addresses).collect();
        let mut wanted = if listen.is_empty() {
            own.iter().map(|(_, address)| *address).collect()
        } else {
            listen.to_vec()
        };
        if wanted.is_empty() {
            return Err(nothing("this host", "it has no address to answer on"));
        }
        wanted
            .iter_mut()
            .filter(|address| address.port() == 0)
            .for_each(|address| address.set_port(STAMP_PORT));
        let bind = |address: SocketAddr| {
            let owner = own
                .iter()
                .find(|(_, own)| own.ip() == address.ip())
                .map(|(name, _)| name.as_str());
            self.bind(owner.filter(|_| self.is_simulated()), address)
        };
        wanted.into_iter().map(bind).collect()
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
fn passed() -> Result<Vec<UdpSocket>> {
    static PASSED: std::sync::OnceLock<Vec<std::net::UdpSocket>> = std::sync::OnceLock::new();
    let take = || {
        let mut from = listenfd::ListenFd::from_env();
        // a stream socket is the page's
        let datagrams = (0..from.len()).filter_map(|place| from.take_udp_socket(place).ok()?);
        datagrams.collect()
    };
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Io,
            "open a socket",
            "that systemd passed",
            error.to_string(),
        )
    };
    let passed = PASSED.get_or_init(take).iter();
    passed
        .map(|socket| UdpSocket::adopt(socket.try_clone().map_err(failed)?))
        .collect()
}

#[cfg(not(unix))]
fn passed() -> Result<Vec<UdpSocket>> {
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

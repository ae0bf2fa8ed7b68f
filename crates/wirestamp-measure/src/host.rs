//! Opens the sockets of measurements.

use crate::address::check_zone;
use crate::host_stamp::Stamper;
use crate::nic::{Needs, NicClock, Nics, timestamps_everything};
use crate::options::Timestamper;
use crate::place::Place;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use wirestamp::{Error, ErrorKind, Interface, Result, UdpSocket};

/// Where it is measured, and the NICs' clocks there.
pub(crate) struct Host {
    pub(crate) place: Place,
    nics: Nics,
}

/// A socket that is connected to a host, and what its timestamps mean.
pub(crate) struct Connected {
    pub(crate) socket: UdpSocket,
    pub(crate) stamper: Stamper,
    /// The interface that packets leave by, if it is known.
    pub(crate) interface: Option<String>,
}

impl Host {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            nics: Nics::default(),
        }
    }

    /// Returns the clock of the interface's NIC if the NIC is to timestamp; `None` if the kernel does.
    pub(crate) fn nic(
        &self,
        interface: Option<&str>,
        wanted: Timestamper,
        needs: Needs,
    ) -> Result<Option<Rc<NicClock>>> {
        let Some(name) = interface else {
            return match wanted {
                Timestamper::Hardware => {
                    let cause = "hardware timestamps are of one NIC, and no interface is named";
                    let kind = ErrorKind::InvalidInput;
                    let refused = Error::new(kind, "timestamp", "any interface", cause);
                    Err(refused.with_remedy("name the interface, or choose another source"))
                }
                Timestamper::Auto | Timestamper::Software => Ok(None),
            };
        };
        if wanted == Timestamper::Software {
            return Ok(None);
        }
        let interface = self.place.interface(name)?;
        match wanted == Timestamper::Auto && !timestamps_everything(&interface) {
            true => Ok(None),
            false => self.nics.clock(&interface, needs).map(Some),
        }
    }

    /// Returns a socket that is connected to an NTP server, with timestamps of the wanted source and room for this many
    /// transmit timestamps.
    pub(crate) fn connect(
        &self,
        remote: SocketAddr,
        wanted: Timestamper,
        capacity: u16,
    ) -> Result<Connected> {
        let way = self.way(remote)?;
        let is_hardware = way.interface.as_ref().is_some_and(|nic| match wanted {
            Timestamper::Software => false,
            Timestamper::Hardware => true,
            Timestamper::Auto => timestamps_everything(nic),
        });
        let nic = way.interface.as_ref().filter(|_| is_hardware);
        let (socket, stamper) = match nic {
            Some(nic) => (
                nic.bind(way.local)?,
                Stamper::hardware(self.nics.clock(nic, Needs::Both("NTP"))?),
            ),
            None => (
                self.place.bind(None, (any(remote), 0).into())?,
                Stamper::software(),
            ),
        };
        stamper.configure(&socket, capacity)?;
        socket.connect(remote)?;
        Ok(Connected {
            socket,
            stamper,
            interface: way.interface.map(|one| one.name().to_owned()),
        })
    }

    /// Returns how packets to a host leave.
    fn way(&self, remote: SocketAddr) -> Result<Way> {
        if self.place.is_simulated() {
            let own = |interface: &Interface| {
                let own = interface.description().addresses.iter();
                own.map(|own| own.address)
                    .find(|own| own.is_ipv4() == remote.is_ipv4())
            };
            let interface = self.place.interfaces()?.into_iter().next();
            let local = interface.as_ref().and_then(own);
            return Ok(Way {
                local: (local.unwrap_or_else(|| any(remote)), 0).into(),
                interface,
            });
        }
        check_zone("send packets", remote, None)?;
        let local = local_address(remote)?;
        // packets to an own address never reach its NIC
        let interface = if remote.ip() == local.ip() {
            Interface::loopback().ok()
        } else {
            // interfaces with one MAC address have one link-local address
            let zone = zone_of(remote);
            let has = |interface: &Interface| {
                let mut own = interface.description().addresses.iter();
                own.any(|own| own.address == local.ip())
                    && zone.is_none_or(|zone| interface.index().get() == zone)
            };
            self.place.interfaces()?.into_iter().find(has)
        };
        Ok(Way { local, interface })
    }
}

struct Way {
    local: SocketAddr,
    interface: Option<Interface>,
}

fn zone_of(address: SocketAddr) -> Option<u32> {
    match address {
        SocketAddr::V6(address) => Some(address.scope_id()).filter(|zone| *zone != 0),
        SocketAddr::V4(_) => None,
    }
}

fn any(remote: SocketAddr) -> IpAddr {
    match remote.is_ipv4() {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Returns the local address that the system would send from. Sends nothing.
fn local_address(remote: SocketAddr) -> Result<SocketAddr> {
    let asked = std::net::UdpSocket::bind((any(remote), 0)).and_then(|socket| {
        socket.connect(remote)?;
        socket.local_addr()
    });
    match asked {
        Ok(mut local) => {
            local.set_port(0);
            Ok(local)
        }
        Err(error) => Err(told("find the way", &remote.to_string(), &error)),
    }
}

/// What the system says, in its words, with its number apart.
pub(crate) fn told(operation: &'static str, target: &str, error: &std::io::Error) -> Error {
    let (kind, text) = (ErrorKind::Unreachable, error.to_string());
    let Some(code) = error.raw_os_error() else {
        return Error::new(kind, operation, target.to_owned(), text);
    };
    let text = text.replace(&format!(" (os error {code})"), "");
    Error::new(kind, operation, target.to_owned(), text.to_lowercase()).with_code(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_stamp::HostStamp;
    use wirestamp::time::UtcCrossTimestamp;
    use wirestamp::{Simulation, Span, TimestampSource, TransmitOutcome};

    /// A datagram of a simulated NIC that timestamps everything: when it left, and what was read before and after.
    fn sent(wanted: Timestamper) -> (HostStamp, [UtcCrossTimestamp; 2]) {
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let nic = simulation.interface("sim0").expect("it has one");
        let address = nic.description().addresses[0].address;
        let host = Host::new(Place::Simulation(simulation));
        let connected = host.connect((address, 9).into(), wanted, 16);
        let Connected {
            socket, stamper, ..
        } = connected.expect("connected");
        while stamper.ready().is_err() {
            socket.sleep_until(socket.now() + Span::from_milliseconds(1));
        }
        let before = socket.utc_cross_timestamp();
        let outcome = socket.send_timestamped(&[0; 48], std::time::Duration::from_secs(1));
        let after = socket.utc_cross_timestamp();
        match outcome.expect("sent") {
            TransmitOutcome::Timestamped(timestamps) => {
                let stamp = stamper.read(&timestamps, &socket);
                (stamp.expect("converted").0, [before, after])
            }
            TransmitOutcome::Missing(reason) => panic!("{reason}"),
        }
    }

    fn lies_between(stamp: &HostStamp, [before, after]: [UtcCrossTimestamp; 2]) {
        let HostStamp { monotonic, utc, .. } = *stamp;
        let (at, bound) = (monotonic.value, monotonic.bound);
        assert!(before.before <= at + bound, "{stamp:?} {before:?}");
        assert!(at <= after.after + bound, "{stamp:?} {after:?}");
        let (utc, bound) = (utc.value, utc.bound);
        assert!(
            before.utc <= utc + bound && utc <= after.utc + bound,
            "{stamp:?}"
        );
        assert!(bound < Span::from_microseconds(10), "{stamp:?}");
    }

    #[test]
    fn a_nics_timestamps_are_converted_to_both_local_clocks() {
        let (stamp, readings) = sent(Timestamper::Hardware);
        assert_eq!(stamp.source, TimestampSource::Hardware);
        lies_between(&stamp, readings);
        assert!(stamp.utc.bound > Span::ZERO, "a conversion has a bound");
    }

    #[test]
    fn nothing_is_switched_on_unless_asked() {
        for wanted in [Timestamper::Auto, Timestamper::Software] {
            let (stamp, readings) = sent(wanted);
            assert_eq!(stamp.source, TimestampSource::Software);
            lies_between(&stamp, readings);
        }
    }
}

//! The sockets at both ends of a rig. Sends nothing.

use super::Rig;
use crate::{Outcome, Stop};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use wirestamp::{HardwareGuard, HardwareRequest, Interface, Source, Span, Timestamping, UdpSocket};

/// The simulated NIC of a delayed pair: timestamps are collected after 50 ms.
pub(crate) const DELAYED: &str = r#"
preset = "ideal"
[nic.transmit]
collection = "50ms"
"#;
/// The veth of a delayed pair: 125 bytes a second, 300 of them at once.
const SLOW_LINK: &str = "tbf rate 1kbit burst 300 limit 100000";

/// Below the ports that systems give out.
const NOBODYS_PORT: u16 = 29_977;

/// Where PTP event messages go.
pub(crate) const PTP_EVENTS: u16 = 319;
/// The start of a PTPv2 Sync message, as far as NICs look.
pub(crate) const SYNC: [u8; 44] = {
    let mut message = [0; 44];
    message[1] = 2; // the version; message type 0 is Sync
    message
};

/// Which Internet protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    pub(crate) fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        }
    }

    /// The interface's own address, not a link-local one. Skipped where IPv6 is switched off.
    pub(crate) fn address_of(self, interface: &Interface) -> Outcome<IpAddr> {
        let addresses = interface
            .description()
            .addresses
            .iter()
            .map(|own| own.address);
        let fits = |address: &IpAddr| match address {
            IpAddr::V4(_) => self == Self::V4,
            IpAddr::V6(address) => self == Self::V6 && !address.is_unicast_link_local(),
        };
        let mut addresses = addresses.filter(fits);
        addresses.next().ok_or_else(|| {
            Stop::lacking(format!(
                "{} has no address of family {self:?}",
                interface.name()
            ))
        })
    }
}

/// A socket at each end, and the way from one to the other.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) sender: UdpSocket,
    pub(crate) receiver: UdpSocket,
    /// Leads to the receiver.
    pub(crate) to: SocketAddr,
}

impl Rig {
    /// A socket on the near interface.
    pub(crate) fn near_socket(&self, family: Family) -> Outcome<UdpSocket> {
        let near = self.near()?;
        self.socket_on(&near, (family.address_of(&near)?, 0).into())
    }

    /// A socket on the far interface.
    pub(crate) fn far_socket(&self, family: Family) -> Outcome<UdpSocket> {
        self.far_socket_at(family, 0)
    }

    fn far_socket_at(&self, family: Family, port: u16) -> Outcome<UdpSocket> {
        self.at_far(|| {
            let far = self.far()?;
            self.socket_on(&far, (family.address_of(&far)?, port).into())
        })
    }

    /// A socket of this rig.
    fn socket_on(&self, interface: &Interface, local: SocketAddr) -> Outcome<UdpSocket> {
        match self {
            Self::Adopted(_, origin) => origin.adopted(local),
            _ => Ok(interface.bind(local)?),
        }
    }

    /// An address at the far end where nobody listens. Not that of a socket just dropped: a
    /// child process of another test may still hold it for a moment.
    pub(crate) fn nobody(&self, family: Family) -> Outcome<SocketAddr> {
        let far = self.at_far(|| self.far())?;
        Ok((family.address_of(&far)?, NOBODYS_PORT).into())
    }

    /// A sender and a receiver, configured; receive timestamps are warm.
    pub(crate) fn pair(
        &self,
        family: Family,
        sending: Timestamping,
        receiving: Timestamping,
    ) -> Outcome<Pair> {
        self.pair_at(family, 0, sending, receiving)
    }

    /// The same, with a receiver on a certain port.
    pub(crate) fn pair_at(
        &self,
        family: Family,
        port: u16,
        sending: Timestamping,
        receiving: Timestamping,
    ) -> Outcome<Pair> {
        let sender = self.near_socket(family)?;
        let receiver = self.far_socket_at(family, port)?;
        sender.configure(sending)?;
        receiver.configure(receiving)?;
        self.warm_up();
        let to = receiver.local_address()?;
        Ok(Pair {
            sender,
            receiver,
            to,
        })
    }

    /// A pair over IPv4 with software timestamps: up to 64 transmit timestamps wait.
    pub(crate) fn timestamping_pair(&self) -> Outcome<Pair> {
        self.pair(
            Family::V4,
            Timestamping::OFF.transmit(64),
            Timestamping::OFF.receive(),
        )
    }

    /// Waits out the cold start: the first milliseconds of receive timestamps.
    pub(crate) fn warm_up(&self) {
        if self.is_simulated() {
            self.pass(Duration::from_millis(20));
        }
    }

    /// A pair whose transmit timestamps come 50 ms to a second after the send, for behaviours that need
    /// [`Need::DelayedTimestamps`](super::Need::DelayedTimestamps) and, on the simulator, [`DELAYED`].
    /// `sending` without its source. Hold on to the guard.
    pub(crate) fn delayed_pair(
        &self,
        sending: Timestamping,
    ) -> Outcome<(Pair, Option<HardwareGuard>)> {
        let deadline = sending.transmit_deadline.unwrap_or(Span::from_seconds(10));
        let sending = sending.transmit_deadline(deadline);
        if self.is_simulated() {
            let guard = self.near()?.enable_hardware(HardwareRequest::AllPackets)?;
            let pair = self.pair(
                Family::V4,
                sending.source(Source::Hardware),
                Timestamping::OFF,
            )?;
            return Ok((pair, Some(guard)));
        }
        if let Self::Model(_) = self {
            return Ok((
                self.pair(
                    Family::V4,
                    sending.source(Source::Hardware),
                    Timestamping::OFF,
                )?,
                None,
            ));
        }
        self.network().shape(SLOW_LINK).map_err(Stop::Lacking)?;
        let pair = self.pair(Family::V4, sending, Timestamping::OFF)?;
        pair.sender.send_to(&[0; 240], pair.to, None)?; // uses up what may go at once
        pair.receive()?;
        Ok((pair, None))
    }
}

//! Which NIC a server is reached through, whose timestamps its packets get, and what these mean on the local clocks.

use crate::arguments;
use crate::commands::advised;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wirestamp::{
    CorrelatorOptions, Direction, Error, ErrorKind, HardwareGuard, HardwareRequest, HostClock,
    Interface, Source, TimestampPolicy, Timestamping, Timestamps, UdpSocket,
};
use wirestamp_ntp::LocalTime;

/// Transmit timestamps that are awaited at once.
const CAPACITY: u16 = 16;
/// A correlator that is not ready by then is no help.
const PATIENCE: Duration = Duration::from_secs(5);

/// The NICs in use, and what converts their timestamps.
pub(super) struct Clocks {
    wanted: arguments::Source,
    by_name: BTreeMap<String, Rc<NicClock>>,
}

/// One NIC's clock. The NIC timestamps while this lives, if it was asked to.
pub(super) struct NicClock {
    clock: HostClock,
    _switched_on: Option<HardwareGuard>,
}

/// A socket to one server, and whose timestamps it gives.
pub(super) struct Timestamped {
    pub(super) socket: UdpSocket,
    pub(super) interface: Option<String>,
    nic: Option<Rc<NicClock>>,
}

impl Clocks {
    pub(super) fn new(wanted: arguments::Source) -> Self {
        Self {
            wanted,
            by_name: BTreeMap::new(),
        }
    }

    /// A socket connected to a server, at the address and NIC that the system reaches it through.
    pub(super) fn socket(&mut self, server: SocketAddr) -> Result<Timestamped, Error> {
        let local = local_address(server)?;
        // packets to an own address never reach its NIC
        let interface = if server.ip() == local.ip() {
            Interface::loopback().ok()
        } else {
            interface_of(local.ip())?
        };
        let nic = match &interface {
            Some(interface) => self.nic(interface)?,
            None => None,
        };
        let source = if nic.is_some() {
            Source::Hardware
        } else {
            Source::Software
        };
        let socket = match &interface {
            Some(interface) if nic.is_some() => interface.bind(local)?,
            _ => UdpSocket::bind(local)?,
        };
        socket.configure(
            Timestamping::OFF
                .receive()
                .transmit(CAPACITY)
                .source(source),
        )?;
        socket.connect(server)?;
        Ok(Timestamped {
            socket,
            interface: interface.map(|interface| interface.name().to_owned()),
            nic,
        })
    }

    /// The NIC's clock, if its timestamps are to be used.
    fn nic(&mut self, interface: &Interface) -> Result<Option<Rc<NicClock>>, Error> {
        let wanted = match self.wanted {
            arguments::Source::Software => false,
            arguments::Source::Hardware => true,
            arguments::Source::Auto => timestamps_everything(interface),
        };
        if !wanted {
            return Ok(None);
        }
        if let Some(known) = self.by_name.get(interface.name()) {
            return Ok(Some(Rc::clone(known)));
        }
        let switched_on = if timestamps_everything(interface) {
            None
        } else {
            let request = HardwareRequest::AllPackets;
            let guard = interface.enable_hardware(request);
            Some(guard.map_err(|error| advised(error, interface))?)
        };
        let correlator = interface.correlator(CorrelatorOptions::default())?;
        correlator.wait_until_ready(PATIENCE)?;
        let nic = Rc::new(NicClock {
            clock: HostClock::hardware(Arc::new(correlator)),
            _switched_on: switched_on,
        });
        self.by_name
            .insert(interface.name().to_owned(), Rc::clone(&nic));
        Ok(Some(nic))
    }
}

impl Timestamped {
    pub(super) fn source(&self) -> &'static str {
        if self.nic.is_some() {
            "hardware"
        } else {
            "software"
        }
    }

    /// What timestamps mean on the local clocks; `None` if there is none of the right kind, or it cannot be
    /// converted.
    pub(super) fn local_time(&self, timestamps: &Timestamps) -> Option<LocalTime> {
        let (clock, policy) = match &self.nic {
            Some(nic) => (nic.clock.clone(), TimestampPolicy::OnlyHardware),
            None => (HostClock::software(), TimestampPolicy::OnlySoftware),
        };
        let time = clock.place(timestamps, policy).ok()?;
        // the kernel's is on the scale from before a step: the client sees that
        let both = || self.socket.utc_cross_timestamp();
        let utc = clock.utc(&time, both).ok()?;
        Some(LocalTime {
            utc: utc.at,
            utc_bound: utc.bound,
            monotonic: time.monotonic.at,
            monotonic_bound: time.monotonic.bound,
        })
    }
}

/// The local address that the system would send from. Sends nothing.
fn local_address(server: SocketAddr) -> Result<SocketAddr, Error> {
    let any: SocketAddr = if server.is_ipv4() {
        ([0; 4], 0).into()
    } else {
        ([0u16; 8], 0).into()
    };
    let asked = std::net::UdpSocket::bind(any).and_then(|socket| {
        socket.connect(server)?;
        socket.local_addr()
    });
    match asked {
        Ok(mut local) => {
            local.set_port(0);
            Ok(local)
        }
        Err(error) => Err(crate::failure::told(
            ErrorKind::Unreachable,
            "find the way",
            &server.to_string(),
            &error,
        )),
    }
}

fn interface_of(address: IpAddr) -> Result<Option<Interface>, Error> {
    let has = |interface: &Interface| {
        let description = interface.description();
        let mut own = description.addresses.iter();
        !description.simulated && own.any(|own| own.address == address)
    };
    Ok(Interface::list()?.into_iter().find(has))
}

/// Whether the NIC timestamps NTP packets as it is now.
fn timestamps_everything(interface: &Interface) -> bool {
    interface.active().is_ok_and(|active| {
        let timestamps = |direction| active.hardware.timestamps_any_datagram(direction);
        timestamps(Direction::Receive) && timestamps(Direction::Transmit) && active.cross_timestamp
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::{Simulation, Span, TransmitOutcome, UtcCrossTimestamp};

    /// A datagram of a simulated NIC that timestamps everything: when it left, and what was read before and after.
    fn sent(source: arguments::Source) -> (Timestamped, Option<LocalTime>, [UtcCrossTimestamp; 2]) {
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let interface = simulation.interface("sim0").expect("it has one");
        let nic = Clocks::new(source).nic(&interface).expect("it can");
        let address = interface.description().addresses[0].address;
        let socket = interface.bind((address, 0).into()).expect("bound");
        let wanted = if nic.is_some() {
            Source::Hardware
        } else {
            Source::Software
        };
        let timestamping = Timestamping::OFF
            .receive()
            .transmit(CAPACITY)
            .source(wanted);
        socket.configure(timestamping).expect("granted");
        socket.connect((address, 9)).expect("connected");
        let timestamped = Timestamped {
            socket,
            interface: None,
            nic,
        };
        let socket = &timestamped.socket;
        let before = socket.utc_cross_timestamp();
        let outcome = socket.send_timestamped(&[0; 48], Duration::from_secs(1));
        let after = socket.utc_cross_timestamp();
        let local = match outcome.expect("sent") {
            TransmitOutcome::Timestamped(timestamps) => timestamped.local_time(&timestamps),
            TransmitOutcome::Missing(reason) => panic!("{reason}"),
        };
        (timestamped, local, [before, after])
    }

    fn lies_between(local: &LocalTime, [before, after]: [UtcCrossTimestamp; 2]) {
        let LocalTime {
            utc,
            utc_bound,
            monotonic,
            monotonic_bound,
        } = *local;
        assert!(
            before.before <= monotonic + monotonic_bound,
            "{local:?} {before:?}"
        );
        assert!(
            monotonic <= after.after + monotonic_bound,
            "{local:?} {after:?}"
        );
        assert!(
            before.utc <= utc + utc_bound && utc <= after.utc + utc_bound,
            "{local:?}"
        );
        assert!(utc_bound < Span::from_microseconds(10), "{local:?}");
    }

    #[test]
    fn a_nics_timestamps_are_converted_to_both_local_clocks() {
        let (timestamped, local, readings) = sent(arguments::Source::Hardware);
        assert_eq!(timestamped.source(), "hardware");
        let local = local.expect("converted");
        lies_between(&local, readings);
        assert!(
            local.utc_bound > Span::ZERO,
            "a conversion has a bound: {local:?}"
        );
    }

    #[test]
    fn nothing_is_switched_on_unless_asked() {
        for source in [arguments::Source::Auto, arguments::Source::Software] {
            let (timestamped, local, readings) = sent(source);
            assert_eq!(timestamped.source(), "software");
            lies_between(&local.expect("a kernel timestamp"), readings);
        }
    }
}

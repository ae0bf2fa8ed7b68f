//! The peers in a simulation: hosts, servers and clocks at the other end of the cable, which answer the measurements.

use crate::options::{ClockBound, Measurements, Ptp, Reflector, Relation, Stamp};
use crate::place::Place;
use crate::wanted::Wanted;
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::{Interface, Simulation};
use wirestamp_ptp::{Clock, Role, Source, Timescale, Trust};

/// More replies a second than any measurement asks for.
const RATE: u32 = 10_000_000;
/// The smallest error that a packet can state: both ends of a simulation have one clock, which is right.
const EXACT: Duration = Duration::from_nanos(1);

impl Measurements {
    /// Returns the measurements for the other end of a simulation's cable, which answer these: a reflector for STAMP
    /// peers, NTP servers that show the right time, a PTP clock in the other role, and for a reflector a session of ten
    /// packets a second. Measurements that answer themselves have no peer, nor do hosts that are not an interface of
    /// the simulation. The reflector has the key of the first session.
    #[must_use]
    pub fn peers(&self, simulation: &Simulation) -> Self {
        let place = Place::Simulation(simulation.clone());
        let own = |address: &SocketAddr| place.owner(address.ip()).is_some();
        let address = |wanted: Wanted| place.find(&wanted.goal()?)?.ok().filter(own);
        let is_answered = |address: &SocketAddr| {
            let reflector = self.reflector.as_ref();
            reflector.is_some_and(|one| answers_on(one, *address, &place))
        };
        let mut peers = Self::default();
        for stamp in &self.stamp {
            let asked = address(Wanted::Stamp(stamp.clone()));
            if let Some(address) = asked.filter(|address| !is_answered(address)) {
                let reflector = peers.reflector.get_or_insert_with(|| reflector(stamp));
                if !reflector.listen.contains(&address) {
                    reflector.listen.push(address);
                }
            }
        }
        for ntp in &self.ntp {
            peers.ntp_servers.extend(address(Wanted::Ntp(ntp.clone())));
        }
        peers.ptp = self
            .ptp
            .iter()
            .flat_map(|ptp| ptp.interfaces().iter().map(move |name| (ptp, name)))
            .filter_map(|(ptp, name)| clock(ptp, name, &place))
            .filter(|there| {
                let mut here = self.ptp.iter().flat_map(Ptp::interfaces);
                here.all(|here| *here != there.interface)
            })
            .collect();
        let sender = self.reflector.as_ref().and_then(|one| sender(one, &place));
        peers.stamp.extend(sender);
        peers
    }
}

fn reflector(session: &Stamp) -> Reflector {
    let mut reflector = Reflector::default();
    reflector.key_file.clone_from(&session.key_file);
    reflector.rate = RATE;
    reflector.answer_short = true;
    reflector.format = session.format;
    reflector.clock_bound = match session.clocks {
        Relation::Utc => ClockBound::At(EXACT),
        Relation::Same | Relation::Unrelated => ClockBound::Unknown,
    };
    reflector
}

fn answers_on(reflector: &Reflector, address: SocketAddr, place: &Place) -> bool {
    let owner = place.owner(address.ip());
    let is_of_interface = reflector.interface.as_deref().is_none_or(|name| {
        let owner = owner.as_ref().map(Interface::name);
        owner == Some(name)
    });
    match &reflector.listen[..] {
        [] => is_of_interface && address.port() == reflector.port,
        listen => listen.iter().any(|own| {
            let port = if own.port() == 0 {
                reflector.port
            } else {
                own.port()
            };
            (own.ip(), port) == (address.ip(), address.port())
        }),
    }
}

/// Sends to the first address that a reflector answers on.
fn sender(reflector: &Reflector, place: &Place) -> Option<Stamp> {
    let near = match (&reflector.interface, reflector.listen.first()) {
        (Some(name), _) => place.interface(name).ok()?,
        (None, Some(address)) => place.owner(address.ip())?,
        (None, None) => place.interfaces().ok()?.into_iter().next()?,
    };
    let far = other_end(&near, place)?;
    let own = near.description().addresses.first()?.address;
    let asked = reflector.listen.first().copied();
    let mut address = asked.unwrap_or_else(|| (own, 0).into());
    if address.port() == 0 {
        address.set_port(reflector.port);
    }
    let mut stamp = Stamp::with(address.to_string());
    stamp.interface = Some(far.name().to_owned());
    stamp.key_file.clone_from(&reflector.key_file);
    Some(stamp)
}

/// Returns a clock in the other role with the same domain, transport and intervals.
fn clock(here: &Ptp, interface: &str, place: &Place) -> Option<Ptp> {
    let far = other_end(&place.interface(interface).ok()?, place)?;
    let mut there = Ptp::at(far.name());
    let options = &mut there.options;
    options.clone_from(&here.options);
    (options.identity, options.trust) = (None, Trust::default());
    (options.clock, options.enable_hardware) = (Clock::Measure, false);
    options.role = match here.options.role {
        Role::TimeTransmitter => Role::TimeReceiver,
        Role::TimeReceiver => {
            // the system's clock shows UTC, and the NIC's anything
            options.source = Source::Software;
            (options.timescale, options.utc_valid) = (Timescale::Ptp, true);
            Role::TimeTransmitter
        }
    };
    Some(there)
}

/// A cable of the simulation has two.
fn other_end(near: &Interface, place: &Place) -> Option<Interface> {
    let mut all = place.interfaces().ok()?.into_iter();
    all.find(|one| one.index() != near.index())
}

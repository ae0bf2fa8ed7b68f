//! The clock at the other end of a simulated cable, which takes the other role.

use crate::session::Session;
use wirestamp::{Error, Interface, MonotonicTime, UdpSocket};
use wirestamp_measure::{Engine, Measurements, Place, Ptp, Sample};
use wirestamp_ptp::{Configuration, Node};

/// Nobody, on interfaces of this system.
pub(super) struct Peers(Option<Engine>);

impl Peers {
    pub(super) fn of(
        configuration: &Configuration,
        interfaces: &[Interface],
        session: &Session,
    ) -> Result<Self, Error> {
        let place = session.place(&interfaces[0])?;
        let Place::Simulation(simulation) = &place else {
            return Ok(Self(None));
        };
        let here = interfaces.iter().map(|interface| {
            let mut here = Ptp::at(interface.name());
            here.options.clone_from(configuration);
            here
        });
        let here = here.fold(Measurements::default(), Measurements::ptp);
        let peers = here.peers(simulation);
        Engine::new(peers, place).map(Some).map(Self)
    }

    /// Serves the clock here and those there once, and then waits for the next thing to do, at most until `until`.
    pub(super) fn run(&mut self, node: &mut Node<'_>, until: MonotonicTime) -> Result<(), Error> {
        let Some(peers) = &mut self.0 else {
            return node.run(until);
        };
        node.serve();
        let next = peers.serve(&peers.moment(), &mut |_: &Sample<'_>| {});
        let sockets: Vec<&UdpSocket> = node.sockets().collect();
        peers.wait_beside(next.min(node.next_at()).min(until), &sockets)
    }
}

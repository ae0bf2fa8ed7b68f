//! Looks for the neighbour by which packets of a named interface leave: Linux reports a missing one to sockets that are bound to no
//! interface alone.

use crate::place::Place;
use std::net::IpAddr;
use wirestamp::interface::NeighbourWatch;
use wirestamp::{ErrorKind, Interface, MonotonicTime, Span};

/// The system is asked so often at most.
const LOOK: Span = Span::from_seconds(1);

pub(crate) struct Neighbour {
    interface: Interface,
    peer: IpAddr,
    watch: NeighbourWatch,
    due: MonotonicTime,
}

impl Neighbour {
    /// Returns `None` where nothing is to be asked: no interface is named, or this system does not say.
    pub(crate) fn of(place: &Place, interface: Option<&str>, peer: IpAddr) -> Option<Self> {
        let interface = place.interface(interface?).ok()?;
        let asked = interface.neighbour(peer);
        let is_known = !asked.is_err_and(|error| error.kind() == ErrorKind::NotSupported);
        is_known.then(|| Self {
            interface,
            peer,
            watch: NeighbourWatch::default(),
            due: MonotonicTime::MIN,
        })
    }

    /// Returns when it is looked for again.
    pub(crate) fn due(&self) -> MonotonicTime {
        self.due
    }

    /// Looks, unless it did just now. Returns whether nobody is there.
    pub(crate) fn is_missing(&mut self, now: MonotonicTime) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + LOOK;
        let found = self.interface.neighbour(self.peer);
        found.is_ok_and(|found| self.watch.is_missing(found, now))
    }
}

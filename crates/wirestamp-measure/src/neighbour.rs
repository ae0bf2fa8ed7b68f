//! Looks for the neighbour by which packets leave an interface: Linux reports a missing one to sockets that are bound to no
//! interface alone.

use crate::place::Place;
use crate::undelivered::Undelivered;
use std::net::SocketAddr;
use wirestamp::interface::{NeighbourState, NeighbourWatch};
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime};

pub(crate) struct Neighbour {
    interface: Interface,
    peer: SocketAddr,
    watch: NeighbourWatch,
    due: MonotonicTime,
}

/// What a look has shown.
#[derive(Debug, PartialEq)]
pub(crate) enum Looked {
    /// Nobody is there: why packets do not leave.
    Missing(Error),
    /// Somebody is there: this is no longer so.
    Back(Error),
}

impl Neighbour {
    /// Returns `None` where nothing is to be asked: no interface is known, or this system does not say.
    pub(crate) fn of(place: &Place, interface: Option<&str>, peer: SocketAddr) -> Option<Self> {
        let interface = place.interface(interface?).ok()?;
        let asked = interface.neighbour(peer.ip());
        let is_known = !asked.is_err_and(|error| error.kind() == ErrorKind::NotSupported);
        is_known.then(|| Self {
            interface,
            peer,
            watch: NeighbourWatch::default(),
            due: MonotonicTime::MIN,
        })
    }

    /// Returns when it is looked for again, if it is unclear whether packets leave.
    pub(crate) fn due(&self) -> MonotonicTime {
        self.due
    }

    /// It is clear that packets leave: a later look begins anew.
    pub(crate) fn rest(&mut self) {
        self.watch = NeighbourWatch::default();
    }

    /// Looks, unless it did just now, and notes what it finds. Returns what is new.
    pub(crate) fn look(
        &mut self,
        undelivered: &mut Undelivered,
        now: MonotonicTime,
    ) -> Option<Looked> {
        if now < self.due {
            return None;
        }
        self.due = now + NeighbourWatch::INTERVAL;
        // what cannot be asked is not known
        let found = self.interface.neighbour(self.peer.ip()).unwrap_or(None);
        judge(&mut self.watch, found, self.peer, undelivered, now)
    }
}

/// Notes what a look has found. Returns what is new.
fn judge(
    watch: &mut NeighbourWatch,
    found: Option<NeighbourState>,
    peer: SocketAddr,
    undelivered: &mut Undelivered,
    now: MonotonicTime,
) -> Option<Looked> {
    if watch.is_missing(found, now) {
        let error = undelivered.no_neighbour(now, peer).clone();
        return Some(Looked::Missing(error));
    }
    let is_there = found == Some(NeighbourState::Known);
    let over = is_there.then(|| undelivered.has_left()).flatten();
    over.map(Looked::Back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_that_comes_back_ends_the_error_of_its_absence() {
        use NeighbourState::{Failed, Incomplete, Known};
        let peer = SocketAddr::from(([198, 51, 100, 1], 862));
        let (mut watch, mut undelivered) = (NeighbourWatch::default(), Undelivered::default());
        let mut look = |second: i64, found| {
            let now = MonotonicTime::from_nanoseconds(second * 1_000_000_000);
            judge(&mut watch, found, peer, &mut undelivered, now)
        };
        assert_eq!(look(0, Some(Known)), None, "it was never missing");
        let Some(Looked::Missing(missing)) = look(1, Some(Failed)) else {
            panic!("nobody is there");
        };
        assert_eq!(look(2, Some(Incomplete)), None, "it may answer yet");
        assert_eq!(look(3, None), None, "it is not known");
        assert_eq!(look(4, Some(Known)), Some(Looked::Back(missing)));
        assert_eq!(look(5, Some(Known)), None, "that is no news");
    }
}

//! Looks for the neighbour by which packets leave an interface: Linux reports a missing one to sockets that are bound to no
//! interface alone.

use crate::place::Place;
use crate::undelivered::Undelivered;
use std::net::SocketAddr;
use wirestamp::interface::{NeighbourState, NeighbourWatch};
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime};

pub(crate) struct Neighbour {
    /// Where to look. None where nothing can be asked: no interface is known, or this system does not say.
    way: Option<(Interface, SocketAddr)>,
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
    pub(crate) fn of(place: &Place, interface: Option<&str>, peer: SocketAddr) -> Self {
        let interface = interface.and_then(|name| place.interface(name).ok());
        let way = interface.filter(|interface| {
            let asked = interface.neighbour(peer.ip());
            !asked.is_err_and(|error| error.kind() == ErrorKind::NotSupported)
        });
        Self {
            way: way.map(|interface| (interface, peer)),
            watch: NeighbourWatch::default(),
            due: MonotonicTime::MIN,
        }
    }

    /// Returns whether this host says that a neighbour is missing.
    pub(crate) fn is_asked(&self) -> bool {
        self.way.is_some()
    }

    /// Returns when [`Neighbour::look`] has something to do.
    pub(crate) fn due(&self, is_unclear: bool) -> MonotonicTime {
        let is_due = is_unclear && self.is_asked();
        if is_due { self.due } else { MonotonicTime::MAX }
    }

    /// Looks, at intervals, while it is unclear whether packets leave, and notes what it finds. Returns what is new.
    pub(crate) fn look(
        &mut self,
        is_unclear: bool,
        undelivered: &mut Undelivered,
        now: MonotonicTime,
    ) -> Option<Looked> {
        if !is_unclear {
            // a later look begins anew
            self.watch = NeighbourWatch::default();
            return None;
        }
        let (interface, peer) = self.way.as_ref().filter(|_| now >= self.due)?;
        self.due = now + NeighbourWatch::INTERVAL;
        // what cannot be asked is not known
        let found = interface.neighbour(peer.ip()).unwrap_or(None);
        judge(&mut self.watch, found, *peer, undelivered, now)
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

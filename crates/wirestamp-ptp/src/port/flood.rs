//! Flood protection of a port: counts the messages that are read, learns which senders are served,
//! and lets the system drop most messages of unknown senders during a flood.
//! [`trust`](crate::trust) has the thresholds.

use crate::configuration::Configuration;
use crate::message::PortIdentity;
use crate::sockets::{Filtering, Sockets};
use crate::trust::{
    Known, MOST_KNOWN, OTHER, Pin, Sender, Thinned, Thinning, class_of, pinned, source_of,
};
use std::net::IpAddr;
use wirestamp::{MonotonicTime, Result};

/// The known senders of a port, and the filters of its two sockets.
#[derive(Debug)]
pub(super) struct FloodGuard {
    domains: Vec<u8>,
    pinned: Vec<Sender>,
    known: Known,
    /// The senders whose messages are never dropped.
    senders: Vec<Sender>,
    event: Filtered,
    general: Filtered,
}

#[derive(Debug)]
struct Filtered {
    thinning: Thinning,
    /// The number of messages dropped at the socket until the end of the last window.
    dropped: u64,
    in_force: Option<Thinned>,
    /// Whether this system supports the filter.
    possible: bool,
}

impl FloodGuard {
    pub(super) fn new(configuration: &Configuration, now: MonotonicTime) -> Result<Self> {
        let pinned = pinned(&configuration.trust)?;
        let domains = std::iter::once(configuration.domain)
            .chain(configuration.trust.compare_domains.iter().copied());
        let filtered = || Filtered {
            thinning: Thinning::new(now),
            dropped: 0,
            in_force: None,
            possible: true,
        };
        Ok(Self {
            domains: domains.collect(),
            senders: pinned.clone(),
            pinned,
            known: Known::default(),
            event: filtered(),
            general: filtered(),
        })
    }

    /// Counts a datagram that was read, and returns whether its sender is known.
    pub(super) fn count(&mut self, event: bool, datagram: &[u8], from: Option<IpAddr>) -> bool {
        let class = class_of(datagram, &self.domains);
        let source = source_of(datagram).filter(|_| class != OTHER);
        let is_known =
            source.is_some_and(|source| self.senders.iter().any(|sender| sender.is(source, from)));
        let filtered = if event {
            &mut self.event
        } else {
            &mut self.general
        };
        filtered.thinning.count(class, is_known);
        is_known
    }

    /// Notes that a message was useful.
    pub(super) fn served(
        &mut self,
        source: PortIdentity,
        from: Option<IpAddr>,
        now: MonotonicTime,
    ) {
        let flooded = self.event.thinning.is_on() || self.general.thinning.is_on();
        self.known.served(source, from, now, flooded);
    }

    /// Updates the filters after a window. Returns the number of datagrams that the system has
    /// dropped since the last call.
    pub(super) fn turn(
        &mut self,
        sockets: &Sockets,
        followed: Option<PortIdentity>,
        now: MonotonicTime,
    ) -> u64 {
        if !self.event.thinning.is_due(now) && !self.general.thinning.is_due(now) {
            return 0;
        }
        let followed = followed.map(|source| Pin {
            clock: source.clock,
            port: Some(source.port),
        });
        let followed = followed.map(|pin| Sender {
            identity: Some(pin),
            address: None,
        });
        self.senders.clone_from(&self.pinned);
        self.senders
            .extend(followed.into_iter().chain(self.known.senders()));
        self.senders.truncate(MOST_KNOWN);
        let (domains, senders) = (&self.domains, &self.senders);
        let event = self.event.turn(sockets, true, domains, senders, now);
        event + self.general.turn(sockets, false, domains, senders, now)
    }

    /// Notes that the sockets were opened again.
    pub(super) fn reopened(&mut self) {
        for filtered in [&mut self.event, &mut self.general] {
            (filtered.dropped, filtered.in_force) = (0, None);
        }
    }
}

impl Filtered {
    fn turn(
        &mut self,
        sockets: &Sockets,
        event: bool,
        domains: &[u8],
        senders: &[Sender],
        now: MonotonicTime,
    ) -> u64 {
        if !self.thinning.is_due(now) {
            return 0;
        }
        let dropped_in_all = sockets.dropped(event);
        let dropped = dropped_in_all.saturating_sub(self.dropped);
        self.dropped = dropped_in_all;
        self.thinning.decide(now, dropped);
        let wanted = self.thinning.is_on().then(|| Thinned {
            domains: domains.to_vec(),
            known: senders.to_vec(),
            exponents: self.thinning.exponents(),
        });
        if self.possible && self.in_force != wanted {
            let filtering = sockets.thin_out(event, wanted.as_ref());
            self.attempted(filtering, wanted);
        }
        if !self.possible {
            self.thinning = Thinning::new(now);
        }
        dropped
    }

    /// Notes which filter is in force. One that could not be replaced is tried again.
    fn attempted(&mut self, filtering: Filtering, wanted: Option<Thinned>) {
        match filtering {
            Filtering::AsWanted => self.in_force = wanted,
            Filtering::AsBefore => {}
            Filtering::Unfiltered => self.in_force = None,
        }
        self.possible = filtering == Filtering::AsWanted || self.in_force.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::CLASSES;

    #[test]
    fn a_filter_that_could_not_be_taken_off_is_tried_again() {
        let mut filtered = Filtered {
            thinning: Thinning::new(MonotonicTime::MIN),
            dropped: 0,
            in_force: None,
            possible: true,
        };
        let thinned = Some(Thinned {
            domains: vec![0],
            known: Vec::new(),
            exponents: [1; CLASSES],
        });
        filtered.attempted(Filtering::AsWanted, thinned.clone());
        filtered.attempted(Filtering::AsBefore, None);
        assert_eq!((filtered.possible, &filtered.in_force), (true, &thinned));
        filtered.attempted(Filtering::AsWanted, None);
        assert_eq!((filtered.possible, &filtered.in_force), (true, &None));
        filtered.attempted(Filtering::AsBefore, thinned.clone());
        assert!(!filtered.possible, "this system has none");
        // the old one was taken off, and the new one could not be attached
        filtered.attempted(Filtering::AsWanted, thinned.clone());
        filtered.attempted(Filtering::Unfiltered, thinned);
        assert_eq!((filtered.possible, &filtered.in_force), (false, &None));
    }
}

//! Known senders, whose messages must not be lost in a flood from others: pinned ones, and those
//! that were served for a while before the flood.

use super::{Pin, Trust};
use crate::message::PortIdentity;
use std::net::IpAddr;
use wirestamp::{MonotonicTime, Result, Span};

/// The most learnt senders. Together with the pinned ones they must fit into a socket filter.
const PLACES: usize = 32;
/// The most known senders.
pub(crate) const MOST_KNOWN: usize = 64;
/// The number of served messages, and the time between the first and the last, after which a sender
/// is known.
const SERVED: u32 = 3;
const SERVED_FOR: Span = Span::from_seconds(2);
/// The silence after which a sender is forgotten: somewhat more than twice PTP's longest interval.
const SILENT: Span = Span::from_seconds(150);

/// A description of a sender; fields that are not set match any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) identity: Option<Pin>,
    pub(crate) address: Option<IpAddr>,
}

impl Sender {
    pub(crate) fn is(&self, source: PortIdentity, from: Option<IpAddr>) -> bool {
        self.identity.is_none_or(|pin| pin.is(source))
            && self.address.is_none_or(|address| Some(address) == from)
    }
}

/// Returns the pinned senders of the configuration.
pub(crate) fn pinned(trust: &Trust) -> Result<Vec<Sender>> {
    let identities = [trust.pins()?, trust.neighbour_pins()?].concat();
    let any = |list: Vec<_>| if list.is_empty() { vec![None] } else { list };
    let identities = any(identities.into_iter().map(Some).collect());
    let addresses: Vec<_> = trust
        .addresses
        .iter()
        .map(|address| Some(address.to_canonical()))
        .collect();
    let addresses = if addresses.is_empty() {
        vec![None]
    } else {
        addresses
    };
    let each = identities.into_iter().flat_map(|identity| {
        addresses
            .iter()
            .map(move |address| Sender {
                identity,
                address: *address,
            })
            .collect::<Vec<_>>()
    });
    Ok(each
        .filter(|sender| sender.identity.is_some() || sender.address.is_some())
        .take(PLACES)
        .collect())
}

#[derive(Debug, Clone, Copy)]
struct Place {
    source: PortIdentity,
    from: Option<IpAddr>,
    first: MonotonicTime,
    last: MonotonicTime,
    served: u32,
}

impl Place {
    fn is_known(&self) -> bool {
        self.served >= SERVED && self.last - self.first >= SERVED_FOR
    }
}

/// The learnt senders, in fixed memory.
#[derive(Debug, Default)]
pub(crate) struct Known {
    places: Vec<Place>,
}

impl Known {
    /// Notes that a message of this sender was useful. During a flood no new senders are learnt.
    pub(crate) fn served(
        &mut self,
        source: PortIdentity,
        from: Option<IpAddr>,
        now: MonotonicTime,
        flooded: bool,
    ) {
        if let Some(place) = self
            .places
            .iter_mut()
            .find(|place| place.source == source && place.from == from)
        {
            place.last = now;
            place.served = place.served.saturating_add(1);
            return;
        }
        if flooded {
            return;
        }
        let new = Place {
            source,
            from,
            first: now,
            last: now,
            served: 1,
        };
        if self.places.len() < PLACES {
            self.places.push(new);
            return;
        }
        let free = |place: &&mut Place| !place.is_known() || now - place.last > SILENT;
        if let Some(place) = self
            .places
            .iter_mut()
            .filter(free)
            .min_by_key(|place| place.last)
        {
            *place = new;
        }
    }

    pub(crate) fn senders(&self) -> impl Iterator<Item = Sender> {
        self.places
            .iter()
            .filter(|place| place.is_known())
            .map(|place| Sender {
                identity: Some(Pin {
                    clock: place.source.clock,
                    port: Some(place.source.port),
                }),
                address: place.from,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(seconds * 1_000_000_000)
    }

    fn source(number: u32) -> PortIdentity {
        let [a, b, c, d] = number.to_be_bytes();
        PortIdentity {
            clock: [2, 0, 0, 0, a, b, c, d],
            port: 1,
        }
    }

    #[test]
    fn a_sender_is_known_after_a_while_and_strangers_do_not_displace_it() {
        let mut known = Known::default();
        let from = Some(IpAddr::from([192, 0, 2, 1]));
        let is_known =
            |known: &Known, from| known.senders().any(|sender| sender.is(source(1), from));
        for second in 0..3 {
            assert!(!is_known(&known, from), "after {second} s");
            known.served(source(1), from, at(second), false);
        }
        assert!(is_known(&known, from));
        assert!(
            !is_known(&known, Some(IpAddr::from([192, 0, 2, 2]))),
            "the same identity from elsewhere"
        );
        for stranger in 2..100_000 {
            known.served(source(stranger), from, at(3), false);
        }
        assert!(is_known(&known, from));
        assert_eq!((known.senders().count(), known.places.len()), (1, PLACES));
    }

    #[test]
    fn nobody_is_learnt_during_a_flood_and_a_silent_sender_makes_room() {
        let mut known = Known::default();
        (0..10).for_each(|second| known.served(source(1), None, at(second), true));
        assert_eq!(known.places.len(), 0);
        for second in 0..3 {
            (0..PLACES as u32)
                .for_each(|number| known.served(source(number), None, at(second), false));
        }
        let learn = |known: &mut Known, begun: i64| {
            (0..3).for_each(|s| known.served(source(99), None, at(begun + s), false));
        };
        learn(&mut known, 10);
        assert!(
            !known.senders().any(|sender| sender.is(source(99), None)),
            "all places belong to known senders"
        );
        learn(&mut known, 200);
        assert!(known.senders().any(|sender| sender.is(source(99), None)));
    }

    #[test]
    fn pinned_identities_and_addresses_are_combined() {
        let mut trust = Trust::default();
        assert_eq!(pinned(&trust).expect("valid"), []);
        trust.addresses = vec![
            IpAddr::from([192, 0, 2, 1]),
            "::ffff:192.0.2.2".parse().expect("an address"),
        ];
        let addresses = pinned(&trust).expect("valid");
        assert_eq!(addresses.len(), 2);
        assert!(addresses[1].is(source(5), Some(IpAddr::from([192, 0, 2, 2]))));
        trust.timetransmitters = vec!["020000.0000.000005-1".into()];
        trust.neighbours = vec!["020000.0000.000006".into()];
        let both = pinned(&trust).expect("valid");
        let is_pinned = |number, last| {
            both.iter()
                .any(|sender| sender.is(source(number), Some([192, 0, 2, last].into())))
        };
        assert!(is_pinned(5, 1) && is_pinned(6, 2) && !is_pinned(5, 3) && !is_pinned(7, 1));
    }
}

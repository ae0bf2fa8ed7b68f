//! The sessions of a stateful reflector, in a table of limited size.

use super::Arrival;
use super::chain::Counts;
use super::limiter::prefix;
use super::replay::Replay;
use crate::packet::Request;
use crate::stamp::HostTimestamp;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// The silence after which a session can be forgotten to make room for another.
const IDLE: Span = Span::from_seconds(60);
/// The interval between searches for idle sessions.
const SWEEP: Span = Span::from_seconds(1);

/// The key of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    source: SocketAddr,
    destination: Option<IpAddr>,
    port: u16,
    ssid: u16,
}

impl SessionKey {
    pub(super) fn of(arrival: &Arrival<'_>, request: &Request) -> Self {
        Self {
            source: arrival.source,
            destination: arrival.destination,
            port: arrival.port,
            ssid: request.ssid,
        }
    }

    pub(super) fn source(&self) -> SocketAddr {
        self.source
    }
}

/// The previous reply of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Previous {
    pub(super) sequence: u32,
    pub(super) id: TransmitId,
    /// The time at which it left.
    pub(super) sent: Option<HostTimestamp>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Session {
    last_seen: MonotonicTime,
    /// The number of received requests, and that of sent replies.
    count: u32,
    /// The number of the next reply.
    next: u32,
    pub(super) previous: Option<Previous>,
    pub(super) replay: Replay,
    /// The counts of the sender's packets.
    pub(super) counts: Counts,
}

impl Session {
    fn new(now: MonotonicTime) -> Self {
        Self {
            last_seen: now,
            count: 0,
            next: 0,
            previous: None,
            replay: Replay::default(),
            counts: Counts::default(),
        }
    }

    /// Restarts the numbering of replies because the sender restarted from the same port. Packets
    /// seen before stay known.
    pub(super) fn begin_anew(&mut self) {
        (self.count, self.next, self.previous) = (0, 0, None);
    }

    /// A placeholder without a session: the reply has the request's number.
    pub(super) fn stateless(sequence: u32) -> Self {
        Self {
            next: sequence,
            ..Self::new(MonotonicTime::MIN)
        }
    }

    /// Counts a request and its reply. Returns the reply's number and the previous reply.
    pub(super) fn count(&mut self, id: TransmitId) -> (u32, Option<Previous>) {
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.count = self.count.wrapping_add(1);
        let this = Previous {
            sequence,
            id,
            sent: None,
        };
        (sequence, self.previous.replace(this))
    }

    /// The number of received requests, and that of sent replies.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.count, self.count)
    }
}

/// Sessions by their keys. A session keeps its index.
#[derive(Debug)]
pub(super) struct Sessions {
    places: HashMap<SessionKey, usize>,
    slots: Vec<Session>,
    free: Vec<usize>,
    /// The number of sessions of each source.
    shares: HashMap<u64, usize>,
    most: usize,
    swept: Option<MonotonicTime>,
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            shares: HashMap::new(),
            most,
            swept: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len() + self.free.len()
    }

    /// Returns the index of an old or new session; `None` if there is no room. A new session never
    /// displaces a live one, and a source has at most as many as it leaves free: if `n` sources
    /// take as many as they can, one in `n + 1` stays free for others.
    pub(super) fn find(&mut self, key: &SessionKey, now: MonotonicTime) -> Option<usize> {
        if let Some(place) = self.places.get(key) {
            self.slots[*place].last_seen = now;
            return Some(*place);
        }
        let source = prefix(key.source.ip());
        if !self.has_room_for(source) {
            self.sweep(now);
            if !self.has_room_for(source) {
                return None;
            }
        }
        *self.shares.entry(source).or_default() += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place] = Session::new(now);
                place
            }
            None => {
                self.slots.push(Session::new(now));
                self.slots.len() - 1
            }
        };
        self.places.insert(*key, place);
        Some(place)
    }

    fn has_room_for(&self, source: u64) -> bool {
        let share = self.shares.get(&source).copied().unwrap_or_default();
        share < self.most.saturating_sub(self.places.len())
    }

    pub(super) fn at(&mut self, place: usize) -> &mut Session {
        &mut self.slots[place]
    }

    /// Forgets idle sessions, at limited intervals.
    fn sweep(&mut self, now: MonotonicTime) {
        if self.swept.is_some_and(|swept| now - swept < SWEEP) {
            return;
        }
        self.swept = Some(now);
        let (slots, free) = (&self.slots, &mut self.free);
        self.shares.clear();
        self.places.retain(|key, place| {
            let lives = now - slots[*place].last_seen < IDLE;
            if lives {
                *self.shares.entry(prefix(key.source.ip())).or_default() += 1;
            } else {
                free.push(*place);
            }
            lives
        });
    }
}

//! Resolves hosts' names before a task is opened, and again when a host has long been silent: its name may have another
//! address by then.

use crate::address::own_zone;
use crate::goal::{Found, Goal, literal, unresolved};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use wirestamp::{MonotonicTime, Result, Span};

/// The first and the longest pause before it is checked whether a name is resolved; each is twice the one before.
const RESOLVING: (Span, Span) = (Span::from_milliseconds(50), Span::from_seconds(2));
/// The most names that are resolved at the same time: each takes a thread until the resolver answers or gives up.
const MOST: usize = 16;
/// When others are resolved, a place among them is asked for again after this.
pub(super) const LATER: Span = Span::from_milliseconds(250);
/// From one search for a silent host to the next.
const AGAIN: Span = Span::from_seconds(300);

/// How many names are resolved now, by all monitors of this process.
static RESOLVED: AtomicUsize = AtomicUsize::new(0);

/// A place among the names that are resolved.
struct Place(());

impl Place {
    fn take() -> Option<Self> {
        let more = |count| (count < MOST).then_some(count + 1);
        let taken = RESOLVED.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.is_ok().then(|| Self(()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RESOLVED.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A search under way, on a thread of its own: it may take long.
pub(super) struct Search {
    host: String,
    found: Receiver<Result<Found>>,
    wait: Span,
}

impl Search {
    /// `None`: too many names are being resolved.
    pub(super) fn begin(goal: &Goal) -> Result<Option<Self>> {
        let (sender, found) = channel();
        if let Some(address) = literal(goal, own_zone) {
            let _ = sender.send(address.map(Found::from));
            return Ok(Some(Self::new(&goal.host, found)));
        }
        let Some(place) = Place::take() else {
            return Ok(None);
        };
        let wanted = goal.clone();
        let search = move || {
            let found = wanted.find();
            drop(place);
            let _ = sender.send(found);
        };
        let started = thread::Builder::new()
            .name("wirestamp-resolve".into())
            .spawn(search);
        match started {
            Ok(_) => Ok(Some(Self::new(&goal.host, found))),
            Err(error) => Err(unresolved(&goal.host, error.to_string())),
        }
    }

    fn new(host: &str, found: Receiver<Result<Found>>) -> Self {
        Self {
            host: host.to_owned(),
            found,
            wait: RESOLVING.0,
        }
    }

    /// Returns the result, or when to ask again.
    pub(super) fn found(
        &mut self,
        now: MonotonicTime,
    ) -> std::result::Result<Result<Found>, MonotonicTime> {
        match self.found.try_recv() {
            Ok(found) => Ok(found),
            Err(TryRecvError::Empty) => {
                let wait = self.wait;
                self.wait = (wait + wait).min(RESOLVING.1);
                Err(now + wait)
            }
            Err(TryRecvError::Disconnected) => {
                Ok(Err(unresolved(&self.host, "the search ended".into())))
            }
        }
    }
}

/// Where a task's host is, and whether it is looked for again.
pub(super) struct Whereabouts {
    address: SocketAddr,
    search: Option<Search>,
    /// The other place that a search found.
    moved: Option<Found>,
    not_before: MonotonicTime,
}

/// The result of checking a host's address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// It is where it was, as far as is known.
    There,
    /// Check again at this time.
    At(MonotonicTime),
    /// It is at another address.
    Moved(SocketAddr),
}

impl Whereabouts {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            search: None,
            moved: None,
            not_before: MonotonicTime::MIN,
        }
    }

    pub(super) fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// Takes what was found at another address.
    pub(super) fn moved(&mut self) -> Option<Found> {
        self.moved.take()
    }

    /// Begins a search for a host that `is_silent`, and looks for what came of it. A search that fails leaves the host where it was.
    pub(super) fn look(
        &mut self,
        now: MonotonicTime,
        is_silent: bool,
        begin: impl FnOnce() -> Result<Option<Search>>,
    ) -> Looked {
        if self.search.is_none() && is_silent && now >= self.not_before {
            let begun = begin();
            let is_later = matches!(begun, Ok(None));
            self.not_before = now + if is_later { LATER } else { AGAIN };
            self.search = begun.ok().flatten();
            if is_later {
                return Looked::At(self.not_before);
            }
        }
        let Some(search) = &mut self.search else {
            return Looked::There;
        };
        match search.found(now) {
            Err(then) => Looked::At(then),
            Ok(found) => {
                self.search = None;
                match found {
                    Ok(found) if found.address != self.address => {
                        let address = found.address;
                        self.moved = Some(found);
                        Looked::Moved(address)
                    }
                    _ => Looked::There,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(found: Result<SocketAddr>) -> Result<Option<Search>> {
        let (sender, receiver) = channel();
        sender.send(found.map(Found::from)).expect("open");
        Ok(Some(Search::new("host", receiver)))
    }

    #[test]
    fn a_silent_host_is_looked_for_again_now_and_then() {
        let [old, new] =
            ["192.0.2.1:862", "192.0.2.2:862"].map(|text| text.parse().expect("it is one"));
        let at = |seconds| MonotonicTime::MIN + Span::from_seconds(seconds);
        let never = || -> Result<Option<Search>> { panic!("nothing is looked for") };
        let mut there = Whereabouts::new(old);
        assert_eq!(there.look(at(0), false, never), Looked::There, "it answers");
        // it is where it was
        assert_eq!(there.look(at(1), true, || finds(Ok(old))), Looked::There);
        assert_eq!(there.look(at(300), true, never), Looked::There, "too soon");
        // the name is not found
        let failed = || finds(Err(unresolved("host", "gone".into())));
        assert_eq!(there.look(at(301), true, failed), Looked::There);
        assert_eq!(there.look(at(302), true, never), Looked::There);
        // others are looked for
        let later = Looked::At(at(601) + LATER);
        assert_eq!(there.look(at(601), true, || Ok(None)), later);
        assert!(!there.is_searched());
        // the search takes a while, and is asked less and less often
        let (sender, found) = channel();
        let slow = Search::new("host", found);
        let mut now = at(602);
        let mut looked = there.look(now, true, || Ok(Some(slow)));
        let mut times = 0;
        while now < at(662) {
            let Looked::At(then) = looked else {
                panic!("{looked:?}")
            };
            assert!(there.is_searched() && then > now);
            (now, times) = (then, times + 1);
            looked = there.look(now, true, never);
        }
        assert!((30..40).contains(&times), "{times}");
        sender.send(Ok(new.into())).expect("open");
        assert_eq!(there.look(now, false, never), Looked::Moved(new));
        assert!(!there.is_searched());
    }

    /// Another test resolves a name meanwhile.
    fn all_places() -> Vec<Place> {
        let mut places = Vec::new();
        while places.len() < MOST {
            match Place::take() {
                Some(place) => places.push(place),
                None => thread::yield_now(),
            }
        }
        places
    }

    #[test]
    fn so_many_names_are_resolved_at_a_time_and_addresses_always() {
        let begun = |host: &str| Search::begin(&Goal::of(host, 862)).expect("a thread");
        let places = all_places();
        assert!(Place::take().is_none() && begun("localhost").is_none());
        let found = begun("192.0.2.1").map(|mut search| search.found(MonotonicTime::MIN));
        assert!(matches!(found, Some(Ok(Ok(_)))));
        drop(places);
        let mut search = begun("localhost").expect("a place");
        while search.found(MonotonicTime::MIN).is_err() {
            thread::yield_now();
        }
        // it gave its place back
        drop(all_places());
    }
}

//! Limits the connections, and decides which one is closed at the limit, so that no client locks the others out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// The use of a connection, in the order in which connections are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// It has made no permitted request yet.
    New,
    /// It has made one, and is idle.
    Idle,
    /// A permitted request is being answered.
    Answering,
}

#[derive(Debug)]
struct Connection {
    from: IpAddr,
    use_: Use,
    /// The answer is written but for what the other end has not taken yet.
    is_written: bool,
    task: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// By age.
    open: BTreeMap<u64, Connection>,
    closed: u64,
}

/// All connections of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections(Arc<Mutex<Table>>);

/// The place of one connection. Dropping it gives the place up.
#[derive(Debug)]
pub(super) struct Place {
    connections: Connections,
    number: u64,
}

impl Connections {
    /// Takes a connection. At `limit`, another one is closed for it; returns `None` if the new one must be closed
    /// itself.
    ///
    /// Connections without a permitted request are closed first, then idle ones; of these, the oldest of the address
    /// with most. One without a request stays if the new one's address has more of these, an idle one if that address
    /// has more connections. One that is being answered is closed only if its own address has more connections than the
    /// new one's would have.
    pub(super) fn admit(&self, from: IpAddr, limit: usize) -> Option<Place> {
        let from = network(from);
        let mut table = self.lock();
        while table.open.len() >= limit {
            if !table.close_one(Some(from)) {
                table.closed += 1;
                return None;
            }
        }
        let number = table.next;
        table.next += 1;
        let connection = Connection {
            from,
            use_: Use::New,
            is_written: false,
            task: None,
        };
        table.open.insert(number, connection);
        drop(table);
        Some(Place {
            connections: self.clone(),
            number,
        })
    }

    /// Closes connections until there are `limit`.
    pub(super) fn shrink(&self, limit: usize) {
        let mut table = self.lock();
        while table.open.len() > limit && table.close_one(None) {}
    }

    /// The task that serves a place: it is ended when the connection must go.
    pub(super) fn serve(&self, number: u64, task: AbortHandle) {
        self.change(number, |connection| connection.task = Some(task));
    }

    /// Returns how many connections were closed because there were too many.
    pub(super) fn closed(&self) -> u64 {
        self.lock().closed
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.lock().open.get_mut(&number) {
            change(connection);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Closes the first connection in this order, for one from `newcomer`; returns `false` if none may be closed.
    fn close_one(&mut self, newcomer: Option<IpAddr>) -> bool {
        // connections of each address, and those of them that have asked nothing
        let mut shares = BTreeMap::<IpAddr, (usize, usize)>::new();
        for connection in self.open.values() {
            let (all, new) = shares.entry(connection.from).or_default();
            *all += 1;
            *new += usize::from(connection.use_ == Use::New);
        }
        let shares = |from: &IpAddr| shares.get(from).copied().unwrap_or_default();
        let share = |from: &IpAddr| shares(from).0;
        let (mine, my_new) = newcomer.map_or((0, 0), |from| shares(&from));
        let least = mine + usize::from(newcomer.is_some());
        let goes = self
            .open
            .iter()
            .filter(|(_, one)| match one.use_ {
                Use::Answering => share(&one.from) > least,
                // who has more takes no place of one who has less; but who may ask takes those of any number who ask nothing
                Use::New => shares(&one.from).1 >= my_new,
                Use::Idle => share(&one.from) >= mine,
            })
            .min_by_key(|(number, one)| (one.use_, usize::MAX - share(&one.from), **number));
        let Some(number) = goes.map(|(number, _)| *number) else {
            return false;
        };
        if let Some(task) = self.open.remove(&number).and_then(|gone| gone.task) {
            task.abort();
        }
        self.closed += 1;
        true
    }
}

impl Place {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A request of one who may ask is there.
    pub(super) fn answering(&self) {
        self.connections.change(self.number, |connection| {
            (connection.use_, connection.is_written) = (Use::Answering, false);
        });
    }

    /// Its answer is written as far as this program is concerned.
    pub(super) fn written(&self) {
        let connections = &self.connections;
        connections.change(self.number, |connection| connection.is_written = true);
    }

    /// The other end has taken all that was written.
    pub(super) fn taken(&self) {
        self.connections.change(self.number, |connection| {
            // one who may not ask stays new
            if connection.is_written && connection.use_ == Use::Answering {
                connection.use_ = Use::Idle;
            }
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.number);
    }
}

/// One who has an IPv6 address has all of its /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let high = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(high))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Numbers of those that are open.
    fn open(connections: &Connections) -> Vec<u64> {
        connections.lock().open.keys().copied().collect()
    }

    #[test]
    fn when_it_is_full_the_oldest_without_a_request_goes_then_idle_ones() {
        let (connections, here) = (Connections::default(), address("192.0.2.1"));
        let admit = || connections.admit(here, 3).expect("there is room");
        let [answered, idle, new] = [admit(), admit(), admit()];
        answered.answering();
        idle.answering();
        idle.taken();
        assert_eq!(open(&connections), [0, 1, 2]);
        idle.written();
        idle.taken();
        let newer = admit();
        assert_eq!(open(&connections), [0, 1, 3], "the one that asked nothing");
        newer.answering();
        let newest = admit();
        assert_eq!(open(&connections), [0, 3, 4], "the idle one");
        newest.answering();
        assert!(connections.admit(here, 3).is_none(), "all are answered");
        assert_eq!(connections.closed(), 3);
        drop((answered, new, newest));
        assert_eq!(open(&connections), [3]);
    }

    /// It comes again and again, and never shows the token.
    #[test]
    fn who_may_not_ask_takes_no_place_of_one_who_has_just_come() {
        let connections = Connections::default();
        let stranger = || {
            let place = connections.admit(address("192.0.2.9"), 4)?;
            place.written(); // 401
            place.taken();
            Some(place)
        };
        let _held: Vec<_> = (0..3).filter_map(|_| stranger()).collect();
        let known = connections.admit(address("192.0.2.1"), 4);
        let known = known.expect("there is room");
        let _more: Vec<_> = (0..8).filter_map(|_| stranger()).collect();
        assert!(open(&connections).contains(&known.number()));
    }

    /// Each of them is of a network of its own.
    #[test]
    fn many_who_ask_nothing_do_not_lock_out_who_asks() {
        let connections = Connections::default();
        let _silent: Vec<_> = (0..62_u128)
            .filter_map(|number| {
                let from = Ipv6Addr::from_bits(0x2001_0db8 << 96 | number << 64);
                connections.admit(from.into(), 64)
            })
            .collect();
        let browser = || {
            let place = connections.admit(address("192.0.2.1"), 64);
            place.inspect(Place::answering)
        };
        let streams: Vec<_> = (0..30).map(|_| browser()).collect();
        assert!(streams.iter().all(Option::is_some), "{streams:?}");
        assert_eq!(open(&connections).len(), 64);
    }

    #[test]
    fn who_has_most_makes_room_for_who_has_less() {
        let connections = Connections::default();
        let streams = |from: &str, count: usize| -> Vec<Place> {
            let one = |_| {
                let place = connections.admit(address(from), 8)?;
                place.answering();
                Some(place)
            };
            (0..count).filter_map(one).collect()
        };
        // one host, by many addresses of its network
        let many: Vec<_> = (0..8)
            .flat_map(|host| streams(&format!("2001:db8::{host:x}"), 1))
            .collect();
        assert_eq!(many.len(), 8);
        assert_eq!(streams("2001:db8::ffff", 1).len(), 0, "its share is more");
        let others = streams("192.0.2.1", 8);
        assert_eq!(others.len(), 4, "half, and no more");
        assert_eq!(open(&connections).len(), 8);
        // the same host by IPv4 in IPv6's form
        assert_eq!(streams("::ffff:192.0.2.1", 1).len(), 0);
        assert_eq!(streams("198.51.100.1", 8).len(), 2, "a third");
    }

    #[test]
    fn a_lower_limit_holds_at_once() {
        let (connections, here) = (Connections::default(), address("::1"));
        let places: Vec<_> = (0..24)
            .filter_map(|_| connections.admit(here, 64))
            .collect();
        places.iter().for_each(Place::answering);
        connections.shrink(4);
        assert_eq!(open(&connections).len(), 4);
        assert!(connections.admit(here, 4).is_none());
    }
}

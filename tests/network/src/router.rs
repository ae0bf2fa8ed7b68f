//! The router's loop: reads what hosts send, keeps it until it is due, writes and logs it.

use crate::direction::Direction;
use crate::event::{Event, Fate};
use crate::packet::Packet;
use crate::treatment::{Decision, Treatment};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The largest IP packet.
const LARGEST: usize = 65_535;
/// Events that are kept; more are not logged.
const MOST_EVENTS: usize = 1_000_000;
/// Packets that may be under way; more are lost.
const MOST_WAITING: usize = 100_000;

/// What the router and its owner share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) log: Vec<Event>,
    /// By sender and receiver.
    pub(crate) treatments: BTreeMap<(usize, usize), Treatment>,
}

/// A host as the router sees it.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) device: File,
    pub(crate) addresses: [IpAddr; 2],
}

#[derive(Debug)]
pub(crate) struct Router {
    ports: Vec<Port>,
    shared: Arc<Mutex<Shared>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    begun: Instant,
    /// Keeps packets that are due at one time in order.
    taken: u64,
}

/// A packet that is under way; the order of fields is the order of leaving.
#[derive(Debug)]
struct Waiting {
    due: (Duration, u64),
    to: usize,
    packet: Packet,
    event: Event,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

impl Router {
    pub(crate) fn new(ports: Vec<Port>, shared: Arc<Mutex<Shared>>) -> Self {
        Self {
            ports,
            shared,
            waiting: BinaryHeap::new(),
            begun: Instant::now(),
            taken: 0,
        }
    }

    /// Routes until the other end of `stop` is closed.
    pub(crate) fn run(mut self, stop: &PipeReader) -> io::Result<()> {
        // else a timer may be 50 µs late
        nix::sys::prctl::set_timerslack(1)?;
        let mut room = vec![0; LARGEST];
        loop {
            let due = self.waiting.peek().map(|Reverse(next)| {
                let left = next.due.0.saturating_sub(self.begun.elapsed());
                TimeSpec::from(left)
            });
            let devices = self.ports.iter().map(|port| port.device.as_fd());
            let mut polled: Vec<_> = devices
                .chain([stop.as_fd()])
                .map(|file| PollFd::new(file, PollFlags::POLLIN))
                .collect();
            match ppoll(&mut polled, due, None) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let ready: Vec<_> = polled.iter().map(|file| file.any() == Some(true)).collect();
            let (stopped, ready) = ready.split_last().expect("the pipe at least");
            if *stopped {
                return Ok(());
            }
            for (from, ready) in ready.iter().enumerate() {
                if *ready {
                    self.take(from, &mut room);
                }
            }
            self.forward();
        }
    }

    /// Reads one packet, and decides what becomes of it.
    fn take(&mut self, from: usize, room: &mut [u8]) {
        let Ok(length) = (&self.ports[from].device).read(room) else {
            return; // nothing there, or the device is down
        };
        let (now, arrived_ns) = (self.begun.elapsed(), utc());
        let packet = Packet::new(&room[..length]);
        let to = packet.as_ref().and_then(|packet| {
            let destination = packet.destination();
            self.ports
                .iter()
                .position(|port| port.addresses.contains(&destination))
        });
        let mut event = self.event(from, to, arrived_ns, length, packet.as_ref());
        let (Some(packet), Some(to)) = (packet, to) else {
            self.log(event);
            return;
        };
        let decision = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            let treatment = shared.treatments.get_mut(&(from, to));
            treatment.map(|treatment| treatment.next(now, packet))
        };
        let Some((number, decision)) = decision else {
            return; // a host's packets to itself never leave it
        };
        event.number = number;
        match decision {
            Decision::Drop(fate) => self.log(Event { fate, ..event }),
            Decision::Refuse(answer) => {
                // a sender whose device is down needs no answer
                let _ = (&self.ports[from].device).write_all(answer.bytes());
                self.log(Event {
                    fate: Fate::TooLarge,
                    ..event
                });
            }
            Decision::Forward { .. } if self.waiting.len() >= MOST_WAITING => self.log(Event {
                fate: Fate::QueueFull,
                ..event
            }),
            Decision::Forward {
                packet,
                at,
                copies,
                is_late,
            } => {
                for copy in 0..copies {
                    self.taken += 1;
                    self.waiting.push(Reverse(Waiting {
                        due: (at, self.taken),
                        to,
                        event: Event {
                            is_copy: copy > 0,
                            is_late,
                            traffic_class_left: packet.traffic_class(),
                            ..event.clone()
                        },
                        packet: packet.clone(),
                    }));
                }
            }
        }
    }

    /// Of a packet that goes nowhere, until something else is decided.
    fn event(
        &self,
        from: usize,
        to: Option<usize>,
        arrived_ns: i64,
        size: usize,
        packet: Option<&Packet>,
    ) -> Event {
        let udp = packet.and_then(Packet::udp);
        let traffic_class = packet.map_or(0, Packet::traffic_class);
        Event {
            from: self.ports[from].name.clone(),
            to: to.map(|to| self.ports[to].name.clone()),
            number: 0,
            arrived_ns,
            left_ns: None,
            fate: if packet.is_some() {
                Fate::NoRoute
            } else {
                Fate::Undeliverable
            },
            is_copy: false,
            is_late: false,
            size,
            udp_ports: udp.map(|(ports, _)| ports),
            payload: udp.map_or_else(Vec::new, |(_, payload)| payload.to_vec()),
            traffic_class,
            traffic_class_left: traffic_class,
        }
    }

    /// Writes what is due.
    fn forward(&mut self) {
        while let Some(Reverse(next)) = self.waiting.peek() {
            if next.due.0 > self.begun.elapsed() {
                return;
            }
            let Some(Reverse(mut next)) = self.waiting.pop() else {
                return;
            };
            // held: who received the packet finds it in the log
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            let left_ns = utc();
            let written = (&self.ports[next.to].device).write_all(next.packet.bytes());
            (next.event.fate, next.event.left_ns) = match written {
                Ok(()) => (Fate::Forwarded, Some(left_ns)),
                Err(_) => (Fate::Undeliverable, None),
            };
            shared.log(next.event);
        }
    }

    fn log(&self, event: Event) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.log(event);
    }
}

impl Shared {
    fn log(&mut self, event: Event) {
        if self.log.len() < MOST_EVENTS {
            self.log.push(event);
        }
    }

    /// Every direction between so many hosts forwards at once, each with its own chance.
    pub(crate) fn new(hosts: usize, seed: u64) -> Self {
        let mut shared = Self::default();
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        for (index, (from, to)) in (0u64..).zip(pairs) {
            if from != to {
                let own_seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index);
                let treatment = Treatment::new(Direction::default(), own_seed);
                shared.treatments.insert((from, to), treatment);
            }
        }
        shared
    }
}

/// Nanoseconds since 1970, on the clock that kernel timestamps show.
fn utc() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

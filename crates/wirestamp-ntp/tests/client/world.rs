//! A local host, a server and the paths between them, in true time: clocks with errors, drift and
//! steps.

use std::net::SocketAddr;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_ntp::{Client, ClientOptions, LocalTime, NtpTimestamp, Outcome};

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const MILLISECOND: i64 = 1_000_000;
/// The begin of true time, in 2026.
const BEGIN: i64 = 1_795_000_000 * SECOND;
/// Log2 of the server's precision: 119 ns.
const PRECISION: i8 = -23;

pub(crate) fn server() -> SocketAddr {
    "192.0.2.7:123".parse().expect("an address")
}

/// A clock, as its error: it shows the true time plus this.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    pub(crate) offset: i64,
    /// Parts per billion.
    pub(crate) drift: i64,
}

impl Clock {
    pub(crate) fn at(&self, time: i64) -> i64 {
        let drift = i128::from(time - BEGIN) * i128::from(self.drift) / 1_000_000_000;
        time + self.offset + drift as i64
    }
}

/// The effect of a changing frequency on a clock: from each time on, the frequency offset as a
/// fraction, and its change per second.
#[derive(Debug, Clone, Default)]
pub(crate) struct Course(Vec<Leg>);

#[derive(Debug, Clone, Copy)]
struct Leg {
    from: i64,
    moved: f64,
    rate: f64,
    change: f64,
}

impl Course {
    pub(crate) fn at(&self, time: i64) -> i64 {
        let begun = self.0.iter().rev().find(|leg| leg.from <= time);
        begun.map_or(0.0, |leg| leg.at(time)).round() as i64
    }

    /// From `time` on the frequency offset is `rate`, and it changes by `change` per second.
    pub(crate) fn turn(&mut self, time: i64, rate: f64, change: f64) {
        let moved = self.0.last().map_or(0.0, |leg| leg.at(time));
        self.0.push(Leg {
            from: time,
            moved,
            rate,
            change,
        });
    }
}

impl Leg {
    fn at(&self, time: i64) -> f64 {
        let elapsed = (time - self.from) as f64;
        self.moved + self.rate * elapsed + self.change * elapsed / 1e9 * elapsed / 2.0
    }
}

/// The course of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) forward: i64,
    pub(crate) backward: i64,
    pub(crate) residence: i64,
    /// The time from the server's reading of its clock for the response until the response leaves.
    pub(crate) early: i64,
    pub(crate) loses_request: bool,
    pub(crate) loses_response: bool,
    pub(crate) lacks_timestamp: bool,
}

/// A path without losses or extra delays.
pub(crate) const PLAIN: Path = Path {
    forward: 3 * MILLISECOND,
    backward: 7 * MILLISECOND,
    residence: 50_000,
    early: 20_000,
    loses_request: false,
    loses_response: false,
    lacks_timestamp: false,
};

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) local: Clock,
    /// The sum of the steps of the local real-time clock so far, which the monotonic clock does not
    /// show.
    stepped: i64,
    /// The effect of adjustments of the local clock.
    pub(crate) adjusted: Course,
    pub(crate) server: Clock,
    /// The changes of its frequency besides its drift.
    pub(crate) wanders: Course,
    /// The transmit times of the last responses, by the receive timestamp that identifies each (RFC
    /// 9769).
    pub(crate) saved: Vec<(NtpTimestamp, NtpTimestamp)>,
    pub(crate) interleaves: bool,
    chance: u64,
    pub(crate) client: Client,
}

/// A request as the server receives it, and the response.
pub(crate) struct Answered {
    pub(crate) request: [u8; 48],
    pub(crate) response: Vec<u8>,
    pub(crate) arrived: LocalTime,
}

impl World {
    pub(crate) fn new(options: ClientOptions, seed: u64) -> Self {
        Self {
            now: BEGIN,
            local: Clock::default(),
            stepped: 0,
            adjusted: Course::default(),
            server: Clock::default(),
            wanders: Course::default(),
            saved: Vec::new(),
            interleaves: true,
            chance: seed,
            client: Client::new(server(), options),
        }
    }

    /// Pseudo-random bits of a seed.
    pub(crate) fn random(&mut self) -> u64 {
        // SplitMix64
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.chance ^ self.chance >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn step_local(&mut self, by: i64) {
        self.local.offset += by;
        self.stepped += by;
    }

    /// A server that is stepped forgets or moves its saved transmit times.
    pub(crate) fn step_server(&mut self, by: i64, forgets: bool) {
        self.server.offset += by;
        if forgets {
            self.saved.clear();
        }
        for (_, left) in &mut self.saved {
            let utc = left
                .to_utc(UtcTime::from_nanoseconds(self.now))
                .expect("known");
            *left = NtpTimestamp::from_utc(utc + Span::from_nanoseconds(by.into()));
        }
    }

    /// Local minus server at a true time.
    pub(crate) fn offset_at(&self, time: i64) -> i64 {
        self.local_at(time) - self.server_at(time)
    }

    /// The time of the local real-time clock.
    pub(crate) fn local_at(&self, time: i64) -> i64 {
        self.local.at(time) + self.adjusted.at(time)
    }

    pub(crate) fn server_at(&self, time: i64) -> i64 {
        self.server.at(time) + self.wanders.at(time)
    }

    pub(crate) fn local_time(&self, time: i64) -> LocalTime {
        let shown = self.local_at(time);
        LocalTime {
            utc: Bounded::exact(UtcTime::from_nanoseconds(shown)),
            monotonic: Bounded::new(
                MonotonicTime::from_nanoseconds(shown - self.stepped - BEGIN),
                Span::from_nanoseconds(200),
            ),
            adjusted: Some(Bounded::new(
                Span::from_nanoseconds(i128::from(self.adjusted.at(time)) + 12_345),
                Span::from_nanoseconds(50),
            )),
        }
    }

    /// The server's time as in its packets: digits below its precision are noise.
    fn server_time(&mut self, time: i64) -> NtpTimestamp {
        let exact = NtpTimestamp::from_utc(UtcTime::from_nanoseconds(self.server_at(time)));
        let noise = self.random() & ((1 << (32 + i32::from(PRECISION))) - 1);
        NtpTimestamp(exact.0 ^ noise)
    }

    /// Sends a request and creates the response, which the client does not receive yet; `None` if
    /// one of them is lost. True time advances to the arrival.
    pub(crate) fn ask(&mut self, path: &Path) -> Option<Answered> {
        let random = [self.random(), self.random()];
        let request = self.client.request(random).expect("not stopped");
        if !path.lacks_timestamp {
            self.client.sent(self.local_time(self.now));
        }
        if path.loses_request {
            return None;
        }
        self.now += path.forward;
        let receive = self.server_time(self.now);
        self.now += path.residence;
        let left = self.server_time(self.now);
        let response = self.respond(&request, receive, path.early);
        self.saved.push((receive, left));
        if self.saved.len() > 2 {
            self.saved.remove(0);
        }
        self.now += path.backward;
        (!path.loses_response).then(|| Answered {
            request,
            response,
            arrived: self.local_time(self.now),
        })
    }

    fn respond(&mut self, request: &[u8; 48], receive: NtpTimestamp, early: i64) -> Vec<u8> {
        let [origin, asked_receive, asked_transmit] =
            [24, 32, 40].map(|place| field(request, place));
        let saved = self.saved.iter().position(|(key, _)| *key == origin);
        let saved = saved.filter(|_| self.interleaves && asked_receive != asked_transmit);
        let (origin, transmit) = match saved {
            Some(place) => (asked_receive, self.saved.remove(place).1),
            None => (asked_transmit, self.server_time(self.now - early)),
        };
        response(origin, receive, transmit)
    }

    /// A complete exchange, followed by one second.
    pub(crate) fn exchange(&mut self, path: &Path) -> Option<Outcome> {
        let answered = self.ask(path);
        let outcome = answered.map(|answered| {
            self.client
                .received(server(), &answered.response, Some(answered.arrived))
        });
        self.now += SECOND;
        outcome
    }
}

/// Eight octets of a packet.
pub(crate) fn field(packet: &[u8], place: usize) -> NtpTimestamp {
    let octets = packet[place..place + 8].try_into().expect("eight");
    NtpTimestamp(u64::from_be_bytes(octets))
}

/// A response of a synchronised stratum 2 server with a root distance of 3 ms.
pub(crate) fn response(
    origin: NtpTimestamp,
    receive: NtpTimestamp,
    transmit: NtpTimestamp,
) -> Vec<u8> {
    let mut bytes = vec![0x24, 2, 6, PRECISION.to_be_bytes()[0]];
    for milliseconds in [4u32, 1] {
        bytes.extend((milliseconds * 65_536 / 1_000).to_be_bytes());
    }
    bytes.extend([192, 0, 2, 1]);
    let reference = NtpTimestamp(receive.0.wrapping_sub(60 << 32));
    for timestamp in [reference, origin, receive, transmit] {
        bytes.extend(timestamp.0.to_be_bytes());
    }
    bytes
}

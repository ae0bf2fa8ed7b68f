//! A STAMP session that runs on: its socket, its pace, its counts. What packets say is `wirestamp-probe`'s affair.

mod packets;
mod segments;
mod stamps;

use crate::moment::Moment;
use crate::options::{Relation, Stamp};
use crate::place::Place;
use crate::sample::{Kind, Subject};
use crate::state::{PeerState, Reasons, State};
use crate::task::{SILENT, Task, Turn, counts};
use segments::Segments;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use wirestamp::{MonotonicTime, Result, Span, TransmitRecord, UdpSocket};
use wirestamp_probe::endpoint::Clock;
use wirestamp_probe::session::{Clocks, Measured, Rejected, Session, SessionConfiguration};

/// Room for transmit timestamps: those of a second, for which the loop is hardly ever away, between these limits.
const TIMESTAMPS: (u128, u128) = (16, 256);
const AWAY: Duration = Duration::from_secs(1);
/// Sessions begin at multiples of this, or of their interval if that is shorter: those that are to send together do so in one turn of the loop,
/// although they were opened one after the other.
const GRID: Duration = Duration::from_millis(100);
/// An answer is never stale before.
const FRESH: Span = Span::from_seconds(10);

/// A session with one reflector.
pub(crate) struct StampTask {
    configuration: Stamp,
    peer: SocketAddr,
    local: SocketAddr,
    socket: UdpSocket,
    clock: Clock,
    session: Session,
    request: Vec<u8>,
    records: Vec<TransmitRecord>,
    due: MonotonicTime,
    opened: MonotonicTime,
    sent: u64,
    /// Those whose transmit timestamp is awaited.
    awaited: usize,
    /// Those whose time is over.
    judged: u64,
    answered: u64,
    refused: u64,
    followed_up: u64,
    /// The last answered packet.
    last: Option<MonotonicTime>,
    /// The last whose path delay is known: some of the timestamps that it needs can be missing.
    path: Option<(MonotonicTime, Measured)>,
    error: Option<String>,
}

impl StampTask {
    /// The first packet is sent so long `after` the next instant of [`GRID`].
    pub(crate) fn open(
        configuration: &Stamp,
        peer: SocketAddr,
        place: &Place,
        after: Span,
    ) -> Result<Self> {
        let any: IpAddr = if peer.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = place.bind(configuration.interface.as_deref(), (any, 0).into())?;
        socket.connect(peer)?;
        let clock = Clock::software();
        clock.configure(&socket, room(configuration.interval))?;
        // not everywhere: the hop count is then unknown
        let _ = socket.report_header();
        let _ = socket.set_hop_limit(255);
        if configuration.dscp != 0 {
            socket.set_traffic_class(configuration.dscp << 2)?;
        }
        let session = Session::new(SessionConfiguration {
            key: crate::key::read(configuration.key_file.as_deref())?,
            ssid: (getrandom::u32().unwrap_or(1) as u16).max(1),
            size: configuration.size.into(),
            traffic_class: configuration.dscp << 2,
            reply_dscp: configuration.dscp,
            timeout: configuration.timeout.into(),
            clocks: relation(configuration),
            keeps_distributions: false,
            ..SessionConfiguration::default()
        });
        Ok(Self {
            due: on_grid(socket.now(), configuration.interval) + after,
            opened: socket.now(),
            configuration: configuration.clone(),
            peer,
            local: socket.local_address()?,
            socket,
            clock,
            session,
            request: Vec::new(),
            records: vec![TransmitRecord::EMPTY; 8],
            sent: 0,
            awaited: 0,
            judged: 0,
            answered: 0,
            refused: 0,
            followed_up: 0,
            last: None,
            path: None,
            error: None,
        })
    }

    /// Four packets in a row without an answer, but no hiccup of a busy host.
    fn stale_after(&self) -> Span {
        let interval = Span::from(self.configuration.interval);
        let timeout = Span::from(self.configuration.timeout);
        (interval + interval + interval + interval + timeout).max(FRESH)
    }

    fn judge(&mut self, turn: &mut Turn<'_>) {
        let Self {
            configuration,
            session,
            judged,
            answered,
            followed_up,
            last,
            path,
            ..
        } = self;
        let subject = Subject {
            kind: Kind::Stamp,
            name: configuration.name(),
        };
        session.expire(turn.now, |sample| {
            *judged += 1;
            let segments = Segments::of(sample);
            let sample_of = segments.sample(subject, sample, turn.now, turn.utc);
            turn.sink.sample(&sample_of);
            if !sample.is_answered {
                return;
            }
            *answered += 1;
            *followed_up += u64::from(sample.residence.is_some());
            *last = Some(sample.before);
            *path = sample
                .path_delay
                .map(|delay| (sample.before, delay))
                .or(*path);
        });
    }
}

/// The next instant at which sessions begin.
fn on_grid(now: MonotonicTime, interval: Duration) -> MonotonicTime {
    let step = Span::from(interval.min(GRID)).nanoseconds().max(1);
    let over = (now - MonotonicTime::from_nanoseconds(0)).nanoseconds() % step;
    now + Span::from_nanoseconds(step - over)
}

/// How many transmit timestamps may wait.
fn room(interval: Duration) -> u16 {
    let packets = AWAY.as_nanos() / interval.as_nanos().max(1);
    packets.clamp(TIMESTAMPS.0, TIMESTAMPS.1) as u16
}

fn relation(configuration: &Stamp) -> Clocks {
    let bound = configuration.clock_bound.map(Span::from);
    match configuration.clocks {
        Relation::Same => Clocks::Same,
        Relation::Unrelated => Clocks::Unrelated,
        Relation::Utc => bound.map_or(Clocks::Unrelated, Clocks::Synchronized),
    }
}

impl Task for StampTask {
    fn is_silent(&self, now: MonotonicTime) -> bool {
        now - self.last.unwrap_or(self.opened) > self.stale_after().max(SILENT)
    }

    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        self.take(turn)?;
        self.judge(turn);
        if turn.now >= self.due {
            self.send(turn)?;
            // who is late catches up, but not by a burst
            let interval = Span::from(self.configuration.interval);
            self.due = (self.due + interval).max(turn.now);
        }
        // the last packet's time ends even if the next is far
        let judged = turn.now + Span::from(self.configuration.timeout);
        Ok(if self.session.in_flight() > 0 {
            self.due.min(judged)
        } else {
            self.due
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>) {
        into.push(&self.socket);
    }

    fn show(&self, moment: &Moment, into: &mut State) {
        let in_flight = self.session.in_flight() as u64;
        let rejected = Rejected::ALL
            .map(|reason| (reason.name().to_owned(), self.session.rejected_for(reason)));
        let age = |at: MonotonicTime| (moment.now - at).saturating_nanoseconds();
        let nanoseconds = |pick: fn(&Measured) -> Span| {
            self.path
                .map(|(_, delay)| pick(&delay).saturating_nanoseconds())
        };
        into.peers.push(PeerState {
            name: self.configuration.name().to_owned(),
            address: self.peer.to_string(),
            interface: self.configuration.interface.clone(),
            relation: self.configuration.clocks.name().to_owned(),
            sent: self.sent,
            answered: self.answered,
            lost: self.judged - self.answered,
            in_flight,
            refused: self.refused,
            rejected: Reasons::from(rejected),
            followed_up: self.followed_up,
            path_delay_ns: nanoseconds(|path| path.value),
            path_delay_bound_ns: nanoseconds(|path| path.bound),
            path_delay_age_ns: self.path.map(|(at, _)| age(at)),
            age_ns: self.last.map(age),
            stale_after_ns: Some(self.stale_after().saturating_nanoseconds()),
            timestamps: counts(&self.socket),
            error: self.error.clone(),
            ..PeerState::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_opened_one_after_the_other_send_together() {
        let at = |ns| MonotonicTime::from_nanoseconds(ns);
        for (interval, step) in
            [(1_000, 100), (100, 100), (20, 20)].map(|(a, b)| (a, b * 1_000_000))
        {
            let interval = Duration::from_millis(interval);
            for now in [0, 1, step - 1, 7 * step + 3] {
                let next = on_grid(at(now), interval);
                assert_eq!(next, at((now / step + 1) * step), "{now}");
                assert_eq!(
                    on_grid(at(now + step / 4), interval) - next,
                    Span::from_nanoseconds(if now % step + step / 4 >= step {
                        step.into()
                    } else {
                        0
                    })
                );
            }
        }
    }
}

//! A STAMP session: its socket, its pace, its counts. It runs for ever, or until a number of packets was sent.
//! `wirestamp-probe` evaluates the packets.

mod ending;
mod held;
mod packets;
mod phase;
mod segments;
mod stamps;

use crate::address::check_zone;
use crate::claim::Claim;
use crate::host::Host;
use crate::moment::Moment;
use crate::neighbour::Neighbour;
use crate::nic::{Needs, NicClock};
use crate::options::{Relation, Stamp};
use crate::provisional::{LOOKED, Provisional};
use crate::report::Report;
use crate::sample::{Kind, Subject};
use crate::sink::Sink;
use crate::state::{PeerState, Reasons, State, by_source};
use crate::task::{SILENT, Task, Turn};
use crate::undelivered::Undelivered;
use crate::unstamped::Unstamped;
use held::Held;
use phase::Phase;
use segments::Segments;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use wirestamp::clock::utc_error_bound;
use wirestamp::socket::AnySocket;
use wirestamp::{
    Bounded, MonotonicTime, Result, Span, TimestampSource, TransmitRecord, UdpSocket, UtcTime,
};
use wirestamp_probe::endpoint::Clock;
use wirestamp_probe::session::{self, Clocks, Rejected, Session, SessionConfiguration};

/// Room for transmit timestamps: those of a second, for which the loop is hardly ever away, between these limits.
const TIMESTAMPS: (u128, u128) = (16, 256);
/// The same of a session that ends, which is not one of thousands.
const MANY: u16 = 4_096;
/// The time after which a NIC's clock must be correlated with the system's.
const CORRELATED: Span = Span::from_seconds(5);
/// The interval at which that is checked.
const LOOK: Span = Span::from_milliseconds(1);
const AWAY: Duration = Duration::from_secs(1);
/// The longest time for which nothing is judged while the socket has unread packets: a flood of strangers' packets may
/// never end.
const BEHIND: Span = Span::from_seconds(1);
/// Sessions begin at multiples of this, or of their interval if that is shorter: those that are to send together do so in one turn of the loop,
/// although they were opened one after the other.
const GRID: Duration = Duration::from_millis(100);
/// The shortest time after which an answer is stale.
const FRESH: Span = Span::from_seconds(10);

/// A session with one reflector.
pub(crate) struct StampTask {
    configuration: Stamp,
    peer: SocketAddr,
    local: SocketAddr,
    socket: UdpSocket,
    clock: Clock,
    /// The NIC that timestamps, until its clock is related to the system's; and then as long as the session lives.
    nic: Option<Rc<NicClock>>,
    is_correlated: bool,
    /// How far this host's clock is from UTC, if the kernel says it.
    claim: Option<Claim>,
    session: Session,
    request: Vec<u8>,
    records: Vec<TransmitRecord>,
    due: MonotonicTime,
    opened: MonotonicTime,
    sent: u64,
    /// Those whose transmit timestamp is awaited.
    awaited: usize,
    /// The packets whose timeout has passed.
    judged: u64,
    answered: u64,
    refused: u64,
    /// Packets that the system did not send because they are larger than the path's MTU.
    too_large: u64,
    /// Whether the last packet since an answer was such a one.
    is_too_large: bool,
    /// The reason why arriving replies do not reach this socket.
    diverted: Option<String>,
    /// The path's MTU before anything was sent.
    first_mtu: Option<u32>,
    /// Packets that did not leave, and ICMP errors.
    undelivered: Undelivered,
    /// What ICMP says of neighbours comes from this host: Linux gives it to no socket of another interface.
    hears_of_neighbours: bool,
    /// Of a named interface: who is looked for instead.
    neighbour: Neighbour,
    /// The longest time that a reply has taken.
    slowest: Span,
    phase: Phase,
    /// Times of the NIC's clock that are not final yet, and the packets that wait for them.
    provisional: Provisional,
    held: Held,
    /// Timestamps that were used.
    stamps: u64,
    unstamped: Unstamped,
    /// Since when the socket has had more than was read in a turn.
    behind: Option<MonotonicTime>,
    followed_up: u64,
    /// The last answered packet.
    last: Option<MonotonicTime>,
    /// The last whose path delay is known: some of the timestamps that it needs can be missing.
    path: Option<(MonotonicTime, Bounded<Span>)>,
    error: Option<String>,
}

impl StampTask {
    /// The first packet is sent so long `after` the next instant of [`GRID`].
    pub(crate) fn open(
        configuration: &Stamp,
        peer: SocketAddr,
        host: &Host,
        after: Span,
    ) -> Result<Self> {
        let any: IpAddr = if peer.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        if !host.place.is_simulated() {
            check_zone("send packets", peer, configuration.interface.as_deref())?;
        }
        let socket = host
            .place
            .bind(configuration.interface.as_deref(), (any, 0).into())?;
        socket.connect(peer)?;
        let needs = Needs::Both("a STAMP session");
        let nic = host.nic(
            configuration.interface.as_deref(),
            configuration.source,
            needs,
        )?;
        let clock = match &nic {
            Some(nic) => Clock::hardware(nic.correlator()),
            None => Clock::software(),
        };
        clock.configure(&socket, room(configuration))?;
        // not everywhere: the hop count is then unknown
        let _ = socket.report_header();
        let _ = socket.set_hop_limit(255);
        // of fragments one would have the timestamp, and a path MTU problem would show for one packet
        let _ = socket.forbid_fragments();
        let traffic_class = configuration.dscp << 2 | configuration.ecn;
        if traffic_class != 0 {
            socket.set_traffic_class(traffic_class)?;
        }
        let neighbour = Neighbour::of(&host.place, configuration.interface.as_deref(), peer);
        let claim = claim(configuration, host);
        let session = Session::new(SessionConfiguration {
            key: crate::key::read(configuration.key_file.as_deref())?,
            format: configuration.format,
            tai_offset: configuration.tai_offset,
            ssid: (getrandom::u32().unwrap_or(1) as u16).max(1),
            size: configuration.size.into(),
            traffic_class,
            reply_dscp: configuration.dscp,
            timeout: configuration.timeout.into(),
            clocks: relation(configuration, claim.as_ref()),
            least_delay: configuration.least_delay.into(),
            keeps_distributions: configuration.count.is_some(),
            real_time_clock: socket.real_time_clock(),
        });
        let now = socket.now();
        Ok(Self {
            due: match configuration.count {
                Some(_) => now,
                None => on_grid(now, configuration.interval) + after,
            },
            opened: now,
            first_mtu: socket.path_mtu().ok(),
            is_correlated: nic.is_none(),
            nic,
            claim,
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
            too_large: 0,
            is_too_large: false,
            diverted: diverted(configuration, host),
            undelivered: Undelivered::of(&host.place),
            hears_of_neighbours: configuration.interface.is_none()
                || host.place.is_simulated()
                || neighbour.is_asked(),
            neighbour,
            slowest: Span::ZERO,
            phase: Phase::Measuring,
            provisional: Provisional::default(),
            held: Held::default(),
            stamps: 0,
            unstamped: Unstamped::default(),
            behind: None,
            followed_up: 0,
            last: None,
            path: None,
            error: None,
        })
    }

    /// Why nothing of this run was answered, where something else than the last error says it: packets that are too large for the path, or replies that
    /// cannot be used. Once one was answered, that is not why others are missing.
    fn silence(&self) -> Option<String> {
        if self.answered > 0 {
            return None;
        }
        let exceeded = || self.path_mtu().exceeded();
        let too_large = self.is_too_large.then(exceeded).flatten();
        let unusable = || self.session.unusable().map(|unusable| unusable.to_string());
        too_large
            .map(|how| format!("packets have {how}"))
            .or_else(unusable)
            .or_else(|| self.diverted.clone())
    }

    fn source(&self) -> TimestampSource {
        match self.nic {
            Some(_) => TimestampSource::Hardware,
            None => TimestampSource::Software,
        }
    }

    /// A session that ends says at its end what was not timestamped.
    fn check_nic(&self, now: MonotonicTime) -> Result<()> {
        match (self.source(), self.configuration.count) {
            (TimestampSource::Hardware, None) => self
                .unstamped
                .check(self.configuration.interface.as_deref(), now),
            _ => Ok(()),
        }
    }

    /// Returns the age at which an answer is stale: four packets in a row without an answer, and more than a pause of a
    /// busy host.
    fn stale_after(&self) -> Span {
        let interval = Span::from(self.configuration.interval);
        let timeout = Span::from(self.configuration.timeout);
        (interval + interval + interval + interval + timeout).max(FRESH)
    }

    /// Waits until the NIC's timestamps can be converted; returns when to look again.
    fn correlate(&mut self, now: MonotonicTime) -> Result<Option<MonotonicTime>> {
        if self.is_correlated {
            return Ok(None);
        }
        match self.nic.as_ref().map_or(Ok(()), |nic| nic.ready()) {
            Err(error) if now - self.opened > CORRELATED => Err(error),
            Err(_) => Ok(Some(now + LOOK)),
            Ok(()) => {
                self.is_correlated = true;
                self.due = self.due.max(now);
                Ok(None)
            }
        }
    }

    /// Sends the next packet, if it is time.
    fn send_if_due(&mut self, turn: &mut Turn<'_>) -> Result<()> {
        if turn.now < self.due {
            return Ok(());
        }
        self.sent += 1;
        self.send(turn)?;
        // a late session catches up, but not in a burst
        let interval = Span::from(self.configuration.interval);
        let latest = match self.configuration.count {
            Some(_) => turn.now - interval,
            None => turn.now,
        };
        self.due = (self.due + interval).max(latest);
        Ok(())
    }

    /// Asks the kernel again how far this host's clock is from UTC, if it was asked.
    fn look_at_clock(&mut self) {
        if let Some(claim) = &mut self.claim {
            claim.look(Instant::now());
            self.session.set_clock_bound(claim.bound());
        }
    }

    /// Whether an answer may be in the socket that was not read yet.
    fn is_behind(&self, now: MonotonicTime) -> bool {
        self.behind.is_some_and(|since| now - since < BEHIND)
    }

    /// Judges and sends; returns when there is more to do.
    fn go_on(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if let Some(count) = self.configuration.count {
            return self.serve_until(count, turn);
        }
        self.judge(turn);
        self.send_if_due(turn)?;
        // the last packet's time ends even if the next is far
        let judged = turn.now + Span::from(self.configuration.timeout);
        Ok(match self.session.in_flight() {
            _ if self.is_behind(turn.now) => turn.now,
            0 => self.due,
            _ => self.due.min(judged),
        })
    }

    fn judge(&mut self, turn: &mut Turn<'_>) {
        if self.is_behind(turn.now) {
            return;
        }
        let Self {
            configuration,
            session,
            judged,
            answered,
            followed_up,
            last,
            held,
            provisional,
            ..
        } = self;
        let mut measured = |sample: &session::Sample| {
            *judged += 1;
            held.put(*sample, provisional);
            if !sample.is_answered {
                return;
            }
            *answered += 1;
            *followed_up += u64::from(sample.residence.is_some());
            *last = Some(sample.before);
        };
        session.expire(turn.now, &mut measured);
        // one that ends reports duplicates as well
        if configuration.count.is_none() {
            session.complete(&mut measured);
        }
        self.release(turn);
    }

    /// Yields the packets whose times are final.
    fn release(&mut self, turn: &mut Turn<'_>) {
        while let Some(packet) = self.held.next(&self.provisional) {
            yields(&self.configuration, &packet, turn.now, turn.utc, turn.sink);
            let path = packet.path_delay.map(|delay| (packet.before, delay));
            self.path = path.or(self.path);
        }
    }
}

/// Yields a packet.
fn yields(
    configuration: &Stamp,
    packet: &session::Sample,
    at: MonotonicTime,
    utc: UtcTime,
    sink: &mut dyn Sink,
) {
    let subject = Subject {
        kind: Kind::Stamp,
        name: configuration.name(),
    };
    sink.judged(subject, packet);
    let segments = Segments::of(packet);
    sink.sample(&segments.sample(subject, packet, at, utc));
}

/// The next instant at which sessions begin.
fn on_grid(now: MonotonicTime, interval: Duration) -> MonotonicTime {
    let step = Span::from(interval.min(GRID)).nanoseconds().max(1);
    let over = (now - MonotonicTime::from_nanoseconds(0)).nanoseconds() % step;
    now + Span::from_nanoseconds(step - over)
}

/// How many transmit timestamps may wait.
fn room(configuration: &Stamp) -> u16 {
    if configuration.count.is_some() {
        return MANY;
    }
    let interval = configuration.interval;
    let packets = AWAY.as_nanos() / interval.as_nanos().max(1);
    packets.clamp(TIMESTAMPS.0, TIMESTAMPS.1) as u16
}

/// Why no reply comes to the interface that is named.
fn diverted(configuration: &Stamp, host: &Host) -> Option<String> {
    let interface = configuration.interface.as_deref()?;
    host.place.interface(interface).ok()?.diverted()
}

/// Returns the kernel's claim about the real-time clock, for a session that ends and has no other claim.
fn claim(configuration: &Stamp, host: &Host) -> Option<Claim> {
    let is_asked = configuration.count.is_some()
        && configuration.clocks == Relation::Utc
        && configuration.clock_bound.is_none()
        && !host.place.is_simulated();
    is_asked.then(|| Claim::new(None, utc_error_bound, Instant::now()))
}

fn relation(configuration: &Stamp, claim: Option<&Claim>) -> Clocks {
    let said = configuration.clock_bound.map(Span::from);
    let bound = said.or(claim.and_then(Claim::bound));
    match configuration.clocks {
        Relation::Same => Clocks::Same,
        Relation::Unrelated => Clocks::Unrelated,
        Relation::Utc => bound.map_or(Clocks::Unrelated, Clocks::Synchronized),
    }
}

impl Task for StampTask {
    fn is_silent(&self, now: MonotonicTime) -> bool {
        let is_silent = now - self.last.unwrap_or(self.opened) > self.stale_after().max(SILENT);
        is_silent && self.configuration.count.is_none()
    }

    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if let Some(later) = self.correlate(turn.now)? {
            return Ok(later);
        }
        self.take(turn)?;
        self.look_for_neighbour(turn.now);
        self.check_nic(turn.now)?;
        let judge = (self.clock.host(), &self.socket);
        self.provisional.settle(&judge, turn.now, "delays")?;
        self.look_at_clock();
        let due = self.go_on(turn)?.min(self.neighbour_due());
        // a slow session looks at its times as often as one that sends each second
        Ok(match self.provisional.is_empty() {
            true => due,
            false => due.min(turn.now + LOOKED),
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        into.push((&self.socket).into());
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.provisional.is_empty()
    }

    fn report(&mut self, sink: &mut dyn Sink) -> Option<Result<Report>> {
        Some(Ok(Report::Stamp(Box::new(self.finish(sink)))))
    }

    fn show(&self, moment: &Moment, into: &mut State) {
        let in_flight = self.session.in_flight() as u64;
        let rejected = Rejected::ALL
            .map(|reason| (reason.name().to_owned(), self.session.rejected_for(reason)));
        let age = |at: MonotonicTime| (moment.now - at).saturating_nanoseconds();
        let nanoseconds = |pick: fn(&Bounded<Span>) -> Span| {
            self.path
                .map(|(_, delay)| pick(&delay).saturating_nanoseconds())
        };
        into.peers.push(PeerState {
            name: self.configuration.name().to_owned(),
            address: self.peer.to_string(),
            interface: self.configuration.interface.clone(),
            relation: self.configuration.clocks.name().to_owned(),
            source: self.source().name().to_owned(),
            stamps: by_source(self.source(), self.stamps),
            sent: self.sent,
            answered: self.answered,
            lost: self.judged - self.answered,
            in_flight,
            refused: self.refused + self.too_large + self.undelivered.count(),
            rejected: Reasons::from(rejected),
            followed_up: self.followed_up,
            path_delay_ns: nanoseconds(|path| path.value),
            path_delay_bound_ns: nanoseconds(|path| path.bound),
            path_delay_age_ns: self.path.map(|(at, _)| age(at)),
            age_ns: self.last.map(age),
            stale_after_ns: Some(self.stale_after().saturating_nanoseconds()),
            timestamps: self.undelivered.timestamps(&self.socket),
            error: self.silence().or_else(|| self.error.clone()),
            delays: Default::default(), // `State::set_delays`
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

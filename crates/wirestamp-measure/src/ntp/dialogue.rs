//! Requests to one server and what comes back: packets, timestamps, errors.

#[cfg(all(test, unix, feature = "nts"))]
mod tests;

use super::confirmed::{Confirmed, Measured};
use super::instant::moment_of;
use crate::adjustments::Adjustments;
use crate::goal::Found;
use crate::host::{Connected, Host};
use crate::host_stamp::HostStamp;
use crate::moment::Moment;
use crate::neighbour::{Looked, Neighbour};
use crate::nts::{Association, Unauthentic};
use crate::options::Ntp;
use crate::provisional::{Provisional, Used};
use crate::sample::{self, Departure, Kind, Segment, Subject};
use crate::task::{Turn, is_no_end};
use crate::undelivered::Undelivered;
use crate::unstamped::Unstamped;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::slice;
use wirestamp::{
    Bounded, Error, ErrorKind, HostTime, Incoming, MonotonicTime, Result, Span, TimestampSource,
    Timestamps, TransmitId, TransmitOutcome, TransmitRecord, UdpSocket,
};
use wirestamp_ntp::{Client, ClientOptions, Kiss, LocalTime, NoSample, Outcome, Sample};

/// Room for transmit timestamps.
const TIMESTAMPS: u16 = 16;
/// A transmit timestamp that is later than this is missing.
const LATEST: Span = Span::from_milliseconds(100);
/// The interval at which transmit timestamps are checked for.
const LOOK: Span = Span::from_milliseconds(1);
/// The most packets that are taken in one turn, so that a flood does not keep the loop from other measurements.
const PACKETS: usize = 64;
/// The length of an NTP packet without extension fields.
const HEADER: usize = 48;

pub(super) struct Dialogue {
    name: String,
    pub(super) address: SocketAddr,
    pub(super) connected: Connected,
    pub(super) client: Client,
    /// Authenticates requests and responses, if NTS is used.
    pub(super) association: Option<Association>,
    /// Whether the server, or somebody in its name, reported that it no longer knows the keys.
    is_refused: bool,
    /// Packets that the server did not make, or not in answer to the newest request.
    pub(super) forged: u64,
    timeout: Span,
    /// Numbers the requests.
    newest: u32,
    /// The time since which a response is awaited.
    asked: Option<MonotonicTime>,
    /// Since when the newest request's transmit timestamp is awaited. Until it is there no response is read: it could not be judged.
    unstamped: Option<MonotonicTime>,
    pub(super) unanswered: u64,
    /// The last error of the system, in place of the server's answer.
    pub(super) failed: Option<Error>,
    pub(super) last_no_sample: Option<NoSample>,
    pub(super) kissed: Option<Kiss>,
    /// Whether the newest request was not answered in time.
    pub(super) is_late: bool,
    /// Why timestamps are missing.
    pub(super) missing: BTreeMap<String, u64>,
    /// Requests that did not leave, and ICMP errors.
    pub(super) undelivered: Undelivered,
    /// The next hop, which is looked for where ICMP may not say that it is missing.
    neighbour: Neighbour,
    /// The adjustments of this host's clock meanwhile.
    adjustments: Adjustments,
    /// Times of the NIC's clock that are not final yet.
    provisional: Provisional,
    /// Samples whose times are final.
    confirmed: Confirmed,
    /// Responses in a row for which a timestamp was missing.
    unstamped_in_a_row: Unstamped,
    last: Option<MonotonicTime>,
    /// The two clocks of this host when the last two responses arrived, newest first.
    arrivals: [Option<LocalTime>; 2],
    /// The one of these that the last sample is of.
    pub(super) sampled: Option<LocalTime>,
}

impl Dialogue {
    pub(super) fn open(configuration: &Ntp, found: Found, host: &Host) -> Result<Self> {
        let Found {
            address,
            association,
        } = found;
        let connected = host.connect(address, configuration.source, TIMESTAMPS)?;
        let mut options = ClientOptions::default();
        options.interleaved = !configuration.basic;
        options.max_drift_ppm = configuration.max_drift_ppm;
        options.wander_ppb = configuration.wander_ppb;
        options.jump_ppb = configuration.jump_ppb;
        options.real_time_clock = connected.socket.real_time_clock();
        Ok(Self {
            neighbour: Neighbour::of(&host.place, connected.interface.as_deref(), address),
            name: configuration.server.clone(),
            address,
            connected,
            client: Client::new(address, options),
            association,
            is_refused: false,
            forged: 0,
            timeout: configuration.timeout.into(),
            newest: 0,
            asked: None,
            unstamped: None,
            unanswered: 0,
            failed: None,
            last_no_sample: None,
            kissed: None,
            is_late: false,
            missing: BTreeMap::new(),
            undelivered: Undelivered::of(&host.place),
            adjustments: Adjustments::default(),
            provisional: Provisional::default(),
            confirmed: Confirmed::default(),
            unstamped_in_a_row: Unstamped::default(),
            last: None,
            arrivals: [None; 2],
            sampled: None,
        })
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.connected.socket
    }

    pub(super) fn now(&self) -> MonotonicTime {
        self.socket().now()
    }

    /// Whether timestamps can be converted.
    pub(super) fn ready(&self) -> Result<()> {
        self.connected.stamper.ready()
    }

    pub(super) fn requests(&self) -> u64 {
        self.client.counts().requests
    }

    /// Returns the number of intervals per permitted request.
    pub(super) fn every(&self) -> u32 {
        self.client.every()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.client.stopped().is_some()
    }

    pub(super) fn is_awaiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns whether requests were sent of which neither a timestamp nor an error is known.
    pub(super) fn has_no_sign(&self) -> bool {
        let is_stamped = self.connected.stamper.count() > 0;
        let is_answered = self.client.counts().responses > 0;
        self.requests() > 0 && !is_stamped && !is_answered && self.failed.is_none()
    }

    /// Whether it looks as if requests do not leave.
    fn is_unclear(&self) -> bool {
        let is_said = self.undelivered.is_without_neighbour();
        is_said || self.undelivered.is_in_doubt() || self.has_no_sign()
    }

    /// Looks whether nobody is at the next hop, if nothing else says why requests do not leave.
    pub(super) fn look_for_neighbour(&mut self, now: MonotonicTime) {
        let is_unclear = self.is_unclear();
        let looked = self.neighbour.look(is_unclear, &mut self.undelivered, now);
        match looked {
            Some(Looked::Missing(error)) => self.failed = Some(error),
            Some(Looked::Back(over)) => self.no_longer(&over),
            None => {}
        }
    }

    /// When that is looked at again.
    pub(super) fn neighbour_due(&self) -> MonotonicTime {
        self.neighbour.due(self.is_unclear())
    }

    /// An error is over.
    fn no_longer(&mut self, over: &Error) {
        self.failed.take_if(|failed| failed == over);
    }

    /// Whether the next request can be authenticated, if it must be.
    pub(super) fn has_keys(&self) -> bool {
        let has_cookie = self
            .association
            .as_ref()
            .is_none_or(Association::has_cookie);
        has_cookie && !self.is_refused
    }

    /// The last sample.
    pub(super) fn last(&self) -> Option<MonotonicTime> {
        self.last
    }

    /// The moment that the last sample is of.
    pub(super) fn newest(&self) -> Option<Moment> {
        let clock = self.connected.socket.real_time_clock();
        self.sampled
            .as_ref()
            .map(|sampled| moment_of(sampled, clock))
    }

    /// The socket, if what it has can be used.
    pub(super) fn listens(&self) -> Option<&UdpSocket> {
        self.unstamped.is_none().then(|| self.socket())
    }

    /// Whether no time that was used can change any more.
    pub(super) fn is_final(&self) -> bool {
        self.provisional.is_empty()
    }

    /// When to look whether times are final; never, if all are.
    pub(super) fn settles(&self) -> MonotonicTime {
        self.provisional.next(self.now())
    }

    /// Looks at the times that have become final.
    ///
    /// # Errors
    /// A clock was changed while it measured with it.
    pub(super) fn settle(&mut self) -> Result<()> {
        let Connected {
            socket, stamper, ..
        } = &self.connected;
        let now = socket.now();
        self.provisional
            .settle(&(stamper.host(), socket), now, "the offset")?;
        self.confirmed
            .follow(&self.provisional, || (self.client.clone(), self.sampled));
        self.confirmed.distrust(&self.client);
        Ok(())
    }

    /// Returns the measurement that no later reading of the NIC's clock can contradict, and the moment of its last
    /// sample.
    pub(super) fn confirmed(&self) -> Option<&Measured> {
        self.confirmed.measured(&self.client)
    }

    /// Checks that the NIC still timestamps.
    ///
    /// # Errors
    /// It does not: somebody switched that off.
    pub(super) fn check_nic(&self) -> Result<()> {
        match self.connected.stamper.source() {
            TimestampSource::Software => Ok(()),
            TimestampSource::Hardware => self
                .unstamped_in_a_row
                .check(self.connected.interface.as_deref(), self.now()),
        }
    }

    /// Returns the time of the next work that needs no packet; `None` if nothing is awaited.
    pub(super) fn patience(&self) -> Option<MonotonicTime> {
        let until = self.asked? + self.timeout;
        Some(match self.unstamped {
            Some(_) => until.min(self.now() + LOOK),
            None => until,
        })
    }

    fn read(&mut self, timestamps: &Timestamps) -> Option<(LocalTime, HostStamp, HostTime)> {
        self.adjustments.look(&self.connected.socket);
        let (stamp, time) = self.connected.stamper.read(timestamps, self.socket())?;
        let local = LocalTime {
            utc: stamp.utc,
            monotonic: stamp.monotonic,
            adjusted: self.adjustments.at(stamp.monotonic),
        };
        Some((local, stamp, time))
    }

    /// A measurement uses it.
    fn uses(&mut self, stamp: &HostStamp, time: HostTime) {
        let clock = self.connected.stamper.host();
        let judge = (clock, &self.connected.socket);
        self.provisional.note(Used::new(time, stamp), &judge);
    }

    pub(super) fn ask(&mut self) -> Result<()> {
        let sent = self.send();
        if let Err(error) = sent {
            // the next request may fare better
            self.unanswered += 1;
            self.failed = Some(error.clone());
            is_no_end(error)?;
        }
        self.collect()
    }

    fn send(&mut self) -> Result<()> {
        let Ok(request) = self.client.request(random()?) else {
            return Ok(()); // the client knows why
        };
        let request = match &mut self.association {
            Some(association) => association.protect(&request)?,
            None => request.to_vec(),
        };
        self.newest = self.newest.wrapping_add(1);
        let id = Some(TransmitId(self.newest));
        self.adjustments.look_before_sending(&self.connected.socket);
        match self.socket().send(&request, id) {
            // the system's answer to the last request, for which this one was not sent
            Err(error) if error.kind() == ErrorKind::Unreachable => {
                self.failed = Some(self.undelivered.say(error).clone());
                self.newest = self.newest.wrapping_add(1);
                self.socket()
                    .send(&request, Some(TransmitId(self.newest)))?;
            }
            sent => sent?,
        }
        let now = self.now();
        (self.asked, self.unstamped) = (Some(now), Some(now));
        Ok(())
    }

    /// Takes transmit timestamps.
    fn collect(&mut self) -> Result<()> {
        let mut records = [TransmitRecord::EMPTY; 4];
        loop {
            let count = self.socket().transmit_timestamps(&mut records)?;
            for record in &records[..count] {
                match record.outcome {
                    TransmitOutcome::Missing(reason) => {
                        self.undelivered.note(reason, self.connected.socket.now());
                    }
                    TransmitOutcome::Timestamped(_) => {
                        if let Some(over) = self.undelivered.has_left() {
                            self.no_longer(&over);
                        }
                    }
                }
                if record.id == TransmitId(self.newest) && self.unstamped.take().is_some() {
                    self.stamped(&record.outcome);
                }
            }
            if count < records.len() {
                break;
            }
        }
        if self.undelivered.is_in_doubt() || self.has_no_sign() {
            self.listen_to_icmp();
        }
        Ok(())
    }

    /// Takes ICMP errors of requests.
    fn listen_to_icmp(&mut self) {
        let said = self.undelivered.ask(&self.connected.socket, self.address);
        self.failed = said.cloned().or(self.failed.take());
    }

    fn stamped(&mut self, outcome: &TransmitOutcome) {
        match outcome {
            TransmitOutcome::Timestamped(timestamps) => match self.read(timestamps) {
                Some((local, stamp, time)) => {
                    self.uses(&stamp, time);
                    self.client.sent(local);
                }
                None => self.miss("a transmit timestamp could not be converted"),
            },
            TransmitOutcome::Missing(reason) => self.miss(&reason.to_string()),
        }
    }

    /// Takes received packets.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>) -> Result<()> {
        self.collect()?;
        if let Some(since) = self.unstamped {
            if turn.now - since < LATEST.min(self.timeout) {
                return Ok(());
            }
            self.unstamped = None;
            self.miss("a transmit timestamp did not come in time");
        }
        for _ in 0..PACKETS {
            let mut incoming = Incoming::new(turn.buffer);
            let socket = &self.connected.socket;
            match socket.try_receive_batch(slice::from_mut(&mut incoming)) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // connection refused or no route: anybody could have sent that, and the answer may still come
                Err(error) if error.kind() == ErrorKind::Unreachable => {
                    self.failed = Some(self.undelivered.say(error).clone());
                    return Ok(());
                }
                Err(error) => {
                    self.failed = Some(error.clone());
                    return is_no_end(error);
                }
            }
            let received = incoming.received;
            let length = received.length.min(turn.buffer.len());
            if let Some(length) = self.authentic(&turn.buffer[..length]) {
                let stamp = self.read(&received.timestamps);
                let at = stamp.as_ref().map(|(local, ..)| *local);
                let source = received.source.unwrap_or(self.address);
                let outcome = self.client.received(source, &turn.buffer[..length], at);
                let is_used = !matches!(outcome, Outcome::Ignored(_));
                if let Some((_, stamp, time)) = stamp.filter(|_| is_used) {
                    self.uses(&stamp, time);
                }
                self.note(outcome, at, turn);
            }
        }
        Ok(())
    }

    /// Returns the authenticated part of a packet. A packet that is not authentic changes nothing: the response may
    /// still come.
    fn authentic(&mut self, packet: &[u8]) -> Option<usize> {
        let Some(association) = &mut self.association else {
            return Some(packet.len());
        };
        match association.verify(packet) {
            Ok(()) => {
                // whoever said that it knows the keys no longer was somebody else
                self.is_refused = false;
                Some(packet.len().min(HEADER))
            }
            Err(why) => {
                self.forged += 1;
                if why == Unauthentic::Refused {
                    self.is_refused = true;
                    let cause =
                        "the server does not know the keys any more, or somebody says so (NTSN)";
                    let target = self.address.to_string();
                    self.failed = Some(Error::new(ErrorKind::Unreachable, "ask", target, cause));
                }
                None
            }
        }
    }

    fn note(&mut self, outcome: Outcome, at: Option<LocalTime>, turn: &mut Turn<'_>) {
        if matches!(outcome, Outcome::Ignored(_)) {
            return;
        }
        self.arrivals = [at, self.arrivals[0]];
        (self.kissed, self.last_no_sample, self.is_late) = (None, None, false);
        match outcome {
            Outcome::Ignored(_) => {}
            Outcome::NoSample(why) => self.last_no_sample = Some(why),
            Outcome::Kiss(kiss) => self.kissed = Some(kiss),
            Outcome::Sample(sample) => self.yields(&sample, turn),
        }
        let is_stamped = self.last_no_sample != Some(NoSample::MissingTimestamp);
        self.unstamped_in_a_row.note(is_stamped, self.now());
        if at.is_none() {
            self.miss("a response arrived without a timestamp");
        }
        self.failed = None;
        self.undelivered.answered();
        self.asked = None;
    }

    fn yields(&mut self, sample: &Sample, turn: &mut Turn<'_>) {
        self.last = Some(turn.now);
        self.confirmed.note();
        let arrivals = self.arrivals.into_iter().flatten();
        let mut of = arrivals.filter(|arrival| arrival.utc.value == sample.at);
        self.sampled = of.next().or(self.sampled);
        turn.sink.sample(&sample::Sample {
            subject: Subject {
                kind: Kind::Ntp,
                name: &self.name,
            },
            sequence: self.newest,
            at: turn.now,
            utc: turn.utc,
            left: Departure::Unknown,
            has_arrived: true,
            values: &segments(sample),
        });
    }

    /// Gives up a response that is late.
    pub(super) fn give_up(&mut self, now: MonotonicTime) {
        if self.asked.is_some_and(|asked| now - asked >= self.timeout) {
            self.listen_to_icmp();
            self.unanswered += 1;
            self.is_late = true;
            self.asked = None;
        }
    }

    fn miss(&mut self, why: &str) {
        *self.missing.entry(why.to_owned()).or_default() += 1;
    }
}

/// Bits that nobody can guess.
fn random() -> Result<[u64; 2]> {
    let bits = || {
        getrandom::u64().map_err(|error| {
            let cause = error.to_string();
            Error::new(ErrorKind::Io, "get random bits", "the system", cause)
        })
    };
    Ok([bits()?, bits()?])
}

/// The offset and the path delay. The interval of possible offsets is as wide as the path delay and all errors together: twice its error bound is one of
/// the path delay.
fn segments(sample: &Sample) -> [(Segment, Bounded<Span>); 2] {
    let bound = sample.offset.bound;
    [
        (Segment::Offset, sample.offset),
        (
            Segment::Path,
            Bounded::new(sample.path_delay, bound + bound),
        ),
    ]
}

//! One NTP server, asked again and again. What an answer means is `wirestamp-ntp`'s affair.

use crate::bounded::Bounded;
use crate::host_stamp::Stamper;
use crate::moment::Moment;
use crate::options::Ntp;
use crate::place::Place;
use crate::sample::{self, Departure, Kind, Segment, Subject};
use crate::state::{NtpServerState, Reasons, State};
use crate::task::{SILENT, Task, Turn, counts, is_no_end};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::slice;
use wirestamp::{
    Error, ErrorKind, Incoming, MonotonicTime, Result, Span, Timestamps, TransmitId,
    TransmitOutcome, TransmitRecord, UdpSocket,
};
use wirestamp_ntp::{Client, ClientOptions, Kiss, LocalTime, Measurement, Outcome, Sample};

/// Room for transmit timestamps.
const TIMESTAMPS: u16 = 16;
/// A response that is later than this is not waited for.
const PATIENCE: Span = Span::from_seconds(1);
/// A request at the start, soon after the one before.
const FIRST: Span = Span::from_seconds(2);
/// So many of them.
const HURRIED: u64 = 4;
/// A sample is never stale before.
const FRESH: Span = Span::from_seconds(10);

/// The dialogue with one server.
pub(crate) struct NtpTask {
    configuration: Ntp,
    address: SocketAddr,
    socket: UdpSocket,
    clock: Stamper,
    client: Client,
    /// Numbers the requests.
    newest: u32,
    due: MonotonicTime,
    opened: MonotonicTime,
    /// Since when a response is awaited.
    asked: Option<MonotonicTime>,
    unanswered: u64,
    last: Option<MonotonicTime>,
    /// The two clocks of this host when the last sample came.
    sampled: Option<LocalTime>,
    error: Option<String>,
}

impl NtpTask {
    pub(crate) fn open(configuration: &Ntp, address: SocketAddr, place: &Place) -> Result<Self> {
        let any: IpAddr = if address.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = place.bind(None, (any, 0).into())?;
        let clock = Stamper::software();
        clock.configure(&socket, TIMESTAMPS)?;
        socket.connect(address)?;
        let mut options = ClientOptions::default();
        options.interleaved = !configuration.basic;
        options.max_drift_ppm = configuration.max_drift_ppm;
        Ok(Self {
            configuration: configuration.clone(),
            address,
            due: socket.now(),
            opened: socket.now(),
            socket,
            clock,
            client: Client::new(address, options),
            newest: 0,
            asked: None,
            unanswered: 0,
            last: None,
            sampled: None,
            error: None,
        })
    }

    fn local_time(&self, timestamps: &Timestamps) -> Option<LocalTime> {
        let read = self.clock.read(timestamps, &self.socket)?;
        let bound = read.bound.max(read.utc_bound);
        Some(LocalTime {
            utc: read.utc,
            utc_bound: bound,
            monotonic: read.at,
            monotonic_bound: bound,
        })
    }

    /// Four intervals without a sample, as they are configured: whoever wants to be asked seldom, or makes it seem so, is stale meanwhile.
    fn stale_after(&self) -> Span {
        let interval = Span::from(self.configuration.interval).nanoseconds();
        (Span::from_nanoseconds(4 * interval) + PATIENCE).max(FRESH)
    }

    fn ask(&mut self) -> Result<()> {
        let bits = || {
            getrandom::u64().map_err(|error| {
                Error::new(
                    ErrorKind::Io,
                    "get random bits",
                    "the system",
                    error.to_string(),
                )
            })
        };
        let request = match self.client.request([bits()?, bits()?]) {
            Ok(request) => request,
            Err(stopped) => {
                self.error = Some(stopped.to_string());
                return Ok(());
            }
        };
        self.asked = Some(self.socket.now());
        self.newest = self.newest.wrapping_add(1);
        if let Err(error) = self.socket.send(&request, Some(TransmitId(self.newest))) {
            self.error = Some(error.to_string());
            is_no_end(error)?;
        }
        self.collect()
    }

    /// Takes transmit timestamps: the kernel's are there before the response is.
    fn collect(&mut self) -> Result<()> {
        let mut records = [TransmitRecord::EMPTY; 4];
        loop {
            let count = self.socket.transmit_timestamps(&mut records)?;
            for record in &records[..count] {
                if let TransmitOutcome::Timestamped(timestamps) = &record.outcome
                    && record.id == TransmitId(self.newest)
                    && let Some(at) = self.local_time(timestamps)
                {
                    self.client.sent(at);
                }
            }
            if count < records.len() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, turn: &mut Turn<'_>) -> Result<()> {
        loop {
            let mut incoming = Incoming::new(turn.buffer);
            match self
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming))
            {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    self.error = Some(error.to_string());
                    return is_no_end(error);
                }
            }
            let received = incoming.received;
            let at = self.local_time(&received.timestamps);
            let source = received.source.unwrap_or(self.address);
            let length = received.length.min(turn.buffer.len());
            let outcome = self.client.received(source, &turn.buffer[..length], at);
            if let Outcome::Sample(sample) = &outcome {
                self.sampled = at;
                turn.sink.sample(&sample::Sample {
                    subject: Subject {
                        kind: Kind::Ntp,
                        name: &self.configuration.server,
                    },
                    sequence: self.newest,
                    at: turn.now,
                    utc: turn.utc,
                    left: Departure::Unknown,
                    has_arrived: true,
                    values: &segments(sample),
                });
            }
            self.note(outcome, turn.now);
        }
    }

    fn note(&mut self, outcome: Outcome, now: MonotonicTime) {
        self.error = match outcome {
            Outcome::Ignored(_) => return,
            Outcome::Sample(_) => {
                self.last = Some(now);
                None
            }
            Outcome::NoSample(why) => Some(why.to_string()),
            Outcome::Kiss(Kiss::Rate) => Some("it wants to be asked less often (RATE)".to_owned()),
            Outcome::Kiss(_) => self.client.stopped().map(|stopped| stopped.to_string()),
        };
        self.asked = None;
    }
}

impl Task for NtpTask {
    fn is_silent(&self, now: MonotonicTime) -> bool {
        now - self.last.unwrap_or(self.opened) > self.stale_after().max(SILENT)
    }

    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        self.collect()?;
        self.take(turn)?;
        if let Some(asked) = self.asked
            && turn.now - asked >= PATIENCE
        {
            self.asked = None;
            self.unanswered += 1;
            self.error.get_or_insert_with(|| "no answer".to_owned());
        }
        if turn.now >= self.due && self.client.stopped().is_none() {
            let whole = Span::from(self.configuration.interval);
            let next = if self.client.counts().requests < HURRIED {
                whole.min(FIRST)
            } else {
                whole
            };
            self.ask()?;
            let every = i128::from(self.client.every());
            self.due = turn.now + Span::from_nanoseconds(next.nanoseconds() * every);
        }
        let patience = self
            .asked
            .map_or(MonotonicTime::MAX, |asked| asked + PATIENCE);
        Ok(if self.client.stopped().is_some() {
            MonotonicTime::MAX
        } else {
            self.due.min(patience)
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>) {
        into.push(&self.socket);
    }

    fn show(&self, moment: &Moment, into: &mut State) {
        // what was measured before a step of this host's clock says nothing of it now
        let is_stepped = self
            .sampled
            .is_some_and(|sampled| is_stepped(&sampled, moment));
        let measured = self
            .client
            .measurement_at(moment.reading.utc)
            .filter(|_| !is_stepped);
        let span = |pick: fn(&Measurement) -> Span| {
            measured
                .as_ref()
                .map(|one| pick(one).saturating_nanoseconds())
        };
        let counts_of = self.client.counts();
        into.ntp
            .get_or_insert_default()
            .servers
            .push(NtpServerState {
                name: self.configuration.server.clone(),
                address: self.address.to_string(),
                falseticker: false,
                offset_ns: span(|one| one.offset),
                bound_ns: span(|one| one.error_bound),
                utc_bound_ns: span(Measurement::utc_bound),
                path_delay_ns: span(|one| one.path_delay),
                age_ns: self
                    .last
                    .map(|at| (moment.now - at).saturating_nanoseconds()),
                stale_after_ns: Some(self.stale_after().saturating_nanoseconds()),
                stratum: self.client.server_state().map(|state| state.stratum),
                requests: counts_of.requests,
                responses: counts_of.responses,
                samples: counts_of.samples,
                unanswered: self.unanswered,
                rejected: counts_of
                    .without_sample()
                    .map(|(reason, count)| (reason.to_owned(), count))
                    .into(),
                steps: Reasons::from([
                    ("local".to_owned(), counts_of.local_steps),
                    ("server".to_owned(), counts_of.contradictions),
                ]),
                timestamps: counts(&self.socket),
                error: self.error.clone().or_else(|| {
                    is_stepped.then(|| "this host's clock was stepped since it answered".to_owned())
                }),
            });
    }
}

/// Whether the real-time clock was stepped since then: its distance to the monotonic clock is another one. Where the two are not slewed alike (not Linux), it
/// may run faster or slower by 0.1 %.
fn is_stepped(then: &LocalTime, now: &Moment) -> bool {
    let reading = &now.reading;
    let passed = reading.before - then.monotonic;
    let moved = (reading.utc - then.utc) - passed;
    let slewed = if cfg!(target_os = "linux") {
        0
    } else {
        passed.nanoseconds().abs() / 1_000
    };
    let unsure = (reading.after - reading.before) + then.utc_bound + then.monotonic_bound;
    moved.abs() > unsure + Span::from_nanoseconds(slewed + 10)
}

/// The offset and the path delay. The interval of possible offsets is as wide as the path delay and all errors together: twice its error bound is one of
/// the path delay.
fn segments(sample: &Sample) -> [(Segment, Bounded<Span>); 2] {
    let bound = sample.error_bound;
    [
        (Segment::Offset, Bounded::new(sample.offset, bound)),
        (
            Segment::Path,
            Bounded::new(sample.path_delay, bound + bound),
        ),
    ]
}

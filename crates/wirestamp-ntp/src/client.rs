//! The dialogue with one server: requests, the responses that match them, and their mode.

use crate::exchange::{Exchange, LocalTime};
use crate::measure::{Measurement, Measuring, Taken};
use crate::outcome::{Counts, Ignored, Kiss, NoSample, Outcome, Stopped};
use crate::packet::{self, Leap, Response, ServerState};
use crate::timestamp::NtpTimestamp;
use std::net::SocketAddr;
use wirestamp_core::time::{RealTimeClock, Span};

const SERVER: u8 = 4;
/// The accepted versions of responses.
const VERSIONS: std::ops::RangeInclusive<u8> = 3..=4;
/// The strata of synchronised servers. Others send 16 or 0 (RFC 5905 §7.3).
const SYNCHRONIZED: std::ops::Range<u8> = 1..16;
/// A root distance from here on means "not synchronised" (RFC 5905 §A.5.1.1).
const MOST_ROOT_DISTANCE: Span = Span::from_seconds(16);
/// After RATE, a server still gets a request in one of this many rounds.
const MOST_SELDOM: u32 = 1_024;
/// After this many answered rounds, the pace that RATE has reduced doubles again.
const FORGIVEN_AFTER: u32 = 16;
/// After this many interleaved requests without an answer, the next one is basic.
const MOST_UNANSWERED: u32 = 4;

/// The options and assumptions of a [`Client`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Whether to request interleaved mode (RFC 9769). A server without it answers in basic mode. Default: yes.
    pub interleaved: bool,
    /// The largest drift between the two clocks in parts per million, steering included. Default: 500, the limit
    /// of the frequency correction on Linux. Programs that also change the length of a tick, such as chrony, slew faster.
    pub max_drift_ppm: u32,
    /// The largest change of that drift in a second, in parts per billion, apart from adjustments
    /// of the local clock, which are measured ([`LocalTime::adjusted`]). Default: 30, as for a
    /// NIC's clock. From 1,000,000 on the drift is not learnt.
    pub wander_ppb: u32,
    /// The largest sudden change in addition, in parts per billion, when the server's clock is
    /// corrected. Default: 500, by which the kernel of a server that polls every 64 s corrects 128
    /// µs.
    pub jump_ppb: u32,
    /// The local host's real-time clock, which says what a step of it is. Default: of any host; the
    /// one of the socket shows smaller steps.
    pub real_time_clock: RealTimeClock,
}

impl ClientOptions {
    /// The limits of the local clock. Error bounds contain the largest drift, so a faster slew
    /// counts as a step.
    fn steadiest(&self) -> RealTimeClock {
        let clock = self.real_time_clock;
        RealTimeClock {
            slew_parts_per_million: clock.slew_parts_per_million.min(self.max_drift_ppm),
            ..clock
        }
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            interleaved: true,
            max_drift_ppm: 500,
            wander_ppb: 30,
            jump_ppb: 500,
            real_time_clock: RealTimeClock::ANY,
        }
    }
}

/// A client that measures the offset to one server, without I/O; the [crate] has an example.
#[derive(Debug, Clone)]
pub struct Client {
    server: SocketAddr,
    options: ClientOptions,
    open: Option<Request>,
    last: Option<Last>,
    /// Interleaved requests since the last valid response.
    unanswered: u32,
    stopped: Option<Stopped>,
    every: u32,
    /// Answered rounds since that changed.
    answered: u32,
    state: Option<ServerState>,
    measuring: Measuring,
    newest: Option<LocalTime>,
    counts: Counts,
}

/// A request without an answer so far.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Basic responses repeat this,
    transmit: NtpTimestamp,
    /// and interleaved ones this.
    receive: Option<NtpTimestamp>,
    left: Option<LocalTime>,
}

/// The last valid response; the next one may carry its exact transmit time.
#[derive(Debug, Clone, Copy)]
struct Last {
    receive: NtpTimestamp,
    transmit: NtpTimestamp,
    exchange: Option<Exchange>,
    server: ServerState,
    /// Whether its sample used the transmit time in the response itself.
    is_taken: bool,
}

impl Client {
    /// Creates a client for a server; it sends nothing yet.
    #[must_use]
    pub fn new(server: SocketAddr, options: ClientOptions) -> Self {
        Self {
            server,
            options,
            open: None,
            last: None,
            unanswered: 0,
            stopped: None,
            every: 1,
            answered: 0,
            state: None,
            measuring: Measuring::new(&options),
            newest: None,
            counts: Counts::default(),
        }
    }

    /// Returns the server's address.
    #[must_use]
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Returns the next request and gives up the one before. `random` must be unpredictable: anyone who guesses it can
    /// forge a response.
    ///
    /// # Errors
    /// [`Stopped`] once the server sent DENY or RSTR.
    pub fn request(&mut self, random: [u64; 2]) -> Result<[u8; 48], Stopped> {
        if let Some(stopped) = self.stopped {
            return Err(stopped);
        }
        let [transmit, receive] = random;
        let transmit = NtpTimestamp(transmit.max(1));
        // they must differ, for the server and for this client
        let receive = NtpTimestamp(receive.max(2) ^ u64::from(receive.max(2) == transmit.0));
        let last = self
            .last
            .filter(|_| self.options.interleaved && self.unanswered < MOST_UNANSWERED);
        self.unanswered += u32::from(last.is_some());
        self.open = Some(Request {
            transmit,
            receive: last.map(|_| receive),
            left: None,
        });
        self.counts.requests += 1;
        Ok(match last {
            Some(last) => packet::request(last.receive, receive, transmit),
            None => packet::request(NtpTimestamp::UNKNOWN, NtpTimestamp::UNKNOWN, transmit),
        })
    }

    /// Takes the transmit timestamp of the open request. Call this before you pass the response: without it the
    /// response gives no sample.
    pub fn sent(&mut self, at: LocalTime) {
        self.look_for_step(&at);
        if let Some(request) = &mut self.open {
            request.left = Some(at);
        }
    }

    /// Takes a received packet with its source address and receive timestamp.
    pub fn received(
        &mut self,
        source: SocketAddr,
        packet: &[u8],
        at: Option<LocalTime>,
    ) -> Outcome {
        let (response, request, interleaved) = match self.answer(source, packet) {
            Ok(answer) => answer,
            Err(why) => return self.counts.ignore(why),
        };
        self.open = None;
        self.unanswered = 0;
        self.counts.responses += 1;
        if let Some(kiss) = response.server.kiss() {
            return self.kissed(kiss);
        }
        self.forgive();
        if let Some(at) = &at {
            self.look_for_step(at);
        }
        let server = response.server;
        if server.leap == Leap::Unsynchronized || !SYNCHRONIZED.contains(&server.stratum) {
            self.last = None;
            return self.counts.no_sample(NoSample::Unsynchronized);
        }
        let is_known = [response.receive, response.transmit]
            .iter()
            .all(|timestamp| *timestamp != NtpTimestamp::UNKNOWN);
        if !is_known || server.root_distance() >= MOST_ROOT_DISTANCE {
            self.last = None;
            return self.counts.no_sample(NoSample::Implausible);
        }
        self.counts.interleaved += u64::from(interleaved);
        let exchange = request.left.zip(at).map(|(t1, t4)| Exchange {
            t1,
            t2: response.receive,
            t4,
        });
        let this = Last {
            receive: response.receive,
            transmit: response.transmit,
            exchange,
            server,
            is_taken: false,
        };
        let before = self.last.replace(this);
        if interleaved {
            // it carries the transmit time of the previous response
            before.map_or(Outcome::NoSample(NoSample::MissingTimestamp), |before| {
                self.sample(&before, response.transmit, true, server)
            })
        } else {
            let outcome = self.sample(&this, response.transmit, false, server);
            if let (Some(last), Outcome::Sample(_)) = (&mut self.last, &outcome) {
                last.is_taken = true;
            }
            outcome
        }
    }

    /// Returns the offset at the arrival of the newest packet; `None` before the first sample.
    #[must_use]
    pub fn measurement(&self) -> Option<Measurement> {
        self.measuring.at(None)
    }

    /// Returns the offset at a later local time. The error bound grows by the possible drift since:
    /// by the drift that samples have shown, if the adjustments of the local clock are known, else
    /// by the largest allowed one, which must then include these adjustments.
    ///
    /// It holds if the local real-time clock was not stepped since. Where it is slewed against the
    /// monotonic clock (Windows), add
    /// [`RealTimeClock::slewed`](wirestamp_core::time::RealTimeClock::slewed).
    #[must_use]
    pub fn measurement_at(&self, at: &LocalTime) -> Option<Measurement> {
        self.measuring.at(Some(at))
    }

    /// Forgets the learnt drift: error bounds for later times grow by the largest allowed drift
    /// again.
    pub fn forget_drift(&mut self) {
        self.measuring.forget_drift();
    }

    /// Returns why the client has stopped, after the server sent DENY or RSTR.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Returns the number of rounds per request: 1, doubled by each RATE (RFC 5905 §7.4) to at most
    /// 1,024, and halved when the server has answered for 16 rounds.
    #[must_use]
    pub fn every(&self) -> u32 {
        self.every
    }

    /// Returns the state of the server as it stated it with the last sample.
    #[must_use]
    pub fn server_state(&self) -> Option<ServerState> {
        self.state
    }

    /// Returns the counts of requests, responses and ignored packets.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the open request that a packet answers, and whether in interleaved mode.
    fn answer(
        &self,
        source: SocketAddr,
        packet: &[u8],
    ) -> Result<(Response, Request, bool), Ignored> {
        if (source.ip(), source.port()) != (self.server.ip(), self.server.port()) {
            return Err(Ignored::OtherSource);
        }
        let response = Response::parse(packet).map_err(Ignored::Malformed)?;
        if response.mode != SERVER || !VERSIONS.contains(&response.version) {
            return Err(Ignored::NotAnAnswer);
        }
        let is_last =
            |last: &Last| (last.receive, last.transmit) == (response.receive, response.transmit);
        if response.server.kiss().is_none() && self.last.as_ref().is_some_and(is_last) {
            return Err(Ignored::Duplicate);
        }
        let request = self.open.ok_or(Ignored::Unasked)?;
        if response.origin == request.transmit {
            Ok((response, request, false))
        } else if request.receive == Some(response.origin) {
            Ok((response, request, true))
        } else {
            Err(Ignored::Unasked)
        }
    }

    fn kissed(&mut self, kiss: Kiss) -> Outcome {
        self.counts.kisses += 1;
        match kiss {
            Kiss::Deny | Kiss::Restrict => self.stopped = Some(Stopped(kiss)),
            Kiss::Rate => {
                self.every = (self.every * 2).min(MOST_SELDOM);
                self.answered = 0;
            }
            Kiss::Other(_) => {}
        }
        Outcome::Kiss(kiss)
    }

    /// Counts an answered round, and raises the pace again after enough of them. So a server that continues to limit
    /// the rate sends RATE for one request in nine at most.
    fn forgive(&mut self) {
        self.answered = self.answered.saturating_add(self.every);
        if self.every > 1 && self.answered >= FORGIVEN_AFTER {
            (self.every, self.answered) = (self.every / 2, 0);
        }
    }

    fn sample(
        &mut self,
        of: &Last,
        t3: NtpTimestamp,
        interleaved: bool,
        server: ServerState,
    ) -> Outcome {
        let Some(exchange) = of.exchange else {
            return self.counts.no_sample(NoSample::MissingTimestamp);
        };
        let clock = self.options.steadiest();
        if exchange.t1.was_stepped_before(&exchange.t4, &clock) {
            return self.counts.no_sample(NoSample::LocalStep);
        }
        let server = worse(of.server, server);
        let Some((sample, bounds)) =
            exchange.complete(t3, interleaved, server, self.options.max_drift_ppm)
        else {
            return self.counts.no_sample(NoSample::Implausible);
        };
        let taken = self
            .measuring
            .take(&sample, &bounds, &exchange, of.is_taken);
        self.counts.contradictions += u64::from(taken == Taken::Contradicts);
        self.counts.drift_contradictions += u64::from(taken == Taken::Drifts);
        self.counts.samples += 1;
        self.state = Some(sample.server);
        Outcome::Sample(sample)
    }

    /// Forgets samples and open requests after a step of the local clock.
    fn look_for_step(&mut self, at: &LocalTime) {
        let clock = self.options.steadiest();
        let newest = self.newest;
        if newest.is_some_and(|newest| newest.was_stepped_before(at, &clock)) {
            self.counts.local_steps += 1;
            self.measuring.reset();
            if let Some(last) = &mut self.last {
                last.exchange = None;
            }
        }
        self.newest = Some(*at);
    }
}

/// Combines two responses about one exchange: the newer, with the larger root delay and dispersion (RFC 9769 §2).
fn worse(one: ServerState, newer: ServerState) -> ServerState {
    ServerState {
        root_delay: one.root_delay.max(newer.root_delay),
        root_dispersion: one.root_dispersion.max(newer.root_dispersion),
        precision: one.precision.max(newer.precision),
        ..newer
    }
}

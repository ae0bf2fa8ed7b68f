//! Measurement of the configured sources other than the followed one, for comparison: pinned
//! timeTransmitters and further domains. It uses the received Sync and Follow_Up messages, and
//! sends delay requests of its own, one per domain, with a port number that the engine does not
//! use.
//!
//! Source: IEEE 1588-2008, 9.3.4 (order of data sets), 11.3 (delay request-response).

mod source;

pub(super) use source::Timestamped;

use super::ledger::Run;
use crate::message::{Kind, Message, PortIdentity, delay_request};
use crate::trust::{Measured, Pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use source::{Request, Source};
use std::time::Duration;
use wirestamp::{MonotonicTime, Span, TransmitId};
use wirestamp_offset::Estimator;

/// Added to the port number in these delay requests.
const PORT: u16 = 0x8000;
/// The time without a Sync after which no delay requests are sent.
const IDLE: Span = Span::from_seconds(10);

/// The sources of one port.
#[derive(Debug)]
pub(super) struct Observers {
    identity: PortIdentity,
    domains: Vec<Domain>,
    run: Option<Run>,
    timing: Timing,
    random: SmallRng,
}

/// The intervals of requests, and the longest silence.
#[derive(Debug, Clone, Copy)]
struct Timing {
    delay_seconds: f64,
    announce_timeout: Span,
    /// The age of the last estimate from which on a source counts as silent.
    silent_after: Span,
    /// The asymmetry: the delay from the timeTransmitter minus the mean.
    asymmetry: i64,
}

/// The configured sources of one domain.
#[derive(Debug)]
struct Domain {
    number: u8,
    sources: Vec<Source>,
    sequence: u16,
    request: Option<Request>,
    ask_at: MonotonicTime,
    synced_at: Option<MonotonicTime>,
}

impl Observers {
    /// Creates the observers of a port, if there is anything to compare. Not with peer delay, where
    /// no message bounds the offset from below if the neighbour is another clock.
    pub(super) fn new(
        configuration: &crate::configuration::Configuration,
        port: PortIdentity,
        estimator: &Estimator,
        seed: u64,
    ) -> wirestamp::Result<Option<Self>> {
        let trust = &configuration.trust;
        if !configuration.compares() {
            return Ok(None);
        }
        let pins: Vec<_> = trust.pins()?.into_iter().map(Some).collect();
        let anyone = [None];
        let domain = |number, pins: &[Option<Pin>]| Domain {
            number,
            sources: pins
                .iter()
                .map(|pin| Source::new(*pin, estimator.fresh()))
                .collect(),
            sequence: 0,
            request: None,
            ask_at: MonotonicTime::MIN,
            synced_at: None,
        };
        // the port itself measures the followed one
        let followed = domain(configuration.domain, &pins);
        let others = trust.compare_domains.iter();
        let others =
            others.map(|number| domain(*number, if pins.is_empty() { &anyone } else { &pins }));
        let interval = |power: i8| 2f64.powi(power.into());
        let slowest = configuration
            .log_sync_interval
            .max(configuration.log_delay_interval);
        let timing = Timing {
            delay_seconds: interval(configuration.log_delay_interval),
            announce_timeout: span(
                interval(configuration.log_announce_interval)
                    * f64::from(configuration.announce_timeout),
            ),
            silent_after: span(interval(slowest) * 5.0 + 2.0),
            asymmetry: configuration.delay_asymmetry_ns,
        };
        Ok(Some(Self {
            identity: PortIdentity {
                port: port.port | PORT,
                ..port
            },
            domains: std::iter::once(followed).chain(others).collect(),
            run: None,
            timing,
            random: SmallRng::seed_from_u64(seed),
        }))
    }

    /// Returns whether messages of this domain are observed.
    pub(super) fn watches(&self, domain: u8) -> bool {
        self.domains.iter().any(|known| known.number == domain)
    }

    pub(super) fn identity(&self) -> PortIdentity {
        self.identity
    }

    /// Returns whether the arrival of this Sync is needed.
    pub(super) fn wants(&self, message: &Message<'_>) -> bool {
        let domain = self
            .domains
            .iter()
            .find(|domain| domain.number == message.domain());
        domain.is_some_and(|domain| {
            domain
                .sources
                .iter()
                .any(|source| source.is(message.source()))
        })
    }

    /// Processes a message of a trusted sender; a Sync with its arrival time. Returns how many requests
    /// were forgotten before their transmit timestamps came, because the clock was restarted.
    pub(super) fn hear(
        &mut self,
        message: &Message<'_>,
        received: Option<Timestamped>,
        now: MonotonicTime,
    ) -> usize {
        let is_another = |run| self.run.replace(run).is_some_and(|before| before != run);
        let is_restarted = received
            .map(|received| received.run)
            .is_some_and(is_another);
        let forgotten = if is_restarted { self.restarted() } else { 0 };
        self.note(message, received, now);
        forgotten
    }

    fn note(&mut self, message: &Message<'_>, received: Option<Timestamped>, now: MonotonicTime) {
        let (timing, identity) = (self.timing, self.identity);
        let Some(domain) = self
            .domains
            .iter_mut()
            .find(|domain| domain.number == message.domain())
        else {
            return;
        };
        if message.kind == Kind::Announce {
            domain
                .sources
                .iter_mut()
                .for_each(|source| source.announced(message, timing.announce_timeout, now));
            return;
        }
        let (request, sequence) = (domain.request, domain.sequence);
        let Some(source) = domain
            .sources
            .iter_mut()
            .find(|source| source.is(message.source()))
        else {
            return;
        };
        match message.kind {
            Kind::Sync => {
                domain.synced_at = Some(now);
                source.sync(message, received, timing.asymmetry, now);
            }
            Kind::FollowUp => source.sync(message, None, timing.asymmetry, now),
            Kind::DelayResponse
                if message.requester() == Some(identity) && message.sequence() == sequence =>
            {
                let Some(at) = message.timestamp() else {
                    return;
                };
                source.answered =
                    Some(at.saturating_sub(message.correction().saturating_nanoseconds()));
                if let Some(request) = request {
                    source.delay(request, self.run, timing.asymmetry);
                }
            }
            _ => {}
        }
    }

    /// Returns when the next delay request is due, if any.
    pub(super) fn next_at(&self, now: MonotonicTime) -> Option<MonotonicTime> {
        self.domains
            .iter()
            .filter(|domain| domain.is_active(now))
            .map(|domain| domain.ask_at)
            .min()
    }

    /// Returns the due delay request of a domain, and whether the one before is forgotten although its
    /// transmit timestamp did not come. Call [`asked`](Self::asked) with its transmit ID.
    pub(super) fn request(
        &mut self,
        now: MonotonicTime,
        minor_version: u8,
    ) -> Option<(u8, [u8; 44], bool)> {
        let due = |domain: &&mut Domain| domain.is_active(now) && domain.ask_at <= now;
        let domain = self.domains.iter_mut().find(due)?;
        let spread = self.random.gen_range(0.5..1.5);
        domain.ask_at = now + span(self.timing.delay_seconds * spread);
        domain.sequence = domain.sequence.wrapping_add(1);
        let forgotten = domain.give_up_request();
        domain.request = None;
        domain
            .sources
            .iter_mut()
            .for_each(|source| source.answered = None);
        Some((
            domain.number,
            delay_request(self.identity, domain.sequence, domain.number, minor_version),
            forgotten,
        ))
    }

    /// Notes that the request was sent with this transmit ID.
    pub(super) fn asked(&mut self, domain: u8, id: TransmitId) {
        if let Some(domain) = self.domains.iter_mut().find(|known| known.number == domain) {
            domain.request = Some(Request { id, sent: None });
        }
    }

    /// Returns whether this is the transmit ID of one of its requests.
    pub(super) fn awaits(&self, id: TransmitId) -> bool {
        self.domains.iter().any(|domain| {
            domain
                .request
                .is_some_and(|request| request.id == id && request.sent.is_none())
        })
    }

    /// Forgets the requests whose transmit timestamps are awaited, and returns their number.
    pub(super) fn give_up_requests(&mut self) -> usize {
        let domains = self.domains.iter_mut();
        domains
            .map(|domain| usize::from(domain.give_up_request()))
            .sum()
    }

    /// Notes that no transmit timestamp of a request is to come.
    pub(super) fn unsent(&mut self, id: TransmitId) {
        let requests = self.domains.iter_mut().map(|domain| &mut domain.request);
        requests
            .filter(|request| request.is_some_and(|request| request.id == id))
            .for_each(|request| *request = None);
    }

    /// Notes the transmit timestamp of a request.
    pub(super) fn left(&mut self, id: TransmitId, sent: Timestamped) {
        let (run, asymmetry) = (self.run, self.timing.asymmetry);
        for domain in &mut self.domains {
            let Some(request) = domain.request.as_mut().filter(|request| request.id == id) else {
                continue;
            };
            request.sent = Some(sent);
            let request = *request;
            domain
                .sources
                .iter_mut()
                .for_each(|source| source.delay(request, run, asymmetry));
        }
    }

    /// Forgets all measurements, after the clock was stepped or restarted. Returns the number of requests
    /// whose transmit timestamps were awaited.
    pub(super) fn restarted(&mut self) -> usize {
        let forgotten = self.give_up_requests();
        for domain in &mut self.domains {
            domain.request = None;
            domain.sources.iter_mut().for_each(Source::restarted);
        }
        forgotten
    }

    /// Returns all estimators.
    pub(super) fn estimators(&mut self) -> impl Iterator<Item = &mut Estimator> {
        self.domains
            .iter_mut()
            .flat_map(|domain| &mut domain.sources)
            .map(|source| &mut source.estimator)
    }

    /// Returns the recently heard sources, without `followed`, which the port measures itself.
    pub(super) fn heard(
        &self,
        followed: Option<PortIdentity>,
        now: MonotonicTime,
    ) -> impl Iterator<Item = Heard<'_>> {
        let main = self.domains.first().map(|domain| domain.number);
        let all = self.domains.iter().flat_map(|domain| {
            domain
                .sources
                .iter()
                .map(move |source| (domain.number, source))
        });
        all.filter_map(move |(domain, source)| {
            let measured_already =
                Some(domain) == main && followed.is_some_and(|followed| source.is(followed));
            let fresh = now - source.estimated_at <= self.timing.silent_after;
            source
                .estimator
                .latest()
                .filter(|_| fresh && !measured_already)?;
            Some(Heard {
                domain,
                identity: source.name(),
                estimator: &source.estimator,
            })
        })
    }

    /// Returns the longest silence of a source.
    pub(super) fn silent_after(&self) -> Span {
        self.timing.silent_after
    }
}

/// A recently heard source.
#[derive(Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) domain: u8,
    pub(crate) identity: PortIdentity,
    pub(crate) estimator: &'a Estimator,
}

impl Heard<'_> {
    /// Returns its estimate at a local time.
    pub(crate) fn at(&self, at: i64) -> Option<Measured> {
        self.estimator.held_at(at).map(|estimate| Measured {
            offset: estimate.offset,
            bound: estimate.bound,
        })
    }
}

impl Domain {
    /// Forgets a request whose transmit timestamp is awaited, and returns whether there was one.
    fn give_up_request(&mut self) -> bool {
        self.request
            .take_if(|request| request.sent.is_none())
            .is_some()
    }

    fn is_active(&self, now: MonotonicTime) -> bool {
        self.synced_at.is_some_and(|at| now - at < IDLE)
    }
}

fn span(seconds: f64) -> Span {
    Span::from(Duration::from_secs_f64(seconds))
}

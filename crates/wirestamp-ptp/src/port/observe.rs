//! Measures each configured source beside the one that the engine follows, so that they can be
//! compared: pinned timeTransmitters, and further domains. Uses the Sync and Follow_Up messages
//! that come anyway, and delay requests of its own, one for each domain, under a port number that
//! the engine does not use.
//!
//! Source: IEEE 1588-2008, 9.3.4 (order of data sets), 11.3 (delay request-response).

use super::ledger::Run;
use crate::message::{Kind, Message, PortIdentity, delay_request};
use crate::trust::{Measured, Pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;
use wirestamp::{MonotonicTime, Span, TransmitId};
use wirestamp_offset::{Estimator, Told};

/// Added to a port's number: whose delay requests these are.
const PORT: u16 = 0x8000;
/// Without a Sync for so long no delay request is sent.
const IDLE: Span = Span::from_seconds(10);
/// Where an Announce has priorities, quality and identity of its grandmaster, and its distance: less is better.
const DATA_SET: std::ops::Range<usize> = 47..63;

/// A time of the clock that timestamps, on the timescale of messages, and the run that it belongs to.
pub(super) type Timestamped = (i64, Run);

/// The sources of one port.
#[derive(Debug)]
pub(super) struct Observers {
    identity: PortIdentity,
    domains: Vec<Domain>,
    run: Option<Run>,
    timing: Timing,
    random: SmallRng,
}

/// How often is asked, and how long anyone may be silent.
#[derive(Debug, Clone, Copy)]
struct Timing {
    delay_seconds: f64,
    announce_timeout: Span,
    /// A source whose last estimate is older is silent.
    silent_after: Span,
    /// By how much the way from the timeTransmitter is longer than the mean.
    asymmetry: i64,
}

/// What is configured in one domain.
#[derive(Debug)]
struct Domain {
    number: u8,
    sources: Vec<Source>,
    sequence: u16,
    request: Option<Request>,
    ask_at: MonotonicTime,
    synced_at: Option<MonotonicTime>,
}

/// A delay request under way.
#[derive(Debug, Clone, Copy)]
struct Request {
    id: TransmitId,
    sent: Option<Timestamped>,
}

/// One source.
#[derive(Debug)]
struct Source {
    /// `None`: the best one that announces itself in the domain.
    pin: Option<Pin>,
    announced: Option<Announced>,
    estimator: Estimator,
    sync: Option<PendingSync>,
    /// When the timeTransmitter received the request under way.
    answered: Option<i64>,
    estimated_at: MonotonicTime,
}

/// Who announces itself as the best of a domain.
#[derive(Debug, Clone, Copy)]
struct Announced {
    identity: PortIdentity,
    data_set: [u8; DATA_SET.end - DATA_SET.start],
    at: MonotonicTime,
}

/// The halves of a Sync: when it arrived, and when it was sent.
#[derive(Debug, Clone, Copy)]
struct PendingSync {
    sequence: u16,
    received: Option<Timestamped>,
    sent: Option<i64>,
}

impl Observers {
    /// Those of a port, if there is anything to compare. Peer to peer there is not: no message
    /// bounds the offset from below where the neighbour is another clock.
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
        // the one that is followed is measured by the port itself
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

    /// Whether messages of this domain concern it.
    pub(super) fn watches(&self, domain: u8) -> bool {
        self.domains.iter().any(|known| known.number == domain)
    }

    pub(super) fn identity(&self) -> PortIdentity {
        self.identity
    }

    /// Whether the arrival of this Sync is of any use.
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

    /// A message of a trusted sender; a Sync with the time of its arrival.
    pub(super) fn hear(
        &mut self,
        message: &Message<'_>,
        received: Option<Timestamped>,
        now: MonotonicTime,
    ) {
        if let Some((_, run)) = received
            && self.run.replace(run).is_some_and(|before| before != run)
        {
            self.restarted();
        }
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

    /// When a delay request is to be sent, if any.
    pub(super) fn next_at(&self, now: MonotonicTime) -> Option<MonotonicTime> {
        self.domains
            .iter()
            .filter(|domain| domain.is_active(now))
            .map(|domain| domain.ask_at)
            .min()
    }

    /// The delay request that is due now, of one domain. Its identifier is wanted by [`asked`](Self::asked).
    pub(super) fn request(
        &mut self,
        now: MonotonicTime,
        minor_version: u8,
    ) -> Option<(u8, [u8; 44])> {
        let due = |domain: &&mut Domain| domain.is_active(now) && domain.ask_at <= now;
        let domain = self.domains.iter_mut().find(due)?;
        let spread = self.random.gen_range(0.5..1.5);
        domain.ask_at = now + span(self.timing.delay_seconds * spread);
        domain.sequence = domain.sequence.wrapping_add(1);
        domain.request = None;
        domain
            .sources
            .iter_mut()
            .for_each(|source| source.answered = None);
        Some((
            domain.number,
            delay_request(self.identity, domain.sequence, domain.number, minor_version),
        ))
    }

    /// It was sent under this identifier.
    pub(super) fn asked(&mut self, domain: u8, id: TransmitId) {
        if let Some(domain) = self.domains.iter_mut().find(|known| known.number == domain) {
            domain.request = Some(Request { id, sent: None });
        }
    }

    /// Whether this is the identifier of one of its requests.
    pub(super) fn awaits(&self, id: TransmitId) -> bool {
        self.domains.iter().any(|domain| {
            domain
                .request
                .is_some_and(|request| request.id == id && request.sent.is_none())
        })
    }

    /// Its request left at that time.
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

    /// The clock was stepped or restarted: everything is learnt again.
    pub(super) fn restarted(&mut self) {
        for domain in &mut self.domains {
            domain.request = None;
            domain.sources.iter_mut().for_each(Source::restarted);
        }
    }

    /// Lets the caller change each estimator.
    pub(super) fn estimators(&mut self) -> impl Iterator<Item = &mut Estimator> {
        self.domains
            .iter_mut()
            .flat_map(|domain| &mut domain.sources)
            .map(|source| &mut source.estimator)
    }

    /// The sources that are heard, without `followed` in the followed domain, which the port measures itself.
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

    /// How long a source may be silent.
    pub(super) fn silent_after(&self) -> Span {
        self.timing.silent_after
    }
}

/// A source that was heard lately.
#[derive(Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) domain: u8,
    pub(crate) identity: PortIdentity,
    pub(crate) estimator: &'a Estimator,
}

impl Heard<'_> {
    /// Its estimate at a local time.
    pub(crate) fn at(&self, at: i64) -> Option<Measured> {
        self.estimator.held_at(at).map(|estimate| Measured {
            offset: estimate.offset,
            bound: estimate.bound,
        })
    }
}

impl Domain {
    fn is_active(&self, now: MonotonicTime) -> bool {
        self.synced_at.is_some_and(|at| now - at < IDLE)
    }
}

impl Source {
    fn new(pin: Option<Pin>, estimator: Estimator) -> Self {
        Self {
            pin,
            announced: None,
            estimator,
            sync: None,
            answered: None,
            estimated_at: MonotonicTime::MIN,
        }
    }

    fn is(&self, source: PortIdentity) -> bool {
        match self.pin {
            Some(pin) => pin.is(source),
            None => self
                .announced
                .is_some_and(|announced| announced.identity == source),
        }
    }

    fn name(&self) -> PortIdentity {
        match (self.pin, self.announced) {
            (Some(pin), _) => PortIdentity {
                clock: pin.clock,
                port: pin.port.unwrap_or(0),
            },
            (None, announced) => announced
                .map(|announced| announced.identity)
                .unwrap_or_default(),
        }
    }

    /// Without a pin the best one that is not silent counts.
    fn announced(&mut self, message: &Message<'_>, timeout: Span, now: MonotonicTime) {
        if self.pin.is_some() {
            return;
        }
        let Ok(data_set) = message.bytes[DATA_SET].try_into() else {
            return;
        };
        let fresh = Announced {
            identity: message.source(),
            data_set,
            at: now,
        };
        let known = self.announced.filter(|known| now - known.at <= timeout);
        let is_better =
            known.is_none_or(|known| known.identity == fresh.identity || data_set < known.data_set);
        if !is_better {
            return;
        }
        let changed = self
            .announced
            .replace(fresh)
            .is_some_and(|before| before.identity != fresh.identity);
        if changed {
            self.restarted();
        }
    }

    fn sync(
        &mut self,
        message: &Message<'_>,
        received: Option<Timestamped>,
        asymmetry: i64,
        now: MonotonicTime,
    ) {
        let sequence = message.sequence();
        let known = self.sync.filter(|sync| sync.sequence == sequence);
        let mut sync = known.unwrap_or(PendingSync {
            sequence,
            received: None,
            sent: None,
        });
        if message.kind == Kind::Sync {
            let correction = message.correction().saturating_nanoseconds();
            sync.received = received.map(|(at, run)| (at.saturating_sub(correction), run));
        }
        if message.kind == Kind::FollowUp || !message.is_two_step() {
            // a Follow_Up's correction is added to what it says, that of a Sync was taken off above
            let correction = if message.kind == Kind::FollowUp {
                message.correction().saturating_nanoseconds()
            } else {
                0
            };
            sync.sent = message.timestamp().map(|at| at.saturating_add(correction));
        }
        self.sync = Some(sync);
        let (Some((at, _)), Some(sent)) = (sync.received, sync.sent) else {
            return;
        };
        self.sync = None;
        match self
            .estimator
            .from_reference(at, at.saturating_sub(sent).saturating_sub(asymmetry))
        {
            Ok(Told::Estimate(_)) => self.estimated_at = now,
            Ok(_) => {}
            Err(_) => self.estimator.reset(),
        }
    }

    /// Both halves of the request's exchange, if they are there and of the run that goes on.
    fn delay(&mut self, request: Request, current: Option<Run>, asymmetry: i64) {
        let (Some((sent, run)), Some(answered)) = (request.sent, self.answered) else {
            return;
        };
        self.answered = None;
        if Some(run) != current {
            return;
        }
        if self
            .estimator
            .to_reference(
                sent,
                sent.saturating_sub(answered).saturating_sub(asymmetry),
            )
            .is_err()
        {
            self.estimator.reset();
        }
    }

    fn restarted(&mut self) {
        self.estimator.reset();
        (self.sync, self.answered) = (None, None);
        self.estimated_at = MonotonicTime::MIN;
    }
}

fn span(seconds: f64) -> Span {
    Span::from(Duration::from_secs_f64(seconds))
}

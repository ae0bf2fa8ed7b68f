//! Runs the STAMP reflector. `wirestamp-probe` makes the replies.

use crate::event::EventKind;
use crate::host::Host;
use crate::host_stamp::HostStamp;
use crate::moment::Moment;
use crate::nic::{Needs, NicClock};
use crate::options::{ClockBound, Reflector as Configuration};
use crate::sink::Packet;
use crate::state::{Reasons, ReflectorState, State};
use crate::task::{Task, Turn};
use std::rc::Rc;
use std::time::Duration;
use wirestamp::clock::utc_error_bound;
use wirestamp::socket::AnySocket;
use wirestamp::{MonotonicTime, Result, Span, TimestampSource};
use wirestamp_probe::Missing;
use wirestamp_probe::endpoint::{Clock, Passed, ReflectorService, Seen};
use wirestamp_probe::reflector::{Dropped, Reflector, ReflectorConfiguration};
use wirestamp_probe::tlv::SyncSource;

/// The interval at which the kernel is asked for the clock's largest error.
const ASK: Span = Span::from_seconds(1);

/// The time after which a NIC's clock must be correlated with the system's.
const CORRELATED: Span = Span::from_seconds(5);
/// The interval at which that is checked.
const LOOK: Span = Span::from_milliseconds(1);

/// A reflector and its sockets.
pub(crate) struct ReflectorTask {
    service: ReflectorService,
    /// What timestamps, if not the kernel, and whether its timestamps can be converted.
    nic: Option<Rc<NicClock>>,
    is_correlated: bool,
    opened: Option<MonotonicTime>,
    asked: Option<MonotonicTime>,
    clock_bound: ClockBound,
    /// Whether the kernel says how far its clock may be off: a simulated host has none.
    has_kernel: bool,
    /// Why no request comes to the interface that is named, and what its NIC does not timestamp.
    warnings: Vec<String>,
}

impl ReflectorTask {
    pub(crate) fn open(configuration: &Configuration, host: &Host) -> Result<Self> {
        let place = &host.place;
        let has_kernel = !place.is_simulated();
        let clock_bound = configuration.clock_bound;
        let bound = bound_of(clock_bound, has_kernel);
        let reflector = Reflector::new(ReflectorConfiguration {
            stateful: !configuration.stateless,
            key: crate::key::read(configuration.key_file.as_deref())?,
            format: configuration.format,
            tai_offset: configuration.tai_offset,
            source: bound.map_or(SyncSource::Local, |_| SyncSource::Ntp),
            grant_dscp: configuration.grant_dscp,
            answer_short: configuration.answer_short,
            sessions: configuration.sessions as usize,
            rate: configuration.rate,
        });
        let named = configuration.interface.as_deref();
        let nic = host.nic(named, configuration.source, Needs::Either)?;
        let clock = match &nic {
            Some(nic) => Clock::hardware_else_software(nic.correlator()),
            None => Clock::software(),
        };
        let sockets = place.reflector_sockets(configuration)?;
        let interface = named.and_then(|name| place.interface(name).ok());
        let diverted = interface.and_then(|interface| interface.diverted());
        let limit = nic.as_ref().and_then(|nic| nic.limit());
        let limit = limit.map(|limit| format!("{limit}: the kernel timestamps the other packets"));
        Ok(Self {
            warnings: diverted.into_iter().chain(limit).collect(),
            service: ReflectorService::new(reflector, sockets, clock)?,
            is_correlated: nic.is_none(),
            nic,
            opened: None,
            asked: None,
            clock_bound,
            has_kernel,
        })
    }

    fn source(&self) -> TimestampSource {
        match self.nic {
            Some(_) => TimestampSource::Hardware,
            None => TimestampSource::Software,
        }
    }

    /// Checks whether the NIC's timestamps can be converted; requests wait in the socket meanwhile. Returns when to
    /// check again.
    fn correlate(&mut self, now: MonotonicTime) -> Result<Option<MonotonicTime>> {
        let opened = *self.opened.get_or_insert(now);
        let Some(nic) = self.nic.as_ref().filter(|_| !self.is_correlated) else {
            return Ok(None);
        };
        match nic.ready() {
            Ok(()) => {
                self.is_correlated = true;
                Ok(None)
            }
            Err(error) if now - opened > CORRELATED => Err(error),
            Err(_) => Ok(Some(now + LOOK)),
        }
    }
}

fn bound_of(clock_bound: ClockBound, has_kernel: bool) -> Option<Span> {
    match clock_bound {
        ClockBound::Kernel => utc_error_bound().filter(|_| has_kernel),
        ClockBound::Unknown => None,
        ClockBound::At(bound) => Some(bound.into()),
    }
}

fn recorded(seen: &Seen) -> Packet<'static> {
    let (is_sent, timestamp) = match seen.passed {
        Passed::Sent(sent) => (true, sent.map(HostStamp::from).map_err(Missing::name)),
        Passed::Received(received) => {
            let stamp = received.map(HostStamp::from);
            (false, stamp.ok_or(Packet::NO_TIMESTAMP))
        }
    };
    Packet {
        interface: Packet::ANY,
        between: [seen.local, seen.remote],
        sequence: seen.sequence,
        is_sent,
        timestamp,
    }
}

impl Task for ReflectorTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if self.opened.is_none() {
            for why in &self.warnings {
                turn.sink
                    .event(EventKind::ReflectorWarning, "reflector", why.clone());
            }
        }
        if let Some(later) = self.correlate(turn.now)? {
            return Ok(later);
        }
        if self.asked.is_none_or(|asked| turn.now - asked >= ASK) {
            self.asked = Some(turn.now);
            let bound = bound_of(self.clock_bound, self.has_kernel);
            self.service.set_clock_bound(bound);
        }
        if turn.sink.wants_packets() {
            let (sink, utc) = (&mut *turn.sink, turn.utc);
            let mut tell = |seen: &Seen| sink.packet(&recorded(seen), utc);
            self.service.serve_observed(Duration::ZERO, &mut tell)?;
        } else {
            self.service.serve(Duration::ZERO)?;
        }
        Ok(turn.now + ASK)
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        if !self.is_correlated {
            return;
        }
        into.extend(self.service.sockets().map(AnySocket::from));
    }

    fn show(&self, _moment: &Moment, into: &mut State) {
        let counters = self.service.counters();
        let dropped =
            Dropped::ALL.map(|reason| (reason.name().to_owned(), counters.dropped_for(reason)));
        let missing = counters.missing_transmit_timestamps.reasons();
        let missing = missing.map(|(reason, count)| (reason.name().to_owned(), count));
        let addresses = self.service.addresses().filter(|_| self.is_correlated);
        into.reflector = Some(ReflectorState {
            listening: addresses.map(|address| address.to_string()).collect(),
            source: self.source().name().to_owned(),
            replies: counters.replies,
            dropped: Reasons::from(dropped),
            not_sent: counters.not_sent,
            missing: missing.collect(),
            stamps: counters
                .stamps()
                .map(|(source, count)| (source.to_owned(), count))
                .collect(),
            sessions: self.service.sessions() as u64,
            warnings: self.warnings.clone(),
        });
    }
}

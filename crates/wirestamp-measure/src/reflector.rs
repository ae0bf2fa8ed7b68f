//! The STAMP reflector. Replies are `wirestamp-probe`'s affair.

use crate::host_stamp::HostStamp;
use crate::moment::Moment;
use crate::options::Reflector as Configuration;
use crate::place::Place;
use crate::sink::Packet;
use crate::state::{Reasons, ReflectorState, State};
use crate::task::{Task, Turn};
use std::time::Duration;
use wirestamp::{MonotonicTime, Result, Span, UdpSocket, utc_error_bound};
use wirestamp_probe::Missing;
use wirestamp_probe::endpoint::{Clock, Passed, ReflectorService, Seen};
use wirestamp_probe::reflector::{Dropped, Reflector, ReflectorConfiguration};
use wirestamp_probe::tlv::SyncSource;

/// How often the kernel is asked what the clock may be off.
const ASK: Span = Span::from_seconds(1);

/// A reflector and its sockets.
pub(crate) struct ReflectorTask {
    service: ReflectorService,
    asked: Option<MonotonicTime>,
    /// Whether the kernel says how far its clock may be off: a simulated host has none.
    has_kernel: bool,
}

impl ReflectorTask {
    pub(crate) fn open(configuration: &Configuration, place: &Place) -> Result<Self> {
        let reflector = Reflector::new(ReflectorConfiguration {
            key: crate::key::read(configuration.key_file.as_deref())?,
            source: if !place.is_simulated() && utc_error_bound().is_some() {
                SyncSource::Ntp
            } else {
                SyncSource::Local
            },
            sessions: configuration.sessions as usize,
            rate: configuration.rate,
            ..ReflectorConfiguration::default()
        });
        let sockets = place.reflector_sockets(&configuration.listen)?;
        let service = ReflectorService::new(reflector, sockets, Clock::software())?;
        Ok(Self {
            service,
            asked: None,
            has_kernel: !place.is_simulated(),
        })
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
        if self.asked.is_none_or(|asked| turn.now - asked >= ASK) {
            self.asked = Some(turn.now);
            self.service
                .set_clock_bound(utc_error_bound().filter(|_| self.has_kernel));
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

    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>) {
        into.extend(self.service.sockets());
    }

    fn show(&self, _moment: &Moment, into: &mut State) {
        let counters = self.service.counters();
        let dropped =
            Dropped::ALL.map(|reason| (reason.name().to_owned(), counters.dropped_for(reason)));
        into.reflector = Some(ReflectorState {
            listening: self
                .service
                .addresses()
                .map(|address| address.to_string())
                .collect(),
            replies: counters.replies,
            dropped: Reasons::from(dropped),
            sessions: self.service.sessions() as u64,
        });
    }
}

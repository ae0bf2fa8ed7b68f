//! Receives datagrams and transmit timestamps. Each is passed to the engine, or counted with the
//! reason why not.

use super::ledger::{Entry, PeerExchange, Run};
use super::observe::Timestamped;
use super::outlet::Awaited;
use super::{BATCH, Port, ROOM, TURNS, is_gone};
use crate::configuration::Role;
use crate::lost::Lost;
use crate::message::{self, Fault, Kind, LONGEST, Message, PortIdentity};
use crate::sockets::Arrived;
use crate::timeline::Timeline;
use crate::timestamping::LocalTimestamp;
use crate::trust::Standing;
use statime::time::Time;
use wirestamp::{
    Bounded, MissingReason, MonotonicTime, Span, Timestamps, TransmitOutcome, TransmitRecord,
};

impl Port<'_> {
    /// Processes all available datagrams of both sockets.
    pub(super) fn receive(&mut self, timeline: &Timeline) {
        let mut room = std::mem::take(&mut self.room);
        for event in [true, false] {
            for _ in 0..TURNS {
                let mut arrived = [Arrived::EMPTY; BATCH];
                let count = self.fetch(event, &mut room, &mut arrived);
                for (arrived, buffer) in arrived[..count].iter().zip(room.chunks_exact(ROOM)) {
                    let payload = &buffer[..arrived.length];
                    if !self.outlet.sockets.is_anothers(event, arrived, payload) {
                        self.take_datagram(payload, arrived, event, timeline);
                    }
                }
                if count < BATCH {
                    break;
                }
            }
        }
        self.room = room;
    }

    /// Drops all datagrams at the event socket.
    pub(super) fn discard(&mut self) {
        let mut room = std::mem::take(&mut self.room);
        let mut arrived = [Arrived::EMPTY; BATCH];
        (0..TURNS).find(|_| self.fetch(true, &mut room, &mut arrived) < BATCH);
        self.room = room;
    }

    fn fetch(&mut self, event: bool, room: &mut [u8], into: &mut [Arrived; BATCH]) -> usize {
        match self.outlet.sockets.receive(event, room, into) {
            Ok(count) => count,
            Err(error) => {
                self.outlet.broken |= is_gone(&error);
                0
            }
        }
    }

    fn take_datagram(
        &mut self,
        payload: &[u8],
        arrived: &Arrived,
        event: bool,
        timeline: &Timeline,
    ) {
        let from = arrived.from;
        let is_known = self.flood.count(event, payload, from);
        let read = if arrived.truncated {
            Err(Fault::Oversized)
        } else {
            Message::read(payload, event, self.domain_of(payload))
        };
        let used = read.and_then(|message| {
            if self.is_own(message.source()) {
                return Err(Fault::Own);
            }
            let observed = self.observe(&message, arrived, timeline);
            if message.domain() != self.engine.configuration.domain {
                return observed;
            }
            let (standing, now) = (self.standing(is_known), self.now());
            if !self.gate.admits(&message, from, &standing, now)? {
                return Ok(());
            }
            self.taken.note(&message);
            if event {
                self.flood.served(message.source(), from, now);
            }
            if event {
                self.take_event(&message, &arrived.timestamps, timeline)
            } else {
                self.take_general(&message)
            }
        });
        if let Err(fault) = used {
            self.outlet.counts.ignored(fault);
            if fault == Fault::Domain {
                let wanted = self.engine.configuration.domain;
                self.taken.note_domain(payload, wanted);
            }
        }
        self.take_records();
    }

    /// The required domain of a message: the followed one, or another that is compared.
    fn domain_of(&self, datagram: &[u8]) -> u8 {
        let watched = |domain: &u8| {
            self.observers
                .as_ref()
                .is_some_and(|observers| observers.watches(*domain))
        };
        datagram
            .get(4)
            .copied()
            .filter(watched)
            .unwrap_or(self.engine.configuration.domain)
    }

    fn is_own(&self, source: PortIdentity) -> bool {
        source == self.identity
            || self
                .observers
                .as_ref()
                .is_some_and(|observers| observers.identity() == source)
    }

    /// Passes a timeTransmitter's message to the observers.
    fn observe(
        &mut self,
        message: &Message<'_>,
        arrived: &Arrived,
        timeline: &Timeline,
    ) -> Result<(), Fault> {
        let Some(observers) = &self.observers else {
            return Ok(());
        };
        let concerns = matches!(
            message.kind,
            Kind::Announce | Kind::Sync | Kind::FollowUp | Kind::DelayResponse
        );
        if !concerns {
            return Ok(());
        }
        self.gate.is_trusted(message, arrived.from)?;
        let now = self.now();
        let wanted = message.kind == Kind::Sync && observers.wants(message);
        let received = if wanted {
            let received = self.timestamped(&arrived.timestamps, timeline).ok();
            received.map(|received| self.widened(received, message.correction()))
        } else {
            None
        };
        if let Some(observers) = &mut self.observers {
            let forgotten = observers.hear(message, received, now);
            (0..forgotten).for_each(|_| self.outlet.counts.lost(Lost::ClockGeneration));
        }
        Ok(())
    }

    /// A correction is measured by another clock and subtracted from a time of ours, which may have been slewed meanwhile.
    fn widened(&self, received: Timestamped, correction: Span) -> Timestamped {
        let sent = received
            .at
            .saturating_sub(correction.saturating_nanoseconds());
        let moved = self.adjusted_between(sent, received.at);
        Timestamped {
            unsure: received.unsure.saturating_add(moved),
            ..received
        }
    }

    /// The clock's time on the timescale of messages, regardless of the followed timeTransmitter.
    fn timestamped(
        &mut self,
        timestamps: &Timestamps,
        timeline: &Timeline,
    ) -> Result<Timestamped, Lost> {
        let timestamp = self
            .clock
            .borrow_mut()
            .read(timestamps, &self.outlet.sockets.event)?;
        self.note_adjustments(&timestamp, timeline);
        Ok(Timestamped {
            at: timestamp.at.saturating_add(timeline.shift_of(&self.clock)),
            unsure: timestamp.unsure,
            run: Run::of(&timestamp, timeline.utc_shift),
        })
    }

    /// Sends the observers' requests.
    pub(super) fn ask_for_comparison(&mut self, now: MonotonicTime) {
        let minor_version = self.engine.configuration.minor_version;
        let Some(observers) = &mut self.observers else {
            return;
        };
        while let Some((domain, message, forgotten)) = observers.request(now, minor_version) {
            if forgotten {
                let reason = MissingReason::Deadline;
                self.outlet.counts.lost(Lost::TransmitTimestamp(reason));
            }
            if let Some(id) = self.outlet.send_beside(&message) {
                observers.asked(domain, id);
            }
        }
    }

    /// The state that decides which messages can be used now.
    fn standing(&self, is_known: bool) -> Standing {
        let is_answer = |awaited: &&Awaited| awaited.kind == Kind::PeerDelayResponse;
        Standing {
            identity: self.identity,
            parent: self.engine.parent(),
            state: self.state(),
            answers: self.outlet.awaited.iter().filter(is_answer).count(),
            is_known,
        }
    }

    fn take_general(&mut self, message: &Message<'_>) -> Result<(), Fault> {
        let now = self.now();
        let from_parent = message.source() == self.engine.parent();
        match message.kind {
            Kind::Announce if from_parent => self.announced_at = now,
            Kind::DelayResponse if from_parent && message.requester() == Some(self.identity) => {
                let wanted = message.log_interval();
                self.outlet.wanted_delay_interval = (-7..=6).contains(&wanted).then_some(wanted);
            }
            _ => {}
        }
        let receives_only = self.engine.configuration.role == Role::TimeReceiver;
        let mut room = [0; LONGEST];
        let mut bytes = message.bytes;
        if message.kind == Kind::Announce && receives_only {
            let copy = &mut room[..bytes.len()];
            copy.copy_from_slice(bytes);
            message::better_than_a_receiver(copy);
            bytes = copy;
        }
        if let Some(running) = &mut self.running {
            self.outlet
                .perform(running.handle_general_receive(bytes), now);
        }
        Ok(())
    }

    fn take_event(
        &mut self,
        message: &Message<'_>,
        timestamps: &Timestamps,
        timeline: &Timeline,
    ) -> Result<(), Fault> {
        let Some((timestamp, at)) = self.placed(timestamps, timeline) else {
            return Ok(());
        };
        let Some(time) = engine_time(at) else {
            return Err(Fault::Timestamp);
        };
        let correction = message.correction().saturating_nanoseconds();
        if at < correction.saturating_abs() {
            return Err(Fault::Timestamp);
        }
        let before = Span::from_nanoseconds(correction.into());
        let arrived = at;
        let at = at.saturating_sub(correction); // like the engine
        let entry = Entry {
            at,
            unsure: timestamp
                .unsure
                .saturating_add(self.adjusted_between(at, arrived)),
            run: Run::of(&timestamp, timeline.utc_shift),
            on_monotonic: timestamp
                .on_monotonic
                .map(|at| Bounded::new(at.value - before, at.bound)),
            made: timestamp.made,
        };
        match message.kind {
            Kind::Sync if message.source() == self.engine.parent() => self.ledger.note_sync(entry),
            Kind::PeerDelayResponse if message.requester() == Some(self.identity) => {
                self.take_peer_response(message, entry);
            }
            _ => {}
        }
        let now = self.now();
        if let Some(running) = &mut self.running {
            self.outlet.answering = Some(entry.run);
            self.outlet
                .perform(running.handle_event_receive(message.bytes, time), now);
            self.outlet.answering = None;
        }
        Ok(())
    }

    /// Uses a neighbour's answer, which bounds the offset from below if the neighbour is the
    /// timeTransmitter.
    fn take_peer_response(&mut self, message: &Message<'_>, entry: Entry) {
        let sequence = message.sequence();
        let is_awaited = |awaited: &Awaited| {
            awaited.kind == Kind::PeerDelayRequest && awaited.sequence == sequence
        };
        if self.outlet.awaited.iter().any(is_awaited) {
            // the answer came before our own transmit timestamp
            self.ledger.peer = Some(PeerExchange {
                sequence,
                request: None,
                response: None,
            });
        }
        let Some(peer) = self
            .ledger
            .peer
            .as_mut()
            .filter(|peer| peer.sequence == sequence)
        else {
            return;
        };
        peer.response = Some(entry);
        let (Some(request), Some(received)) = (peer.request, message.request_received()) else {
            return;
        };
        let is_transmitter = message.source().clock == self.engine.parent().clock;
        self.is_behind_another = !is_transmitter;
        if !is_transmitter || Some(request.run) != self.ledger.current || request.run != entry.run {
            return;
        }
        let difference = request.at.saturating_sub(received);
        let estimator = self.estimator.unsure_by(request.unsure);
        if estimator
            .to_reference_alone(request.at, difference)
            .is_err()
        {
            self.contradicted();
        }
    }

    /// Returns the clock's time and the time for messages; counts the loss if there is none.
    fn placed(
        &mut self,
        timestamps: &Timestamps,
        timeline: &Timeline,
    ) -> Option<(LocalTimestamp, i64)> {
        let read = self
            .clock
            .borrow_mut()
            .read(timestamps, &self.outlet.sockets.event);
        let placed = read.and_then(|timestamp| match timeline.place(&self.clock, &timestamp) {
            Some(at) => Ok((timestamp, at)),
            None => Err(Lost::Unrelated),
        });
        match placed {
            Ok((timestamp, at)) => {
                if self.ledger.enter(Run::of(&timestamp, timeline.utc_shift)) {
                    self.forget();
                }
                self.note_adjustments(&timestamp, timeline);
                let source = self.clock.borrow().source();
                self.outlet.counts.stamp(source);
                Some((timestamp, at))
            }
            Err(lost) => {
                self.outlet.counts.lost(lost);
                None
            }
        }
    }

    /// Takes transmit timestamps and losses.
    pub(super) fn take_transmit_timestamps(&mut self, timeline: &Timeline) {
        let mut records = [TransmitRecord::EMPTY; BATCH];
        loop {
            let count = match self.outlet.sockets.event.transmit_timestamps(&mut records) {
                Ok(count) => count,
                Err(error) => {
                    self.outlet.broken |= is_gone(&error);
                    return;
                }
            };
            for record in &records[..count] {
                self.take_outcome(record, timeline);
            }
            if count < records.len() {
                return;
            }
        }
    }

    fn take_outcome(&mut self, record: &TransmitRecord, timeline: &Timeline) {
        if self
            .observers
            .as_ref()
            .is_some_and(|observers| observers.awaits(record.id))
        {
            self.take_outcome_of_observers(record, timeline);
            return;
        }
        if self.outlet.vigil.is_attempt(record.id) {
            self.take_attempt(&record.outcome, timeline);
            return;
        }
        let Some(place) = self
            .outlet
            .awaited
            .iter()
            .position(|awaited| awaited.id == record.id)
        else {
            return;
        };
        let awaited = self.outlet.awaited.swap_remove(place);
        let kind = awaited.kind;
        let sent = self.time_sent(&record.outcome, timeline);
        let now = self.now();
        match sent {
            Some(sent) => {
                self.outlet.vigil.came();
                self.take_transmit_timestamp(awaited, sent);
            }
            None if kind == Kind::Sync => self.outlet.vigil.missed(now),
            None => {}
        }
        self.take_records();
    }

    /// Passes on when an observers' request left; counts the loss if that is unknown.
    fn take_outcome_of_observers(&mut self, record: &TransmitRecord, timeline: &Timeline) {
        let sent = match &record.outcome {
            TransmitOutcome::Timestamped(timestamps) => self.timestamped(timestamps, timeline),
            TransmitOutcome::Missing(reason) => Err(Lost::TransmitTimestamp(*reason)),
        };
        let Some(observers) = &mut self.observers else {
            return;
        };
        match sent {
            Ok(sent) => observers.left(record.id, sent),
            Err(lost) => {
                observers.unsent(record.id);
                self.outlet.counts.lost(lost);
            }
        }
    }

    /// Notes the outcome of an attempt to get timestamps again.
    fn take_attempt(&mut self, outcome: &TransmitOutcome, timeline: &Timeline) {
        self.outlet.vigil.attempted(None);
        if self.time_sent(outcome, timeline).is_some() {
            self.outlet.vigil.came();
        }
    }

    /// Returns when a message left, on the timestamping clock and for the engine; counts the loss
    /// if it is unknown.
    fn time_sent(
        &mut self,
        outcome: &TransmitOutcome,
        timeline: &Timeline,
    ) -> Option<(Timestamped, Time)> {
        let never = MissingReason::NeverGenerated;
        let timestamps = match outcome {
            TransmitOutcome::Timestamped(timestamps) => Ok(timestamps),
            TransmitOutcome::Missing(reason) => Err(*reason),
        };
        let source = self.clock.borrow().source();
        let usable = timestamps
            .and_then(|timestamps| timestamps.has(source).then_some(timestamps).ok_or(never));
        let timestamps = match usable {
            Ok(timestamps) => timestamps,
            Err(reason) => {
                self.outlet.counts.lost(Lost::TransmitTimestamp(reason));
                return None;
            }
        };
        let (timestamp, at) = self.placed(timestamps, timeline)?;
        let time = engine_time(at);
        if time.is_none() {
            self.outlet.counts.lost(Lost::Unrelated);
        }
        let sent = Timestamped {
            at,
            unsure: timestamp.unsure,
            run: Run::of(&timestamp, timeline.utc_shift),
        };
        Some((sent, time?))
    }

    fn take_transmit_timestamp(&mut self, awaited: Awaited, (sent, time): (Timestamped, Time)) {
        let Timestamped { at, unsure, run } = sent;
        let entry = Entry {
            at,
            unsure,
            run,
            on_monotonic: None,
            made: None,
        };
        match awaited.kind {
            Kind::DelayRequest => self.ledger.request = Some(entry),
            Kind::PeerDelayRequest => {
                let known = self
                    .ledger
                    .peer
                    .filter(|peer| peer.sequence == awaited.sequence);
                let response = known.and_then(|peer| peer.response);
                self.ledger.peer = Some(PeerExchange {
                    sequence: awaited.sequence,
                    request: Some(entry),
                    response,
                });
            }
            // the other end subtracts its two timestamps from each other
            Kind::PeerDelayResponse if awaited.answers != Some(run) => {
                self.outlet.counts.lost(Lost::ClockGeneration);
                return;
            }
            _ => {}
        }
        let now = self.now();
        if let Some(running) = &mut self.running {
            self.outlet
                .perform(running.handle_send_timestamp(awaited.context, time), now);
        }
    }
}

/// Converts a time for the engine, which counts from 1970 and uses zero for no timestamp.
fn engine_time(at: i64) -> Option<Time> {
    u64::try_from(at)
        .ok()
        .filter(|at| *at > 0)
        .map(Time::from_nanos)
}

//! What a socket gets of timestamps: how they are granted, received and collected.

use crate::codes::{Refusal, closed};
use crate::packet::Tag;
use crate::scenario::Platform;
use crate::socket::{Arrived, SocketId, SocketState};
use crate::state::State;
use crate::timestamps::{ENTRY_BYTES, KernelTimestamps, Waiting};
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::{Granted, Identification, Source, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{
    Arrival, Clocks, CountRules, CounterState, Timestamps, TransmitId,
};
use wirestamp_core::{Error, Result};

impl State {
    /// Replaces the timestamping configuration of a socket.
    pub(crate) fn configure_timestamping(
        &mut self,
        id: SocketId,
        wanted: &Timestamping,
    ) -> Result<Granted> {
        const OPERATION: &str = "configure timestamping";
        self.pass(self.cost.query);
        let in_force = self.grant(wanted);
        let wants_any = wanted.receive || wanted.transmit.is_some();
        let refused = wants_any && !self.host.timestamping;
        let in_force = if refused { Timestamping::OFF } else { in_force };
        let room = self.room(&in_force);
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(closed(OPERATION, "the socket"));
        };
        let local = socket.local;
        if socket.closed {
            return Err(closed(OPERATION, local));
        }
        if socket.counts_ids() {
            self.read_ahead(id);
        }
        let rules = self.count_rules();
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(closed(OPERATION, "the socket"));
        };
        socket.configure(in_force, room, rules, self.platform);
        self.note_receivers();
        if refused {
            return Err(Refusal::NoTimestamping.error(self.platform, OPERATION, local));
        }
        if let Some(since) = self
            .timestamping_since
            .filter(|_| self.host.waits_out_cold_start && in_force.receive)
        {
            let warm = since.saturating_add(self.host.cold_start.nanoseconds());
            self.advance_to(warm.max(self.now));
        }
        let queue = match self.platform {
            Platform::Linux => in_force.transmit.map(|_| (room - 1) / ENTRY_BYTES),
            Platform::Windows => in_force.transmit.map(u32::from),
        };
        Ok(Granted::new(in_force, queue))
    }

    /// What the kernel's count does.
    pub(crate) fn count_rules(&self) -> CountRules {
        if self.host.old_count {
            CountRules::UNKNOWN
        } else {
            CountRules::FIXED
        }
    }

    fn grant(&self, wanted: &Timestamping) -> Timestamping {
        let mut in_force = *wanted;
        match self.platform {
            Platform::Linux if !self.host.carried_ids => {
                in_force.identification = Identification::Counter;
            }
            Platform::Linux => {}
            Platform::Windows => {
                in_force.identification = Identification::Carried;
                if in_force.source != Source::Hardware {
                    // the NIC's switch decides, not the socket; one timestamp a packet
                    in_force.source = Source::HardwareElseSoftware;
                }
            }
        }
        in_force
    }

    /// How much a socket's queues may take, so that the timestamps it shall buffer fit.
    fn room(&self, in_force: &Timestamping) -> u32 {
        let wanted = (u32::from(in_force.transmit.unwrap_or(0)) + 1) * ENTRY_BYTES;
        wanted.clamp(self.host.receive_buffer, self.host.receive_buffer_limit)
    }

    /// The kernel timestamps received packets only while somebody wants it.
    pub(crate) fn note_receivers(&mut self) {
        let anybody = self
            .sockets
            .values()
            .any(|socket| socket.timestamping.receive);
        match (anybody, self.timestamping_since) {
            (true, None) => self.timestamping_since = Some(self.now),
            (false, Some(_)) => self.timestamping_since = None,
            _ => {}
        }
    }

    /// Receives one datagram; `false` if none waits.
    pub(crate) fn receive(&mut self, id: SocketId, incoming: &mut Incoming<'_>) -> Result<bool> {
        const OPERATION: &str = "receive";
        self.pass(self.cost.receive);
        let read_at = self.monotonic_now();
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(closed(OPERATION, "the socket"));
        };
        if socket.closed {
            return Err(closed(OPERATION, socket.local));
        }
        let local = socket.local;
        if let Some(refusal) = socket.pending.take() {
            return Err(refusal.error(self.platform, OPERATION, local));
        }
        let Some(arrived) = socket.take_arrived() else {
            if socket.timestamping.receive {
                socket.receiving.emptied(read_at);
            }
            let homeless = self
                .sockets
                .get(&id)
                .is_some_and(|socket| self.homeless(socket));
            return if homeless {
                Err(Refusal::NoDevice.error(self.platform, OPERATION, local))
            } else {
                Ok(false)
            };
        };
        let wanted = socket.timestamping;
        let timestamps = if wanted.receive {
            self.received_timestamps(id, &arrived, read_at)
        } else {
            Timestamps::NONE
        };
        let length = arrived.payload.len().min(incoming.buffer_mut().len());
        incoming.buffer_mut()[..length].copy_from_slice(&arrived.payload[..length]);
        incoming.received = Received {
            length,
            source: Some(arrived.source),
            destination: Some(arrived.destination).filter(|_| wanted.receive),
            interface: arrived.interface.filter(|_| wanted.receive),
            timestamps,
            truncated: length < arrived.payload.len(),
            control_truncated: wanted.receive && arrived.control_truncated,
        };
        self.packets.recycle(arrived.payload);
        Ok(true)
    }

    /// The timestamps of a received datagram that its socket gets to see.
    fn received_timestamps(
        &mut self,
        id: SocketId,
        arrived: &Arrived,
        read_at: MonotonicTime,
    ) -> Timestamps {
        let Self {
            clocks,
            sockets,
            now,
            ..
        } = self;
        let Some(socket) = sockets.get_mut(&id) else {
            return Timestamps::NONE;
        };
        let source = socket.timestamping.source;
        let one_only = source == Source::HardwareElseSoftware && arrived.hardware.is_some();
        let raw = match arrived.control_truncated {
            true => KernelTimestamps::default(),
            false => KernelTimestamps {
                software: arrived.software,
                hardware: arrived.hardware,
            },
        };
        let raw = raw.only(
            source.includes(TimestampSource::Software) && !one_only,
            source.includes(TimestampSource::Hardware),
        );
        let asked = clocks.ask(&mut socket.receiving, *now);
        let timestamps = socket.receiving.place(raw.read(read_at), asked);
        if matches!(asked, Clocks::Read(_)) && timestamps.software.is_none() && socket.taken == 0 {
            socket.receiving.emptied(read_at); // what comes now is younger than a step that may have been
        }
        timestamps
    }

    /// Takes the next arrival out of a socket's queue of timestamps.
    pub(crate) fn collect(&mut self, id: SocketId) -> Result<Option<Arrival>> {
        loop {
            self.pass(self.cost.collect);
            let read_at = self.monotonic_now();
            let socket = self.open_queue(id)?;
            if let Some(held) = socket.tracker.take_held() {
                return Ok(Some(held));
            }
            let Some(waiting) = socket.pop() else {
                socket.tracker.placement().emptied(read_at);
                let overflowed =
                    std::mem::take(&mut socket.overflowed) && self.host.report_overflow;
                return Ok(overflowed.then_some(Arrival::Overflowed));
            };
            if let Some(arrival) = self.read(id, waiting, read_at) {
                return Ok(Some(arrival));
            }
        }
    }

    /// Whether the next datagram with an id is counted, and as what. While that is not known, tries to
    /// restart the count.
    pub(crate) fn counts(&mut self, id: SocketId) -> bool {
        let state = |state: &Self| {
            state
                .sockets
                .get(&id)
                .and_then(|socket| socket.tracker.count_state())
        };
        if state(self) == Some(CounterState::Unsure) {
            self.read_ahead(id);
            let now = self.monotonic_now();
            if let Some(socket) = self
                .sockets
                .get_mut(&id)
                .filter(|socket| socket.tracker.may_restart(now))
            {
                socket.count = 0;
                return socket.tracker.restart(now);
            }
        }
        state(self) == Some(CounterState::InStep)
    }

    /// Reads what waits for the next collection.
    fn read_ahead(&mut self, id: SocketId) {
        let read_at = self.monotonic_now();
        while let Some(waiting) = self.sockets.get_mut(&id).and_then(SocketState::pop) {
            let arrival = self.read(id, waiting, read_at);
            if let Some((socket, arrival)) = self.sockets.get_mut(&id).zip(arrival) {
                socket.tracker.hold(arrival);
            }
        }
    }

    /// Asks for the timestamp of one id, as Windows wants it asked.
    pub(crate) fn collect_one(
        &mut self,
        id: SocketId,
        wanted: TransmitId,
    ) -> Result<Option<Arrival>> {
        self.pass(self.cost.collect);
        let read_at = self.monotonic_now();
        let socket = self.open_queue(id)?;
        let matches = |waiting: &Waiting| matches!(waiting, Waiting::Timestamp(Tag { number, .. }, _) if *number == wanted.0);
        let Some(place) = socket.queue.iter().position(matches) else {
            return Ok(None);
        };
        let waiting = socket.remove(place);
        Ok(waiting.and_then(|waiting| self.read(id, waiting, read_at)))
    }

    fn open_queue(&mut self, id: SocketId) -> Result<&mut SocketState, Error> {
        const OPERATION: &str = "collect transmit timestamps";
        match self.sockets.get_mut(&id) {
            Some(socket) if !socket.closed => Ok(socket),
            Some(socket) => Err(closed(OPERATION, socket.local)),
            None => Err(closed(OPERATION, "the socket")),
        }
    }

    /// What an entry of a socket's queue means; the system reports the timestamps that are asked for.
    fn read(&mut self, id: SocketId, waiting: Waiting, read_at: MonotonicTime) -> Option<Arrival> {
        let Self {
            clocks,
            sockets,
            now,
            ..
        } = self;
        let SocketState {
            tracker,
            timestamping,
            ..
        } = sockets.get_mut(&id)?;
        match waiting {
            Waiting::Notice(notice) => Some(Arrival::Notice(notice)),
            Waiting::Timestamp(tag, timestamps) => {
                let on = timestamping.receive || timestamping.transmit.is_some();
                let reported = |source| on && timestamping.source.includes(source);
                let reported = timestamps.only(
                    reported(TimestampSource::Software),
                    reported(TimestampSource::Hardware),
                );
                let clocks = clocks.ask(tracker.placement(), *now);
                tracker.read(tag.number, reported.read(read_at), clocks)
            }
        }
    }
}

//! The timestamps of a socket: how they are granted, received and collected.

use crate::codes::{Refusal, closed};
use crate::packet::Tag;
use crate::scenario::Platform;
use crate::socket::{Arrived, Local, SocketId, SocketState};
use crate::state::State;
use crate::timestamps::{ENTRY_BYTES, KernelTimestamps, Waiting};
use crate::transmit::Carried;
use crate::truth::Ends;
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::{Granted, Identification, Source, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{
    Arrival, Clocks, CountRules, CounterState, Placement, Timestamps, TransmitId, TransmitTracker,
};
use wirestamp_core::{Error, Result};

const COLLECT: &str = "read transmit timestamps";

impl State {
    /// Replaces the timestamping configuration of a socket.
    pub(crate) fn configure_timestamping(
        &mut self,
        id: SocketId,
        wanted: &Timestamping,
        tracker: &mut TransmitTracker,
    ) -> Result<Granted> {
        const OPERATION: &str = "configure timestamping";
        self.pass(self.cost.query);
        let mut in_force = self.grant(wanted);
        let of_ethernet = |socket: &SocketState| matches!(socket.local, Local::Ethernet(_));
        in_force.icmp_errors &= !self.sockets.get(&id).is_some_and(of_ethernet);
        let wants_any = wanted.receive || wanted.transmit.is_some();
        let local = self.open_socket(id, OPERATION)?.local;
        let no_queue = match self.platform {
            Platform::Linux => Ok(()),
            Platform::Windows => wanted.refuse_queueing(local),
        };
        let refused = wants_any && !self.host.timestamping || no_queue.is_err();
        let in_force = if refused { Timestamping::OFF } else { in_force };
        let room = self.room(&in_force);
        if tracker.count_state().is_some() {
            self.read_ahead(id, tracker);
        }
        let counted =
            in_force.transmit.is_some() && in_force.identification == Identification::Counter;
        let (rules, platform) = (self.count_rules(), self.platform);
        let socket = self.open_socket(id, OPERATION)?;
        if platform == Platform::Linux && tracker.restarts_count(counted) {
            socket.count = 0;
        }
        tracker.give_up();
        tracker.configure(&in_force, counted.then_some(rules));
        socket.configure(in_force, room, platform);
        self.note_receivers();
        no_queue?;
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

    /// Returns the rules by which the kernel's count moves.
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
        let entries = u32::from(in_force.transmit.unwrap_or(0)) * in_force.entries_per_id();
        let wanted = (entries + 1) * ENTRY_BYTES;
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
    pub(crate) fn receive<T: Carried>(
        &mut self,
        id: SocketId,
        incoming: &mut Incoming<'_, T>,
    ) -> Result<bool> {
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
        let ends = T::ends(&arrived.ends);
        // a frame's header is always there, and a packet socket has one interface
        let informs = wanted.packet_information || matches!(arrived.ends, Ends::Ethernet { .. });
        // the clock of a timestamp is that of an interface
        let names_clock = wanted.receive
            && (self.platform == Platform::Windows
                || wanted.source.includes(TimestampSource::Hardware));
        let mut received = Received::EMPTY;
        received.length = length;
        received.source = ends.map(|(source, _)| source);
        received.destination = ends.map(|(_, to)| to).filter(|_| informs);
        received.interface = arrived.interface.filter(|_| informs || names_clock);
        received.timestamps = timestamps;
        received.truncated = length < arrived.payload.len();
        received.control_truncated = wanted.receive && arrived.control_truncated;
        incoming.received = received;
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
            socket.receiving.emptied(read_at); // later packets are younger than a step that may have been
        }
        timestamps
    }

    /// Reads the next entry of a socket's error queue; `false`: there was none.
    pub(crate) fn read_next(
        &mut self,
        id: SocketId,
        tracker: &mut TransmitTracker,
    ) -> Result<bool> {
        self.pass(self.cost.collect);
        let read_at = self.monotonic_now();
        let Some(waiting) = self.open_socket(id, COLLECT)?.pop() else {
            tracker.placement().emptied(read_at);
            return Ok(false);
        };
        self.read(id, waiting, read_at, tracker);
        Ok(true)
    }

    /// Looks at the receive buffer, where the host reports it, after so many entries were read.
    pub(crate) fn look_at_buffer(
        &self,
        id: SocketId,
        tracker: &mut TransmitTracker,
        just_read: usize,
    ) {
        if self.host.report_overflow {
            if let Some(socket) = self.sockets.get(&id) {
                tracker.buffer_seen(socket.buffer(), just_read);
            }
        }
    }

    /// Whether the next datagram with an id is counted, and as what. While that is not known, tries to
    /// restart the count.
    pub(crate) fn counts(&mut self, id: SocketId, tracker: &mut TransmitTracker) -> bool {
        if tracker.count_state() == Some(CounterState::Unsure) {
            self.read_ahead(id, tracker);
            let now = self.monotonic_now();
            if tracker.may_restart(now) {
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.count = 0;
                }
                return tracker.restart(now);
            }
        }
        tracker.count_state() == Some(CounterState::InStep)
    }

    /// Reads all that waits. Who waits for it looks again at once, as where another thread collects it.
    fn read_ahead(&mut self, id: SocketId, tracker: &mut TransmitTracker) {
        let read_at = self.monotonic_now();
        loop {
            let Some(socket) = self.sockets.get_mut(&id) else {
                return;
            };
            let Some(waiting) = socket.pop() else {
                return;
            };
            socket.woken |= socket.waiting > 0;
            self.read(id, waiting, read_at, tracker);
        }
    }

    /// Asks for the timestamp of one id, as Windows wants it asked; returns whether it is there.
    pub(crate) fn read_one(
        &mut self,
        id: SocketId,
        wanted: TransmitId,
        tracker: &mut TransmitTracker,
    ) -> Result<bool> {
        self.pass(self.cost.collect);
        let read_at = self.monotonic_now();
        let socket = self.open_socket(id, COLLECT)?;
        let matches = |waiting: &Waiting| matches!(waiting, Waiting::Timestamp(Tag { number, .. }, _) if *number == wanted.0);
        let place = socket.queue.iter().position(matches);
        let Some(waiting) = place.and_then(|place| socket.remove(place)) else {
            return Ok(false);
        };
        self.read(id, waiting, read_at, tracker);
        Ok(true)
    }

    /// Where a socket's tracker places timestamps.
    pub(crate) fn transmit_placement(&mut self, id: SocketId) -> Placement {
        match self.sockets.get(&id) {
            Some(socket) => socket.receiving.clone(),
            None => self.clocks.placement(self.now),
        }
    }

    fn open_socket(
        &mut self,
        id: SocketId,
        operation: &'static str,
    ) -> Result<&mut SocketState, Error> {
        match self.sockets.get_mut(&id) {
            Some(socket) if !socket.closed => Ok(socket),
            Some(socket) => Err(closed(operation, socket.local)),
            None => Err(closed(operation, "the socket")),
        }
    }

    /// Hands an entry of a socket's queue to its tracker; the system reports the timestamps that are
    /// asked for.
    fn read(
        &mut self,
        id: SocketId,
        waiting: Waiting,
        read_at: MonotonicTime,
        tracker: &mut TransmitTracker,
    ) {
        let Some(socket) = self.sockets.get(&id) else {
            return;
        };
        let wanted = socket.timestamping;
        let on = wanted.receive || wanted.transmit.is_some();
        // One switch reports all software timestamps.
        let queueing = wanted.queueing && wanted.transmit.is_some();
        let software = on && wanted.source.includes(TimestampSource::Software) || queueing;
        let hardware = on && wanted.source.includes(TimestampSource::Hardware);
        match waiting {
            Waiting::Notice(notice) => tracker.arrived(Arrival::Notice(notice)),
            Waiting::Queued(..) if !software => {}
            Waiting::Queued(tag, queued) => {
                let clocks = self.clocks.ask(tracker.placement(), self.now);
                tracker.read_queued(tag.number, queued, clocks);
            }
            Waiting::Timestamp(tag, timestamps) => {
                let reported = timestamps.only(software, hardware).read(read_at);
                let clocks = self.clocks.ask(tracker.placement(), self.now);
                tracker.read(tag.number, reported, clocks);
            }
        }
    }
}

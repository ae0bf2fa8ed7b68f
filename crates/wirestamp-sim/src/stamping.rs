//! Owns what a socket gets of stamps: how they are granted, received and collected.

use crate::codes::{Refusal, closed};
use crate::host::Asked;
use crate::packet::Tag;
use crate::scenario::Platform;
use crate::socket::{Arrived, SocketId, SocketState};
use crate::stamps::{ENTRY_BYTES, RawStamps, Waiting};
use crate::state::State;
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::capability::StampSource;
use wirestamp_core::configuration::{Granted, Identification, Source, Timestamping};
use wirestamp_core::stamp::{CountRules, LossReason, Notice, Stamps, TransmitId};
use wirestamp_core::time::SystemTime;
use wirestamp_core::{Error, Result};

/// Something that a socket's queue of stamps held.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Collected {
    Stamped(TransmitId, Stamps),
    Lost(TransmitId, LossReason),
    Notice(Notice),
    Overflowed,
    /// A stamp that belongs to no known datagram.
    Nobodys,
}

impl State {
    /// Replaces the stamping configuration of a socket.
    pub(crate) fn configure_stamping(&mut self, id: SocketId, wanted: &Timestamping) -> Result<Granted> {
        const OPERATION: &str = "configure stamping";
        self.pass(self.cost.query);
        let in_force = self.grant(wanted);
        let wants_any = wanted.receive || wanted.transmit.is_some();
        let refused = wants_any && !self.host.stamping;
        let in_force = if refused { Timestamping::OFF } else { in_force };
        let room = self.room(&in_force);
        let Some(socket) = self.sockets.get_mut(&id) else { return Err(closed(OPERATION, "the socket")) };
        let local = socket.local;
        if socket.closed {
            return Err(closed(OPERATION, local));
        }
        socket.configure(in_force, room, if self.host.old_count { CountRules::UNKNOWN } else { CountRules::FIXED });
        self.note_receivers();
        if refused {
            return Err(Refusal::NoStamping.error(self.platform, OPERATION, local));
        }
        if let Some(since) = self.stamping_since.filter(|_| self.host.waits_out_cold_start && in_force.receive) {
            let warm = since.saturating_add(self.host.cold_start.nanoseconds());
            self.advance_to(warm.max(self.now));
        }
        let queue = match self.platform {
            Platform::Linux => in_force.transmit.map(|_| (room - 1) / ENTRY_BYTES),
            Platform::Windows => in_force.transmit.map(u32::from),
        };
        Ok(Granted::new(in_force, queue))
    }

    fn grant(&self, wanted: &Timestamping) -> Timestamping {
        let mut in_force = *wanted;
        match self.platform {
            Platform::Linux if !self.host.carried_ids => in_force.identification = Identification::Counter,
            Platform::Linux => {}
            Platform::Windows => {
                in_force.identification = Identification::Carried;
                if in_force.source != Source::Hardware {
                    // the adapter's switch decides, not the socket; one stamp a packet
                    in_force.source = Source::HardwareElseSoftware;
                }
            }
        }
        in_force
    }

    /// How much a socket's queues may take, so that the stamps it shall buffer fit.
    fn room(&self, in_force: &Timestamping) -> u32 {
        let wanted = (u32::from(in_force.transmit.unwrap_or(0)) + 1) * ENTRY_BYTES;
        wanted.clamp(self.host.receive_buffer, self.host.receive_buffer_limit)
    }

    /// The kernel stamps received packets only while somebody wants it.
    pub(crate) fn note_receivers(&mut self) {
        let anybody = self.sockets.values().any(|socket| socket.timestamping.receive);
        match (anybody, self.stamping_since) {
            (true, None) => self.stamping_since = Some(self.now),
            (false, Some(_)) => self.stamping_since = None,
            _ => {}
        }
    }

    /// Receives one datagram; `false` if none waits.
    pub(crate) fn receive(&mut self, id: SocketId, incoming: &mut Incoming<'_>) -> Result<bool> {
        const OPERATION: &str = "receive";
        self.pass(self.cost.receive);
        let read_at = self.system_now();
        let Some(socket) = self.sockets.get_mut(&id) else { return Err(closed(OPERATION, "the socket")) };
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
            let homeless = self.sockets.get(&id).is_some_and(|socket| self.homeless(socket));
            return if homeless { Err(Refusal::NoDevice.error(self.platform, OPERATION, local)) } else { Ok(false) };
        };
        let wanted = socket.timestamping;
        let stamps = if wanted.receive { self.received_stamps(id, &arrived, read_at) } else { Stamps::NONE };
        let length = arrived.payload.len().min(incoming.buffer_mut().len());
        incoming.buffer_mut()[..length].copy_from_slice(&arrived.payload[..length]);
        incoming.received = Received {
            length,
            source: Some(arrived.source),
            destination: Some(arrived.destination).filter(|_| wanted.receive),
            interface: arrived.interface.filter(|_| wanted.receive),
            stamps,
            truncated: length < arrived.payload.len(),
            control_truncated: wanted.receive && arrived.control_truncated,
        };
        self.packets.recycle(arrived.payload);
        Ok(true)
    }

    /// The stamps of a received datagram that its socket gets to see.
    fn received_stamps(&mut self, id: SocketId, arrived: &Arrived, read_at: SystemTime) -> Stamps {
        let Self { clocks, sockets, now, .. } = self;
        let Some(socket) = sockets.get_mut(&id) else { return Stamps::NONE };
        let source = socket.timestamping.source;
        let one_only = source == Source::HardwareElseSoftware && arrived.hardware.is_some();
        let raw = match arrived.control_truncated {
            true => RawStamps::default(),
            false => RawStamps { software: arrived.software, hardware: arrived.hardware },
        };
        let raw = raw.only(source.includes(StampSource::Software) && !one_only, source.includes(StampSource::Hardware));
        let asked = clocks.ask(&mut socket.receiving, *now);
        let stamps = raw.place(clocks, &mut socket.receiving, asked, read_at);
        if matches!(asked, Asked::Read(_)) && stamps.software.is_none() && socket.taken == 0 {
            socket.receiving.emptied(read_at); // what comes now is younger than a step that may have been
        }
        stamps
    }

    /// Takes the next entry out of a socket's queue of stamps.
    pub(crate) fn collect(&mut self, id: SocketId) -> Result<Option<Collected>> {
        self.pass(self.cost.collect);
        let read_at = self.system_now();
        let socket = self.open_queue(id)?;
        if let Some(id) = socket.unstamped.pop_front() {
            return Ok(Some(Collected::Lost(id, LossReason::Reset)));
        }
        if let Some((stamped, raw)) = socket.early.pop_front() {
            return Ok(Some(self.read(id, stamped, raw, read_at)));
        }
        if let Some(waiting) = socket.pop() {
            return Ok(Some(match waiting {
                Waiting::Notice(notice) => Collected::Notice(notice),
                Waiting::Stamp(tag, raw) => match socket.owner(tag, raw) {
                    Some(stamped) => self.read(id, stamped, raw, read_at),
                    None => Collected::Nobodys,
                },
            }));
        }
        socket.collecting.emptied(read_at);
        let overflowed = std::mem::take(&mut socket.overflowed) && self.host.report_overflow;
        Ok(overflowed.then_some(Collected::Overflowed))
    }

    /// Asks for the stamp of one id, as Windows wants it asked.
    pub(crate) fn collect_one(&mut self, id: SocketId, wanted: TransmitId) -> Result<Option<Collected>> {
        self.pass(self.cost.collect);
        let read_at = self.system_now();
        let socket = self.open_queue(id)?;
        let matches =
            |waiting: &Waiting| matches!(waiting, Waiting::Stamp(Tag { number, .. }, _) if *number == wanted.0);
        let Some(place) = socket.queue.iter().position(matches) else { return Ok(None) };
        match socket.remove(place) {
            Some(Waiting::Stamp(_, raw)) => Ok(Some(self.read(id, wanted, raw, read_at))),
            _ => Ok(None),
        }
    }

    fn open_queue(&mut self, id: SocketId) -> Result<&mut SocketState, Error> {
        const OPERATION: &str = "collect transmit stamps";
        match self.sockets.get_mut(&id) {
            Some(socket) if !socket.closed => Ok(socket),
            Some(socket) => Err(closed(OPERATION, socket.local)),
            None => Err(closed(OPERATION, "the socket")),
        }
    }

    /// What a socket makes of the stamps of one of its sends.
    fn read(&mut self, id: SocketId, stamped: TransmitId, raw: RawStamps, read_at: SystemTime) -> Collected {
        let Self { clocks, sockets, now, .. } = self;
        let Some(socket) = sockets.get_mut(&id) else { return Collected::Nobodys };
        let asked = clocks.ask(&mut socket.collecting, *now);
        match raw.place(clocks, &mut socket.collecting, asked, read_at) {
            Stamps::NONE if raw.software.is_some() => Collected::Lost(stamped, LossReason::ClockStepped),
            Stamps::NONE => Collected::Lost(stamped, LossReason::NeverGenerated),
            stamps => Collected::Stamped(stamped, stamps),
        }
    }
}

//! Sends, receives and timestamps the packets of a session, and passes them on if single packets are wanted.

use super::StampTask;
use crate::host_stamp::HostStamp;
use crate::neighbour::Looked;
use crate::provisional::Used;
use crate::sink::Packet;
use crate::task::{Turn, is_no_end};
use std::slice;
use wirestamp::{
    Error, ErrorKind, HostTime, Incoming, MissingReason, MonotonicTime, Result, Span, TransmitId,
};
use wirestamp_probe::session::{Rejected, ReplyArrival};
use wirestamp_probe::{HostTimestamp, Missing};

/// How much later a packet leaves than is written in it.
const LATE: Span = Span::from_milliseconds(1);
/// The most packets that are read at a time, so that a flood delays no other measurement.
const PORTION: usize = 256;

impl StampTask {
    /// Returns the packet's number.
    pub(super) fn send(&mut self, turn: &mut Turn<'_>) -> Result<u32> {
        self.session.adjusted(self.socket.adjusted());
        let reading = self.socket.utc_cross_timestamp();
        let late = reading.after - reading.before + LATE;
        let sequence = self
            .session
            .request(reading.before, reading.utc, late, &mut self.request);
        self.awaited += 1;
        if let Err(error) = self.socket.send(&self.request, Some(TransmitId(sequence))) {
            self.awaited -= 1;
            // the ICMP error of an earlier packet, or no route now: the packet is lost, the session goes on
            match error.kind() {
                ErrorKind::InvalidInput => self.too_large += 1,
                _ => self.refused += 1,
            }
            self.sent(sequence, Err(Missing::NotSent), turn);
            self.failed(error)?;
        }
        // the kernel's is often there already, and need not wake the loop
        self.collect(turn).map(|()| sequence)
    }

    /// Remembers what the system said instead of a packet. A session that ends has its results still: nobody opens it again.
    fn failed(&mut self, error: Error) -> Result<()> {
        self.is_too_large = error.kind() == ErrorKind::InvalidInput;
        let said = match error.kind() {
            ErrorKind::Unreachable => self.undelivered.say(error.clone()),
            _ => &error,
        };
        self.error = Some(said.to_string());
        match self.configuration.count {
            Some(_) => Ok(()),
            None => is_no_end(error),
        }
    }

    /// Takes ICMP errors of packets.
    pub(super) fn listen_to_icmp(&mut self) {
        if let Some(error) = self.undelivered.ask(&self.socket, self.peer) {
            self.error = Some(error.to_string());
        }
    }

    /// Whether it looks as if packets do not leave.
    fn is_unclear(&self) -> bool {
        let is_silent = self.sent > 0 && self.stamps == 0 && self.answered == 0;
        let is_said = self.undelivered.is_without_neighbour();
        is_silent || is_said || self.undelivered.is_in_doubt()
    }

    /// Looks whether nobody is at the next hop, if nothing else says why packets do not leave.
    pub(super) fn look_for_neighbour(&mut self, now: MonotonicTime) {
        let is_unclear = self.is_unclear();
        let looked = self.neighbour.look(is_unclear, &mut self.undelivered, now);
        match looked {
            Some(Looked::Missing(error)) => self.error = Some(error.to_string()),
            Some(Looked::Back(over)) => self.no_longer(&over),
            None => {}
        }
    }

    /// When that is looked at again.
    pub(super) fn neighbour_due(&self) -> MonotonicTime {
        self.neighbour.due(self.is_unclear())
    }

    /// An error is over.
    fn no_longer(&mut self, over: &Error) {
        let over = over.to_string();
        self.error.take_if(|shown| *shown == over);
    }

    /// Whether a packet whose transmit timestamp does not come did not leave.
    fn is_undelivered(&mut self, reason: MissingReason) -> bool {
        let did_not_leave = self.undelivered.note(reason, self.socket.now());
        if let Some(error) = self.undelivered.said() {
            self.error = Some(error.to_string());
        }
        did_not_leave
    }

    /// Takes the outcome of a packet's transmit timestamp.
    fn sent(&mut self, number: u32, sent: Result<HostTimestamp, Missing>, turn: &mut Turn<'_>) {
        self.session.transmitted(number, sent);
        self.passed(number, true, sent.map_err(Missing::name), turn);
    }

    /// Records a packet, if packets are recorded.
    fn passed(
        &self,
        sequence: u32,
        is_sent: bool,
        timestamp: Result<HostTimestamp, &'static str>,
        turn: &mut Turn<'_>,
    ) {
        if !turn.sink.wants_packets() {
            return;
        }
        let interface = self.configuration.interface.as_deref();
        let packet = Packet {
            interface: interface.unwrap_or(Packet::ANY),
            between: [self.local, self.peer],
            sequence,
            is_sent,
            timestamp: timestamp.map(HostStamp::from),
        };
        turn.sink.packet(&packet, turn.utc);
    }

    /// A measurement uses it.
    fn uses(&mut self, stamp: HostTimestamp, time: HostTime) {
        self.stamps += 1;
        let judge = (self.clock.host(), &self.socket);
        self.provisional
            .note(Used::new(time, &stamp.into()), &judge);
    }

    fn collect(&mut self, turn: &mut Turn<'_>) -> Result<()> {
        loop {
            let count = self.socket.transmit_timestamps(&mut self.records)?;
            self.awaited = self.awaited.saturating_sub(count);
            for place in 0..count {
                let record = &self.records[place];
                let id = record.id.0;
                let sent = self.clock.outcome(&record.outcome, &self.socket);
                let sent = match sent {
                    Ok((stamp, time)) => {
                        self.uses(stamp, time);
                        if let Some(over) = self.undelivered.has_left() {
                            self.no_longer(&over);
                        }
                        Ok(stamp)
                    }
                    Err(Missing::System(reason)) if self.is_undelivered(reason) => {
                        Err(Missing::NotSent)
                    }
                    Err(missing) => Err(missing),
                };
                self.sent(id, sent, turn);
            }
            if count < self.records.len() {
                break;
            }
        }
        if self.undelivered.is_in_doubt() {
            self.listen_to_icmp();
        }
        Ok(())
    }

    /// Takes received packets and timestamps. Each read is a system call, so reads that must find nothing are left out:
    /// a packet that is left ends the next wait. While a packet or timestamp is missing it is always read, because this
    /// turn may judge that it never came.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>) -> Result<()> {
        let was_awaited = self.awaited > 0;
        if was_awaited {
            self.collect(turn)?;
        }
        let is_ready = turn.is_ready;
        let is_read = is_ready || !self.session.all_answered();
        let has_come = is_read && self.receive(turn)?;
        // what else ended the wait is in the error queue, and ends each wait until it is read
        if is_ready && !has_come {
            if !was_awaited {
                self.collect(turn)?;
            }
            self.listen_to_icmp();
        }
        Ok(())
    }

    /// Whether a packet came; reads on while an answer is missing.
    fn receive(&mut self, turn: &mut Turn<'_>) -> Result<bool> {
        let mut buffer = std::mem::take(turn.buffer);
        let has_come = self.receive_into(&mut buffer, turn);
        *turn.buffer = buffer;
        has_come
    }

    fn receive_into(&mut self, buffer: &mut [u8], turn: &mut Turn<'_>) -> Result<bool> {
        let mut has_come = false;
        let behind = self.behind.take();
        for _ in 0..PORTION {
            let mut incoming = Incoming::new(buffer);
            match self
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming))
            {
                Ok(0) => return Ok(has_come),
                Ok(_) => has_come = true,
                Err(error) => return self.failed(error).map(|()| false),
            }
            let received = &incoming.received;
            if received.truncated {
                continue;
            }
            let placed = self.clock.place(&received.timestamps, &self.socket);
            let arrival = ReplyArrival {
                payload: incoming.payload(),
                received: placed.map(|(stamp, _)| stamp),
                read: self.socket.now(),
                hop_limit: received.hop_limit,
                traffic_class: received.traffic_class,
            };
            self.session.adjusted(self.socket.adjusted());
            let accepted = self.session.received(&arrival);
            if let Ok(answered) = accepted {
                (self.error, self.is_too_large) = (None, false);
                self.undelivered.answered();
                self.unstamped.note(placed.is_some(), arrival.read);
                if let Some((stamp, time)) = placed {
                    self.uses(stamp, time);
                }
                let took = self.session.age(answered, arrival.read);
                self.slowest = self.slowest.max(took.unwrap_or(Span::ZERO));
            }
            // the second of two that the network made of one has passed, too
            if let (Ok(_) | Err(Rejected::Duplicate), Some(number)) =
                (accepted, arrival.payload.first_chunk())
            {
                let timestamp = arrival.received.ok_or(Packet::NO_TIMESTAMP);
                self.passed(u32::from_be_bytes(*number), false, timestamp, turn);
            }
            if self.session.all_answered() {
                return Ok(true);
            }
        }
        self.behind = behind.or(Some(turn.now));
        Ok(has_come)
    }
}

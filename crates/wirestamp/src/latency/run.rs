//! One measurement: pacing, and the end. What it runs between is in `ends`, the warm-up in
//! `warm_up`; what becomes of the times is the tally's business.

use super::ends::{Endpoint, Ends};
use super::packet::Packet;
use super::tally::Tally;
use super::{LatencyOptions, LatencyReport, PacketLatency, limits};
use crate::interface::Interface;
use std::net::SocketAddr;
use std::slice;
use std::sync::mpsc::Sender;
use std::time::Duration;
use wirestamp_core::Result;
use wirestamp_core::backend::Incoming;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{TransmitId, TransmitRecord};

/// How long a wait for outcomes or arrivals takes before other work is looked at. Without a
/// rate, a packet is waited for at least as long before the next is sent.
pub(super) const STEP: Duration = Duration::from_millis(20);
/// How many outcomes are fetched in one go.
const RECORDS: usize = 1024;

/// The progress of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Datagrams sent so far.
    pub sent: u64,
    /// Datagrams to send.
    pub count: u64,
}

/// A measurement under way: [`step`](Self::step) until it says that all is sent, then
/// [`finish`](Self::finish); or [`run`](Self::run), which does both.
#[derive(Debug)]
pub struct LatencyRun {
    pub(super) options: LatencyOptions,
    pub(super) ends: Ends,
    pub(super) packet: Packet,
    pub(super) buffer: Vec<u8>,
    pub(super) next_sequence: u64,
    /// Whether the warm-up saw transmit timestamps: then each is worth waiting for.
    pub(super) timestamps_come: bool,
    /// The longest time from sending to arrival so far. Zero: none arrived.
    pub(super) slowest: Span,
    tally: Tally,
    records: Vec<TransmitRecord>,
    /// How many transmit ids may await their end.
    most_awaiting: usize,
    sent: u64,
    due: MonotonicTime,
    last_sent: MonotonicTime,
    /// What the receive buffer had dropped when the measurement began.
    dropped_before: u64,
}

impl LatencyRun {
    /// Prepares a measurement on `interface`: binds the sockets, switches timestamping on (with
    /// `source` hardware also the NIC's, until the run is over), and waits until answers and
    /// timestamps come: for the first answer a second longer than `options.timeout` at most. On the
    /// loopback interface the datagrams go from one socket to another; on a simulated one, over the
    /// cable to the other simulated NIC; elsewhere `options.peer` must return them.
    ///
    /// # Errors
    /// `InvalidInput` for options that make no sense here; `Unreachable` if no datagram comes
    /// back; otherwise as [`Interface::bind`], [`UdpSocket::configure`],
    /// [`Interface::enable_hardware`] and [`Interface::correlator`].
    ///
    /// [`UdpSocket::configure`]: crate::UdpSocket::configure
    pub fn on(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        Self::on_while(interface, options, || true)
    }

    /// As [`on`](Self::on), for programs that can be interrupted: `go_on` is asked every few
    /// milliseconds, and the preparation ends early when it says no. Then [`stop`](Self::stop)
    /// reports that nothing was measured.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub fn on_while(
        interface: &Interface,
        options: LatencyOptions,
        go_on: impl FnMut() -> bool,
    ) -> Result<Self> {
        limits::check(interface.name(), &options)?;
        let ends = match options.peer {
            Some(peer) => Ends::with_peer(interface, peer, &options)?,
            None => Ends::within(interface, &options)?,
        };
        Self::warmed_up(ends, options, go_on)
    }

    /// Prepares a measurement from one socket to another, wherever they were made: on two
    /// NICs, or in two network namespaces. The datagrams are sent to `to`, which must
    /// lead to `receiver`. `options.peer` and `options.family` mean nothing here.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub fn between(
        sender: Endpoint,
        receiver: Endpoint,
        to: SocketAddr,
        options: LatencyOptions,
    ) -> Result<Self> {
        limits::check("the given sockets", &options)?;
        Self::warmed_up(
            Ends::given(sender, receiver, to, &options)?,
            options,
            || true,
        )
    }

    fn warmed_up(ends: Ends, options: LatencyOptions, go_on: impl FnMut() -> bool) -> Result<Self> {
        let now = ends.sender.now();
        let number = now.nanoseconds() as u32
            ^ u32::from(ends.sender.local_address()?.port()).rotate_left(16);
        let in_flight = limits::table(&ends.name, &options)?;
        let mut run = Self {
            options,
            ends,
            packet: Packet::new(options.size, number),
            buffer: vec![0; options.size + 1], // shows what is too long
            next_sequence: 0,
            timestamps_come: false,
            slowest: Span::ZERO,
            tally: Tally::new(
                options.source,
                in_flight,
                options.timeout.into(),
                limits::most_waiting(&options),
            ),
            records: vec![TransmitRecord::EMPTY; RECORDS],
            most_awaiting: limits::transmit_capacity(&options).into(),
            sent: 0,
            due: now,
            last_sent: now,
            dropped_before: 0,
        };
        run.warm_up(go_on)?;
        run.tally.warmed_up(run.ends.sender.now() - now);
        run.dropped_before = run.ends.receiver.receive_counters().dropped;
        Ok(run)
    }

    /// Sends what is measured of each packet to `packets` from now on, as soon as it is final: not in the order of the
    /// numbers. A hardware timestamp is final with the third batch of cross timestamps of the NIC's clock, up to 600 ms later;
    /// the last ones when the measurement is stopped. Packets that are in flight then are left out. Whoever takes them
    /// after each [`step`](Self::step) holds at most [`LatencyOptions::max_in_flight`] of them, plus the largest of that, a second's
    /// packets and 65,536.
    pub fn send_packets_to(&mut self, packets: Sender<PacketLatency>) {
        self.tally.send_packets_to(packets);
    }

    /// Sends the next datagram and sees to those that are in flight. Waits first while as many are in
    /// flight as the options allow. `false`: all were sent before, and nothing was done.
    ///
    /// # Errors
    /// As [`UdpSocket::send`](crate::UdpSocket::send) and
    /// [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn step(&mut self) -> Result<bool> {
        if self.sent == self.options.count {
            return Ok(false);
        }
        self.make_room()?;
        let before = self.ends.sender.now();
        if self.sent == 0 {
            self.due = before;
        }
        let sequence = self.next_sequence;
        self.tally.sending(sequence, before);
        if let Err(error) = self.send(sequence) {
            self.tally.not_sent(sequence);
            return Err(error);
        }
        self.sent += 1;
        self.last_sent = before;
        match self.options.rate {
            Some(rate) => {
                self.due = self.due + Span::from_nanoseconds(1_000_000_000 / i128::from(rate));
                self.receive_until(self.due, |_| false)?;
            }
            None => self.receive_until(before + self.patience(), |tally| {
                tally.has_arrived(sequence)
            })?,
        }
        self.take_outcomes(Duration::ZERO)?;
        while self.options.rate.is_none()
            && self.timestamps_come
            && self.tally.awaits_timestamp(sequence)
        {
            self.take_outcomes(STEP)?; // a NIC can have room for one timestamp alone
        }
        Ok(true)
    }

    /// Waits for what is still in flight, and reports: [`settle`](Self::settle) to the end, then
    /// [`stop`](Self::stop).
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn finish(mut self) -> Result<LatencyReport> {
        while self.settle()? {}
        self.stop()
    }

    /// Waits some milliseconds for what is still in flight, and then for late arrivals: until twice the
    /// timeout after the last datagram, if some are missing. `false`: nothing is to be waited for.
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn settle(&mut self) -> Result<bool> {
        let now = self.ends.receiver.now();
        let soon = now + Span::from(STEP);
        let in_flight = &self.tally.in_flight;
        if in_flight.is_empty() {
            let timeout = Span::from(self.options.timeout);
            let end = self.last_sent + timeout + timeout;
            if in_flight.missing() == 0 || now >= end {
                return Ok(false);
            }
            self.receive_until(soon.min(end), |tally| tally.in_flight.missing() == 0)?;
            return Ok(true);
        }
        if in_flight.awaiting() > 0 {
            self.take_outcomes(STEP)?; // every id ends by its own deadline
        }
        self.receive_until(soon, |tally| {
            tally.in_flight.len() == tally.in_flight.awaiting()
        })?;
        Ok(true)
    }

    /// Reports once the times of what has arrived are final. What is in flight counts as unresolved, not as lost.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn stop(mut self) -> Result<LatencyReport> {
        self.receive_until(self.ends.receiver.now(), |_| false)?;
        self.take_outcomes(Duration::ZERO)?;
        let dropped = self
            .ends
            .receiver
            .receive_counters()
            .dropped
            .saturating_sub(self.dropped_before);
        Ok(self.tally.report(dropped, &self.ends.clocks))
    }

    /// Steps to the end and reports; `progress` is called now and then.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(mut self, mut progress: impl FnMut(Progress)) -> Result<LatencyReport> {
        let count = self.options.count;
        let every = (count / 200).max(1);
        while self.step()? {
            if self.sent.is_multiple_of(every) || self.sent == count {
                progress(Progress {
                    sent: self.sent,
                    count,
                });
            }
        }
        self.finish()
    }

    pub(super) fn send(&mut self, sequence: u64) -> Result<()> {
        self.next_sequence = sequence + 1;
        let id = Some(TransmitId(sequence as u32));
        let payload = self.packet.numbered(sequence);
        match self.ends.to {
            Some(to) => self.ends.sender.send_to(payload, to, id),
            None => self.ends.sender.send(payload, id),
        }
    }

    /// How long a packet without a rate is waited for before the next is sent. It is not lost then.
    fn patience(&self) -> Span {
        let timeout = Span::from(self.options.timeout);
        if self.slowest == Span::ZERO {
            return timeout;
        }
        let four_times = self.slowest + self.slowest + self.slowest + self.slowest;
        four_times.max(STEP.into()).min(timeout)
    }

    /// Receives until `until`, or until `is_enough`; then gives up what was over its time and
    /// had not come.
    pub(super) fn receive_until(
        &mut self,
        until: MonotonicTime,
        is_enough: impl Fn(&Tally) -> bool,
    ) -> Result<()> {
        while !is_enough(&self.tally) {
            let now = self.ends.receiver.now();
            let mut incoming = Incoming::new(&mut self.buffer);
            // a wait of hours would keep what is over its time in the table
            let soon = until.min(now + Span::from_seconds(1));
            if self
                .ends
                .receiver
                .receive_batch(slice::from_mut(&mut incoming), soon)?
                == 0
            {
                self.tally.expire(now, &self.ends.clocks);
                if soon == until {
                    return Ok(());
                }
                continue;
            }
            let after = self.ends.receiver.now();
            let Some(sequence) = self.packet.sequence_of(incoming.payload()) else {
                continue;
            };
            if let Some(flight) = self.tally.in_flight.get(sequence) {
                self.slowest = self.slowest.max(after - flight.sent);
            }
            self.tally.received(
                sequence,
                incoming.received.timestamps,
                after,
                &self.ends.clocks,
            );
        }
        Ok(())
    }

    /// Waits until another datagram may be sent: at most until the oldest is over its time.
    fn make_room(&mut self) -> Result<()> {
        while self.tally.in_flight.awaiting() >= self.most_awaiting {
            self.take_outcomes(STEP)?;
        }
        while self.tally.in_flight.is_full() {
            let soon = self.ends.receiver.now() + Span::from(STEP);
            self.receive_until(soon, |tally| !tally.in_flight.is_full())?;
            self.take_outcomes(Duration::ZERO)?;
        }
        Ok(())
    }

    /// Takes the transmit ids that have ended; waits for the first at most `timeout`.
    fn take_outcomes(&mut self, timeout: Duration) -> Result<()> {
        let mut count = if timeout.is_zero() {
            self.ends.sender.transmit_timestamps(&mut self.records)?
        } else {
            self.ends
                .sender
                .wait_transmit_timestamps(&mut self.records, timeout)?
        };
        loop {
            for record in &self.records[..count] {
                self.tally.transmitted(record, &self.ends.clocks);
            }
            if count < self.records.len() {
                return Ok(());
            }
            count = self.ends.sender.transmit_timestamps(&mut self.records)?;
        }
    }
}

//! One measurement: pacing, and the end. What it runs between is in `ends`, the warm-up in
//! `warm_up`; what becomes of the times is the tally's business.

use super::ends::{Endpoint, Ends, OPERATION};
use super::packet::Packet;
use super::tally::Tally;
use super::warm_up::Probes;
use super::{LatencyOptions, LatencyReport, Losses, PacketLatency, limits};
use crate::interface::Interface;
use crate::socket::UdpSocket;
use std::net::SocketAddr;
use std::slice;
use std::sync::mpsc::Sender;
use std::time::Duration;
use wirestamp_core::backend::Incoming;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{TransmitId, TransmitRecord};
use wirestamp_core::{Error, ErrorKind, Result};

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
    pub(super) tally: Tally,
    records: Vec<TransmitRecord>,
    /// How many transmit ids may await their end.
    most_awaiting: usize,
    sent: u64,
    due: MonotonicTime,
    last_sent: MonotonicTime,
    /// From when on none is sent.
    ends_at: Option<MonotonicTime>,
    /// What the receive buffer had dropped when the measurement began.
    pub(super) dropped_before: u64,
    /// When the warm-up began, and what it has shown.
    pub(super) begun: MonotonicTime,
    pub(super) probes: Probes,
}

impl LatencyRun {
    /// Prepares a measurement on `interface`, and waits until answers and timestamps come: [`prepare`](Self::prepare), then
    /// [`warm_up`](Self::warm_up) to the end.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`warm_up`](Self::warm_up).
    pub fn on(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        Self::prepare(interface, options)?.warmed_up()
    }

    /// Prepares a measurement on `interface`: binds the sockets, and switches timestamping on (with
    /// `source` hardware also the NIC's, until the run is over). On the
    /// loopback interface the datagrams go from one socket to another; on a simulated one, over the
    /// cable to the other simulated NIC; elsewhere `options.peer` must return them.
    ///
    /// # Errors
    /// `InvalidInput` for options that make no sense here; otherwise as [`Interface::bind`],
    /// [`UdpSocket::configure`], [`Interface::enable_hardware`] and [`Interface::correlator`].
    pub fn prepare(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        limits::check(interface.name(), &options)?;
        let ends = match options.peer {
            Some(peer) => Ends::with_peer(interface, peer, &options)?,
            None => Ends::within(interface, &options)?,
        };
        Self::of(ends, options)
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
        Self::of(Ends::given(sender, receiver, to, &options)?, options)?.warmed_up()
    }

    fn warmed_up(mut self) -> Result<Self> {
        while self.warm_up()? {}
        Ok(self)
    }

    fn of(ends: Ends, options: LatencyOptions) -> Result<Self> {
        let now = ends.sender.now();
        let number = now.nanoseconds() as u32
            ^ u32::from(ends.sender.local_address()?.port()).rotate_left(16);
        let in_flight = limits::table(&ends.name, &options)?;
        Ok(Self {
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
            ends_at: None,
            dropped_before: 0,
            begun: now,
            probes: Probes::default(),
        })
    }

    /// Sends what is measured of each packet to `packets` from now on, as soon as it is final: not in the order of the
    /// numbers. A hardware timestamp is final with the third batch of cross timestamps of the NIC's clock, up to 600 ms later;
    /// the last ones when the measurement is stopped. Packets that are in flight then are left out. Whoever takes them
    /// after each [`step`](Self::step) holds at most [`LatencyOptions::max_in_flight`] of them, plus the largest of that, a second's
    /// packets and 65,536.
    pub fn send_packets_to(&mut self, packets: Sender<PacketLatency>) {
        self.tally.send_packets_to(packets);
    }

    /// Sends the next datagram and sees to those that are in flight. Waits first until it is due, and while as many are in
    /// flight as the options allow. `false`: all were sent before, or the time is over, and nothing was sent.
    ///
    /// # Errors
    /// As [`UdpSocket::send`](crate::UdpSocket::send) and
    /// [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn step(&mut self) -> Result<bool> {
        if self.options.apart().is_some() && self.sent > 0 && !self.is_over() {
            self.wait_until(self.due)?;
        }
        if self.is_over() {
            return Ok(false);
        }
        self.make_room()?;
        let sequence = self.next_sequence;
        let before = self.send_counted(sequence)?;
        if self.sent == 1 {
            self.due = before;
            let duration = self.options.duration.map(Span::from);
            self.ends_at = duration.map(|duration| before + duration);
        }
        match self.options.apart() {
            Some(apart) => self.due = self.due + apart,
            None => self.receive_until(before + self.patience(), |tally| {
                tally.has_arrived(sequence)
            })?,
        }
        self.take_outcomes(Duration::ZERO)?;
        while self.options.apart().is_none()
            && self.timestamps_come
            && self.tally.awaits_timestamp(sequence)
        {
            self.take_outcomes(STEP)?; // a NIC can have room for one timestamp alone
        }
        Ok(true)
    }

    /// Takes what arrives until then, or until the end of the time in which datagrams are sent.
    fn wait_until(&mut self, until: MonotonicTime) -> Result<()> {
        let until = self.ends_at.map_or(until, |end| until.min(end));
        self.receive_until(until, |_| false)?;
        self.take_outcomes(Duration::ZERO)
    }

    /// Whether all were sent, or the time is over in which they are.
    fn is_over(&self) -> bool {
        let is_late = |end| self.ends.sender.now() >= end;
        self.sent == self.options.count || self.ends_at.is_some_and(is_late)
    }

    /// Steps for about `time`, also where the next datagram is due later. `false`: all were sent, or the time is over.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn step_for(&mut self, time: Duration) -> Result<bool> {
        let until = self.ends.sender.now() + Span::from(time);
        while !self.is_over() {
            if self.options.apart().is_some() && self.due > until {
                self.wait_until(until)?;
                return Ok(!self.is_over());
            }
            if self.step()? && self.last_sent >= until {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends the next datagram now, whatever the rate and the count say, and waits for nothing: for a loop that serves other
    /// sockets as well, and calls [`take`](Self::take) when one of the [`sockets`](Self::sockets) is ready. After an error it may be
    /// called again.
    ///
    /// # Errors
    /// `Busy` if as many are in flight as the options allow; otherwise as [`UdpSocket::send`].
    pub fn send_next(&mut self) -> Result<()> {
        if self.tally.in_flight.is_full() {
            let cause = "as many datagrams are in flight as the options allow";
            let target = self.ends.name.clone();
            return Err(Error::new(ErrorKind::Busy, OPERATION, target, cause)
                .with_remedy("send more slowly, or allow more of them"));
        }
        self.send_counted(self.next_sequence).map(drop)
    }

    /// Takes what has arrived and which timestamps there are, gives up what is over its time, and waits for nothing.
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`].
    pub fn take(&mut self) -> Result<()> {
        self.take_arrived()?;
        let [sender, receiver] = self.sockets();
        if std::ptr::eq(sender, receiver) {
            return Ok(());
        }
        // nothing comes there, but a socket whose NIC is gone says so, and would be ready for ever
        let mut buffer = [0; 1];
        while sender.try_receive_batch(&mut [Incoming::new(&mut buffer)])? > 0 {}
        Ok(())
    }

    fn take_arrived(&mut self) -> Result<()> {
        self.receive_until(self.ends.receiver.now(), |_| false)?;
        self.take_outcomes(Duration::ZERO)
    }

    /// Returns the sockets that send and receive: the same with an echo service.
    pub fn sockets(&self) -> [&UdpSocket; 2] {
        [&self.ends.sender, &self.ends.receiver]
    }

    /// Returns whose timestamps count.
    pub fn source(&self) -> TimestampSource {
        self.options.source
    }

    /// Returns how far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            sent: self.sent,
            count: self.options.count,
        }
    }

    /// Returns how many datagrams are in flight, or through while their times are not final.
    pub fn in_flight(&self) -> u64 {
        self.tally.unresolved()
    }

    /// Returns what is known to be lost so far. How many found the receive buffer full is known when it is stopped.
    pub fn losses(&self) -> &Losses {
        self.tally.losses()
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
        self.take_arrived()?;
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
            if self.sent % every == 0 || self.sent == count {
                progress(self.progress());
            }
        }
        self.finish()
    }

    /// Returns the time just before.
    fn send_counted(&mut self, sequence: u64) -> Result<MonotonicTime> {
        let before = self.ends.sender.now();
        self.tally.sending(sequence, before);
        if let Err(error) = self.send(sequence) {
            self.tally.not_sent(sequence);
            return Err(error);
        }
        self.sent += 1;
        self.last_sent = before;
        Ok(before)
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

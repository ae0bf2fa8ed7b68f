//! The run of one measurement: it paces the datagrams and collects the results.

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

/// The longest single wait for outcomes or arrivals, so that other work gets its turn. Without a
/// rate, also the shortest wait for a packet before the next one is sent.
pub(super) const STEP: Duration = Duration::from_millis(20);
/// The number of outcomes that are fetched at once.
const RECORDS: usize = 1024;

/// The progress of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Datagrams sent so far.
    pub sent: u64,
    /// Datagrams to send.
    pub count: u64,
}

/// A latency measurement in progress. Call [`step`](Self::step) until it returns `false`, then
/// [`finish`](Self::finish); or [`run`](Self::run), which does both.
#[derive(Debug)]
pub struct LatencyRun {
    pub(super) options: LatencyOptions,
    pub(super) ends: Ends,
    pub(super) packet: Packet,
    pub(super) buffer: Vec<u8>,
    pub(super) next_sequence: u64,
    /// Whether the warm-up got transmit timestamps: only then they are waited for.
    pub(super) timestamps_come: bool,
    /// The longest time from sending to arrival so far; zero if none has arrived.
    pub(super) slowest: Span,
    pub(super) tally: Tally,
    records: Vec<TransmitRecord>,
    /// The largest number of transmit IDs that may be unresolved.
    most_awaiting: usize,
    sent: u64,
    due: MonotonicTime,
    last_sent: MonotonicTime,
    /// The time after which no datagram is sent.
    ends_at: Option<MonotonicTime>,
    /// The number of datagrams that the receive buffer had dropped when the measurement began.
    pub(super) dropped_before: u64,
    /// The beginning of the warm-up, and its results.
    pub(super) begun: MonotonicTime,
    pub(super) probes: Probes,
}

impl LatencyRun {
    /// Prepares a measurement on `interface` and waits until replies and timestamps come:
    /// [`prepare`](Self::prepare), then [`warm_up`](Self::warm_up) until it returns `false`.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`warm_up`](Self::warm_up).
    pub fn on(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        Self::prepare(interface, options)?.warmed_up()
    }

    /// Prepares a measurement on `interface`: binds the sockets and switches timestamping on; if
    /// `source` is hardware, also the NIC's, until the run ends. On loopback the datagrams go from
    /// one socket to another, on a simulated interface over the cable to the other simulated NIC.
    /// On other interfaces `options.peer` must return them.
    ///
    /// # Errors
    /// `InvalidInput` for options that are invalid or do not suit the interface; otherwise as
    /// [`Interface::bind`], [`UdpSocket::configure`], [`Interface::enable_hardware`] and
    /// [`Interface::correlator`].
    pub fn prepare(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        limits::check(interface.name(), &options)?;
        let ends = match options.peer {
            Some(peer) => Ends::with_peer(interface, peer, &options)?,
            None => Ends::within(interface, &options)?,
        };
        Self::of(ends, options)
    }

    /// Prepares a measurement between two sockets, which may be on two NICs or in two network
    /// namespaces, and warms it up. The datagrams are sent to `to`, which must reach `receiver`.
    /// Ignores `options.peer` and `options.family`.
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
            buffer: vec![0; options.size + 1], // one byte more, to detect datagrams that are too long
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

    /// Sends the result of each packet to `packets` from now on, as soon as it is final, which is
    /// not in the order of their numbers. A hardware timestamp is final after the third batch of
    /// cross timestamps, up to 600 ms later; the last results follow when the measurement is
    /// stopped, without the packets that are still in flight. If the results are taken after each
    /// [`step`](Self::step), the channel holds at most N + M of them: N is
    /// [`LatencyOptions::max_in_flight`], M the largest of N, one second's packets and 65,536.
    pub fn send_packets_to(&mut self, packets: Sender<PacketLatency>) {
        self.tally.send_packets_to(packets);
    }

    /// Sends the next datagram and processes those in flight. Waits first until the datagram is due
    /// and the options allow another one in flight. Returns `false`, without sending, if all
    /// datagrams are sent or the time is over.
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
            self.take_outcomes(STEP)?; // a NIC may have room for only one timestamp
        }
        Ok(true)
    }

    /// Receives until `until`, or until the time for sending is over.
    fn wait_until(&mut self, until: MonotonicTime) -> Result<()> {
        let until = self.ends_at.map_or(until, |end| until.min(end));
        self.receive_until(until, |_| false)?;
        self.take_outcomes(Duration::ZERO)
    }

    /// Whether all datagrams are sent, or the time for sending is over.
    fn is_over(&self) -> bool {
        let is_late = |end| self.ends.sender.now() >= end;
        self.sent == self.options.count || self.ends_at.is_some_and(is_late)
    }

    /// Steps for about `time`, even if the next datagram is due later. Returns `false` if all
    /// datagrams are sent or the time for sending is over.
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

    /// Sends the next datagram now, regardless of rate and count, without waiting. For event loops
    /// that serve other sockets as well and call [`take`](Self::take) when one of the
    /// [`sockets`](Self::sockets) is ready. It may be called again after an error.
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

    /// Processes arrivals and timestamps, and gives up datagrams that exceed the timeout, without
    /// waiting.
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`].
    pub fn take(&mut self) -> Result<()> {
        self.take_arrived()?;
        let [sender, receiver] = self.sockets();
        if std::ptr::eq(sender, receiver) {
            return Ok(());
        }
        // the sender receives no datagrams, but if its NIC is gone, the unread error would keep it
        // ready forever
        let mut buffer = [0; 1];
        while sender.try_receive_batch(&mut [Incoming::new(&mut buffer)])? > 0 {}
        Ok(())
    }

    fn take_arrived(&mut self) -> Result<()> {
        self.receive_until(self.ends.receiver.now(), |_| false)?;
        self.take_outcomes(Duration::ZERO)
    }

    /// Returns the sending and the receiving socket; with an echo service they are the same.
    pub fn sockets(&self) -> [&UdpSocket; 2] {
        [&self.ends.sender, &self.ends.receiver]
    }

    /// Returns the source of the timestamps.
    pub fn source(&self) -> TimestampSource {
        self.options.source
    }

    /// Returns the progress.
    pub fn progress(&self) -> Progress {
        Progress {
            sent: self.sent,
            count: self.options.count,
        }
    }

    /// Returns the number of datagrams that are in flight, or whose times are not final.
    pub fn in_flight(&self) -> u64 {
        self.tally.unresolved()
    }

    /// Returns the losses so far. Drops at the receive buffer are added when the measurement is
    /// stopped.
    pub fn losses(&self) -> &Losses {
        self.tally.losses()
    }

    /// Waits for datagrams in flight and returns the report: [`settle`](Self::settle) until it
    /// returns `false`, then [`stop`](Self::stop).
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn finish(mut self) -> Result<LatencyReport> {
        while self.settle()? {}
        self.stop()
    }

    /// Waits up to 20 ms for datagrams in flight, and then for late arrivals, until twice the
    /// timeout after the last datagram if some are missing. Returns `false` if there is nothing to
    /// wait for.
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
            self.take_outcomes(STEP)?; // every ID resolves by its own deadline
        }
        self.receive_until(soon, |tally| {
            tally.in_flight.len() == tally.in_flight.awaiting()
        })?;
        Ok(true)
    }

    /// Ends the measurement and returns the report, once the times of all arrived datagrams are
    /// final. Datagrams in flight count as unresolved, not as lost.
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

    /// Runs the measurement to the end and returns the report. Calls `progress` at most about 200
    /// times.
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

    /// Sends a datagram and counts it. Returns the time just before.
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

    /// Without a rate, how long to wait for a packet before the next is sent. It does not count as
    /// lost then.
    fn patience(&self) -> Span {
        let timeout = Span::from(self.options.timeout);
        if self.slowest == Span::ZERO {
            return timeout;
        }
        let four_times = self.slowest + self.slowest + self.slowest + self.slowest;
        four_times.max(STEP.into()).min(timeout)
    }

    /// Receives until `until` or `is_enough`, and gives up packets that exceed the timeout.
    pub(super) fn receive_until(
        &mut self,
        until: MonotonicTime,
        is_enough: impl Fn(&Tally) -> bool,
    ) -> Result<()> {
        while !is_enough(&self.tally) {
            let now = self.ends.receiver.now();
            let mut incoming = Incoming::new(&mut self.buffer);
            // a long wait would keep packets that exceed the timeout in the table
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

    /// Waits until another datagram may be sent, at most until the oldest one exceeds the timeout.
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

    /// Fetches the resolved transmit IDs, and waits for the first at most `timeout`.
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

//! Owns one measurement: warm-up, pacing, and the end. What it runs between is in `ends`;
//! what becomes of the times is the tally's business.

use super::ends::{self, Endpoint, Ends};
use super::packet::Packet;
use super::tally::{Clocks, Tally, WINDOW};
use super::{LatencyOptions, LatencyReport};
use crate::correlator::Correlator;
use crate::interface::Interface;
use std::net::SocketAddr;
use std::slice;
use std::sync::Arc;
use std::time::Duration;
use wirestamp_core::backend::Incoming;
use wirestamp_core::stamp::{TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord};
use wirestamp_core::time::{Span, SystemTime};
use wirestamp_core::{Error, ErrorKind, Result};

/// How long the warm-up lasts at most. Linux takes about 5 ms to switch receive stamps on,
/// a correlator's burst takes 150 ms.
const WARM_UP: Duration = Duration::from_secs(1);
/// And how long where delayed readings leave a correlator's rate in doubt.
const CLOCKS_WARM_UP: Duration = Duration::from_secs(3);
/// A rate better than this places a packet 0.1 s after the last reading to 2 µs.
const USEFUL_RATE_PPB: f64 = 20_000.0;
/// How long each datagram of the warm-up is waited for, and its stamp.
const STEP: Duration = Duration::from_millis(20);

/// How far a measurement is.
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
    options: LatencyOptions,
    ends: Ends,
    tally: Tally,
    packet: Packet,
    buffer: Vec<u8>,
    records: Vec<TransmitRecord>,
    next_sequence: u64,
    sent: u64,
    due: SystemTime,
    /// Whether the warm-up saw transmit stamps: then each is worth waiting for.
    stamps_come: bool,
}

impl LatencyRun {
    /// Prepares a measurement on `interface`: binds the sockets, switches stamping on (with
    /// `source` hardware also the adapter's, until the run is over), and waits until stamps
    /// come, at most a second. On the loopback interface the datagrams go from one socket to
    /// another; on a simulated one, over the cable to the other simulated adapter; elsewhere
    /// `options.peer` must return them.
    ///
    /// # Errors
    /// `InvalidInput` for options that make no sense here; `Unreachable` if no datagram comes
    /// back; otherwise as [`Interface::bind`], [`UdpSocket::configure`],
    /// [`Interface::enable_hardware`] and [`Interface::correlator`].
    ///
    /// [`UdpSocket::configure`]: crate::UdpSocket::configure
    pub fn on(interface: &Interface, options: LatencyOptions) -> Result<Self> {
        ends::check(interface.name(), &options)?;
        let ends = match options.peer {
            Some(peer) => Ends::with_peer(interface, peer, &options)?,
            None => Ends::within(interface, &options)?,
        };
        Self::warmed_up(ends, options)
    }

    /// Prepares a measurement from one socket to another, wherever they were made: on two
    /// adapters, or in two network namespaces. The datagrams are sent to `to`, which must
    /// lead to `receiver`. `options.peer` and `options.family` mean nothing here.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub fn between(sender: Endpoint, receiver: Endpoint, to: SocketAddr, options: LatencyOptions) -> Result<Self> {
        ends::check("the given sockets", &options)?;
        Self::warmed_up(Ends::given(sender, receiver, to, &options)?, options)
    }

    fn warmed_up(ends: Ends, options: LatencyOptions) -> Result<Self> {
        let now = ends.sender.now();
        let number = now.nanoseconds() as u32 ^ u32::from(ends.sender.local_address()?.port()).rotate_left(16);
        let mut run = Self {
            options,
            ends,
            tally: Tally::new(options.source),
            packet: Packet::new(options.size, number),
            buffer: vec![0; options.size + 1], // shows what is too long
            records: vec![TransmitRecord::EMPTY; WINDOW],
            next_sequence: 0,
            sent: 0,
            due: now,
            stamps_come: false,
        };
        run.warm_up()?;
        run.tally.warmed_up(run.ends.sender.now() - now);
        Ok(run)
    }

    /// Sends the next datagram and sees to those that are under way. `false`: all were sent
    /// before, and nothing was done.
    ///
    /// # Errors
    /// As [`UdpSocket::send`](crate::UdpSocket::send) and
    /// [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn step(&mut self) -> Result<bool> {
        if self.sent == self.options.count {
            return Ok(false);
        }
        let sequence = self.next_sequence;
        self.make_room(sequence)?;
        if self.sent == 0 {
            self.due = self.ends.sender.now();
        }
        let before = self.ends.sender.now();
        self.tally.sending(sequence, before, &self.ends.clocks);
        if let Err(error) = self.send(sequence) {
            self.tally.not_sent(sequence);
            return Err(error);
        }
        self.sent += 1;
        match self.options.rate {
            Some(rate) => {
                self.due = self.due + Span::from_nanoseconds(1_000_000_000 / i128::from(rate));
                self.receive_until(self.due, None)?;
            }
            None => self.receive_until(before + Span::from(self.options.timeout), Some(sequence))?,
        }
        self.take_outcomes(Duration::ZERO)?;
        if self.options.rate.is_none() && self.stamps_come {
            // an adapter can have room for one stamp alone
            self.make_room(sequence)?;
        }
        Ok(true)
    }

    /// Waits for what is still under way, and reports.
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`](crate::UdpSocket::receive_batch).
    pub fn finish(mut self) -> Result<LatencyReport> {
        let until = self.ends.sender.now() + Span::from(self.options.timeout);
        while !self.tally.is_through() && self.ends.receiver.now() < until {
            self.take_outcomes(Duration::ZERO)?;
            if !self.tally.is_through() {
                let soon = self.ends.receiver.now() + Span::from(STEP);
                self.receive_until(soon.min(until), None)?;
            }
        }
        while self.ends.sender.counters().pending > 0 {
            self.take_outcomes(STEP)?; // every id ends by its own deadline
        }
        self.take_outcomes(Duration::ZERO)?;
        Ok(self.tally.report(&self.ends.clocks))
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
                progress(Progress { sent: self.sent, count });
            }
        }
        self.finish()
    }

    fn send(&mut self, sequence: u64) -> Result<()> {
        self.next_sequence = sequence + 1;
        let id = Some(TransmitId(sequence as u32));
        let payload = self.packet.numbered(sequence);
        match self.ends.to {
            Some(to) => self.ends.sender.send_to(payload, to, id),
            None => self.ends.sender.send(payload, id),
        }
    }

    /// Receives until `until`, or until the datagram `awaited` has come.
    fn receive_until(&mut self, until: SystemTime, awaited: Option<u64>) -> Result<()> {
        loop {
            let mut incoming = Incoming::new(&mut self.buffer);
            if self.ends.receiver.receive_batch(slice::from_mut(&mut incoming), until)? == 0 {
                return Ok(());
            }
            let after = self.ends.receiver.now();
            let Some(sequence) = self.packet.sequence_of(incoming.payload()) else { continue };
            self.tally.received(sequence, incoming.received.stamps, after, &self.ends.clocks);
            if awaited == Some(sequence) {
                return Ok(());
            }
        }
    }

    /// Waits until the place of `sequence` is free: at most until that id's deadline.
    fn make_room(&mut self, sequence: u64) -> Result<()> {
        while self.tally.is_in_the_way(sequence) == Some(true) {
            self.take_outcomes(STEP)?;
        }
        Ok(())
    }

    fn take_outcomes(&mut self, timeout: Duration) -> Result<()> {
        let count = if timeout.is_zero() {
            self.ends.sender.transmit_stamps(&mut self.records)?
        } else {
            self.ends.sender.wait_transmit_stamps(&mut self.records, timeout)?
        };
        for record in &self.records[..count] {
            self.tally.transmitted(record, &self.ends.clocks);
        }
        Ok(())
    }
}

/// The first part of a measurement, which is not counted.
impl LatencyRun {
    /// Sends datagrams until both stamps were seen and the correlators are ready.
    fn warm_up(&mut self) -> Result<()> {
        let begun = self.ends.sender.now();
        let mut arrived = false;
        loop {
            let limit = if self.ends.clocks.are_ready() { WARM_UP } else { CLOCKS_WARM_UP };
            if self.ends.sender.now() >= begun + Span::from(limit) {
                break;
            }
            let sequence = self.next_sequence;
            self.send(sequence)?;
            let stamped = match self.receive_one(sequence)? {
                Some(stamps) => {
                    arrived = true;
                    stamps
                }
                None => false,
            };
            let sent_with_stamp = self.is_stamped(sequence)?;
            self.stamps_come |= sent_with_stamp;
            if sent_with_stamp && stamped && self.ends.clocks.are_ready() {
                return Ok(());
            }
            let pause = self.ends.receiver.now() + Span::from_milliseconds(1);
            self.receive_until(pause, None)?;
        }
        // stamps that don't come are what the report is about; datagrams that don't are not
        if arrived { Ok(()) } else { Err(self.nothing_came()) }
    }

    /// Whether the datagram came, and if so whether with a stamp.
    fn receive_one(&mut self, sequence: u64) -> Result<Option<bool>> {
        let until = self.ends.receiver.now() + Span::from(STEP);
        loop {
            let mut incoming = Incoming::new(&mut self.buffer);
            if self.ends.receiver.receive_batch(slice::from_mut(&mut incoming), until)? == 0 {
                return Ok(None);
            }
            if self.packet.sequence_of(incoming.payload()) == Some(sequence) {
                return Ok(Some(incoming.received.stamps.has(self.options.source)));
            }
        }
    }

    fn is_stamped(&self, sequence: u64) -> Result<bool> {
        let answer = self.ends.sender.wait_transmit_stamp(TransmitId(sequence as u32), STEP)?;
        let TransmitAnswer::Ended(TransmitOutcome::Stamped(stamps)) = answer else { return Ok(false) };
        Ok(stamps.has(self.options.source))
    }

    fn nothing_came(&self) -> Error {
        let error =
            Error::new(ErrorKind::Unreachable, ends::OPERATION, &self.ends.name, "no datagram arrived within a second");
        error.with_remedy(match self.options.peer {
            Some(_) => "see that the peer returns every datagram to its sender (a UDP echo service)",
            None => "see that the interface is up and no firewall drops UDP",
        })
    }
}

impl Clocks {
    fn are_ready(&self) -> bool {
        let is_useful = |correlator: &Arc<Correlator>| {
            correlator.rate().is_some_and(|rate| rate.bound_parts_per_billion < USEFUL_RATE_PPB)
        };
        [&self.sender, &self.receiver].into_iter().flatten().all(is_useful)
    }
}

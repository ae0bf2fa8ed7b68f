//! A session on its socket: pacing, and the end.

use super::{Clock, offset_of, utc_of};
use crate::missing::Missing;
use crate::session::{ReplyArrival, Sample, Session, SessionConfiguration, SessionReport};
use std::net::SocketAddr;
use std::slice;
use std::time::Duration;
use wirestamp::{
    Error, ErrorKind, Incoming, MonotonicTime, Result, Span, TransmitId, TransmitRecord, UdpSocket,
};

/// The longest reply that is read.
const LONGEST: usize = 65_536;
/// So many requests close a session at most: the last reply's follow-up comes with the next one.
const CLOSING: u32 = 5;
/// How long a wait takes before other work is looked at.
const STEP: Span = Span::from_milliseconds(20);

/// How a session is run.
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    /// The session to run.
    pub session: SessionConfiguration,
    /// How many packets are measured.
    pub count: u64,
    /// From one packet to the next.
    pub interval: Duration,
}

/// The path's MTU, and the packets that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathMtu {
    /// Bytes of a packet's UDP payload.
    pub packet: usize,
    /// The path's MTU as the system knew it before anything was sent, in bytes with the IP header: the interface's, or one that a router
    /// reported earlier. `None`: the system does not say.
    pub first: Option<u32>,
    /// The same now: less if a router on the way reported its link's.
    pub last: Option<u32>,
    /// Packets that the system did not send because they are larger.
    pub too_large: u64,
}

/// A session under way: [`step`](Self::step) until it says that all is sent, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Probe {
    socket: UdpSocket,
    session: Session,
    clock: Clock,
    options: ProbeOptions,
    buffer: Vec<u8>,
    request: Vec<u8>,
    records: Vec<TransmitRecord>,
    sent: u64,
    due: MonotonicTime,
    slowest: Span,
    /// Packets that the system did not send.
    refused: u64,
    /// Packets that the system did not send because they are larger than the path's MTU.
    too_large: u64,
    /// The path's MTU before anything was sent.
    first_mtu: Option<u32>,
    /// The latest ICMP error.
    unreachable: Option<Error>,
}

impl Probe {
    /// Prepares a session with `peer`: connects the socket, switches its timestamps on, and sets hop limit and class.
    ///
    /// # Errors
    /// As [`UdpSocket::connect`] and [`UdpSocket::configure`].
    pub fn new(
        socket: UdpSocket,
        peer: SocketAddr,
        clock: Clock,
        options: ProbeOptions,
    ) -> Result<Self> {
        socket.connect(peer)?;
        clock.configure(&socket, 4_096)?;
        let _ = socket.report_header();
        let _ = socket.set_hop_limit(255);
        // of fragments one would have the timestamp, and a path MTU problem would not show
        let _ = socket.forbid_fragments();
        let first_mtu = socket.path_mtu().ok();
        if options.session.traffic_class != 0 {
            socket.set_traffic_class(options.session.traffic_class)?;
        }
        Ok(Self {
            due: socket.now(),
            session: Session::new(options.session.clone()),
            socket,
            clock,
            options,
            buffer: vec![0; LONGEST],
            request: Vec::new(),
            records: vec![TransmitRecord::EMPTY; 64],
            sent: 0,
            slowest: Span::ZERO,
            refused: 0,
            too_large: 0,
            first_mtu,
            unreachable: None,
        })
    }

    /// Says anew how far the clocks may be from UTC ([`Session::set_clock_bound`]).
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        self.session.set_clock_bound(bound);
    }

    /// Sends the next packet, and takes the packets that arrive until the one after it is due. `false`: all were sent before, and nothing
    /// was done.
    ///
    /// # Errors
    /// `Io`, and errors that make sending impossible for good. Packets that the system does not send are counted as lost.
    pub fn step(&mut self, mut each: impl FnMut(&Sample)) -> Result<bool> {
        if self.sent == self.options.count {
            return Ok(false);
        }
        self.sent += 1;
        self.send()?;
        // who is late catches up, but not by a burst
        let interval = Span::from(self.options.interval);
        self.due = (self.due + interval).max(self.socket.now() - interval);
        self.listen(self.due, |_| false)?;
        let now = self.socket.now();
        self.session.expire(now, &mut each);
        Ok(true)
    }

    /// Sends the packets that close the session, waits for those in flight, and returns the report and the path's MTU. `go_on` is called
    /// every few milliseconds; when it returns `false`, packets in flight count as lost.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn finish(
        mut self,
        mut go_on: impl FnMut() -> bool,
        each: impl FnMut(&Sample),
    ) -> Result<(SessionReport, PathMtu)> {
        self.session.close();
        let timeout = self.options.session.timeout;
        let patience = (self.slowest + self.slowest + STEP).min(timeout);
        self.wait(patience, &mut go_on, Session::all_answered)?;
        for _ in 0..CLOSING {
            let sequence = self.send()?;
            let is_answered = move |session: &Session| session.is_answered(sequence);
            if self.wait(patience, &mut go_on, is_answered)? || !go_on() {
                break;
            }
        }
        self.wait(timeout, &mut go_on, Session::all_answered)?;
        let path = self.path_mtu();
        Ok((self.session.finish(each), path))
    }

    /// Returns how many packets were sent to be measured.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the path's MTU, and how many packets did not fit.
    fn path_mtu(&self) -> PathMtu {
        PathMtu {
            packet: self.request.len(),
            first: self.first_mtu,
            last: self.socket.path_mtu().ok(),
            too_large: self.too_large,
        }
    }

    /// Returns how many packets the system did not send for another reason than their size.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns why packets did not reach the peer, as ICMP said last: nobody listens on its port, or there is no way there.
    pub fn unreachable(&self) -> Option<&Error> {
        self.unreachable.as_ref()
    }

    fn note(&mut self, error: Error) {
        if error.kind() == ErrorKind::Unreachable {
            self.unreachable = Some(error);
        }
    }

    fn send(&mut self) -> Result<u32> {
        let (offset, bound) = offset_of(&self.socket);
        let before = self.socket.now();
        // T1 is written before the packet is sent; how much later packets left so far is the guess
        let late = bound + Span::from_milliseconds(1);
        let sequence =
            self.session
                .request(before, utc_of(before, offset), late, &mut self.request);
        let sent = self.socket.send(&self.request, Some(TransmitId(sequence)));
        if let Err(error) = sent {
            // an ICMP error of an earlier packet, or no route now: the packet is lost, the run goes on
            if error.kind() == ErrorKind::InvalidInput {
                self.too_large += 1;
            } else {
                self.refused += 1;
            }
            self.session.transmitted(sequence, Err(Missing::NotSent));
            self.note(error);
        }
        Ok(sequence)
    }

    /// Whether it is enough by the end of `time`.
    fn wait(
        &mut self,
        time: Span,
        go_on: &mut impl FnMut() -> bool,
        is_enough: impl Fn(&Session) -> bool,
    ) -> Result<bool> {
        let until = self.socket.now() + time;
        while go_on() {
            let now = self.socket.now();
            if is_enough(&self.session) || now >= until {
                break;
            }
            self.listen(until.min(now + STEP), &is_enough)?;
        }
        Ok(is_enough(&self.session))
    }

    /// Takes the packets that arrive until `until`, or until they are enough; and the transmit timestamps.
    fn listen(&mut self, until: MonotonicTime, is_enough: impl Fn(&Session) -> bool) -> Result<()> {
        loop {
            let mut incoming = Incoming::new(&mut self.buffer);
            let one = slice::from_mut(&mut incoming);
            // an ICMP error of an earlier packet is no end of the run
            let (count, error) = match self.socket.receive_batch(one, until) {
                Ok(count) => (count, None),
                Err(error) => (0, Some(error)),
            };
            let read = self.socket.now();
            if count > 0 && !incoming.received.truncated {
                let received = &incoming.received;
                let arrival = ReplyArrival {
                    payload: incoming.payload(),
                    received: self.clock.read(&received.timestamps, &self.socket),
                    read,
                    hop_limit: received.hop_limit,
                    traffic_class: received.traffic_class,
                };
                if let Ok(answered) = self.session.received(&arrival) {
                    let took = self.session.age(answered, read);
                    self.slowest = self.slowest.max(took.unwrap_or(Span::ZERO));
                }
            }
            if let Some(error) = error {
                self.note(error);
            }
            self.collect()?;
            if read >= until || is_enough(&self.session) {
                return Ok(());
            }
        }
    }

    fn collect(&mut self) -> Result<()> {
        loop {
            let count = self.socket.transmit_timestamps(&mut self.records)?;
            for record in &self.records[..count] {
                let sent = self.clock.outcome(&record.outcome, &self.socket);
                self.session.transmitted(record.id.0, sent);
            }
            if count < self.records.len() {
                return Ok(());
            }
        }
    }
}

//! Sends datagrams that the NIC timestamps.

use crate::options::Datagrams;
use crate::own_address::own_address;
use crate::task::is_no_end;
use std::time::Duration;
use wirestamp::{
    Error, ErrorKind, HardwareGuard, HardwareRequest, HardwareTimestamp, Interface, MonotonicTime,
    Result, Source, Span, Timestamping, TransmitId, TransmitOutcome, TransmitRecord, UdpSocket,
};

const PAYLOAD: &[u8] = b"wirestamp record";
const CAPACITY: u16 = 64;
/// How long a timestamp is waited for: some NICs take some milliseconds.
const DEADLINE: Span = Span::from_milliseconds(50);
/// The interval at which that is checked.
const LOOK: Span = Span::from_milliseconds(10);
/// The number of timestamps that are fetched together.
const AT_ONCE: usize = 16;

/// A socket whose datagrams the NIC timestamps.
pub(super) struct Traffic {
    socket: UdpSocket,
    name: String,
    next: u32,
    interval: Span,
    /// When the next one is sent; `MAX`: none is any more.
    due: MonotonicTime,
    /// How many timestamps are still to come.
    awaited: usize,
    /// Open, so that the datagrams are not answered with an error.
    _sink: Option<UdpSocket>,
    _hardware: HardwareGuard,
}

impl Traffic {
    pub(super) fn start(interface: &Interface, wanted: Datagrams) -> Result<Self> {
        let interval = Span::from(wanted.interval);
        let refuse = |cause, remedy: &'static str| {
            let (kind, name) = (ErrorKind::InvalidInput, interface.name());
            Err(Error::new(kind, "record timestamps", name, cause).with_remedy(remedy))
        };
        if interval == Span::ZERO {
            return refuse("an interval of zero", "say how far apart they are");
        }
        let hardware = interface.enable_hardware(HardwareRequest::Sent)?;
        let own = own_address(interface, |own| {
            wanted.to.is_none_or(|to| own.is_ipv4() == to.is_ipv4())
        })?;
        let (sink, to) = match wanted.to {
            Some(to) => (None, to),
            None if interface.description().simulated => {
                let sink = interface.bind(own)?;
                let to = sink.local_address()?;
                (Some(sink), to)
            }
            None => {
                let cause = "datagrams of its own need somewhere to go";
                return refuse(cause, "name an address on its network with --to");
            }
        };
        let socket = interface.bind(own)?;
        socket.configure(
            Timestamping::OFF
                .transmit(CAPACITY)
                .source(Source::Hardware)
                .transmit_deadline(DEADLINE),
        )?;
        socket.connect(to)?;
        Ok(Self {
            due: socket.now() + Span::from_nanoseconds(interval.nanoseconds() / 2),
            socket,
            name: interface.name().to_owned(),
            next: 0,
            interval,
            awaited: 0,
            _sink: sink,
            _hardware: hardware,
        })
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// When there is something to do even if nothing comes.
    pub(super) fn due(&self, now: MonotonicTime) -> MonotonicTime {
        match self.is_settled() {
            true => self.due,
            // a timestamp that never comes ends no wait
            false => now + LOOK,
        }
    }

    /// None is sent any more.
    pub(super) fn stop(&mut self) {
        self.due = MonotonicTime::MAX;
    }

    /// Whether all timestamps have come, or it is known why not.
    pub(super) fn is_settled(&self) -> bool {
        self.awaited == 0
    }

    /// Sends one, if it is due and the one before has its timestamp: some NICs can have one under way alone. None is caught up with.
    pub(super) fn send(&mut self, now: MonotonicTime) -> Result<()> {
        if now < self.due || !self.is_settled() {
            return Ok(());
        }
        let due = self.due + self.interval;
        self.due = match due > now {
            true => due,
            false => now + self.interval,
        };
        let id = TransmitId(self.next);
        self.next = self.next.wrapping_add(1);
        // the error may belong to an earlier datagram
        let sent = self.socket.send(PAYLOAD, Some(id));
        sent.or_else(|_| self.socket.send(PAYLOAD, Some(id)))?;
        self.awaited += 1;
        Ok(())
    }

    /// Yields the timestamps since the last call. `is_ready`: something ended a wait for the socket, and ends each wait until it is read.
    pub(super) fn collect(
        &mut self,
        is_ready: bool,
        mut each: impl FnMut(Result<HardwareTimestamp>),
    ) -> Result<()> {
        let mut records = [TransmitRecord::EMPTY; AT_ONCE];
        while is_ready || self.awaited > 0 {
            let count = self.socket.transmit_timestamps(&mut records)?;
            self.awaited = self.awaited.saturating_sub(count);
            let outcomes = records[..count].iter().map(|record| &record.outcome);
            outcomes.for_each(|outcome| each(self.hardware(outcome)));
            if count < records.len() {
                break;
            }
        }
        match is_ready {
            true => self.discard(),
            false => Ok(()),
        }
    }

    /// Nobody is asked for an answer, and somebody may answer all the same, or ICMP.
    fn discard(&self) -> Result<()> {
        let mut buffer = [0; PAYLOAD.len()];
        for _ in 0..AT_ONCE {
            match self.socket.receive(&mut buffer, Duration::ZERO) {
                Ok(None) => break,
                Ok(Some(_)) => {}
                Err(error) => is_no_end(error)?,
            }
        }
        Ok(())
    }

    fn hardware(&self, outcome: &TransmitOutcome) -> Result<HardwareTimestamp> {
        let cause = match outcome {
            TransmitOutcome::Timestamped(timestamps) => match timestamps.hardware {
                Some(timestamp) => return Ok(timestamp),
                None => "the timestamp is not the NIC's".to_owned(),
            },
            TransmitOutcome::Missing(reason) => reason.to_string(),
        };
        let (operation, name) = ("timestamp a datagram", &self.name);
        Err(Error::new(ErrorKind::Io, operation, name, cause))
    }
}

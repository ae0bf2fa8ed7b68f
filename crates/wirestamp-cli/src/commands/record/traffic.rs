//! The datagrams that are sent to be timestamped. Writes nothing down.

use crate::probe;
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::{
    Error, ErrorKind, HardwareGuard, HardwareRequest, HardwareTimestamp, Interface, Source, Span,
    Timestamping, TransmitAnswer, TransmitId, TransmitOutcome, UdpSocket,
};

const PAYLOAD: &[u8] = b"wirestamp record";
const CAPACITY: u16 = 64;
/// How long a timestamp is waited for: some NICs take some milliseconds.
const DEADLINE: Span = Span::from_milliseconds(50);
/// By then the id has ended, and it is known why.
const PATIENCE: Duration = Duration::from_secs(1);

/// A socket whose datagrams the NIC timestamps.
pub(super) struct Traffic {
    socket: UdpSocket,
    name: String,
    next: u32,
    /// Open, so that the datagrams are not answered with an error.
    _sink: Option<UdpSocket>,
    _hardware: HardwareGuard,
}

impl Traffic {
    pub(super) fn start(interface: &Interface, to: Option<SocketAddr>) -> Result<Self, Error> {
        let hardware = interface.enable_hardware(HardwareRequest::Sent)?;
        let own = probe::own_address(interface, |own| {
            to.is_none_or(|to| own.is_ipv4() == to.is_ipv4())
        })?;
        let sink = match to {
            None if interface.description().simulated => Some(interface.bind(own)?),
            None => {
                let cause = "datagrams of its own need somewhere to go";
                let error = Error::new(
                    ErrorKind::InvalidInput,
                    "record timestamps",
                    interface.name(),
                    cause,
                );
                return Err(error.with_remedy("name an address on its network with --to"));
            }
            Some(_) => None,
        };
        let socket = interface.bind(own)?;
        socket.configure(
            Timestamping::OFF
                .transmit(CAPACITY)
                .source(Source::Hardware)
                .transmit_deadline(DEADLINE),
        )?;
        match (&sink, to) {
            (Some(sink), _) => socket.connect(sink.local_address()?)?,
            (None, Some(to)) => socket.connect(to)?,
            (None, None) => {}
        }
        Ok(Self {
            socket,
            name: interface.name().to_owned(),
            next: 0,
            _sink: sink,
            _hardware: hardware,
        })
    }

    /// Sends one; the timestamp that the NIC made of it.
    pub(super) fn timestamp(&mut self) -> Result<HardwareTimestamp, Error> {
        let id = TransmitId(self.next);
        self.next = self.next.wrapping_add(1);
        // an error may tell of an earlier datagram that nobody wanted
        self.socket
            .send(PAYLOAD, Some(id))
            .or_else(|_| self.socket.send(PAYLOAD, Some(id)))?;
        let cause = match self.socket.wait_transmit_timestamp(id, PATIENCE)? {
            TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) => {
                match timestamps.hardware {
                    Some(timestamp) => return Ok(timestamp),
                    None => "the timestamp is not the NIC's".to_owned(),
                }
            }
            TransmitAnswer::Resolved(TransmitOutcome::Missing(reason)) => reason.to_string(),
            _ => "no timestamp came in time".to_owned(),
        };
        Err(Error::new(
            ErrorKind::Io,
            "timestamp a datagram",
            &self.name,
            cause,
        ))
    }
}

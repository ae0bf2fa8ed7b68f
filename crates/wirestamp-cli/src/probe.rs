//! The harmless probe: a few small datagrams that show which timestamps really come.
//! Switches nothing but its own sockets.

use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::interface::Observed;
use wirestamp::socket::Granted;
use wirestamp::{
    Error, ErrorKind, Interface, Received, Source, Span, Timestamping, TransmitAnswer, TransmitId,
    TransmitOutcome, UdpSocket,
};
use wirestamp_measure::own_address;

const PAYLOAD: &[u8] = b"wirestamp probe";
/// How long each datagram and its timestamp are waited for.
const STEP: Duration = Duration::from_millis(20);
/// How many are sent at most while timestamps don't come: the kernel may need some milliseconds.
const PATIENCE: u32 = 64;
/// How many are sent once timestamps come, or to somebody who need not answer.
const ENOUGH: u32 = 8;
/// As many as the library's own measurements ask for.
const CAPACITY: u16 = 1_024;

/// What a probe found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// Which timestamps came.
    pub(crate) observed: Observed,
    /// What the system granted to the sending socket.
    pub(crate) granted: Granted,
    /// From the first datagram until the first that arrived with a timestamp.
    pub(crate) cold_start: Option<Span>,
    /// How many datagrams went.
    pub(crate) sent: u32,
    /// How many of them arrived, or were answered.
    pub(crate) arrived: u32,
}

/// Sends datagrams from the interface to itself: for the loopback and simulated ones.
pub(crate) fn itself(interface: &Interface) -> Result<Probe, Error> {
    let local = own_address(interface, |_| true)?;
    let (sender, receiver) = (interface.bind(local)?, interface.bind(local)?);
    let granted = configure(&sender, Timestamping::OFF.transmit(CAPACITY))?;
    configure(&receiver, Timestamping::OFF.receive())?;
    sender.connect(receiver.local_address()?)?;
    let (start, mut cold_start) = (sender.now(), None);
    let (mut sent, mut refused, mut arrived, mut timestamped) = (0, 0, 0, 0);
    while sent < PATIENCE && timestamped < ENOUGH {
        let id = TransmitId(sent);
        sent += 1;
        if let Err(error) = sender.send(PAYLOAD, Some(id)) {
            refused += 1;
            // a firewall may refuse some, and the probe is about the others
            if refused == ENOUGH
                || !matches!(error.kind(), ErrorKind::NotPermitted | ErrorKind::Busy)
            {
                return Err(error);
            }
            continue;
        }
        let mut buffer = [0; PAYLOAD.len()];
        let received: Option<Received> = receiver.receive(&mut buffer, STEP)?;
        arrived += u32::from(received.is_some());
        let came = received.is_some_and(|received| !received.timestamps.is_none());
        if came && cold_start.is_none() {
            cold_start = Some(receiver.now() - start);
        }
        timestamped += u32::from(is_timestamped(&sender, id)? && came);
    }
    last_timestamps(&sender)?;
    Ok(Probe {
        observed: interface.observed(),
        granted,
        cold_start,
        sent,
        arrived,
    })
}

/// Sends datagrams to somebody who need not answer; answers are looked at if they come.
pub(crate) fn toward(interface: &Interface, peer: SocketAddr) -> Result<Probe, Error> {
    let socket = interface.bind(own_address(interface, |own| {
        own.is_ipv4() == peer.is_ipv4()
    })?)?;
    let granted = configure(&socket, Timestamping::OFF.receive().transmit(CAPACITY))?;
    socket.connect(peer)?;
    let mut arrived = 0;
    for number in 0..ENOUGH {
        let id = TransmitId(number);
        heard_of(socket.send(PAYLOAD, Some(id)))?;
        let mut buffer = [0; PAYLOAD.len()];
        let answer = heard_of(socket.receive(&mut buffer, STEP))?.flatten();
        arrived += u32::from(answer.is_some());
        is_timestamped(&socket, id)?;
    }
    last_timestamps(&socket)?;
    Ok(Probe {
        observed: interface.observed(),
        granted,
        cold_start: None,
        sent: ENOUGH,
        arrived,
    })
}

/// Both clocks where the system gives both, else the system's.
fn configure(socket: &UdpSocket, wanted: Timestamping) -> Result<Granted, Error> {
    match socket.configure(wanted.source(Source::Both)) {
        Err(error) if error.kind() == ErrorKind::NotSupported => socket.configure(wanted),
        answer => answer,
    }
}

/// Nobody listens there: the datagrams leave all the same.
fn heard_of<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::Unreachable => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_timestamped(socket: &UdpSocket, id: TransmitId) -> Result<bool, Error> {
    let answer = socket.wait_transmit_timestamp(id, STEP)?;
    Ok(matches!(
        answer,
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    ))
}

/// Hardware timestamps come later than software timestamps.
fn last_timestamps(socket: &UdpSocket) -> Result<(), Error> {
    let mut buffer = [0; PAYLOAD.len()];
    heard_of(socket.receive(&mut buffer, STEP))?;
    socket.counters(); // collects
    Ok(())
}

//! Send and receive paths of this host: packets from an interface to itself.

use crate::bounded::Bounded;
use crate::moment::Moment;
use crate::options::Path;
use crate::place::Place;
use crate::sample::{Departure, Kind, Sample, Segment, Subject};
use crate::state::{PathState, State};
use crate::task::{Task, Turn, counts};
use std::collections::VecDeque;
use std::slice;
use wirestamp::{
    Error, ErrorKind, Incoming, MonotonicTime, Result, SoftwareTimestamp, Span, Timestamping,
    TransmitId, TransmitOutcome, TransmitRecord, UdpSocket,
};

/// A packet that takes longer is lost.
const TIMEOUT: Span = Span::from_seconds(2);
/// Room for transmit timestamps: more than are in flight at 10 ms.
const TIMESTAMPS: u16 = 256;
/// Of a packet: whose, and its number.
const LENGTH: usize = 64;

/// Two sockets of one interface.
pub(crate) struct PathTask {
    configuration: Path,
    sender: UdpSocket,
    receiver: UdpSocket,
    /// Says whose packets they are.
    mark: [u8; 8],
    due: MonotonicTime,
    next: u32,
    flights: VecDeque<Flight>,
    sent: u64,
    received: u64,
    lost: u64,
    error: Option<String>,
}

struct Flight {
    number: u32,
    before: MonotonicTime,
    left: Option<SoftwareTimestamp>,
    arrived: Option<(Option<SoftwareTimestamp>, MonotonicTime)>,
}

impl PathTask {
    pub(crate) fn open(configuration: &Path, place: &Place) -> Result<Self> {
        let interface = place.interface(&configuration.interface)?;
        let description = interface.description();
        let local = description.addresses.first().map(|own| own.address);
        let refused = |cause: &'static str, remedy: &'static str| {
            Error::new(
                ErrorKind::InvalidInput,
                "measure the paths of this host",
                interface.name().to_owned(),
                cause,
            )
            .with_remedy(remedy)
        };
        if !description.loopback && !description.simulated {
            return Err(refused(
                "packets to own addresses never reach this NIC",
                "name the loopback interface, or measure to a peer with [[stamp]]",
            ));
        }
        let local = local.ok_or_else(|| refused("it has no address", "give it one"))?;
        let sender = interface.bind((local, 0).into())?;
        let receiver = interface.bind((local, 0).into())?;
        sender.configure(Timestamping::OFF.transmit(TIMESTAMPS))?;
        receiver.configure(Timestamping::OFF.receive())?;
        sender.connect(receiver.local_address()?)?;
        Ok(Self {
            configuration: configuration.clone(),
            due: sender.now(),
            sender,
            receiver,
            mark: getrandom::u64().unwrap_or(1).to_be_bytes(),
            next: 0,
            flights: VecDeque::new(),
            sent: 0,
            received: 0,
            lost: 0,
            error: None,
        })
    }

    fn send(&mut self) {
        let mut packet = [0; LENGTH];
        packet[..8].copy_from_slice(&self.mark);
        packet[8..12].copy_from_slice(&self.next.to_be_bytes());
        let before = self.sender.now();
        self.sent += 1;
        match self.sender.send(&packet, Some(TransmitId(self.next))) {
            Ok(()) => {
                self.error = None;
                self.flights.push_back(Flight {
                    number: self.next,
                    before,
                    left: None,
                    arrived: None,
                });
            }
            Err(error) => {
                self.lost += 1;
                self.error = Some(error.to_string());
            }
        }
        self.next = self.next.wrapping_add(1);
    }

    fn collect(&mut self) -> Result<()> {
        let mut records = [TransmitRecord::EMPTY; 8];
        loop {
            let count = self.sender.transmit_timestamps(&mut records)?;
            for record in &records[..count] {
                if let TransmitOutcome::Timestamped(timestamps) = &record.outcome
                    && let Some(flight) = self
                        .flights
                        .iter_mut()
                        .find(|flight| flight.number == record.id.0)
                {
                    flight.left = timestamps.software;
                }
            }
            if count < records.len() {
                return Ok(());
            }
        }
    }

    fn receive(&mut self) -> Result<()> {
        let mut buffer = [0; LENGTH];
        loop {
            let mut incoming = Incoming::new(&mut buffer);
            if self
                .receiver
                .try_receive_batch(slice::from_mut(&mut incoming))?
                == 0
            {
                return Ok(());
            }
            let (read, timestamps) = (self.receiver.now(), incoming.received.timestamps);
            let payload = incoming.payload();
            if payload.len() != LENGTH || payload[..8] != self.mark {
                continue;
            }
            let number = u32::from_be_bytes([payload[8], payload[9], payload[10], payload[11]]);
            if let Some(flight) = self
                .flights
                .iter_mut()
                .find(|flight| flight.number == number)
            {
                flight.arrived.get_or_insert((timestamps.software, read));
            }
        }
    }

    /// Counts the packets whose time is over, in their order: by then their timestamps are known.
    fn judge(&mut self, turn: &mut Turn<'_>) {
        while let Some(flight) = self
            .flights
            .pop_front_if(|flight| turn.now - flight.before > TIMEOUT)
        {
            let (has_arrived, left) = (flight.arrived.is_some(), flight.left);
            self.received += u64::from(has_arrived);
            self.lost += u64::from(!has_arrived);
            let (values, known) = flight.segments();
            turn.sink.sample(&Sample {
                subject: Subject {
                    kind: Kind::Path,
                    name: &self.configuration.interface,
                },
                sequence: flight.number,
                at: turn.now,
                utc: turn.utc,
                left: left
                    .and_then(|left| left.utc)
                    .map_or(Departure::Unknown, Departure::At),
                has_arrived,
                values: &values[..known],
            });
        }
    }
}

impl Flight {
    /// What it says, and how many of these are known: nothing of a packet that is lost.
    fn segments(&self) -> ([(Segment, Bounded<Span>); 3], usize) {
        let mut values = [(Segment::Wire, Bounded::new(Span::ZERO, Span::ZERO)); 3];
        let mut known = 0;
        let mut add = |segment, value, bound| {
            values[known] = (segment, Bounded::new(value, bound));
            known += 1;
        };
        if let Some((arrived, read)) = self.arrived {
            if let Some(left) = self.left {
                add(Segment::SendPath, left.at - self.before, left.bound);
            }
            if let Some(arrived) = arrived {
                add(Segment::ReceivePath, read - arrived.at, arrived.bound);
            }
            if let (Some(left), Some(arrived)) = (self.left, arrived) {
                let bound = left.bound + arrived.bound;
                add(Segment::Wire, arrived.at - left.at, bound);
            }
        }
        (values, known)
    }
}

impl Task for PathTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        self.receive()?;
        self.collect()?;
        self.judge(turn);
        if turn.now >= self.due {
            self.send();
            self.due = (self.due + Span::from(self.configuration.interval)).max(turn.now);
        }
        Ok(if self.flights.is_empty() {
            self.due
        } else {
            self.due.min(turn.now + TIMEOUT)
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>) {
        into.extend([&self.sender, &self.receiver]);
    }

    fn show(&self, _moment: &Moment, into: &mut State) {
        let mut timestamps = counts(&self.sender);
        let received = counts(&self.receiver);
        timestamps.received = received.received;
        timestamps.received_timestamped = received.received_timestamped;
        timestamps.queue_overflows += received.queue_overflows;
        into.paths.push(PathState {
            interface: self.configuration.interface.clone(),
            sent: self.sent,
            received: self.received,
            lost: self.lost,
            in_flight: self.flights.len() as u64,
            timestamps,
            error: self.error.clone(),
            ..PathState::default()
        });
    }
}

//! Send and receive paths of this host: packets from an interface to itself.

use super::{Moment, Task, Turn, counts};
use crate::configuration::Path;
use crate::delays::Delays;
use crate::history::Record;
use crate::place::Place;
use crate::snapshot::{PathState, Snapshot};
use std::collections::{BTreeMap, VecDeque};
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
    delays: BTreeMap<&'static str, Delays>,
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
            delays: BTreeMap::new(),
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
    fn judge(&mut self, turn: &Turn<'_>) {
        while let Some(flight) = self
            .flights
            .pop_front_if(|flight| turn.now - flight.before > TIMEOUT)
        {
            let Some((arrived, read)) = flight.arrived else {
                self.lost += 1;
                continue;
            };
            self.received += 1;
            let (mut known, packet) = (Vec::new(), turn.packet(flight.number));
            let mut record = |name: &'static str, delay: Span, bound: Span| {
                let (delay, bound) = (
                    delay.saturating_nanoseconds(),
                    bound.saturating_nanoseconds(),
                );
                let delays = self.delays.entry(name).or_default();
                delays.record_of(packet, delay, bound);
                known.push((name.into(), delay, bound));
            };
            if let Some(left) = flight.left {
                record("send_path", left.at - flight.before, left.bound);
            }
            if let Some(arrived) = arrived {
                record("receive_path", read - arrived.at, arrived.bound);
            }
            if let (Some(left), Some(arrived)) = (flight.left, arrived) {
                record("wire", arrived.at - left.at, left.bound + arrived.bound);
            }
            turn.keep(|time| Record::Path {
                time,
                interface: self.configuration.interface.clone(),
                delays: known,
            });
        }
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

    fn show(&self, _moment: &Moment, into: &mut Snapshot) {
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
            delays: self
                .delays
                .iter()
                .map(|(name, delays)| ((*name).to_owned(), delays.clone()))
                .collect(),
            timestamps,
            error: self.error.clone(),
        });
    }
}

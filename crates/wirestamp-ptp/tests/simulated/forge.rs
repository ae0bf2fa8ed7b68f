//! Forged messages, and an attacker that sends them from the other end of a cable.

use crate::pair::Cable;
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::{Source, Timestamping, UdpSocket};

/// A well-formed message, to be corrupted by a test.
#[derive(Clone)]
pub(crate) struct Forged {
    pub(crate) bytes: Vec<u8>,
    pub(crate) event: bool,
}

impl Forged {
    /// From clock `who`, port 1.
    pub(crate) fn new(kind: u8, who: u8, sequence: u16) -> Self {
        let length = match kind {
            0 | 1 | 8 => 44,
            0xb => 64,
            _ => 54,
        };
        let mut bytes = vec![0; length];
        bytes[0] = kind;
        bytes[1] = 2;
        bytes[3] = length as u8;
        bytes[6] = 2 * u8::from(kind == 0 || kind == 3);
        bytes[20..28].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, who]);
        bytes[29] = 1;
        bytes[30..32].copy_from_slice(&sequence.to_be_bytes());
        if kind == 0xb {
            bytes[47] = 128;
            bytes[48] = 6;
            bytes[53..61].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, who]);
        }
        Self {
            bytes,
            event: kind < 8,
        }
    }

    pub(crate) fn with(mut self, place: usize, bytes: &[u8]) -> Self {
        self.bytes[place..place + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn at(self, nanoseconds: i64) -> Self {
        let seconds = (nanoseconds / 1_000_000_000).to_be_bytes();
        self.with(34, &seconds[2..])
            .with(40, &((nanoseconds % 1_000_000_000) as u32).to_be_bytes())
    }

    pub(crate) fn answering(self, clock: [u8; 8]) -> Self {
        self.with(44, &clock).with(52, &[0, 1])
    }
}

/// Sends to the multicast groups from PTP's ports.
pub(crate) struct Attacker {
    event: UdpSocket,
    general: UdpSocket,
}

impl Attacker {
    /// At the transmitter's end, without a transmitter.
    pub(crate) fn on(cable: &Cable) -> Self {
        let [event, general] = [319, 320].map(|port| {
            let socket = cable.ends[0]
                .bind(SocketAddr::from(([0; 4], port)))
                .expect("free");
            socket
                .set_multicast(cable.ends[0].index(), 1, false)
                .expect("there");
            for group in [[224, 0, 0, 107], [224, 0, 1, 129]] {
                socket
                    .join_multicast(group.into(), cable.ends[0].index())
                    .expect("there");
            }
            socket
        });
        let timestamped = Timestamping::OFF.receive().source(Source::Hardware);
        event
            .configure(timestamped)
            .or_else(|_| event.configure(Timestamping::OFF))
            .expect("a setting");
        Self { event, general }
    }

    pub(crate) fn send(&self, forged: &Forged) {
        self.send_to(&forged.bytes, forged.event);
    }

    /// Receives the next message on the event port into `room`.
    pub(crate) fn take_event(&self, room: &mut [u8]) -> Option<usize> {
        self.event
            .receive(room, Duration::ZERO)
            .expect("open")
            .map(|received| received.length)
    }

    /// Receives the next message on the general port into `room`.
    pub(crate) fn take_general(&self, room: &mut [u8]) -> Option<usize> {
        self.general
            .receive(room, Duration::ZERO)
            .expect("open")
            .map(|received| received.length)
    }

    /// Answers the received delay requests as each of these clocks: number, domain, and lead over
    /// the NIC's clock in nanoseconds.
    pub(crate) fn answer_delay_requests(&self, clocks: &[(u8, u8, i64)]) {
        let mut room = [0; 200];
        while let Some(received) = self.event.receive(&mut room, Duration::ZERO).expect("open") {
            if room[0] & 0xf != 1 {
                continue;
            }
            let at = received
                .timestamps
                .hardware
                .expect("timestamped")
                .ticks
                .raw() as i64;
            let sequence = u16::from_be_bytes([room[30], room[31]]);
            for &(who, domain, ahead) in clocks.iter().filter(|(_, domain, _)| *domain == room[4]) {
                let answer = Forged::new(9, who, sequence)
                    .with(4, &[domain])
                    .at(at + ahead);
                self.send(&answer.with(44, &room[20..30]));
            }
        }
    }

    /// Drops all received messages.
    pub(crate) fn forget(&self) {
        let mut room = [0; 200];
        while self
            .take_event(&mut room)
            .or_else(|| self.take_general(&mut room))
            .is_some()
        {}
    }

    /// Answers the newest peer request as clock `who`, with equal times of receipt and answer.
    pub(crate) fn answer_peer(&self, who: u8, now: i64) {
        let mut room = [0; 200];
        let mut newest = None;
        while self
            .event
            .receive(&mut room, Duration::ZERO)
            .expect("open")
            .is_some()
        {
            if room[0] & 0xf == 2 {
                newest = Some(u16::from_be_bytes([room[30], room[31]]));
            }
        }
        let Some(sequence) = newest else { return };
        let requester = [2, 0, 0, 0, 0, 0, 0, 2];
        self.send(&Forged::new(3, who, sequence).at(now).answering(requester));
        self.send(&Forged::new(0xa, who, sequence).at(now).answering(requester));
    }

    /// Sends to the port that the message belongs to.
    pub(crate) fn send_to(&self, bytes: &[u8], event: bool) {
        let (socket, port) = if event {
            (&self.event, 319)
        } else {
            (&self.general, 320)
        };
        socket
            .send_to(bytes, SocketAddr::from(([224, 0, 1, 129], port)), None)
            .expect("sent");
    }
}

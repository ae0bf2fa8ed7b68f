//! The other hosts of the simulation: NTP servers with clocks of their own, honest or not, and a PTP timeTransmitter.

use std::net::{IpAddr, SocketAddr};
use std::slice;
use wirestamp::{Incoming, MonotonicTime, Outgoing, Simulation, Span, Timestamping, UdpSocket};
use wirestamp_ptp::{Configuration, Engine, Node, Role};

/// 1900 to 1970, in seconds.
const ERA: i128 = 2_208_988_800;

/// An NTP server of stratum 1 whose clock drifts against the host's, and which may lie.
pub(crate) struct NtpServer {
    simulation: Simulation,
    socket: UdpSocket,
    begun: MonotonicTime,
    /// What its clock shows then, since 1970.
    shown: i128,
    drift_ppm: i128,
    pub(crate) lie: Span,
}

impl NtpServer {
    pub(crate) fn on(simulation: &Simulation, port: u16, drift_ppm: i128) -> Self {
        let socket = bound(simulation, port).expect("a free port");
        let truth = simulation.world().truth();
        Self {
            begun: truth.now(),
            shown: truth.utc().nanoseconds().into(),
            simulation: simulation.clone(),
            socket,
            drift_ppm,
            lie: Span::ZERO,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_address().expect("it has one")
    }

    /// What it says that its clock shows.
    pub(crate) fn clock(&self, at: MonotonicTime) -> i128 {
        let passed = (at - self.begun).nanoseconds();
        self.shown + passed + passed * self.drift_ppm / 1_000_000 + self.lie.nanoseconds()
    }

    fn timestamp(&self, at: MonotonicTime) -> [u8; 8] {
        let nanoseconds = self.clock(at) + ERA * 1_000_000_000;
        let seconds = nanoseconds.div_euclid(1_000_000_000) as u64;
        let fraction = (nanoseconds.rem_euclid(1_000_000_000) << 32) / 1_000_000_000;
        ((seconds << 32) | fraction as u64).to_be_bytes()
    }

    /// Answers what has come (RFC 5905, section 7.3).
    pub(crate) fn serve(&mut self) {
        let mut buffer = [0; 256];
        loop {
            let mut incoming = Incoming::new(&mut buffer);
            let came = self
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming));
            match came {
                Ok(0) => return,
                Ok(_) => {}
                Err(_) => {
                    // its NIC is gone: when it is back, it has another number
                    if let Ok(socket) = bound(&self.simulation, self.address().port()) {
                        self.socket = socket;
                    }
                    return;
                }
            }
            let (received, request) = (incoming.received, incoming.payload());
            let Some(client) = received.source.filter(|_| request.len() >= 48) else {
                continue;
            };
            let software = received.timestamps.software;
            let at = software.map_or(self.socket.now(), |software| software.at.value);
            let mut response = [0; 48];
            response[..4].copy_from_slice(&[0x24, 1, request[2], 0xec]);
            response[12..16].copy_from_slice(b"TEST");
            response[16..24].copy_from_slice(&self.timestamp(at));
            response[24..32].copy_from_slice(&request[40..48]);
            response[32..40].copy_from_slice(&self.timestamp(at));
            response[40..48].copy_from_slice(&self.timestamp(self.socket.now()));
            let answer = Outgoing::new(&response).to(client);
            // a cable that is out loses it
            let _ = self.socket.send_batch(&[answer]);
        }
    }
}

fn bound(simulation: &Simulation, port: u16) -> wirestamp::Result<UdpSocket> {
    let interface = simulation.interface("sim1")?;
    let local = interface.description().addresses[0].address;
    let socket = interface.bind((local, port).into())?;
    socket.configure(Timestamping::OFF.receive())?;
    Ok(socket)
}

pub(crate) fn address(simulation: &Simulation, name: &str) -> IpAddr {
    let interface = simulation.interface(name).expect("it has one");
    interface.description().addresses[0].address
}

/// The engine of a timeTransmitter on software timestamps.
pub(crate) fn transmitter() -> Engine {
    let mut configuration = Configuration::default();
    configuration.role = Role::TimeTransmitter;
    configuration.source = wirestamp_ptp::Source::Software;
    Engine::new(configuration, [2, 0, 0, 0, 0, 0, 0, 1]).expect("a valid configuration")
}

pub(crate) fn node<'e>(engine: &'e Engine, simulation: &Simulation) -> Node<'e> {
    let interface = simulation.interface("sim1").expect("it has one");
    Node::start_seeded(engine, &[interface], 1).expect("it starts")
}

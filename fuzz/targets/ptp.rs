//! The whole receive path of a PTP clock, engine included: whatever comes to its ports on a
//! simulated cable, in datagrams or in frames, it neither panics nor tells a bound that is none.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use std::sync::OnceLock;
use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress};
use wirestamp::sim::Scenario;
use wirestamp::{HardwareRequest, Interface, Simulation, Span, UdpSocket};
use wirestamp_ptp::{Configuration, DelayMechanism, Engine, Node, Role, Transport};

const OWN: [u8; 8] = [2, 0, 0, 0, 0, 0, 0, 9];
const KINDS: [(u8, usize); 8] = [
    (0, 44),
    (1, 44),
    (2, 54),
    (3, 54),
    (8, 44),
    (9, 54),
    (0xa, 54),
    (0xb, 64),
];
const STEPS: usize = 64;

#[derive(Arbitrary, Debug)]
struct Input {
    transmits: bool,
    p2p: bool,
    /// In Ethernet frames, with these octets behind each message.
    ethernet: Option<[u8; 4]>,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Anything at all.
    Raw { event: bool, bytes: Vec<u8> },
    /// A message of the right form.
    Message(Message),
    /// Two Announces, which is what makes a transmitter.
    Transmitter { who: u8, priority: u8 },
    /// Time passes.
    Pass { milliseconds: u8 },
}

#[derive(Arbitrary, Debug)]
struct Message {
    kind: u8,
    flags: u16,
    correction: i64,
    near_correction: bool,
    who: u8,
    sequence: u8,
    interval: i8,
    /// Of the time that is sent.
    at: i64,
    near_now: bool,
    for_us: bool,
    tail: [u8; 20],
}

impl Message {
    fn bytes(&self, now: i64) -> (Vec<u8>, bool) {
        let (nibble, length) = KINDS[usize::from(self.kind) % KINDS.len()];
        let mut bytes = vec![0; length];
        bytes[0] = nibble;
        bytes[1] = 2;
        bytes[3] = length as u8;
        bytes[6..8].copy_from_slice(&self.flags.to_be_bytes());
        let correction = if self.near_correction {
            self.correction % (1 << 40)
        } else {
            self.correction
        };
        bytes[8..16].copy_from_slice(&correction.to_be_bytes());
        bytes[20..28].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, self.who % 12]);
        bytes[29] = 1;
        bytes[31] = self.sequence;
        bytes[33] = self.interval.cast_unsigned();
        let at = if self.near_now {
            now + self.at % 1_000_000
        } else {
            self.at
        };
        let seconds = at.div_euclid(1_000_000_000).to_be_bytes();
        bytes[34..40].copy_from_slice(&seconds[2..]);
        bytes[40..44].copy_from_slice(&(at.rem_euclid(1_000_000_000) as u32).to_be_bytes());
        let rest = length - 44;
        bytes[44..].copy_from_slice(&self.tail[..rest]);
        if self.for_us && rest >= 10 && nibble != 0xb {
            bytes[44..52].copy_from_slice(&OWN);
            bytes[52..54].copy_from_slice(&[0, 1]);
        }
        (bytes, nibble < 8)
    }
}

fn announce(who: u8, priority: u8, sequence: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[0] = 0xb;
    bytes[1] = 2;
    bytes[3] = 64;
    bytes[20..28].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, who % 12]);
    bytes[29] = 1;
    bytes[31] = sequence;
    bytes[47] = priority;
    bytes[53..61].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, who % 12]);
    bytes
}

struct Attacker {
    event: UdpSocket,
    general: UdpSocket,
    frames: EthernetSocket,
    ethernet: Option<[u8; 4]>,
    sent: u8,
}

impl Attacker {
    fn new(theirs: &Interface, ethernet: Option<[u8; 4]>) -> Self {
        let [event, general] = [319, 320].map(|port| {
            let socket = theirs.bind(SocketAddr::from(([0; 4], port))).expect("free");
            let sends = socket.set_multicast(theirs.index(), 1, false);
            sends.expect("there");
            socket
        });
        let frames = theirs.open_ethernet(Ethertype::PTP).expect("a socket");
        Self {
            event,
            general,
            frames,
            ethernet,
            sent: 0,
        }
    }

    fn send(&self, bytes: &[u8], event: bool) {
        if let Some(beyond) = self.ethernet {
            let group = match event {
                true => MacAddress::PTP_PRIMARY,
                false => MacAddress::PTP_PEER_DELAY,
            };
            let _ = self.frames.send_to(&[bytes, &beyond].concat(), group, None);
            return;
        }
        let (socket, port) = if event {
            (&self.event, 319)
        } else {
            (&self.general, 320)
        };
        let group = SocketAddr::from(([224, 0, 1, 129], port));
        let _ = socket.send_to(bytes, group, None); // too long a one is refused
    }
}

fuzz_target!(|input: Input| {
    static SCENARIO: OnceLock<Scenario> = OnceLock::new();
    let scenario = SCENARIO.get_or_init(|| Scenario::preset("ideal").expect("a preset"));
    let simulation = Simulation::start(scenario, 1);
    let [ours, theirs] = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let _timestamping = [HardwareRequest::Ptp, HardwareRequest::PtpOverEthernet]
        .map(|request| ours.enable_hardware(request));
    let mut configuration = Configuration::default();
    if input.ethernet.is_some() {
        configuration.transport = Transport::Ethernet;
    }
    configuration.role = if input.transmits {
        Role::TimeTransmitter
    } else {
        Role::TimeReceiver
    };
    configuration.delay_mechanism = if input.p2p {
        DelayMechanism::P2p
    } else {
        DelayMechanism::E2e
    };
    configuration.log_announce_interval = -3;
    configuration.log_delay_interval = -5;
    let engine = Engine::new(configuration, OWN).expect("valid");
    let mut node = Node::start_seeded(&engine, std::slice::from_ref(&ours), 1).expect("started");
    let mut attacker = Attacker::new(&theirs, input.ethernet);
    let world = simulation.world();
    for step in input.steps.into_iter().take(STEPS) {
        let now = attacker.event.now();
        match step {
            Step::Raw { event, bytes } => attacker.send(&bytes, event),
            Step::Message(message) => {
                let ticks = world
                    .truth()
                    .hardware_ticks_at(ours.index(), world.truth().now());
                let (bytes, event) =
                    message.bytes(ticks.map_or(0, |ticks| ticks.raw().cast_signed()));
                attacker.send(&bytes, event);
            }
            Step::Transmitter { who, priority } => {
                for _ in 0..2 {
                    attacker.sent = attacker.sent.wrapping_add(1);
                    attacker.send(&announce(who, priority, attacker.sent), false);
                }
                pass(&mut node, world, now + Span::from_milliseconds(130));
            }
            Step::Pass { milliseconds } => pass(
                &mut node,
                world,
                now + Span::from_milliseconds(milliseconds.into()),
            ),
        }
        world.advance(Span::from_microseconds(50));
        node.serve();
        for sample in node.samples() {
            assert!(
                !sample.offset.bound.is_negative() && sample.mean_path_delay_ns >= 0,
                "{sample:?}"
            );
        }
    }
});

fn pass(node: &mut Node<'_>, world: &wirestamp::sim::World, until: wirestamp::MonotonicTime) {
    while world.truth().now() < until {
        node.serve();
        let next = node
            .next_at()
            .min(until)
            .max(world.truth().now() + Span::from_microseconds(100));
        world.advance_to(next);
    }
}

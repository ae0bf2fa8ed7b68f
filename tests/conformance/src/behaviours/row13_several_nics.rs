//! Row 13 where an interface has several NICs below it, a bridge: each packet converts by the clock of the NIC that it
//! passed, whichever that is, and by no other. On Linux `scripts/vm/bridge` shows it, with two emulated NICs.

use super::Behaviour;
use super::row13_clock_behind::distances;
use crate::Outcome;
use crate::exchange::{PATIENCE, timestamps_of};
use crate::refusal::refused_with_remedy;
use crate::rig::{Need, Rig};
use std::time::Duration;
use wirestamp::sim::NicName;
use wirestamp::{
    ConversionError, Correlator, CorrelatorOptions, ErrorKind, HardwareGuard, HardwareRequest,
    HardwareTimestamp, Interface, MonotonicTime, Source, Timestamping, Timestamps, TransmitId,
    UdpSocket,
};

const SIMULATED: &[Need] = &[Need::HardwareClock, Need::Scenario, Need::VirtualTime];
const BRIDGE: &str = "preset = \"i225\"\nbridge = true\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        13,
        "a-packet-of-a-bridge-converts-by-the-clock-of-the-nic-that-it-passed",
        bridged,
    )
    .needs(SIMULATED)
    .toml(BRIDGE),
    Behaviour::new(
        13,
        "a-bridge-has-no-clock-and-promises-none",
        without_a_clock,
    )
    .needs(SIMULATED)
    .toml(BRIDGE),
];

/// Both ports of a bridge, with their clocks, and a socket of the bridge at each end of the cable.
struct Bench<'a> {
    rig: &'a Rig,
    /// Of `sim0` and `sim1`.
    clocks: [Correlator; 2],
    sockets: [UdpSocket; 2],
    next_id: u32,
    _guards: [HardwareGuard; 2],
}

/// A timestamp, the place of the NIC that made it, and when it was made.
type Made = (HardwareTimestamp, usize, MonotonicTime);

impl<'a> Bench<'a> {
    fn new(rig: &'a Rig) -> Outcome<Self> {
        let nics = [rig.find("sim0")?, rig.find("sim1")?];
        let bridge = rig.find("br0")?;
        let addresses = &bridge.description().addresses;
        let socket = |place: usize| -> Outcome<UdpSocket> {
            let socket = bridge.bind((addresses[2 * place].address, 0).into())?;
            let both = Timestamping::new().receive().transmit(64);
            socket.configure(both.source(Source::Hardware))?;
            Ok(socket)
        };
        let on = |nic: &Interface| nic.enable_hardware(HardwareRequest::AllPackets);
        let clock = |nic: &Interface| nic.correlator(CorrelatorOptions::default());
        Ok(Self {
            rig,
            clocks: [clock(&nics[0])?, clock(&nics[1])?],
            sockets: [socket(0)?, socket(1)?],
            next_id: 0,
            _guards: [on(&nics[0])?, on(&nics[1])?],
        })
    }

    /// Sends a datagram from one end to the other: it leaves by the port of this end, and comes by the other port.
    fn send(&mut self, from: usize) -> Outcome<[Made; 2]> {
        let id = self.next_id;
        self.next_id += 1;
        let (sender, receiver) = (&self.sockets[from], &self.sockets[1 - from]);
        sender.send_to(b"x", receiver.local_address()?, Some(TransmitId(id)))?;
        let mut buffer = [0; 8];
        let received = receiver.receive(&mut buffer, PATIENCE)?;
        let made = |timestamps: Timestamps| timestamps.hardware.expect("a hardware timestamp");
        let sent = made(timestamps_of(sender, id)?);
        let received = made(received.expect("it came").timestamps);
        let datagram = self.rig.host().datagram_with_id(TransmitId(id));
        let truly = datagram.expect("it was sent");
        Ok([
            (sent, from, truly.transmit_hardware_at.expect("it left")),
            (
                received,
                1 - from,
                truly.receive_hardware_at.expect("it came"),
            ),
        ])
    }

    /// Whether the clock of the NIC that made it converts it, to the truth; the other clock never does.
    #[track_caller]
    fn converts(&self, (timestamp, place, truly): &Made) -> bool {
        let converted = self.clocks[*place].to_monotonic(timestamp);
        if let Ok(estimate) = converted {
            assert!(
                estimate.at.contains(*truly),
                "{estimate:?}, truly {truly:?}"
            );
        }
        let other = self.clocks[1 - place].to_monotonic(timestamp);
        assert_eq!(other, Err(ConversionError::OtherClock), "{timestamp:?}");
        converted.is_ok()
    }
}

fn bridged(rig: &Rig) -> Outcome {
    let mut bench = Bench::new(rig)?;
    rig.pass(Duration::from_millis(500));
    for (number, ahead) in (10..).zip(distances()) {
        rig.host().change_clock(NicName::Sim1, number, ahead);
        rig.pass(Duration::from_millis(500));
        for from in [0, 1, 1, 0] {
            for made in bench.send(from)? {
                assert!(
                    bench.converts(&made),
                    "{made:?} with {ahead} between the clocks"
                );
            }
        }
        rig.pass(Duration::from_secs(60));
    }
    Ok(())
}

fn without_a_clock(rig: &Rig) -> Outcome {
    let bridge = rig.find("br0")?;
    assert_eq!(bridge.description().hardware_clock, None);
    let refused = bridge.correlator(CorrelatorOptions::default());
    refused_with_remedy(refused, ErrorKind::NotSupported);
    let refused = bridge.enable_hardware(HardwareRequest::AllPackets);
    refused_with_remedy(refused, ErrorKind::NotSupported);
    let promised = bridge.supported()?;
    assert!(
        !promised.cross_timestamp && !promised.hardware.all_receive,
        "{promised:?}"
    );
    for port in ["sim0", "sim1"] {
        let port_of = rig.find(port)?.description().port_of;
        assert_eq!(port_of, Some(bridge.index()), "{port}");
    }
    Ok(())
}

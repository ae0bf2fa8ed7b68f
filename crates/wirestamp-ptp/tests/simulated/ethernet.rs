//! PTP in Ethernet frames: hardware and software timestamps, NICs that recognise these frames alone,
//! padding, both destination addresses, and a boundary clock with a port of each transport.

use crate::forge::Forged;
use crate::measuring::{DRIFTING, measured};
use crate::pair::{Cable, quick, run};
use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress};
use wirestamp::{ErrorKind, Simulation, Span};
use wirestamp_ptp::{
    Configuration, DelayMechanism, Engine, Node, PortState, Role, Source, Transport, check_free,
};

/// A NIC that timestamps event messages in Ethernet frames and in no others.
const ETHERNET_ALONE: &str = "[nic]\nreceive_filters = [\"none\", \"ptpv2_ethernet\"]\n";

fn over_ethernet(configuration: &mut Configuration) {
    configuration.transport = Transport::Ethernet;
}

#[test]
fn hardware_timestamps_of_nics_that_recognise_ethernet_frames_alone() {
    for mechanism in [DelayMechanism::E2e, DelayMechanism::P2p] {
        let toml = format!("{ETHERNET_ALONE}{DRIFTING}");
        let (samples, widest, _) = measured(&toml, |configuration| {
            over_ethernet(configuration);
            configuration.source = Source::Hardware;
            configuration.enable_hardware = true;
            configuration.delay_mechanism = mechanism;
        });
        assert!(samples > 50, "{samples}");
        assert!((100..3_000).contains(&widest), "{widest}");
    }
}

#[test]
fn software_timestamps_over_ethernet() {
    for mechanism in [DelayMechanism::E2e, DelayMechanism::P2p] {
        let (samples, widest, _) = measured("", |configuration| {
            over_ethernet(configuration);
            configuration.source = Source::Software;
            configuration.delay_mechanism = mechanism;
        });
        assert!(samples > 50, "{samples}");
        assert!(widest < 5_000, "{widest}");
    }
}

#[test]
fn a_nic_that_recognises_other_messages_gives_no_hardware_timestamps() {
    for (filters, transport) in [
        (ETHERNET_ALONE, Transport::Udp4),
        (
            "[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\"]\n",
            Transport::Ethernet,
        ),
    ] {
        let cable = Cable::new(filters);
        let mut configuration = quick(Role::TimeReceiver);
        configuration.transport = transport;
        configuration.source = Source::Hardware;
        let engine = cable.engine(1, configuration);
        let refused = Node::start(&engine, &cable.ends[1..]).expect_err("no timestamps");
        assert_eq!(refused.kind(), ErrorKind::NotSupported, "{refused}");
    }
}

/// Sends PTP's frames from the other end of the cable.
struct Station(EthernetSocket);

impl Station {
    fn on(cable: &Cable) -> Self {
        Self(
            cable.ends[0]
                .open_ethernet(Ethertype::PTP)
                .expect("a socket"),
        )
    }

    fn send(&self, forged: &Forged, to: MacAddress, beyond: &[u8]) {
        let payload = [&forged.bytes[..], beyond].concat();
        self.0.send_to(&payload, to, None).expect("sent");
    }
}

#[test]
fn what_follows_a_message_is_cut_off_and_either_group_is_heard() {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    over_ethernet(&mut configuration);
    configuration.source = Source::Software;
    let engine = cable.engine(1, configuration);
    let mut receiver = cable.node(&engine, 1);
    let station = Station::on(&cable);
    let pass = |receiver: &mut Node<'_>| {
        let mut samples = 0;
        run(&mut [receiver], Span::from_milliseconds(125), |_, _, _| {
            samples += 1;
        });
        samples
    };
    let groups = [MacAddress::PTP_PRIMARY, MacAddress::PTP_PEER_DELAY];
    for (sequence, group) in (1..).zip(groups.iter().cycle().take(4)) {
        // padding, then what looks like a TLV of length 0xffff
        station.send(&Forged::new(0xb, 1, sequence), *group, &[0xff; 6]);
        station.send(&Forged::new(0, 1, sequence), *group, &[0xff; 9]);
        station.send(&Forged::new(8, 1, sequence), *group, &[]);
        pass(&mut receiver);
    }
    let status = receiver.status();
    assert_eq!(status.ports[0].state, PortState::TimeReceiver);
    let (counts, taken) = (receiver.counts(), receiver.unmeasured());
    assert!(counts.ignored.is_empty(), "{counts:?}, {taken:?}");

    // each message is taken once: there are two sockets
    for kind in [0xb, 0] {
        station.send(&Forged::new(kind, 1, 9).with(4, &[77]), groups[0], &[]);
    }
    let other = MacAddress::new([2, 0, 0, 0, 0, 9]);
    station.send(&Forged::new(0xb, 1, 10).with(4, &[77]), other, &[]);
    pass(&mut receiver);
    let ignored = receiver.counts().ignored;
    assert_eq!(ignored.into_iter().collect::<Vec<_>>(), [("domain", 2)]);
}

#[test]
fn a_boundary_clock_passes_time_from_udp_to_ethernet() {
    for from_udp in [true, false] {
        passes_time(from_udp);
    }
}

/// Two cables, and three clocks: a grandmaster, a boundary clock and a timeReceiver.
fn passes_time(from_udp: bool) {
    let cables = [Cable::new(""), Cable::new("")];
    let (transports, own) = match from_udp {
        true => ([Transport::Udp4, Transport::Ethernet], "sim0=ethernet"),
        false => ([Transport::Ethernet, Transport::Udp4], "sim1=ethernet"),
    };
    let chosen = |role, transport, priority| {
        let mut configuration = quick(role);
        configuration.transport = transport;
        configuration.source = Source::Software;
        configuration.priority1 = priority;
        configuration
    };
    let mut between = chosen(Role::TimeTransmitter, Transport::Udp4, 200);
    between.choose_transport(own).expect("known");
    let engines = [
        chosen(Role::TimeTransmitter, transports[0], 100),
        between,
        chosen(Role::TimeReceiver, transports[1], 255),
    ];
    let engines = engines.map({
        let mut number = 0;
        move |configuration| {
            number += 1;
            Engine::new(configuration, [2, 0, 0, 0, 0, 0, 0, number]).expect("valid")
        }
    });
    let ports = [
        vec![cables[0].ends[0].clone()],
        vec![cables[0].ends[1].clone(), cables[1].ends[0].clone()],
        vec![cables[1].ends[1].clone()],
    ];
    let mut nodes: Vec<_> = (1..)
        .zip(engines.iter().zip(&ports))
        .map(|(seed, (engine, ports))| Node::start_seeded(engine, ports, seed).expect("started"))
        .collect();
    let mut samples = [0; 3];
    for _ in 0..5_000 {
        for (node, samples) in nodes.iter_mut().zip(&mut samples) {
            node.serve();
            *samples += node.samples().len();
        }
        let advance = |cable: &Cable| cable.world().advance(Span::from_milliseconds(1));
        cables.iter().for_each(advance);
    }
    let states = |node: &Node<'_>| node.status().ports.iter().map(|port| port.state).collect();
    let states: Vec<Vec<_>> = nodes.iter().map(states).collect();
    let [receives, transmits] = [PortState::TimeReceiver, PortState::TimeTransmitter];
    let expected = [vec![transmits], vec![receives, transmits], vec![receives]];
    assert_eq!(states, expected, "from UDP: {from_udp}");
    assert!(
        samples[0] == 0 && samples[1] > 20 && samples[2] > 20,
        "{samples:?}"
    );
    let grandmaster = nodes[0].status().identity.clock;
    assert_eq!(nodes[2].status().grandmaster.clock, grandmaster);
}

#[test]
fn where_there_are_no_ethernet_sockets_the_error_has_the_remedy() {
    let mut configuration = quick(Role::TimeReceiver);
    over_ethernet(&mut configuration);
    for (toml, kind, remedy) in [
        (
            "preset = \"windows-modern\"",
            ErrorKind::NotSupported,
            "transport \"udp4\"",
        ),
        (
            "preset = \"ideal\"\n[host]\nprivileged = false",
            ErrorKind::NotPermitted,
            "CAP_NET_RAW",
        ),
    ] {
        let simulation = Simulation::from_toml(toml, 7).expect("a scenario");
        let nic = simulation.interface("sim0").expect("a NIC");
        let refused = check_free(&configuration, &[nic]).expect_err("no sockets");
        assert_eq!(refused.kind(), kind, "{refused}");
        assert!(refused.remedy().contains(remedy), "{refused}");
    }
}

//! Files that other programs wrote, of every link type that they make, compared with the packets
//! that went into them: nothing is lost but what was left out, and every delay is right.

use super::build::{Ng, pcap};
use super::{MS, NANOSECONDS, START, compared, datagrams, only};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use wirestamp_capture::compare::Options;

/// Whether all these programs are installed; prints a note if not.
fn are_installed(programs: &[&str]) -> bool {
    let is_missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let Some(missing) = programs.iter().find(is_missing) else {
        return true;
    };
    assert!(
        std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
        "no {missing}: scripts/setup installs it"
    );
    writeln!(io::stderr(), "skipped: files of {missing}").expect("open");
    false
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("installed");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
}

/// The packets without the 7th, 3 ms later than in [`sent`], each behind `header`.
fn arrived(link_type: u32, header: &[u8]) -> Vec<u8> {
    let packets = (0..50)
        .zip(datagrams(50))
        .filter(|(number, _)| *number != 7);
    let packets = packets.map(|(number, data)| {
        let at = (1_790_000_000, (number + 3) * 1_000_000);
        (at, [header, &data].concat())
    });
    pcap(
        false,
        NANOSECONDS,
        0,
        link_type,
        &packets.collect::<Vec<_>>(),
    )
}

fn sent() -> Vec<u8> {
    let mut file = Ng::of(101);
    for (number, data) in (0..).zip(datagrams(50)) {
        file.whole(START + number * MS, &data, "");
    }
    file.bytes
}

fn judge(name: &str, other: &[u8], times: u64) {
    let report = compared(&sent(), other, Options::default());
    let flow = only(&report);
    assert_eq!(
        (flow.matched, flow.lost, flow.extra, flow.ambiguous),
        (49, 1, 0, 0),
        "{name}: {report:?}"
    );
    assert_eq!(report.files[1].copies, (times - 1) * 49, "{name}");
    let delay = flow.delay.expect("matched");
    assert_eq!(
        (delay.minimum_ns, delay.maximum_ns),
        (3_000_000, 3_000_000),
        "{name}"
    );
}

/// Linux' cooked headers have a 0 for received packets.
const SLL: [u8; 16] = [0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0];
const SLL2: [u8; 20] = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0];
const LINKS: [(&str, u32, &[u8]); 6] = [
    ("sll", 113, &SLL),
    ("sll2", 276, &SLL2),
    ("null", 0, &[30, 0, 0, 0]),
    ("raw", 101, &[]),
    ("ppp", 9, &[0, 0x21]),
    ("pppoe", 51, &[0x11, 0, 0, 1, 0, 130, 0, 0x21]),
];

#[test]
fn what_wiresharks_programs_and_tcpdump_write_of_each_link_type_is_read() {
    if !are_installed(&["tcpdump", "tshark", "editcap", "mergecap"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("made");
    for (name, link_type, header) in LINKS {
        // the family of IPv6 before IPv4: the packet itself says which it is
        let path = folder.path().join(name);
        std::fs::write(path, arrived(link_type, header)).expect("written");
        let made = format!("{name}.made");
        let nano = "--time-stamp-precision=nano";
        let mut all = vec![
            ("tshark", vec!["-r", name, "-F", "pcapng", "-w", &made]),
            ("editcap", vec!["-F", "nsecpcap", name, &made]),
            ("mergecap", vec!["-w", &made, name]),
        ];
        if link_type != 51 {
            // libpcap has no filter for PPPoE alone
            all.push(("tcpdump", vec![nano, "-r", name, "-w", &made]));
        }
        for (program, arguments) in all {
            run(folder.path(), program, &arguments);
            let bytes = std::fs::read(folder.path().join(&made)).expect("written");
            judge(&format!("{name} by {program}"), &bytes, 1);
        }
    }
}

/// Files of three taps, each of its own link type, merged to one: each packet is in it three times.
#[test]
fn merged_files_of_several_link_types_have_each_packet_once() {
    if !are_installed(&["mergecap"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("made");
    for (name, link_type, header) in &LINKS[1..4] {
        let path = folder.path().join(name);
        std::fs::write(path, arrived(*link_type, header)).expect("written");
    }
    run(
        folder.path(),
        "mergecap",
        &["-F", "pcapng", "-w", "all", "sll2", "null", "raw"],
    );
    let bytes = std::fs::read(folder.path().join("all")).expect("written");
    judge("mergecap", &bytes, 3);
}

/// Writes the packets with scapy's own headers.
const SCAPY: &str = "\
import sys
from scapy.all import *
folder = sys.argv[1]
layers = {
    'sll': lambda: CookedLinux(pkttype=0, proto=0x800),
    'null': lambda: Loopback(type=2),
    'qinq': lambda: Ether() / Dot1AD(vlan=0) / Dot1Q(vlan=0) / Dot1Q(vlan=0) / Dot1Q(vlan=0, type=0x800),
    'snap': lambda: Dot3() / LLC(dsap=0xaa, ssap=0xaa, ctrl=3) / SNAP(code=0x800),
    'pppoe': lambda: Ether(type=0x8864) / PPPoE(sessionid=1) / PPP(proto=0x21),
    'raw': lambda: None,
}
packets = rdpcap(folder + '/arrived')
for name, layer in layers.items():
    made = []
    for packet in packets:
        head = layer()
        ip = Raw(bytes(packet))
        new = head / ip if head is not None else IP(bytes(packet))
        new.time = packet.time
        made.append(new)
    wrpcap(folder + '/' + name, made, nano=True, linktype={'sll': 113, 'null': 0, 'raw': 101}.get(name, 1))
";

#[test]
fn what_scapy_writes_of_each_link_type_is_read() {
    let has_scapy = Command::new("/usr/bin/python3")
        .args(["-c", "import scapy"])
        .output();
    if !has_scapy.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
            "no scapy: scripts/setup installs it"
        );
        writeln!(io::stderr(), "skipped: files of scapy").expect("open");
        return;
    }
    let folder = tempfile::tempdir().expect("made");
    std::fs::write(folder.path().join("arrived"), arrived(101, &[])).expect("written");
    std::fs::write(folder.path().join("make.py"), SCAPY).expect("written");
    run(folder.path(), "/usr/bin/python3", &["make.py", "."]);
    for name in ["sll", "null", "qinq", "snap", "pppoe", "raw"] {
        let bytes = std::fs::read(folder.path().join(name)).expect("written");
        judge(&format!("{name} by scapy"), &bytes, 1);
    }
}

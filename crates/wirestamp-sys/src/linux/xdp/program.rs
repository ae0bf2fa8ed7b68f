//! The XDP program: takes matching packets, notes when it saw them and the time of the NIC's clock,
//! and passes them to an AF_XDP socket. All others go on to the kernel. Pure functions assemble it
//! here; it is loaded elsewhere.
//!
//! Each packet that is passed on is preceded by [`NOTE`] bytes, which [`Note`] reads.
//!
//! Source: the kernel's `Documentation/bpf/standardization/instruction-set.rst` and
//! `Documentation/networking/xdp-rx-metadata.rst`.

use wirestamp_core::xdp::XdpFilter;

/// Bytes of a note.
pub(super) const NOTE: usize = 24;
/// Ends a note: what stands there otherwise was not written by the program.
const MARK: u32 = 0x5753_5850;
/// Error of the kernel's function if there is none, or the program is not bound to the NIC.
const NOT_SUPPORTED: i32 = -libc::EOPNOTSUPP;

// Helpers of the kernel by number, and what the program answers.
const LOOKUP: i32 = 1;
const MONOTONIC: i32 = 5;
const REDIRECT: i32 = 51;
const ADJUST_NOTE: i32 = 54;
const PASS: i32 = 2;

// Registers.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const R5: u8 = 5;
const CONTEXT: u8 = 6;
const ANSWER: u8 = 7;
const TIME: u8 = 8;
const STACK: u8 = 10;

/// What stands in front of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    /// When the program saw it: nanoseconds of the monotonic clock.
    pub(super) monotonic: u64,
    /// What the NIC's clock showed when it arrived; `None`: it does not say.
    pub(super) hardware: Option<u64>,
}

impl Note {
    /// `None`: the program has not written it.
    pub(super) fn read(bytes: &[u8; NOTE]) -> Option<Self> {
        let [
            m0,
            m1,
            m2,
            m3,
            m4,
            m5,
            m6,
            m7,
            h0,
            h1,
            h2,
            h3,
            h4,
            h5,
            h6,
            h7,
            rest @ ..,
        ] = *bytes;
        let [e0, e1, e2, e3, mark @ ..] = rest;
        if u32::from_ne_bytes(mark) != MARK {
            return None;
        }
        let hardware = u64::from_ne_bytes([h0, h1, h2, h3, h4, h5, h6, h7]);
        let is_told = i32::from_ne_bytes([e0, e1, e2, e3]) == 0 && hardware != 0;
        Some(Self {
            monotonic: u64::from_ne_bytes([m0, m1, m2, m3, m4, m5, m6, m7]),
            hardware: is_told.then_some(hardware),
        })
    }
}

/// What the program refers to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refers {
    /// The map of sockets by queue.
    pub(super) sockets: i32,
    /// The map whose only entry counts the packets that could not be handed over.
    pub(super) passed_on: i32,
    /// The number of the kernel's function that asks the NIC.
    pub(super) ask_nic: Option<i32>,
}

/// Assembles it.
pub(super) fn assemble(filter: XdpFilter, refers: Refers) -> Vec<u8> {
    let mut program = Assembler::default();
    program.add(0xbf, CONTEXT, R1, 0, 0);
    program.select(filter);
    program.ask(refers.ask_nic);
    program.write_note();
    // hands it over; where nobody listens to its queue, it passes on
    program.add(0x61, R2, CONTEXT, 16, 0); // its queue
    program.map(R1, refers.sockets);
    program.add(0xb7, R3, 0, 0, PASS);
    program.add(0x85, 0, 0, 0, REDIRECT);
    program.add(0x95, 0, 0, 0, 0);
    program.count(refers.passed_on);
    program.here(Label::Pass);
    program.add(0xb7, R0, 0, 0, PASS);
    program.add(0x95, 0, 0, 0, 0);
    program.link()
}

/// Assembles a program that lets everything pass on: drivers send for AF_XDP without a copy only while they have a program.
pub(super) fn assemble_passing() -> Vec<u8> {
    let mut program = Assembler::default();
    program.add(0xb7, R0, 0, 0, PASS);
    program.add(0x95, 0, 0, 0, 0);
    program.link()
}

/// Where a jump goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Pass,
    NoRoom,
    Ipv6,
    Take,
}

#[derive(Debug, Default)]
struct Assembler {
    code: Vec<[u8; 8]>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Assembler {
    fn add(&mut self, code: u8, to: u8, from: u8, offset: i16, value: i32) {
        let [o0, o1] = offset.to_ne_bytes();
        let [v0, v1, v2, v3] = value.to_ne_bytes();
        let registers = if cfg!(target_endian = "little") {
            from << 4 | to
        } else {
            to << 4 | from
        };
        self.code.push([code, registers, o0, o1, v0, v1, v2, v3]);
    }

    fn jump(&mut self, code: u8, to: u8, from: u8, value: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.add(code, to, from, 0, value);
    }

    fn here(&mut self, label: Label) {
        self.labels.push((label, self.code.len()));
    }

    /// Loads the address of a map: two instructions.
    fn map(&mut self, to: u8, map: i32) {
        self.add(0x18, to, 1, 0, map);
        self.add(0, 0, 0, 0, 0);
    }

    /// Lets what does not match pass on.
    fn select(&mut self, filter: XdpFilter) {
        if filter == XdpFilter::Everything {
            return;
        }
        self.add(0x61, R2, CONTEXT, 0, 0); // where it begins
        self.add(0x61, R3, CONTEXT, 4, 0); // and ends
        self.needs(14);
        self.add(0x69, R5, R2, 12, 0); // ethertype
        match filter {
            XdpFilter::Ethertype(ethertype) => {
                self.jump(0x55, R5, 0, network(ethertype.get()), Label::Pass);
            }
            XdpFilter::UdpPort(port) => self.select_port(port),
            _ => {}
        }
        self.here(Label::Take);
    }

    fn select_port(&mut self, port: u16) {
        self.jump(0x55, R5, 0, network(0x0800), Label::Ipv6);
        self.needs(42);
        self.octet(14, 0x45); // version 4, no options
        self.octet(23, 17);
        self.add(0x69, R5, R2, 20, 0);
        self.add(0x57, R5, 0, 0, network(0x3fff));
        self.jump(0x55, R5, 0, 0, Label::Pass); // a fragment
        self.add(0x69, R5, R2, 36, 0);
        self.jump(0x55, R5, 0, network(port), Label::Pass);
        self.jump(0x05, 0, 0, 0, Label::Take);
        self.here(Label::Ipv6);
        self.jump(0x55, R5, 0, network(0x86dd), Label::Pass);
        self.needs(62);
        self.octet(20, 17);
        self.add(0x69, R5, R2, 56, 0);
        self.jump(0x55, R5, 0, network(port), Label::Pass);
    }

    /// Passes on what is shorter.
    fn needs(&mut self, length: i32) {
        self.add(0xbf, R4, R2, 0, 0);
        self.add(0x07, R4, 0, 0, length);
        self.jump(0x2d, R4, R3, 0, Label::Pass);
    }

    /// Passes on what has another octet there.
    fn octet(&mut self, at: i16, value: i32) {
        self.add(0x71, R5, R2, at, 0);
        self.jump(0x55, R5, 0, value, Label::Pass);
    }

    /// Reads the clocks: the NIC's goes to the stack.
    fn ask(&mut self, nic: Option<i32>) {
        self.add(0x85, 0, 0, 0, MONOTONIC);
        self.add(0xbf, TIME, R0, 0, 0);
        self.add(0x7a, STACK, 0, -8, 0);
        self.add(0xb7, ANSWER, 0, 0, NOT_SUPPORTED);
        if let Some(function) = nic {
            self.add(0xbf, R1, CONTEXT, 0, 0);
            self.add(0xbf, R2, STACK, 0, 0);
            self.add(0x07, R2, 0, 0, -8);
            self.add(0x85, 0, 2, 0, function); // a function of the kernel
            self.add(0xbf, ANSWER, R0, 0, 0);
        }
    }

    fn write_note(&mut self) {
        self.add(0xbf, R1, CONTEXT, 0, 0);
        self.add(0xb7, R2, 0, 0, -(NOTE as i32));
        self.add(0x85, 0, 0, 0, ADJUST_NOTE);
        self.jump(0x55, R0, 0, 0, Label::NoRoom);
        self.add(0x61, R1, CONTEXT, 8, 0); // where the note begins
        self.add(0x61, R2, CONTEXT, 0, 0);
        self.add(0xbf, R3, R1, 0, 0);
        self.add(0x07, R3, 0, 0, NOTE as i32);
        self.jump(0x2d, R3, R2, 0, Label::NoRoom);
        self.add(0x7b, R1, TIME, 0, 0);
        self.add(0x79, R4, STACK, -8, 0);
        self.add(0x7b, R1, R4, 8, 0);
        self.add(0x63, R1, ANSWER, 16, 0);
        self.add(0x62, R1, 0, 20, MARK as i32);
    }

    /// Counts a packet that the socket can't have.
    fn count(&mut self, map: i32) {
        self.here(Label::NoRoom);
        self.add(0x62, STACK, 0, -12, 0);
        self.map(R1, map);
        self.add(0xbf, R2, STACK, 0, 0);
        self.add(0x07, R2, 0, 0, -12);
        self.add(0x85, 0, 0, 0, LOOKUP);
        self.jump(0x15, R0, 0, 0, Label::Pass);
        self.add(0xb7, R1, 0, 0, 1);
        self.add(0xdb, R0, R1, 0, 0); // adds, atomically
    }

    /// Fills in how far each jump goes.
    fn link(mut self) -> Vec<u8> {
        for (at, label) in &self.jumps {
            let found = self.labels.iter().find(|(known, _)| known == label);
            let target = found.map_or(self.code.len(), |(_, place)| *place);
            let distance = (target - at - 1) as i16;
            self.code[*at][2..4].copy_from_slice(&distance.to_ne_bytes());
        }
        self.code.into_flattened()
    }
}

/// As it stands in a packet, read by a processor of this byte order.
fn network(value: u16) -> i32 {
    i32::from(value.to_be())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::ethernet::Ethertype;

    fn note(hardware: u64, error: i32, mark: u32) -> [u8; NOTE] {
        let mut bytes = [0; NOTE];
        bytes[..8].copy_from_slice(&5u64.to_ne_bytes());
        bytes[8..16].copy_from_slice(&hardware.to_ne_bytes());
        bytes[16..20].copy_from_slice(&error.to_ne_bytes());
        bytes[20..].copy_from_slice(&mark.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_note_has_the_nics_time_only_if_the_nic_gave_one() {
        let told = |hardware, error| Note::read(&note(hardware, error, MARK));
        let read = |hardware| {
            Some(Note {
                monotonic: 5,
                hardware,
            })
        };
        assert_eq!(told(7, 0), read(Some(7)));
        assert_eq!(told(0, 0), read(None));
        assert_eq!(told(7, -libc::ENODATA), read(None));
        assert_eq!(Note::read(&note(7, 0, MARK + 1)), None);
    }

    #[test]
    fn every_jump_stays_within_the_program() {
        let refers = Refers {
            sockets: 3,
            passed_on: 4,
            ask_nic: Some(5),
        };
        for filter in [
            XdpFilter::Everything,
            XdpFilter::UdpPort(319),
            XdpFilter::Ethertype(Ethertype::PTP),
        ] {
            let program = assemble(filter, refers);
            let (count, rest) = (program.len() / 8, program.len() % 8);
            assert_eq!(rest, 0);
            let jumps = program
                .chunks_exact(8)
                .enumerate()
                .filter(|(_, code)| matches!(code[0], 0x05 | 0x15 | 0x2d | 0x55));
            for (place, code) in jumps {
                let distance = i16::from_ne_bytes([code[2], code[3]]);
                let target = place + 1 + usize::try_from(distance).expect("forward");
                assert!(distance > 0 && target < count, "{filter:?} at {place}");
            }
        }
    }
}

//! Capture files as other programs write them, built byte by byte, so that their contents are
//! known.

/// Bytes in either byte order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order(pub bool);

impl Order {
    pub(crate) fn half(self, number: u16) -> [u8; 2] {
        if self.0 {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    }

    pub(crate) fn word(self, number: u32) -> [u8; 4] {
        if self.0 {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    }

    pub(crate) fn double(self, number: u64) -> [u8; 8] {
        if self.0 {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    }

    /// A time, whose upper half is first in either byte order.
    fn time(self, count: u64) -> Vec<u8> {
        [self.word((count >> 32) as u32), self.word(count as u32)].concat()
    }
}

/// A pcapng file.
pub(crate) struct Ng {
    pub(crate) order: Order,
    pub(crate) bytes: Vec<u8>,
}

impl Ng {
    /// Starts a section with an interface of this link type and these options.
    pub(crate) fn new(big_endian: bool, link_type: u16, options: &[(u16, Vec<u8>)]) -> Self {
        let mut file = Self {
            order: Order(big_endian),
            bytes: Vec::new(),
        };
        file.section();
        file.interface(link_type, options);
        file
    }

    /// A plain file with nanoseconds.
    pub(crate) fn of(link_type: u16) -> Self {
        Self::new(false, link_type, &[(9, vec![9])])
    }

    pub(crate) fn section(&mut self) {
        let order = self.order;
        let body = [
            &order.word(0x1a2b_3c4d)[..],
            &order.half(1),
            &order.half(0),
            &[0xff; 8],
        ]
        .concat();
        self.block(0x0a0d_0d0a, &body);
    }

    pub(crate) fn interface(&mut self, link_type: u16, options: &[(u16, Vec<u8>)]) {
        let order = self.order;
        let head = [&order.half(link_type)[..], &[0; 2], &order.word(0)].concat();
        let body = [head, self.options(options)].concat();
        self.block(1, &body);
    }

    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) {
        let total = self.order.word(12 + body.len() as u32);
        let kind = self.order.word(kind);
        self.bytes
            .extend([&kind[..], &total, body, &total].concat());
    }

    /// A time as the value of an option.
    pub(crate) fn time(&self, count: u64) -> Vec<u8> {
        self.order.time(count)
    }

    pub(crate) fn options(&self, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.order.half(*code));
            bytes.extend(self.order.half(value.len() as u16));
            bytes.extend(padded(value));
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }

    /// An Enhanced Packet Block.
    pub(crate) fn packet(
        &mut self,
        interface: u32,
        count: u64,
        data: &[u8],
        length: usize,
        options: &[(u16, Vec<u8>)],
    ) {
        let order = self.order;
        let body = [
            order.word(interface).to_vec(),
            order.time(count),
            order.word(data.len() as u32).to_vec(),
            order.word(length as u32).to_vec(),
            padded(data),
            self.options(options),
        ]
        .concat();
        self.block(6, &body);
    }

    /// A whole packet, with its comment.
    pub(crate) fn whole(&mut self, count: u64, data: &[u8], comment: &str) {
        let options = [(1, comment.as_bytes().to_vec())];
        let options = if comment.is_empty() {
            &[][..]
        } else {
            &options
        };
        self.packet(0, count, data, data.len(), options);
    }

    /// An obsolete Packet Block.
    pub(crate) fn obsolete(
        &mut self,
        interface: u16,
        count: u64,
        data: &[u8],
        options: &[(u16, Vec<u8>)],
    ) {
        let order = self.order;
        let length = order.word(data.len() as u32).to_vec();
        let body = [
            [order.half(interface), order.half(0xffff)].concat(),
            order.time(count),
            length.clone(),
            length,
            padded(data),
            self.options(options),
        ]
        .concat();
        self.block(2, &body);
    }

    /// A Simple Packet Block, which has no time.
    pub(crate) fn simple(&mut self, data: &[u8]) {
        let body = [self.order.word(data.len() as u32).to_vec(), padded(data)].concat();
        self.block(3, &body);
    }
}

fn padded(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    value.resize(value.len().next_multiple_of(4), 0);
    value
}

/// A pcap file: packets with seconds and fractions.
pub(crate) fn pcap(
    big_endian: bool,
    magic: u32,
    zone: i32,
    link_type: u32,
    packets: &[((u32, u32), Vec<u8>)],
) -> Vec<u8> {
    let order = Order(big_endian);
    let mut bytes = [
        order.word(magic),
        [order.half(2), order.half(4)]
            .concat()
            .try_into()
            .expect("four"),
    ]
    .concat();
    bytes.extend(order.word(zone as u32));
    bytes.extend([order.word(0), order.word(262_144), order.word(link_type)].concat());
    for ((seconds, fraction), data) in packets {
        let length = data.len() as u32;
        bytes.extend(
            [*seconds, *fraction, length, length]
                .map(|word| order.word(word))
                .concat(),
        );
        bytes.extend(data);
    }
    bytes
}

pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// An IPv4 packet from 10.0.0.`from` to 10.0.0.`to`.
pub(crate) fn ipv4(from: u8, to: u8, identification: u16, protocol: u8, behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + behind.len() as u16).to_be_bytes());
    packet.extend(identification.to_be_bytes());
    packet.extend([0, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    let words = packet
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(behind);
    packet
}

pub(crate) fn udp(
    from: u8,
    to: u8,
    ports: (u16, u16),
    identification: u16,
    payload: &[u8],
) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let words = [ports.0, ports.1, length, 0].map(u16::to_be_bytes).concat();
    ipv4(from, to, identification, 17, &[&words, payload].concat())
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

/// From port 5001 of 10.0.0.1 to port 80 of 10.0.0.2.
pub(crate) fn tcp(sequence: u32, identification: u16, flags: u8, length: usize) -> Vec<u8> {
    let mut segment = [5_001_u16, 80].map(u16::to_be_bytes).concat();
    segment.extend(sequence.to_be_bytes());
    segment.extend(7_u32.to_be_bytes());
    segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend((0..length).map(|place| (sequence as usize).wrapping_add(place) as u8));
    ipv4(1, 2, identification, 6, &segment)
}

pub(crate) fn ethernet(rest: &[u8], ip: &[u8]) -> Vec<u8> {
    [&[2; 12], rest, ip].concat()
}

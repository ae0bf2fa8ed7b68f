//! The values of the extensions.

use crate::timestamp::WireTimestamp;

/// The method by which a timestamp was made (RFC 8972, section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// By the NIC.
    Hardware,
    /// By the kernel or by a program: packets do not distinguish them.
    Software,
    /// By a control plane.
    ControlPlane,
}

impl Method {
    fn of(octet: u8) -> Option<Self> {
        match octet {
            1 => Some(Self::Hardware),
            2 => Some(Self::Software),
            3 => Some(Self::ControlPlane),
            _ => None,
        }
    }

    /// Returns its octet in packets.
    pub const fn octet(self) -> u8 {
        match self {
            Self::Hardware => 1,
            Self::Software => 2,
            Self::ControlPlane => 3,
        }
    }

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::ControlPlane => "control_plane",
        }
    }
}

/// The source that synchronises a clock (RFC 8972, section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyncSource {
    /// NTP.
    Ntp,
    /// PTP.
    Ptp,
    /// SSU or BITS, of telephone networks.
    Ssu,
    /// GPS, GLONASS, LORAN-C and the like.
    Gnss,
    /// None: the clock is free-running.
    Local,
}

impl SyncSource {
    fn of(octet: u8) -> Option<Self> {
        match octet {
            1 => Some(Self::Ntp),
            2 => Some(Self::Ptp),
            3 => Some(Self::Ssu),
            4 => Some(Self::Gnss),
            5 => Some(Self::Local),
            _ => None,
        }
    }

    /// Returns its octet in packets.
    pub const fn octet(self) -> u8 {
        match self {
            Self::Ntp => 1,
            Self::Ptp => 2,
            Self::Ssu => 3,
            Self::Gnss => 4,
            Self::Local => 5,
        }
    }

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ntp => "ntp",
            Self::Ptp => "ptp",
            Self::Ssu => "ssu",
            Self::Gnss => "gnss",
            Self::Local => "local",
        }
    }
}

/// Timestamp Information: the clock and the method of the reflector's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimestampInformation {
    /// The source that synchronises the clock of T2.
    pub source_in: Option<SyncSource>,
    /// The method of T2.
    pub method_in: Option<Method>,
    /// The source that synchronises the clock of T3.
    pub source_out: Option<SyncSource>,
    /// The method of T3.
    pub method_out: Option<Method>,
}

impl TimestampInformation {
    /// Decodes a value; `None` if it is too short.
    pub fn read(value: &[u8]) -> Option<Self> {
        let [source_in, method_in, source_out, method_out] = value.first_chunk()?;
        Some(Self {
            source_in: SyncSource::of(*source_in),
            method_in: Method::of(*method_in),
            source_out: SyncSource::of(*source_out),
            method_out: Method::of(*method_out),
        })
    }

    /// Encodes the value.
    pub fn octets(self) -> [u8; 4] {
        [
            self.source_in.map_or(0, SyncSource::octet),
            self.method_in.map_or(0, Method::octet),
            self.source_out.map_or(0, SyncSource::octet),
            self.method_out.map_or(0, Method::octet),
        ]
    }
}

/// Class of Service: DSCP and ECN in both directions (RFC 8972, section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassOfService {
    /// DSCP1: the requested DSCP of the reply.
    pub wanted_dscp: u8,
    /// DSCP2: the DSCP with which the request arrived.
    pub received_dscp: u8,
    /// The ECN with which the request arrived.
    pub received_ecn: u8,
    /// RP: the reflector's policy did not allow `wanted_dscp`.
    pub refused: bool,
}

impl ClassOfService {
    /// Decodes a value; `None` if it is too short.
    pub fn read(value: &[u8]) -> Option<Self> {
        let [first, second, ..] = *value.first_chunk::<4>()?;
        Some(Self {
            wanted_dscp: first >> 2,
            received_dscp: (first & 3) << 4 | second >> 4,
            received_ecn: second >> 2 & 3,
            refused: second & 3 != 0,
        })
    }

    /// Encodes the value.
    pub fn octets(self) -> [u8; 4] {
        let (wanted, received) = (self.wanted_dscp & 63, self.received_dscp & 63);
        [
            wanted << 2 | received >> 4,
            (received & 15) << 4 | (self.received_ecn & 3) << 2 | u8::from(self.refused),
            0,
            0,
        ]
    }
}

/// Direct Measurement: the numbers of packets sent and received in the session (RFC 8972, section
/// 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectMeasurement {
    /// Packets sent by the sender, including this one.
    pub sent: u32,
    /// Packets received by the reflector, including this one.
    pub reflector_received: u32,
    /// Packets sent by the reflector, including this reply.
    pub reflector_sent: u32,
}

impl DirectMeasurement {
    /// Decodes a value; `None` if it is too short.
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = value.first_chunk::<12>()?;
        let word = |at: usize| {
            u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]])
        };
        Some(Self {
            sent: word(0),
            reflector_received: word(4),
            reflector_sent: word(8),
        })
    }

    /// Encodes the value.
    pub fn octets(self) -> [u8; 12] {
        let mut value = [0; 12];
        value[..4].copy_from_slice(&self.sent.to_be_bytes());
        value[4..8].copy_from_slice(&self.reflector_received.to_be_bytes());
        value[8..].copy_from_slice(&self.reflector_sent.to_be_bytes());
        value
    }
}

/// Follow-Up Telemetry: the transmit timestamp of the session's previous reply (RFC 8972, section 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// The reflector's sequence number of the previous reply.
    pub sequence: u32,
    /// The transmit timestamp, in the reflector's format.
    pub timestamp: WireTimestamp,
    /// The method of the timestamp.
    pub method: Method,
}

impl FollowUp {
    /// Decodes a value; `None` if it is too short or has no timestamp.
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = value.first_chunk::<16>()?;
        let (sequence, rest) = value.split_first_chunk()?;
        let (timestamp, rest) = rest.split_first_chunk()?;
        let timestamp = WireTimestamp(*timestamp);
        (timestamp != WireTimestamp::NONE).then_some(())?;
        Some(Self {
            sequence: u32::from_be_bytes(*sequence),
            timestamp,
            method: Method::of(rest[0])?,
        })
    }

    /// Encodes the value; all zeros if there is none.
    pub fn octets(follow_up: Option<Self>) -> [u8; 16] {
        let mut value = [0; 16];
        if let Some(follow_up) = follow_up {
            value[..4].copy_from_slice(&follow_up.sequence.to_be_bytes());
            value[4..12].copy_from_slice(&follow_up.timestamp.0);
            value[12] = follow_up.method.octet();
        }
        value
    }
}

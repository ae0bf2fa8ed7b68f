//! The extensions of RFC 8972, type-length-value fields after the base packet.
//!
//! [`walk`] iterates over them; [`Area`] appends them to a request; [`reflect()`] fills them in for
//! a reply; [`accept()`] selects those of a reply that may be used.

mod accept;
mod area;
mod reflect;
mod value;

pub use accept::{Distrust, accept};
pub use area::Area;
pub use reflect::{Filled, reflect};
pub use value::{
    ClassOfService, DirectMeasurement, FollowUp, Method, SyncSource, TimestampInformation,
};

/// The length of an extension's header in octets: flags, type, length.
pub const HEADER: usize = 4;

/// The supported types (RFC 8972, section 5.1).
pub mod kind {
    /// Padding, which gives a packet its size.
    pub const EXTRA_PADDING: u8 = 1;
    /// The clock and the method of the reflector's timestamps.
    pub const TIMESTAMP_INFORMATION: u8 = 3;
    /// DSCP and ECN in both directions.
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// The numbers of packets.
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// The transmit timestamp of the previous reply.
    pub const FOLLOW_UP: u8 = 7;
    /// The HMAC of the extensions before it.
    pub const HMAC: u8 = 8;
}

/// The flags of an extension (RFC 8972, section 4).
pub mod flag {
    /// U: the reflector does not support the type.
    pub const UNRECOGNIZED: u8 = 0x80;
    /// M: the length is invalid for the type.
    pub const MALFORMED: u8 = 0x40;
    /// I: the HMAC was wrong.
    pub const INTEGRITY: u8 = 0x20;
}

/// An extension in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv {
    /// The position of its flags; the type follows.
    pub at: usize,
    /// The flags; see [`flag`].
    pub flags: u8,
    /// The type; see [`kind`]. It can be unknown.
    pub kind: u8,
    /// The length of its value in octets.
    pub length: usize,
}

impl Tlv {
    /// Returns the range of its value.
    pub fn value(&self) -> std::ops::Range<usize> {
        self.at + HEADER..self.end()
    }

    /// Returns the position of the next extension.
    pub fn end(&self) -> usize {
        self.at + HEADER + self.length
    }

    /// Whether its length is valid for its type. Unknown types can have any.
    fn has_valid_length(&self) -> bool {
        match self.kind {
            kind::TIMESTAMP_INFORMATION => self.length >= 4, // sub-TLVs may follow
            kind::CLASS_OF_SERVICE => self.length == 4,
            kind::DIRECT_MEASUREMENT => self.length == 12,
            kind::FOLLOW_UP | kind::HMAC => self.length == 16,
            _ => true,
        }
    }
}

/// A step of the iteration over extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A complete extension.
    Tlv(Tlv),
    /// An extension whose length is invalid for its type or exceeds the packet. It is the last
    /// step.
    Malformed {
        /// The position of its flags.
        at: usize,
    },
    /// One to three octets, too few for a header. It is the last step.
    Remainder,
}

/// Iterates over the extensions in `area`, the octets after the base packet.
pub fn walk(area: &[u8]) -> impl Iterator<Item = Step> + '_ {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let step = step_at(area, next?);
        next = match step {
            Some(Step::Tlv(tlv)) => Some(tlv.end()),
            _ => None,
        };
        step
    })
}

/// The step at a position of the area; `None` at its end.
fn step_at(area: &[u8], at: usize) -> Option<Step> {
    let rest = area.get(at..).filter(|rest| !rest.is_empty())?;
    let Some([flags, kind, high, low]) = rest.first_chunk::<HEADER>() else {
        return Some(Step::Remainder);
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let tlv = Tlv {
        at,
        flags: *flags,
        kind: *kind,
        length,
    };
    Some(if tlv.end() > area.len() || !tlv.has_valid_length() {
        Step::Malformed { at }
    } else {
        Step::Tlv(tlv)
    })
}

#[cfg(test)]
mod tests;

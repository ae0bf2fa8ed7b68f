//! The extensions of RFC 8972, which follow a packet: type, length, value.
//!
//! [`walk`] goes through them; [`Area`] appends them to a request; [`reflect()`] fills them in for a reply as a
//! reflector does; [`accept()`] says which of a reply's may be used.

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

/// Octets before each value: flags, type, length.
pub const HEADER: usize = 4;

/// The types that are known here (RFC 8972, section 5.1).
pub mod kind {
    /// Octets without meaning, which give a packet its size.
    pub const EXTRA_PADDING: u8 = 1;
    /// Which clock and which method the reflector's timestamps are of.
    pub const TIMESTAMP_INFORMATION: u8 = 3;
    /// DSCP and ECN, both ways.
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// Counts of packets.
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// The transmit timestamp of the previous reply.
    pub const FOLLOW_UP: u8 = 7;
    /// Signs the extensions before it.
    pub const HMAC: u8 = 8;
}

/// The flags of an extension (RFC 8972, section 4).
pub mod flag {
    /// U: the reflector does not know the type.
    pub const UNRECOGNIZED: u8 = 0x80;
    /// M: the length is not one that the type can have.
    pub const MALFORMED: u8 = 0x40;
    /// I: the HMAC was wrong.
    pub const INTEGRITY: u8 = 0x20;
}

/// An extension as it stands in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv {
    /// Where its flags stand; the type follows.
    pub at: usize,
    /// Of [`flag`].
    pub flags: u8,
    /// Of [`kind`], or unknown.
    pub kind: u8,
    /// Octets of its value.
    pub length: usize,
}

impl Tlv {
    /// Returns where its value is.
    pub fn value(&self) -> std::ops::Range<usize> {
        self.at + HEADER..self.end()
    }

    /// Returns where the next one begins.
    pub fn end(&self) -> usize {
        self.at + HEADER + self.length
    }

    /// Whether its type can have its length. Unknown types can have any.
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

/// A step through the extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A complete one.
    Tlv(Tlv),
    /// One whose length is wrong for its type or leads past the packet; it is the last step.
    Malformed {
        /// Where its flags stand.
        at: usize,
    },
    /// One to three octets that can be no header; it is the last step.
    Remainder,
}

/// Goes through the extensions of a packet: `area` follows the base packet.
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

/// The step that begins at an octet of the area; `None` at its end.
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

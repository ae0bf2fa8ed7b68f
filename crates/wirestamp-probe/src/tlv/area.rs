//! The extensions of a request.

use super::{HEADER, flag, kind};
use crate::key::{Key, TAG};

/// The extensions of a request under construction, each with the U flag set, as required of a
/// sender.
#[derive(Debug, Clone, Default)]
pub struct Area {
    octets: Vec<u8>,
}

impl Area {
    /// Appends an extension.
    ///
    /// # Panics
    /// If the value has more than 65,535 octets.
    pub fn push(&mut self, kind: u8, value: &[u8]) {
        let length = u16::try_from(value.len()).expect("a value fits into a datagram");
        self.octets.extend([flag::UNRECOGNIZED, kind]);
        self.octets.extend(length.to_be_bytes());
        self.octets.extend_from_slice(value);
    }

    /// Appends the HMAC of all extensions so far, for the packet with this sequence number.
    pub fn sign(&mut self, sequence: u32, key: &Key) {
        let tag: [u8; TAG] = key.tag(&[&sequence.to_be_bytes(), &self.octets]);
        self.push(kind::HMAC, &tag);
    }

    /// Appends extra padding until the area has `length` octets, if possible: because of the
    /// 4-octet header, one to three octets cannot be added. Call it last, because padding comes
    /// after the HMAC.
    pub fn pad_to(&mut self, length: usize) {
        if let Some(value) = length.checked_sub(self.octets.len() + HEADER) {
            let value = value.min(u16::MAX.into());
            // varying octets, so that links cannot compress them
            let padding: Vec<u8> = (0..value as u32)
                .map(|place| (place.wrapping_mul(0x9e37_79b9) >> 24) as u8)
                .collect();
            self.push(kind::EXTRA_PADDING, &padding);
        }
    }

    /// Returns the octets to send after the base packet.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

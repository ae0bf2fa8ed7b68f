//! The conversion of a request's extensions to a reply's.

use super::{Step, Tlv, flag, kind, step_at, walk};
use crate::key::{Key, TAG};

/// The result of filling in the extensions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filled {
    /// The position of the HMAC extension's value, which [`sign`](Self::sign) fills in.
    hmac: Option<usize>,
    /// Whether the HMAC of the extensions was wrong or missing, so that none was processed.
    pub integrity_failed: bool,
}

impl Filled {
    /// Signs the reply's extensions with its own sequence number, if the request's were signed.
    /// Call it after all values are filled in.
    pub fn sign(&self, area: &mut [u8], sequence: u32, key: Option<&Key>) {
        if let (Some(at), Some(key)) = (self.hmac, key) {
            let tag: [u8; TAG] = key.tag(&[&sequence.to_be_bytes(), &area[..at - super::HEADER]]);
            area[at..at + TAG].copy_from_slice(&tag);
        }
    }
}

/// Converts a request's extensions to a reply's in place (RFC 8972, section 4): unknown types are
/// marked U, a malformed one is marked M and all after it are unchanged, and all are marked I if
/// the HMAC is wrong.
///
/// Calls `fill` with the value of each extension of a known type, except padding and HMAC.
/// `sequence` is the request's. With a key only signed extensions are filled in; a single Extra
/// Padding needs no signature.
pub fn reflect(
    area: &mut [u8],
    sequence: u32,
    key: Option<&Key>,
    mut fill: impl FnMut(u8, &mut [u8]),
) -> Filled {
    let mut filled = Filled::default();
    match integrity(area, sequence, key) {
        Integrity::Good(hmac) => filled.hmac = hmac,
        Integrity::Failed => {
            mark_all(area, flag::INTEGRITY);
            filled.integrity_failed = true;
            return filled;
        }
        Integrity::Unknown(at) => {
            area[at] |= flag::MALFORMED;
            return filled;
        }
    }
    let mut at = 0;
    while let Some(step) = step_at(area, at) {
        match step {
            Step::Tlv(tlv) => {
                area[tlv.at] = flags_of(tlv.kind, key.is_some());
                let is_filled = matches!(
                    tlv.kind,
                    kind::TIMESTAMP_INFORMATION
                        | kind::CLASS_OF_SERVICE
                        | kind::DIRECT_MEASUREMENT
                        | kind::FOLLOW_UP
                );
                if is_filled {
                    fill(tlv.kind, &mut area[tlv.value()]);
                }
                at = tlv.end();
            }
            Step::Malformed { at: place } => {
                area[place] |= flag::MALFORMED;
                return filled;
            }
            Step::Remainder => return filled,
        }
    }
    filled
}

/// The flags of a type. Without a key an HMAC can be neither checked nor created.
fn flags_of(kind: u8, has_key: bool) -> u8 {
    match kind {
        kind::EXTRA_PADDING
        | kind::TIMESTAMP_INFORMATION
        | kind::CLASS_OF_SERVICE
        | kind::DIRECT_MEASUREMENT
        | kind::FOLLOW_UP => 0,
        kind::HMAC if has_key => 0,
        _ => flag::UNRECOGNIZED,
    }
}

enum Integrity {
    /// The position of the HMAC's value; `None` if none is needed.
    Good(Option<usize>),
    Failed,
    /// The extension at this position is malformed, so that the position of the HMAC is unknown.
    Unknown(usize),
}

fn integrity(area: &[u8], sequence: u32, key: Option<&Key>) -> Integrity {
    let Some(key) = key else {
        return Integrity::Good(None);
    };
    match signed(area) {
        Signed::At(hmac) => {
            let parts = [&sequence.to_be_bytes()[..], &area[..hmac.at]];
            if key.verifies(&parts, &area[hmac.value()]) {
                Integrity::Good(Some(hmac.value().start))
            } else {
                Integrity::Failed
            }
        }
        Signed::NotNeeded => Integrity::Good(None),
        Signed::Malformed(at) => Integrity::Unknown(at),
        Signed::Missing => Integrity::Failed,
    }
}

/// The position of the signature of extensions.
pub(super) enum Signed {
    At(Tlv),
    /// There is at most a single Extra Padding.
    NotNeeded,
    /// There is no HMAC, or it is at the wrong position.
    Missing,
    /// The extension at this position is malformed, so that the position of the HMAC is unknown.
    Malformed(usize),
}

/// Finds the HMAC, which must come once, after all extensions except Extra Padding.
pub(super) fn signed(area: &[u8]) -> Signed {
    let (mut hmac, mut paddings, mut others, mut misplaced) = (None, 0, 0, false);
    for step in walk(area) {
        match step {
            Step::Tlv(tlv) if tlv.kind == kind::EXTRA_PADDING => paddings += 1,
            Step::Tlv(tlv) if tlv.kind == kind::HMAC && hmac.is_none() => hmac = Some(tlv),
            Step::Tlv(_) => {
                misplaced |= hmac.is_some();
                others += 1;
            }
            Step::Malformed { at } if hmac.is_none() => return Signed::Malformed(at),
            Step::Malformed { .. } | Step::Remainder => {}
        }
    }
    match hmac {
        Some(hmac) if !misplaced => Signed::At(hmac),
        None if others == 0 && paddings <= 1 => Signed::NotNeeded,
        _ => Signed::Missing,
    }
}

fn mark_all(area: &mut [u8], mark: u8) {
    let places: Vec<_> = walk(area)
        .filter_map(|step| match step {
            Step::Tlv(tlv) => Some(tlv.at),
            Step::Malformed { at } => Some(at),
            Step::Remainder => None,
        })
        .collect();
    for place in places {
        area[place] |= mark;
    }
}

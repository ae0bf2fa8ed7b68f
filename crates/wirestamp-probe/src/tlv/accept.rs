//! The selection of a reply's extensions by a sender.

use super::reflect::{Signed, signed};
use super::{Step, flag, walk};
use crate::key::Key;

/// The reason why a sender uses none of a reply's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Distrust {
    /// The reply's HMAC is missing or wrong.
    WrongHmac,
    /// The reflector reports that the request's HMAC was wrong.
    ReportedByReflector,
}

/// Calls `take` with the type and value of each usable extension of a reply: those before the first
/// malformed one that the reflector supports and, with a key, only if they are signed. `sequence`
/// is the reply's own.
///
/// # Errors
/// [`Distrust`] if none may be used; `take` was not called.
pub fn accept(
    area: &[u8],
    sequence: u32,
    key: Option<&Key>,
    mut take: impl FnMut(u8, &[u8]),
) -> Result<(), Distrust> {
    let tlvs = || {
        walk(area).map_while(|step| match step {
            Step::Tlv(tlv) if tlv.flags & flag::MALFORMED == 0 => Some(tlv),
            _ => None,
        })
    };
    if tlvs().any(|tlv| tlv.flags & flag::INTEGRITY != 0) {
        return Err(Distrust::ReportedByReflector);
    }
    if let Some(key) = key {
        match signed(area) {
            Signed::At(hmac)
                if key.verifies(
                    &[&sequence.to_be_bytes(), &area[..hmac.at]],
                    &area[hmac.value()],
                ) => {}
            Signed::NotNeeded => {}
            _ => return Err(Distrust::WrongHmac),
        }
    }
    for tlv in tlvs().filter(|tlv| tlv.flags & flag::UNRECOGNIZED == 0) {
        take(tlv.kind, &area[tlv.value()]);
    }
    Ok(())
}

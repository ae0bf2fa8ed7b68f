//! Socket addresses as programs give them: by either system's number of the family. Looks none up.

use crate::abi::address::{IPV6_LENGTH, family, read};
use crate::abi::codes::{WSAEAFNOSUPPORT, WSAEFAULT};
use crate::abi::numbers::{AF_INET, AF_INET6};
use crate::memory;
use std::net::SocketAddr;

/// IPv6 as Linux numbers it; taken as well.
const AF_INET6_LINUX: u16 = 10;

/// Whether a family is IPv6 and not IPv4.
///
/// # Errors
/// `WSAEAFNOSUPPORT` for one that is neither.
pub(crate) fn is_ipv6(family: i32) -> Result<bool, i32> {
    match u16::try_from(family) {
        Ok(AF_INET) => Ok(false),
        Ok(AF_INET6 | AF_INET6_LINUX) => Ok(true),
        _ => Err(WSAEAFNOSUPPORT),
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<SocketAddr, i32> {
    let ipv6 = is_ipv6(family(bytes).ok_or(WSAEFAULT)?.into())?;
    read(bytes, ipv6).ok_or(WSAEFAULT)
}

/// The address at `name`.
///
/// # Errors
/// `WSAEFAULT` for null and for too few bytes for the family, `WSAEAFNOSUPPORT` for another family.
///
/// # Safety
/// `name` is null or points to `length` readable bytes.
pub unsafe fn at(name: *const u8, length: i32) -> Result<SocketAddr, i32> {
    let length = usize::try_from(length)
        .map_err(|_| WSAEFAULT)?
        .min(IPV6_LENGTH);
    // SAFETY: the caller's promise; not more than he said.
    decode(unsafe { memory::bytes(name, length) }.ok_or(WSAEFAULT)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::address::AddressBytes;

    #[test]
    fn the_family_number_of_linux_is_taken_and_that_of_windows_given() {
        let mut bytes = [0; IPV6_LENGTH];
        bytes[0] = 10;
        let address = decode(&bytes).expect("an address");
        assert_eq!(AddressBytes::new(address, true).bytes()[0], 23);
        bytes[0] = 1;
        assert_eq!(decode(&bytes), Err(WSAEAFNOSUPPORT));
        assert_eq!(decode(&bytes[..1]), Err(WSAEFAULT));
        bytes[0] = 23;
        assert_eq!(decode(&bytes[..27]), Err(WSAEFAULT));
    }
}

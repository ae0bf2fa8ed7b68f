//! Socket addresses as programs give them: by either system's number of the family. Looks none up.

use crate::abi::address::{IPV4_LENGTH, IPV6_LENGTH, family, read};
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

/// The address at `name`, as long as its family says.
///
/// # Errors
/// `WSAEFAULT` for null, `WSAEAFNOSUPPORT` for a family that is neither.
///
/// # Safety
/// `name` is null or points to a whole address of its family.
pub unsafe fn of_its_family(name: *const u8) -> Result<SocketAddr, i32> {
    // SAFETY: the caller's promise: the family is there, and comes first.
    let family = unsafe { memory::read(name.cast::<u16>()) }.ok_or(WSAEFAULT)?;
    let length = if is_ipv6(family.into())? {
        IPV6_LENGTH
    } else {
        IPV4_LENGTH
    };
    // SAFETY: the caller's promise: so many bytes are an address of this family.
    unsafe { at(name, length as i32) }
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

    /// Under Miri and AddressSanitizer a byte beyond them is a fault.
    #[test]
    fn no_more_is_read_than_the_family_has() {
        let mut bytes: Box<[u8]> = vec![0; IPV4_LENGTH].into();
        bytes[0] = 2;
        // SAFETY: a whole address.
        let address = unsafe { of_its_family(bytes.as_ptr()) }.expect("an address");
        assert!(address.is_ipv4());
        bytes[0] = 1;
        // SAFETY: as above; of no family that is known.
        let unknown = unsafe { of_its_family(bytes.as_ptr()) };
        assert_eq!(unknown, Err(WSAEAFNOSUPPORT));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { of_its_family(std::ptr::null()) }, Err(WSAEFAULT));
    }
}

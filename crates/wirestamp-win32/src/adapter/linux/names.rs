//! Names and addresses by the C library: one call a function, with its own numbers.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ptr;

/// No list is longer: what a name server sends is bounded here.
const MOST: usize = 256;

/// The hints of a look-up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints {
    pub(crate) flags: c_int,
    pub(crate) family: c_int,
    pub(crate) kind: c_int,
    pub(crate) protocol: c_int,
}

/// One of the addresses.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) kind: c_int,
    pub(crate) protocol: c_int,
    pub(crate) address: SocketAddr,
    pub(crate) canonical: Option<CString>,
}

/// getaddrinfo(3).
///
/// # Errors
/// `EAI_*`.
pub(crate) fn addresses(
    node: Option<&CStr>,
    service: Option<&CStr>,
    hints: &Hints,
) -> Result<Vec<Found>, c_int> {
    // SAFETY: all zeros is a value: integers and null pointers.
    let mut wanted: libc::addrinfo = unsafe { MaybeUninit::zeroed().assume_init() };
    wanted.ai_flags = hints.flags;
    wanted.ai_family = hints.family;
    wanted.ai_socktype = hints.kind;
    wanted.ai_protocol = hints.protocol;
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    let mut list = ptr::null_mut();
    // SAFETY: texts that end with 0 or null, hints and a place for the list, which outlive the call.
    let error = unsafe {
        libc::getaddrinfo(
            pointer(node),
            pointer(service),
            &raw const wanted,
            &raw mut list,
        )
    };
    if error != 0 {
        return Err(error);
    }
    let mut found = Vec::new();
    let mut next: *const libc::addrinfo = list;
    // SAFETY: null, or an entry of the list, which is given back after the last use.
    while let Some(entry) = unsafe { next.as_ref() }.filter(|_| found.len() < MOST) {
        // SAFETY: the entry's address and name are as the C library made them.
        if let Some(one) = unsafe { read(entry) } {
            found.push(one);
        }
        next = entry.ai_next;
    }
    // SAFETY: the list that was just made, given back once.
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

/// # Safety
/// `entry` is one of getaddrinfo's.
unsafe fn read(entry: &libc::addrinfo) -> Option<Found> {
    let address = match entry.ai_family {
        libc::AF_INET => {
            // SAFETY: the family says which structure it is.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            let octets = address.sin_addr.s_addr.to_ne_bytes();
            SocketAddr::new(
                Ipv4Addr::from(octets).into(),
                u16::from_be(address.sin_port),
            )
        }
        libc::AF_INET6 => {
            // SAFETY: the family says which structure it is.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            let octets = Ipv6Addr::from(address.sin6_addr.s6_addr);
            let (port, scope) = (u16::from_be(address.sin6_port), address.sin6_scope_id);
            SocketAddrV6::new(octets, port, 0, scope).into()
        }
        _ => return None,
    };
    let canonical = (!entry.ai_canonname.is_null()).then(|| {
        // SAFETY: not null: a text that ends with 0.
        unsafe { CStr::from_ptr(entry.ai_canonname) }.to_owned()
    });
    Some(Found {
        kind: entry.ai_socktype,
        protocol: entry.ai_protocol,
        address,
        canonical,
    })
}

/// getnameinfo(3): node and service.
///
/// # Errors
/// `EAI_*`.
pub(crate) fn names(address: SocketAddr, flags: c_int) -> Result<(CString, CString), c_int> {
    // SAFETY: all zeros is a value: integers.
    let mut ipv6: libc::sockaddr_in6 = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: all zeros is a value: integers.
    let mut ipv4: libc::sockaddr_in = unsafe { MaybeUninit::zeroed().assume_init() };
    let (place, length): (*const libc::sockaddr, usize) = match address.ip() {
        IpAddr::V4(octets) => {
            ipv4.sin_family = libc::AF_INET as libc::sa_family_t;
            ipv4.sin_port = address.port().to_be();
            ipv4.sin_addr.s_addr = u32::from_ne_bytes(octets.octets());
            ((&raw const ipv4).cast(), size_of_val(&ipv4))
        }
        IpAddr::V6(octets) => {
            ipv6.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            ipv6.sin6_port = address.port().to_be();
            ipv6.sin6_addr.s6_addr = octets.octets();
            if let SocketAddr::V6(address) = address {
                ipv6.sin6_scope_id = address.scope_id();
            }
            ((&raw const ipv6).cast(), size_of_val(&ipv6))
        }
    };
    let (mut node, mut service) = ([0u8; 1025], [0u8; 64]);
    // SAFETY: the address has its length, and each text the room that is named; all outlive the call.
    let error = unsafe {
        libc::getnameinfo(
            place,
            length as libc::socklen_t,
            node.as_mut_ptr().cast::<c_char>(),
            node.len() as libc::socklen_t,
            service.as_mut_ptr().cast::<c_char>(),
            service.len() as libc::socklen_t,
            flags,
        )
    };
    if error != 0 {
        return Err(error);
    }
    let text = |bytes: &[u8]| CStr::from_bytes_until_nul(bytes).map(CStr::to_owned);
    match (text(&node), text(&service)) {
        (Ok(node), Ok(service)) => Ok((node, service)),
        _ => Err(libc::EAI_OVERFLOW),
    }
}

//! The calls for the list of adapters, and the walk along it.

use super::super::wire::adapter::AdapterRecord;
use super::super::wire::socket_address;
use crate::abi::address::AddressBytes;
use crate::abi::codes::{ERROR_ADDRESS_NOT_ASSOCIATED, ERROR_BUFFER_OVERFLOW, ERROR_NO_DATA};
use std::ffi::CStr;
use std::io;
use std::ptr;
use std::slice;
use windows_sys::Win32::NetworkManagement::IpHelper as ip;
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::interface::InterfaceAddress;

/// What to begin with: the system is said to be slow in telling how much it needs.
const FIRST_ROOM: u32 = 15 * 1024;
/// The list can grow between two calls, but not for ever.
const ATTEMPTS: u32 = 5;
/// Names and unicast addresses. (With prefixes, Wine's fails.)
const FLAGS: ip::GET_ADAPTERS_ADDRESSES_FLAGS =
    ip::GAA_FLAG_SKIP_ANYCAST | ip::GAA_FLAG_SKIP_MULTICAST | ip::GAA_FLAG_SKIP_DNS_SERVER;

/// The adapters with their unicast addresses.
pub(in crate::windows) fn adapters() -> io::Result<Vec<AdapterRecord>> {
    let mut room = FIRST_ROOM;
    for _ in 0..ATTEMPTS {
        // as 64-bit words: the records want their alignment
        let mut buffer = vec![0u64; (room as usize).div_ceil(8)];
        let list = buffer.as_mut_ptr().cast::<ip::IP_ADAPTER_ADDRESSES_LH>();
        // SAFETY: `room` bytes are there, of the alignment that the records need.
        match unsafe {
            ip::GetAdaptersAddresses(
                ws::AF_UNSPEC.into(),
                FLAGS,
                ptr::null(),
                list,
                &raw mut room,
            )
        } {
            0 => return Ok(walk(list)),
            ERROR_BUFFER_OVERFLOW => {}
            ERROR_NO_DATA | ERROR_ADDRESS_NOT_ASSOCIATED => return Ok(Vec::new()),
            code => return Err(io::Error::from_raw_os_error(code as i32)),
        }
    }
    Err(io::Error::from_raw_os_error(ERROR_BUFFER_OVERFLOW as i32))
}

/// `first`: null, or a list that the system filled and that is not touched meanwhile.
fn walk(first: *const ip::IP_ADAPTER_ADDRESSES_LH) -> Vec<AdapterRecord> {
    let mut records = Vec::new();
    let mut next = first;
    // SAFETY: the system linked whole records, and the last has no next one.
    while let Some(adapter) = unsafe { next.as_ref() } {
        records.push(read(adapter));
        next = adapter.Next;
    }
    records
}

fn read(adapter: &ip::IP_ADAPTER_ADDRESSES_LH) -> AdapterRecord {
    // SAFETY: both members of the union are integers that the system has filled.
    let index = unsafe { adapter.Anonymous1.Anonymous.IfIndex };
    // SAFETY: both members of the union are integers that the system has filled.
    let luid = unsafe { adapter.Luid.Value };
    AdapterRecord {
        friendly_name: wide(adapter.FriendlyName),
        description: wide(adapter.Description),
        guid: narrow(adapter.AdapterName),
        index,
        ipv6_index: adapter.Ipv6IfIndex,
        luid,
        kind: adapter.IfType,
        physical_address: physical_address(adapter),
        oper_status: adapter.OperStatus as u32,
        mtu: adapter.Mtu,
        addresses: addresses(adapter.FirstUnicastAddress),
    }
}

fn physical_address(adapter: &ip::IP_ADAPTER_ADDRESSES_LH) -> Vec<u8> {
    let length = adapter.PhysicalAddressLength as usize;
    let known = adapter.PhysicalAddress.get(..length);
    known.map(<[u8]>::to_vec).unwrap_or_default()
}

fn addresses(first: *const ip::IP_ADAPTER_UNICAST_ADDRESS_LH) -> Vec<InterfaceAddress> {
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the system linked whole records, and the last has no next one.
    while let Some(unicast) = unsafe { next.as_ref() } {
        let (bytes, length) = (
            unicast.Address.lpSockaddr.cast::<u8>(),
            unicast.Address.iSockaddrLength,
        );
        if !bytes.is_null() && length > 0 {
            // SAFETY: the system says that so many bytes of address are there.
            let bytes = unsafe { slice::from_raw_parts(bytes, length as u32 as usize) };
            found.extend(socket_address::read(bytes).map(|address| InterfaceAddress {
                address: address.ip(),
                prefix_length: unicast.OnLinkPrefixLength,
            }));
        }
        next = unicast.Next;
    }
    found
}

fn wide(text: *const u16) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the system ends its strings with a zero, and `text` points into one.
    let ends = |place: usize| unsafe { *text.wrapping_add(place) } == 0;
    let length = (0..).take_while(|place| !ends(*place)).count();
    // SAFETY: so many units lie before the zero.
    String::from_utf16_lossy(unsafe { slice::from_raw_parts(text, length) })
}

fn narrow(text: *const u8) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the system ends its strings with a zero.
    unsafe { CStr::from_ptr(text.cast()) }
        .to_string_lossy()
        .into_owned()
}

/// The interface that datagrams to this address leave by.
pub(in crate::windows) fn best_interface(to: &AddressBytes) -> io::Result<u32> {
    let mut index = 0;
    // SAFETY: the bytes are a whole address; the pointer is valid for the call.
    match unsafe { ip::GetBestInterfaceEx(to.bytes().as_ptr().cast(), &raw mut index) } {
        0 => Ok(index),
        code => Err(io::Error::from_raw_os_error(code as i32)),
    }
}

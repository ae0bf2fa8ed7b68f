//! The layouts and numbers that programs and library agree on. Holds no state and reads
//! no pointer.
//!
//! Source: `iphlpapi.h`, `iptypes.h`, `ws2def.h`, `winsock2.h`, `mstcpip.h`, `minwinbase.h` as
//! the reference notes give them; sizes and offsets are asserted beside each structure.

pub mod adapters;
pub mod address;
pub mod codes;
pub mod iphlp;
pub mod numbers;
pub mod old;
pub mod winsock;

/// `WCHAR`: the C library's `wchar_t`, one code point each.
#[cfg(not(windows))]
pub type WideCharacter = u32;
/// `WCHAR`: UTF-16.
#[cfg(windows)]
pub type WideCharacter = u16;

/// A value of any bits: the caller's memory can be read as it.
///
/// # Safety
/// Every bit pattern of the size of `Self` must be a value of `Self`.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {$(
        // SAFETY: integers, or `repr(C)` structures of integers and raw pointers.
        unsafe impl $crate::abi::Plain for $type {}
    )*};
}
pub(crate) use plain;

plain!(u8, u16, u32, u64, i32, i64, usize, *mut std::ffi::c_void);

//! The numbers of Windows' interface that only calls need. On Windows,
//! `agreement.rs` compares them with the bindings at compile time.
//!
//! Source: `mstcpip.h`, `winerror.h`.

/// Type of the control message that carries a transmit id: 4 bytes.
pub(crate) const SO_TIMESTAMP_ID: i32 = 0x300b;
/// `_WSAIOW(IOC_VENDOR, 235)`
pub(crate) const SIO_TIMESTAMPING: u32 = 0x9800_00eb;
/// `_WSAIOW(IOC_VENDOR, 234)`
pub(crate) const SIO_GET_TX_TIMESTAMP: u32 = 0x9800_00ea;
pub(crate) const TIMESTAMPING_FLAG_RX: u32 = 1;
pub(crate) const TIMESTAMPING_FLAG_TX: u32 = 2;
pub(crate) const ERROR_FILE_NOT_FOUND: u32 = 2;
pub(crate) const ERROR_ACCESS_DENIED: u32 = 5;
pub(crate) const ERROR_CRC: u32 = 23;
pub(crate) const ERROR_GEN_FAILURE: u32 = 31;
pub(crate) const ERROR_NOT_SUPPORTED: u32 = 50;
pub(crate) const ERROR_INVALID_PARAMETER: u32 = 87;
pub(crate) const ERROR_BUFFER_OVERFLOW: u32 = 111;
pub(crate) const ERROR_PROC_NOT_FOUND: u32 = 127;
pub(crate) const ERROR_BUSY: u32 = 170;
pub(crate) const ERROR_NO_DATA: u32 = 232;
pub(crate) const ERROR_NOT_FOUND: u32 = 1168;
pub(crate) const ERROR_ADDRESS_NOT_ASSOCIATED: u32 = 1228;
pub(crate) const ERROR_BAD_DRIVER: u32 = 2001;

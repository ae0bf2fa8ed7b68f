//! Whether Winsock was started, and the sockets that there are.

use crate::abi::codes::{WSAENOTSOCK, WSANOTINITIALISED, WSASYSNOTREADY, WSAVERNOTSUPPORTED};
use crate::abi::winsock::{SocketHandle, WsaData};
use crate::adapter::simulated;
use crate::handle::{Kind, Table};
use crate::winsock::socket::Socket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// 2.2, as `MAKEWORD` makes it.
const HIGHEST: u16 = 0x0202;

static STARTED: AtomicU32 = AtomicU32::new(0);
static SOCKETS: Table<Socket> = Table::new(Kind::Socket);

/// Starts Winsock once more, for a program that wants `version`.
///
/// # Errors
/// `WSAVERNOTSUPPORTED` for version 0; `WSASYSNOTREADY` if the simulation that the environment
/// names can't be had.
pub(crate) fn start(version: u16) -> Result<WsaData, i32> {
    let (major, minor) = (version & 0xFF, version >> 8);
    if major == 0 {
        return Err(WSAVERNOTSUPPORTED);
    }
    simulated::chosen().map_err(|_| WSASYSNOTREADY)?;
    STARTED.fetch_add(1, Ordering::AcqRel);
    let granted = if (major, minor) < (2, 2) {
        version
    } else {
        HIGHEST
    };
    let mut data = WsaData {
        version: granted,
        high_version: HIGHEST,
        max_sockets: 0,
        max_udp_size: 0,
        vendor_information: std::ptr::null_mut(),
        description: [0; 257],
        system_status: [0; 129],
    };
    data.description[..9].copy_from_slice(b"wirestamp");
    data.system_status[..7].copy_from_slice(b"Running");
    Ok(data)
}

/// Undoes one start; the last one closes all sockets.
pub(crate) fn clean_up() -> Result<(), i32> {
    let one_less = |started: u32| started.checked_sub(1);
    let before = STARTED
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
        .map_err(|_| WSANOTINITIALISED)?;
    if before == 1 {
        for (number, socket) in SOCKETS.all() {
            SOCKETS.remove(number);
            socket.close();
        }
    }
    Ok(())
}

/// Whether Winsock runs.
pub(crate) fn check() -> Result<(), i32> {
    if STARTED.load(Ordering::Acquire) == 0 {
        Err(WSANOTINITIALISED)
    } else {
        Ok(())
    }
}

pub(crate) fn find(number: SocketHandle) -> Result<Arc<Socket>, i32> {
    check()?;
    SOCKETS.find(number).ok_or(WSAENOTSOCK)
}

pub(crate) fn add(socket: Socket) -> Option<SocketHandle> {
    SOCKETS.insert(Arc::new(socket))
}

pub(crate) fn close(number: SocketHandle) -> Result<(), i32> {
    check()?;
    SOCKETS.remove(number).ok_or(WSAENOTSOCK)?.close();
    Ok(())
}

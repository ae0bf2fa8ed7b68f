//! The steps of opening an AF_XDP socket that sends.

use super::super::bpf;
use super::super::program;
use super::super::rings::{self, Frames, Ring};
use super::super::socket::{OPEN, open_error};
use crate::linux::call;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::xdp::XdpWay;
use wirestamp_core::{Error, ErrorKind, Result};

/// A ring of free frames has to be there in any case.
const SMALLEST_RING: u32 = 64;

/// Drivers send without a copy only while they have a program. Where there is one, nobody's business is touched.
pub(super) fn attach_passing(interface: &InterfaceDescription) -> Result<Option<OwnedFd>> {
    let failed = |error: io::Error| open_error(interface, &error);
    let program =
        bpf::load(&program::assemble_passing(), None).map_err(|(error, _)| failed(error))?;
    match bpf::attach(&program, interface.index.get(), true) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST)) => Ok(None),
        attached => attached.map(Some).map_err(failed),
    }
}

pub(super) fn register(fd: &OwnedFd, frames: &Frames, metadata: u32) -> io::Result<()> {
    let registration = frames.registration(metadata);
    call::set_option(fd.as_fd(), libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
}

/// A kernel that does not know the metadata refuses the registration.
pub(super) fn no_metadata(error: Error, way: XdpWay) -> Error {
    if way.hardware && error.code() == Some(libc::EINVAL) {
        return error.with_remedy("transmit timestamps need Linux 6.11 or later");
    }
    error
}

/// Shares the rings: as many entries as frames, so that none is ever full. `receiving`: frames behind those, which are the driver's.
pub(super) fn share(
    fd: &OwnedFd,
    count: u32,
    receiving: u32,
    size: usize,
) -> io::Result<(Ring, Ring)> {
    let fd = fd.as_fd();
    let set = |name, value: u32| call::set_option(fd, libc::SOL_XDP, name, &value.to_ne_bytes());
    set(libc::XDP_UMEM_FILL_RING, receiving.max(SMALLEST_RING))?;
    set(libc::XDP_UMEM_COMPLETION_RING, count)?;
    set(libc::XDP_TX_RING, count)?;
    let offsets = rings::offsets(fd)?;
    if receiving > 0 {
        let places = (count..count + receiving).map(|place| u64::from(place) * size as u64);
        Ring::free(fd, &offsets, receiving)?.give(places);
    }
    let to_send = Ring::to_send(fd, &offsets, count)?;
    Ok((to_send, Ring::completed(fd, &offsets, count)?))
}

/// Whether the driver lets itself be woken: without a program of its own it does not.
pub(super) fn can_wake(fd: &OwnedFd, interface: &InterfaceDescription) -> Result<()> {
    match call::wake_xdp(fd.as_fd()) {
        Err(error)
            if !matches!(
                error.raw_os_error(),
                Some(libc::ENETDOWN | libc::EAGAIN | libc::EBUSY | libc::ENOBUFS)
            ) =>
        {
            let cause = format!("the driver does not send without a copy: {error}");
            Err(Error::new(
                ErrorKind::NotSupported,
                OPEN,
                &interface.name,
                cause,
            ))
        }
        _ => Ok(()),
    }
}

//! The system calls: one a function, no meaning attached. Everything unsafe about
//! talking to Linux is here and in [`super::socket::messages`].

use super::wire::link::LinkAddress;
use super::wire::nic::{EthtoolTsInfo, HwtstampConfig};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// capget(2): whether the calling thread has this capability in its effective set.
pub(super) fn has_capability(number: u32) -> io::Result<bool> {
    /// `_LINUX_CAPABILITY_VERSION_3`: three sets of two words each.
    const VERSION: u32 = 0x2008_0522;
    let mut header = [VERSION, 0];
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: both outlive the call, and have the layout and the length that this version has.
    let result = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let [effective, ..] = sets[number as usize / 32 % 2];
    Ok(effective >> (number % 32) & 1 == 1)
}

/// eventfd(2), non-blocking.
pub(super) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// write(2) of a counter to an eventfd. Fails only when the counter is full, which is as
/// good as success.
pub(super) fn signal(fd: BorrowedFd<'_>) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: the buffer outlives the call and has the given length.
    let _ = unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// read(2) of an eventfd: clears it.
pub(super) fn clear(fd: BorrowedFd<'_>) {
    let mut count = [0u8; 8];
    // SAFETY: the buffer outlives the call and has the given length.
    let _ = unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}

/// bind(2) of a packet socket.
pub(super) fn bind(fd: BorrowedFd<'_>, place: &LinkAddress) -> io::Result<()> {
    let bytes = place.bytes();
    // SAFETY: the address outlives the call, has the given length, and is aligned as `sockaddr_ll` is.
    let result = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// bind(2) of an AF_XDP socket: `sockaddr_xdp`.
pub(super) fn bind_xdp(fd: BorrowedFd<'_>, place: &[u8; 16]) -> io::Result<()> {
    let length = place.len() as libc::socklen_t;
    // SAFETY: the address outlives the call and has the given length; the kernel copies it from wherever it stands.
    let result = unsafe { libc::bind(fd.as_raw_fd(), place.as_ptr().cast(), length) };
    check(result).map(drop)
}

/// sendto(2) of nothing: wakes the kernel to send what an AF_XDP socket's ring has.
pub(super) fn wake_xdp(fd: BorrowedFd<'_>) -> io::Result<()> {
    let (nothing, nobody) = (std::ptr::null(), std::ptr::null());
    // SAFETY: nothing is read from the null pointers, because both lengths are 0.
    let sent = unsafe { libc::sendto(fd.as_raw_fd(), nothing, 0, libc::MSG_DONTWAIT, nobody, 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// getsockname(2): fills as much of `name` as there is.
pub(super) fn bound_to(fd: BorrowedFd<'_>, name: &mut [u8]) -> io::Result<()> {
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: `name` and `length` outlive the call, and `length` says how long `name` is.
    let result =
        unsafe { libc::getsockname(fd.as_raw_fd(), name.as_mut_ptr().cast(), &raw mut length) };
    check(result).map(drop)
}

/// setsockopt(2).
pub(super) fn set_option(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: `value` outlives the call and has the given length.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    check(result).map(drop)
}

/// setsockopt(2) of an `int`.
pub(super) fn set_number(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_option(fd, level, name, &value.to_ne_bytes())
}

/// getsockopt(2); returns how many bytes the kernel wrote.
pub(super) fn option(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: `value` and `length` outlive the call, and `length` says how long `value` is.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(result)?;
    Ok(length as usize)
}

/// getsockopt(2) of an `int`.
pub(super) fn number(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value = [0; 4];
    option(fd, level, name, &mut value)?;
    Ok(i32::from_ne_bytes(value))
}

/// ppoll(2) without a signal mask; `None` waits for ever. An interrupted call is a timeout.
pub(super) fn poll(
    descriptors: &mut [libc::pollfd],
    timeout: Option<libc::timespec>,
) -> io::Result<()> {
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let count = descriptors.len() as libc::nfds_t;
    // SAFETY: descriptors and timeout outlive the call; a null signal mask changes none.
    let result = unsafe { libc::ppoll(descriptors.as_mut_ptr(), count, timeout, std::ptr::null()) };
    match check(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            descriptors
                .iter_mut()
                .for_each(|descriptor| descriptor.revents = 0);
            Ok(())
        }
        other => other.map(drop),
    }
}

/// clock_gettime(2): seconds and nanoseconds of a clock that cannot fail.
pub(super) fn clock(clock: libc::clockid_t) -> (i64, i64) {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call. The clocks asked for here exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec, time.tv_nsec)
}

/// clock_gettime(2) of a clock that may be gone: seconds and nanoseconds.
pub(super) fn try_clock(clock: libc::clockid_t) -> io::Result<(i64, i64)> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call; a clock that does not exist is refused.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    check(result).map(|_| (time.tv_sec, time.tv_nsec))
}

/// clock_adjtime(2): `request` goes in and comes out.
pub(super) fn adjust_clock(clock: libc::clockid_t, request: &mut libc::timex) -> io::Result<()> {
    // SAFETY: `request` outlives the call; a clock that does not exist is refused.
    let result = unsafe { libc::clock_adjtime(clock, std::ptr::from_mut(request)) };
    check(result).map(drop)
}

/// A request to a clock that asks for nothing.
pub(super) fn no_adjustment() -> libc::timex {
    // SAFETY: the structure holds integers and structures of integers only.
    unsafe { std::mem::zeroed() }
}

/// `ifreq` with a pointer: the name, then the address of what the call fills.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    pointer: *mut libc::c_void,
    rest: [u8; 16],
}
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

impl InterfaceRequest {
    fn new(interface: &str, pointer: *mut libc::c_void) -> io::Result<Self> {
        let mut name = [0; libc::IFNAMSIZ];
        let bytes = interface.as_bytes();
        if bytes.len() >= name.len() || bytes.contains(&0) {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        name[..bytes.len()].copy_from_slice(bytes);
        Ok(Self {
            name,
            pointer,
            rest: [0; 16],
        })
    }
}

/// `SIOCETHTOOL` with `ETHTOOL_GET_TS_INFO`: fills `info`.
pub(super) fn ethtool_ts_info(
    fd: BorrowedFd<'_>,
    interface: &str,
    info: &mut EthtoolTsInfo,
) -> io::Result<()> {
    let mut request = InterfaceRequest::new(interface, std::ptr::from_mut(info).cast())?;
    // SAFETY: the request has the layout of `ifreq` and points to a structure of the size
    // that this command fills; both outlive the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    check(result).map(drop)
}

/// `SIOCGHWTSTAMP` or `SIOCSHWTSTAMP`: `config` goes in and comes out.
pub(super) fn hardware_timestamping(
    fd: BorrowedFd<'_>,
    request_number: u32,
    interface: &str,
    config: &mut HwtstampConfig,
) -> io::Result<()> {
    let mut request = InterfaceRequest::new(interface, std::ptr::from_mut(config).cast())?;
    // SAFETY: the request has the layout of `ifreq` and points to a `hwtstamp_config`; both
    // outlive the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request_number as _, &raw mut request) };
    check(result).map(drop)
}

/// `TUNSETIFF`: a new TUN device without packet information.
#[cfg(feature = "bare")]
pub(super) fn make_tun(fd: BorrowedFd<'_>, interface: &str) -> io::Result<()> {
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    let mut request =
        InterfaceRequest::new(interface, usize::from(flags as u16) as *mut libc::c_void)?;
    // SAFETY: the request has the layout of `ifreq`, whose flags are where the pointer is, and
    // outlives the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    check(result).map(drop)
}

/// The structures that `PTP_*` requests fill, each with its request number.
///
/// # Safety
/// The kernel must accept `Self` as the argument of `REQUEST` and write no more than it.
pub(super) unsafe trait ClockRequest {
    /// The request number.
    const REQUEST: libc::Ioctl;
}

// SAFETY: linux/ptp_clock.h pairs this structure with this request.
unsafe impl ClockRequest for libc::ptp_sys_offset_precise {
    const REQUEST: libc::Ioctl = libc::PTP_SYS_OFFSET_PRECISE;
}
// SAFETY: linux/ptp_clock.h pairs this structure with this request.
unsafe impl ClockRequest for libc::ptp_sys_offset_extended {
    const REQUEST: libc::Ioctl = libc::PTP_SYS_OFFSET_EXTENDED;
}
// SAFETY: linux/ptp_clock.h pairs this structure with this request.
unsafe impl ClockRequest for libc::ptp_sys_offset {
    const REQUEST: libc::Ioctl = libc::PTP_SYS_OFFSET;
}

// SAFETY: linux/ptp_clock.h pairs this structure with this request.
unsafe impl ClockRequest for libc::ptp_clock_caps {
    const REQUEST: libc::Ioctl = libc::PTP_CLOCK_GETCAPS;
}

const _: () = assert!(size_of::<libc::ptp_clock_caps>() == 80);
const _: () = assert!(size_of::<libc::ptp_sys_offset_precise>() == 64);
const _: () = assert!(size_of::<libc::ptp_sys_offset_extended>() == 1216);
const _: () = assert!(size_of::<libc::ptp_sys_offset>() == 832);

/// ioctl(2) on a hardware clock.
pub(super) fn clock_request<T: ClockRequest>(
    fd: BorrowedFd<'_>,
    argument: &mut T,
) -> io::Result<()> {
    // SAFETY: `ClockRequest` says that this request takes this structure.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), T::REQUEST, std::ptr::from_mut(argument)) };
    check(result).map(drop)
}

/// An all-zero `PTP_*` structure.
pub(super) fn zeroed<T: ClockRequest>() -> T {
    // SAFETY: these structures hold integers and arrays of integers only.
    unsafe { std::mem::zeroed() }
}

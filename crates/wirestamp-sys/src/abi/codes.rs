//! The error numbers of Win32 and Winsock. Sets none.
//!
//! Source: `winerror.h`, `winsock2.h`.

/// Success of the functions that return a Win32 error.
pub const NO_ERROR: u32 = 0;
/// No interface of this index or LUID.
pub const ERROR_FILE_NOT_FOUND: u32 = 2;
/// The hardware clock may not be opened.
pub const ERROR_ACCESS_DENIED: u32 = 5;
/// No such handle.
pub const ERROR_INVALID_HANDLE: u32 = 6;
/// A buffer is too small for a name; no thread can be had.
pub const ERROR_NOT_ENOUGH_MEMORY: u32 = 8;
/// A driver's request failed: a cyclic redundancy check.
pub const ERROR_CRC: u32 = 23;
/// The driver's trouble.
pub const ERROR_GEN_FAILURE: u32 = 31;
/// The adapter can't.
pub const ERROR_NOT_SUPPORTED: u32 = 50;
/// A null pointer, or a value out of range.
pub const ERROR_INVALID_PARAMETER: u32 = 87;
/// The buffer for the adapters is too small; the size is written back.
pub const ERROR_BUFFER_OVERFLOW: u32 = 111;
/// The function is not there.
pub const ERROR_PROC_NOT_FOUND: u32 = 127;
/// Somebody else holds it.
pub const ERROR_BUSY: u32 = 170;
/// There is no adapter.
pub const ERROR_NO_DATA: u32 = 232;
/// Nothing of this kind is there.
pub const ERROR_NOT_FOUND: u32 = 1168;
/// The adapter has no address.
pub const ERROR_ADDRESS_NOT_ASSOCIATED: u32 = 1228;
/// The driver answers nonsense.
pub const ERROR_BAD_DRIVER: u32 = 2001;

/// The operation goes on.
pub const WSA_IO_PENDING: i32 = 997;
/// The overlapped operation is not complete yet.
pub const WSA_IO_INCOMPLETE: i32 = 996;
/// The overlapped operation ended because its socket was closed.
pub const WSA_OPERATION_ABORTED: i32 = 995;
/// A blocking call ended because its socket was closed.
pub const WSAEINTR: i32 = 10004;
/// Not permitted.
pub const WSAEACCES: i32 = 10013;
/// A null pointer or a buffer too small.
pub const WSAEFAULT: i32 = 10014;
/// A value out of range, or the wrong state.
pub const WSAEINVAL: i32 = 10022;
/// No more sockets.
pub const WSAEMFILE: i32 = 10024;
/// Not now.
pub const WSAEWOULDBLOCK: i32 = 10035;
/// Not a socket.
pub const WSAENOTSOCK: i32 = 10038;
/// No destination.
pub const WSAEDESTADDRREQ: i32 = 10039;
/// The datagram is longer than the buffer, or than a datagram can be.
pub const WSAEMSGSIZE: i32 = 10040;
/// No such option.
pub const WSAENOPROTOOPT: i32 = 10042;
/// No such protocol.
pub const WSAEPROTONOSUPPORT: i32 = 10043;
/// No such type of socket.
pub const WSAESOCKTNOSUPPORT: i32 = 10044;
/// The socket can't.
pub const WSAEOPNOTSUPP: i32 = 10045;
/// No such address family, or one that the socket does not have.
pub const WSAEAFNOSUPPORT: i32 = 10047;
/// The address is taken.
pub const WSAEADDRINUSE: i32 = 10048;
/// No interface has the address.
pub const WSAEADDRNOTAVAIL: i32 = 10049;
/// The network is down.
pub const WSAENETDOWN: i32 = 10050;
/// No route.
pub const WSAENETUNREACH: i32 = 10051;
/// A peer refused an earlier datagram.
pub const WSAECONNRESET: i32 = 10054;
/// No room.
pub const WSAENOBUFS: i32 = 10055;
/// The socket is connected already.
pub const WSAEISCONN: i32 = 10056;
/// Not connected, and no destination given.
pub const WSAENOTCONN: i32 = 10057;
/// The socket was shut down.
pub const WSAESHUTDOWN: i32 = 10058;
/// Nothing came in time.
pub const WSAETIMEDOUT: i32 = 10060;
/// No route to the host.
pub const WSAEHOSTUNREACH: i32 = 10065;
/// The simulation that the environment names can't be had.
pub const WSASYSNOTREADY: i32 = 10091;
/// No such version of Winsock.
pub const WSAVERNOTSUPPORTED: i32 = 10092;
/// `WSAStartup` was not called.
pub const WSANOTINITIALISED: i32 = 10093;
/// getaddrinfo: no such service for this kind of socket.
pub const WSATYPE_NOT_FOUND: i32 = 10109;
/// getaddrinfo: no such host.
pub const WSAHOST_NOT_FOUND: i32 = 11001;
/// getaddrinfo: the name server did not answer; another try may help.
pub const WSATRY_AGAIN: i32 = 11002;
/// getaddrinfo: the name server failed.
pub const WSANO_RECOVERY: i32 = 11003;

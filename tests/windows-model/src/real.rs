//! The way to the system's own functions, which lie in DLLs of other names here.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use wirestamp_win32::abi::WideCharacter;
use wirestamp_win32::abi::winsock::{
    CompletionRoutine, Overlapped, SocketHandle, WsaBuffer, WsaData, WsaMessage,
};
use wirestamp_win32::winsock::selecting::NetworkEvents;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(name: *const u8) -> *mut c_void;
    fn GetProcAddress(library: *mut c_void, name: *const u8) -> *mut c_void;
}

fn address(library: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    let library = unsafe { LoadLibraryA(library.as_ptr().cast()) };
    assert!(
        !library.is_null(),
        "this DLL is loaded beside the system's own ones alone"
    );
    // SAFETY: the library is loaded and stays so; the name ends with a zero.
    let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
    assert!(!found.is_null(), "the system exports {name:?}");
    found
}

/// Functions of a DLL, looked up once each.
macro_rules! real {
    ($library:literal: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {$(
        /// The system's own.
        ///
        /// # Safety
        /// As the function of this name.
        #[allow(non_snake_case, reason = "the system's name")]
        #[allow(clippy::too_many_arguments, reason = "the system's own number")]
        pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
            type Function = unsafe extern "system" fn($($type),*) -> $result;
            static FOUND: OnceLock<Function> = OnceLock::new();
            let function = FOUND.get_or_init(|| {
                let name = concat!(stringify!($name), "\0");
                let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                // SAFETY: the export of this name is a function of this type.
                unsafe { std::mem::transmute::<*mut c_void, Function>(address($library, name)) }
            });
            // SAFETY: the caller's promise.
            unsafe { function($($argument),*) }
        }
    )*};
}

real! { c"winews2.dll":
    fn WSAStartup(version: u16, data: *mut WsaData) -> i32;
    fn WSACleanup() -> i32;
    fn closesocket(socket: SocketHandle) -> i32;
    fn bind(socket: SocketHandle, name: *const u8, length: i32) -> i32;
    fn connect(socket: SocketHandle, name: *const u8, length: i32) -> i32;
    fn getsockname(socket: SocketHandle, name: *mut u8, length: *mut i32) -> i32;
    fn setsockopt(socket: SocketHandle, level: i32, name: i32, value: *const u8, length: i32) -> i32;
    fn getsockopt(socket: SocketHandle, level: i32, name: i32, value: *mut u8, length: *mut i32) -> i32;
    fn WSAEventSelect(socket: SocketHandle, event: *mut c_void, events: i32) -> i32;
    fn WSAEnumNetworkEvents(socket: SocketHandle, event: *mut c_void, events: *mut NetworkEvents) -> i32;
    fn WSAPoll(sockets: *mut c_void, count: u32, milliseconds: i32) -> i32;
    fn WSAIoctl(
        socket: SocketHandle,
        code: u32,
        input: *const c_void,
        input_length: u32,
        output: *mut c_void,
        output_length: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
    fn select(count: i32, read: *mut c_void, write: *mut c_void, except: *mut c_void, time: *const c_void) -> i32;
    fn send(socket: SocketHandle, from: *const u8, bytes: i32, flags: i32) -> i32;
    fn recv(socket: SocketHandle, to: *mut u8, bytes: i32, flags: i32) -> i32;
    fn sendto(socket: SocketHandle, from: *const u8, bytes: i32, flags: i32, name: *const u8, length: i32) -> i32;
    fn recvfrom(socket: SocketHandle, to: *mut u8, bytes: i32, flags: i32, name: *mut u8, length: *mut i32) -> i32;
    fn shutdown(socket: SocketHandle, how: i32) -> i32;
    fn getpeername(socket: SocketHandle, name: *mut u8, length: *mut i32) -> i32;
    fn ioctlsocket(socket: SocketHandle, number: i32, argument: *mut u32) -> i32;
    fn WSASend(
        socket: SocketHandle,
        data: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
    fn WSARecv(
        socket: SocketHandle,
        data: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
    fn WSASendTo(
        socket: SocketHandle,
        data: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: u32,
        name: *const u8,
        length: i32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
    fn WSARecvFrom(
        socket: SocketHandle,
        data: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: *mut u32,
        name: *mut u8,
        length: *mut i32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
    fn WSAGetOverlappedResult(
        socket: SocketHandle,
        overlapped: *mut Overlapped,
        bytes: *mut u32,
        wait: i32,
        flags: *mut u32,
    ) -> i32;
    fn WSASendMsg(
        socket: SocketHandle,
        message: *const WsaMessage,
        flags: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32;
}

real! { c"wineiphlp.dll":
    fn GetAdaptersAddresses(family: u32, flags: u32, reserved: *mut c_void, to: *mut u8, size: *mut u32) -> u32;
    fn ConvertInterfaceLuidToIndex(luid: *const u64, index: *mut u32) -> u32;
    fn ConvertInterfaceIndexToLuid(index: u32, luid: *mut u64) -> u32;
    fn ConvertInterfaceAliasToLuid(alias: *const WideCharacter, luid: *mut u64) -> u32;
    fn ConvertInterfaceLuidToAlias(luid: *const u64, alias: *mut WideCharacter, length: usize) -> u32;
    fn GetBestInterfaceEx(to: *const u8, index: *mut u32) -> u32;
}

/// `WSARecvMsg`, which the system gives by pointer.
pub(crate) type ReceiveMessage = unsafe extern "system" fn(
    SocketHandle,
    *mut WsaMessage,
    *mut u32,
    *mut Overlapped,
    CompletionRoutine,
) -> i32;
